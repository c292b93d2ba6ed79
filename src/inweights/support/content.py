"""The content of files and folders as a hash, so that an edited file is another one."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from inweights.errors import DataError

__all__ = ["fingerprint"]

_LENGTH = 16
#: Nanoseconds for which a file must have been left alone before its hash is remembered: two edits
#: within one tick of the file system's clock look alike.
_SETTLED = 2 * 10**9
_known: dict[tuple[str, int, int, int], str] = {}


def fingerprint(path: str | Path) -> str:
    """Return the hash of a file's bytes, or of the names and bytes of all files below a folder.

    A large file is read once as long as it does not change.

    Raises:
        DataError: It is missing or cannot be read.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "facts.csv"
        >>> _ = file.write_text("ann,mother,beth")
        >>> before = fingerprint(file)
        >>> _ = file.write_text("ann,mother,bess")
        >>> before == fingerprint(file)
        False
    """
    path = Path(path)
    try:
        if not path.is_dir():
            return _of_file(path)
        files = sorted(file for file in path.rglob("*") if file.is_file())
        listed = [f"{file.relative_to(path).as_posix()} {_of_file(file)}" for file in files]
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()[:_LENGTH]


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        key = (str(path.resolve()), state.st_ino, state.st_size, state.st_mtime_ns)
        if key in _known:
            return _known[key]
        found = hashlib.file_digest(file, "sha256").hexdigest()[:_LENGTH]
    if time.time_ns() - state.st_mtime_ns > _SETTLED:
        _known[key] = found
    return found
