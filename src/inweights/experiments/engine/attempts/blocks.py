"""Split a task into blocks of runs to train together, with the fastest size that fits in memory.

:func:`blocks_of` yields the blocks of a task. A block contains as many runs as fit in
memory, as long as adding runs reduces the time per step and run. On a CPU the memory is
estimated (:func:`capacity`). On an accelerator, memory and time are measured before the
blocks are formed, since both depend on the device, the model and the batch
(:func:`best_size`).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from inweights.config import digest
from inweights.experiments.engine.attempts.together import (
    build_model,
    first_steps,
    parameters_of,
    train_block,
)
from inweights.experiments.engine.tasks import LearnTask, Run
from inweights.support.limits import check_memory, memory_limit
from inweights.training import Curriculum
from inweights.worlds.world import World

#: Bytes that the parameters, gradients and optimizer of runs that train together may
#: take on a CPU.
MAX_BYTES = 4 * 2**30
#: Share of an accelerator's free memory that these runs may take, including everything
#: that a step needs.
SHARE = 0.8
#: Largest ratio of the times of a step per run for which the larger of two groups is
#: chosen.
GAIN = 0.9
#: Number of steps that are timed, after as many steps of warm-up.
STEPS = 5


def blocks_of(task: LearnTask, device: str = "cpu") -> Iterator[LearnTask]:
    """Build the worlds of a task, and yield blocks of runs to train together.

    Errors that are raised while a world is built propagate.

    Args:
        task: The task.
        device: Torch device of the models, such as ``cpu`` or ``cuda``.

    Yields:
        Blocks, each a task with at most :func:`group_size` runs whose worlds have the
        same shape (number of tokens, candidates, and positions and roles of all facts
        and queries). Together they contain all runs of the task, grouped by shape.

    Raises:
        ConfigError: On a CPU, a single run does not fit in the memory. On an
            accelerator, a run of a ``Curriculum`` has no model (on a CPU,
            :func:`build_model` raises this error).
        torch.OutOfMemoryError: A single run does not fit in the memory of a CUDA
            device.
    """
    # Copies of the runs, so that the memory of their worlds is freed after the task.
    task = replace(task, runs=tuple(map(replace, task.runs)))
    shapes: dict[str, list[int]] = {}
    for place, run in enumerate(task.runs):
        shapes.setdefault(digest(_shape(run.world)), []).append(place)
    for places in shapes.values():
        size = group_size(task.part(places), device)
        for start in range(0, len(places), size):
            yield task.part(places[start : start + size])


def _shape(world: World) -> list[Any]:
    """Return the properties in which the worlds of runs trained together must agree."""
    shape: list[Any] = [len(world.vocabulary), world.outputs.tolist()]
    for part in (world.facts, world.queries):
        columns = (
            part.roles,
            part.prompt_ends,
            part.answer_ends,
            part.out_of_distribution,
        )
        shape.append([part.role_names, *(column.tolist() for column in columns)])
    return shape


def group_size(block: LearnTask, device: str) -> int:
    """Return the number of runs like the given ones that should be trained together on a device.

    Args:
        block: Runs whose worlds have the same shape.
        device: Torch device of the models, such as ``cpu`` or ``cuda``.

    Returns:
        The number of runs. On a CUDA device it is determined by measurement
        (:func:`best_size`), and is at most the number of given runs. On other devices,
        and for a learner that is not a ``Curriculum``, it is the result of
        :func:`capacity`, which may be larger.

    Raises:
        ConfigError: A single run does not fit in the memory of the CPU, or, on a CUDA
            device, a run has no model.
        DataError: A world cannot be built from its files.
        torch.OutOfMemoryError: A single run does not fit in the memory of a CUDA
            device.
    """
    if not device.startswith("cuda") or not isinstance(block.learner, Curriculum):
        return capacity(block.runs[0])
    room = SHARE * torch.cuda.mem_get_info(device)[0]
    return best_size(
        lambda n: _measured(block.part(range(n)), device), len(block.runs), room
    )


def best_size(
    measure: Callable[[int], tuple[float, float]], most: int, room: float
) -> int:
    """Find the best number of runs to train together, by measurement.

    The number is doubled as long as the memory suffices and the time per step and run
    falls by at least a tenth.

    Args:
        measure: Function that takes a number of runs, and returns the bytes that they
            need together and the seconds per joint step.
        most: Largest number of runs, at least 1.
        room: Available memory in bytes. A single run is assumed to fit.

    Returns:
        The number of runs, which is a power of two or ``most``.

    Example:
        >>> launches, arithmetic = 1e-3, 1e-5 # seconds for each step, and for each run
        >>> best_size(lambda n: (n * 1e6, launches + n * arithmetic), most=512, room=1e10)
        512
        >>> best_size(lambda n: (n * 1e6, launches + n * arithmetic), most=512, room=1e8)
        64
        >>> best_size(lambda n: (n * 1e6, n * arithmetic), most=512, room=1e10)
        1
    """
    size = 1
    taken, seconds = measure(1)
    while size < most:
        larger = min(2 * size, most)
        if taken / size * larger > room:
            break
        taken, longer = measure(larger)
        if longer / larger > GAIN * seconds / size:
            break
        size = larger
        seconds = longer
    return size


def _measured(block: LearnTask, device: str) -> tuple[float, float]:
    """Return the memory of a block on an accelerator, in bytes, and the seconds per step."""
    # Reserved memory is measured, as it includes what a captured step keeps.
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_reserved(device)
    ends = []

    def clock(_: int) -> None:
        torch.cuda.synchronize(device)
        ends.append(time.perf_counter())

    learners: list[Any] = [run.trial.learner for run in block.runs]  # all are curricula
    short = [
        Curriculum(phases=(first_steps(one.phases[0], 2 * STEPS),)) for one in learners
    ]
    train_block(build_model(block, device), block, short, progress=clock)
    taken = torch.cuda.max_memory_reserved(device) - before
    return taken, (ends[-1] - ends[STEPS - 1]) / STEPS


def capacity(run: Run) -> int:
    """Return how many runs like the given one fit in main memory at the same time.

    Args:
        run: The run. If it has no model, or its learner is not a ``Curriculum``, the
            result is 1. Otherwise its world is built.

    Returns:
        The largest number of runs whose parameters, gradients and optimizer states
        together take at most :data:`MAX_BYTES` and at most half of the memory limit; at
        least 1.

    Raises:
        ConfigError: A single run does not fit in the memory limit of this process.
        DataError: The world of the run cannot be built from its files.
    """
    if run.trial.model is None or not isinstance(run.trial.learner, Curriculum):
        return 1
    parameters = parameters_of(run)
    count = sum(p.numel() for p in parameters)
    # Memory of the parameters, their gradients, and the two moments of Adam.
    state = 4 * sum(p.numel() * p.element_size() for p in parameters)
    check_memory(
        f"training a model of {count:,} parameters", state, hint="make it smaller"
    )
    return max(1, min(MAX_BYTES, memory_limit() // 2) // max(1, state))
