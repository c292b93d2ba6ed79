"""Run folders, which are named by the hash of their config and published completely or not at all.

Besides the folder ``<hash>`` of a complete run, two other folders may exist
temporarily:

- ``<hash>.work``: a run in progress, or a complete run that is being judged and drawn
  again;
- ``<hash>.old``: a complete run that is being replaced by a newer one.

Publishing has three steps. First the manifest, with the hash of every file, is written
in ``.work``. Then an earlier complete run is renamed to ``.old``, and ``.work`` to the
final name. Only then is anything removed. Therefore a complete result is on the disk at
every moment under one of the three names, and :meth:`RunFolder.recover` restores its
final name if the process was killed in between.

Only one process at a time works on a run: it holds a lock, a file in ``.locks`` at the
root of the store, which is never renamed or removed together with run folders. The
system releases the lock when the process ends, for any reason.

A run may have been copied from another machine. The manifest lists every file in the
run's folder, and no file outside it. Links raise an error, even when something is
removed. Only the root of the store may be a link.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from inweights.errors import RunError
from inweights.runs.files import (
    hash_of,
    write_json,
)
from inweights.runs.manifest import MANIFEST, files_of, is_whole
from inweights.runs.stored_run import StoredRun
from inweights.support.border import guarded
from inweights.support.publish import PARTIAL, explained_writes, publish_folder, remove

#: Name of the config in a run folder.
CONFIG = "config.json"


class RunFolder(StoredRun):
    """Folder of one run on disk, complete or in progress.

    Creating the object neither reads nor writes anything. Methods that write or remove
    raise a :class:`~inweights.errors.WriteError` (a ``RunError``) if the operating
    system reports an error. :meth:`recover`, :meth:`discard` and :meth:`seal` wait
    until no other process holds the run's lock.

    Args:
        root: Root of the store.
        name: ``<paper>/<recipe>/<hash of the config>``, below the root. The hash is not
            checked here; a run whose config does not match the hash has the
            :attr:`state` ``damaged``.
        config: Config of the run, as values that JSON can store.

    Attributes:
        path: Folder of the complete run.
        work: Folder of the run in progress, ``<hash>.work``.
        old: Folder of a complete run that is being replaced, ``<hash>.old``.
    """

    @guarded
    def __init__(self, root: Path, name: str, config: Mapping[str, Any]) -> None:
        """Store the paths of the run's folders; no file is read or created.

        Args:
            root: Root of the store.
            name: ``<paper>/<recipe>/<hash of the config>``, below the root.
            config: Config of the run, as values that JSON can store.
        """
        super().__init__(root, name, config)
        # Identifies the folder that was begun, which may have been replaced by another
        # one.
        self._begun: tuple[int, int] | None = None

    def recover(self) -> None:
        """Finish an interrupted publication, and remove folders that are no longer needed.

        The method waits for the run's lock. If there is no complete run, a ``.work`` or
        ``.old`` folder takes its place, provided that all of its files match its
        manifest. Finished parts of an interrupted run are kept.

        Raises:
            FolderError: The run's path contains a link.
            WriteError: The lock file cannot be written, or a file cannot be renamed or
                removed.
        """
        with self.held(), explained_writes(self.path):
            if not self.complete:
                whole = next((p for p in (self.work, self.old) if is_whole(p)), None)
                if whole:
                    remove(self.path)
                    os.replace(whole, self.path)
            if self.complete:
                for stale in (self.work, self.old):
                    # a folder that cannot be removed does no harm
                    with suppress(OSError):
                        remove(stale)
            else:
                remove(self.old)
                (self.work / MANIFEST).unlink(missing_ok=True)

    def settle(self) -> None:
        """Recover the run if a process was killed while publishing it; otherwise do nothing.

        If there is something to recover, the method waits for the run's lock.

        Raises:
            FolderError: There is something to recover, and the run's path contains a
                link.
            WriteError: The lock file cannot be written, or a file cannot be renamed or
                removed.
        """
        if not self.complete and ((self.work / MANIFEST).exists() or self.old.exists()):
            self.recover()

    def begin(self) -> Path:
        """Create the folder of the run in progress; files of an interrupted run are kept.

        The caller should hold the run's lock (:meth:`held`), which is not checked.

        Returns:
            The folder :attr:`work`, ``<hash>.work``, which contains the config as
            ``config.json``.

        Raises:
            FolderError: The folder contains a link.
            WriteError: The folder cannot be written.
            TypeError: A value of the config cannot be stored as JSON.
        """
        with explained_writes(self.work):
            self.work.mkdir(parents=True, exist_ok=True)
            files_of(self.work)
            (self.work / MANIFEST).unlink(missing_ok=True)
            write_json(self.work / CONFIG, self.config)
            self._begun = _identity(self.work / CONFIG)
        return self.work

    def reopen(self) -> Path:
        """Copy the complete run to the folder in progress; the run is kept until :meth:`seal`.

        A folder in progress that already exists is removed first. The caller should
        hold the run's lock (:meth:`held`), which is not checked.

        Returns:
            The folder :attr:`work`, ``<hash>.work``, without the manifest.

        Raises:
            FolderError: The folder of the complete run contains a link.
            WriteError: There is no folder of the run, or it cannot be written.
        """
        with explained_writes(self.work):
            remove(self.work)
            files_of(self.path)
            shutil.copytree(
                self.path, self.work, ignore=shutil.ignore_patterns(MANIFEST)
            )
            self._begun = _identity(self.work / CONFIG)
        return self.work

    def check(self) -> None:
        """Check that the folder in progress was not replaced since :meth:`begin` or :meth:`reopen`.

        Raises:
            RunError: The folder's ``config.json`` was removed, replaced or changed
                since then, or neither method was called on this object. Other files are
                not checked.
        """
        if self._begun is None or self._begun != _identity(self.work / CONFIG):
            raise RunError(
                f"{self.work} was removed or changed during the run, and nothing was published; "
                "start the run again"
            )

    def discard(self) -> None:
        """Wait for the run's lock, and remove the run, complete or in progress, if it exists.

        Raises:
            FolderError: The run's path contains a link.
            WriteError: The lock file cannot be written, or a file cannot be removed.
        """
        with self.held(), explained_writes(self.path):
            remove(self.work)
            remove(self.old)
            # The manifest is removed first, so that a partly removed folder does not
            # count as complete.
            (self.path / MANIFEST).unlink(missing_ok=True)
            remove(self.path)

    def seal(self) -> None:
        """Publish the folder in progress: write its manifest and rename it to the run's name.

        A run is complete only after this call. The method waits for the run's lock,
        removes files whose writing was interrupted, and replaces an earlier complete
        run.

        Raises:
            RunError: The folder was removed or replaced in the meantime, or neither
                :meth:`begin` nor :meth:`reopen` was called on this object.
            FolderError: The folder in progress or the run's path contains a link.
            WriteError: A file cannot be read, written, renamed or removed.

        Example:
            >>> import tempfile
            >>> from inweights.config import digest
            >>> config = {"seeds": [0]}
            >>> run = RunFolder(Path(tempfile.mkdtemp()), f"own/tiny/{digest(config)}", config)
            >>> work = run.begin()
            >>> write_json(work / "outcome.json", {"seconds": 1.0})
            >>> run.state, run.seal(), run.state
            ('interrupted', None, 'complete')
        """
        with self.held(), explained_writes(self.work):
            self.check()
            # Files whose writing was interrupted.
            for unfinished in self.work.glob(f"*{PARTIAL}"):
                remove(unfinished)
            hashes = {name: hash_of(self.work / name) for name in files_of(self.work)}
            write_json(self.work / MANIFEST, {"files": hashes})
            publish_folder(self.work, self.path, replace=True)


def _identity(file: Path) -> tuple[int, int] | None:
    """Return a file's inode and time of change, which differ for a replaced file.

    Returns:
        Both numbers; ``None`` if the file does not exist.
    """
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
