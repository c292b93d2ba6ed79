"""Who does the tasks: this process, several processes beside it, or a cluster.

An executor takes tasks from a schedule and tells it how each attempt ended; it returns no tables,
as every task stores its own. What follows from an end is the schedule's business.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, Protocol

import msgspec

from inweights.errors import ConfigError
from inweights.lab.engine.job import Job, open_store
from inweights.lab.engine.plan import Task
from inweights.lab.engine.schedule import End, Schedule
from inweights.support.limits import launched_by_torchrun

__all__ = ["Executor", "Job", "Processes", "SameProcess", "choose_executor"]

#: Seconds between two looks for a task where none waits.
PAUSE = 0.1
_Events = queue.SimpleQueue[tuple[Task, int | End]]


class Executor(Protocol):
    """Does tasks in any order."""

    def __call__(self, job: Job, schedule: Schedule) -> None:
        """Take tasks until none is left, and tell the schedule how each attempt ended.

        Raises:
            WriteError: Nothing can be stored.
        """
        ...


class SameProcess:
    """One task after another, in this process."""

    def __call__(self, job: Job, schedule: Schedule) -> None:
        from inweights.lab.engine.task import attempt, use_threads

        store = open_store(job)
        with use_threads(job.threads):
            while schedule.left:
                if task := schedule.take():
                    end = attempt(task, store, job.device, partial(schedule.report, task))
                    schedule.ended(task, end)
                else:
                    time.sleep(PAUSE)


@dataclass(frozen=True)
class Processes:
    """Several tasks at a time, each in a process of its own.

    Attributes:
        jobs: How many processes.
    """

    jobs: int

    def __call__(self, job: Job, schedule: Schedule) -> None:
        crew = _Crew(job, schedule)
        for _ in range(min(self.jobs, schedule.left)):
            threading.Thread(target=crew.attend, daemon=True).start()
        crew.watch()


def choose_executor(
    on: str, jobs: int, tasks: Sequence[Task], plugins: Sequence[str] | None = None
) -> Executor:
    """Return who does the tasks.

    Args:
        on: Nothing for this machine; ``ray``, or the address of a Ray cluster.
        jobs: Processes on this machine.
        tasks: What is to be done.
        plugins: Modules of others that tasks may name; any if left out.

    Raises:
        ConfigError: There is no such place, or it could not find what the tasks name.
    """
    from inweights.lab.engine.serialization import check_sendable, sendable

    if on and on != "ray" and not on.startswith("ray://"):
        raise ConfigError(f"--on must be 'ray' or 'ray://HOST:PORT', got '{on}'")
    if launched_by_torchrun():
        from inweights.lab.engine.ranks import leader

        if on:
            raise ConfigError(
                "--on cannot be combined with torchrun, which starts the processes of a task; "
                "leave it out"
            )
        if (first := leader()) is not None:
            return first
    if on:
        from inweights.lab.engine.cluster import Ray

        check_sendable(tasks, plugins)
        return Ray(on.removeprefix("ray").removeprefix("://"), jobs)
    several = jobs > 1 and len(tasks) > 1 and all(sendable(task, plugins) for task in tasks)
    return Processes(jobs) if several else SameProcess()


class _Crew:
    """The processes that do the tasks of a schedule, and what they say."""

    def __init__(self, job: Job, schedule: Schedule) -> None:
        self.job, self.schedule = job, schedule
        self.events: _Events = queue.SimpleQueue()
        self.workers: set[subprocess.Popen[str]] = set()
        self.over = threading.Event()

    def watch(self) -> None:
        """Pass on what the processes say until all is done; stop them whatever happens."""
        try:
            while self.schedule.left:
                with contextlib.suppress(queue.Empty):
                    task, event = self.events.get(timeout=1.0)
                    if isinstance(event, End):
                        self.schedule.ended(task, event)
                    else:
                        self.schedule.report(task, event)
        finally:
            self.over.set()
            for worker in list(self.workers):
                _end(worker)

    def attend(self) -> None:
        """Give a process task after task; begin another where it is killed."""
        worker: subprocess.Popen[str] | None = None
        while not self.over.is_set():
            task = self.schedule.take()
            if task is None:
                self.over.wait(PAUSE)
                continue
            try:
                worker = worker or self._begin()
                self._do(worker, task)
            except (OSError, ValueError) as error:
                if self.over.is_set():
                    return
                code = self._bury(worker)
                worker = None
                why = f"ended with code {code}" if code is not None else f"failed: {error}"
                self.events.put((task, End("killed", message=why)))

    def _begin(self) -> subprocess.Popen[str]:
        # The command is a module of the library, and nothing in it comes from outside. It imports
        # from where this process does, and '-P' keeps what lies in the current folder from being
        # imported in place of a library.
        command = [sys.executable, "-P", "-m", "inweights.lab.engine.worker", str(os.getpid())]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        worker = subprocess.Popen(  # noqa: S603
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.workers.add(worker)
        if self.over.is_set():  # the others were stopped in the meantime
            _end(worker)
            raise OSError("stopped")
        _say(worker.stdin, msgspec.to_builtins(self.job))
        return worker

    def _do(self, worker: subprocess.Popen[str], task: Task) -> None:
        from inweights.lab.engine.serialization import to_wire

        _say(worker.stdin, to_wire(task))
        assert worker.stdout is not None
        event: int | End = 0
        while not isinstance(event, End):
            # An empty line is the end of the output; it decodes to an error, like any other.
            event = msgspec.json.decode(worker.stdout.readline(), type=int | End)
            self.events.put((task, event))

    def _bury(self, worker: subprocess.Popen[str] | None) -> int | None:
        if worker is None:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(2)
        code = worker.poll()
        _end(worker)
        self.workers.discard(worker)
        return code


def _end(worker: subprocess.Popen[str]) -> None:
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        with contextlib.suppress(OSError):
            assert pipe is not None
            pipe.close()


def _say(to: IO[str] | None, value: Any) -> None:
    assert to is not None
    to.write(msgspec.json.encode(value).decode() + "\n")
    to.flush()
