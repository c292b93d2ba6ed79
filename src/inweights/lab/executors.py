"""Who does the tasks: this process, one after another, or several processes side by side.

An executor is told tasks and reports events; it returns no tables, as every task stores its own.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, Protocol

import msgspec

from inweights import errors
from inweights.errors import RunError
from inweights.lab.plan import Task
from inweights.lab.store import Store

__all__ = ["Executor", "Job", "Processes", "Report", "SameProcess"]

#: Told a task's key, its updates done, and whether it is done.
Report = Callable[[str, int, bool], None]
Events = deque[dict[str, Any]]
#: How often a task is begun again whose process was killed.
ATTEMPTS = 3
#: Seconds until a task that another call of the library holds is tried again.
BUSY = 0.5


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What all tasks of a run have in common.

    Attributes:
        store: Folder of the store.
        device: Where models live.
        threads: Threads of one process.
        plugins: Modules of others that tasks may name.
    """

    store: str
    device: str = "cpu"
    threads: int = 1
    plugins: tuple[str, ...] = ()


class Executor(Protocol):
    """Does tasks in any order."""

    def __call__(self, job: Job, tasks: Sequence[Task], report: Report) -> None:
        """Do all tasks; each stores its tables itself.

        Raises:
            InweightsError: What a task raised; the others are stopped.
        """
        ...


class SameProcess:
    """One task after another, in this process."""

    def __call__(self, job: Job, tasks: Sequence[Task], report: Report) -> None:
        from inweights.lab.task import use_threads, work_on

        store = Store(job.store)
        with use_threads(job.threads):
            for task in tasks:
                with store.lock(task.key, wait=True):
                    work_on(task, store, job.device, partial(_half_way, report, task.key))
                report(task.key, 0, True)


@dataclass(frozen=True)
class Processes:
    """Several tasks at a time, each in a process of its own.

    Attributes:
        jobs: How many processes.
    """

    jobs: int

    def __call__(self, job: Job, tasks: Sequence[Task], report: Report) -> None:
        crew = _Crew(job, tasks, report)
        for _ in range(min(self.jobs, len(tasks))):
            threading.Thread(target=crew.attend, daemon=True).start()
        crew.watch(len(tasks))


class _Crew:
    """Tasks that wait, the processes that do them, and what these say."""

    def __init__(self, job: Job, tasks: Sequence[Task], report: Report) -> None:
        self.job, self.report = job, report
        self.waiting = deque((task, 1) for task in tasks)
        self.events: Events = deque()
        self.said = threading.Condition()
        self.workers: set[subprocess.Popen[str]] = set()
        self.over = threading.Event()

    def watch(self, left: int) -> None:
        """Pass on what the processes say until all is done; stop them whatever happens."""
        try:
            while left:
                with self.said:
                    while not self.events:
                        self.said.wait(1.0)
                    event = self.events.popleft()
                if "error" in event:
                    raise getattr(errors, event["error"], RunError)(event["message"])
                self.report(event["key"], event["step"], event["done"])
                left -= event["done"]
        finally:
            self.over.set()
            for worker in list(self.workers):
                _end(worker)

    def attend(self) -> None:
        """Give a process task after task; begin another where it is killed."""
        worker: subprocess.Popen[str] | None = None
        while not self.over.is_set():
            try:
                task, attempt = self.waiting.popleft()
            except IndexError:
                break
            try:
                worker = worker or self._begin()
                busy = self._do(worker, task)
                if busy:  # another call of the library does it, or has just done it
                    self.waiting.append((task, attempt))
                    time.sleep(BUSY)
            except (OSError, ValueError) as error:
                if self.over.is_set():
                    return
                code = self._bury(worker)
                worker = None
                if attempt < ATTEMPTS:
                    self.waiting.append((task, attempt + 1))
                    continue
                why = f"ended with code {code}" if code is not None else f"failed: {error}"
                text = f"{task.title}: {attempt} processes that worked on it {why}"
                self._tell({"error": "RunError", "message": text})
        if worker:
            _end(worker)
            self.workers.discard(worker)

    def _begin(self) -> subprocess.Popen[str]:
        # The command is a module of the library, and nothing in it comes from outside. It imports
        # from where this process does, and '-P' keeps what lies in the current folder from being
        # imported in place of a library.
        command = [sys.executable, "-P", "-m", "inweights.lab.worker", str(os.getpid())]
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

    def _do(self, worker: subprocess.Popen[str], task: Task) -> bool:
        from inweights.lab.wire import to_wire

        _say(worker.stdin, to_wire(task))
        assert worker.stdout is not None
        while True:
            # An empty line is the end of the output; it decodes to an error, like any other.
            event = msgspec.json.decode(worker.stdout.readline())
            if event.get("busy"):
                return True
            self._tell(event)
            if event.get("done", True):
                return False

    def _tell(self, event: dict[str, Any]) -> None:
        with self.said:
            self.events.append(event)
            self.said.notify()

    def _bury(self, worker: subprocess.Popen[str] | None) -> int | None:
        if worker is None:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(2)
        code = worker.poll()
        _end(worker)
        self.workers.discard(worker)
        return code


def _half_way(report: Report, key: str, step: int) -> None:
    report(key, step, False)


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
