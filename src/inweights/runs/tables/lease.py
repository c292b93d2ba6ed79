"""Leases: who works on a task, where no machine can see whether another one's process is alive.

A holder writes a new beat into its lease every so often. Whoever waits looks at the lease, and
takes it over once it has seen **the same beat for as long as the lease runs, by its own clock**. No
time of one machine is ever compared with that of another, so that their clocks may differ.

A lease is a file ``leases/<task>/<generation>``. To take over is to create the next generation,
which of several machines one can. Who has lost its lease finds a later generation and gives up.
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
    """What a lease says.

    Attributes:
        owner: Who handed out the task.
    """

    owner: str
    host: str
    beat: str


class Hold:
    """A task that one holds; :meth:`check` raises when another has taken it over."""

    lost = False

    def check(self) -> None:
        """Raise if the task was taken over."""
        if self.lost:
            raise LostError(
                "another process took over this task, as this one did not renew its lease"
            )


class Leases:
    """The leases of one store.

    Args:
        seconds: After how long without a beat a lease is taken over.
        owner: Who hands out the tasks; it takes over its own leases at once, as it knows that
            the process that held them is gone.
    """

    def __init__(self, files: Files, seconds: float, owner: str) -> None:
        self.files, self.seconds, self.owner = files, seconds, owner
        self._seen: dict[str, tuple[bytes, float, float]] = {}

    @contextmanager
    def hold(self, task: str) -> Iterator[Hold | None]:
        """Hold a task while the block runs; ``None`` where another process holds it."""
        older, name = self._take(task)
        if name is None:
            yield None
            return
        hold, over = Hold(), threading.Event()
        beating = threading.Thread(target=self._beat, args=(task, name, hold, over), daemon=True)
        beating.start()
        try:
            yield hold
        finally:
            over.set()
            beating.join()
            with suppress(InweightsError, OSError):  # what is left is taken over when it expires
                for mine in (*older, name):
                    self.files.remove(mine)

    def live(self) -> dict[str, Lease]:
        """Return the leases that are there, by task; some may have expired."""
        newest = {name.split("/")[1]: name for name in self.files.names(_FOLDER)}
        found = {}
        for task, name in newest.items():
            with suppress(ValueError, RecursionError):
                found[task] = msgspec.json.decode(self.files.read(name) or b"", type=Lease)
        return found

    def free(self, task: str) -> bool:
        """Whether a process of this owner would get a task that another one held a while ago.

        Whoever hands out tasks asks this, again and again: what was not heard of for as long as a
        lease runs is taken over here, and so free for its processes, each of which looks once.
        """
        with suppress(InweightsError, OSError):  # the store is away: ask again
            return not self._generations(task) or self._take(task)[1] is not None
        return False

    def give_back(self) -> None:
        """Free what processes of this owner held, once all of them are gone."""
        for task, lease in self.live().items():
            if lease.owner == self.owner:
                self.files.remove_folder(f"{_FOLDER}/{task}")

    def _take(self, task: str) -> tuple[list[str], str | None]:
        """Return earlier generations, and the one that is now one's own, if one got it."""
        generations = self._generations(task)
        number = 1
        if generations:
            content = self.files.read(generations[-1])
            if content is None or not (self._own(content) or self._expired(task, content)):
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
        """Whether the same beat was seen over the lease's time, in looks without a long gap.

        In a gap the store may have been away, and the holder could not beat.
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
