"""Write a plan once, and let workers anywhere do their part of it until nothing is left.

:func:`write_plan` writes it, :func:`work` does tasks of it, :meth:`Planned.status` says how
far it is. Any number of workers, started by whatever scheduler there is, take tasks from a
plan on disk or in an object store under leases (:mod:`inweights.runs.tables.lease`). They
share only its files::

    PLAN/plan.json          what all tasks have in common
    PLAN/index.json         key, title and results of every task
    PLAN/tasks/00000.jsonl  the tasks, some hundred a file
    PLAN/failed/<run>.json  runs that failed and would fail again, with the message
    PLAN/store/             the tables of single runs, unless another store was named
"""

import random
import shlex
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from inweights.errors import ConfigError, FolderError, InweightsError
from inweights.experiments.engine.collect import report_stored
from inweights.experiments.engine.execution import ExecutionOptions, choose_executor
from inweights.experiments.engine.executors import Leased
from inweights.experiments.engine.job import Job, check_sendable, from_wire, to_wire
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.schedule import Failure, Schedule
from inweights.experiments.engine.tasks import LearnTask, Task
from inweights.experiments.grammar.trial import Plan
from inweights.runs.environment import version_of
from inweights.runs.tables.files import open_files
from inweights.runs.tables.store import LEASE, Store, store_below
from inweights.training.observers import telling

ABOUT, INDEX = "plan.json", "index.json"
#: Tasks in one file: a worker reads one such file after another.
PART = 200
#: Files that a worker lists for each task at most: what is stored is listed again once so many
#: tasks were read that the cost of a task does not grow with the plan. Whoever tries a task looks
#: whether it was done in the meantime.
LISTED = 20
T = TypeVar("T")
#: What reading a file that somebody damaged, or wrote by hand, may raise.
_DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What all tasks of a plan have in common.

    Attributes:
        store: Where results go; below the plan if empty.
        plugins: Modules that workers import first.
        version: The library's version that wrote the plan, which every worker has to have.
        collect: Words of the command that reads the results, once they are there.
        parts: Number of files of tasks.
        labels: Names of what its trials differ in.
    """

    store: str
    plugins: tuple[str, ...]
    version: str
    collect: tuple[str, ...]
    parts: int
    labels: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One task in the index.

    Attributes:
        key: Its key.
        title: What it makes, in a few words.
        wanted: The tables that it makes, as (key of the run, part).
    """

    key: str
    title: str
    wanted: tuple[tuple[str, str], ...]


class Failed(msgspec.Struct, frozen=True):
    """A run or computation that would fail again.

    Attributes:
        title: What its task makes.
        error: Class of the error.
        message: Its message.
    """

    title: str
    error: str
    message: str


@dataclass(frozen=True)
class Status:
    """How far a plan is, by its files alone.

    Attributes:
        tasks: Number of tasks.
        done: Tasks whose tables are all there.
        held: Tasks that a worker has in hand, or had until it died less than a lease ago.
        failed: Tasks of which nothing is left but what failed.
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
        """Number of tasks that no worker has in hand."""
        return self.tasks - self.done - self.held - self.failed


class Planned:
    """A plan that was written.

    Args:
        place: Its folder, or its address in an object store.
        lease: Seconds after which a task is taken over whose worker gave no sign.

    Attributes:
        place: The same, without a slash at its end.
        files: Its files.
        about: What all tasks have in common.
        job: The same for executors.
        store: Where results go.

    Raises:
        FolderError: There is no plan, or it is damaged.
    """

    def __init__(self, place: str, lease: float = LEASE) -> None:
        self.place, self.files = place.rstrip("/"), open_files(place)
        self.about = self._read(ABOUT, About)
        self.job = Job(
            store=self.about.store or store_below(self.place),
            lease=lease,
            plugins=self.about.plugins,
            version=self.about.version,
        )
        self.store = self.job.open_store()

    def status(self) -> Status:
        """Return how far it is; of the results only names are read."""
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
        """Return what there is to do, an entry per task."""
        return self._read(INDEX, list[Entry])

    def tasks(self, part: int) -> Iterator[Task]:
        """Read the tasks of one file.

        Args:
            part: Number of the file, from 0.

        Raises:
            FolderError: The file is missing or damaged.
            ConfigError: A task names what neither the library nor a plugin has.
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
        owners = sorted(self.failed())
        return {owner: self._read(f"failed/{owner}.json", Failed) for owner in owners}

    def failed(self) -> set[str]:
        """Return the keys of the runs and computations that failed."""
        names = self.files.names("failed")
        return {name.rpartition("/")[2].removesuffix(".json") for name in names}

    def set_aside(self, failure: Failure) -> None:
        """Note that the runs of a task would fail again."""
        about = Failed(failure.task.title, failure.end.error, failure.end.message)
        for owner in dict.fromkeys(owner for owner, _ in failure.task.wanted):
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
                f"{self.place} contains no {name}; to create a plan: "
                f"{shlex.join(['inweights', 'plan', 'RECIPE', '--out', self.place])}"
            )
        return content

    def _damaged(self, name: str, error: Exception) -> FolderError:
        why = f"{type(error).__name__}: {error}"
        return FolderError(f"{self.place}/{name} is damaged ({why}); create the plan again")


