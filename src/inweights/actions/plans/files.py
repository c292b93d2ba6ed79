"""Read the files of a plan that was written for workers anywhere, and say how far it is.

:class:`Planned` is such a plan, :class:`Status` how far it is. :mod:`~.plans` writes
plans and does their tasks.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from inweights.errors import FolderError, InweightsError
from inweights.experiments.engine.executors.endings import Failure
from inweights.experiments.engine.job import Job, from_wire
from inweights.experiments.engine.tasks import Task
from inweights.runs.tables.files import open_files
from inweights.runs.tables.store import LEASE, store_below

ABOUT = "plan.json"
INDEX = "index.json"
T = TypeVar("T")
#: What reading a file that somebody damaged, or wrote by hand, may raise.
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class About(msgspec.Struct, frozen=True, kw_only=True):
    """Data that all tasks of a plan share.

    Attributes:
        store: Where results go; below the plan if empty.
        plugins: Modules that workers import first.
        version: The library's version that wrote the plan, which every worker has to
            have.
        collect: Words of the command that reads the results, once they are there.
        parts: Number of files of tasks.
        labels: Names of the settings in which its trials differ.
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
        title: Short description of the task.
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
        held: Tasks that a worker has in hand, or had until it died less than a lease
            ago.
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
        self.place = place.rstrip("/")
        self.files = open_files(place)
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
        index = self.index()
        stored = self.store.listed()
        failures = self.failures()
        held = self.store.leases.live()
        counts = {"done": 0, "held": 0, "failed": 0}
        runs: dict[str, bool] = {}
        for entry in index:
            lacking = {
                owner for owner, part in entry.wanted if (owner, part) not in stored
            }
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
            failures={
                run: failures[run] for run in failures if not runs.get(run, True)
            },
            workers={host: hosts.count(host) for host in sorted(set(hosts))},
        )

    def index(self) -> list[Entry]:
        """Return the tasks of the plan, one entry per task."""
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
        """Return the failures, by the key of the run or computation."""
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
        return FolderError(
            f"{self.place}/{name} is damaged ({why}); create the plan again"
        )


def part_name(number: int) -> str:
    """Return the name of a file of tasks."""
    return f"tasks/{number:05d}.jsonl"
