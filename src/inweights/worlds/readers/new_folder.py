"""Write a folder completely or not at all: the context manager :func:`new_folder`.

Stored worlds, models and data sets are written with it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from inweights.errors import DataError
from inweights.support.publish import publish_folder

if TYPE_CHECKING:
    from filelock import FileLock

_PREFIX = ".new-"
_LOCK = "lock"


@contextmanager
def new_folder(target: str | Path) -> Iterator[Path]:
    """Yield an empty folder that becomes ``target`` if the block ends without an error.

    If the block raises an exception, the folder is removed, ``target`` is not created,
    and the exception propagates; an error in writing is converted to a ``DataError``.

    Args:
        target: Path of a folder that does not exist; missing parent folders are
            created.

    Yields:
        Path of the folder to fill, next to ``target``.

    Raises:
        DataError: ``target`` already exists or cannot be written; or the block raised
            an ``OSError`` or an error of polars or safetensors.
    """
    from filelock import FileLock  # reading a world does not need it

    target = Path(target)
    work: Path | None = None
    lock: FileLock | None = None
    try:
        if target.exists():
            raise DataError(
                f"{target} already exists; choose another folder or remove it first"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear_left(target.parent)
        home = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=target.parent))
        # Unlike the temporary folder, a new folder in it has the usual permissions.
        work = home / "whole"
        lock = FileLock(home / _LOCK, timeout=0)
        lock.acquire()
        work.mkdir()
        yield work
        publish_folder(work, target)
    except _write_errors() as error:
        raise DataError(f"cannot write {target}: {reason(error)}") from error
    finally:
        if lock is not None:
            lock.release()
        if work is not None:
            shutil.rmtree(work.parent, ignore_errors=True)


def _write_errors() -> tuple[type[Exception], ...]:
    """Return the classes of errors in writing, with that of ``safetensors`` if it is imported."""
    tables = (OSError, pl.exceptions.PolarsError)
    weights = sys.modules.get("safetensors")
    return (*tables, weights.SafetensorError) if weights else tables


def _clear_left(parent: Path) -> None:
    """Remove unfinished folders of processes that were killed, which no longer hold their lock."""
    from filelock import FileLock

    for left in parent.glob(f"{_PREFIX}*"):
        if (left / _LOCK).is_file() and not left.is_symlink():
            with suppress(OSError), FileLock(left / _LOCK, timeout=0):
                shutil.rmtree(left, ignore_errors=True)


def reason(error: Exception) -> str:
    """Return the first line of an error's message; if it is empty, the name of the error's class.

    Args:
        error: The error. For an ``OSError``, the message of the operating system is
            returned, without the number and the path.
    """
    lines = str(getattr(error, "strerror", None) or error).splitlines()
    return lines[0] if lines else type(error).__name__
