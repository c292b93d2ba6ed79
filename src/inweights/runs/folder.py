"""Run folders: named by the hash of their config, whole or not there, and safe to resume.

Beside the folder ``<hash>`` of a complete run two others may stand for a while:

- ``<hash>.work``: a run at work, or a complete one that is judged and drawn again;
- ``<hash>.old``: the complete run that a newer one is about to replace.

Publishing is manifest → rename → remove. The manifest, with the hash of every file, is written in
``.work``; the folder is renamed, an earlier one to ``.old`` first; and only then is anything
removed. So the result is on the disk at every moment, whole under one of the three names, and
:meth:`RunFolder.recover` gives it its own name again if the process was killed in between.

One process at a time works on a run: it holds a lock, a file in ``.locks`` at the root of the
store, which no renaming and no removing of run folders touches. The system frees the lock when the
process ends, in whatever way.

A run may come from elsewhere. Its manifest names every file, and none outside; links are refused,
also where something is removed. Only the root of the store may be a link.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from filelock import FileLock, Timeout

from inweights.config import digest
from inweights.errors import FolderError, RunError
from inweights.runs.files import explained_writes, hash_of, read_json, read_tables, write_json
from inweights.runs.manifest import MANIFEST, Manifest, files_of, is_whole, verify
from inweights.support.links import within
from inweights.support.publish import PARTIAL, publish_folder, remove

if TYPE_CHECKING:
    import polars as pl

#: Name of the config in a run folder.
CONFIG = "config.json"


class RunFolder:
    """One run on disk, at work or complete. What cannot be written or removed is a RunError."""

    def __init__(self, root: Path, name: str, config: Mapping[str, Any]) -> None:
        self.root, self.path, self.config = root, root / name, dict(config)
        self.work = self.path.with_name(self.path.name + ".work")
        self.old = self.path.with_name(self.path.name + ".old")
        # The file that a process locks while it works on the run.
        self._lock = FileLock(root / ".locks" / f"{self.path.name}.lock")
        self._begun: tuple[int, int] | None = None

    @property
    def complete(self) -> bool:
        """Whether the run is done."""
        return (self.path / MANIFEST).exists()

    @property
    def state(self) -> Literal["complete", "at work", "interrupted", "damaged"]:
        """What can be said of the run without reading all of it."""
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
        """Whether a process holds the run's lock."""
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
        """Root seeds by its config; none where that is damaged."""
        seeds = self.config.get("seeds")
        return seeds if isinstance(seeds, list) else []

    @property
    def claims(self) -> list[str]:
        """Last parts of the claims' names, where the run is a part of a recipe that has them."""
        claims = self.config.get("claims")
        return [str(claim) for claim in claims] if isinstance(claims, list) else []

    @property
    def leftovers(self) -> bool:
        """Whether there is more than a complete run: one at work, or what a kill left behind."""
        return self.work.exists() or self.old.exists()

    @contextmanager
    def held(self, waiting: Callable[[], None] | None = None) -> Iterator[None]:
        """Hold the run's lock for a while; wait while another process has it.

        Whoever holds it may take it again. ``waiting`` is called once if it is not free.

        Raises:
            FolderError: A link stands in the run's place, or on the way there.
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

    def recover(self) -> None:
        """Finish what was cut short while a run was published, and clear what is stale.

        A whole ``.work`` or ``.old`` takes the place of a complete run that is not there. What an
        interrupted run has finished is kept.
        """
        with self.held(), explained_writes(self.path):
            if not self.complete:
                whole = next((p for p in (self.work, self.old) if is_whole(p)), None)
                if whole:
                    remove(self.path)
                    os.replace(whole, self.path)
            if self.complete:
                for stale in (self.work, self.old):
                    with suppress(OSError):  # what cannot be removed does no harm
                        remove(stale)
            else:
                remove(self.old)
                (self.work / MANIFEST).unlink(missing_ok=True)

    def settle(self) -> None:
        """Recover the run if a process was killed while it published it; else do nothing."""
        if not self.complete and ((self.work / MANIFEST).exists() or self.old.exists()):
            self.recover()

    def begin(self) -> Path:
        """Return the folder to work in, made if needed; what an interrupted run left is kept."""
        with explained_writes(self.work):
            self.work.mkdir(parents=True, exist_ok=True)
            files_of(self.work)
            (self.work / MANIFEST).unlink(missing_ok=True)
            write_json(self.work / CONFIG, self.config)
            self._begun = _identity(self.work / CONFIG)
        return self.work

    def reopen(self) -> Path:
        """Return a copy of the complete run to work in; the run itself stays until it is sealed."""
        with explained_writes(self.work):
            remove(self.work)
            files_of(self.path)
            shutil.copytree(self.path, self.work, ignore=shutil.ignore_patterns(MANIFEST))
            self._begun = _identity(self.work / CONFIG)
        return self.work

    def check(self) -> None:
        """Refuse a folder at work that was removed or replaced since it was begun."""
        if self._begun is None or self._begun != _identity(self.work / CONFIG):
            raise RunError(
                f"{self.work} was removed or changed during the run, and nothing was published; "
                "start it again"
            )

    def discard(self) -> None:
        """Remove the run, complete or at work."""
        with self.held(), explained_writes(self.path):
            remove(self.work)
            remove(self.old)
            (self.path / MANIFEST).unlink(missing_ok=True)  # what is half removed is not whole
            remove(self.path)

    def seal(self) -> None:
        """Write the manifest and give the folder its name. Only sealed folders count as whole."""
        with self.held(), explained_writes(self.work):
            self.check()
            for unfinished in self.work.glob(f"*{PARTIAL}"):  # of a write that was cut short
                remove(unfinished)
            hashes = {name: hash_of(self.work / name) for name in files_of(self.work)}
            write_json(self.work / MANIFEST, {"files": hashes})
            publish_folder(self.work, self.path, replace=True)

    def verify(self) -> None:
        """Refuse a complete run of which a file is missing, was changed, or was added."""
        self._refuse_links()
        verify(self.path)

    def json(self, name: str) -> Any:
        """Read a JSON file of the complete run; a damaged one is a FolderError."""
        self._refuse_links()
        return read_json(self.path / name, object)

    def tables(self, part: str = "tables") -> dict[str, pl.DataFrame]:
        """Read every table of the complete run, or of another part of it."""
        self._refuse_links()
        return read_tables(self.path / part)

    def _refuse_links(self) -> None:
        for place in (self.path, self.work, self.old, Path(self._lock.lock_file)):
            within(self.root, place.relative_to(self.root).as_posix())


def _identity(file: Path) -> tuple[int, int] | None:
    """What tells a file from another one that is put in its place; ``None`` where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
