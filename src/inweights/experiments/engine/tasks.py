"""Describe units of work: runs, and the tasks that make their tables.

A :class:`Run` is one world, model, learner and seed; recipes and labels with equal
parts share it. Its numbers are the same to the last bit whether it is trained alone or
together with others. A task makes the tables of runs that may train together
(:class:`LearnTask`) or of a function (:class:`ComputeTask`); executors run tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inweights.config import digest
from inweights.experiments.grammar.trial import Computation, Measure, Trial
from inweights.runs.tables.names import MODEL_PART
from inweights.support.progress import plural
from inweights.training.learners.kinds import Learner

if TYPE_CHECKING:
    from inweights.worlds.world import World

#: The table that training leaves by itself: the loss over time.
LOSSES = "losses"
#: Letters of the key of a run, a computation or a task.
KEY_LENGTH = 20


@dataclass(frozen=True)
class Run:
    """One training run: a trial with a seed.

    Attributes:
        key: Hash of world, model, learner, seed and version; the run's name in the
            store.
        trial: World, model and learner of the run.
        seed: Root seed.
    """

    key: str
    trial: Trial
    seed: int

    @cached_property
    def world(self) -> World:
        """The world on which the model is trained, built with :attr:`seed` on first use.

        Errors of building it, such as a ``ConfigError`` or ``DataError``, are passed
        on.
        """
        return self.trial.world.build(self.seed)


@dataclass(frozen=True)
class TableRequest:
    """A table of a run or computation that a plan needs.

    Attributes:
        name: Name of the table.
        place: Location in the store: the key of the run or computation, and the name of
            the part.
        labels: Labels of the trial or computation.
        seed: Root seed of the run; for a computation that does not depend on seeds, the
            first seed of the plan.
    """

    name: str
    place: tuple[str, str]
    labels: Mapping[str, Any]
    seed: int


@dataclass(frozen=True)
class LearnTask:
    """Runs that can train as one program, with their measures.

    Attributes:
        runs: The runs, which differ only in seeds, initial scales, learning rates and
            decays.
        measures: Measures that apply to all or some of the runs.
        parts: Names of the parts to be stored, one tuple per run: keys of measures,
            :data:`LOSSES`, and ``MODEL_PART`` for the weights.
        sources: Hashes, at the time of planning, of the files and modules on which the
            runs depend, by path; if empty, changes are not checked.
    """

    runs: tuple[Run, ...]
    measures: tuple[Measure, ...]
    parts: tuple[tuple[str, ...], ...]
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def trials(self) -> list[Trial]:
        """The trials of the runs, each object once, in the order of its first run."""
        return list({id(run.trial): run.trial for run in self.runs}.values())

    @property
    def dependencies(self) -> Any:
        """Nested lists of everything that may name a file or user code: configs and probes."""
        parts = [[trial.world, trial.model, trial.learner] for trial in self.trials]
        return [*parts, *([measure.call] for measure in self.measures)]

    @cached_property
    def key(self) -> str:
        """Name of the task: a hash of the runs and of the parts that it makes."""
        return digest([[run.key for run in self.runs], self.parts], KEY_LENGTH)

    @property
    def wanted(self) -> list[tuple[str, str]]:
        """Every part that the task stores, as pairs of the run's key and the name of the part.

        These are tables, and weights if they are to be stored.
        """
        tables = []
        for run, parts in zip(self.runs, self.parts, strict=True):
            tables += [(run.key, part) for part in parts]
        return tables

    @property
    def requests(self) -> list[TableRequest]:
        """Every table that the task makes, without weights, with labels and seed of its run.

        A run that several trials share has the labels of the first of them.
        """
        names = {LOSSES: LOSSES, **{m.key: m.name for m in self.measures}}
        found = []
        for run, parts in zip(self.runs, self.parts, strict=True):
            # Weights are stored, but no table is made of them: they have no name here.
            for part in filter(names.__contains__, parts):
                place = (run.key, part)
                found.append(
                    TableRequest(names[part], place, run.trial.labels, run.seed)
                )
        return found

    def part(self, places: Iterable[int]) -> LearnTask:
        """Return a task with some of the runs, and with only the measures that they need.

        Args:
            places: Indices of the runs in :attr:`runs`, in the order that the new task
                has.
        """
        places = list(places)
        parts = tuple(self.parts[i] for i in places)
        kept = set().union(*parts)
        measures = tuple(m for m in self.measures if m.key in kept)
        return LearnTask(
            tuple(self.runs[i] for i in places), measures, parts, self.sources
        )

    @property
    def worlds(self) -> list[World]:
        """The world of each run, in the order of the runs; see :attr:`Run.world`."""
        return [run.world for run in self.runs]

    @property
    def only_measures(self) -> bool:
        """Whether trained models suffice, since nothing is recorded or measured during training."""
        recorded = any(part in (LOSSES, MODEL_PART) for _, part in self.wanted)
        return not recorded and not any(m.every for m in self.measures)

    @property
    def title(self) -> str:
        """Short description of the training, such as ``8 × gpt``, with the first run's labels."""
        words = in_words(self.runs[0].trial.labels)
        return f"{len(self.runs)} × {words}" if words else plural(len(self.runs), "run")

    @property
    def about(self) -> str:
        """Settings and seeds as text, by which a user recognises the task in a plan."""
        return _with_seeds(
            in_words(self.runs[0].trial.labels), [run.seed for run in self.runs]
        )

    @property
    def learner(self) -> Learner:
        """The learner of the first run; those of other runs differ only in rates and decays."""
        return self.runs[0].trial.learner

    @property
    def steps(self) -> int:
        """Total number of updates of all runs."""
        return len(self.runs) * self.learner.steps


