"""Read a run folder: its state, its lock, and the files of a complete run.

:class:`StoredRun` only reads; :class:`~inweights.runs.RunFolder` adds the steps by
which a run is written and published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from filelock import FileLock, Timeout

from inweights.config import digest
from inweights.errors import FolderError
from inweights.runs.files import read_json, read_tables
from inweights.runs.manifest import MANIFEST, Manifest, verify
from inweights.support.border import guarded
from inweights.support.links import within
from inweights.support.publish import explained_writes

if TYPE_CHECKING:
    import polars as pl


class StoredRun:
    """One run on disk, complete or in progress, for reading.

    Args:
        root: Root of the store.
        name: ``<paper>/<recipe>/<hash of the config>``, below the root.
        config: Config of the run.

    Attributes:
        path: Folder of the complete run.
        work: Folder of the run in progress, ``<hash>.work``.
        old: Folder of a complete run that is being replaced, ``<hash>.old``.
    """

    @guarded
    def __init__(self, root: Path, name: str, config: Mapping[str, Any]) -> None:
        self.root = root
        self.path = root / name
        self.config = dict(config)
        self.work = self.path.with_name(self.path.name + ".work")
        self.old = self.path.with_name(self.path.name + ".old")
        # The file that a process locks while it works on the run.
        self._lock = FileLock(root / ".locks" / f"{self.path.name}.lock")

    @property
    def complete(self) -> bool:
        """Whether the run is complete: its folder has a manifest."""
        return (self.path / MANIFEST).exists()

    @property
    def state(self) -> Literal["complete", "at work", "interrupted", "damaged"]:
        """State of the run, without reading all of it.

        ``at work``: a process holds the run's lock. ``interrupted``: no process holds
        the lock, and the run is not complete. ``damaged``: there is a link, an
        unreadable manifest, or a config that does not fit the name. ``complete``:
        otherwise.
        """
        try:
            self._refuse_links()
            if self.complete:
                read_json(self.path / MANIFEST, Manifest)
        except FolderError:
            return "damaged"
        if digest(self.config) != self.path.name:
            return "damaged"
        if self.complete:
            return "complete"
        return "at work" if self._taken() else "interrupted"

    def _taken(self) -> bool:
        """Return whether a process holds the run's lock."""
        if self._lock.is_locked or not Path(self._lock.lock_file).exists():
            return self._lock.is_locked
        with suppress(OSError):  # on a disk that only reads, nobody writes
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                return True
            self._lock.release()
        return False

    @property
    def seeds(self) -> list[Any]:
        """Root seeds in the run's config; empty if the config is damaged."""
        seeds = self.config.get("seeds")
        return seeds if isinstance(seeds, list) else []

    @property
    def claims(self) -> list[str]:
        """Last parts of the names of the recipe's claims that the run judges; may be empty."""
        claims = self.config.get("claims")
        return list(map(str, claims)) if isinstance(claims, list) else []

    @property
    def leftovers(self) -> bool:
        """Whether there is a folder in progress, or a folder that a killed process left behind."""
        return self.work.exists() or self.old.exists()

    @contextmanager
    def held(self, waiting: Callable[[], None] | None = None) -> Iterator[None]:
        """Return a context manager that holds the run's lock, after waiting until it is free.

        The process that holds the lock may acquire it again.

        Args:
            waiting: Function that is called once before waiting, if the lock is not
                free.

        Raises:
            FolderError: The run's path contains a link.
            WriteError: The lock file cannot be written.
        """
        self._refuse_links()
        file = Path(self._lock.lock_file)
        with explained_writes(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                if waiting:
                    waiting()
                self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    def verify(self) -> None:
        """Check every file of the complete run against the manifest.

        Raises:
            FolderError: A file is missing, was changed, was added, or is a link.
        """
        self._refuse_links()
        verify(self.path)

    def json(self, name: str) -> Any:
        """Read a JSON file of the complete run.

        Args:
            name: Name of the file, within the run's folder.

        Returns:
            The decoded value, such as a dictionary or a list.

        Raises:
            FolderError: The file is missing, damaged or a link.
        """
        self._refuse_links()
        return read_json(self.path / name, object)

    def tables(self, part: str = "tables") -> dict[str, pl.DataFrame]:
        """Read every table of the complete run, or of another folder in it.

        Args:
            part: Name of the folder of tables, within the run's folder.

        Returns:
            Tables by name; empty if the folder does not exist.

        Raises:
            FolderError: A table is damaged or a link.
        """
        self._refuse_links()
        return read_tables(self.path / part)

    def _refuse_links(self) -> None:
        """Raise a FolderError if one of the run's folders is a link."""
        for place in (self.path, self.work, self.old, Path(self._lock.lock_file)):
            within(self.root, place.relative_to(self.root).as_posix())
