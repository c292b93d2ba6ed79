"""Time a few steps of a training on this machine, for the cost estimate (:mod:`~.cost`)."""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from inweights.experiments.engine.tasks import LearnTask
from inweights.training.curriculum import Phase
from inweights.training.learners.kinds import Curriculum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from inweights.models.base import Model


def time_part(model: Model, block: LearnTask, phase: Phase) -> tuple[float, int]:
    """Return the seconds of one step of a phase, and the bytes of memory that its gradient needs.

    Args:
        model: The model of the block.
        block: The runs.
        phase: A phase of two steps, of which the second is timed; the first also makes
            the batches.
    """
    from inweights.experiments.engine.attempts.together import first_steps

    short = [first_steps(phase, phase.steps)]
    taken, most, _ = time_steps(model, block, short, "cpu", lambda _: 0.0)
    return median(taken[1:] or taken or [0.0]), most


def time_steps(
    model: Model,
    block: LearnTask,
    short: Sequence[Phase],
    device: str,
    look: Callable[[Callable[[], float]], float],
) -> tuple[list[float], int, float]:
    """Time the steps of some phases, and measure the memory that their gradients need.

    Args:
        model: The model of the block.
        block: The runs.
        short: Phases with few steps.
        device: Torch device of the model.
        look: Function that is called after the steps with a clock, to time a
            measurement.

    Returns:
        Three values: the seconds of each step, the bytes that are stored for gradients,
        and the result of ``look``.
    """
    import torch

    from inweights.experiments.engine.attempts.together import train_block
    from inweights.training.steps.machine import use_threads

    held: dict[int, int] = {}
    most = 0
    clock = time.thread_time if device == "cpu" else time.perf_counter
    stamps = [clock()]

    def keep(tensor: Tensor) -> Tensor:
        held[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    def tick(_step: int) -> None:
        nonlocal most
        most = max(most, sum(held.values()))
        held.clear()
        if device != "cpu":
            torch.cuda.synchronize()
        stamps.append(clock())

    with (
        use_threads(1),
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
    ):
        # Whoever is found to diverge would take no more steps: nobody looks before the
        # last one.
        few_steps = Curriculum(phases=tuple(short))
        every = max(1, sum(phase.steps for phase in short) + 1)
        train_block(model, block, few_steps, every=every, progress=tick)
        looked = look(clock)
    return [later - earlier for earlier, later in pairwise(stamps)], most, looked