@dataclass(frozen=True)
class ComputeTask:
    """A computation for one seed, or for several seeds that it takes together.

    Attributes:
        key: Name in the store of the computation with the first seed.
        computation: The computation.
        seed: The first seed; for a computation that does not depend on seeds, the first
            seed of the plan.
        sources: Hashes, at the time of planning, of the files and modules on which it
            depends, by path; if empty, changes are not checked.
        others: Key and seed of each further seed, for a computation that takes several
            seeds together.
    """

    key: str
    computation: Computation
    seed: int
    sources: Mapping[str, str] = field(default_factory=dict)
    others: tuple[tuple[str, int], ...] = ()

    @property
    def members(self) -> list[tuple[str, int]]:
        """Pairs of key and root seed, one pair per seed."""
        return [(self.key, self.seed), *self.others]

    @property
    def dependencies(self) -> Any:
        """What may name a file or user code: a list of a ``partial`` of the function."""
        return [self.computation.call]

    @property
    def wanted(self) -> list[tuple[str, str]]:
        """Every table that the task makes, as pairs of a key and the part ``table``."""
        return [(key, "table") for key, _ in self.members]

    @property
    def requests(self) -> list[TableRequest]:
        """Every table that the task makes, with the labels of the computation and the seed."""
        one = self.computation
        return [
            TableRequest(one.name, (key, "table"), one.labels, seed)
            for key, seed in self.members
        ]

    @property
    def title(self) -> str:
        """Short description of the computation: its table, and its labels if it has any."""
        name = self.computation.name
        labels = in_words(self.computation.labels)
        return f"{name} of {labels}" if labels else name

    @property
    def about(self) -> str:
        """Settings and seeds as text, by which a user recognises the task in a plan."""
        seeds = [seed for _, seed in self.members] if self.computation.seeded else []
        return _with_seeds(self.title, seeds)

    @property
    def steps(self) -> int:
        """Estimated cost for all seeds, as the number of training updates that take as long.

        The progress display uses it.
        """
        return self.computation.effort * len(self.members)


Task = LearnTask | ComputeTask


def halves(task: Task) -> list[Task]:
    """Return a task with several runs as two tasks, or a list with any other task alone.

    The first of the two has the smaller half if the number of runs is odd. The numbers
    of a run do not depend on the runs with which it is trained.

    Args:
        task: The task.
    """
    if not isinstance(task, LearnTask) or len(task.runs) < 2:
        return [task]
    middle = len(task.runs) // 2
    return [task.part(range(middle)), task.part(range(middle, len(task.runs)))]


def _with_seeds(words: str, seeds: Sequence[int]) -> str:
    """Return a description with the seed, or with the first and the last of several seeds."""
    numbers = sorted({*seeds})
    if not numbers:
        return words
    ends = (
        f"seeds {numbers[0]} to {numbers[-1]}" if numbers[1:] else f"seed {numbers[0]}"
    )
    return f"{words}, {ends}" if words else ends


def in_words(labels: Mapping[str, Any]) -> str:
    """Return labels as text, separated by commas; empty if there are none.

    Of a string only the value is written, of other values ``name=value``.

    Args:
        labels: Values of the labels, by name.

    Example:
        >>> in_words({"model": "gpt", "n": 10})
        'gpt, n=10'
    """
    parts = (v if isinstance(v, str) else f"{name}={v}" for name, v in labels.items())
    return ", ".join(parts)
