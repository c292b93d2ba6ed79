"""Trials and measures: worlds, models and learners, and what is measured; and computations.

A computation is a function that makes a table without a model, also one of one's own, varied,
seeded and stored like any other. No seed stands here: the engine multiplies a plan by its seeds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from inweights.config import check_size, digest
from inweights.errors import ConfigError, DataError, check_kind, check_names
from inweights.experiments.grammar.labels import is_label
from inweights.experiments.grammar.score import Value
from inweights.support.extras import check_extra
from inweights.support.progress import plural
from inweights.support.showing import Card, Carded
from inweights.support.sources import plain_call

if TYPE_CHECKING:
    import polars as pl

    from inweights.models.model_config import ModelConfig
    from inweights.training.learner import Learner
    from inweights.worlds.registry import WorldConfig

#: ``probe(model, worlds, **options)`` returns a table with a column ``replica``.
Probe = Callable[..., Any]
#: What is set at a path, and what it is called in the tables; a point is several of these.
Change = tuple[str, Any, Value]
Point = Sequence[Change]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One condition: a world, a model and how it learns, with labels for the tables.

    Attributes:
        labels: Columns that are added to the rows of every table.
        learner: A curriculum, a descent or an optimum.
        model: Config of the architecture; an optimum has none.
    """

    labels: Mapping[str, Value]
    world: WorldConfig
    learner: Learner
    model: ModelConfig | None = None


@dataclass(frozen=True)
class Measure:
    """A probe whose result becomes a table.

    Attributes:
        probe: ``probe(model, worlds, **options)`` returns a table with a column ``replica``.
        name: Name of the table that the results make; measures of one name share it. By default
            the probe's own.
        options: What the probe takes besides model and worlds.
        every: Steps between measurements while the model learns (a column ``step`` is added); 0
            measures once, at the end.
        where: Only trials whose labels have these values are measured.
        first_seed: Whether only the first seed of every trial is measured.
        needs: The extra that the probe imports; missing, it is named before anything is trained.

    Raises:
        ConfigError: The probe is no function, or an option is of the wrong type.

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
            check_kind(f"measure '{self.name}': {option}", getattr(self, option), Mapping)
        check_size(f"measure '{self.name}': every", self.every, least=0, most=10**9)

    @cached_property
    def key(self) -> str:
        """What its tables are stored under: probe, options and cadence, not its name."""
        return digest([*plain_call(self.probe, self.options), self.every], 20)

    @property
    def call(self) -> partial[Any]:
        """The probe with its options."""
        return partial(self.probe, **deepcopy(dict(self.options)))

    def fits(self, trial: Trial) -> bool:
        """Whether a trial is measured."""
        return all(
            key in trial.labels and is_label(trial.labels[key], value)
            for key, value in self.where.items()
        )


@dataclass(frozen=True, kw_only=True)
class Computation:
    """A job that trains no model, such as a step of a proof or a count.

    Attributes:
        compute: ``compute(**options)`` returns a table; options are plain values, configs and
            functions.
        seeded: Whether it is computed for each seed, which ``compute`` then takes as ``seed``; else
            once, and its rows bear the first one.
        together: Whether ``compute`` takes all missing seeds at once, as ``seeds``, and returns a
            table with a column ``seed``; each of them is stored by itself.
        effort: About how many updates of a small model take as long; for the progress display.
        stages: Shares of the effort by stage, in their order. ``compute`` then takes ``progress``,
            and calls it with what is done, all there is, and the stage.
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
        """The function with its options."""
        return partial(self.compute, **deepcopy(dict(self.options)))


@dataclass(frozen=True, init=False, repr=False)
class Plan(Carded):
    """Trials with their measures, and what is computed without a model.

    A probe alone is a measure of its name, at the end.
    """

    trials: Sequence[Trial]
    measures: Sequence[Measure]
    computations: Sequence[Computation]

    def __init__(
        self,
        *,
        trials: Sequence[Trial] = (),
        measures: Sequence[Measure | Probe] = (),
        computations: Sequence[Computation] = (),
    ) -> None:
        looks = [m if isinstance(m, Measure) else Measure(name=_name(m), probe=m) for m in measures]
        vars(self).update(trials=trials, measures=looks, computations=computations)

    def _card(self) -> Card:
        made: list[Trial | Computation] = [*self.trials, *self.computations]
        labels = [", ".join(f"{name}={v}" for name, v in one.labels.items()) for one in made]
        rows = [(type(o).__name__.lower(), text) for o, text in zip(made, labels, strict=True)]
        about = {"measures": ", ".join(measure.name for measure in self.measures)}
        return Card(f"Plan of {plural(len(made), 'task')} a seed", about, ("task", "labels"), rows)

    @property
    def steps(self) -> int:
        """Updates of all trials, for one seed."""
        return sum(trial.learner.steps for trial in self.trials)

    def check(self) -> None:
        """Refuse a plan that makes nothing, or not all of its tables, before anything runs."""
        if not self.trials and not self.computations:
            raise ConfigError("these settings leave nothing to do: no trial and no computation")
        for measure in self.measures:
            if measure.needs:
                check_extra(measure.needs, f"the measure '{measure.name}'")
        made = {m.name for m in self.measures if any(m.fits(trial) for trial in self.trials)}
        if lacking := sorted({m.name for m in self.measures} - made):
            raise ConfigError(
                f"these settings leave no trial to measure for: {', '.join(lacking)}; a list of "
                "settings is empty, or a measure names a trial that does not exist"
            )


