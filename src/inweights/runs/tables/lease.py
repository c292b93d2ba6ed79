"""Leases, which decide which process works on a task if machines cannot see each other's processes.

:class:`Leases` are the leases of one store; :meth:`Leases.hold` acquires one for a
``with`` block and yields a :class:`Hold`. :class:`~inweights.runs.tables.store.Store`
uses them on shared disks and object stores.

The holder regularly writes a new beat into its lease. A process that waits reads the
lease, and takes it over once it has seen **the same beat for the lease's duration, by
its own clock**. Times of different machines are never compared, so their clocks may
differ.

A lease is a file ``leases/<task>/<generation>``. To take it over, a process creates the
next generation, which only one of several machines can do. A process that has lost its
lease finds a later generation and stops.
"""

import platform
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from inweights.errors import InweightsError, RunError
from inweights.runs.tables.files import Files

_FOLDER = "leases"
#: Number of renewals of a lease during its duration.
_BEATS = 4


class LostError(RunError):
    """Raised if another process has taken over a task from this process."""


class Lease(msgspec.Struct, kw_only=True):
    """Content of the file of a lease.

    Attributes:
        owner: Key of the process that handed out the task to the holder.
        host: Name of the holder's machine.
        beat: Random text, replaced each time the holder renews the lease.
    """

    owner: str
    host: str
    beat: str


class Hold:
    """A task that this process holds.

    Attributes:
        lost: Whether another process has taken over the task; false at first. A thread
            that renews the lease sets the attribute.
    """

    lost = False

    def check(self) -> None:
        """Raise an error if another process has taken over the task that this process held.

        Raises:
            LostError: Another process has taken over the task. The error is a
                ``RunError``.

        Example:
            >>> Hold().check()
        """
        if self.lost:
            raise LostError(
                "another process took over this task, because this process did not "
                "renew its lease"
            )


class Leases:
    """Leases of one store, which processes use to hold tasks.

    Args:
        files: Files of the store.
        seconds: Duration of a lease; a lease that is not renewed for this time is taken
            over.
        owner: Key of the process that hands out the tasks. Leases with this key are
            taken over at once, since their holders are known to have ended.

    Example:
        >>> import tempfile
        >>> from inweights.runs.tables.files import Folder
        >>> leases = Leases(Folder(tempfile.mkdtemp()), 60.0, "me")
        >>> with leases.hold("task") as hold:
        ...     hold is not None, sorted(leases.live())
        (True, ['task'])
        >>> leases.free("task")
        True
    """

    def __init__(self, files: Files, seconds: float, owner: str) -> None:
        """Store the settings of the leases; no file is read.

        Args:
            files: Files of the store.
            seconds: Duration of a lease in seconds. A lease that is not renewed for
                this time is taken over.
            owner: Key of the process that hands out the tasks. Leases with the same key
                are taken over at once.
        """
        self.files = files
        self.seconds = seconds
        self.owner = owner
        self._seen: dict[str, tuple[bytes, float, float]] = {}

    @contextmanager
    def hold(self, task: str) -> Iterator[Hold | None]:
        """Hold a task during a ``with`` block.

        A task is taken over if a process of the same owner holds it, or if its lease
        has expired.

        Args:
            task: Key of the task.

        Yields:
            The hold, whose :meth:`Hold.check` raises an error once the task is lost;
            ``None`` if another process holds the task. The method does not wait for
            that process.

        Raises:
            FolderError: The store is a folder, and the lease's path contains a link.
            WriteError: The lease cannot be written, or an object store denies access or
                does not respond.
        """
        older, name = self._take(task)
        if name is None:
            yield None
            return
        hold = Hold()
        over = threading.Event()
        beating = threading.Thread(
            target=self._beat, args=(task, name, hold, over), daemon=True
        )
        beating.start()
        try:
            yield hold
        finally:
            over.set()
            beating.join()
            # A lease that could not be removed is taken over when it expires.
            with suppress(InweightsError, OSError):
                for mine in (*older, name):
                    self.files.remove(mine)

    def live(self) -> dict[str, Lease]:
        """Return the existing leases, keyed by task.

        Returns:
            The lease of each task, including leases that have expired. Leases that
            cannot be read are left out.

        Raises:
            FolderError: The folder of leases contains a link.
            WriteError: An object store denies access or does not respond.
        """
        newest = {name.split("/")[1]: name for name in self.files.names(_FOLDER)}
        found = {}
        for task, name in newest.items():
            with suppress(ValueError, RecursionError):
                found[task] = msgspec.json.decode(
                    self.files.read(name) or b"", type=Lease
                )
        return found

    def free(self, task: str) -> bool:
        """Return whether this owner's processes can now hold a task that another process held.

        Processes that hand out tasks call this method repeatedly. The method takes over
        a lease that was not renewed for its duration. The task is then free for this
        owner's processes; each of them tries once to hold it.

        Args:
            task: Key of the task.

        Returns:
            True if the task has no lease, or if this call took over the lease; false
            otherwise, and while the store does not respond.
        """
        # if the store does not respond, the caller can try again
        with suppress(InweightsError, OSError):
            return not self._generations(task) or self._take(task)[1] is not None
        return False

    def give_back(self) -> None:
        """Release all tasks that are held by processes of this owner.

        The caller must ensure that these processes have ended; this is not checked.

        Raises:
            FolderError: The folder of leases contains a link.
            OSError: A lease cannot be removed from a folder.
            WriteError: An object store denies access or does not respond.
        """
        for task, lease in self.live().items():
            if lease.owner == self.owner:
                self.files.remove_folder(f"{_FOLDER}/{task}")

    def _take(self, task: str) -> tuple[list[str], str | None]:
        """Try to acquire a lease.

        Returns:
            Names of the earlier generations, and the name of the new generation, or
            ``None`` if another process holds the task.
        """
        generations = self._generations(task)
        number = 1
        if generations:
            content = self.files.read(generations[-1])
            if content is None or not (
                self._own(content) or self._expired(task, content)
            ):
                return [], None
            number = int(generations[-1].rpartition("/")[2]) + 1
        name = f"{_FOLDER}/{task}/{number:08d}"
        return generations, name if self.files.create(name, self._content()) else None

    def _generations(self, task: str) -> list[str]:
        return self.files.names(f"{_FOLDER}/{task}")

    def _own(self, content: bytes) -> bool:
        with suppress(ValueError, RecursionError):
            return msgspec.json.decode(content, type=Lease).owner == self.owner
        return False

    def _expired(self, task: str, content: bytes) -> bool:
        """Return whether the beat has not changed for the duration of the lease.

        A long gap between two reads restarts the time: the store may have been
        unavailable, in which case the holder could not write a beat.
        """
        now = time.monotonic()
        before, since, last = self._seen.get(task, (b"", now, now))
        if before != content or now - last > self.seconds / 2:
            since = now
        self._seen[task] = (content, since, now)
        return now - since > self.seconds

    def _content(self) -> bytes:
        return msgspec.json.encode(
            Lease(owner=self.owner, host=platform.node(), beat=secrets.token_hex(8))
        )

    def _beat(self, task: str, name: str, hold: Hold, over: threading.Event) -> None:
        while not over.wait(self.seconds / _BEATS):
            # if the store does not respond, try again at the next beat
            with suppress(InweightsError, OSError):
                generations = self._generations(task)
                if not generations or generations[-1] != name:
                    hold.lost = True
                    return
                self.files.write(name, self._content())
