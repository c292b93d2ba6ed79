"""Train runs together as one program, in groups of the size that is fastest and fits in memory.

:func:`blocks_of` splits a task into blocks of runs, :func:`build_model` makes the model
of a block, and :func:`train_block` trains it. A block has as many runs as fit in
memory, as long as more runs make a step cheaper per run. On a CPU the memory is
estimated. On an accelerator memory and time are measured before each block, since both
depend on the device, the model and the batch: the number of runs is doubled as long as
the time of a step per run falls.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from msgspec import structs
from torch.nn import Parameter

from inweights.config import digest
from inweights.errors import ConfigError
from inweights.experiments.engine.tasks import LearnTask, Run
from inweights.models.base import Model
from inweights.models.configs.model_config import Init, ModelConfig
from inweights.models.save import decode_model
from inweights.runs.tables.store import Store
from inweights.support.limits import check_memory, memory_limit
from inweights.training import Curriculum, Phase, Result, Schedule, Stop, train
from inweights.worlds.world import World

#: Bytes that the parameters, gradients and optimizer of runs that train together may
#: take on a CPU.
MAX_BYTES = 4 * 2**30
#: Share of the free memory of an accelerator that they may take, with all that a step
#: needs.
SHARE = 0.8
#: A larger group is taken where it makes a run's share of a step smaller by this factor
#: at least.
GAIN = 0.9
#: Steps that are measured, after as many that are not.
STEPS = 5


def build_model(block: LearnTask, device: str) -> Model:
    """Return the untrained model of runs that train together, with one replica per run.

    Args:
        block: Runs whose worlds have the same shape; the config of the first run's
            model is used, with the seed and the initialisation of each run.
        device: Torch device of the model, such as ``cpu`` or ``cuda``.

    Raises:
        ConfigError: The trial has no model, or its config cannot build one for these
            worlds.
    """
    world = block.runs[0].world
    model = _config_of(block.runs[0]).build(
        vocabulary=len(world.vocabulary),
        seeds=[run.seed for run in block.runs],
        inits=[getattr(run.trial.model, "init", Init()) for run in block.runs],
        candidates=world.outputs.tolist(),
    )
    return model.to(device)


def parameters_of(run: Run) -> list[Parameter]:
    """Return the parameters of one replica of a run's model, without allocating them if possible.

    They are on the device ``meta``, without values, unless a user's model needs values
    while it is built.

    Raises:
        ConfigError: The trial of the run has no model.
    """
    build = partial(
        _config_of(run).build, vocabulary=len(run.world.vocabulary), seeds=[0]
    )
    try:
        with torch.device("meta"):  # nothing is drawn, and no memory taken
            return list(build().parameters())
    # A model of one's own may look at its numbers.
    except (
        NotImplementedError,
        RuntimeError,
    ):
        return list(build().parameters())


def train_block(
    model: Model,
    block: LearnTask,
    curricula: Curriculum | Sequence[Curriculum] | None = None,
    **how: Any,
) -> Result:
    """Train the runs of a block, in this process or in several that all call this function.

    If all replicas diverge, this is not an error here: the verdicts show it, as they do
    if only some of them diverge.

    Args:
        model: The model of the block, with one replica per run.
        block: The runs.
        curricula: The curriculum of all runs, or one per run; by default those of their
            trials.
        **how: Further arguments of :func:`inweights.train`.

    Returns:
        The result of :func:`inweights.train`.

    Raises:
        ConfigError: The model does not fit the curriculum, or the runs' curricula
            differ in more than rates and options; see :func:`inweights.train`.
        DataError: A phase names or edits facts that the world does not contain.
        RunError: The checkpoint belongs to another training.
    """
    own: list[Any] = [run.trial.learner for run in block.runs]  # all are curricula
    seeds = [run.seed for run in block.runs]
    return train(
        model, block.worlds, curricula or own, seeds=seeds, keep_diverged=True, **how
    )


def first_steps(phase: Phase, steps: int) -> Phase:
    """Return a phase shortened to its first steps, for timing.

    The shortened phase has a constant rate and no early stop, no observers and no edit.

    Args:
        phase: The phase.
        steps: Number of updates of the shortened phase.
    """
    none = {"observers": (), "edit": None}
    return structs.replace(phase, steps=steps, schedule=Schedule(), stop=Stop(), **none)


def open_model(store: Store, run: Run) -> Model:
    """Load the stored model of a run.

    Args:
        store: Store with the weights.
        run: The run that trained the model.

    Raises:
        FolderError: The weights are missing or damaged.
    """
    trial = run.trial
    # A model of one's own need not be registered: the trial has the class of its
    # config.
    kind: Any = type(trial.model) if isinstance(trial.learner, Curriculum) else None
    return decode_model(store.read_model(run.key), str(store.folder(run.key)), kind)


def blocks_of(task: LearnTask, device: str = "cpu") -> Iterator[LearnTask]:
    """Build the worlds of a task, and yield its runs in blocks that train together.

    Errors of building a world are passed on.

    Args:
        task: The task.
        device: Torch device of the models, such as ``cpu`` or ``cuda``.

    Yields:
        Tasks with runs whose worlds have the same shape, each with as many runs as the
        device allows.

    Raises:
        ConfigError: Not even one run fits in the memory (on the CPU), or a run has no
            model (on an accelerator; on the CPU :func:`build_model` raises it).
    """
    # Copies of the runs, so that their worlds go when the task is done.
    task = replace(task, runs=tuple(map(replace, task.runs)))
    shapes: dict[str, list[int]] = {}
    for place, run in enumerate(task.runs):
        shapes.setdefault(digest(_shape(run.world)), []).append(place)
    for places in shapes.values():
        size = group_size(task.part(places), device)
        for start in range(0, len(places), size):
            yield task.part(places[start : start + size])


def _shape(world: World) -> list[Any]:
    """Return what the worlds of runs that train together must have in common."""
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
    """Return how many runs like the given ones train together on a device.

    Args:
        block: Runs whose worlds have the same shape.
        device: Torch device of the models, such as ``cpu`` or ``cuda``.

    Returns:
        The number of runs. On a CPU it is :func:`capacity`, which may be larger than
        the number of given runs; on a CUDA device it is measured (:func:`best_size`)
        and at most that number.

    Raises:
        ConfigError: Not even one run fits in the memory of the CPU, or on a CUDA device
            a run has no model.
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
    """Find the best number of runs that train together, by measurement.

    The number is doubled as long as the memory suffices and the time of a step per run
    falls by at least a tenth.

    Args:
        measure: Function of a number of runs that returns the bytes that they need and
            the seconds that a step takes.
        most: Largest number of runs, at least 1.
        room: Available memory in bytes.

    Returns:
        The number of runs, a power of two or ``most``.

    Example:
        >>> launches, arithmetic = 1e-3, 1e-5  # seconds: of a step, and of each run
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
    """Return the bytes that a block needs on an accelerator, and the seconds of a step."""
    torch.cuda.empty_cache()  # what is reserved counts: a captured step keeps all that it needs
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
    """Return how many runs like the given one fit in the memory of a CPU at once.

    Args:
        run: The run. For one without a model, or whose learner is not a ``Curriculum``,
            the result is 1.

    Returns:
        The number of runs, at least 1, for which values, gradients and the state of the
        optimizer take at most :data:`MAX_BYTES` and half of the memory limit.

    Raises:
        ConfigError: Not even one run fits in the memory.
    """
    if run.trial.model is None or not isinstance(run.trial.learner, Curriculum):
        return 1
    parameters = parameters_of(run)
    count = sum(p.numel() for p in parameters)
    # Values, gradients and the two moments of Adam.
    state = 4 * sum(p.numel() * p.element_size() for p in parameters)
    check_memory(
        f"training a model of {count:,} parameters", state, hint="make it smaller"
    )
    return max(1, min(MAX_BYTES, memory_limit() // 2) // max(1, state))


def _config_of(run: Run) -> ModelConfig:
    """Return the model's config of a run, or raise an error if its curriculum has none."""
    if run.trial.model is None:
        raise ConfigError(
            "a curriculum needs a model; give its config, such as GPTConfig()"
        )
    return run.trial.model
