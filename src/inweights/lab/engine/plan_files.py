"""The files of a plan: what there is to do, what failed, and how far it is.

The folder or address of a plan holds::

    PLAN/plan.json          what all tasks have in common
    PLAN/index.json         key, title and results of every task
    PLAN/tasks/00000.jsonl  the tasks, some hundred a file
    PLAN/failed/<run>.json  runs that failed and would fail again, with the message
    PLAN/store/             the tables of single runs, unless another store was named
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from inweights.errors import FolderError, InweightsError
from inweights.lab.engine.job import Job, open_store, store_below
from inweights.lab.engine.plan import Task
from inweights.lab.engine.schedule import Failure
from inweights.lab.engine.serialization import from_wire
from inweights.lab.store.files import open_files
from inweights.lab.store.tables import LEASE

__all__ = ["ABOUT", "INDEX", "About", "Entry", "Failed", "Planned", "Status", "part_name"]

ABOUT, INDEX = "plan.json", "index.json"
T = TypeVar("T")
#: What reading a file that somebody damaged, or wrote by hand, may raise.
_DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What all tasks of a plan have in common.

    Attributes:
        store: Where results go; below the plan if empty.
        plugins: Modules that workers import first.
        version: The library's that wrote the plan, which that of every worker has to be.
        collect: Words of the command that reads the results, once they are there.
        parts: How many files of tasks there are.
    """

    store: str
    plugins: tuple[str, ...]
    version: str
    collect: tuple[str, ...]
    parts: int


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One task in the index: its key, its title, and the tables that it makes."""

    key: str
    title: str
    wanted: tuple[tuple[str, str], ...]


class Failed(msgspec.Struct, frozen=True):
    """A run or computation that would fail again, and why."""

    title: str
    error: str
    message: str


@dataclass(frozen=True)
class Status:
    """How far a plan is, by its files alone.

    Attributes:
        tasks: All tasks.
        done: Tasks whose tables are all there.
        held: Tasks that a worker has in hand, or had until it died less than a lease ago.
        failed: Failed tasks.
        runs: Runs and computations with all their tables, and how many there are.
        failures: Why, by run.
        workers: Machines that hold tasks, and how many.
    """

    tasks: int
    done: int
    held: int
    failed: int
    runs: tuple[int, int]
    failures: dict[str, Failed]
    workers: dict[str, int]

    @property
    def waiting(self) -> int:
        """Tasks that nobody has in hand."""
        return self.tasks - self.done - self.held - self.failed


class Planned:
    """A plan that was written.

    Args:
        place: Its folder or address.
        lease: Seconds after which a task whose worker gave no sign is taken over.

    Raises:
        FolderError: There is no readable plan.
    """

    def __init__(self, place: str, lease: float = LEASE) -> None:
        self.place, self.files = place.rstrip("/"), open_files(place)
        self.about = self._read(ABOUT, About)
        self.job = Job(store=self.about.store or store_below(self.place), lease=lease)
        self.store = open_store(self.job)

    def status(self) -> Status:
        """Look how far it is; nothing but names is read of the results."""
        index, stored = self.index(), self.store.listed()
        failures, held = self.failures(), self.store.leases.live()
        counts = {"done": 0, "held": 0, "failed": 0}
        runs: dict[str, bool] = {}
        for entry in index:
            lacking = {owner for owner, part in entry.wanted if (owner, part) not in stored}
            runs |= {owner: owner not in lacking for owner, _ in entry.wanted}
            if not lacking:
                counts["done"] += 1
            elif lacking <= failures.keys():
                counts["failed"] += 1
            elif entry.key in held:
                counts["held"] += 1
        hosts = [lease.host for lease in held.values()]
        return Status(
            tasks=len(index),
            **counts,
            runs=(sum(runs.values()), len(runs)),
            failures={run: failures[run] for run in failures if not runs.get(run, True)},
            workers={host: hosts.count(host) for host in sorted(set(hosts))},
        )

    def index(self) -> list[Entry]:
        """Return what there is to do."""
        return self._read(INDEX, list[Entry])

    def tasks(self, part: int) -> Iterator[Task]:
        """Read the tasks of one file.

        Raises:
            FolderError: It is missing or damaged.
            ConfigError: It names what is neither the library's nor a plugin's.
        """
        name = part_name(part)
        for line in self._content(name).splitlines():
            try:
                yield from_wire(msgspec.json.decode(line), self.about.plugins)
            except InweightsError:
                raise
            except _DAMAGE as error:
                raise self._damaged(name, error) from None

    def failures(self) -> dict[str, Failed]:
        """Return what failed, by the key of its run or computation."""
        return {
            name.rpartition("/")[2].removesuffix(".json"): self._read(name, Failed)
            for name in self.files.names("failed")
        }

    def set_aside(self, failure: Failure) -> None:
        """Note that the runs of a task would fail again."""
        about = Failed(failure.task.title, failure.end.error, failure.end.message)
        for owner in _owners(failure.task):
            self.files.write(f"failed/{owner}.json", msgspec.json.encode(about))

    def forgive(self) -> None:
        """Forget what failed, so that it is tried again."""
        for name in self.files.names("failed"):
            self.files.remove(name)

    def _read(self, name: str, kind: type[T]) -> T:
        content = self._content(name)
        try:
            return msgspec.json.decode(content, type=kind)
        except _DAMAGE as error:
            raise self._damaged(name, error) from None

    def _content(self, name: str) -> bytes:
        content = self.files.read(name)
        if content is None:
            raise FolderError(
                f"{self.place} holds no {name}; to make a plan: "
                f"{shlex.join(['inweights', 'plan', 'RECIPE', '--out', self.place])}"
            )
        return content

    def _damaged(self, name: str, error: Exception) -> FolderError:
        why = f"{type(error).__name__}: {error}"
        return FolderError(f"{self.place}/{name} is damaged ({why}); plan again")


def part_name(number: int) -> str:
    """Return the name of a file of tasks."""
    return f"tasks/{number:05d}.jsonl"


def _owners(task: Task) -> list[str]:
    return list(dict.fromkeys(owner for owner, _ in task.wanted))
