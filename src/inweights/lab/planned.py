"""Plans on disk or in an object store, and workers that do their part until nothing is left.

A plan is written once; any number of workers, begun by whatever scheduler there is, take tasks from
it under leases (:mod:`inweights.lab.lease`). They share nothing but the files::

    PLAN/plan.json          what all tasks have in common
    PLAN/index.json         key, title and results of every task
    PLAN/tasks/00000.jsonl  the tasks, some hundred a file
    PLAN/failed/<run>.json  runs that failed and would fail again, with the message
    PLAN/store/             the tables of single runs, unless another store was named
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from inweights.errors import ConfigError, FolderError, InweightsError
from inweights.lab.executors import choose_executor
from inweights.lab.files import open_files
from inweights.lab.job import Job, installed_version, open_store
from inweights.lab.plan import LearnTask, Task, asked_of, tasks_of
from inweights.lab.schedule import Failure, Schedule
from inweights.lab.store import LEASE, Store
from inweights.lab.trial import Plan
from inweights.lab.wire import check_sendable, from_wire, to_wire
from inweights.progress import Progress

__all__ = ["Planned", "Status", "open_plan", "work", "write_plan"]

#: Tasks in one file: a worker reads one such file after another.
PART = 200
_ABOUT, _INDEX = "plan.json", "index.json"
T = TypeVar("T")


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
        self.about = self._read(_ABOUT, About)
        self.job = Job(store=self.about.store or f"{self.place}/store", lease=lease)
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
        return self._read(_INDEX, list[Entry])

    def tasks(self, part: int) -> Iterator[Task]:
        """Read the tasks of one file."""
        name = _part(part)
        for line in (self.files.read(name) or b"").splitlines():
            yield from_wire(msgspec.json.decode(line), self.about.plugins)

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
        content = self.files.read(name)
        if content is None:
            raise FolderError(
                f"{self.place} holds no {name}; 'inweights plan RECIPE --out {self.place}' makes "
                "a plan"
            )
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.DecodeError as error:
            raise FolderError(f"{self.place}/{name} is damaged: {error}; plan again") from None


def write_plan(
    plan: Plan,
    seeds: Sequence[int],
    place: str,
    *,
    version: int = 1,
    store: str = "",
    plugins: Sequence[str] = (),
    collect: Sequence[str] = (),
) -> Planned:
    """Write what is missing of a plan, so that workers anywhere can do it.

    Args:
        plan: Trials, measures and computations.
        seeds: Root seeds of every trial.
        place: Folder or address of the plan; a plan that is there already is left alone.
        version: The recipe's.
        store: Where results go, if not below the plan.
        plugins: Modules that workers import first.
        collect: Words of the command that reads the results.

    Raises:
        ConfigError: There is a plan already, or other machines could not find what it names.
    """
    place = place.rstrip("/")
    files = open_files(place)
    if files.read(_ABOUT) is not None:
        raise ConfigError(
            f"{place} holds a plan already; 'inweights work {place}' goes on with it, or name "
            "another place with --out"
        )
    stored = Store(store or f"{place}/store").listed()
    work = asked_of(plan, seeds, version)
    tasks = tasks_of(work, lambda owner, part: (owner, part) not in stored)
    check_sendable(tasks)
    parts = range(0, len(tasks), PART)
    for number, start in enumerate(parts):
        lines = [msgspec.json.encode(to_wire(task)) for task in tasks[start : start + PART]]
        from_wire(msgspec.json.decode(lines[0]), plugins)  # what no worker finds is refused now
        files.write(_part(number), b"\n".join(lines))
    index = [Entry(task.key, task.title, tuple(task.wanted)) for task in tasks]
    files.write(_INDEX, msgspec.json.encode(index))
    about = About(
        store=store,
        plugins=tuple(plugins),
        version=installed_version(),
        collect=tuple(collect),
        parts=len(parts),
    )
    files.write(_ABOUT, msgspec.json.encode(about))  # last: a plan without it is none
    return Planned(place)


def open_plan(place: str, lease: float = LEASE) -> Planned:
    """Return the plan in a folder or at an address."""
    return Planned(place, lease)


def work(
    planned: Planned,
    *,
    jobs: int = 1,
    device: str = "cpu",
    threads: int = 1,
    progress: Progress | None = None,
    on_failure: Callable[[Failure], None] | None = None,
) -> Status:
    """Do tasks of a plan beside any number of other workers, until nothing is left.

    Each worker begins at another place of the plan. What others hold is left to them at first; in
    the end it is waited for, and taken over where its worker died.

    Args:
        planned: The plan.
        jobs: Processes of this worker.
        device: Where models live.
        threads: Threads of each process.
        progress: Called with updates done, all updates, and what is being done; of the part that
            this worker is at.
        on_failure: Called with what failed.

    Raises:
        ConfigError: This machine has another version of the library than the plan.
        WriteError: The store takes nothing.
    """
    if planned.about.version != (here := installed_version()):
        raise ConfigError(
            f"{planned.place} was planned with inweights {planned.about.version}, and this "
            f"machine has {here}; install that version everywhere"
        )
    job = msgspec.structs.replace(
        planned.job, device=device, threads=threads, plugins=planned.about.plugins
    )

    def do(tasks: Sequence[Task], busy: float | None) -> list[Task]:
        tasks = list(_left(tasks, planned))
        if not tasks:
            return []
        schedule = Schedule(tasks, progress, busy=busy)
        choose_executor("", jobs, tasks)(job, schedule)
        for failure in schedule.failures:
            planned.set_aside(failure)
            if on_failure:
                on_failure(failure)
        return schedule.skipped

    first = random.SystemRandom().randrange(max(1, planned.about.parts))
    skipped: list[Task] = []
    try:
        for step in range(planned.about.parts):
            tasks = list(planned.tasks((first + step) % planned.about.parts))
            middle = random.SystemRandom().randrange(max(1, len(tasks)))
            skipped += do(tasks[middle:] + tasks[:middle], None)
        do(skipped, job.lease / 10)
    finally:  # stopped: its processes are gone, and the others need not wait
        with suppress(InweightsError, OSError):
            planned.store.leases.give_back()
    planned.store.tidy()
    return planned.status()


def _left(tasks: Sequence[Task], planned: Planned) -> Iterator[Task]:
    """What is neither stored nor failed of some tasks."""
    stored, failed = planned.store.listed(), planned.failures()
    for task in tasks:
        lacking = {owner for owner, part in task.wanted if (owner, part) not in stored}
        if not lacking - failed.keys():
            continue
        if isinstance(task, LearnTask) and lacking & failed.keys():
            yield task.part(i for i, run in enumerate(task.runs) if run.key not in failed)
        else:
            yield task


def _owners(task: Task) -> list[str]:
    return list(dict.fromkeys(owner for owner, _ in task.wanted))


def _part(number: int) -> str:
    return f"tasks/{number:05d}.jsonl"
