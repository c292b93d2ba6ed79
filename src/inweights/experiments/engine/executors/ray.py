"""Run tasks on a Ray cluster.

:class:`Ray` sends each task as JSON and receives how it ended. Ray assigns the tasks to
machines and notices processes that die. Tables and checkpoints are in the store, which
all machines must be able to access.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any
from unittest import mock

import msgspec

from inweights.errors import RunError
from inweights.experiments.engine.attempts.task import attempt_sent
from inweights.experiments.engine.executors.endings import End
from inweights.experiments.engine.executors.processes import PAUSE
from inweights.experiments.engine.executors.schedule import Schedule
from inweights.experiments.engine.executors.serialization import to_wire
from inweights.experiments.engine.executors.worker import throttled
from inweights.experiments.engine.job import Job
from inweights.experiments.engine.tasks import Task
from inweights.runs.tables.store import LEASE
from inweights.support.extras import optional

#: Seconds between two reports of a task, and the number of tasks whose reports are read
#: at a time.
_EVERY = 0.5
_LOOKS = 100
#: Options of Ray that start monitoring processes. Without these, a cluster on this
#: machine starts 3 s earlier.
_NEEDLESS = ("start_api_server", "start_log_monitor", "start_monitor")
#: Options of a cluster on this machine. Nobody else can connect to it or reads its
#: metrics, and its processes have the same priority as those of a local run.
_OWN = {
    "include_dashboard": False,
    "_node_ip_address": "127.0.0.1",
    "_system_config": {
        "worker_niceness": 0,
        "enable_metrics_collection": False,
        "worker_register_timeout_seconds": 200,
    },
}
#: Seconds after which a node that does not respond has failed. Ray's default of 30 is
#: too short on a busy machine.
_PATIENCE = 120


@dataclass(frozen=True)
class Ray:
    """Executor that runs tasks on a Ray cluster, which starts each task when it has free resources.

    Attributes:
        address: Address ``HOST:PORT`` of Ray's client server. By default (empty), the
            cluster at ``$RAY_ADDRESS`` is used or, if this variable is not set, a
            cluster that this process starts on this machine.
        jobs: Number of tasks that run at a time on a cluster that this process starts.
            On other clusters, the number of CPUs determines the number of tasks.
        gpus: Number of GPUs that each task requests, if the models are not on the CPU;
            by default 1. With 0.5, two tasks share a GPU.
    """

    address: str = ""
    jobs: int = 1
    gpus: float = 1.0

    def run(self, job: Job, schedule: Schedule) -> None:
        """Run tasks on the cluster until none is left.

        How each attempt ended is reported to ``schedule``. A task that fails does not
        raise an error here.

        Args:
            job: Data that all tasks share.
            schedule: Source of the tasks, to which progress and the end of each attempt
                are reported.

        Raises:
            ConfigError: The package ``ray`` is not installed.
            RunError: No cluster responds.
            WriteError: A task could not store its tables; all running tasks are
                stopped.
        """
        ray = optional("cluster", "running on a cluster")
        address = (
            f"ray://{self.address}"
            if self.address
            else os.environ.get("RAY_ADDRESS", "")
        )
        # File locks do not show whether processes on other machines are alive, so tasks
        # have leases.
        if address:
            job = msgspec.structs.replace(job, lease=job.lease or LEASE)
        with _connected(ray, address, self.jobs * job.threads):
            _Driver(ray, job, schedule, self.gpus if job.device != "cpu" else 0).watch()


@contextmanager
def _connected(ray: Any, address: str, cpus: int) -> Iterator[None]:
    """Join a cluster for the duration of a ``with`` block, or start one that ends with it."""
    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {} if address else {**_OWN, "num_cpus": cpus}
    # The processes of the cluster import modules from the same folders as this process.
    path = mock.patch.dict(
        os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))
    )
    try:
        with path, nullcontext() if address else bare():
            where = address or "local"
            ray.init(
                address=where, log_to_driver=False, logging_level="error", **options
            )
    except Exception as error:  # Ray also raises plain exceptions
        raise RunError(
            f"no Ray cluster responds at {address or 'the local address'}: {_first_line(error)}"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def bare() -> Iterator[None]:
    """Return a context manager in which Ray starts without monitoring and with a longer timeout.

    Within the block, Ray does not start its processes for monitoring, and waits up to
    two minutes for its own node to start. Ray has no settings for this, so some of its
    methods are replaced. Methods that a version of Ray does not have are skipped.

    Raises:
        ImportError: The package ``ray`` is not installed.
    """
    from ray._private import node, services

    with ExitStack() as stack:
        for name in _NEEDLESS:
            if hasattr(node.Node, name):
                stack.enter_context(
                    mock.patch.object(node.Node, name, return_value=None)
                )
        if own := getattr(services, "get_node", None):
            stack.enter_context(
                mock.patch.object(services, "get_node", partial(_patiently, own))
            )
        yield


def _patiently(look: Callable[..., Any], *words: Any) -> Any:
    """Look up a node repeatedly until it has started."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        with suppress(RuntimeError):
            return look(*words)
    return look(*words)


