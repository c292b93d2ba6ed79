"""The store: tables by run and measure, each whole or not there, and checked when it is read.

A table is one file, ``<part>-<hash of its bytes>.parquet`` in the folder of its run. It is written
under another name and then renamed, which is all of publishing: there is no list to keep in step,
any number of processes may fill one store, and nothing is ever deleted to make room for something
new. A file whose bytes are not those of its name counts as missing, and is made again.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from filelock import FileLock, Timeout

from inweights.errors import FolderError
from inweights.runs import told

__all__ = ["Store"]

_HASH = 16


class Store:
    """Tables of single runs, below one folder.

    Args:
        root: The folder; made when something is written.

    Example:
        >>> import tempfile
        >>> store = Store(tempfile.mkdtemp())
        >>> store.write("a1b2c3", "recall", pl.DataFrame({"hit": [1.0]}))
        >>> store.has("a1b2c3", "recall"), store.has("a1b2c3", "margin")
        (True, False)
        >>> store.read("a1b2c3", "recall")["hit"].to_list()
        [1.0]
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def folder(self, owner: str) -> Path:
        """Return the folder of a run or computation."""
        return self.root / owner[:2] / owner

    def has(self, owner: str, part: str) -> bool:
        """Whether a table is stored, whole and as it was written."""
        return self._bytes(owner, part) is not None

    def read(self, owner: str, part: str) -> pl.DataFrame:
        """Return a stored table.

        Raises:
            FolderError: It is not there, or not what was written.
        """
        content = self._bytes(owner, part)
        if content is None:
            raise FolderError(
                f"the table '{part}' of {self.folder(owner)} is missing or damaged; the same "
                "command again makes it"
            )
        return pl.read_parquet(BytesIO(content))

    def write(self, owner: str, part: str, table: pl.DataFrame) -> None:
        """Store a table, whole or not at all.

        Raises:
            RunError: It cannot be written (a full disk, say).
        """
        buffer = BytesIO()
        table.write_parquet(buffer)
        content = buffer.getvalue()
        name = f"{part}-{hashlib.sha256(content).hexdigest()[:_HASH]}.parquet"
        self._publish(self.folder(owner) / name, content)

    def describe(self, owner: str, about: Mapping[str, Any]) -> None:
        """Keep beside the tables what made them, for people: nothing reads it back."""
        path = self.folder(owner) / "run.json"
        if not path.exists():
            encoded = msgspec.json.encode(about, order="sorted")
            self._publish(path, msgspec.json.format(encoded))

    def forget(self, owner: str, part: str) -> None:
        """Remove a table, so that it is made again."""
        for path in self._candidates(owner, part):
            path.unlink(missing_ok=True)

    def state(self, task: str) -> Path:
        """Return where the checkpoint of a task is kept."""
        return self.root / "unfinished" / task

    @contextmanager
    def lock(self, task: str, *, wait: bool = False) -> Iterator[bool]:
        """Hold a task, so that no other process works on it; it is free when its holder is gone.

        Args:
            task: Key of the task.
            wait: Whether to wait for it; else whether it is held is told at once.
        """
        path = self.root / "locks" / f"{task}.lock"
        lock = FileLock(path, timeout=-1 if wait else 0)
        try:
            with told(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                lock.acquire()
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def _candidates(self, owner: str, part: str) -> list[Path]:
        return sorted(self.folder(owner).glob(f"{part}-{'?' * _HASH}.parquet"))

    def _bytes(self, owner: str, part: str) -> bytes | None:
        for path in self._candidates(owner, part):
            with suppress(OSError):
                content = path.read_bytes()
                if path.stem.endswith(hashlib.sha256(content).hexdigest()[:_HASH]):
                    return content
        return None

    def _publish(self, path: Path, content: bytes) -> None:
        partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
        with told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                # Not synced to the disk: after a power cut a torn file does not fit its name.
                partial.write_bytes(content)
                os.replace(partial, path)
            except OSError:
                with suppress(OSError):
                    partial.unlink(missing_ok=True)
                raise
