"""The store: tables by run and measure, each whole or not there, and checked when it is read.

A table is one file, ``<part>-<hash of its bytes>.parquet`` in the folder of its run; so are the
weights of a run, where they are kept (``model-<hash>.safetensors``). A file is written
under another name and then renamed, which is all of publishing: there is no list to keep in step,
any number of processes may fill one store, and nothing is ever deleted to make room for something
new. A file whose bytes are not those of its name counts as missing, and is made again.
"""

import hashlib
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
from inweights.support.links import within

#: Seconds after which a task is taken over whose holder, on another machine, gave no sign.
LEASE = 60.0
#: The part of a run that is no table: its trained weights.
MODEL_PART = "model"
_HASH = 16
_UNFINISHED, _LIST = "unfinished", "wanted.json"
#: What an unfinished training waits for: owner and part of each table, and there is one at least.
_Name = Annotated[str, msgspec.Meta(pattern=r"^[\w-]+$")]
_Wanted = Annotated[list[tuple[_Name, _Name]], msgspec.Meta(min_length=1)]


def store_below(place: str | Path) -> str:
    """Return the store of a plan, or of all runs, at a folder or address; a link is refused."""
    return f"{place}/store" if "://" in str(place) else str(within(place, "store"))


class Store:
    """Tables of single runs, below one folder or address.

    Args:
        root: The folder, made when something is written; or an address such as
            ``s3://bucket/folder``.
        lease: Seconds after which a task whose holder gave no sign is taken over. With 0 tasks are
            held by locks of files, which the system frees; they do for one machine.
        owner: Who hands out tasks; see :class:`~inweights.runs.tables.lease.Leases`.

    Example:
        >>> import tempfile
        >>> store = Store(tempfile.mkdtemp())
        >>> store.write("a1b2c3", "recall", pl.DataFrame({"hit": [1.0]}))
        >>> store.has("a1b2c3", "recall"), store.has("a1b2c3", "margin")
        (True, False)
        >>> store.read("a1b2c3", "recall")["hit"].to_list()
        [1.0]
    """

    def __init__(self, root: str | Path, *, lease: float = 0.0, owner: str = "") -> None:
        self.root = str(root) if "://" in str(root) else Path(root)
        self.files = open_files(root)
        # No lock of a file reaches into an object store.
        self.lease = lease or (LEASE if isinstance(self.root, str) else 0.0)
        self.leases = Leases(self.files, self.lease or LEASE, owner or secrets.token_hex(8))

    def folder(self, owner: str) -> str:
        """Return the folder of a run or computation, below the root."""
        return f"{owner[:2]}/{owner}"

    def has(self, owner: str, part: str) -> bool:
        """Whether a table, or the weights, are stored, whole and as they were written."""
        return self._bytes(owner, part) is not None

    def read(self, owner: str, part: str) -> pl.DataFrame:
        """Return a stored table; it is a FolderError that it is not there, or was changed."""
        if (content := self._bytes(owner, part)) is not None:
            return pl.read_parquet(BytesIO(content))
        raise FolderError(
            f"the table '{part}' of {self.root}/{self.folder(owner)} is missing or damaged; "
            "run the same command again to compute it"
        )

    def write(self, owner: str, part: str, table: pl.DataFrame) -> None:
        """Store a table, whole or not at all."""
        buffer = BytesIO()
        table.write_parquet(buffer)
        content = buffer.getvalue()
        self.files.write(self._name(owner, part, content), content)

    def read_model(self, owner: str) -> bytes:
        """Return the weights of a run, as the bytes of a file; errors are as for :meth:`read`."""
        if (content := self._bytes(owner, MODEL_PART)) is not None:
            return content
        raise FolderError(
            f"the weights of {self.root}/{self.folder(owner)} were not kept, or are "
            "damaged; run it again with --keep-models (in Python, keep_models=True)"
        )

    def write_model(self, owner: str, content: bytes) -> None:
        """Keep the weights of a run, whole or not at all."""
        self.files.write(self._name(owner, MODEL_PART, content), content)

    def describe(self, owner: str, about: Mapping[str, Any]) -> None:
        """Keep beside the tables what made them, for people: nothing reads it back."""
        name = f"{self.folder(owner)}/run.json"
        if self.files.read(name) is None:
            self.files.write(name, msgspec.json.format(msgspec.json.encode(about, order="sorted")))

    def forget(self, owner: str, part: str) -> None:
        """Remove a table, so that it is made again."""
        for name in self._candidates(owner, part):
            self.files.remove(name)

    def listed(self) -> set[tuple[str, str]]:
        """Return owner and part of all tables, by their names alone: quick, and unchecked."""
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
        """Give a training the file of its checkpoint; it is removed when the training is stored.

        What comes with it has to be called whenever the file was written. ``key`` tells the
        training from others; ``wanted`` are the tables that it makes, by owner and part.
        """
        folder = f"{_UNFINISHED}/{key}"
        self.files.write(f"{folder}/{_LIST}", msgspec.json.encode(wanted))
        with self.files.near(f"{folder}/state") as near:
            yield near
        self._remove_unfinished(folder)

    def tidy(self) -> None:
        """Remove checkpoints that nobody needs: a process was killed when all was stored."""
        for name in self.files.names(_UNFINISHED):
            folder, _, file = name.rpartition("/")
            if file == _LIST and folder.count("/") == 1:
                # Where the list is damaged, all stays.
                with suppress(OSError, ValueError, RecursionError):
                    wanted = msgspec.json.decode(self.files.read(name) or b"", type=_Wanted)
                    if all(self.has(owner, part) for owner, part in wanted):
                        self._remove_unfinished(folder)

    def _remove_unfinished(self, folder: str) -> None:
        """What it waited for goes last: whoever is killed here leaves what is tidied up later."""
        with suppress(OSError):
            self.files.remove(f"{folder}/state")
            self.files.remove_folder(folder)

    @contextmanager
    def lock(self, task: str) -> Iterator[Hold | None]:
        """Hold a task, by its key, while the block runs, so that no other process works on it.

        Gives ``None`` at once where another one holds it. It is free when its holder is gone.
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
        start, end = f"{self.folder(owner)}/{part}-", f".{_suffix(part)}"
        length = len(start) + _HASH + len(end)
        names = self.files.names(self.folder(owner))
        return [n for n in names if n.startswith(start) and n.endswith(end) and len(n) == length]

    def _name(self, owner: str, part: str, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()[:_HASH]
        return f"{self.folder(owner)}/{part}-{digest}.{_suffix(part)}"

    def _bytes(self, owner: str, part: str) -> bytes | None:
        for name in self._candidates(owner, part):
            content = self.files.read(name) or b""
            if name == self._name(owner, part, content):
                return content
        return None


def _suffix(part: str) -> str:
    return "safetensors" if part == MODEL_PART else "parquet"
