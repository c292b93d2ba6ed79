"""Describe units of work: runs, and the tasks that produce their tables.

A :class:`Run` is one world, model, learner and seed; recipes share a run if these four
are equal. Its results are exactly the same whether it trains alone or with others. A
task produces the tables of runs that may be trained together (:class:`LearnTask`) or of
a function (:class:`ComputeTask`). Executors run tasks.
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

#: Name of the table of losses, which every training produces, even without measures.
LOSSES = "losses"
#: Number of characters of the key of a run, a computation or a task.
KEY_LENGTH = 20


@dataclass(frozen=True)
class Run:
    """One training run: a trial with a seed.

    Attributes:
        key: Hash of the world, model, learner, seed and version. It is the name of the
            run in the store.
        trial: World, model and learner of the run.
        seed: Root seed.
    """

    key: str
    trial: Trial
    seed: int

    @cached_property
    def world(self) -> World:
        """The world on which the model is trained, built with :attr:`seed` on first use.

        Errors raised while building it, such as a ``ConfigError`` or ``DataError``, propagate.
        """
        return self.trial.world.build(self.seed)


@dataclass(frozen=True)
class TableRequest:
    """A table that a plan requires from a run or computation.

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
    """Runs that can be trained together, with their measures.

    Attributes:
        runs: The runs, which differ only in seeds, initialisation, learning rates and
            weight decays.
        measures: Measures that apply to all or some of the runs.
        parts: Names of the parts that are missing from the store, one tuple per run:
            keys of measures, ``losses``, and
            :data:`~inweights.runs.tables.names.MODEL_PART` for the weights.
        sources: Hashes of the files and modules on which the runs depend, keyed by path
            and computed at the time of planning. If empty, changes are not detected.
    """

    runs: tuple[Run, ...]
    measures: tuple[Measure, ...]
    parts: tuple[tuple[str, ...], ...]
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def trials(self) -> list[Trial]:
        """The trials of the runs, without repetitions, in the order of their first runs."""
        return list({id(run.trial): run.trial for run in self.runs}.values())

    @property
    def dependencies(self) -> Any:
        """Nested lists of the configs and probes, which may refer to files or user code.

        The list contains ``[world, model, learner]`` for each trial, followed by a list
        for each measure, whose only item is the probe bound to its options.
        """
        parts = [[trial.world, trial.model, trial.learner] for trial in self.trials]
        return [*parts, *([measure.call] for measure in self.measures)]

    @cached_property
    def key(self) -> str:
        """Name of the task: a hash (20 hexadecimal digits) of its runs' keys and missing parts."""
        return digest([[run.key for run in self.runs], self.parts], KEY_LENGTH)

    @property
    def wanted(self) -> list[tuple[str, str]]:
        """Every part that the task stores, as pairs of a run's key and the name of the part.

        Parts are the tables that are missing from the store, and the weights if they
        are to be stored.
        """
        tables = []
        for run, parts in zip(self.runs, self.parts, strict=True):
            tables += [(run.key, part) for part in parts]
        return tables

    @property
    def requests(self) -> list[TableRequest]:
        """Every table that the task produces, with the labels and the seed of its run.

        The weights, which the task may store as well, are not included.
        """
        names = {LOSSES: LOSSES, **{m.key: m.name for m in self.measures}}
        found = []
        for run, parts in zip(self.runs, self.parts, strict=True):
            # Weights are stored, but they are not a table.
            for part in filter(names.__contains__, parts):
                place = (run.key, part)
                found.append(
                    TableRequest(names[part], place, run.trial.labels, run.seed)
                )
        return found

    def part(self, places: Iterable[int]) -> LearnTask:
        """Return a task with some of the runs and only the measures that apply to them.

        Args:
            places: Indices in :attr:`runs`, from 0, in the order of the new task.
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
        """The world of each run, in the order of the runs, built on first use."""
        return [run.world for run in self.runs]

    @property
    def only_measures(self) -> bool:
        """Whether only measurements after training are missing, so that stored weights suffice."""
        recorded = any(part in (LOSSES, MODEL_PART) for _, part in self.wanted)
        return not recorded and not any(m.every for m in self.measures)

    @property
    def title(self) -> str:
        """Number of runs, and labels of the first run, such as ``8 × gpt``."""
        words = in_words(self.runs[0].trial.labels)
        return f"{len(self.runs)} × {words}" if words else plural(len(self.runs), "run")

    @property
    def about(self) -> str:
        """Labels of the first run, and range of all seeds, such as ``n=10, seeds 0 to 7``."""
        return _with_seeds(
            in_words(self.runs[0].trial.labels), [run.seed for run in self.runs]
        )

    @property
    def learner(self) -> Learner:
        """Learner of the first run; the learners differ at most in rate and weight decay."""
        return self.runs[0].trial.learner

    @property
    def steps(self) -> int:
        """Estimated cost of all runs: the number of runs times their learner's ``steps``."""
        return len(self.runs) * self.learner.steps


