"""Read the files of a plan for workers on any machine, and determine its progress.

A :class:`Planned` represents such a plan, and a :class:`Status` its progress.
:mod:`~.plans` writes plans and runs their tasks.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from inweights.errors import FolderError, InweightsError
from inweights.experiments.engine.executors.endings import Failure
from inweights.experiments.engine.executors.serialization import from_wire
from inweights.experiments.engine.job import Job
from inweights.experiments.engine.tasks import Task
from inweights.runs.tables.files import open_files
from inweights.runs.tables.store import LEASE, store_below

ABOUT = "plan.json"
INDEX = "index.json"
T = TypeVar("T")
#: Errors that may be raised while a damaged or hand-written file is read.
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
        store: Store of the results; if empty, a subfolder of the plan's folder is used.
        plugins: Names of modules that workers import first.
        version: Version of the library that wrote the plan, which every worker must
            have.
        collect: Command that reads the complete results, as a list of arguments; empty
            if there is none.
        parts: Number of files with tasks.
        labels: Names of the settings in which the trials of the plan differ.
    """

    store: str
    plugins: tuple[str, ...]
    version: str
    collect: tuple[str, ...]
    parts: int
    labels: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One task in the index of a plan.

    Attributes:
        key: Key of the task.
        title: Short description of the task.
        wanted: Tables that the task computes, as pairs of a run's key and the name of a
            part of its results.
    """

    key: str
    title: str
    wanted: tuple[tuple[str, str], ...]


class Failed(msgspec.Struct, frozen=True):
    """A run or computation that has failed and is not tried again.

    Attributes:
        title: Description of its task.
        error: Name of the class of the error.
        message: Message of the error.
    """

    title: str
    error: str
    message: str


@dataclass(frozen=True)
class Status:
    """Progress of a plan, according to its files.

    Attributes:
        tasks: Number of tasks.
        done: Number of tasks whose tables are all stored.
        held: Number of tasks that are neither done nor failed and have a lease: a
            worker is working on them, or has died and has not been replaced yet.
        failed: Number of tasks whose missing runs have all failed.
        runs: Two numbers: the number of runs and computations whose tables are all
            stored, and the number of all runs and computations.
        failures: Failed runs and computations whose tables are not all stored, by key.
        workers: Number of leases of each machine, by the machine's name. A worker has
            one lease for each task on which it is working.
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
        """Number of the plan's tasks that are neither done, nor failed, nor held by a worker."""
        return self.tasks - self.done - self.held - self.failed


class Planned:
    """A plan that was written for workers on any machine.

    Args:
        place: Folder of the plan, or its address in an object store.
        lease: Seconds after which a task is taken over if its worker has not renewed
            the lease; by default 60.

    Attributes:
        place: Folder of the plan, or its address in an object store.
        files: The files of the plan.
        about: Data that all tasks share.
        job: The data that all tasks share, in the form that executors need.
        store: Store of the results.

    Raises:
        FolderError: There is no plan, or it is damaged.
        ConfigError: An address is invalid, or its optional package is not installed.
        WriteError: An object store denies access or does not respond.
    """

    def __init__(self, place: str, lease: float = LEASE) -> None:
        """Open the plan at ``place``; leases expire ``lease`` seconds after their last renewal."""
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
        """Return the progress of the plan, determined from the names of stored results.

        No file is written.

        Raises:
            FolderError: The index or the record of a failure is damaged, or the plan or
                the store contains a symbolic link.
            WriteError: An object store denies access or does not respond.
        """
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
        """Read the index of the plan: key, title and tables of each task, in order of the tasks.

        Raises:
            FolderError: The index is missing or damaged.
            WriteError: An object store denies access or does not respond.
        """
        return self._read(INDEX, list[Entry])

    def tasks(self, part: int) -> Iterator[Task]:
        """Yield the tasks of one file of the plan, in order.

        Args:
            part: Number of the file, from 0 to ``about.parts - 1``.

        Yields:
            The tasks, up to 200.

        Raises:
            FolderError: The file is missing or damaged.
            ConfigError: A task names an object that belongs neither to the library nor
                to a plugin.
            WriteError: An object store denies access or does not respond.
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
        """Return the error of each run and computation that has failed, by its key.

        Raises:
            FolderError: The record of a failure is damaged, or the plan contains a
                symbolic link.
            WriteError: An object store denies access or does not respond.
        """
        owners = sorted(self.failed())
        return {owner: self._read(f"failed/{owner}.json", Failed) for owner in owners}

    def failed(self) -> set[str]:
        """Return the keys of the runs and computations with a record of a failure.

        Raises:
            FolderError: The folder of failures contains a symbolic link.
            WriteError: An object store denies access or does not respond.
        """
        names = self.files.names("failed")
        return {name.rpartition("/")[2].removesuffix(".json") for name in names}

    def set_aside(self, failure: Failure) -> None:
        """Write a record for each run of a failed task, so that the task is not tried again.

        Args:
            failure: The task, and the error with which its last attempt ended.

        Raises:
            WriteError: The record cannot be written.
        """
        about = Failed(failure.task.title, failure.end.error, failure.end.message)
        for owner in dict.fromkeys(owner for owner, _ in failure.task.wanted):
            self.files.write(f"failed/{owner}.json", msgspec.json.encode(about))

    def forgive(self) -> None:
        """Delete the records of failures, so that workers try the failed tasks again.

        Raises:
            FolderError: The folder of failures contains a symbolic link.
            OSError: A record cannot be removed from a folder.
            WriteError: An object store denies access or does not respond.
        """
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
    """Return the name of a file of tasks within the plan, such as ``tasks/00000.jsonl``.

    Args:
        number: Number of the file, from 0.
    """
    return f"tasks/{number:05d}.jsonl"