def _name(probe: Probe) -> str:
    while isinstance(probe, partial):
        probe = probe.func
    return getattr(probe, "__name__", type(probe).__name__)


def computations_of(
    function: Callable[..., Any], points: Iterable[Point], *, replicated: bool = False
) -> list[Computation]:
    """Return a computation for each condition of a function ``function(seed, **settings)``."""
    found = []
    for point in points:
        settings = {path: value for path, value, _ in point}
        _check(function, settings, "seeds" if replicated else "seed")
        found.append(
            Computation(
                name=function.__name__.strip("<>"),
                labels={path: label for path, _, label in point},
                compute=rows_together if replicated else rows_of,
                options={"function": function, "settings": settings},
                seeded=True,
                together=replicated,
                uniform=True,
            )
        )
    return found


def rows_of(function: Callable[..., Any], settings: Mapping[str, Any], seed: int) -> pl.DataFrame:
    """Return what a function gives for one seed, as a table."""
    return _table(function, function(seed=seed, **settings), {*settings, "seed"})


def rows_together(
    function: Callable[..., Any], settings: Mapping[str, Any], seeds: Sequence[int]
) -> pl.DataFrame:
    """Return what a function gives for several seeds at once, as a table with a column ``seed``."""
    table = _table(function, function(seeds=list(seeds), **settings), {*settings})
    told = set(table["seed"].to_list()) if "seed" in table.columns else set()
    if told != set(seeds):
        raise DataError(
            f"{function.__name__} must return rows for every seed, in a column 'seed': "
            f"{sorted(seeds)}, got {sorted(told)}"
        )
    return table


def _table(function: Callable[..., Any], result: Any, ours: set[str]) -> pl.DataFrame:
    """Rows as a table: of a mapping, whose lists are columns; of mappings; of a frame."""
    import polars as pl

    name, table, why = function.__name__, result, ""
    try:
        if isinstance(result, Mapping):
            columns = any(isinstance(one, list | tuple) for one in result.values())
            table = pl.DataFrame(dict(result) if columns else [dict(result)])
        elif not isinstance(result, pl.DataFrame):
            rows = list(result)
            other = [repr(row) for row in rows if not isinstance(row, Mapping)]
            why = f"a row of it is {other[0]}" if other else ""
            table = pl.DataFrame(rows, infer_schema_length=None)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        why = why or str(error)
    what = "nothing" if result is None else f"a {type(result).__name__}, which is no table ({why})"
    what = what if why else "" if table.width and table.height else "no row"
    if what:
        raise DataError(
            f"{name} returned {what}; return a mapping such as {{'score': 0.9}}, a list of them, "
            "or a polars frame"
        )
    if held := [column for column, kind in table.schema.items() if kind == pl.Object]:
        raise DataError(
            f"{name} returned in '{held[0]}' a {type(table[held[0]][0]).__name__}, which no table "
            "keeps; return numbers, texts or lists of them"
        )
    if taken := sorted(ours & {*table.columns}):
        raise DataError(
            f"{name} returned the column '{taken[0]}', which the sweep adds; leave it out"
        )
    return table


def _check(function: Callable[..., Any], settings: Mapping[str, Any], seed: str) -> None:
    parameters = inspect.signature(function).parameters
    if any(one.kind == inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return
    name = function.__name__
    if seed not in parameters:
        all_at_once = "seeds" in parameters
        hint = "; replicated=True gives it all of them as 'seeds'" if all_at_once else ""
        raise ConfigError(
            f"{name} must take an argument '{seed}', as every run has one: def {name}({seed}, ...)"
            + hint
        )
    others = {one: about.default for one, about in parameters.items() if one != seed}
    check_names(f"argument of {name}", settings, others)
    needed = (one for one, default in others.items() if default is inspect.Parameter.empty)
    if lacking := [one for one in needed if one not in settings]:
        raise ConfigError(
            f"{name} needs a value of '{lacking[0]}'; give it, over={{'{lacking[0]}': [...]}}, or "
            "a default"
        )
