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
    """One run on disk, complete or in progress, that can be read but not written.

    Args:
        root: Root of the store.
        name: ``<paper>/<recipe>/<hash of the config>``, below the root.
        config: Config of the run, as values that JSON can store. The hash in ``name``
            is not checked here.

    Attributes:
        root: Root of the store.
        config: Config of the run, a copy of what was given.
        path: Folder of the complete run.
        work: Folder of the run in progress, ``<hash>.work``.
        old: Folder of a complete run that is being replaced, ``<hash>.old``.
    """

    @guarded
    def __init__(self, root: Path, name: str, config: Mapping[str, Any]) -> None:
        """Store the paths of the run's folders; no file is read.

        Args:
            root: Root of the store.
            name: ``<paper>/<recipe>/<hash of the config>``, below the root.
            config: Config of the run, as values that JSON can store.
        """
        self.root = root
        self.path = root / name
        self.config = dict(config)
        self.work = self.path.with_name(self.path.name + ".work")
        self.old = self.path.with_name(self.path.name + ".old")
        # A process holds this lock while it works on the run.
        self._lock = FileLock(root / ".locks" / f"{self.path.name}.lock")

    @property
    def complete(self) -> bool:
        """Whether the run's folder contains a manifest; other files are not checked."""
        return (self.path / MANIFEST).exists()

    @property
    def state(self) -> Literal["complete", "at work", "interrupted", "damaged"]:
        """State of the run: ``complete``, ``at work``, ``interrupted`` or ``damaged``.

        ``damaged``: the run's path contains a link, the manifest cannot be read, or the
        hash of the config is not the folder's name. ``complete``: there is a readable
        manifest; only :meth:`verify` checks the other files. ``at work``: the run is
        not complete, and a process holds its lock. ``interrupted``: the run is not
        complete, and no process holds its lock. A run without any folder is
        ``interrupted``, too.
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
        with suppress(OSError):  # on a read-only disk, no process can work on the run
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                return True
            self._lock.release()
        return False

    @property
    def seeds(self) -> list[Any]:
        """Root seeds in the run's config; empty if the config contains no list of seeds."""
        seeds = self.config.get("seeds")
        return seeds if isinstance(seeds, list) else []

    @property
    def claims(self) -> list[str]:
        """Short names (last parts of full names) of the claims to which the run is restricted.

        A run that adds seeds for some claims only is restricted to these claims. For
        other runs, which judge all claims of their recipe, the list is empty.
        """
        claims = self.config.get("claims")
        return list(map(str, claims)) if isinstance(claims, list) else []

    @property
    def leftovers(self) -> bool:
        """Whether the folder :attr:`work` or :attr:`old` exists, even if no process uses it.

        The folders are named ``<hash>.work`` and ``<hash>.old``.
        """
        return self.work.exists() or self.old.exists()

    @contextmanager
    def held(self, waiting: Callable[[], None] | None = None) -> Iterator[None]:
        """Return a context manager that holds the run's lock, after waiting until it is free.

        The lock is in the file ``.locks/<hash>.lock`` of the store. ``with`` blocks of
        the same object may be nested within one thread. A block of another object for
        the same run waits, even in the same process. The ``with`` statement binds no
        value.

        Args:
            waiting: Function without arguments that is called once before waiting, if
                the lock is not free; if ``None`` (the default), no function is called.

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
        """Check every file of the complete run against its hash in the manifest.

        Raises:
            FolderError: A file is missing, was changed, was added, is a link or cannot
                be read, or the run is not complete. The message names the file.
        """
        self._refuse_links()
        verify(self.path)

    def json(self, name: str) -> Any:
        """Read a JSON file of the complete run.

        Args:
            name: Path of the file relative to the run's folder, such as
                ``outcome.json``. The path is not checked, and must not lead out of the
                folder.

        Returns:
            The decoded value: a dictionary, list, string, number, boolean or ``None``.

        Raises:
            FolderError: The file is missing, cannot be read, is not valid JSON or is a
                link, or the run's path contains a link.
        """
        self._refuse_links()
        return read_json(self.path / name, object)

    def tables(self, part: str = "tables") -> dict[str, pl.DataFrame]:
        """Read every table in a folder of the complete run.

        Args:
            part: Name of the folder of tables, within the run's folder; by default
                ``tables``.

        Returns:
            Tables by name, in alphabetical order; empty if the folder does not exist.

        Raises:
            FolderError: A table cannot be read or is a link, or the run's path contains
                a link.
        """
        self._refuse_links()
        return read_tables(self.path / part)

    def _refuse_links(self) -> None:
        """Raise a FolderError if one of the run's folders is a link."""
        for place in (self.path, self.work, self.old, Path(self._lock.lock_file)):
            within(self.root, place.relative_to(self.root).as_posix())
