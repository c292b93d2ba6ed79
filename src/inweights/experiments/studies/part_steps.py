"""Time long steps on parts of their batches, and count arithmetic operations.

The cost estimate (:mod:`~.cost`) times a few steps of a training run. If one step alone
takes seconds, as at the sizes of the papers, :func:`try_parts` instead times steps on
two small parts of the batch, because the time of a step is a linear function of the
number of tokens.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from inweights.experiments.engine.tasks import LearnTask
from inweights.experiments.grammar.trial import Measure
from inweights.training.curriculum import Curriculum, Phase
from inweights.worlds.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.utils.flop_counter import FlopCounterMode

    from inweights.models.base import Model

#: Product of parameters and facts of a step above which only parts of it are timed:
#: about a second on one core.
LARGE = 4e9
#: Products of parameters and facts of the two parts.
PARTS = (LARGE / 40, LARGE / 4)
#: Floating-point operations per second of one H100 during a step, by precision (a
#: multiplication and an addition count as two), and the shortest duration of a step in
#: seconds. A captured step of the path-star (5000, 5) in bf16, with 1.4e12 operations,
#: took 17.8 ms (benchmarks/gpu_step.py), and a step of a small GPT 3 to 5 ms. The rate
#: for fp32 was not measured: it is half of the 67e12 that the vendor states.
H100_RATES = {"bf16": 8e13, "fp32": 3e13, "bf16-emulated": 3e13}
H100_STEP = 4e-3


@dataclass(frozen=True, kw_only=True)
class Tried:
    """Estimated cost of a training task.

    Attributes:
        seconds: Seconds on one CPU core, or on an accelerator, including measures.
        memory: Bytes of the parameters, their gradients, the optimizer's state, and the
            tensors that are stored for the backward pass.
        measuring: Part of ``seconds`` that the measures take; by default 0.
        h100: Seconds on one H100 GPU, computed from the number of arithmetic
            operations; ``None`` if the operations were not counted.
    """

    seconds: float
    memory: int
    measuring: float = 0.0
    h100: float | None = None


def facts_of(phase: Phase, world: World) -> dict[str, int]:
    """Return the number of facts of each role that one step of a phase uses.

    Args:
        phase: The phase.
        world: World with the facts.

    Returns:
        Numbers of facts, keyed by role or by roles joined with ``+``, as in
        ``Phase.batch``. If all facts are drawn together, because the phase has a single
        batch size, the only key is ``""``. A batch size that is 0 or too large is
        replaced by the number of facts of these roles.
    """
    names = world.facts.role_names
    counts = np.bincount(world.facts.roles, minlength=len(names))
    there = dict(zip(names, counts.tolist(), strict=True))
    roles = list(phase.roles or there)
    if isinstance(phase.batch, int):
        every = sum(there.get(role, 0) for role in roles)
        return {"": min(phase.batch or every, every)}
    found = {}
    for key, size in phase.batch.items():
        every = sum(there.get(role, 0) for role in key.split("+"))
        found[key] = min(size or every, every)
    drawn = {role for key in phase.batch for role in key.split("+")}
    for role in roles:
        if role not in drawn:
            found[role] = there.get(role, 0)
    return found


def part_of(phase: Phase, world: World, share: float) -> Phase:
    """Return a copy of a phase with at most two steps that uses only a share of the facts.

    Args:
        phase: The phase.
        world: World with the facts.
        share: Share of the facts of each entry of ``Phase.batch``, above 0 and at most
            1. It is rounded up, so that at least one fact of each entry is used.
    """
    sizes = facts_of(phase, world)
    parts = {key: max(1, ceil(share * size)) for key, size in sizes.items() if size}
    batch: int | dict[str, int] = parts.get("", parts)
    return structs.replace(phase, steps=min(2, phase.steps), batch=batch)


def is_large(task: LearnTask, numbers: int, world: World) -> bool:
    """Return whether training steps are so slow that they are timed on parts of a batch only.

    This is the case if the number of parameters times the largest number of facts per
    step exceeds :data:`LARGE`, 4e9. One core takes about a second for such a step.

    Args:
        task: The task, whose learner must be a :class:`Curriculum`.
        numbers: Number of parameters of the model in one run.
        world: The world on whose facts the runs are trained.
    """
    return numbers * facts_of_a_step(task, world) > LARGE


def facts_of_a_step(task: LearnTask, world: World) -> int:
    """Return the largest number of facts per step in any phase of a training run.

    Args:
        task: The task, whose learner must be a :class:`Curriculum`.
        world: The world on whose facts the runs are trained.
    """
    assert isinstance(task.learner, Curriculum)
    steps = (sum(facts_of(phase, world).values()) for phase in task.learner.phases)
    return max(steps, default=0)


def looks_of(task: LearnTask) -> float:
    """Return how many times measures are applied to the runs of a task in total.

    Measures whose tables are stored already are not counted. It is assumed that no
    phase stops early.

    Args:
        task: The task, whose learner must be a :class:`Curriculum`.

    Returns:
        The sum of :func:`looks_at` over all runs and measures: a whole number, as a
        float.
    """
    assert isinstance(task.learner, Curriculum)
    looks = 0.0
    for measure in task.measures:
        runs = sum(measure.key in parts for parts in task.parts)
        looks += runs * looks_at(measure, task.learner)
    return looks


def looks_at(measure: Measure, learner: Curriculum) -> int:
    """Return how many times a measure is applied to one run, if no phase stops early.

    A measure without an interval (``every=0``) is applied once, at the end. A measure
    with an interval is applied before the first step, after every interval, and after
    the last step.

    Args:
        measure: The measure.
        learner: The curriculum of the run.

    Example:
        >>> import inweights as iw
        >>> learner = Curriculum(phases=(Phase(steps=25),))
        >>> looks_at(Measure(iw.probes.accuracy, every=10), learner)  # steps 0, 10, 20, 25
        4
    """
    return 1 + ceil(learner.steps / measure.every) if measure.every else 1


def try_parts(
    model: Model,
    block: LearnTask,
    numbers: int,
    step: Callable[[Model, LearnTask, Phase], tuple[float, int]],
) -> Tried:
    """Estimate the cost of training some runs on one CPU core, by timing two parts of a batch.

    Args:
        model: The model of the runs, which ``step`` may change.
        block: The runs, whose learner must be a :class:`Curriculum`.
        numbers: Number of parameters of the model in one run.
        step: Function that takes the model, the runs and a phase, performs the steps of
            the phase, and returns the seconds of one step and the bytes stored for its
            backward pass, such as :func:`~.timed_steps.time_part`.

    Returns:
        The estimate. Its ``seconds`` is the total duration of all steps and
        measurements of the runs; its ``h100`` is that of the steps on one H100 GPU.

    Raises:
        ConfigError: A phase names a parameter that the model lacks, trains no parameter, or
            uses random offsets for a model without position embeddings.
        DataError: A phase names roles or tokens that the world does not contain.
    """
    from inweights.training.batches.plans import Batches

    world = block.worlds[0]
    whole = block.learner
    assert isinstance(whole, Curriculum)
    seeds = [run.seed for run in block.runs]
    seconds = h100 = 0.0
    held = 0
    slowest = 0.0
    for phase in whole.phases:
        facts = sum(facts_of(phase, world).values())
        tokens = []
        taken = []
        bytes_held = []
        arithmetic = []
        for part in PARTS:
            small = part_of(phase, world, min(1.0, part / max(1, numbers * facts)))
            tokens.append(Batches(model, block.worlds, small, seeds, 0).tokens)
            with _flop_counter() as counter:
                of_step, of_graph = step(model, block, small)
            taken.append(of_step)
            bytes_held.append(of_graph)
            # The counter covers all steps of the part.
            arithmetic.append(counter.get_total_flops() / max(1, small.steps))
        all_tokens = Batches(model, block.worlds, phase, seeds, 0).tokens
        of_step = _at(all_tokens, tokens, taken)
        seconds += phase.steps * of_step
        on_gpu = _at(all_tokens, tokens, arithmetic) / H100_RATES[phase.precision]
        h100 += phase.steps * max(H100_STEP, on_gpu)
        held = max(held, round(_at(all_tokens, tokens, bytes_held)))
        slowest = max(slowest, of_step / max(1, facts))
    asked = len(world.facts) + len(world.queries)
    # Measures only run forward passes, which are a third of the arithmetic of a step.
    measuring = looks_of(block) / len(block.runs) * asked * slowest / 3
    state = 4 * sum(p.numel() * p.element_size() for p in model.parameters())
    return Tried(
        seconds=seconds + measuring,
        memory=state + held,
        measuring=measuring,
        h100=h100,
    )


def count_steps(
    model: Model,
    block: LearnTask,
    step: Callable[[Model, LearnTask, Phase], tuple[float, int]],
    times: float = 1.0,
) -> float:
    """Estimate the duration of training runs on one H100 GPU by counting operations.

    Args:
        model: The model of the runs, which ``step`` may change.
        block: The runs, whose learner must be a :class:`Curriculum`.
        step: Function that performs the steps of a phase, given the model, the runs and
            the phase (:func:`~.timed_steps.time_part`). Its results are not used.
        times: Number of runs that would be trained together on the GPU, divided by the
            number of runs in ``block``; by default 1.

    Returns:
        Seconds of all steps, without measures; at least 4 ms per step are assumed.

    Raises:
        ConfigError: A phase names a parameter that the model lacks, trains no parameter, or
            uses random offsets for a model without position embeddings.
        DataError: A phase names roles or tokens that the world does not contain.
    """
    from inweights.experiments.engine.attempts.together import first_steps

    assert isinstance(block.learner, Curriculum)
    seconds = 0.0
    for phase in block.learner.phases:
        short = first_steps(phase, min(phase.steps, 1))
        with _flop_counter() as counter:
            step(model, block, short)
        of_step = times * counter.get_total_flops() / max(1, short.steps)
        seconds += phase.steps * max(H100_STEP, of_step / H100_RATES[phase.precision])
    return seconds


def _flop_counter() -> FlopCounterMode:
    """Return PyTorch's counter of floating-point operations, without importing its compiler."""
    from torch.utils import flop_counter

    # PyTorch wraps this method to exclude it from compilation, which would import the
    # compiler; that takes as long as importing torch itself.
    mode = flop_counter._FlopCounterMode
    mode.__torch_dispatch__ = inspect.unwrap(mode.__torch_dispatch__)  # type: ignore[method-assign]
    return flop_counter.FlopCounterMode(display=False)


def _at(tokens: int, tried: list[int], values: list[float] | list[int]) -> float:
    """Return the value at a number of tokens, interpolated linearly from two measured points."""
    few, more = tried
    low, high = values
    if more == few:
        return float(high) * tokens / max(1, few)
    slope = max(0.0, (high - low) / (more - few))
    return float(high) + slope * (tokens - more)
