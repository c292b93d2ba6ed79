"""Describe trials, measures, computations and plans as data.

A :class:`Trial` is a world, a model and a learner; a :class:`Measure` is a probe with
its options; a :class:`Computation` is a function that returns a table without a model. A
:class:`Plan` combines them. It has no seeds: the engine runs every trial once per seed.
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

#: Function ``probe(model, worlds, **options)``; its table has a column ``replica``.
Probe = Callable[..., Any]
#: Change of a trial: path of a setting, new value, and its label in tables. A point is
#: a list of changes.
Change = tuple[str, Any, Value]
Point = Sequence[Change]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One condition of an experiment: a world, a model, a learner, and labels for the tables.

    Attributes:
        labels: Values to add as columns to every table, keyed by the name of the
            column.
        world: Config of the facts and queries.
        learner: Config of the training: a curriculum (training in phases), a descent
            (gradient descent for Node2Vec) or an optimum (the solution of smallest
            nuclear norm, without training).
        model: Config of the architecture; ``None`` for an optimum, which needs no
            model.
    """

    labels: Mapping[str, Value]
    world: WorldConfig
    learner: Learner
    model: ModelConfig | None = None


@dataclass(frozen=True)
class Measure:
    """A probe with its options, the steps at which it is applied, and the trials that it measures.

    Attributes:
        probe: Function ``probe(model, worlds, **options)`` that returns a table with a
            column ``replica``.
        name: Name of the table; measures with the same name share one table. By default
            the name of the probe.
        options: Keyword arguments of the probe besides model and worlds; by default
            none.
        every: Number of steps between measurements, which begin at step 0 and include
            the end of training; the table then has a column ``step``. If it is 0 (the
            default), the probe is applied once, at the end of training.
        where: Values of labels, keyed by name. Only trials that have all of these
            labels with these values are measured; by default all trials are measured.
        first_seed: Whether to measure only the first seed of every trial; by default
            all seeds are measured.
        needs: Name of an optional extra of the package, such as ``tsne``, that the
            probe requires. If the extra is not installed, an error is raised before
            anything is trained. If it is empty (the default), the probe requires no
            extra.

    Raises:
        ConfigError: The probe is not callable, ``options`` or ``where`` is not a
            mapping, or ``every`` is not an integer from 0 to 10^9. Whether the extra in
            ``needs`` is installed is checked by :meth:`Plan.check`.

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
                f"'probe' must be a function, such as iw.probes.accuracy, got {self.probe!r}"
            )
        if not self.name:
            object.__setattr__(self, "name", _name(self.probe))
        for option in ("options", "where"):
            check_kind(
                f"measure '{self.name}': {option}", getattr(self, option), Mapping
            )
        check_size(f"measure '{self.name}': every", self.every, least=0, most=10**9)
        if self.every % 1:
            raise ConfigError(
                f"measure '{self.name}': 'every' must be a whole number, got {self.every}"
            )

    @cached_property
    def key(self) -> str:
        """Key of the measure's tables in the store: a hash of the probe, its options and ``every``.

        :attr:`every` is the number of steps between measurements, or 0 for a single
        measurement at the end.

        Raises:
            ConfigError: An option cannot be stored exactly, or a function among them or
                the probe itself uses something that cannot be hashed.
            DataError: A file on which the probe or an option depends cannot be read.
        """
        return digest([*plain_call(self.probe, self.options), self.every], 20)

    @property
    def call(self) -> partial[Any]:
        """Function ``call(model, worlds)`` that calls the probe with a copy of its options."""
        return partial(self.probe, **deepcopy(dict(self.options)))

    def fits(self, trial: Trial) -> bool:
        """Return whether a trial has all labels in :attr:`where`, with the values given there.

        Only such trials are measured.

        Args:
            trial: The trial.
        """
        return all(
            key in trial.labels and is_label(trial.labels[key], value)
            for key, value in self.where.items()
        )


@dataclass(frozen=True, kw_only=True)
class Computation:
    """A function that returns a table without training a model, such as a check of a proof.

    Attributes:
        name: Name of the table.
        labels: Values to add as columns to the table, keyed by the name of the column.
        compute: Function ``compute(**options)`` that returns a table.
        options: Keyword arguments of ``compute``: plain values, configs and functions.
            By default there are none.
        seeded: Whether the table is computed once per seed. The seed is then passed to
            ``compute`` as the argument ``seed``. If false (the default), the table is
            computed once, and its rows have the first seed in the column ``seed``.
        together: Whether a seeded ``compute`` is called once for all seeds that are not
            stored yet; by default false. It then takes the argument ``seeds``, a list,
            and returns a table with a column ``seed``. The rows of each seed are still
            stored separately.
        effort: Estimated duration, expressed as the number of updates of a small model
            that would take the same time; by default 1000. The progress display uses it.
        stages: Mapping from the name of each stage, in order, to its share of the
            effort, from 0 to 1. If there are stages, ``compute`` takes an argument
            ``progress``, a function that it calls with the amount of work done,
            the total amount of work, and the name of the stage.
        uniform: Whether the tables of all conditions and seeds must have the same
            columns with the same types. By default this is not required, and missing
            values become null.
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
        """The function ``compute``, bound to a deep copy of its options (a ``functools.partial``).

        It returns the table when it is called. It takes the further argument ``seed``
        if the computation is :attr:`seeded`, or ``seeds`` if it is also
        :attr:`together`; and ``progress`` if there are :attr:`stages`.
        """
        return partial(self.compute, **deepcopy(dict(self.options)))


@dataclass(frozen=True, init=False, repr=False)
class Plan(Carded):
    """An experiment: trials with their measures, and computations without a model.

    Args:
        trials: Conditions to train; by default none.
        measures: Measures to apply to the trials; by default none. A probe without
            options may be given in place of a measure. It is then applied once, at the
            end, and its table has the name of the probe.
        computations: Computations without a model; by default none.

    Raises:
        ConfigError: A measure is neither a :class:`Measure` nor callable.
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
        """Store the trials, the measures and the computations.

        A probe among the measures becomes a :class:`Measure` of the same name without
        options. :meth:`check` checks the plan.

        Raises:
            ConfigError: A measure is neither a :class:`Measure` nor callable.
        """
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
            f"Plan of {plural(len(tasks), 'task')} per seed",
            about,
            ("task", "labels"),
            rows,
        )

    @property
    def steps(self) -> int:
        """Estimated cost of all trials for one seed: the sum of ``steps`` of their learners.

        For a curriculum, this is the number of updates if no phase stops early; for
        other learners, it is an equivalent number of updates of a small model.
        """
        return sum(trial.learner.steps for trial in self.trials)

    def check(self) -> None:
        """Check that there is something to run and to measure.

        Raises:
            ConfigError: There is neither a trial nor a computation; a table would be
                empty, because no measure with the table's name applies to any trial; or
                the extra that a measure needs is not installed or does not exist.
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
                f"with these settings, the following measures apply to no trial: {names}. "
                "Either a list of settings is empty, or a measure refers to a trial that does "
                "not exist"
            )


def _name(probe: Probe) -> str:
    """Return the name of a probe's function, even if the probe is a ``functools.partial``."""
    while isinstance(probe, partial):
        probe = probe.func
    return getattr(probe, "__name__", type(probe).__name__)
