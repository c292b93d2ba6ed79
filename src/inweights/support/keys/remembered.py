"""Cache small results on disk until a file of the library changes.

Computing some small results requires PyTorch, and importing it takes longer than
everything else that a command does. :func:`remember` stores such results as JSON in the
user's cache, and :func:`recall` reads them. A stored result is ignored as soon as any
file of the library changes.
"""

import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from inweights.config import digest
from inweights.support.publish import publish_file

#: Endings of the files of the library that a result may depend on.
_SOURCES = frozenset({".py", ".toml", ".json", ".jsonl", ".md"})


class _Remembered(msgspec.Struct):
    """A stored result.

    Attributes:
        state: Hash of the state of the library's files (:func:`library_state`).
        day: Day on which the result was stored, as ``2026-11-28``.
        value: The result.
    """

    state: str
    day: str
    value: msgspec.Raw


def cache_folder() -> Path:
    """Return the path of this library's cache folder; the folder need not exist.

    It is ``$INWEIGHTS_CACHE`` if this variable is set, and otherwise ``inweights`` in
    the user's cache (``$XDG_CACHE_HOME``, by default ``~/.cache``).

    Raises:
        RuntimeError: No variable is set, and the user's home folder is unknown.
    """
    given = os.environ.get("INWEIGHTS_CACHE")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "inweights"


def recall(kind: str, key: Any, as_type: Any) -> tuple[Any, str] | None:
    """Return a result that :func:`remember` stored, and the day on which it was stored.

    Args:
        kind: Kind of the result, the first part of the name of its file.
        key: Everything on which the result depends besides the library, as JSON values.
        as_type: Type of the result, to which msgspec converts it.

    Returns:
        The result, and the day in UTC, such as ``2026-11-28``. ``None`` if no result is
        stored, if a file of the library has changed since, or if the stored result is
        damaged or does not fit ``as_type``.
    """
    try:
        stored = msgspec.json.decode(_file(kind, key).read_bytes(), type=_Remembered)
        if stored.state != library_state():
            return None
        return msgspec.json.decode(stored.value, type=as_type), stored.day
    except (OSError, RuntimeError, msgspec.MsgspecError):  # missing or damaged
        return None


def remember(kind: str, key: Any, value: Any) -> None:
    """Store a result for :func:`recall`; if the cache cannot be written, nothing is stored.

    Args:
        kind: Kind of the result, the first part of the name of its file.
        key: Everything on which the result depends besides the library, as JSON values.
        value: The result.

    Raises:
        TypeError: msgspec cannot encode the key or the result as JSON.
    """
    day = datetime.now(UTC).date().isoformat()
    stored = _Remembered(library_state(), day, msgspec.Raw(msgspec.json.encode(value)))
    with suppress(OSError, RuntimeError):  # there is no home folder, or it is read-only
        publish_file(_file(kind, key), msgspec.json.encode(stored), sync=False)


def _file(kind: str, key: Any) -> Path:
    """Return the path of the file for a result of this machine."""
    name = digest([platform.node(), key], 20)
    return cache_folder() / "remembered" / f"{kind}-{name}.json"


@cache
def library_state() -> str:
    """Return a hash of the names, sizes and modification times of all files of the library.

    The hash has 20 hexadecimal digits, and is computed once per process.
    """
    root = Path(__file__).parent.parent
    found = []
    for path in root.rglob("*"):
        if path.suffix in _SOURCES:
            state = path.stat()
            found.append((str(path), state.st_size, state.st_mtime_ns))
    return digest(sorted(found), 20)
