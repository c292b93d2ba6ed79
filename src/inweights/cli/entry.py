"""The program ``inweights``: parse arguments, run a command, turn errors into exit codes.

:func:`main` handles what all commands have in common: ``--debug``, ``--verbose``,
``--log-file``, ``--max-memory``, signals, warnings and errors. It passes the rest to
:func:`inweights.cli.commands.do`.
"""

import errno
import logging
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from io import TextIOWrapper
from shutil import get_terminal_size

from inweights.cli.overview import HELP, overview
from inweights.errors import ConfigError, InweightsError, WriteError
from inweights.support.limits import at_most, launched_by_torchrun

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: Command-line arguments, without the program's name. If it is ``None``
            (the default), the arguments of the current process are used.

    Returns:
        The exit code: 0 if the command succeeded; 1 if a run failed or was interrupted,
        if memory or disk is full, or if the command itself returned 1, such as ``run
        --strict`` with a claim that was not reproduced; 2 for invalid input.

    Raises:
        InweightsError: The command failed and ``--debug`` is given. Without
            ``--debug``, the error is printed on the error stream in one line.
        KeyboardInterrupt, OSError, UnicodeError, MemoryError, RecursionError: As for
            ``InweightsError``, only with ``--debug``. Exceptions of other classes
            always propagate.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    for stream in (sys.stdout, sys.stderr):
        # Characters that a terminal or file cannot show are replaced by '?'.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    words, asked = _apart(given)
    limit = asked.get("--max-memory")
    if wrong := _wrong_letters("".join(words)):
        _tell(wrong)
        return 2
    try:
        with (
            _warnings_in_a_line(),
            _stopped_by_signals(),
            at_most(limit) if limit is not None else nullcontext(),
            _logged(verbose="--verbose" in given, file=asked.get("--log-file")),
            _joined() as first,
        ):
            if not first:
                return 0
            code = _do(words)
    except InweightsError as error:
        if debug:
            raise
        _tell(str(error))
        if isinstance(error, WriteError) and isinstance(error.__cause__, OSError):
            return _code_of_system(error.__cause__)
        return error.exit_code
    except KeyboardInterrupt:
        if debug:
            raise
        with suppress(OSError):  # the signal may mean that the terminal was closed
            print(
                "inweights: interrupted; repeat the command: stored results are not computed again",
                file=sys.stderr,
            )
        return 1
    except BrokenPipeError:
        # The reader, such as head, has stopped reading. The stream is closed so that
        # Python does not report this at its end.
        sys.stderr.close()
        return 0
    except (OSError, UnicodeError, MemoryError, RecursionError) as error:
        if debug:
            raise
        return _failed(error)
    return code if isinstance(code, int) else 0


def _do(words: Sequence[str]) -> object:
    """Run a command; if no command is given, print the list of commands, with few imports."""
    if HELP.issuperset(words):
        print(overview(min(100, get_terminal_size().columns)))
        return 0
    from inweights.cli.commands import do

    return do(words)


def _wrong_letters(text: str) -> str:
    """Return a description of invalid characters in the arguments; empty if there are none."""
    if "\0" in text:
        return "an argument contains the character NUL, which no name may contain"
    # Python represents bytes that are not valid UTF-8 as halves of surrogate pairs,
    # which cannot be written to a file.
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return "an argument is not text in UTF-8; rename the file, or write it as UTF-8"
    return ""


def _apart(given: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Separate a command's arguments from the options with a value that all commands accept."""
    words: list[str] = []
    asked: dict[str, str] = {}
    # These options are removed before parsing, because they may also precede the
    # command.
    left = iter(w for w in given if w not in ("--debug", "--verbose"))
    for word in left:
        name, equals, value = word.partition("=")
        if name in ("--max-memory", "--log-file"):
            asked[name] = value if equals else next(left, "")
        else:
            words.append(word)
    return words, asked


@contextmanager
def _logged(*, verbose: bool, file: str | None) -> Iterator[None]:
    """Write the library's log to the error stream and to a file, as requested."""
    log = logging.getLogger("inweights")
    handlers: list[logging.Handler] = []
    before = log.level
    if verbose:
        handlers.append(logging.StreamHandler())
        handlers[-1].setLevel(logging.INFO)
    if file is not None:
        try:
            handlers.append(logging.FileHandler(file, encoding="utf-8"))
        except OSError as error:
            why = error.strerror or error
            raise ConfigError(f"cannot write the log to '{file}': {why}") from None
    if handlers:
        log.setLevel(logging.DEBUG if file is not None else logging.INFO)
    for handler in handlers:
        handler.setFormatter(
            logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
        )
        log.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            log.removeHandler(handler)
            handler.close()
        log.setLevel(before)


def _joined() -> AbstractContextManager[bool]:
    """Join the other processes if torchrun started this one; the first process runs the command."""
    if not launched_by_torchrun():
        return nullcontext(True)
    from inweights.experiments.engine.executors.torchrun import joined

    return joined()


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP stop a command like Ctrl-C, unless they are ignored (nohup)."""
    taken: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():
        known = [
            # Not every system has SIGHUP.
            number
            for number in signal.Signals
            if number.name in ("SIGTERM", "SIGHUP")
        ]
        taken = [
            number for number in known if signal.getsignal(number) is signal.SIG_DFL
        ]
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Print warnings in one line, like errors, without a place in the source code."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_: f"inweights: {message}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before


def _failed(error: Exception) -> int:
    """Print an error of the operating system in one line, and return the exit code."""
    if isinstance(error, OSError):
        place = f" ({error.filename})" if error.filename else ""
        _tell(f"{error.strerror or error}{place}; --debug shows where")
        return _code_of_system(error)
    if isinstance(error, UnicodeError):
        _tell(
            "a name is not text in UTF-8, as names of files and folders should be; rename it"
        )
        return 2
    why = (
        "memory is full"
        if isinstance(error, MemoryError)
        else "a value is nested too deeply"
    )
    _tell(f"{why}; --debug shows where")
    return 1 if isinstance(error, MemoryError) else 2


def _code_of_system(error: OSError) -> int:
    """Return 1 if the disk is full or faulty; otherwise 2, for an invalid path."""
    return 1 if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) else 2


def _tell(text: str) -> None:
    from inweights.cli.console.base import err

    err.print(f"inweights: {text}", soft_wrap=True)