def part_name(number: int) -> str:
    """Return the name of a file of tasks."""
    return f"tasks/{number:05d}.jsonl"


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
        seeds: Root seeds.
        place: Folder or address of the plan; it must not have one yet.
        version: The recipe's version.
        store: Where results go; by default below the plan.
        plugins: Modules that workers import first.
        collect: Words of the command that reads the results.

    Raises:
        ConfigError: There is a plan already, or a task names what workers cannot find.
    """
    place = place.rstrip("/")
    files = open_files(place)
    if files.read(ABOUT) is not None:
        raise ConfigError(
            f"{place} already contains a plan; choose another place with --out, or continue with "
            f"it: {shlex.join(['inweights', 'work', place])}"
        )
    stored = Store(store or store_below(place)).listed()
    work = expand_plan(plan, seeds, version)
    tasks = tasks_of(work, lambda owner, part: (owner, part) not in stored)
    check_sendable(tasks)
    parts = range(0, len(tasks), PART)
    for number, start in enumerate(parts):
        lines = [msgspec.json.encode(to_wire(task)) for task in tasks[start : start + PART]]
        from_wire(msgspec.json.decode(lines[0]), plugins)  # what no worker finds is refused now
        files.write(part_name(number), b"\n".join(lines))
    index = [Entry(task.key, task.title, tuple(task.wanted)) for task in tasks]
    files.write(INDEX, msgspec.json.encode(index))
    about = About(
        store=store,
        plugins=tuple(plugins),
        version=version_of("inweights"),
        collect=tuple(collect),
        parts=len(parts),
        labels=tuple(dict.fromkeys(key for one in work.requests for key in one.labels)),
    )
    files.write(ABOUT, msgspec.json.encode(about))  # last: a plan without it is none
    return Planned(place)


def work(planned: Planned, execution: ExecutionOptions | None = None) -> Status:
    """Do tasks of a plan beside any number of other workers, until nothing is left.

    Each worker begins at another place of the plan. Tasks that others hold are left to them at
    first; at the end they are waited for, and taken over where their worker died.

    Args:
        planned: The plan.
        execution: Who does the work on this machine; its observers are notified of what this
            worker stores. By default this process.

    Returns:
        How far the plan is then.

    Raises:
        ConfigError: The library has another version than the one that wrote the plan.
    """
    execution = execution or ExecutionOptions()
    planned.job.check_version()
    job = msgspec.structs.replace(planned.job, device=execution.device, threads=execution.threads)
    schedule = Schedule(
        (),
        execution.report,
        busy=job.lease / 10,
        free=planned.store.leases.free,
        more=_blocks(planned),
        on_failure=planned.set_aside,
    )
    schedule.on_done = lambda task: report_stored(task.requests, planned.store, execution)
    with telling(execution.observers, {"name": planned.place, "labels": planned.about.labels}):
        Leased(choose_executor("", execution.jobs, None), planned.store).run(job, schedule)
    planned.store.tidy()
    return planned.status()


def _blocks(planned: Planned) -> Iterator[list[Task]]:
    """Return what is left of each file of tasks; each worker begins at another place."""
    parts = planned.about.parts
    first = random.SystemRandom().randrange(max(1, parts))
    stored: set[tuple[str, str]] = set()
    failed: set[str] = set()
    since = 0
    for step in range(parts):
        tasks = list(planned.tasks((first + step) % parts))
        if LISTED * since >= len(stored) + len(failed):
            stored, failed, since = planned.store.listed(), planned.failed(), 0
        since += len(tasks)
        middle = random.SystemRandom().randrange(max(1, len(tasks)))
        yield list(_left(tasks[middle:] + tasks[:middle], stored, failed))


def _left(tasks: Sequence[Task], stored: Set[tuple[str, str]], failed: Set[str]) -> Iterator[Task]:
    """Return what is neither stored nor failed of some tasks."""
    for task in tasks:
        lacking = {owner for owner, part in task.wanted if (owner, part) not in stored}
        if not lacking - failed:
            continue
        if isinstance(task, LearnTask) and lacking & failed:
            yield task.part(i for i, run in enumerate(task.runs) if run.key not in failed)
        else:
            yield task
