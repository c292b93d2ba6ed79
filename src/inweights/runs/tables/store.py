"""Store tables by run and measure; each is written atomically, and checked when it is read.

Every run, sweep and cluster job opens a :class:`Store` at the place returned by
:func:`store_below`. It adds tasks and checkpoints to
:class:`~inweights.runs.tables.stored.StoredTables`. A table is one file, ``<part>-<hash
of its bytes>.parquet``, in the folder of its run; the weights of a run, if stored, are
another file (``model-<hash>.safetensors``). Publishing a file means writing it under
another name and renaming it. There is no index that could become inconsistent, any
number of processes may write to one store, and nothing is ever deleted to make room. A
file whose bytes do not have the hash in its name is computed again.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import msgspec
from filelock import FileLock, Timeout

from inweights.runs import explained_writes
from inweights.runs.tables.lease import Hold, Leases
from inweights.runs.tables.stored import StoredTables
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
        place: Folder of the plan or the runs, or an address with ``://``.

    Returns:
        The folder or address ``store`` below ``place``, as a string; nothing is
        created.

    Raises:
        FolderError: The folder ``store`` is a link.

    Example:
        >>> store_below("s3://bucket/runs")
        's3://bucket/runs/store'
    """
    return f"{place}/store" if "://" in str(place) else str(within(place, "store"))


class Store(StoredTables):
    """Store of the tables of individual runs, below one folder or address.

    If the store is a folder, methods raise a :class:`~inweights.errors.FolderError` if
    a path in the folder contains a link. If it is an object store, methods raise a
    :class:`~inweights.errors.WriteError` if the store denies access or does not respond
    for ten minutes.

    Args:
        root: The folder, which is created when something is written; or an address such as
            ``s3://bucket/folder``.
        lease: Seconds after which the task of an unresponsive process is taken over. If
            it is 0 (the default), tasks are held by file locks, which the system
            releases when a process ends; file locks suffice on one machine. For an
            object store, which has no file locks, 0 means leases of 60 seconds.
        owner: Key of the process that hands out tasks; see
            :class:`~inweights.runs.tables.lease.Leases`. If it is empty (the default),
            a random key is used.

    Attributes:
        root: The folder as a ``Path``, or the address as a string.
        files: The files of the store.
        lease: Duration of leases in seconds; 0 for file locks.
        leases: The leases of the store.

    Raises:
        ConfigError: The address is invalid, or the optional package for object stores
            is not installed.

    Example:
        >>> import tempfile
        >>> import polars as pl
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
        """Open the store at a folder or address; nothing is read or created.

        Args:
            root: The folder, or an address such as ``s3://bucket/folder``.
            lease: Duration of leases in seconds; 0 (the default) for file locks. For an
                object store, 0 means leases of 60 seconds.
            owner: Key of the process that hands out tasks; with an empty string (the
                default), a random key is used.

        Raises:
            ConfigError: The address is invalid, or the optional package for object
                stores is not installed.
        """
        super().__init__(root)
        # File locks do not work in an object store, so that a lease is always used
        # there.
        self.lease = lease or (LEASE if isinstance(self.root, str) else 0.0)
        self.leases = Leases(
            self.files, self.lease or LEASE, owner or secrets.token_hex(8)
        )

    @contextmanager
    def unfinished(
        self, key: str, wanted: Sequence[tuple[str, str]]
    ) -> Iterator[tuple[Path, Callable[[], None]]]:
        """Provide the checkpoint file of a task to a ``with`` block, and remove it afterwards.

        If the block raises an error, the checkpoint is kept, so that training can be
        resumed.

        Args:
            key: Key of the task, different for every training run.
            wanted: Pairs of a run's key and a table's name, for each table that the
                task computes.

        Yields:
            The path of a local file, which exists if an earlier attempt stored a
            checkpoint, and a function without arguments that stores the file. The block
            calls the function whenever it has written the file.

        Raises:
            FolderError: The path of the checkpoint contains a link.
            WriteError: The checkpoint cannot be stored.
        """
        folder = f"{_UNFINISHED}/{key}"
        self.files.write(f"{folder}/{_LIST}", msgspec.json.encode(wanted))
        with self.files.near(f"{folder}/state") as near:
            yield near
        self._remove_unfinished(folder)

    def tidy(self) -> None:
        """Remove each checkpoint left by a killed process if all tables of its task are stored.

        A checkpoint whose list of tables is damaged is kept.

        Raises:
            FolderError: The store is a folder and contains a link.
            WriteError: The object store denies access or does not respond.
        """
        for name in self.files.names(_UNFINISHED):
            folder, _, file = name.rpartition("/")
            if file == _LIST and folder.count("/") == 1:
                # If the list is damaged, the checkpoint is kept.
                with suppress(OSError, ValueError, RecursionError):
                    wanted = msgspec.json.decode(
                        self.files.read(name) or b"", type=_Wanted
                    )
                    if all(self.has(owner, part) for owner, part in wanted):
                        self._remove_unfinished(folder)

    def _remove_unfinished(self, folder: str) -> None:
        """Remove a checkpoint before its list of tables, which :meth:`tidy` needs to finish."""
        with suppress(OSError):
            self.files.remove(f"{folder}/state")
            self.files.remove_folder(folder)

    @contextmanager
    def lock(self, task: str) -> Iterator[Hold | None]:
        """Hold a task during a ``with`` block, so that no other process works on it.

        Args:
            task: Key of the task.

        Yields:
            The hold, whose :meth:`Hold.check` raises an error once the task is lost. If
            another process holds the task, the method does not wait and yields
            ``None``. With file locks, a task is free once its holder has ended. With
            leases, it is free once repeated calls have seen no renewal for the duration
            of the lease. If more than half of this duration passes between two calls,
            the time is measured from the second call.

        Raises:
            FolderError: The path of the lock file contains a link.
            WriteError: A lock file or lease cannot be written.
        """
        if self.lease:
            with self.leases.hold(task) as hold:
                yield hold
            return
        path = within(self.root, f"locks/{task}.lock")
        lock = FileLock(path, timeout=0)
        with explained_writes(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # also an OSError, which explained_writes would convert
            with suppress(Timeout):
                lock.acquire()
        try:
            yield Hold() if lock.is_locked else None
        finally:
            lock.release()
