"""Vary one experiment: train and measure every combination of settings, with several seeds.

:func:`sweep` returns a tidy table with the settings as columns. A :class:`Study`
describes the same sweep as an object, which also provides its trials, its cost and its
stored models.
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
    """Train and measure every combination of settings with several seeds, and return a tidy table.

    Runs that were trained before, by this or any other sweep or recipe, are read from
    the store.

    Args:
        world: Config of the world; or several configs, as a list or by name,
            ``{"small": …}``. Or a function ``function(seed, **settings)`` that returns
            a number or a text (the column ``result``), one row, several rows or a
            polars frame. The function is called once for every seed and every
            combination of its arguments in ``over``; its results are stored together
            with its source.
        model: Config of the architecture, or several configs, as a list or by name. Or
            a trained model (:func:`~inweights.wrap`), which is trained further if a
            learner is given, and otherwise only measured. By default a GPT as wide as
            the largest world of the sweep requires: with two layers for graphs,
            otherwise with four layers and an untied head. An
            :class:`~inweights.training.Optimum` needs no model.
        learner: Config of the training (a curriculum, a descent or an optimum), or
            several configs, as a list or by name. By default the named learner of the
            world's family for each architecture (:mod:`inweights.training.learners`);
            trained models are not trained further.
        over: Values by path, such as ``{"world.n": [10, 20], "learner.phases.0.steps":
            [100]}``. Paths joined by commas vary jointly, ``{"world.n, model.width":
            [(9, 32), (20, 64)]}``. Values, and whole parts, may have names, ``{"model":
            {"wide": GPTConfig(width=128)}}``. Or a list of points, ``[{"world.n": 10,
            "model.width": 32}, …]``. The last word of a path is the name of its column.
            By default nothing is varied.
        seeds: Number of seeds, counted from 0, or a list of seeds; by default 3.
        measures: Probes, or :class:`~inweights.experiments.Measure` for probes with
            options or at intervals; by default :func:`~inweights.probes.accuracy`.
        controls: Controls with which every condition is compared: ``untrained``,
            ``shuffled``, ``no-bridge``, ``frozen``; see
            :func:`~inweights.experiments.with_controls`. Figures show them as a grey
            band. By default none.
        replicated: Whether a function takes a list of all missing seeds as ``seeds``
            and returns rows for each seed, with a column ``seed``; by default not.
        jobs: Number of parallel processes. By default 0: as many as this machine has
            cores, or fewer if the work is too small to start that many.
        runs: Folder of all runs; by default the usual one.
        store: Folder, or address of a bucket, in which the tables of single runs are
            stored; empty for a folder below ``runs``.
        progress: Whether a line of progress is shown, or a function that is called with
            the number of updates done, the total number, and a description of the
            current work. The further keyword arguments ``device``, ``threads``,
            ``plugins``, ``observers``, ``on`` and ``fresh`` are those of
            :func:`inweights.run`.
        keep_models: Whether trained weights are stored too, for :meth:`Study.models`,
            and so that later measures need no training.

    Returns:
        One row for each row of a measure: the varied settings, ``control`` if there are
        controls, ``seed``, and the measure's own columns; with several measures also
        ``measure``, the name of the measure. A function's rows have the arguments in
        ``over``, ``seed``, and its own columns.

    Raises:
        ConfigError: A path does not exist, a value does not fit, a part is not a config of
            its kind, a measure or control does not exist or apply, the seeds or an
            execution option are not valid, or a function does not take its arguments.
        DataError: A world cannot be built, or a function returns no table or different
            columns in different runs.
        RunError: A training failed. If all failed with the same class of error, that class
            is raised instead.
        FolderError: The folder of the store is a symbolic link.

    Warns:
        CautionWarning: Facts are not known, the seeds are too few to compare the
            conditions, or the learner differs from the named one in a setting that can
            decide whether a GPT composes.

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
