"""Limit memory and cores, and read only regular files; sizes are checked before allocation.

The memory limit is ``$INWEIGHTS_MAX_MEMORY``, set by ``--max-memory``, and by default
:data:`SHARE` of the memory of the machine or container. Worker processes inherit it.
"""

import errno
import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inweights.errors import ConfigError, DataError, InweightsError

#: The environment variable with the limit, such as ``8GB``.
MAX_MEMORY = "INWEIGHTS_MAX_MEMORY"
#: Largest share of the memory that is used if no limit is given.
SHARE = 0.75
#: Largest number of rows of a file of facts, edges or statements: a minute of reading.
MAX_ROWS = 3_000_000
#: Largest number of characters of a name; a longer one is another kind of text.
MAX_NAME = 10_000
_UNKNOWN = 8 * 10**9  # bytes, if the system does not state its memory
_TEXT = 10  # bytes of memory per byte of text, for the text, lines, cells and results
#: Files in which Linux states the limit of a container, new and old.
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([KMGT]?)B?")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def parse_bytes(text: str) -> int:
    """Return the number of bytes in a size such as ``8GB``; K, M, G and T are powers of 1000.

    Raises:
        ConfigError: The text is not a size, or the size is less than one byte.

    Example:
        >>> parse_bytes("8GB"), parse_bytes("1.5 m"), parse_bytes("1000000")
        (8000000000, 1500000, 1000000)
    """
    found = _SIZE.fullmatch(text.strip().upper())
    size = round(float(found[1]) * _UNITS[found[2]]) if found else 0
    if not size:
        raise ConfigError(
            f"a memory size must have the form 8GB or 500MB, got '{text}'"
        )
    return size


def written(size: float) -> str:
    """Return a number of bytes as text with three significant digits and a decimal unit.

    Example:
        >>> written(812_000_000), written(6.4e17), written(10)
        ('812 MB', '640000 TB', '10 B')
    """
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            number = size / factor
            return f"{number:.3g} {unit}" if number < 1000 else f"{number:.0f} {unit}"
    return f"{size:.0f} B"


def memory_limit() -> int:
    """Return the memory limit in bytes, by default 3/4 of the memory of the machine or container.

    Raises:
        ConfigError: ``$INWEIGHTS_MAX_MEMORY`` is not a size.
    """
    given = os.environ.get(MAX_MEMORY, "")
    return parse_bytes(given) if given else int(SHARE * _machine())


def _machine() -> int:
    """Return this process's memory in bytes: the machine's, or its control group's limit."""
    known = []
    with suppress(AttributeError, OSError, ValueError):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in _CGROUPS:
        with suppress(OSError, ValueError):  # "max" if there is no limit
            known.append(int(Path(file).read_text(encoding="ascii")))
    return min((size for size in known if size > 0), default=_UNKNOWN)


def usable_cores() -> int:
    """Return the number of cores that this process may use, according to its CPU affinity mask.

    On platforms without an affinity mask, the number of all cores is returned.
    """
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


@contextmanager
def at_most(size: str) -> Iterator[None]:
    """Set the memory limit of this process and its child processes to a size such as ``8GB``.

    Yields:
        ``None``. Within the block, ``$INWEIGHTS_MAX_MEMORY`` contains the limit.

    Raises:
        ConfigError: ``size`` does not have the form ``8GB``.
    """
    parse_bytes(size)
    before = os.environ.get(MAX_MEMORY)
    os.environ[MAX_MEMORY] = size
    try:
        yield
    finally:
        os.environ.pop(MAX_MEMORY, None)
        if before is not None:
            os.environ[MAX_MEMORY] = before


def check_memory(
    what: str,
    needed: float,
    *,
    error: type[InweightsError] = ConfigError,
    hint: str = "",
) -> None:
    """Raise an error if something would use more memory than the limit.

    Args:
        what: Subject of the message, such as the name of a table.
        needed: Estimated number of bytes.
        error: Class of the error; by default ``ConfigError``.
        hint: Advice for the message, such as ``make it smaller``; empty for none.

    Raises:
        InweightsError: ``needed`` exceeds the limit. The error has the class ``error``.
        ConfigError: ``$INWEIGHTS_MAX_MEMORY`` is not a size.
    """
    limit = memory_limit()
    if needed > limit:
        raise error(
            f"{what} takes about {written(needed)} of memory, but the limit is {written(limit)}; "
            f"{hint + ', or ' if hint else ''}allow more with --max-memory"
        )


def check_name(name: str, where: str) -> None:
    """Raise an error if a name is longer than :data:`MAX_NAME` (10,000 characters).

    Args:
        name: The name.
        where: Position of the name, such as a file and line, for the error message.

    Raises:
        DataError: The name is too long.
    """
    if len(name) > MAX_NAME:
        raise DataError(
            f"{where}: the name '{name[:40]}…' has {len(name):,} characters; at most "
            f"{MAX_NAME:,} are allowed"
        )


