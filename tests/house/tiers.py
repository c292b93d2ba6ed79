"""``python -m tests.house.tiers TIER``: run a tier of the tests, and end it if it hangs.

This program starts pytest and prints its output. If nothing is printed for half an hour,
a test hangs, and pytest is ended with all its processes. Single tests have no time
limit, since a slow machine would exceed any. ``tests/house/progress.py`` is the part
that runs inside pytest.
"""

from __future__ import annotations

import argparse
import os
import selectors
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NamedTuple

from tests.house.marked import files_of_slow_tests

ROOT = Path(__file__).parents[2]

#: Seconds without any output after which the tests count as hanging.
SILENCE = 30 * 60

#: Environment variable that marks all processes of a run.
MARK = "TESTS_RUN_BY"


#: Linux keeps files of this folder in memory, and removes them in a twentieth of the time.
IN_MEMORY = Path("/dev/shm")

#: Free bytes that the folder needs to be used for the tests' temporary files, which take
#: about half a gigabyte.
ROOMY = 4 << 30


class Tier(NamedTuple):
    """A selection of the tests.

    Attributes:
        places: Returns the files and folders in which they are.
        marked: Expression of markers that selects them.
        rest: A sentence with the command that runs the tests that are left out.
        plugins: Plugins of pytest.
    """

    places: Callable[[], Sequence[str]]
    marked: str
    rest: str
    plugins: tuple[str, ...] = ("tests.house.progress",)


TIERS = {
    "fast": Tier(
        lambda: ("src", "tests"),
        "not slow and not gpu and not network",
        "'make test-all' runs the slow tests, too.",
    ),
    "slow": Tier(
        files_of_slow_tests,
        "slow and not gpu and not network",
        "",
        plugins=("tests.house.progress", "tests.house.order"),
    ),
}


def command(tier: Tier, more: Sequence[str] = ()) -> list[str]:
    """Return the command that runs a tier, with a process per core and at most eight."""
    return [
        *(sys.executable, "-m", "pytest", *tier.places(), "-m", tier.marked),
        *("-n", "auto", "--maxprocesses", "8", "--dist", "worksteal"),
        *(word for plugin in tier.plugins for word in ("-p", plugin)),
        *("--closing", tier.rest),
        *("-r", "fE", "-o", "console_output_style=classic", *more),
    ]


@contextmanager
def quick_files(place: Path = IN_MEMORY, needed: int = ROOMY) -> Iterator[None]:
    """Keep temporary files in memory, if there is room and ``TMPDIR`` is not set.

    Args:
        place: Folder of a file system in memory.
        needed: Free bytes that the folder needs to be used.
    """
    roomy = place.is_dir() and shutil.disk_usage(place).free >= needed
    if not roomy or not os.access(place, os.W_OK) or "TMPDIR" in os.environ:
        yield
        return
    with TemporaryDirectory(
        dir=place, prefix="tests-", ignore_cleanup_errors=True
    ) as own:
        os.environ["TMPDIR"] = own
        try:
            yield
        finally:
            del os.environ["TMPDIR"]


def guarded(
    words: Sequence[str], silence: float = SILENCE, out: IO[bytes] | None = None
) -> int:
    """Run a command, print its output, and end it if it is silent for too long.

    Args:
        words: The command. It becomes the leader of a process group, so that whatever
            it starts can be ended with it.
        silence: Seconds without output after which the command is ended.
        out: Stream for its output; the default is the standard output.

    Returns:
        The command's exit code, or 124 if it was ended.
    """
    out = out or sys.stdout.buffer
    mark = f"{MARK}={os.getpid()}"
    process = subprocess.Popen(
        words,
        cwd=ROOT,
        env=os.environ | dict([mark.split("=")]),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        while _readable(process.stdout, silence):
            if not (text := os.read(process.stdout.fileno(), 65536)):
                return process.wait()
            out.write(text)
            out.flush()
        return _end_what_hangs(process, silence, out)
    except KeyboardInterrupt:
        _send(process, signal.SIGINT)
        process.wait()
        return 130
    finally:
        process.stdout.close()
        _send(process, signal.SIGKILL)
        _kill_marked(mark)


def _readable(pipe: IO[bytes], seconds: float) -> bool:
    """Wait for output or the end of the pipe; return whether either came in time."""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        return bool(selector.select(seconds))


def _end_what_hangs(
    process: subprocess.Popen[bytes], silence: float, out: IO[bytes]
) -> int:
    """Make each Python process print its stack, then end all of them."""
    assert process.stdout is not None
    out.write(
        f"\nno output for {silence / 60:.0f} minutes: the tests hang, here:\n".encode()
    )
    _send(process, signal.SIGUSR1)  # progress.py prints the stacks at this signal
    while _readable(process.stdout, 5.0) and (
        text := os.read(process.stdout.fileno(), 65536)
    ):
        out.write(text)
    _send(process, signal.SIGKILL)
    process.wait()
    out.write(b"the tests were ended, as they hung\n")
    out.flush()
    return 124


def _kill_marked(mark: str) -> None:
    """Kill remaining processes with their own process group, such as those of a cluster.

    Processes inherit the mark with the environment. This works on Linux only.
    """
    for place in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in place.read_bytes().split(b"\0"):
                os.kill(int(place.parent.name), signal.SIGKILL)


def _send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def main(words: Sequence[str] | None = None) -> int:
    """Run the named tier; further options are passed to pytest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tier", choices=TIERS)
    given, more = parser.parse_known_args(words)
    with quick_files():
        return guarded(command(TIERS[given.tier], more))


if __name__ == "__main__":
    sys.exit(main())
