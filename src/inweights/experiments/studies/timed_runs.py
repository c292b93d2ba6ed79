"""Time a few steps of some training runs, and estimate the time of all runs from their sizes.

:func:`time_runs` is the part of the cost estimate (:mod:`~.cost`) that runs models.
:mod:`~.timed_steps` times the steps of one phase, and :mod:`~.part_steps` the steps of
large models.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from statistics import mean
from typing import Self

import numpy as np

from inweights.errors import InweightsError
from inweights.experiments.engine.tasks import LearnTask
from inweights.experiments.studies.part_steps import (
    H100_STEP,
    Tried,
    count_steps,
    facts_of_a_step,
    is_large,
    looks_at,
    looks_of,
    try_parts,
)
from inweights.experiments.studies.timed_steps import (
    RECORDED_AFTER,
    clock_of,
    of_phase,
    time_part,
    time_steps,
)
from inweights.support.progress import Progress
from inweights.training.learners.kinds import Curriculum

#: Number of timed steps of each phase, a few of them with recorded kernels; and the
#: number if a step takes so long that its kernels are not recorded.
STEPS = RECORDED_AFTER + 3
FEW_STEPS = 3
#: Positions of the timed groups of runs, among all groups by size. Timing ends after
#: BUDGET processor seconds or, if longer, SHARE of the time of all trainings.
SPREAD = (1.0, 0.0, 0.6, 0.3, 0.8, 0.45)
BUDGET = 0.4
SHARE = 1 / 300
#: Processor seconds after which timing ends in any case.
MOST = 6.0
#: Largest product of parameters and facts of a step, over all runs that are timed
#: together: above it, the time of a step grows in proportion to the runs.
ARITHMETIC = 2**27
#: The same for one run. Above it, recording the kernels of a step saves no time.
SLOW = 2**28
#: Seconds on one core from which operations are counted, for the time on an H100.
COUNTED = 60.0
#: Seconds above which a measurement is timed once, not twice: loading code takes less.
LONG = 0.2


@dataclass(frozen=True, kw_only=True)
class TimedRuns:
    """Training runs sorted by size, some of which were timed.

    Attributes:
        tasks: The tasks, in ascending order of size. The size of a task is the
            product of its two numbers in ``sizes``.
        sizes: A pair of numbers for each task, in the order of ``tasks``: the number of
            parameters and the number of facts of one of its runs.
        tried: Estimated cost of each timed task, keyed by its index in ``tasks``.
    """

    tasks: Sequence[LearnTask]
    sizes: Sequence[tuple[int, int]]
    tried: dict[int, Tried] = field(default_factory=dict)

    @classmethod
    def untimed(cls, descents: Sequence[LearnTask]) -> Self:
        """Sort training runs by size, without timing any of them.

        Args:
            descents: The tasks, in any order.

        Returns:
            An object that contains the sorted tasks but no times.

        Raises:
            ConfigError: A task has no model, or its model cannot be built.
            DataError: A world cannot be built.
        """
        counted: dict[tuple[str, int], int] = {}
        sizes = [_sizes(task, counted) for task in descents]
        order = sorted(range(len(sizes)), key=lambda place: prod(sizes[place]))
        return cls(
            tasks=[descents[place] for place in order],
            sizes=[sizes[place] for place in order],
        )

    @property
    def arithmetic(self) -> int:
        """Number of parameters times number of facts, summed over all updates of all runs."""
        return sum(
            prod(size) * task.steps
            for size, task in zip(self.sizes, self.tasks, strict=True)
        )

    @property
    def each(self) -> list[float]:
        """Estimated duration of each task with its measures, in seconds; 0 if none was timed.

        The time of the measures is interpolated separately from the time of the steps,
        since tasks of the same size may have different measures.
        """
        steps = {}
        looks = {}
        for at, one in self.tried.items():
            task = self.tasks[at]
            steps[at] = (one.seconds - one.measuring) / max(1, task.steps)
            looks[at] = one.measuring / max(1.0, looks_of(task))
        per_step = self._interpolated(steps)
        per_look = self._interpolated(looks)
        return [
            step * task.steps + look * looks_of(task)
            for step, look, task in zip(per_step, per_look, self.tasks, strict=True)
        ]

    @property
    def seconds(self) -> float:
        """Estimated total duration of all training runs in seconds; 0 if none was timed."""
        return sum(self.each)

    @property
    def h100(self) -> float:
        """Estimated duration of all training runs on one H100 in seconds; 0 if none was timed.

        It is computed from the number of arithmetic operations. Tasks whose operations
        were not counted are assumed to take 4 ms per step.
        """
        per_step = {}
        for at, one in self.tried.items():
            steps = self.tasks[at].steps
            known = H100_STEP * steps if one.h100 is None else one.h100
            per_step[at] = known / max(1, steps)
        found = self._interpolated(per_step)
        return sum(
            step * task.steps for step, task in zip(found, self.tasks, strict=True)
        )

    @property
    def memory(self) -> int:
        """Largest estimated memory of the timed training runs, in bytes; 0 if none was timed."""
        return max((one.memory for one in self.tried.values()), default=0)

    def _interpolated(self, known: Mapping[int, float]) -> list[float]:
        """Return a number for each training run, interpolated by size from the known numbers."""
        if not known:
            return [0.0] * len(self.tasks)
        by_size: dict[int, list[float]] = {}
        for at, value in known.items():
            by_size.setdefault(prod(self.sizes[at]), []).append(value)
        sizes = sorted(by_size)
        values = [mean(by_size[size]) for size in sizes]
        found = np.interp([prod(size) for size in self.sizes], sizes, values)
        return [float(one) for one in found]


def time_runs(
    descents: Sequence[LearnTask],
    device: str,
    *,
    budget: float = BUDGET,
    progress: Progress | None = None,
) -> TimedRuns:
    """Time a few steps of the smallest, the largest and up to four intermediate training runs.

    Args:
        descents: The tasks, each with a ``Curriculum`` of at least one step. An empty
            sequence is allowed.
        device: Torch device of the models.
        budget: Processor time in seconds after which no further task is timed, once two
            have been timed; by default 0.4. For long tasks it is at least 1/300 of the
            estimated time of all tasks, but at most 6 s.
        progress: Function that is called with the number of tasks timed so far, the
            number of tasks to be timed, and a description of the next task; ``None``
            for no progress reports.

    Returns:
        The tasks, sorted by size, with the estimated cost of each timed task.

    Raises:
        ConfigError: A task has no model, a model cannot be built for its world, or
            a single run does not fit in the memory.
        DataError: A world cannot be built, or it lacks facts that a phase names.
    """
    found = TimedRuns.untimed(descents)
    last = len(descents) - 1
    places = [*dict.fromkeys(round(part * last) for part in SPREAD)] if descents else []
    began = time.process_time()
    for place in places:
        spent = time.process_time() - began
        enough = max(budget, min(SHARE * found.seconds, MOST))
        if len(found.tried) >= 2 and spent > enough:
            break
        task = found.tasks[place]
        if progress:
            progress(len(found.tried), len(places), f"a few steps of {task.title}")
        found.tried[place] = _try(task, found.sizes[place][0], device)
    return found


def _sizes(task: LearnTask, counted: dict[tuple[str, int], int]) -> tuple[int, int]:
    """Return the size of a training run: its numbers of parameters and facts.

    Args:
        task: The task.
        counted: Numbers of parameters by model and size of the vocabulary. New numbers
            are added to it.
    """
    from inweights.experiments.engine.attempts.together import parameters_of

    run = replace(task.runs[0])  # a copy, so that the task does not keep the world
    key = (repr(run.trial.model), len(run.world.vocabulary))
    if key not in counted:
        counted[key] = sum(p.numel() for p in parameters_of(run))
    return counted[key], len(run.world.facts)


def _try(task: LearnTask, numbers: int, device: str) -> Tried:
    """Estimate the seconds and bytes that a task needs, from a few of its runs and steps.

    On an accelerator all runs are used, since most of the time is spent on launching
    kernels.
    """
    from inweights.experiments.engine.attempts.blocks import blocks_of, capacity
    from inweights.experiments.engine.attempts.measuring import measure_model
    from inweights.experiments.engine.attempts.together import build_model, first_steps
    from inweights.training.steps.machine import use_threads

    facts = facts_of_a_step(task, task.runs[0].world)
    of_a_run = max(1, numbers * facts)
    few = max(1, ARITHMETIC // of_a_run) if device == "cpu" else len(task.runs)
    block = next(blocks_of(task.part(range(min(few, len(task.runs))))))
    model = build_model(block, device)
    runs = len(block.runs)
    whole = task.learner
    assert isinstance(whole, Curriculum)
    together = min(len(task.runs), capacity(block.runs[0])) / runs
    every_run = len(task.runs) / runs
    if device == "cpu" and is_large(task, numbers, block.worlds[0]):
        parts = try_parts(model, block, numbers, time_part)
        assert parts.h100 is not None
        return Tried(
            seconds=parts.seconds * every_run,
            memory=round(parts.memory * together),
            measuring=parts.measuring * every_run,
            h100=parts.h100 * every_run,
        )
    steps = STEPS
    phases = list(whole.phases)
    if device != "cpu" or of_a_run >= SLOW:
        # The first steps on a GPU are not captured. Kernels of short phases are not
        # recorded, since the step that records takes several times as long as others.
        steps = FEW_STEPS if device == "cpu" else 3 * FEW_STEPS
        phases = [first_steps(phase, min(phase.steps, steps)) for phase in phases]
    seconds = measuring = 0.0
    most = 0
    for phase, tried in zip(whole.phases, phases, strict=True):
        taken, held = time_steps(model, block, tried, steps, device)
        seconds += of_phase(taken, phase.steps)
        most = max(most, held)
    with use_threads(1):
        for measure in task.measures:
            wanted = sum(measure.key in parts for parts in task.parts) / len(task.runs)
            see = partial(measure_model, measure, block.worlds, model)
            each = _seconds(see, clock_of(device))
            measuring += wanted * looks_at(measure, whole) * each
    state = 4 * sum(p.numel() * p.element_size() for p in model.parameters())
    seconds += measuring
    counts = device == "cpu" and seconds * every_run >= COUNTED
    return Tried(
        seconds=seconds * every_run,
        memory=round((state + most) * together),
        measuring=measuring * every_run,
        h100=count_steps(model, block, time_part, every_run) if counts else None,
    )


def _seconds(look: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return how many seconds a measurement takes; 0 if it raises an error of the library."""
    seconds: list[float] = []
    with suppress(InweightsError):
        while len(seconds) < 2 and sum(seconds) < LONG:
            began = clock()
            look()
            seconds.append(clock() - began)
    return min(seconds, default=0.0)
