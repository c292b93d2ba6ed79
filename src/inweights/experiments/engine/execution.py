"""Say who does the work and with what: devices, processes, clusters, observers.

:class:`ExecutionOptions` travel together from commands and functions to the engine;
:func:`choose_executor` makes an executor of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from inweights.config import check_size
from inweights.errors import ConfigError
from inweights.experiments.engine.executors.processes import (
    Executor,
    Processes,
    SameProcess,
)
from inweights.experiments.engine.job import check_sendable, sendable
from inweights.experiments.engine.tasks import Task
from inweights.runs.tables.store import Store, store_below
from inweights.support.limits import launched_by_torchrun
from inweights.support.progress import Progress
from inweights.training.observers import Observer, Step


class ExecutionKeywords(TypedDict, total=False):
    """Keyword arguments that become fields of :class:`ExecutionOptions`.

    Attributes:
        device: Where models live, such as ``cpu`` or ``cuda``.
        threads: Threads of each process.
        plugins: Modules that the processes import first.
        observers: Notified of the work and of every table that is stored.
        on: ``ray``, or the address ``ray://HOST:PORT`` of a cluster; "" for this
            machine.
        fresh: Whether everything is made again.
        keep_models: Whether trained weights are stored, too.
        command: Words of the command that makes the run again.
    """

    device: str
    threads: int
    plugins: Sequence[str]
    observers: Sequence[Observer]
    on: str
    fresh: bool
    keep_models: bool
    command: Sequence[str]


class RunKeywords(ExecutionKeywords, total=False):
    """Keyword arguments of :func:`inweights.run` and its estimate, described there.

    Attributes:
        jobs: Number of parallel processes.
        store: Folder, or address of a bucket, of the tables of single runs.
    """

    jobs: int
    store: str


@dataclass(frozen=True, kw_only=True)
class ExecutionOptions:
    """Where and how the work is done; only the last bits of a result may depend on it.

    Attributes:
        device: Where models live: ``cpu``, ``cuda``, ``cuda:1``.
        jobs: Processes that work side by side.
        threads: Threads of each process. One is the default, as two runs on one machine
            would slow each other down tenfold otherwise.
        plugins: Modules that the processes import first.
        progress: Called with the number of updates done, the total number, and a
            description of the current work; ``None`` shows nothing.
        observers: Notified of the work and of every table that is stored.
        on: ``ray``, or the address ``ray://HOST:PORT`` of a cluster; "" for this
            machine.
        store: Where the tables of single runs are stored, a folder or the address of a
            bucket; "" for below the folder of runs.
        executor: Does the tasks; by default processes do, or this one where there is
            one job.
        fresh: Whether everything is made again.
        keep_models: Whether the trained weights are stored, too.
        command: Words of the command that makes the run again, if it is not ``inweights
            run``.

    Raises:
        ConfigError: A number is out of range, or the machine does not have the device.
    """

    device: str = "cpu"
    jobs: int = 1
    threads: int = 1
    plugins: Sequence[str] = ()
    progress: Progress | None = None
    observers: Sequence[Observer] = ()
    on: str = ""
    store: str = ""
    executor: Executor | None = None
    fresh: bool = False
    keep_models: bool = False
    command: Sequence[str] = ()

    def open_store(self, runs: str | Path) -> Store:
        """Return the store of the tables of single runs.

        Args:
            runs: Folder of all runs, used if :attr:`store` is empty.

        Raises:
            FolderError: There is a link in place of the store's folder.
        """
        return Store(self.store or store_below(runs))

    def report(self, done: int, total: int, what: str) -> None:
        """Report to observers and progress how far the work is.

        Args:
            done: Updates done.
            total: All updates.
            what: Description of the current work.
        """
        for one in self.observers:
            one.step(Step(what, done, total=total))
        if self.progress:
            self.progress(done, total, what)

    def __post_init__(self) -> None:
        check_size("jobs", self.jobs)
        check_size("threads", self.threads, most=1024)
        if self.device != "cpu":
            from inweights.models.devices import check_device

            check_device(self.device)


def choose_executor(
    on: str,
    jobs: int,
    tasks: Sequence[Task] | None,
    plugins: Sequence[str] | None = None,
) -> Executor:
    """Return who does the tasks.

    Args:
        on: ``ray``, or the address ``ray://HOST:PORT`` of a cluster; "" for this
            machine.
        jobs: Processes that work side by side.
        tasks: The tasks; ``None`` if they are not known yet. A single task, and tasks
            that other processes could not look up, run in the current process.
        plugins: Modules that tasks may name; ``None`` for any.

    Raises:
        ConfigError: ``on`` is no cluster, is combined with ``torchrun``, or a task
            cannot be sent.
    """
    if on and on != "ray" and not on.startswith("ray://"):
        raise ConfigError(f"--on must be 'ray' or 'ray://HOST:PORT', got '{on}'")
    if launched_by_torchrun():
        from inweights.experiments.engine.executors.torchrun import leader

        if on:
            raise ConfigError(
                "--on cannot be combined with torchrun, which starts the processes of a task; "
                "leave it out"
            )
        if (first := leader()) is not None:
            return first
    if on:
        from inweights.experiments.engine.executors.ray import Ray

        check_sendable(tasks or (), plugins)
        return Ray(on.removeprefix("ray").removeprefix("://"), jobs)
    if tasks is not None and (
        len(tasks) < 2 or not all(sendable(t, plugins) for t in tasks)
    ):
        jobs = 1
    return Processes(jobs) if jobs > 1 else SameProcess()
