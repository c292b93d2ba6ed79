"""The command line under ``torchrun``: its processes train every task together.

The first rank does all that a command does. The others wait for what is to be trained, which comes
as JSON, and train along; they look at nothing and store nothing. After an error in a training
nothing more is trained, as a rank may have been left behind in the middle of a step: the command
ends with the error, ``torchrun`` ends the others, and the same command goes on from the checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec
import torch
import torch.distributed as dist

from inweights.errors import InweightsError, RunError
from inweights.lab.engine.executors import SameProcess
from inweights.lab.engine.job import Job, check_sendable, task_of, to_wire
from inweights.lab.engine.plan import LearnTask
from inweights.lab.engine.task import use_threads
from inweights.lab.engine.together import build_model, train_block
from inweights.training.shards import Shards

if TYPE_CHECKING:
    from inweights.lab.engine.schedule import Schedule

#: How long the other ranks wait while the first one looks or draws.
PATIENCE = timedelta(days=7)


class _Order(msgspec.Struct):
    """What the others are told to train."""

    job: Job
    task: msgspec.Raw


class Leader:
    """The first rank as an executor: one task after another, each trained by all ranks."""

    def __init__(self, shards: Shards) -> None:
        self._shards, self._job, self.apart = shards, Job(store=""), False

    def run(self, job: Job, schedule: Schedule) -> None:
        self._job = job
        SameProcess(self.training).run(job, schedule)

    @contextmanager
    def training(self, block: LearnTask) -> Iterator[Shards]:
        """Have the other ranks train the runs that this one trains in the block."""
        if self.apart:
            raise RunError(
                "not trained, as the processes of torchrun are out of step after an error"
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
    """Return the leader, in the first of several joined processes."""
    return _leader


@contextmanager
def joined() -> Iterator[bool]:
    """Join the processes that torchrun started; says whether this one is the first.

    In the others the block is entered when the first one has left it.
    """
    global _leader  # noqa: PLW0603  # there is one set of ranks in a process, as in torch
    dist.init_process_group("cpu:gloo,cuda:nccl" if _nccl() else "gloo", timeout=PATIENCE)
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


def _nccl() -> bool:
    return torch.cuda.is_available() and dist.is_nccl_available()


def _follow(shards: Shards) -> None:
    """Train what the first rank trains, until it says no more."""
    while words := shards.tell():
        order = msgspec.json.decode(words, type=_Order)
        task = task_of(order.job, order.task)
        assert isinstance(task, LearnTask)
        device = order.job.device
        if device == "cuda":
            device = f"cuda:{os.environ['LOCAL_RANK']}"
            torch.cuda.set_device(device)
        # What is wrong with the runs is told by the first rank, which meets it, too.
        with suppress(InweightsError), use_threads(order.job.threads):
            train_block(build_model(task, device), task, shards=shards)
