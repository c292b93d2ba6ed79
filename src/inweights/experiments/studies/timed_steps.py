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
    """Return the seconds of a step of a phase on the CPU, and the bytes stored for its gradient.

    Args:
        model: The model of the runs, which is trained further.
        block: The runs that the model has as replicas.
        phase: The phase, all of whose steps are made. The first one, which also makes
            the batches, counts only if there is no other.

    Returns:
        Two numbers: the median processor time of a step in seconds, and the bytes.

    Raises:
        ConfigError: The phase does not fit the model.
        DataError: The phase names facts that a world does not contain.
    """
    taken, most = time_steps(model, block, phase, phase.steps, "cpu")
    return median(taken[1:] or taken or [0.0]), most


def time_steps(
    model: Model, block: LearnTask, phase: Phase, steps: int, device: str
) -> tuple[list[float], int]:
    """Time the first steps of a phase, and measure the memory that its gradients need.

    Args:
        model: The model of the runs, which is trained further.
        block: The runs that the model has as replicas.
        phase: The phase. It keeps its number of steps, as kernels of short phases are not
            recorded.
        steps: Number of steps to make, or fewer if the phase has fewer.
        device: Torch device of the model.

    Returns:
        The seconds of each step (processor time on a CPU), and the largest number of
        bytes that a step stores for its gradients.

    Raises:
        ConfigError: The phase does not fit the model.
        DataError: The phase names facts that a world does not contain.
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
    """Return the clock that times work on a device.

    Args:
        device: Torch device of the models.

    Returns:
        A function that returns a time in seconds: processor time of the thread for
        ``cpu``, otherwise the time that passes.
    """
    return time.thread_time if device == "cpu" else time.perf_counter


def of_phase(taken: Sequence[float], steps: int) -> float:
    """Return the estimated seconds of a whole phase from those of its first steps.

    The first step also makes the batches. The next ones run as PyTorch runs them, until
    their kernels are recorded and compared; all later steps take the same time.

    Args:
        taken: Seconds of each timed step, in order. If empty, a step counts as 0 seconds.
        steps: Number of steps of the phase.

    Returns:
        The estimated seconds.

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
