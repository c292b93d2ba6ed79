"""Tasks on a Ray cluster. A task goes there as JSON and answers how it ended; no table comes back.

Ray places tasks and notices what dies; what follows from that is the schedule's business, as in
every executor. Tables and checkpoints are in the store, which all machines have to see.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from inweights.errors import ConfigError, RunError
from inweights.lab.executors import PAUSE
from inweights.lab.job import Job
from inweights.lab.plan import Task
from inweights.lab.schedule import End, Schedule
from inweights.lab.store import LEASE

__all__ = ["Ray"]

#: Seconds between two reports of a task.
_EVERY = 0.5


@dataclass(frozen=True)
class Ray:
    """Tasks on a cluster, as many as fit; it is begun on this machine where no address is given.

    Attributes:
        address: ``HOST:PORT`` of Ray's client server. If left out, the cluster of ``$RAY_ADDRESS``,
            and without that one of this process.
        jobs: Processes of a cluster of this process; others have as many as their CPUs allow.
        gpus: Share of a GPU that a task takes, where models live on one.
    """

    address: str = ""
    jobs: int = 1
    gpus: float = 1.0

    def __call__(self, job: Job, schedule: Schedule) -> None:
        ray = _import()
        address = f"ray://{self.address}" if self.address else os.environ.get("RAY_ADDRESS", "")
        if address:  # other machines: no lock of a file tells whether their processes live
            job = msgspec.structs.replace(job, lease=job.lease or LEASE)
        with _Connection(ray, address, self.jobs * job.threads):
            _Driver(ray, job, schedule, self.gpus if job.device != "cpu" else 0).watch()


class _Connection:
    """Joins a cluster, or begins one that ends with the block."""

    def __init__(self, ray: Any, address: str, cpus: int) -> None:
        self.ray, self.address, self.cpus = ray, address, cpus

    def __enter__(self) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
        if self.address:
            options |= {"address": self.address}
        else:  # nobody else can reach it
            options |= {"address": "local", "num_cpus": self.cpus, "include_dashboard": False}
            options |= {"_node_ip_address": "127.0.0.1"}
            # Processes that work are no nicer than those of a local run, and nobody reads metrics.
            options |= {
                "_system_config": {"worker_niceness": 0, "enable_metrics_collection": False}
            }
        self.mine = not self.ray.is_initialized()
        if not self.mine:
            return
        try:
            with _as_path(sys.path):  # its processes import from where this one does
                self.ray.init(**options)
        except Exception as error:  # Ray raises bare ones, too
            why = str(error).partition("\n")[0]
            raise RunError(
                f"no Ray cluster answers at '{self.address or 'this machine'}': {why}"
            ) from error

    def __exit__(self, *_: object) -> None:
        if self.mine:
            self.ray.shutdown()


@contextmanager
def _as_path(folders: Iterable[str]) -> Iterator[None]:
    """Let processes that begin in the block, and their own, import from these folders."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    try:
        yield
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


class _Driver:
    """Hands out tasks while the cluster has room, and passes on what becomes of them."""

    def __init__(self, ray: Any, job: Job, schedule: Schedule, gpus: float) -> None:
        self.ray, self.schedule = ray, schedule
        self.job = msgspec.json.encode(job).decode()
        self.running: dict[Any, Task] = {}
        self.begin = ray.remote(_attempt).options(
            num_cpus=job.threads, num_gpus=gpus, max_retries=0
        )
        self.steps = f"steps of {job.owner}"
        self.actor: Any = None
        self.asked: Any = None

    def watch(self) -> None:
        """Work until nothing is left; what runs is stopped whatever happens."""
        try:
            while self.schedule.left:
                self._hand_out()
                if self.running:
                    ended, _ = self.ray.wait(list(self.running), timeout=_EVERY)
                    for reference in ended:
                        task = self.running.pop(reference)
                        self.schedule.ended(task, self._end(reference))
                    self._report()
                else:
                    time.sleep(PAUSE)
        finally:
            for reference in self.running:
                with suppress(Exception):
                    self.ray.cancel(reference, force=True)

    def _hand_out(self) -> None:
        """Keep twice as many tasks waiting as the cluster has CPUs: it may grow at any time."""
        from inweights.lab.wire import to_wire

        room = 2 * int(self.ray.cluster_resources().get("CPU", 1))
        while len(self.running) < room and (task := self.schedule.take()):
            line = msgspec.json.encode(to_wire(task)).decode()
            self.running[self.begin.remote(self.job, line, task.key, self.steps)] = task

    def _end(self, reference: Any) -> End:
        failed = self.ray.exceptions
        try:
            return msgspec.json.decode(self.ray.get(reference), type=End)
        except failed.OutOfMemoryError as error:
            return End("memory", message=_first_line(error))
        except failed.RayTaskError as error:
            return End("failed", message=_first_line(error))
        except (failed.RayError, msgspec.DecodeError) as error:  # of its process or machine
            return End("killed", message=f"were lost: {_first_line(error)}")

    def _report(self) -> None:
        """Ask how far the tasks are, and take the answer whenever it comes.

        Steps of all tasks are told to an actor that takes no room, and may be lost. It begins
        after the first tasks, which would else have to wait for one more process.
        """
        if self.actor is None:
            options = {"name": self.steps, "num_cpus": 0, "max_restarts": -1}
            self.actor = self.ray.remote(_Steps).options(**options).remote()
        if self.asked and not self.ray.wait([self.asked], timeout=0)[0]:
            return
        by_key = {task.key: task for task in self.running.values()}
        with suppress(self.ray.exceptions.RayError):
            for key, step in self.ray.get(self.asked).items() if self.asked else ():
                if key in by_key:
                    self.schedule.report(by_key[key], step)
        self.asked = self.actor.read.remote()


def _attempt(job: str, line: str, key: str, steps: str) -> str:
    """Try a task, on whichever machine this is."""
    import ray

    from inweights.lab.task import attempt_sent
    from inweights.lab.worker import seldom

    def report(step: int) -> None:
        with suppress(ValueError):  # there is no such actor yet
            ray.get_actor(steps).write.remote(key, step)

    end = attempt_sent(msgspec.json.decode(job, type=Job), line, seldom(report, _EVERY))
    return msgspec.json.encode(end).decode()


class _Steps:
    """The updates that tasks have told since they were last read."""

    def __init__(self) -> None:
        self._steps: dict[str, int] = {}

    def write(self, key: str, step: int) -> None:
        self._steps[key] = step

    def read(self) -> dict[str, int]:
        steps, self._steps = self._steps, {}
        return steps


def _import() -> Any:
    try:
        import ray
    except ImportError:
        raise ConfigError("work on a cluster needs Ray: pip install 'inweights[cluster]'") from None
    return ray


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
