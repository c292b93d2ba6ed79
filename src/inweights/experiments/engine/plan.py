"""Turn a plan into tasks: the runs, their missing tables, and groups that train together.

A plan multiplied by its seeds is :class:`Work` (:func:`expand_plan`). :func:`tasks_of`
groups what is missing into tasks (:mod:`~.tasks`), which executors run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import Any

from inweights.config import digest, identity
from inweights.experiments.engine.tasks import (
    KEY_LENGTH,
    LOSSES,
    ComputeTask,
    LearnTask,
    Run,
    TableRequest,
    Task,
)
from inweights.experiments.grammar.trial import Measure, Plan
from inweights.models.configs.model_config import ModelConfig
from inweights.runs.tables.names import MODEL_PART
from inweights.support.keys.plain import plain, plain_call
from inweights.support.keys.sources import public_name, sources_of
from inweights.training.learners.kinds import Curriculum

#: Raised by hand when the same run would give other numbers: stored results are then
#: made again.
VERSION = 1
#: Replicas that train as one program at most. On a CPU a run's share of a step falls
#: until there are about 32 of them, for TinyNN and Emb-MLP by a third from 8 on, for a
#: GPT of width 64 by a tenth, and not beyond (docs/performance.md).
MAX_REPLICAS = 32
#: The same on an accelerator, where a step of small models is bound by launching
#: kernels, whose number does not grow with the replicas. Whoever does a task measures
#: how many go together.
MAX_REPLICAS_ACCELERATED = 512


#: What is stored of a run, by key; no measure makes its losses and its weights.
Parts = dict[str, Measure | None]


@dataclass(frozen=True)
class Work:
    """The tables, runs and computations of a plan, for all seeds.

    Attributes:
        requests: Every table that the plan needs, in the order of the plan.
        runs: The runs that make them, by key. Several tables and labels may share one
            run.
        parts: The parts that are stored of each run, by the key of the run: for each
            name of a part the measure that makes it, ``None`` for losses and weights.
        computations: The computations that make the other tables, by key, one task per
            seed.
    """

    requests: tuple[TableRequest, ...]
    runs: Mapping[str, Run]
    parts: Mapping[str, Parts]
    computations: Mapping[str, ComputeTask]


def expand_plan(
    plan: Plan, seeds: Sequence[int], version: int = 1, *, keep_models: bool = False
) -> Work:
    """Multiply a plan by its seeds; runs that differ only in their labels become one run.

    Args:
        plan: Trials, measures and computations.
        seeds: Root seeds.
        version: The recipe's version, which is part of every key; by default 1.
        keep_models: Whether trained weights are stored too.

    Returns:
        Every requested table, and the runs and computations that make them, by their
        keys. Nothing is trained, and the store is not read.

    Raises:
        ConfigError: A config, or an option of a measure or computation, has no exact
            encoding, from which a key could be computed.
        DataError: A file that a config or an option names cannot be read.
    """
    asked: list[TableRequest] = []
    runs: dict[str, Run] = {}
    wanted: dict[str, Parts] = {}
    # Trials share worlds and models by the hundred, and a graph of thousands of edges
    # takes long to write out: each object is written out once.
    content = remembered(plain)
    for trial in plan.trials:
        about = [content(part) for part in (trial.world, trial.model, trial.learner)]
        measures = [measure for measure in plan.measures if measure.fits(trial)]
        for place, seed in enumerate(seeds):
            key = digest([VERSION, version, *about, seed], KEY_LENGTH)
            # Two trials that differ in their labels alone have one key: the run is made
            # once, and each has its tables.
            runs.setdefault(key, Run(key, trial, seed))
            parts = wanted.setdefault(key, {})
            if keep_models:
                parts[MODEL_PART] = None
            if isinstance(trial.learner, Curriculum):
                parts[LOSSES] = None
                asked.append(TableRequest(LOSSES, (key, LOSSES), trial.labels, seed))
            for measure in measures:
                if not (place and measure.first_seed):
                    parts[measure.key] = measure
                    asked.append(
                        TableRequest(
                            measure.name, (key, measure.key), trial.labels, seed
                        )
                    )
    computations: dict[str, ComputeTask] = {}
    for one in plan.computations:
        about = plain_call(one.compute, one.options)
        for seed in seeds if one.seeded else seeds[:1]:
            # What no seed decides is one result, whichever seed its rows bear.
            key = digest(
                [VERSION, version, *about, seed if one.seeded else None], KEY_LENGTH
            )
            computations.setdefault(key, ComputeTask(key, one, seed))
            asked.append(TableRequest(one.name, (key, "table"), one.labels, seed))
    return Work(tuple(asked), runs, wanted, computations)


def tasks_of(
    work: Work, missing: Callable[[str, str], bool], device: str = "cpu"
) -> list[Task]:
    """Return the missing work as tasks, which may be run in any order.

    Runs of one world, architecture and curriculum train together, at most
    :data:`MAX_REPLICAS` of them (:data:`MAX_REPLICAS_ACCELERATED` on an accelerator).
    They may differ in seed, initial scale, learning rate and weight decay. Runs whose
    weights are stored, so that they only have to be measured, are separate tasks.

    Args:
        work: Runs and computations of a plan.
        missing: Function that returns whether a part of a run or computation, given by
            key and name, is missing in the store.
        device: Torch device of the models; on an accelerator, any other than ``cpu``,
            more runs train together.

    Returns:
        A task for each group of runs, and one for each computation; with all missing
        seeds, if it takes seeds together. Empty if nothing is missing.

    Raises:
        ConfigError: A global of a user's function cannot be hashed, or a module was
            edited after it was imported.
        DataError: A file on which the work depends cannot be read.
    """
    most = MAX_REPLICAS if device == "cpu" else MAX_REPLICAS_ACCELERATED
    planned = remembered(sources_of)
    of_measure = remembered(lambda measure: sources_of(measure.call))
    world = remembered(plain)
    # Learners of runs that train together have all in common but rates and decays.
    how = remembered(
        lambda one: plain(one.shape if isinstance(one, Curriculum) else one)
    )
    shape = remembered(
        lambda trial: [
            world(trial.world),
            _model_shape(trial.model),
            how(trial.learner),
        ]
    )
    computed = [
        task for key, task in work.computations.items() if missing(key, "table")
    ]
    tasks: list[Task] = [
        replace(task, sources=sources_of(task.dependencies))
        for task in _together(computed)
    ]
    groups: dict[str, list[tuple[Run, Parts]]] = {}
    for key, run in work.runs.items():
        left = {part: m for part, m in work.parts[key].items() if missing(key, part)}
        if not left:
            continue
        # The first seed trains with the others, though more may be measured of it.
        everywhere = sorted(
            part for part, m in left.items() if not (m and m.first_seed)
        )
        at_the_end = all(m and not m.every for m in left.values())
        measured = at_the_end and not missing(key, MODEL_PART)
        group = digest([shape(run.trial), everywhere, measured], KEY_LENGTH)
        groups.setdefault(group, []).append((run, left))
    for members in groups.values():
        for together in _even_parts(members, most):
            task = _learn_task(together)
            sources: dict[str, str] = {}
            for trial in task.trials:
                for part in (trial.world, trial.model, trial.learner):
                    sources |= planned(part)
            for measure in task.measures:
                sources |= of_measure(measure)
            tasks.append(replace(task, sources=sources))
    return tasks


def _even_parts(
    members: Sequence[tuple[Run, Parts]], most: int
) -> list[Sequence[tuple[Run, Parts]]]:
    """Split runs into parts of about equal size, as few as possible."""
    count = len(members)
    parts = ceil(count / most)
    bounds = [count * part // parts for part in range(parts + 1)]
    return [members[start:end] for start, end in pairwise(bounds)]


def _learn_task(members: Sequence[tuple[Run, Parts]]) -> LearnTask:
    """Return the task of some runs, with the missing parts of each."""
    measures: dict[str, Measure] = {}
    for _, left in members:
        measures |= {part: measure for part, measure in left.items() if measure}
    parts = tuple(tuple(left) for _, left in members)
    runs = tuple(run for run, _ in members)
    return LearnTask(runs, tuple(measures.values()), parts)


def _together(tasks: Iterable[ComputeTask]) -> Iterable[ComputeTask]:
    """Join the missing seeds of computations that take all seeds at once."""
    # A function that takes all seeds at once is called once for those that are missing.
    joined: dict[tuple[int, int], ComputeTask] = {}
    for task in tasks:
        one = task.computation
        place = (id(one), 0 if one.together else task.seed)
        first = joined.get(place)
        more = () if first is None else (*first.others, (task.key, task.seed))
        joined[place] = replace(first or task, others=more)
    return joined.values()


def _model_shape(model: ModelConfig | None) -> Any:
    """Return what the configs of models that train together have in common: all but the scale."""
    # Runs train as one program if their models have the same shape; how each starts is
    # a matter of its replica alone.
    if model is None:
        return None
    return [
        public_name(type(model)),
        {k: v for k, v in identity(model).items() if k != "init"},
    ]


def remembered(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that stores its result for each object on which it is called.

    Objects are distinguished by identity, not by value, because comparing two graphs
    takes as long as writing one out.

    Args:
        function: A function of one argument.

    Returns:
        The function with a memory, in which the objects stay alive.

    Example:
        >>> length = remembered(len)
        >>> [length([0] * n) for n in range(4)]
        [0, 1, 2, 3]
    """
    # The object is kept beside its result: the next one may be given its place in memory,
    # and with it its identity, once it is gone.
    known: dict[int, tuple[Any, Any]] = {}

    def get(thing: Any) -> Any:
        if id(thing) not in known:
            known[id(thing)] = thing, function(thing)
        return known[id(thing)][1]

    return get
