"""The store: tables by run and measure, each whole or not there, and checked when it is read.

A table is one file, ``<part>-<hash of its bytes>.parquet`` in the folder of its run; so are the
weights of a run, where they are kept (``model-<hash>.safetensors``). A file is written
under another name and then renamed, which is all of publishing: there is no list to keep in step,
any number of processes may fill one store, and nothing is ever deleted to make room for something
new. A file whose bytes are not those of its name counts as missing, and is made again.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from filelock import FileLock, Timeout

from inweights.errors import FolderError
from inweights.runs import told

__all__ = ["MODEL_PART", "Store"]

#: The part of a run that is no table: its trained weights.
MODEL_PART = "model"
_HASH = 16
_UNFINISHED = "unfinished"
_Wanted = list[tuple[str, str]]


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
        """Whether a table, or the weights, are stored, whole and as they were written."""
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
        self._publish(self._path(owner, part, content), content)

    def read_model(self, owner: str) -> bytes:
        """Return the weights of a run, as the bytes of a file.

        Raises:
            FolderError: They were not kept, or are not what was written.
        """
        content = self._bytes(owner, MODEL_PART)
        if content is None:
            raise FolderError(
                f"the weights of {self.folder(owner)} were not kept, or are damaged; run it again "
                "with --keep-models (in Python, keep_models=True)"
            )
        return content

    def write_model(self, owner: str, content: bytes) -> None:
        """Keep the weights of a run, whole or not at all.

        Raises:
            RunError: They cannot be written (a full disk, say).
        """
        self._publish(self._path(owner, MODEL_PART, content), content)

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

    @contextmanager
    def unfinished(self, key: str, wanted: Sequence[tuple[str, str]]) -> Iterator[Path]:
        """Give a training the file of its checkpoint; it is removed when the training is stored.

        Args:
            key: What tells the training from others.
            wanted: The tables that it makes, by owner and part.
        """
        folder = self.root / _UNFINISHED / key
        self._publish(folder / "wanted.json", msgspec.json.encode(wanted))
        yield folder / "state"
        shutil.rmtree(folder, ignore_errors=True)

    def tidy(self) -> None:
        """Remove checkpoints that nobody needs: a process was killed when all was stored."""
        for folder in (self.root / _UNFINISHED).glob("*"):
            with suppress(OSError, msgspec.DecodeError):
                wanted = msgspec.json.decode((folder / "wanted.json").read_bytes(), type=_Wanted)
                if all(self.has(owner, part) for owner, part in wanted):
                    shutil.rmtree(folder)

    @contextmanager
    def lock(self, task: str, *, wait: bool = False) -> Iterator[bool]:
        """Hold a task, so that no other process works on it; it is free when its holder is gone.

        Args:
            task: Key of the task.
            wait: Whether to wait for it; else whether it is held is told at once.
        """
        path = self.root / "locks" / f"{task}.lock"
        lock = FileLock(path, timeout=-1 if wait else 0)
        with told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire()
                held = True
            except Timeout:  # which is an OSError, too
                held = False
        try:
            yield held
        finally:
            if held:
                lock.release()

    def _candidates(self, owner: str, part: str) -> list[Path]:
        return sorted(self.folder(owner).glob(f"{part}-{'?' * _HASH}.{_suffix(part)}"))

    def _path(self, owner: str, part: str, content: bytes) -> Path:
        digest = hashlib.sha256(content).hexdigest()[:_HASH]
        return self.folder(owner) / f"{part}-{digest}.{_suffix(part)}"

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


def _suffix(part: str) -> str:
    return "safetensors" if part == MODEL_PART else "parquet"