def check_file(
    path: Path, *, error: type[InweightsError] = DataError, factor: float = _TEXT
) -> None:
    """Raise an error unless a path is a regular file that can be read within the memory limit.

    Args:
        path: The path.
        error: Class of the error; by default ``DataError``.
        factor: Bytes of memory that reading needs per byte of the file; 10 by default.

    Raises:
        InweightsError: The path is not a regular file, or reading it needs more memory
            than the limit. The error has the class ``error``.
        ConfigError: ``$INWEIGHTS_MAX_MEMORY`` is not a size.
    """
    try:
        found = path.stat()
    except (OSError, ValueError) as why:
        raise error(
            f"cannot read {path}: {getattr(why, 'strerror', None) or why}"
        ) from None
    if not stat.S_ISREG(found.st_mode):
        raise error(_no_file(path, found))
    if not found.st_size and _has_something(path):
        raise error(
            f"cannot read {path}: this system file reports the size 0; copy it to an ordinary file"
        )
    check_memory(
        f"reading {path}", factor * found.st_size, error=error, hint="cut it into parts"
    )


def _no_file(path: str | Path, found: os.stat_result) -> str:
    if stat.S_ISDIR(found.st_mode):
        return f"cannot read {path}: it is a folder; expected a file"
    return f"cannot read {path}: it is a pipe or a device; write its output to a file"


def missing_file(path: str | Path, hint: str) -> DataError:
    """Build the error for a path that is not a regular file, without raising it.

    Args:
        path: The path, which the caller has found not to be a regular file.
        hint: Description of the expected file, for the message if the path is missing.
    """
    try:
        return DataError(_no_file(path, Path(path).stat()))
    except (OSError, ValueError):
        return DataError(f"there is no file {path}; {hint}")


def _has_something(path: Path) -> bool:
    """Return whether a file of size 0 has content, as special files of the kernel do."""
    try:
        with open_file(path) as file:
            return bool(os.read(file.fileno(), 1))
    except OSError as error:  # the reader of the file reports this error
        return isinstance(error, BlockingIOError)


def open_file(path: Path, *, links: bool = True) -> io.BufferedReader:
    """Open a regular file for reading in binary mode, without blocking on pipes or devices.

    Args:
        path: The file.
        links: Whether the file itself may be a symbolic link.

    Raises:
        OSError: The path cannot be opened, is not a regular file, or is a symbolic link
            although ``links`` is false.
    """
    more = getattr(os, "O_NONBLOCK", 0) | (0 if links else getattr(os, "O_NOFOLLOW", 0))
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | more))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is a pipe or a device", str(path))
    return file


def read_bytes(path: Path, *, links: bool = True) -> bytes:
    """Return the bytes of a regular file.

    Args:
        path: The file.
        links: Whether the file itself may be a symbolic link.

    Raises:
        OSError: The path cannot be read, is not a regular file, or is a forbidden link.
    """
    with open_file(path, links=links) as file:
        return file.read()


def read_text(
    path: Path, *, error: type[InweightsError] = DataError, most: int | None = None
) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with a byte-order mark, without the mark.

    Args:
        path: The file.
        error: Class of the error; by default ``DataError``.
        most: Largest size in bytes; by default only the memory limit applies.

    Raises:
        InweightsError: The file cannot be read, is not a regular file, is too large, or
            is not text in its encoding. The error has the class ``error``.
        ConfigError: ``$INWEIGHTS_MAX_MEMORY`` is not a size.
    """
    check_file(path, error=error)
    try:
        size = path.stat().st_size
        if most is not None and size > most:
            allowed = f"the largest size of such a file is {written(most)}"
            raise error(f"{path} has a size of {written(size)}; {allowed}")
        encoding = encoding_of(path)
        return path.read_text(encoding="utf-8-sig" if encoding == "utf-8" else encoding)
    except OSError as why:
        raise error(f"cannot read {path}: {why.strerror}") from None
    except UnicodeDecodeError as why:
        raise error(
            f"{path} is not text in {encoding.upper()} ({why.reason}); save it as UTF-8"
        ) from None


def encoding_of(path: Path) -> str:
    """Return the encoding of a text file, ``utf-16`` or ``utf-8``, based on its byte-order mark.

    Raises:
        OSError: The path cannot be opened, or is not a regular file.
    """
    with open_file(path) as file:
        begin = file.read(2)
    return "utf-16" if begin in (b"\xff\xfe", b"\xfe\xff") else "utf-8"


def launched_by_torchrun() -> bool:
    """Return whether this process is one of several that torchrun started together."""
    started = "TORCHELASTIC_RUN_ID" in os.environ
    return started and os.environ.get("WORLD_SIZE", "1") != "1"
