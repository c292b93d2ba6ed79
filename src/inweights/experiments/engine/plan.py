"""Turn a plan into tasks: which runs it has, what is missing, and what trains together.

A :class:`Run` is one world, model, learner and seed: two recipes, or two labels of one, share
it. Its numbers are the same to the last bit alone and in company. A plan multiplied by its
seeds is :class:`Work`; :func:`tasks_of` groups what is missing of it into tasks, which
executors run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inweights.config import digest, identity
from inweights.experiments.grammar.trial import Computation, Measure, Plan, Trial
from inweights.models.model_config import ModelConfig
from inweights.runs.tables.store import MODEL_PART
from inweights.support.progress import plural
from inweights.support.sources import plain, plain_call, public_name, sources_of
from inweights.training.learner import Curriculum, Learner

if TYPE_CHECKING:
    from inweights.worlds.world import World

#: Raised by hand when the same run would give other numbers: stored results are then made again.
VERSION = 1
#: Replicas that train as one program at most: measured at width 64 and 8 layers, 8 and 24 of them
#: take the same time a run-step on a CPU.
MAX_REPLICAS = 24
#: The same on an accelerator, where a step of small models is bound by launching kernels, whose
#: number does not grow with the replicas. Whoever does a task measures how many go together.
MAX_REPLICAS_ACCELERATED = 512
#: The table that training leaves by itself: the loss over time.
LOSSES = "losses"
_KEY = 20


@dataclass(frozen=True)
class Run:
    """One run: what is trained on which world, and from which seed.

    Attributes:
        key: Hash of world, model, learner, seed and version: its name in the store.
        trial: World, model and learner.
        seed: Root seed.
    """

    key: str
    trial: Trial
    seed: int

    @cached_property
    def world(self) -> World:
        """The world that is learnt."""
        return self.trial.world.build(self.seed)


@dataclass(frozen=True)
class TableRequest:
    """A table of a run or computation that a plan needs."""

    name: str
    place: tuple[str, str]
    labels: Mapping[str, Any]
    seed: int


@dataclass(frozen=True)
class LearnTask:
    """Runs that may train as one program, and what is measured of them.

    Attributes:
        runs: They differ in seeds, initial scales, rates and decays only.
        measures: What is measured, of all or of some.
        parts: What is stored of each run: keys of measures, losses, weights.
        sources: Files and modules that they depend on, with their hashes when it was planned.
    """

    runs: tuple[Run, ...]
    measures: tuple[Measure, ...]
    parts: tuple[tuple[str, ...], ...]
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def dependencies(self) -> Any:
        """Everything that may name a file or have a source."""
        trials = {id(run.trial): run.trial for run in self.runs}.values()
        parts = [[trial.world, trial.model, trial.learner] for trial in trials]
        return [*parts, *([m.call] for m in self.measures)]

    @cached_property
    def key(self) -> str:
        """Its name: a hash of which parts of which runs it makes."""
        return digest([[run.key for run in self.runs], self.parts], _KEY)

    @property
    def wanted(self) -> list[tuple[str, str]]:
        """Every table that it makes, as (key of the run, part)."""
        both = zip(self.runs, self.parts, strict=True)
        return [(run.key, part) for run, parts in both for part in parts]

    @property
    def requests(self) -> list[TableRequest]:
        """Its tables, with the labels of its runs."""
        names = {LOSSES: LOSSES, **{m.key: m.name for m in self.measures}}
        return [
            TableRequest(names[part], (run.key, part), run.trial.labels, run.seed)
            for run, parts in zip(self.runs, self.parts, strict=True)
            for part in parts
            if part in names
        ]

    def part(self, places: Iterable[int]) -> LearnTask:
        """Return some of the runs as a task of their own, with what is measured of them.

        Args:
            places: Places of the runs in :attr:`runs`.
        """
        places = list(places)
        parts = tuple(self.parts[i] for i in places)
        kept = set().union(*parts)
        measures = tuple(m for m in self.measures if m.key in kept)
        return LearnTask(tuple(self.runs[i] for i in places), measures, parts, self.sources)

    @property
    def worlds(self) -> list[World]:
        """The world of each run."""
        return [run.world for run in self.runs]

    @property
    def only_measures(self) -> bool:
        """Whether trained models are enough: nothing is recorded, or measured on the way."""
        recorded = any(part in (LOSSES, MODEL_PART) for _, part in self.wanted)
        return not recorded and not any(m.every for m in self.measures)

    @property
    def title(self) -> str:
        """What is learnt, in a few words."""
        words = in_words(self.runs[0].trial.labels)
        return f"{len(self.runs)} × {words}" if words else plural(len(self.runs), "run")

    @property
    def about(self) -> str:
        """Settings and seeds, in words, by which a user finds the task in a plan."""
        return _with_seeds(in_words(self.runs[0].trial.labels), [run.seed for run in self.runs])

    @property
    def learner(self) -> Learner:
        """How they learn; learners of other runs differ in rate and decay only."""
        return self.runs[0].trial.learner

    @property
    def steps(self) -> int:
        """Number of updates of all runs together."""
        return len(self.runs) * self.learner.steps


@dataclass(frozen=True)
class ComputeTask:
    """A computation for one seed, or for several that it takes together.

    Attributes:
        key: Its name in the store, for the first seed.
        computation: What is computed.
        seed: The first seed.
        sources: Files and modules that it depends on, with their hashes when it was planned.
        others: Key and seed of each further seed.
    """

    key: str
    computation: Computation
    seed: int
    sources: Mapping[str, str] = field(default_factory=dict)
    others: tuple[tuple[str, int], ...] = ()

    @property
    def members(self) -> list[tuple[str, int]]:
        """Key and seed of each."""
        return [(self.key, self.seed), *self.others]

    @property
    def dependencies(self) -> Any:
        """Everything that may name a file or have a source."""
        return [self.computation.call]

    @property
    def wanted(self) -> list[tuple[str, str]]:
        """Every table that it makes, as (key, ``table``)."""
        return [(key, "table") for key, _ in self.members]

    @property
    def requests(self) -> list[TableRequest]:
        """Its tables, with the labels of the computation."""
        one = self.computation
        return [
            TableRequest(one.name, (key, "table"), one.labels, seed) for key, seed in self.members
        ]

    @property
    def title(self) -> str:
        """What is computed, in a few words."""
        name, labels = self.computation.name, in_words(self.computation.labels)
        return f"{name} of {labels}" if labels else name

    @property
    def about(self) -> str:
        """Settings and seeds, in words, by which a user finds the task in a plan."""
        seeds = [seed for _, seed in self.members] if self.computation.seeded else []
        return _with_seeds(self.title, seeds)

    @property
    def steps(self) -> int:
        """Its share of the progress, in updates that take about as long."""
        return self.computation.effort * len(self.members)


Task = LearnTask | ComputeTask


def _with_seeds(words: str, seeds: Sequence[int]) -> str:
    """Return what a task is about, with its seeds: the first and the last of many."""
    numbers = sorted({*seeds})
    if not numbers:
        return words
    ends = f"seeds {numbers[0]} to {numbers[-1]}" if numbers[1:] else f"seed {numbers[0]}"
    return f"{words}, {ends}" if words else ends


def in_words(labels: Mapping[str, Any]) -> str:
    """Return labels in words: a text stands alone, other values as ``name=value``."""
    parts = (v if isinstance(v, str) else f"{name}={v}" for name, v in labels.items())
    return ", ".join(parts)


#: What is stored of a run, by key; no measure makes its losses and its weights.
Parts = dict[str, Measure | None]


@dataclass(frozen=True)
class Work:
    """Everything that a plan asks for, and what makes it."""

    requests: tuple[TableRequest, ...]
    runs: Mapping[str, Run]
    parts: Mapping[str, Parts]
    computations: Mapping[str, ComputeTask]


def expand_plan(
    plan: Plan, seeds: Sequence[int], version: int = 1, *, keep_models: bool = False
) -> Work:
    """Multiply a plan by its seeds; runs that differ in their labels only are one run."""
    asked: list[TableRequest] = []
    runs: dict[str, Run] = {}
    wanted: dict[str, Parts] = {}
    content = _once(plain)
    for trial in plan.trials:
        about = [content(part) for part in (trial.world, trial.model, trial.learner)]
        looks = [m for m in plan.measures if m.fits(trial)]
        for place, seed in enumerate(seeds):
            key = digest([VERSION, version, *about, seed], _KEY)
            runs.setdefault(key, Run(key, trial, seed))
            parts = wanted.setdefault(key, {})
            if keep_models:
                parts[MODEL_PART] = None
            if isinstance(trial.learner, Curriculum):
                parts[LOSSES] = None
                asked.append(TableRequest(LOSSES, (key, LOSSES), trial.labels, seed))
            for measure in looks:
                if not (place and measure.first_seed):
                    parts[measure.key] = measure
                    asked.append(TableRequest(measure.name, (key, measure.key), trial.labels, seed))
    computations: dict[str, ComputeTask] = {}
    for one in plan.computations:
        about = plain_call(one.compute, one.options)
        for seed in seeds if one.seeded else seeds[:1]:
            # What no seed decides is one result, whichever seed its rows bear.
            key = digest([VERSION, version, *about, seed if one.seeded else None], _KEY)
            computations.setdefault(key, ComputeTask(key, one, seed))
            asked.append(TableRequest(one.name, (key, "table"), one.labels, seed))
    return Work(tuple(asked), runs, wanted, computations)


def tasks_of(work: Work, missing: Callable[[str, str], bool], device: str = "cpu") -> list[Task]:
    """Return what is left to do as tasks, which may be done in any order.

    Runs that share a program train together. Runs whose weights are stored, and that need no
    training, are tasks of their own.

    Args:
        work: Runs and computations of a plan.
        missing: Returns whether a part of a run or computation, by its key and the part's
            name, is not in the store.
        device: Where models live; an accelerator trains more runs together.
    """
    most = MAX_REPLICAS if device == "cpu" else MAX_REPLICAS_ACCELERATED
    planned, world = _once(sources_of), _once(plain)
    # Learners of runs that train together have all in common but rates and decays.
    how = _once(lambda one: plain(one.shape if isinstance(one, Curriculum) else one))
    shape = _once(lambda trial: [world(trial.world), _model_shape(trial.model), how(trial.learner)])
    computed = [task for key, task in work.computations.items() if missing(key, "table")]
    tasks: list[Task] = [
        replace(task, sources=sources_of(task.dependencies)) for task in _together(computed)
    ]
    groups: dict[str, list[tuple[Run, Parts]]] = {}
    for key, run in work.runs.items():
        left = {part: m for part, m in work.parts[key].items() if missing(key, part)}
        if not left:
            continue
        # The first seed trains with the others, though more may be measured of it.
        everywhere = sorted(part for part, m in left.items() if not (m and m.first_seed))
        at_the_end = all(m and not m.every for m in left.values())
        measured = at_the_end and not missing(key, MODEL_PART)
        group = digest([shape(run.trial), everywhere, measured], _KEY)
        groups.setdefault(group, []).append((run, left))
    for members in groups.values():
        for start in range(0, len(members), most):
            block = members[start : start + most]
            measures = {part: m for _, left in block for part, m in left.items() if m}
            parts = tuple(tuple(left) for _, left in block)
            runs = tuple(run for run, _ in block)
            task = LearnTask(runs, tuple(measures.values()), parts)
            found = [planned(one) for several in task.dependencies for one in several]
            tasks.append(replace(task, sources={k: v for one in found for k, v in one.items()}))
    return tasks


def _together(tasks: Iterable[ComputeTask]) -> Iterable[ComputeTask]:
    """Join the seeds that are missing of computations that take all seeds at once."""
    joined: dict[tuple[int, int], ComputeTask] = {}
    for task in tasks:
        one = task.computation
        place = (id(one), 0 if one.together else task.seed)
        first = joined.get(place)
        more = () if first is None else (*first.others, (task.key, task.seed))
        joined[place] = replace(first or task, others=more)
    return joined.values()


def _model_shape(model: ModelConfig | None) -> Any:
    """Return what models that train together have in common: all but the initial scale."""
    if model is None:
        return None
    return [public_name(type(model)), {k: v for k, v in identity(model).items() if k != "init"}]


def _once(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that remembers its results by the identity of its argument."""
    known: dict[int, Any] = {}

    def get(thing: Any) -> Any:
        if id(thing) not in known:
            known[id(thing)] = function(thing)
        return known[id(thing)]

    return get
