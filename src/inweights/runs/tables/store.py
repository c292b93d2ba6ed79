"""Store tables by run and measure; each is written atomically, and checked when it is read.

:class:`Store` is opened at :func:`store_below` by every run, sweep and cluster job. A
table is one file, ``<part>-<hash of its bytes>.parquet``, in the folder of its run; the
weights of a run, if stored, are another (``model-<hash>.safetensors``). Publishing a
file means writing it under another name and renaming it. There is no index that could
become inconsistent, any number of processes may write to one store, and nothing is ever
deleted to make room. A file whose bytes lack the hash in its name is computed again.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl
from filelock import FileLock, Timeout

from inweights.errors import FolderError
from inweights.runs import explained_writes
from inweights.runs.tables.files import open_files
from inweights.runs.tables.lease import Hold, Leases
from inweights.runs.tables.names import HASH, MODEL_PART, ending, name_of
from inweights.support.links import within

#: Seconds after which the task of an unresponsive process on another machine is taken
#: over.
LEASE = 60.0
_UNFINISHED = "unfinished"
_LIST = "wanted.json"
#: List of the tables that an unfinished training computes, as pairs of owner and part;
#: it is not empty.
_Name = Annotated[str, msgspec.Meta(pattern=r"^[\w-]+$")]
_Wanted = Annotated[list[tuple[_Name, _Name]], msgspec.Meta(min_length=1)]


def store_below(place: str | Path) -> str:
    """Return the path or address of the store that belongs to a plan or to all runs.

    Args:
        place: Folder, or address with ``://``, of the plan or the runs.

    Raises:
        FolderError: The store's folder is a link.

    Example:
        >>> store_below("s3://bucket/runs")
        's3://bucket/runs/store'
    """
    return f"{place}/store" if "://" in str(place) else str(within(place, "store"))


class Store:
    """Store of tables of single runs, below one folder or address.

    Args:
        root: The folder, which is made when something is written; or an address such as
            ``s3://bucket/folder``.
        lease: Seconds after which the task of an unresponsive process is taken over.
            With 0, the default, tasks are held by file locks, which the system
            releases; these suffice on one machine. An object store always has leases.
        owner: Key of the process that hands out tasks; see
            :class:`~inweights.runs.tables.lease.Leases`. By default random.

    Example:
        >>> import tempfile
        >>> store = Store(tempfile.mkdtemp())
        >>> store.write("a1b2c3", "recall", pl.DataFrame({"hit": [1.0]}))
        >>> store.has("a1b2c3", "recall"), store.has("a1b2c3", "margin")
        (True, False)
        >>> store.read("a1b2c3", "recall")["hit"].to_list()
        [1.0]
    """

    def __init__(
        self, root: str | Path, *, lease: float = 0.0, owner: str = ""
    ) -> None:
        self.root = str(root) if "://" in str(root) else Path(root)
        self.files = open_files(root)
        # No lock of a file reaches into an object store.
        self.lease = lease or (LEASE if isinstance(self.root, str) else 0.0)
        self.leases = Leases(
            self.files, self.lease or LEASE, owner or secrets.token_hex(8)
        )

    def folder(self, owner: str) -> str:
        """Return the folder of a run or computation, relative to the root.

        Args:
            owner: Key (hash) of the run or computation.
        """
        return f"{owner[:2]}/{owner}"

    def has(self, owner: str, part: str) -> bool:
        """Return whether a table, or the weights, are stored and unchanged.

        Args:
            owner: Key (hash) of the run or computation.
            part: Name of the table, or :data:`MODEL_PART` for the weights.
        """
        return self._bytes(owner, part) is not None

    def read(self, owner: str, part: str) -> pl.DataFrame:
        """Return a stored table.

        Args:
            owner: Key (hash) of the run or computation.
            part: Name of the table.

        Raises:
            FolderError: It does not exist, or was changed.
        """
        if (content := self._bytes(owner, part)) is not None:
            return pl.read_parquet(BytesIO(content))
        raise FolderError(
            f"the table '{part}' of {self.root}/{self.folder(owner)} is missing or damaged; "
            "run the same command again to compute it"
        )

    def write(self, owner: str, part: str, table: pl.DataFrame) -> None:
        """Store a table, completely or not at all.

        Args:
            owner: Key (hash) of the run or computation.
            part: Name of the table.
            table: The table.

        Raises:
            WriteError: It cannot be written.
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
            FolderError: The weights were not stored, or were changed.
        """
        if (content := self._bytes(owner, MODEL_PART)) is not None:
            return content
        raise FolderError(
            f"the weights of {self.root}/{self.folder(owner)} were not stored, or are "
            "damaged; run it again with --keep-models (in Python, keep_models=True)"
        )

    def write_model(self, owner: str, content: bytes) -> None:
        """Store the weights of a run, completely or not at all.

        Args:
            owner: Key (hash) of the run.
            content: Bytes of a safetensors file.

        Raises:
            WriteError: The weights cannot be written.
        """
        self.files.write(self._name(owner, MODEL_PART, content), content)

    def describe(self, owner: str, about: Mapping[str, Any]) -> None:
        """Store a description beside the tables, for human readers; no function reads it.

        Args:
            owner: Key (hash) of the run or computation.
            about: Environment and settings of the run, which are written once, as JSON.

        Raises:
            WriteError: The description cannot be written.
        """
        name = f"{self.folder(owner)}/run.json"
        if self.files.read(name) is None:
            self.files.write(
                name, msgspec.json.format(msgspec.json.encode(about, order="sorted"))
            )

    def forget(self, owner: str, part: str) -> None:
        """Remove a table, or the weights, if they are stored, so that they are computed again.

        Args:
            owner: Key (hash) of the run or computation.
            part: Name of the table, or of the weights.

        Raises:
            WriteError: The store denies access or does not respond.
        """
        for name in self._candidates(owner, part):
            self.files.remove(name)

    def listed(self) -> set[tuple[str, str]]:
        """Return pairs (owner, part) of all stored files, from their names, without a check."""
        found = set()
        for name in self.files.names(""):
            file = name.rpartition("/")[2]
            if file.endswith((".parquet", ".safetensors")):
                found.add((name.split("/")[-2], file.rpartition("-")[0]))
        return found

    @contextmanager
    def unfinished(
        self, key: str, wanted: Sequence[tuple[str, str]]
    ) -> Iterator[tuple[Path, Callable[[], None]]]:
        """Provide the checkpoint file of a training for a ``with`` block; remove it afterwards.

        After an error in the block, the checkpoint is kept, so that the training can
        continue.

        Args:
            key: Key that distinguishes the training from others.
            wanted: Owner and part of the tables that the training computes.

        Yields:
            The path of the local file, and a function that stores it, which the block
            calls whenever it wrote the file.

        Raises:
            WriteError: The checkpoint cannot be stored.
        """
        folder = f"{_UNFINISHED}/{key}"
        self.files.write(f"{folder}/{_LIST}", msgspec.json.encode(wanted))
        with self.files.near(f"{folder}/state") as near:
            yield near
        self._remove_unfinished(folder)

    def tidy(self) -> None:
        """Remove checkpoints left by killed processes, if all their tables are stored."""
        for name in self.files.names(_UNFINISHED):
            folder, _, file = name.rpartition("/")
            if file == _LIST and folder.count("/") == 1:
                # Where the list is damaged, all stays.
                with suppress(OSError, ValueError, RecursionError):
                    wanted = msgspec.json.decode(
                        self.files.read(name) or b"", type=_Wanted
                    )
                    if all(self.has(owner, part) for owner, part in wanted):
                        self._remove_unfinished(folder)

    def _remove_unfinished(self, folder: str) -> None:
        """Remove a checkpoint, and finally its list of tables, so that :meth:`tidy` can finish."""
        with suppress(OSError):
            self.files.remove(f"{folder}/state")
            self.files.remove_folder(folder)

    @contextmanager
    def lock(self, task: str) -> Iterator[Hold | None]:
        """Hold a task during a ``with`` block, so that no other process works on it.

        Args:
            task: Key of the task.

        Yields:
            The hold; ``None``, immediately, if another process holds the task. A task
            is free once its holder has ended.

        Raises:
            WriteError: A lock file cannot be written.
        """
        if self.lease:
            with self.leases.hold(task) as hold:
                yield hold
            return
        path = within(self.root, f"locks/{task}.lock")
        lock = FileLock(path, timeout=0)
        with explained_writes(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(Timeout):  # which is an OSError, too
                lock.acquire()
        try:
            yield Hold() if lock.is_locked else None
        finally:
            lock.release()

    def _candidates(self, owner: str, part: str) -> list[str]:
        """Return the files that may be the part; several if its content changed in the meantime."""
        folder = self.folder(owner)
        start = f"{folder}/{part}-"
        end = ending(part)
        found = []
        for name in self.files.names(folder):
            # Another part's name may begin with this one's: then the rest is longer.
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
