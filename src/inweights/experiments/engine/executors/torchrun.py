"""Run tasks on the processes that ``torchrun`` started; all of them train each task together.

The first rank (:func:`joined`, :class:`Leader`) does everything that a command does.
The other ranks only take part in the training and store nothing. After an error during
training, nothing more is trained, because a rank may be in the middle of a step. The
command ends, and ``torchrun`` ends the other ranks. If the same command is run again,
it continues from the checkpoint.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import msgspec
import torch
import torch.distributed as dist

from inweights.errors import InweightsError, RunError
from inweights.experiments.engine.attempts.together import build_model, train_block
from inweights.experiments.engine.executors.processes import (
    SameProcess,
)
from inweights.experiments.engine.executors.schedule import Schedule
from inweights.experiments.engine.executors.serialization import to_wire
from inweights.experiments.engine.job import Job, check_sendable, task_of
from inweights.experiments.engine.tasks import LearnTask
from inweights.training.shards import Shards
from inweights.training.steps.machine import use_threads

#: Longest time that the other ranks wait while the first one measures or draws.
_WAIT = timedelta(days=7)


class _Order(msgspec.Struct):
    """Training arguments that the first rank sends to the other ranks."""

    job: Job
    task: msgspec.Raw


class Leader:
    """Executor of the first rank of ``torchrun``, which trains each task on all ranks.

    Args:
        shards: The ranks among which each update of a training run is divided.

    Attributes:
        apart: Whether the ranks may be at different steps, because training is in
            progress or ended with an error.
    """

    def __init__(self, shards: Shards) -> None:
        """Store the ranks of ``torchrun`` among which each training is divided."""
        self._shards = shards
        self._job = Job(store="")
        self.apart = False

    def run(self, job: Job, schedule: Schedule) -> None:
        """Run tasks, each on all ranks, until none is left.

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
        self._job = job
        SameProcess(self.training).run(job, schedule)

    @contextmanager
    def training(self, block: LearnTask) -> Iterator[Shards]:
        """Return a context manager within which the other ranks train the same runs as this rank.

        Each rank computes a share of every update. Errors are raised on entry.

        Args:
            block: The task whose runs are trained together.

        Yields:
            The ranks; pass them to the training function as ``shards``.

        Raises:
            RunError: An earlier training ended with an error, so that the ranks may be
                at different steps.
            ConfigError: The runs use objects that other processes cannot import.
        """
        if self.apart:
            raise RunError(
                "this run was not trained, because the processes of torchrun are no longer "
                "synchronised after an error"
            )
        task = LearnTask(block.runs, (), ((),) * len(block.runs))
        check_sendable([task], self._job.plugins)
        line = msgspec.Raw(msgspec.json.encode(to_wire(task)))
        self._shards.tell(msgspec.json.encode(_Order(self._job, line)))
        self.apart = True
        yield self._shards
        self.apart = False


_leader: Leader | None = None


def leader() -> Leader | None:
    """Return the executor of the first rank if this process is that rank; otherwise ``None``.

    The result is also ``None`` outside a ``with joined():`` block.
    """
    return _leader


@contextmanager
def joined() -> Iterator[bool]:
    """Return a context manager that connects the processes that torchrun started.

    Yields:
        Whether this process is the first rank. On the other ranks, the ``with`` block
        begins only when the first rank has left its own block; until then they take
        part in all training of the first rank.

    Raises:
        ValueError: The environment variables that torchrun sets are missing.
        RuntimeError: The processes cannot be connected.
    """
    global _leader  # noqa: PLW0603  # there is one set of ranks in a process, as in torch
    nccl = torch.cuda.is_available() and dist.is_nccl_available()
    dist.init_process_group("cpu:gloo,cuda:nccl" if nccl else "gloo", timeout=_WAIT)
    shards = Shards()
    try:
        if shards.rank:
            _follow(shards)
            yield False
            return
        _leader = Leader(shards)
        yield True
    finally:
        if _leader is not None and not _leader.apart:
            shards.tell()
        _leader = None
        dist.destroy_process_group()


def _follow(shards: Shards) -> None:
    """Train what the first rank trains, until it sends no more work."""
    while words := shards.tell():
        order = msgspec.json.decode(words, type=_Order)
        task = task_of(order.job, order.task)
        assert isinstance(task, LearnTask)
        device = order.job.device
        if device == "cuda":
            device = f"cuda:{os.environ['LOCAL_RANK']}"
            torch.cuda.set_device(device)
        # The first rank has the same error, and reports it.
        with suppress(InweightsError), use_threads(order.job.threads):
            train_block(build_model(task, device), task, shards=shards)
