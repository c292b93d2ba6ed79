"""Vary one experiment: train and measure every combination of settings, for every seed.

:func:`sweep` returns a tidy table with the settings as columns; a :class:`Study` is the
same as an object, which also gives its trials, its cost and its stored models.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from inweights.experiments.engine.execution import ExecutionKeywords
from inweights.experiments.grammar.trial import Measure, Probe
from inweights.experiments.grammar.variation import axes
from inweights.experiments.studies.sweep_object import Study
from inweights.support.progress import Progress
from inweights.training.learners.kinds import Learner

__all__ = ["Study", "sweep"]


def sweep(
    world: Any,
    model: Any = None,
    learner: Learner | Sequence[Learner] | Mapping[str, Learner] | None = None,
    *,
    over: axes.Over | None = None,
    seeds: int | Sequence[int] = 3,
    measures: Sequence[Probe | Measure] | None = None,
    runs: str | Path | None = None,
    store: str = "",
    controls: Sequence[str] = (),
    replicated: bool = False,
    jobs: int = 0,
    progress: Progress | bool = True,
    **how: Unpack[ExecutionKeywords],
) -> pl.DataFrame:
    """Train and measure every combination of settings, for every seed.

    Runs that were trained before, by this or any other sweep or recipe, are read from
    the store.

    Args:
        world: Config of the world, or several of them, as a list or by name,
            ``{"small": …}``. Or a function ``function(seed, **settings)`` that returns
            a number or a text (the column ``result``), one row, rows or a polars frame:
            it is called once for every seed and combination of its arguments in
            ``over``, and its results are stored with its source.
        model: The same of the architecture; or a trained model,
            :func:`~inweights.wrap`, which is a starting point where there is a learner,
            and else stays as it is. Left out it is a GPT as wide as the largest world
            of the sweep asks for: of two layers for graphs, otherwise of four with a
            head of its own; an
            :class:`~inweights.training.Optimum` has none.
        learner: The same of a curriculum, a descent or an optimum. Left out it is the
            named learner of the world's family for each architecture
            (:mod:`inweights.training.learners`); trained models stay as they are.
        over: Values by path, such as ``{"world.n": [10, 20], "learner.phases.0.steps":
            [100]}``. Paths joined by commas move together, ``{"world.n, model.width":
            [(9, 32), (20, 64)]}``; values, and whole parts, may have names, ``{"model":
            {"wide": GPTConfig(width=128)}}``. Or a list of points, ``[{"world.n": 10,
            "model.width": 32}, …]``. The last word of a path becomes a column.
        seeds: How many, counted from 0, or which.
        measures: Probes, or :class:`~inweights.experiments.Measure` for options and
            cadence; by default :func:`~inweights.probes.accuracy`.
        controls: What every condition is compared with: ``untrained``, ``shuffled``,
            ``no-bridge``, ``frozen``; see :func:`~inweights.experiments.with_controls`.
            They are drawn as a grey band.
        replicated: Whether a function takes all missing ``seeds`` at once, and returns
            rows for each, with a column ``seed``.
        jobs: Processes that work side by side; 0 takes the cores of this machine where
            the work is worth their start.
        runs: Folder of all runs.
        store: Where single runs are kept, if not below ``runs``.
        progress: As for :func:`inweights.run`, as ``device``, ``plugins``,
            ``observers``, ``on``.
        keep_models: Whether the trained weights are stored, too, for
            :meth:`Study.models`, and so that what is measured later trains nothing.

    Returns:
        A row for each row of a measure: the varied settings, ``control`` where there
        are controls, ``seed``, the measure's own columns; and ``measure``, its name,
        where there are several.

    Raises:
        ConfigError: A path leads nowhere, or a value does not fit.
        RunError: A training failed.

    Warns:
        CautionWarning: Facts are not known, seeds cannot separate the conditions, or
            the learner differs from the named one in a setting that decides.

    Example:
        >>> import tempfile
        >>> import inweights as iw
        >>> descent = iw.Optimizer(kind="sgd", rate=2.0, weight_decay=0.0)
        >>> table = sweep(
        ...     iw.TwoHop(n=4),
        ...     iw.EmbMLPConfig(),
        ...     iw.Curriculum(phases=(iw.Phase(steps=1000, optimizer=descent),)),
        ...     over={"world.identity": [False, True]},
        ...     seeds=2,
        ...     runs=tempfile.mkdtemp(),
        ... )
        >>> table.filter(role="composition").select("identity", "seed", "accuracy").rows()
        [(False, 0, 0.0), (False, 1, 0.0), (True, 0, 1.0), (True, 1, 1.0)]
    """
    study = Study(
        world,
        model,
        learner,
        over or {},
        seeds,
        measures,
        runs,
        store,
        controls,
        replicated,
    )
    return study.run(jobs=jobs, progress=progress, **how)
