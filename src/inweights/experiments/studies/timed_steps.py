"""Time a few steps of a training on this machine, for the cost estimate (:mod:`~.cost`)."""

from __future__ import annotations

import time
from contextlib import suppress
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


#: Steps of a phase before those that run recorded kernels alone
#: (``training/steps/recording/recorded.py``).
RECORDED_AFTER = 5


class _EnoughStepsError(Exception):
    """The steps to be timed have been made."""


def time_part(model: Model, block: LearnTask, phase: Phase) -> tuple[float, int]:
    """Return the seconds of one step of a phase, and the bytes of memory that its gradient needs.

    Args:
        model: The model of the block.
        block: The runs.
        phase: A phase of two steps, of which the second is timed; the first also makes
            the batches.

    Returns:
        Two numbers: the seconds of a step, and the bytes.
    """
    taken, most = time_steps(model, block, phase, phase.steps, "cpu")
    return median(taken[1:] or taken or [0.0]), most


def time_steps(
    model: Model, block: LearnTask, phase: Phase, steps: int, device: str
) -> tuple[list[float], int]:
    """Time the first steps of a phase, and measure the memory that its gradients need.

    Args:
        model: The model of the block.
        block: The runs.
        phase: The phase.
        steps: Largest number of steps.
        device: Torch device of the model.

    Returns:
        The seconds of each step, and the bytes that are stored for gradients.
    """
    import torch

    from inweights.experiments.engine.attempts.together import first_steps, train_block
    from inweights.training.steps.machine import use_threads

    held: dict[int, int] = {}
    most = 0
    clock = clock_of(device)
    stamps = [clock()]

    def keep(tensor: Tensor) -> Tensor:
        held[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    def tick(step: int) -> None:
        nonlocal most
        most = max(most, sum(held.values()))
        held.clear()
        if device != "cpu":
            torch.cuda.synchronize()
        stamps.append(clock())
        if step >= steps:
            raise _EnoughStepsError

    # The phase keeps its length, as the kernels of short ones are not recorded.
    whole = Curriculum(phases=(first_steps(phase, phase.steps),))
    with (
        use_threads(1),
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
        suppress(_EnoughStepsError),
    ):
        # Whoever is found to diverge would take no more steps: nobody looks before the
        # last one.
        train_block(model, block, whole, every=phase.steps + 1, progress=tick)
    return [later - earlier for earlier, later in pairwise(stamps)], most


def clock_of(device: str) -> Callable[[], float]:
    """Return the clock that times work on a device: for a CPU, the processor time of the thread.

    Args:
        device: Torch device of the models.

    Returns:
        A function that returns a time in seconds.
    """
    return time.thread_time if device == "cpu" else time.perf_counter


def of_phase(taken: Sequence[float], steps: int) -> float:
    """Return the estimated seconds of a whole phase from those of its first steps.

    The first step also makes the batches. The next ones run as PyTorch runs them, until
    their kernels are recorded and compared; all later steps take the same time.

    Args:
        taken: Seconds of each timed step.
        steps: Number of steps of the phase.

    Example:
        >>> of_phase([9.0, 2.0, 8.0, 4.0, 4.0, 1.0, 1.0], steps=105)
        120.0
        >>> of_phase([9.0, 2.0, 2.0], steps=100)
        200.0
    """
    before = taken[1:RECORDED_AFTER] or taken or [0.0]  # a phase may have no steps
    later = taken[RECORDED_AFTER:] or before
    first = min(steps, RECORDED_AFTER)
    return first * median(before) + (steps - first) * median(later)
