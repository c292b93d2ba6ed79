"""Vary an experiment: train and measure every combination of settings with several seeds.

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

    Runs that this or any other sweep or recipe has already trained are read from the
    store.

    Args:
        world: Config of the world; or several configs, as a list or as a mapping from
            names to configs such as ``{"small": …}``. Alternatively, a function
            ``function(seed, **settings)`` that returns a number or a string (the column
            ``result``), one row (a mapping), several rows (a list of mappings) or a
            polars DataFrame. The function is called once for every seed and every
            combination of its arguments in ``over``; its results are stored together
            with its source.
        model: Config of the architecture, or several configs, as a list or as a mapping
            from names to configs. Alternatively, a trained model
            (:func:`~inweights.wrap`), which is trained further if a learner is given,
            and otherwise only measured. By default, Node2Vec for a ``Descent``, and
            otherwise a GPT whose width fits the largest world of the sweep. The GPT has
            two layers and tied embeddings for graphs, and otherwise four layers and an
            untied head. An :class:`~inweights.training.Optimum` needs no model.
        learner: Config of the training (a curriculum, a descent or an optimum), or
            several configs, as a list or as a mapping from names to configs. By
            default, each combination of world and architecture has the learner that
            :mod:`inweights.training.learners` provides for it, and trained models are
            not trained further.
        over: Mapping from paths to values, such as ``{"world.n": [10, 20],
            "learner.phases.0.steps": [100]}``. Paths joined by commas vary jointly, as
            in ``{"world.n, model.width": [(9, 32), (20, 64)]}``. Values, including
            whole configs, may have names, as in ``{"model": {"wide":
            GPTConfig(width=128)}}``. Alternatively, a list of points, such as
            ``[{"world.n": 10, "model.width": 32}, …]``. The last word of a path is the
            name of its column. By default nothing is varied.
        seeds: Number of seeds, counted from 0, or a list of seeds; by default 3.
        measures: Probes, or :class:`~inweights.experiments.Measure` objects for probes
            that have options or are applied at intervals; by default
            :func:`~inweights.probes.accuracy`.
        controls: Controls with which every condition is compared: ``untrained``,
            ``shuffled``, ``no-bridge``, ``frozen``; see
            :func:`~inweights.experiments.with_controls`. Figures show them as a grey
            band. By default none.
        replicated: Whether the function ``world`` takes a list of all missing seeds as
            ``seeds`` and returns rows for each seed, with a column ``seed``. By default
            it takes one ``seed`` per call.
        jobs: Number of parallel processes. 0, the default, means one process per 10,000
            updates, but at most one per core.
        runs: Folder of all runs; by default ``$INWEIGHTS_RUNS``, or ``runs`` in the
            working folder.
        store: Folder, or address of a bucket, in which the tables of individual runs
            are stored; empty (the default) for a subfolder of ``runs``.
        progress: Whether to show a line of progress (by default true), or a function
            that is called with the number of updates done, the total number, and a
            description of the current work.
        **how: Further keyword arguments, as in :func:`inweights.run`: ``device``,
            ``threads``, ``plugins``, ``observers``, ``on``, ``fresh`` and ``command``.
            With ``keep_models=True``, trained weights are stored as well:
            :meth:`Study.models` returns them, and later measures need no training.

    Returns:
        One row for each row of a measure. The columns are the varied settings,
        ``control`` if there are controls, ``seed``, and the measure's own columns. With
        several measures, ``measure``, the name of the measure, is the first column. If
        ``world`` is a function, the rows have the arguments in ``over``, ``seed``, and
        the function's own columns. The rows are in the order of measures, conditions and seeds.

    Raises:
        ConfigError: A path does not exist, a value is not allowed there, two conditions
            have the same labels, ``world``, ``model`` or ``learner`` has the wrong
            type, a measure is not a probe, a control is unknown or does not apply, an
            execution option is invalid, or a function does not take the arguments in
            ``over``. The error is also raised if there are no seeds, a seed is
            repeated, or a seed is not an integer from 0 to 2^63 - 1.
        DataError: A world cannot be built, or a function returns no table or different
            columns in different runs.
        RunError: A training run failed, no Ray cluster responds, or a table cannot be
            stored. If all failed runs raised the same error class of this library, an
            error of that class is raised instead.
        FolderError: A stored table is damaged, or the subfolder of ``runs`` for
            individual runs is a symbolic link.
        OSError: With ``fresh=True``, a stored file cannot be removed; or a process
            cannot be started.

    Warns:
        CautionWarning: The models of a condition do not know their facts, there are too
        few seeds to compare the conditions, or the learner differs from the default
        learner in a setting that can affect whether a GPT composes facts.

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