@dataclass(frozen=True)
class ComputeTask:
    """A computation for one seed, or for several seeds in one call.

    Attributes:
        key: Name under which the result for the first seed is stored.
        computation: The computation.
        seed: The first seed; for a computation that does not depend on seeds, the first
            seed of the plan.
        sources: Hashes of the files and modules on which the computation depends, keyed
            by path and computed at the time of planning. If empty, changes are not
            detected.
        others: If the computation takes several seeds together, a pair of the name in
            the store and the seed for each further seed; otherwise empty.
    """

    key: str
    computation: Computation
    seed: int
    sources: Mapping[str, str] = field(default_factory=dict)
    others: tuple[tuple[str, int], ...] = ()

    @property
    def members(self) -> list[tuple[str, int]]:
        """Pairs ``(key, seed)``: the computation's key in the store, and a root seed."""
        return [(self.key, self.seed), *self.others]

    @property
    def dependencies(self) -> Any:
        """List with a single item: the computation's function, bound to its options."""
        return [self.computation.call]

    @property
    def wanted(self) -> list[tuple[str, str]]:
        """Every table that the task produces, as pairs of a key in the store and ``"table"``."""
        return [(key, "table") for key, _ in self.members]

    @property
    def requests(self) -> list[TableRequest]:
        """Every table that the task produces, with the computation's labels and the seed."""
        one = self.computation
        return [
            TableRequest(one.name, (key, "table"), one.labels, seed)
            for key, seed in self.members
        ]

    @property
    def title(self) -> str:
        """Short description of the computation: the name of its table and its labels."""
        name = self.computation.name
        labels = in_words(self.computation.labels)
        return f"{name} of {labels}" if labels else name

    @property
    def about(self) -> str:
        """Name of the table, labels, and range of seeds, such as ``bound of n=3, seed 0``."""
        seeds = [seed for _, seed in self.members] if self.computation.seeded else []
        return _with_seeds(self.title, seeds)

    @property
    def steps(self) -> int:
        """Estimated cost for all seeds, expressed as a number of updates of a small model."""
        return self.computation.effort * len(self.members)


Task = LearnTask | ComputeTask


def halves(task: Task) -> list[Task]:
    """Return two tasks with half of a task's runs each, or only the task if it cannot be halved.

    If the number of runs is odd, the first task has one run fewer than the second. The
    results of a run do not depend on the runs with which it is trained.

    Args:
        task: The task.
    """
    if not isinstance(task, LearnTask) or len(task.runs) < 2:
        return [task]
    middle = len(task.runs) // 2
    return [task.part(range(middle)), task.part(range(middle, len(task.runs)))]


def _with_seeds(words: str, seeds: Sequence[int]) -> str:
    """Return a description followed by the seed, or by the first and last of several seeds."""
    numbers = sorted({*seeds})
    if not numbers:
        return words
    ends = (
        f"seeds {numbers[0]} to {numbers[-1]}" if numbers[1:] else f"seed {numbers[0]}"
    )
    return f"{words}, {ends}" if words else ends


def in_words(labels: Mapping[str, Any]) -> str:
    """Return labels as text, separated by commas; empty if there are none.

    A string is shown as its value, and any other value as ``name=value``.

    Args:
        labels: Values of the labels, keyed by name.

    Example:
        >>> in_words({"model": "gpt", "n": 10})
        'gpt, n=10'
    """
    parts = (v if isinstance(v, str) else f"{name}={v}" for name, v in labels.items())
    return ", ".join(parts)
