"""Describe training and measurements as data.

A :class:`Trial` is a world, a model and a learner; a :class:`Measure` is a probe with
its options; a :class:`Computation` is a function that makes a table without a model. A
:class:`Plan` joins them, and has no seeds: the engine runs every trial once for each
seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from inweights.config import check_size, digest
from inweights.errors import ConfigError, check_kind
from inweights.experiments.claims.score import Value
from inweights.experiments.grammar.variation.labels import is_label
from inweights.support.border import guarded
from inweights.support.extras import check_extra
from inweights.support.keys.plain import plain_call
from inweights.support.progress import plural
from inweights.support.showing import Card, Carded

if TYPE_CHECKING:
    import polars as pl

    from inweights.models.configs.model_config import ModelConfig
    from inweights.training.learners.kinds import Learner
    from inweights.worlds.registry import WorldConfig

#: ``probe(model, worlds, **options)`` returns a table with a column ``replica``.
Probe = Callable[..., Any]
#: What is set at a path, and what it is called in the tables; a point is several of
#: these.
Change = tuple[str, Any, Value]
Point = Sequence[Change]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One condition: a world, a model and how it learns, with labels for the tables.

    Attributes:
        labels: Columns that are added to the rows of every table, by name.
        world: Config of the facts and queries.
        learner: How the model learns: a curriculum, a descent or an optimum.
        model: Config of the architecture; ``None`` for an optimum, which has none.
    """

    labels: Mapping[str, Value]
    world: WorldConfig
    learner: Learner
    model: ModelConfig | None = None


@dataclass(frozen=True)
class Measure:
    """A probe whose result becomes a table.

    Attributes:
        probe: ``probe(model, worlds, **options)`` returns a table with a column
            ``replica``.
        name: Name of the table of the results; measures of one name share it. By
            default the probe's own.
        options: Keyword arguments of the probe besides model and worlds.
        every: Steps between measurements while the model learns, which adds a column
            ``step``; by default 0, which measures once, at the end.
        where: Only trials whose labels have these values are measured; by default all
            are.
        first_seed: Whether only the first seed of every trial is measured.
        needs: The extra that the probe imports; if it is not installed, an error names
            it before anything is trained. By default none.

    Raises:
        ConfigError: The probe is not callable, or an option is of the wrong type.

    Example:
        >>> import inweights as iw
        >>> iw.Measure(iw.probes.margins, where={"identity": True}).name
        'margins'
    """

    probe: Probe
    _: KW_ONLY
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    every: int = 0
    where: Mapping[str, Value] = field(default_factory=dict)
    first_seed: bool = False
    needs: str = ""

    def __post_init__(self) -> None:
        if not callable(self.probe):
            raise ConfigError(
                f"a measure takes a probe, such as iw.probes.accuracy, got {self.probe!r}"
            )
        if not self.name:
            object.__setattr__(self, "name", _name(self.probe))
        for option in ("options", "where"):
            check_kind(
                f"measure '{self.name}': {option}", getattr(self, option), Mapping
            )
        check_size(f"measure '{self.name}': every", self.every, least=0, most=10**9)

    @cached_property
    def key(self) -> str:
        """Key of its tables in the store: a hash of probe, options and cadence.

        Raises:
            ConfigError: An option of a measure cannot be stored exactly.
        """
        return digest([*plain_call(self.probe, self.options), self.every], 20)

    @property
    def call(self) -> partial[Any]:
        """The probe with a copy of its options, to be called with model and worlds."""
        return partial(self.probe, **deepcopy(dict(self.options)))

    def fits(self, trial: Trial) -> bool:
        """Return whether a trial is measured, by its labels."""
        return all(
            key in trial.labels and is_label(trial.labels[key], value)
            for key, value in self.where.items()
        )


@dataclass(frozen=True, kw_only=True)
class Computation:
    """A function that makes a table and trains no model, such as a step of a proof or a count.

    Attributes:
        name: Name of the table.
        labels: Columns that are added to its rows, by name.
        compute: ``compute(**options)`` returns a table.
        options: Its keyword arguments: plain values, configs and functions.
        seeded: Whether it is computed for each seed, which ``compute`` then takes as
            ``seed``. If not, it is computed once, and its rows have the first seed.
        together: Whether ``compute`` takes all missing seeds at once, as ``seeds``, and
            returns a table with a column ``seed``; each of them is stored separately.
        effort: About how many updates of a small model take as long; for the progress
            display.
        stages: Share of the effort by stage, in their order. ``compute`` then takes
            ``progress``, and calls it with the amount done, the whole amount and the
            name of the stage.
        uniform: Whether it is an error that runs have different columns.
    """

    name: str
    labels: Mapping[str, Value]
    compute: Callable[..., pl.DataFrame]
    options: Mapping[str, Any] = field(default_factory=dict)
    seeded: bool = False
    together: bool = False
    effort: int = 1000
    stages: Mapping[str, float] = field(default_factory=dict)
    uniform: bool = False

    @property
    def call(self) -> partial[pl.DataFrame]:
        """The function with a copy of its options."""
        return partial(self.compute, **deepcopy(dict(self.options)))


@dataclass(frozen=True, init=False, repr=False)
class Plan(Carded):
    """Trials with their measures, and computations without a model.

    Args:
        trials: Conditions to train; by default none.
        measures: What is measured of them. A probe without options may stand for its
            measure: it is then measured at the end, under its own name.
        computations: Computations without a model; by default none.
    """

    trials: Sequence[Trial]
    measures: Sequence[Measure]
    computations: Sequence[Computation]

    @guarded
    def __init__(
        self,
        *,
        trials: Sequence[Trial] = (),
        measures: Sequence[Measure | Probe] = (),
        computations: Sequence[Computation] = (),
    ) -> None:
        named = [
            m if isinstance(m, Measure) else Measure(name=_name(m), probe=m)
            for m in measures
        ]
        vars(self).update(trials=trials, measures=named, computations=computations)

    def _card(self) -> Card:
        tasks: list[Trial | Computation] = [*self.trials, *self.computations]
        rows = []
        for task in tasks:
            labels = [f"{name}={value}" for name, value in task.labels.items()]
            rows.append((type(task).__name__.lower(), ", ".join(labels)))
        about = {"measures": ", ".join(measure.name for measure in self.measures)}
        return Card(
            f"Plan of {plural(len(tasks), 'task')} a seed",
            about,
            ("task", "labels"),
            rows,
        )

    @property
    def steps(self) -> int:
        """Number of updates of all trials together, for one seed."""
        return sum(trial.learner.steps for trial in self.trials)

    def check(self) -> None:
        """Check before anything runs that the plan makes something, and each of its tables.

        Raises:
            ConfigError: There is neither trial nor computation, a measure fits no
                trial, or the extra that a measure needs is not installed.
        """
        if not self.trials and not self.computations:
            raise ConfigError(
                "these settings leave nothing to do: no trial and no computation"
            )
        for measure in self.measures:
            if measure.needs:
                check_extra(measure.needs, f"the measure '{measure.name}'")
        lacking = {measure.name for measure in self.measures}
        for measure in self.measures:
            if any(map(measure.fits, self.trials)):
                lacking.discard(measure.name)
        if lacking:
            names = ", ".join(sorted(lacking))
            raise ConfigError(
                f"these settings leave no trial to measure for: {names}; a list of settings is "
                "empty, or a measure names a trial that does not exist"
            )


def _name(probe: Probe) -> str:
    """Return the name of a probe: its function's, also where options are bound to it."""
    while isinstance(probe, partial):
        probe = probe.func
    return getattr(probe, "__name__", type(probe).__name__)
