"""Describe a sweep as an object with its trials, plan, cost, table and models.

:func:`~inweights.experiments.studies.sweep.sweep` runs a sweep directly.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import isfunction
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from inweights.errors import CautionWarning, ConfigError
from inweights.experiments.claims.score import Value
from inweights.experiments.engine.collect import collect, kind_of, watched
from inweights.experiments.engine.execution import ExecutionKeywords, ExecutionOptions
from inweights.experiments.engine.saved_models import SavedModel, saved_models
from inweights.experiments.grammar.cautions import cautions
from inweights.experiments.grammar.controls import with_controls
from inweights.experiments.grammar.seed_choice import choose_seeds
from inweights.experiments.grammar.trial import Computation, Measure, Plan, Probe, Trial
from inweights.experiments.grammar.variation import axes
from inweights.experiments.grammar.variation.functions import computations_of
from inweights.experiments.grammar.variation.parts import config_of
from inweights.experiments.grammar.variation.several import (
    is_several,
    named,
    with_parts,
)
from inweights.experiments.studies.cost import expected_seconds, forecast
from inweights.experiments.studies.cost_estimate import Forecast
from inweights.experiments.studies.sweep_defaults import (
    default_model,
    trials_of,
    useful_processes,
)
from inweights.models.configs import Node2VecConfig
from inweights.runs import default_root
from inweights.runs.tables.store import Store, store_below
from inweights.support.progress import Progress, shown
from inweights.training.learners.descent import Descent
from inweights.training.learners.kinds import Curriculum, Learner


@dataclass(frozen=True)
class Study:
    """A sweep as an object; its cost can be estimated before it is run.

    The attributes are the arguments of
    :func:`~inweights.experiments.studies.sweep.sweep`, which explains them in full.

    Attributes:
        world: Config of the world, several configs, or a function of a seed.
        model: Config of the architecture, several configs, or a trained model. If it is
            ``None``, the default is a GPT that fits the largest world; for a
            ``Descent`` it is Node2Vec, and an ``Optimum`` has no model.
        learner: Config of the training, or several configs; ``None`` for the default
            learner of the world's family; trained models are then not trained further.
        over: Varied settings: a mapping from paths to values, or a list of points.
        seeds: Number of seeds, counted from 0, or a list of seeds; by default 3.
        measures: Probes or measures; ``None`` for the accuracy alone.
        runs: Folder of all runs; ``None`` for ``$INWEIGHTS_RUNS``, or ``runs`` in the
            working folder.
        place: Store of individual runs (the argument ``store`` of
            :func:`~.sweep.sweep`); empty (the default) for a subfolder of ``runs``.
        controls: Names of controls with which every condition is compared:
            ``untrained``, ``shuffled``, ``no-bridge``, ``frozen``; by default none.
        replicated: Whether the function ``world`` takes all missing seeds at once, as
            ``seeds``; by default it takes one ``seed`` per call.

    Example:
        >>> import inweights as iw
        >>> study = Study(iw.TwoHop(), over={"world.n": [4, 6]}, seeds=2)
        >>> [trial.labels for trial in study.trials], study.trials[0].model.width
        ([{'n': 4}, {'n': 6}], 32)
    """

    world: Any
    model: Any = None
    learner: Learner | Sequence[Learner] | Mapping[str, Learner] | None = None
    over: axes.Over = field(default_factory=dict)
    seeds: int | Sequence[int] = 3
    measures: Sequence[Probe | Measure] | None = None
    runs: str | Path | None = None
    place: str = ""
    controls: Sequence[str] = ()
    replicated: bool = False

    @cached_property
    def trials(self) -> list[Trial]:
        """One trial for each condition, followed by its controls; empty if ``world`` is a function.

        Raises:
            ConfigError: ``over`` is invalid, a path in it does not exist or a value is
                not allowed there, two conditions have the same labels, ``world``,
                ``model`` or ``learner`` has the wrong type, a list contains equal
                configs, or a control is unknown or does not apply.
            DataError: A world that has to be built for the trials cannot be built.
        """
        if isfunction(self.world):
            return []
        model = config_of(self.model)
        given = {"world": self.world, "model": model, "learner": self.learner}
        several = {
            name: named(name, part) for name, part in given.items() if is_several(part)
        }
        first = {name: next(iter(parts.values())) for name, parts in several.items()}
        over = with_parts(several, self.over)
        world, model, learner = (given | first).values()
        if model is None and isinstance(learner, Curriculum | None):
            model = default_model(world, over)
        elif model is None and isinstance(learner, Descent):
            model = Node2VecConfig()
        return with_controls(trials_of(world, model, learner, over), self.controls)

    @cached_property
    def plan(self) -> Plan:
        """The trials and measures or, if ``world`` is a function, one computation per condition.

        Raises:
            ConfigError: The trials are invalid (see :attr:`trials`); ``measures`` is
                empty or an entry is not a probe; ``replicated`` is true and the world is
                not a function; a function is combined with a model, a learner, measures
                or controls; or a function does not take the arguments in ``over`` and
                ``seed`` (``seeds`` if ``replicated``).
            DataError: A world that has to be built for the trials cannot be built.
        """
        if isfunction(self.world):
            others = (self.model, self.learner, self.measures, self.controls or None)
            if any(one is not None for one in others):
                raise ConfigError(
                    "a sweep over a function, which returns its own table, has no model, "
                    "learner, measures or controls; leave them out, or give the config of a "
                    "world instead of the function"
                )
            points = axes.points_of(self.over)
            made = computations_of(self.world, points, replicated=self.replicated)
            return Plan(computations=made)
        if self.replicated:
            raise ConfigError(
                "'replicated' applies only to functions that take all seeds at once; leave "
                "it out, since the models of all seeds of a world are trained together"
            )
        from inweights.probes import accuracy

        measures = [accuracy] if self.measures is None else self.measures
        if not measures:
            raise ConfigError(
                "a sweep needs at least one measure; give a probe, such as probes.accuracy"
            )
        return Plan(trials=self.trials, measures=measures)

    @property
    def store(self) -> Store:
        """The store of individual runs: at :attr:`place` if set, otherwise below :attr:`runs`.

        Raises:
            FolderError: The subfolder of :attr:`runs` is a symbolic link.
            ConfigError: The address of a bucket is invalid, or the optional package for
                it is not installed.
        """
        return Store(self.place or store_below(self.runs or default_root()))

    @cached_property
    def _seeds(self) -> tuple[int, ...]:
        return choose_seeds(self.seeds, 0)

    def run(
        self,
        *,
        jobs: int = 0,
        progress: Progress | bool = True,
        **how: Unpack[ExecutionKeywords],
    ) -> pl.DataFrame:
        """Train and measure the runs that are not stored yet, and return the table of the sweep.

        Args:
            jobs: Number of parallel processes. 0, the default, means one process per
                10,000 updates, but at most one per core.
            progress: Whether to show a line of progress (by default true), or a
                function that is called with the number of updates done, the total
                number, and a description of the current work.
            **how: Further fields of
                :class:`~inweights.experiments.engine.execution.ExecutionOptions`:
                ``device``, ``threads``, ``plugins``, ``observers``, ``on``, ``fresh``,
                ``keep_models`` and ``command``.

        Returns:
            One row for each row of a measure. The columns are the varied settings,
            ``control`` if there are controls, ``seed``, and the measure's own columns.
            With several measures, ``measure``, the name of the measure, is the first
            column. If ``world`` is a function, its rows are returned, with the
            arguments in ``over`` and ``seed``.

        Raises:
            ConfigError: The sweep (see :attr:`plan`), the seeds or an execution option
                is invalid.
            RunError: A training run failed, no Ray cluster responds, or a table cannot
                be stored. If all failed runs raised the same error class of this
                library, an error of that class is raised instead.
            DataError: A world cannot be built, or ``world`` is a function whose runs
                return no table or different columns.
            FolderError: A stored table is damaged, or the subfolder of :attr:`runs` for
                individual runs is a symbolic link.

        Warns:
            CautionWarning: The models of a condition do not know their facts, there are
            too few seeds to compare the conditions, or the learner differs from the
            default in a setting that can affect whether a GPT composes facts.
        """
        with shown(progress) as told:
            execution = replace(
                self._effort(jobs, how), progress=told, expect=expected_seconds
            )
            with watched(self.plan, self._seeds, execution, "sweep") as left:
                tables = collect(self.plan, self._seeds, self.store, execution)
                left.update(tables)
        for text in cautions(self.trials, tables):
            warnings.warn(text, CautionWarning, stacklevel=3)
        made: list[Measure | Computation] = [
            *self.plan.measures,
            *self.plan.computations,
        ]
        asked = {one.name: tables[one.name] for one in made}
        if len(asked) == 1:
            return next(iter(asked.values()))
        return _side_by_side(asked)

    def forecast(self, *, jobs: int = 0, **how: Unpack[ExecutionKeywords]) -> Forecast:
        """Estimate the cost of :meth:`run`, by timing a few steps; nothing is stored.

        Args:
            jobs: Number of parallel processes. 0, the default, means one process per
                10,000 updates, and at most one per core.
            **how: Further fields of
                :class:`~inweights.experiments.engine.execution.ExecutionOptions`.

        Returns:
            The estimate: numbers of runs and steps, minutes, and memory.

        Raises:
            ConfigError: The sweep (see :attr:`plan`), the seeds or an execution option
                is invalid, or a single run does not fit in the memory.
            DataError: A world cannot be built.
            FolderError: The subfolder of :attr:`runs` is a symbolic link.
        """
        return forecast(self.plan, self._seeds, self.store, self._effort(jobs, how))

    def _effort(self, jobs: int, how: ExecutionKeywords) -> ExecutionOptions:
        """Return the execution options; by default with the number of useful processes."""
        processes = useful_processes(
            self.plan, len(self._seeds), how.get("device", "cpu")
        )
        return ExecutionOptions(jobs=jobs or processes, **how)

    def models(self, **where: Value) -> list[SavedModel]:
        """Return the trained models that the sweep has stored (``keep_models=True``).

        Args:
            **where: Values that the models must have, keyed by ``seed``, ``control`` or
                the column of a varied setting; by default all models are returned.

        Returns:
            One model for each condition and seed, ordered by condition and then by
            seed. The weights of a model are read when it is first used. The result is
            empty if no run has these values, or if ``world`` is a function.

        Raises:
            ConfigError: A name is neither a varied setting, ``control`` nor ``seed``,
                or the sweep is invalid (see :attr:`trials`).
            DataError: A file to which a config refers cannot be read.
            FolderError: The weights of one of these models were not stored, or are
                damaged.
        """
        return saved_models(self.trials, self._seeds, self.store, where=where)


def _side_by_side(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of several measures as one table with a column ``measure``.

    If two measures have columns of the same name but of different types, such as
    numbers and text, the column of the later measure is renamed to ``MEASURE.COLUMN``.
    """
    kinds: dict[str, str] = {}
    parts = []
    for measure, table in tables.items():
        other: dict[str, str] = {}
        for column, dtype in table.schema.items():
            kind = kind_of(dtype)
            if kinds.get(column, "nothing") == "nothing":
                kinds[column] = kind
            elif kind not in ("nothing", kinds[column]):
                other[column] = f"{measure}.{column}"
        parts.append(
            table.rename(other).select(pl.lit(measure).alias("measure"), pl.all())
        )
    return pl.concat(parts, how="diagonal_relaxed")
