"""Time a few training steps on this machine, for the cost estimate (:mod:`~.cost`)."""

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


#: Number of first steps of a phase that do not run only recorded kernels
#: (``training/steps/recording/recorded.py``).
RECORDED_AFTER = 5


class _EnoughStepsError(Exception):
    """Signal that all steps to be timed have been made."""


def time_part(model: Model, block: LearnTask, phase: Phase) -> tuple[float, int]:
    """Time the steps of a phase on the CPU, and measure the memory of the backward pass.

    Args:
        model: The model of the runs, which is trained further (in place).
        block: The runs, which are the replicas of the model.
        phase: The phase, all of whose steps are performed. The time of the first step,
            which also prepares the batches, is ignored if there are others.

    Returns:
        Two numbers: the median processor time of a step in seconds (0 for a phase
        without steps), and the largest number of bytes that a step stores for its
        backward pass.

    Raises:
        ConfigError: The phase names a parameter that the model lacks, trains no
            parameter, or uses random offsets for a model without position embeddings.
        DataError: The phase names roles or tokens that a world does not contain.
    """
    taken, most = time_steps(model, block, phase, phase.steps, "cpu")
    return median(taken[1:] or taken or [0.0]), most


def time_steps(
    model: Model, block: LearnTask, phase: Phase, steps: int, device: str
) -> tuple[list[float], int]:
    """Time the first steps of a phase, and measure the memory of the backward pass.

    Args:
        model: The model of the runs, which is trained further (in place).
        block: The runs, which are the replicas of the model.
        phase: The phase. It keeps its full number of steps, because PyTorch kernels are
            recorded and replayed only in long phases, but training is stopped after
            ``steps`` steps.
        steps: Maximum number of steps to perform. If the phase has fewer steps, all of
            them are performed.
        device: Torch device of the model.

    Returns:
        Two values: a list with the duration of each step in seconds (processor time on
        a CPU), and the largest number of bytes that a step stores for its backward
        pass. The duration of the first step includes the preparation of the training.

    Raises:
        ConfigError: The phase names a parameter that the model lacks, trains no
            parameter, or uses random offsets for a model without position embeddings.
        DataError: The phase names roles or tokens that a world does not contain.
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

    # The phase keeps its number of steps, because kernels of short phases are not
    # recorded.
    whole = Curriculum(phases=(first_steps(phase, phase.steps),))
    with (
        use_threads(1),
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
        suppress(_EnoughStepsError),
    ):
        # Divergence is checked only after the last step, since runs that are found to
        # diverge make no more steps.
        train_block(model, block, whole, every=phase.steps + 1, progress=tick)
    return [later - earlier for earlier, later in pairwise(stamps)], most


def clock_of(device: str) -> Callable[[], float]:
    """Return a clock for timing work on a device.

    Args:
        device: Torch device of the models.

    Returns:
        A function that returns a time in seconds: the processor time of the thread for
        ``cpu``, otherwise wall-clock time. Only differences between its values are
        meaningful.
    """
    return time.thread_time if device == "cpu" else time.perf_counter


def of_phase(taken: Sequence[float], steps: int) -> float:
    """Estimate the duration of a whole phase from the durations of its first steps.

    The first five steps usually take longer, because PyTorch kernels are recorded and
    checked in them, and are replayed only from the sixth step on. Each of the five is
    assumed to take the median time of steps 2 to 5. The time of step 1 is used only if
    no other step was timed, because this step also prepares the batches. Each later
    step is assumed to take the median time of the timed steps from the sixth on or, if
    there are none, of steps 2 to 5.

    Args:
        taken: Duration of each timed step in seconds, in order. If empty, the result is
            0.
        steps: Number of steps of the phase.

    Returns:
        The estimated duration in seconds.

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
