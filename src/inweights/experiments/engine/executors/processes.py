"""Run tasks in this process, in several processes, or together with workers on other machines.

An :class:`Executor` runs tasks and reports to the schedule how each attempt ended. It
returns no tables, since every task stores its own, and leaves all decisions to the
schedule. :mod:`~.ray` and :mod:`~.torchrun` contain the executors for Ray and torchrun,
and :mod:`~.worker` is the entry point of the processes.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from inweights.errors import InweightsError
from inweights.experiments.engine.executors.endings import End
from inweights.experiments.engine.executors.schedule import Schedule
from inweights.experiments.engine.executors.serialization import to_wire
from inweights.experiments.engine.executors.worker import say
from inweights.experiments.engine.job import Job
from inweights.experiments.engine.tasks import Task

if TYPE_CHECKING:
    from inweights.experiments.engine.attempts.task import Joint
    from inweights.runs.tables.store import Store

__all__ = [
    "PAUSE",
    "Executor",
    "Job",
    "Leased",
    "Processes",
    "SameProcess",
]

#: Seconds between two searches for further tasks while no task is waiting.
PAUSE = 0.1
_Process = subprocess.Popen[str]


class Executor(Protocol):
    """Interface of executors: a method ``run`` that runs the tasks of a schedule."""

    def run(self, job: Job, schedule: Schedule) -> None:
        """Run tasks until none is left, and report to the schedule how each attempt ended.

        A task that fails is reported and does not raise an error here.

        Args:
            job: Data that all tasks share.
            schedule: Source of the tasks, to which progress and the end of each attempt
                are reported.

        Raises:
            WriteError: A task could not store its tables; no further tasks are run.
        """
        ...


@dataclass(frozen=True)
class SameProcess:
    """Executor that runs one task after another in this process.

    Attributes:
        joint: Function that returns, for a task, a context manager within which other
            processes take part in its training, as with ``torchrun``. By default no
            other processes take part.
    """

    joint: Joint | None = None

    def run(self, job: Job, schedule: Schedule) -> None:
        """Run one task after another in this process until none is left.

        How each attempt ended is reported to ``schedule``. A task that fails does not
        raise an error here.

        Args:
            job: Data that all tasks share.
            schedule: Source of the tasks, to which progress and the end of each attempt
                are reported.

        Raises:
            WriteError: A task could not store its tables; no further tasks are run.
            ConfigError: The store of the job cannot be opened.
        """
        from inweights.experiments.engine.attempts.task import attempt
        from inweights.training.steps.machine import use_threads

        store = job.open_store()
        with use_threads(job.threads):
            while schedule.left:
                if task := schedule.take():
                    report = partial(schedule.report, task)
                    schedule.ended(
                        task, attempt(task, store, job.device, report, self.joint)
                    )
                else:
                    time.sleep(PAUSE)


@dataclass(frozen=True)
class Processes:
    """Executor that runs several tasks at a time, each in its own process.

    Attributes:
        jobs: Number of processes; at least 1, which is not checked.
    """

    jobs: int

    def run(self, job: Job, schedule: Schedule) -> None:
        """Run tasks in parallel processes until none is left.

        How each attempt ended is reported to ``schedule``. A task that fails does not
        raise an error here.

        Args:
            job: Data that all tasks share.
            schedule: Source of the tasks, to which progress and the end of each attempt
                are reported.

        Raises:
            WriteError: A task could not store its tables; the processes are stopped.
            OSError: A process cannot be started.
        """
        pool = _WorkerPool(job, schedule)
        try:
            while schedule.left:
                while len(pool.busy) < self.jobs and (task := schedule.take()):
                    pool.give(task)
                with suppress(queue.Empty):
                    pool.hear(*pool.lines.get(timeout=PAUSE))
        finally:
            for worker in (*pool.idle, *pool.busy):
                _end(worker)


@dataclass(frozen=True)
class Leased:
    """Executor that shares tasks with workers on other machines, using leases in a store.

    Attributes:
        executor: Executor that runs the tasks on this machine.
        store: Store that contains the leases.
    """

    executor: Executor
    store: Store

    def run(self, job: Job, schedule: Schedule) -> None:
        """Run tasks with :attr:`executor` until none is left, and release the machine's leases.

        How each attempt ended is reported to ``schedule``. A task that fails does not
        raise an error here.

        Args:
            job: Data that all tasks share.
            schedule: Source of the tasks, to which progress and the end of each attempt
                are reported.

        Raises:
            WriteError: A task could not store its tables; no further tasks are run. All
                other errors of :attr:`executor` propagate as well.
        """
        try:
            self.executor.run(job, schedule)
        finally:  # other workers need not wait until the leases of this machine expire
            with suppress(InweightsError, OSError):
                self.store.leases.give_back()


class _WorkerPool:
    """Worker processes that run the tasks of a schedule, and the queue of lines they write."""

    def __init__(self, job: Job, schedule: Schedule) -> None:
        self.job = job
        self.schedule = schedule
        self.idle: list[_Process] = []
        self.busy: dict[_Process, Task] = {}
        self.lines: queue.SimpleQueue[tuple[_Process, str]] = queue.SimpleQueue()

    def give(self, task: Task) -> None:
        """Send a task to an idle process, or to a new one."""
        worker = self.idle.pop() if self.idle else self._begin()
        self.busy[worker] = task
        with suppress(OSError):  # if the process has died, its last line reports this
            say(worker.stdin, to_wire(task))

    def hear(self, worker: _Process, line: str) -> None:
        """Handle a line from a process; an empty line means that the process has ended."""
        if worker not in self.busy:
            self.idle = [other for other in self.idle if other is not worker]
            _end(worker)
            return
        try:
            event = msgspec.json.decode(line, type=int | End)
        except ValueError as error:
            with suppress(subprocess.TimeoutExpired):
                worker.wait(2)
            code = worker.poll()
            _end(worker)
            why = f"failed: {error}" if code is None else f"ended with code {code}"
            self.schedule.ended(self.busy.pop(worker), End("killed", message=why))
            return
        if isinstance(event, End):
            self.idle.append(worker)
            self.schedule.ended(self.busy.pop(worker), event)
        else:
            self.schedule.report(self.busy[worker], event)

    def _begin(self) -> _Process:
        # The command is a module of the library, and no part of it is user input. It
        # imports modules from the same folders as this process; '-P' prevents files in
        # the current folder from being imported in place of libraries.
        command = [
            sys.executable,
            "-P",
            "-m",
            "inweights.experiments.engine.executors.worker",
            str(os.getpid()),
        ]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path))
        }
        worker = subprocess.Popen(  # noqa: S603
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
        with suppress(OSError):
            say(worker.stdin, msgspec.to_builtins(self.job))
        return worker

    def _listen(self, worker: _Process) -> None:
        # Raised if the process was stopped, or if its output is not UTF-8.
        with suppress(ValueError, OSError):
            for line in worker.stdout or ():
                self.lines.put((worker, line))
        self.lines.put((worker, ""))


def _end(worker: _Process) -> None:
    """Kill a process, wait for it to end, and close its pipes."""
    worker.kill()
    worker.wait()
    for pipe in filter(None, (worker.stdin, worker.stdout)):
        with suppress(OSError):
            pipe.close()
