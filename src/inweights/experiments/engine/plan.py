"""Divide the missing work of a plan into tasks: computations, and groups of runs.

:func:`expand_plan` lists all work of a plan and its seeds (:class:`Work`).
:func:`tasks_of` groups the missing parts of this work into tasks (:mod:`~.tasks`),
which executors run.
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

#: Version of the engine, raised by hand when the same run would have different results.
#: Stored results are then not reused.
VERSION = 1
#: Largest number of runs that train together. On a CPU, the time of a step per run
#: decreases up to about 32 runs and not beyond: from 8 to 32 runs by a third for TinyNN
#: and Emb-MLP, and by a tenth for a GPT of width 64 (docs/performance.md).
MAX_REPLICAS = 32
#: The same on an accelerator, where the duration of a step of small models is
#: determined by the number of kernels, which does not depend on the number of runs. How
#: many runs of a task train together is measured before it is executed.
MAX_REPLICAS_ACCELERATED = 512


#: Stored parts of a run by name, each with the measure that computes it (``None`` for
#: losses and weights).
Parts = dict[str, Measure | None]


@dataclass(frozen=True)
class Work:
    """The tables, runs and computations that a plan requires for all seeds.

    Attributes:
        requests: Every table that the plan requires, in the order of the plan.
        runs: The runs that these tables require, keyed by their names in the store.
            Several tables and labels may share one run.
        parts: The parts of each run to be stored, keyed by the run's name in the store.
            Each value is a mapping from the name of a part to its measure, or to
            ``None`` for losses and weights.
        computations: The computations that return the remaining tables, keyed by their
            names in the store. There is one task per seed if the computation depends on
            the seed, otherwise one task.
    """

    requests: tuple[TableRequest, ...]
    runs: Mapping[str, Run]
    parts: Mapping[str, Parts]
    computations: Mapping[str, ComputeTask]


def expand_plan(
    plan: Plan, seeds: Sequence[int], version: int = 1, *, keep_models: bool = False
) -> Work:
    """List the tables, runs and computations of a plan for all of its seeds.

    Trials with the same world, model and learner but different labels share one run.

    Args:
        plan: Trials, measures and computations.
        seeds: Root seeds; there must be at least one.
        version: The recipe's version, which is part of every key; by default 1.
        keep_models: Whether to store the trained weights as well; by default false.

    Returns:
        The requested tables, and the runs and computations that produce them. Nothing
        is trained, and the store is not read.

    Raises:
        ConfigError: A config, or an option of a measure or computation, cannot be
            encoded exactly, so that no key can be computed; or a function among them
            uses something that cannot be hashed.
        DataError: A file to which a config or an option refers cannot be read.
    """
    asked: list[TableRequest] = []
    runs: dict[str, Run] = {}
    wanted: dict[str, Parts] = {}
    # Hundreds of trials may share a world or model, and encoding a graph of thousands
    # of edges is slow: each object is encoded once.
    content = remembered(plain)
    for trial in plan.trials:
        about = [content(part) for part in (trial.world, trial.model, trial.learner)]
        measures = [measure for measure in plan.measures if measure.fits(trial)]
        for place, seed in enumerate(seeds):
            key = digest([VERSION, version, *about, seed], KEY_LENGTH)
            # Trials that differ only in their labels have the same key: the run is made
            # once, and its tables are used for each of them.
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
            # A computation that does not depend on seeds has one result, whatever the
            # first seed is.
            key = digest(
                [VERSION, version, *about, seed if one.seeded else None], KEY_LENGTH
            )
            computations.setdefault(key, ComputeTask(key, one, seed))
            asked.append(TableRequest(one.name, (key, "table"), one.labels, seed))
    return Work(tuple(asked), runs, wanted, computations)


def tasks_of(
    work: Work, missing: Callable[[str, str], bool], device: str = "cpu"
) -> list[Task]:
    """Divide the missing work into tasks, which may be run in any order.

    Runs with the same world, architecture and curriculum are trained together, at most
    32 of them (:data:`MAX_REPLICAS`) on a CPU, and 512
    (:data:`MAX_REPLICAS_ACCELERATED`) on an accelerator. They may differ in seed,
    initialisation, learning rate and weight decay. Runs whose weights are stored, so
    that they only have to be measured, form separate tasks.

    Args:
        work: Runs and computations of a plan.
        missing: Function that takes the key of a run or computation and the name of a
            part, both strings, and returns whether this part is missing from the store.
        device: Torch device of the models. On any device other than ``cpu``, more runs
            are trained together.

    Returns:
        One task for each missing seed of a computation (one for all missing seeds, if
        the computation takes them together), followed by one task for each group of
        runs. The list is empty if nothing is missing.

    Raises:
        ConfigError: A global variable of a user's function cannot be hashed, or a
            module was edited after it was imported.
        DataError: A file on which the work depends cannot be read.
    """
    most = MAX_REPLICAS if device == "cpu" else MAX_REPLICAS_ACCELERATED
    planned = remembered(sources_of)
    of_measure = remembered(lambda measure: sources_of(measure.call))
    world = remembered(plain)
    # Learners of runs that train together differ only in rates and weight decays.
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
        # Measures for the first seed only do not count here, so that this seed trains
        # together with the others.
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
    """Split runs into as few parts as possible, of about equal size, each at most ``most``."""
    count = len(members)
    parts = ceil(count / most)
    bounds = [count * part // parts for part in range(parts + 1)]
    return [members[start:end] for start, end in pairwise(bounds)]


def _learn_task(members: Sequence[tuple[Run, Parts]]) -> LearnTask:
    """Return a task with the given runs and the missing parts of each run."""
    measures: dict[str, Measure] = {}
    for _, left in members:
        measures |= {part: measure for part, measure in left.items() if measure}
    parts = tuple(tuple(left) for _, left in members)
    runs = tuple(run for run, _ in members)
    return LearnTask(runs, tuple(measures.values()), parts)


def _together(tasks: Iterable[ComputeTask]) -> Iterable[ComputeTask]:
    """Join the missing seeds of computations that take all seeds at once."""
    # A function that takes all seeds at once is called once for all missing seeds.
    joined: dict[tuple[int, int], ComputeTask] = {}
    for task in tasks:
        one = task.computation
        place = (id(one), 0 if one.together else task.seed)
        first = joined.get(place)
        more = () if first is None else (*first.others, (task.key, task.seed))
        joined[place] = replace(first or task, others=more)
    return joined.values()


def _model_shape(model: ModelConfig | None) -> Any:
    """Return the settings that models trained together must share: all except ``init``."""
    # Runs can train together if their models have the same shape; each replica has an
    # initialisation of its own.
    if model is None:
        return None
    return [
        public_name(type(model)),
        {k: v for k, v in identity(model).items() if k != "init"},
    ]


def remembered(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a version of a function that caches its result for each object.

    Objects are distinguished by identity (``id``), not by value, because comparing two
    graphs takes as long as encoding one.

    Args:
        function: A function of one argument.

    Returns:
        The new function, which keeps the objects and results in memory as long as it
        exists.

    Example:
        >>> length = remembered(len)
        >>> [length([0] * n) for n in range(4)]
        [0, 1, 2, 3]
    """
    # The object is stored with its result: if it were deleted, a later object could
    # have the same address and thus the same identity.
    known: dict[int, tuple[Any, Any]] = {}

    def get(thing: Any) -> Any:
        if id(thing) not in known:
            known[id(thing)] = thing, function(thing)
        return known[id(thing)][1]

    return get
