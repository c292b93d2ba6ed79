"""Define where and how work is done: device, processes, cluster and observers.

:class:`ExecutionOptions` are passed from commands and functions to the engine;
:func:`choose_executor` returns the executor for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from inweights.config import check_size
from inweights.errors import ConfigError
from inweights.experiments.engine.executors.expected import Expect
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

    All of them are optional. Their defaults are those of :class:`ExecutionOptions`.

    Attributes:
        device: Torch device of the models, such as ``cpu`` or ``cuda``.
        threads: Number of threads of each process.
        plugins: Names of modules that the processes import first.
        observers: Objects that are notified of the work and of every table that is
            stored.
        on: ``ray``, or the address ``ray://HOST:PORT`` of a Ray cluster; empty for this
            machine.
        fresh: Whether to compute all tables again, even if they are stored.
        keep_models: Whether to store the trained weights as well.
        command: Arguments of the command that repeats the run, without ``inweights``,
            for the page of the run; empty for ``inweights run`` with its settings.
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
    """Keyword arguments of :func:`inweights.run` and of the estimate of its cost.

    The arguments in :class:`ExecutionKeywords` are included.

    Attributes:
        jobs: Number of parallel processes.
        store: Folder, or address of a bucket, in which the tables of individual runs
            are stored.
    """

    jobs: int
    store: str


@dataclass(frozen=True, kw_only=True)
class ExecutionOptions:
    """Options that define where and how tasks run.

    These options change the results by no more than rounding errors.

    Attributes:
        device: Torch device of the models, such as ``cuda`` or ``cuda:1``; by default
            ``cpu``.
        jobs: Number of parallel processes; by default 1.
        threads: Number of threads of each process; by default 1, since several runs
            with more threads on one machine can slow each other down tenfold.
        plugins: Names of modules that the processes import first; by default none.
        progress: Function that is called with the number of updates done, the total
            number, and a description of the current work. If it is ``None`` (the
            default), no progress is shown.
        observers: Objects that are notified of the work and of every table that is
            stored; by default none.
        on: ``ray``, or the address ``ray://HOST:PORT`` of a Ray cluster; empty, the
            default, for this machine.
        store: Folder, or address of a bucket, in which the tables of individual runs
            are stored; empty (the default) for a subfolder of the folder of all runs.
        executor: Executor that runs the tasks. By default it depends on ``jobs`` and
            ``on``: this process for one job, otherwise parallel processes or Ray.
        fresh: Whether to compute all tables again, even if they are stored; by default
            only missing tables are computed.
        keep_models: Whether to store the trained weights as well; by default false.
        command: Arguments of the command that repeats the run, without ``inweights``;
            empty (the default) for ``inweights run`` with its settings.
        expect: Function that takes a list of tasks and returns the expected duration of
            each, for the progress display. By default all updates are expected to take
            equally long.

    Raises:
        ConfigError: ``jobs`` is below 1, ``threads`` is not between 1 and 1024, or the
            device is unknown or does not exist on this machine. All other options are
            checked only when they are used.
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
    expect: Expect | None = None

    def open_store(self, runs: str | Path) -> Store:
        """Return the store of the tables of individual runs.

        Args:
            runs: Folder of all runs. The store is below this folder if :attr:`store` is
                empty.

        Raises:
            FolderError: The folder of the store below ``runs`` is a symbolic link.
            ConfigError: The address of a bucket is invalid, or the optional package for
                it is not installed.
        """
        return Store(self.store or store_below(runs))

    def report(self, done: int, total: int, what: str) -> None:
        """Report the progress of the work to the observers and the progress display.

        Args:
            done: Number of updates done.
            total: Total number of updates.
            what: Description of the current work.
        """
        for one in self.observers:
            one.step(Step(str(what), done, total=total))
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
    """Return the executor for the given options.

    Args:
        on: ``ray``, or the address ``ray://HOST:PORT`` of a Ray cluster; empty for this
            machine.
        jobs: Number of parallel processes; 1 to use only the current process. On a Ray
            cluster that this process starts, it is the number of tasks that run at a
            time. It has no effect on other Ray clusters.
        tasks: The tasks; ``None`` if they are not known yet. Without Ray, all tasks run
            in the current process if there is only one, or if one of them uses objects
            that other processes cannot import.
        plugins: Modules, in addition to the library's own, whose objects tasks may use.
            If it is ``None``, the objects of all modules may be used.

    Returns:
        An executor that has not started anything yet. On the first rank of
        ``torchrun``, within :func:`~.executors.torchrun.joined`, it trains each task on
        all ranks. In all other cases, it uses Ray, parallel processes or the current
        process.

    Raises:
        ConfigError: ``on`` is not empty, ``ray`` or the address of a cluster; ``on`` is
            combined with ``torchrun``; or a task cannot be sent to a Ray cluster,
            because it uses objects that other processes cannot import.
    """
    if on and on != "ray" and not on.startswith("ray://"):
        raise ConfigError(f"--on must be 'ray' or 'ray://HOST:PORT', got '{on}'")
    if launched_by_torchrun():
        from inweights.experiments.engine.executors.torchrun import leader

        if on:
            raise ConfigError(
                "--on cannot be used under torchrun, which already starts the processes of "
                "each task"
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
