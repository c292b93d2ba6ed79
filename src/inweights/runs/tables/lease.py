"""Decide which process works on a task where no machine can see another one's processes: leases.

:class:`Leases` are the leases of one store; :meth:`Leases.hold` takes one for a block
and gives a :class:`Hold`. :class:`~inweights.runs.tables.store.Store` uses them on
shared disks and object stores.

A holder writes a new beat into its lease every so often. A process that waits looks at
the lease, and takes it over once it has seen **the same beat for the lease's duration,
by its own clock**. No time of one machine is ever compared with that of another, so
that their clocks may differ.

A lease is a file ``leases/<task>/<generation>``. To take over is to create the next
generation, which only one of several machines can. A process that has lost its lease
finds a later generation and stops.
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
#: Beats in the time that a lease runs.
_BEATS = 4


class LostError(RunError):
    """Another process has taken over the task that this one worked on."""


class Lease(msgspec.Struct, kw_only=True):
    """Content of a lease's file.

    Attributes:
        owner: Key of the process that hands out tasks.
        host: Name of the holder's machine.
        beat: Random text, new with every beat.
    """

    owner: str
    host: str
    beat: str


class Hold:
    """Task that this process holds.

    Attributes:
        lost: Whether another process has taken the task over.
    """

    lost = False

    def check(self) -> None:
        """Check that the task is still held by this process.

        Raises:
            LostError: Another process took it over.

        Example:
            >>> Hold().check()
        """
        if self.lost:
            raise LostError(
                "another process took over this task, as this one did not renew its lease"
            )


class Leases:
    """Leases of one store.

    Args:
        files: Files of the store.
        seconds: Duration of a lease: without a beat for so long it is taken over.
        owner: Key of the process that hands out the tasks; it takes over its own leases
            at once, as it knows that the process that held them is gone.

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
        self.files = files
        self.seconds = seconds
        self.owner = owner
        self._seen: dict[str, tuple[bytes, float, float]] = {}

    @contextmanager
    def hold(self, task: str) -> Iterator[Hold | None]:
        """Hold a task while a block runs.

        Args:
            task: Key of the task.

        Yields:
            The hold, whose :meth:`Hold.check` raises once the task is lost; ``None``
            where another process holds it.
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
            # What is left is taken over when it expires.
            with suppress(InweightsError, OSError):
                for mine in (*older, name):
                    self.files.remove(mine)

    def live(self) -> dict[str, Lease]:
        """Return the leases that exist, by task; some may have expired."""
        newest = {name.split("/")[1]: name for name in self.files.names(_FOLDER)}
        found = {}
        for task, name in newest.items():
            with suppress(ValueError, RecursionError):
                found[task] = msgspec.json.decode(
                    self.files.read(name) or b"", type=Lease
                )
        return found

    def free(self, task: str) -> bool:
        """Return whether a process of this owner could hold a task that another one held earlier.

        Processes that hand out tasks call this repeatedly. A lease without a beat for
        its duration is taken over here, and is then free for this owner's processes,
        each of which tries once.

        Args:
            task: Key of the task.

        Returns:
            False also while the store does not answer.
        """
        with suppress(InweightsError, OSError):  # the store is away: ask again
            return not self._generations(task) or self._take(task)[1] is not None
        return False

    def give_back(self) -> None:
        """Free what processes of this owner held, once all of them have ended."""
        for task, lease in self.live().items():
            if lease.owner == self.owner:
                self.files.remove_folder(f"{_FOLDER}/{task}")

    def _take(self, task: str) -> tuple[list[str], str | None]:
        """Try to take a lease.

        Returns:
            Names of earlier generations, and of the new one; the latter is None if
            another process holds the task.
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
        """Return whether the same beat was seen for the lease's duration.

        A long gap between two looks starts the time anew: in it the store may have been
        away, so that the holder could not beat.
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
            with suppress(InweightsError, OSError):  # the store is away: try again
                generations = self._generations(task)
                if not generations or generations[-1] != name:
                    hold.lost = True
                    return
                self.files.write(name, self._content())