class _Driver:
    """Send tasks to a cluster while it has free CPUs, and report how they end."""

    def __init__(self, ray: Any, job: Job, schedule: Schedule, gpus: float) -> None:
        self.ray = ray
        self.schedule = schedule
        self.job = msgspec.json.encode(job).decode()
        self.running: dict[Any, Task] = {}
        self.begin = ray.remote(_attempt).options(
            num_cpus=job.threads, num_gpus=gpus, max_retries=0
        )
        self.steps = f"inweights {job.owner}"

    def watch(self) -> None:
        """Send tasks to the cluster until none is left; stop all tasks if an error occurs."""
        from ray.experimental.internal_kv import _internal_kv_del, _internal_kv_get

        try:
            while self.schedule.left:
                # Up to two tasks for each CPU of the cluster are sent, since the
                # cluster may grow.
                room = 2 * int(self.ray.cluster_resources().get("CPU", 1))
                while len(self.running) < room and (task := self.schedule.take()):
                    line = msgspec.json.encode(to_wire(task)).decode()
                    self.running[
                        self.begin.remote(self.job, line, task.key, self.steps)
                    ] = task
                if not self.running:
                    time.sleep(PAUSE)
                    continue
                for reference in self.ray.wait(list(self.running), timeout=_EVERY)[0]:
                    self.schedule.ended(
                        self.running.pop(reference), self._end(reference)
                    )
                # Only the tasks that were sent first report their progress; others may
                # not have started.
                for task in islice(self.running.values(), _LOOKS):
                    if step := _internal_kv_get(task.key, namespace=self.steps):
                        self.schedule.report(task, int(step))
        finally:
            for reference in self.running:
                with suppress(Exception):
                    self.ray.cancel(reference, force=True)
            with suppress(Exception):
                _internal_kv_del("", del_by_prefix=True, namespace=self.steps)

    def _end(self, reference: Any) -> End:
        failed = self.ray.exceptions
        try:
            return msgspec.json.decode(self.ray.get(reference), type=End)
        except failed.OutOfMemoryError as error:
            return End("memory", message=_first_line(error))
        except failed.RayTaskError as error:
            return End("failed", message=_first_line(error))
        except (
            failed.RayError,
            msgspec.DecodeError,
        ) as error:  # the process or its machine failed
            return End("killed", message=f"were lost: {_first_line(error)}")


# A function of a module, with strings as arguments, because Ray then sends its name and
# need not pickle any of our objects.
def _attempt(job: str, line: str, key: str, steps: str) -> str:
    """Execute a task on a machine of the cluster, and write its progress to Ray's object store."""
    from ray.experimental.internal_kv import _internal_kv_put

    def report(step: int) -> None:
        _internal_kv_put(key, str(step), namespace=steps)

    end = attempt_sent(
        msgspec.json.decode(job, type=Job), line, throttled(report, _EVERY)
    )
    return msgspec.json.encode(end).decode()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
