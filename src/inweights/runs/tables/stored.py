"""Read and write tables and weights of runs in the files of a store.

:class:`StoredTables` is the part of :class:`~inweights.runs.tables.store.Store` that
names, writes and checks files. ``Store`` adds checkpoints of unfinished training runs,
and decides which process works on a task.
"""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from inweights.errors import FolderError
from inweights.runs.tables.files import open_files
from inweights.runs.tables.names import HASH, MODEL_PART, ending, name_of


class StoredTables:
    """Tables and weights of individual runs, below one folder or address.

    Args:
        root: The folder, which is created when something is written; or an address such as
            ``s3://bucket/folder``.

    Attributes:
        root: The folder as a ``Path``, or the address as a string.
        files: The files of the store.

    Raises:
        ConfigError: The address is invalid, or the optional package for object stores
            is not installed.

    Example:
        >>> import tempfile
        >>> tables = StoredTables(tempfile.mkdtemp())
        >>> tables.write("a1b2c3", "recall", pl.DataFrame({"hit": [1.0]}))
        >>> tables.listed()
        {('a1b2c3', 'recall')}
    """

    def __init__(self, root: str | Path) -> None:
        """Open the files at a folder or address; nothing is read or created.

        Args:
            root: The folder, or an address such as ``s3://bucket/folder``.

        Raises:
            ConfigError: The address is invalid, or the optional package for object
                stores is not installed.
        """
        self.root = str(root) if "://" in str(root) else Path(root)
        self.files = open_files(root)

    def folder(self, owner: str) -> str:
        """Return the name of the folder of a run or computation, relative to the root.

        Args:
            owner: Key (hash) of the run or computation.

        Returns:
            The first two characters of the key, ``/`` and the key.
        """
        return f"{owner[:2]}/{owner}"

    def has(self, owner: str, part: str) -> bool:
        """Return whether a table or the weights are stored and undamaged; the file is read.

        Args:
            owner: Key (hash) of the run or computation.
            part: Name of the table, or :data:`MODEL_PART` (``model``) for the weights.

        Raises:
            FolderError: The store is a folder, and the folder of the run contains a
                link.
            WriteError: The object store denies access or does not respond.
        """
        return self._bytes(owner, part) is not None

    def read(self, owner: str, part: str) -> pl.DataFrame:
        """Return a stored table.

        Args:
            owner: Key (hash) of the run or computation.
            part: Name of the table.

        Raises:
            FolderError: The table does not exist or was changed, or the folder of the
                run contains a link.
            WriteError: The object store denies access or does not respond.
        """
        if (content := self._bytes(owner, part)) is not None:
            return pl.read_parquet(BytesIO(content))
        raise FolderError(
            f"the table '{part}' of {self.root}/{self.folder(owner)} is missing or damaged; "
            "run the same command again to compute it"
        )

    def write(self, owner: str, part: str, table: pl.DataFrame) -> None:
        """Store a table atomically.

        A table that was stored under the same name before is not removed. If its
        content differs, :meth:`read` returns one of the two tables (:meth:`forget`
        removes both).

        Args:
            owner: Key (hash) of the run or computation.
            part: Name of the table.
            table: The table.

        Raises:
            FolderError: The path of the file contains a link.
            WriteError: The table cannot be written.
            PolarsError: Parquet cannot store a column, such as a column of Python
                objects.
        """
        buffer = BytesIO()
        table.write_parquet(buffer)
        content = buffer.getvalue()
        self.files.write(self._name(owner, part, content), content)

    def read_model(self, owner: str) -> bytes:
        """Return the weights of a run, as the bytes of a safetensors file.

        Args:
            owner: Key (hash) of the run.

        Raises:
            FolderError: The weights were not stored or were changed, or the folder of
                the run contains a link.
            WriteError: The object store denies access or does not respond.
        """
        if (content := self._bytes(owner, MODEL_PART)) is not None:
            return content
        raise FolderError(
            f"the weights of {self.root}/{self.folder(owner)} were not stored, or are "
            "damaged; start the run again with --keep-models (in Python, keep_models=True)"
        )

    def write_model(self, owner: str, content: bytes) -> None:
        """Store the weights of a run atomically.

        Args:
            owner: Key (hash) of the run.
            content: Bytes of a safetensors file.

        Raises:
            FolderError: The path of the file contains a link.
            WriteError: The weights cannot be written.
        """
        self.files.write(self._name(owner, MODEL_PART, content), content)

    def describe(self, owner: str, about: Mapping[str, Any]) -> None:
        """Store a description beside the tables, for human readers; no function reads it.

        Args:
            owner: Key (hash) of the run or computation.
            about: Environment and settings of the run, which are written as JSON to
                ``run.json``. An existing description is kept.

        Raises:
            FolderError: The path of the file contains a link.
            WriteError: The description cannot be written.
            TypeError: msgspec cannot encode a value of ``about``.
        """
        name = f"{self.folder(owner)}/run.json"
        if self.files.read(name) is None:
            self.files.write(
                name, msgspec.json.format(msgspec.json.encode(about, order="sorted"))
            )

    def forget(self, owner: str, part: str) -> None:
        """Remove a table or the weights, if stored, so that they are computed again.

        Args:
            owner: Key (hash) of the run or computation.
            part: Name of the table, or :data:`MODEL_PART` (``model``) for the weights.

        Raises:
            FolderError: The folder of the run contains a link.
            OSError: The store is a folder, and a file cannot be removed.
            WriteError: The object store denies access or does not respond.
        """
        for name in self._candidates(owner, part):
            self.files.remove(name)

    def listed(self) -> set[tuple[str, str]]:
        """Return which tables and weights are stored, according to the names of the files.

        No file is read.

        Returns:
            Set with one pair ``(owner, part)`` per stored table or weights file:
            ``owner`` is the key of the run or computation, and ``part`` is the name of
            the table, or :data:`MODEL_PART` (``model``) for weights.

        Raises:
            FolderError: The store is a folder and contains a link.
            WriteError: The object store denies access or does not respond.
        """
        found = set()
        for name in self.files.names(""):
            folder, _, file = name.rpartition("/")
            if folder and file.endswith((".parquet", ".safetensors")):
                found.add((folder.rpartition("/")[2], file.rpartition("-")[0]))
        return found

    def _candidates(self, owner: str, part: str) -> list[str]:
        """Return the names of files that may contain the part; several if its content changed."""
        folder = self.folder(owner)
        start = f"{folder}/{part}-"
        end = ending(part)
        found = []
        for name in self.files.names(folder):
            # The name of another part may begin with this part's name, but is then
            # longer.
            is_hash = len(name) == len(start) + HASH + len(end)
            if is_hash and name.startswith(start) and name.endswith(end):
                found.append(name)
        return found

    def _name(self, owner: str, part: str, content: bytes) -> str:
        return f"{self.folder(owner)}/{name_of(part, content)}"

    def _bytes(self, owner: str, part: str) -> bytes | None:
        for name in self._candidates(owner, part):
            content = self.files.read(name) or b""
            if name == self._name(owner, part, content):
                return content
        return None
