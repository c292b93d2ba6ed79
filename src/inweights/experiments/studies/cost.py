"""Estimate the cost of a plan: runs, steps, minutes, memory, and what is already stored.

:func:`forecast` times a few steps of a few runs on this machine and returns a
:class:`Forecast`, which commands and :meth:`Study.forecast
<inweights.experiments.studies.sweep_object.Study.forecast>` show.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from inweights.errors import InweightsError
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask
from inweights.experiments.grammar.trial import Plan
from inweights.experiments.studies.cost_estimate import Forecast
from inweights.experiments.studies.part_steps import (
    H100_STEP,
    Tried,
    count_steps,
    facts_of_a_step,
    is_large,
    try_parts,
)
from inweights.experiments.studies.timed_steps import (
    RECORDED_AFTER,
    clock_of,
    of_phase,
    time_part,
    time_steps,
)
from inweights.runs.tables.names import MODEL_PART
from inweights.runs.tables.store import Store
from inweights.training.learners.kinds import Curriculum

#: Steps of each phase that are tried out: some after its kernels were recorded, and few
#: where one takes so long that recording gains nothing.
STEPS = RECORDED_AFTER + 3
FEW_STEPS = 3
#: Groups of runs that are tried out, by their place among all by size; no other is
#: begun after so many processor seconds, or such a share of what the whole takes, if
#: that is longer.
SPREAD = (1.0, 0.0, 0.6, 0.3, 0.8, 0.45)
BUDGET = 0.4
SHARE = 1 / 300
#: Processor seconds after which no further group is begun, however long the whole takes.
MOST = 6.0
#: Parameters times facts of a step of the runs that are tried together, at most: beyond
#: these a step takes as long as its arithmetic, and so grows with the runs.
ARITHMETIC = 2**26
#: Seconds of a core from which the arithmetic of a training is counted, and from which
#: it is said what all take on one H100.
COUNTED = 60.0
SAID = 1800.0
#: Seconds of a look that are no longer what it loads, so that it is tried once.
LONG = 0.2
#: Bytes of a process that has loaded torch.
BASE = 400 * 2**20


def forecast(
    plan: Plan,
    seeds: Sequence[int],
    store: Store,
    execution: ExecutionOptions | None = None,
    *,
    version: int = 1,
    budget: float = BUDGET,
) -> Forecast:
    """Estimate the cost of the missing runs of a plan by timing a few steps.

    Two to six groups of runs of different sizes are timed, and more of them if all runs
    together take long. The cost of a step of the other groups is interpolated by the
    product of the numbers of parameters and facts.

    Args:
        plan: The trials, measures and computations.
        seeds: Root seeds.
        store: Store of the tables of single runs.
        execution: Where and how the tasks would run; by default one after another in
            this process.
        version: The recipe's version, which is part of the key of every run.
        budget: Processor time in seconds after which no further group is timed; by
            default 0.4.

    Returns:
        The estimate: numbers of conditions, seeds, runs and stored runs, and the
        minutes and the bytes of memory that the missing runs need.
    """
    execution = execution or ExecutionOptions()
    device = execution.device
    work = expand_plan(plan, seeds, version, keep_models=execution.keep_models)
    tasks = tasks_of(work, lambda owner, part: not store.has(owner, part), device)
    learning = [task for task in tasks if isinstance(task, LearnTask)]
    measuring = [
        task for task in learning if task.only_measures and _is_trained(task, store)
    ]
    training = [task for task in learning if task not in measuring]
    descents = [task for task in training if isinstance(task.learner, Curriculum)]
    found = _tried([task for task in descents if task.steps], execution, budget)
    together = min(execution.jobs, max(1, len(descents)))
    made = len(work.runs) + len(work.computations)
    return Forecast(
        conditions=len(plan.trials) + len(plan.computations),
        seeds=len(seeds),
        runs=made,
        stored=made
        - sum(len(task.runs) for task in learning)
        - (len(tasks) - len(learning)),
        measured=sum(len(task.runs) for task in measuring),
        trained=sum(len(task.runs) for task in training),
        steps=sum(task.steps for task in training),
        minutes=found.seconds / 60 / together if descents else None,
        stops=any(map(_may_stop, descents)),
        untimed=len(tasks) - len(measuring) - len(descents),
        memory=together * (BASE + found.memory),
        jobs=together,
        h100=None if found.h100 is None else found.h100 / 60,
    )


def _may_stop(task: LearnTask) -> bool:
    """Return whether a training may end before its last step."""
    return any(not phase.stop.never for phase in task.learner.phases)  # type: ignore[union-attr]


def _is_trained(task: LearnTask, store: Store) -> bool:
    """Return whether the weights of all runs of a task are stored."""
    return all(store.has(run.key, MODEL_PART) for run in task.runs)


def _tried(
    descents: Sequence[LearnTask], execution: ExecutionOptions, budget: float
) -> Tried:
    """Return the estimated seconds of some trainings in total, and the memory of one."""
    if not descents:
        return Tried(seconds=0.0, memory=0)
    counted: dict[tuple[str, int], int] = {}
    sizes = {id(task): _sizes(task, counted) for task in descents}
    ordered = sorted(descents, key=lambda task: prod(sizes[id(task)]))
    by_size = [prod(sizes[id(task)]) for task in ordered]
    steps = [task.steps for task in ordered]
    places = [*dict.fromkeys(round(part * (len(ordered) - 1)) for part in SPREAD)]
    tried: dict[int, Tried] = {}
    began = time.process_time()
    seconds = 0.0
    for place in places:
        spent = time.process_time() - began
        if len(tried) >= 2 and spent > max(budget, min(SHARE * seconds, MOST)):
            break
        if execution.progress:
            execution.progress(
                len(tried), len(places), f"a few steps of {ordered[place].title}"
            )
        tried[place] = _try(
            ordered[place], sizes[id(ordered[place])][0], execution.device
        )
        seconds = _of_all(tried, by_size, steps, "seconds")
    said = execution.device == "cpu" and seconds >= SAID
    return Tried(
        seconds=seconds,
        memory=max(one.memory for one in tried.values()),
        h100=_of_all(tried, by_size, steps, "h100") if said else None,
    )


def _of_all(
    tried: dict[int, Tried], by_size: Sequence[int], steps: Sequence[int], what: str
) -> float:
    """Return the seconds of all trainings, interpolated by size from those that were timed."""
    known = sorted(tried)
    each = []
    for at in known:
        value = getattr(tried[at], what)
        least = H100_STEP * steps[at] if value is None else value
        each.append(least / max(1, steps[at]))
    return float(np.interp(by_size, [by_size[at] for at in known], each) @ steps)


def _sizes(task: LearnTask, counted: dict[tuple[str, int], int]) -> tuple[int, int]:
    """Return the size of a training: its numbers of parameters and of facts.

    Args:
        task: The training.
        counted: Numbers of parameters by model and size of the vocabulary, to which new
            ones are added.
    """
    from inweights.experiments.engine.attempts.together import parameters_of

    run = replace(task.runs[0])  # a copy, whose world is not kept
    key = (repr(run.trial.model), len(run.world.vocabulary))
    if key not in counted:
        counted[key] = sum(p.numel() for p in parameters_of(run))
    return counted[key], len(run.world.facts)


def _try(task: LearnTask, numbers: int, device: str) -> Tried:
    """Return the seconds and bytes that a training would need, from a few of its runs and steps.

    On an accelerator all runs are used, since most of the time is spent on launching
    kernels.
    """
    from inweights.experiments.engine.attempts.measuring import measure_model
    from inweights.experiments.engine.attempts.together import (
        blocks_of,
        build_model,
        capacity,
    )
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
            h100=parts.h100 * every_run,
        )
    # A GPU's first ones are not captured yet.
    steps = 3 * FEW_STEPS
    if device == "cpu":
        steps = STEPS if of_a_run < ARITHMETIC else FEW_STEPS
    seconds = 0.0
    most = 0
    for phase in whole.phases:
        taken, held = time_steps(model, block, phase, steps, device)
        seconds += of_phase(taken, phase.steps)
        most = max(most, held)
    with use_threads(1):
        for measure in task.measures:
            times = 1 + whole.steps // measure.every if measure.every else 1
            wanted = sum(measure.key in parts for parts in task.parts) / len(task.runs)
            see = partial(measure_model, measure, block.worlds, model)
            seconds += wanted * times * _seconds(see, clock_of(device))
    state = 4 * sum(p.numel() * p.element_size() for p in model.parameters())
    counts = device == "cpu" and seconds * every_run >= COUNTED
    return Tried(
        seconds=seconds * every_run,
        memory=round((state + most) * together),
        h100=count_steps(model, block, time_part, every_run) if counts else None,
    )


def _seconds(look: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return how many seconds a measurement takes; 0 if it is not possible."""
    seconds: list[float] = []
    with suppress(InweightsError):
        while len(seconds) < 2 and sum(seconds) < LONG:
            began = clock()
            look()
            seconds.append(clock() - began)
    return min(seconds, default=0.0)
