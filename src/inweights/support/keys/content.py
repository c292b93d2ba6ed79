"""Hash the content of files and folders, so that editing a file changes the key of a run.

:func:`fingerprint` hashes one path; :func:`contents_of` hashes files, folders and
models of the Hugging Face hub by name.
"""

import hashlib
import os
import time
from pathlib import Path

from inweights.errors import DataError

_LENGTH = 16
#: Nanoseconds since the last change of a file before its hash is cached, as two edits
#: within one tick of the file system's clock cannot be distinguished.
_SETTLED = 2 * 10**9
_known: dict[tuple[str, int, int, int], str] = {}


def fingerprint(path: str | Path) -> str:
    """Return a hash of the bytes of a file, or of the names and bytes of a folder's files.

    Files in subfolders are included. The hash of a file is cached, so that a file is
    read only once as long as it does not change.

    Args:
        path: The file or folder.

    Returns:
        16 hexadecimal digits of a SHA-256 hash.

    Raises:
        DataError: The file or folder is missing or cannot be read.
    """
    path = Path(path)
    try:
        if not path.is_dir():
            return _of_file(path)
        files = sorted(file for file in path.rglob("*") if file.is_file())
        listed = [
            f"{file.relative_to(path).as_posix()} {_of_file(file)}" for file in files
        ]
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()[:_LENGTH]


def contents_of(*names: str) -> dict[str, str]:
    """Return the hash of each given file, folder or Hugging Face model, keyed by name.

    Args:
        *names: Paths of files and folders, and names of models.

    Returns:
        A dictionary that maps each name to the :func:`fingerprint` of a file or folder,
        or to the revision of a model in the local cache of the Hugging Face hub. Names
        that are neither an existing path nor a model in the cache are left out. Names
        that begin with ``@``, which refer to data of an installed package, are also
        left out.

    Raises:
        DataError: A file cannot be read.

    Example:
        >>> contents_of("@smollm2", "", "no/such-model")
        {}
    """
    found = {}
    for name in names:
        if not name or name.startswith("@"):
            continue
        content = fingerprint(name) if Path(name).exists() else _revision(name)
        if content:
            found[name] = content
    return found


def _revision(name: str) -> str:
    """Return the revision of a model in the hub's local cache; empty if it is not there."""
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ImportError:
        return ""
    try:
        cached = try_to_load_from_cache(name, "config.json")
    except HFValidationError:  # the hub does not allow such a name
        return ""
    return Path(cached).parent.name if isinstance(cached, str) else ""


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
