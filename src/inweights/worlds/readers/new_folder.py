"""A folder that is written whole or not at all."""

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

_PREFIX, _LOCK = ".new-", "lock"


@contextmanager
def new_folder(target: str | Path) -> Iterator[Path]:
    """Give a folder to fill, which becomes ``target`` when the block ends well."""
    from filelock import FileLock  # what only reads a world does without

    target = Path(target)
    work: Path | None = None
    lock: FileLock | None = None
    try:
        if target.exists():
            raise DataError(f"{target} exists already; choose another folder or remove it first")
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear_left(target.parent)
        home = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=target.parent))
        work = home / "whole"  # its rights are those of any folder that the user makes
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
    """What a full disk may raise; the error of weights only where weights are used at all."""
    tables, weights = (OSError, pl.exceptions.PolarsError), sys.modules.get("safetensors")
    return (*tables, weights.SafetensorError) if weights else tables


def _clear_left(parent: Path) -> None:
    """Remove what killed processes left: a running one holds the lock of its folder."""
    from filelock import FileLock

    for left in parent.glob(f"{_PREFIX}*"):
        if (left / _LOCK).is_file() and not left.is_symlink():
            with suppress(OSError), FileLock(left / _LOCK, timeout=0):
                shutil.rmtree(left, ignore_errors=True)


def reason(error: Exception) -> str:
    """Return in a few words why something cannot be read or written."""
    lines = str(getattr(error, "strerror", None) or error).splitlines()
    return lines[0] if lines else type(error).__name__
