"""Measure models that are returned by a descent or a solver rather than by the training loop.

:func:`measure_derived` obtains the models of a run from its learner, one for each step
at which a measure is due, and stores the tables.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from inweights.errors import ConfigError
from inweights.experiments.engine.attempts.measuring import store_part
from inweights.experiments.engine.tasks import LearnTask, Run
from inweights.models.base import Model
from inweights.models.save import encode_model
from inweights.runs.tables.names import MODEL_PART
from inweights.runs.tables.store import Store
from inweights.training.learners.without_training import Optimum


def measure_derived(task: LearnTask, store: Store) -> None:
    """Measure the model that gradient descent or a solver returns, and store the tables.

    Errors of the learner and of the probes propagate.

    Args:
        task: A task with exactly one run, its measures, and the names of the missing
            tables (:attr:`.LearnTask.parts`).
        store: Store to which the tables are written.

    Raises:
        ConfigError: A measure is to be applied at intermediate steps (``every`` is
            above 0), but the learner returns only its final model.
        DataError: A file to which the trial refers cannot be read.
        WriteError: A table or the weights cannot be written.
    """
    (run,) = task.runs
    (parts,) = task.parts
    finished = [0] if MODEL_PART in parts else []
    cadences = [*finished, *(measure.every for measure in task.measures)]
    for together in _looked_at_together(run, cadences):
        frames: dict[str, list[pl.DataFrame]] = {}
        for step, model, is_last in _models(run, max(together)):
            due = [every for every in together if every or is_last]
            if 0 in due and MODEL_PART in parts:
                store_part(store, run, MODEL_PART, encode_model(model, 0))
            for measure in task.measures:
                if measure.every in due:
                    table = measure.call(model, run.world).drop("replica")
                    if measure.every:
                        table = table.with_columns(step=pl.lit(step))
                    frames.setdefault(measure.key, []).append(table)
        for part, tables in frames.items():
            store_part(store, run, part, pl.concat(tables))


def _looked_at_together(run: Run, cadences: Sequence[int]) -> list[list[int]]:
    """Return the measurement intervals, grouped by descent; 0 means a measurement at the end.

    The final model of a descent is exactly the same with and without intermediate
    measurements only for large graphs. Other graphs need a second descent for the final
    model.
    """
    groups = [[every] for every in dict.fromkeys(cadences)]
    often = [group for group in groups if group != [0]]
    learner: Any = run.trial.learner
    unchanged = getattr(learner, "is_unchanged_by_looks", None)
    if [0] in groups and often and unchanged and unchanged(run.world, run.trial.model):
        often[0].append(0)
        return often
    return groups


def _models(run: Run, every: int) -> Iterator[tuple[int, Model, bool]]:
    """Yield the step, the model, and whether the model is final, for learners without phases."""
    learner: Any = run.trial.learner
    if hasattr(learner, "models"):
        for step, model in learner.models(run.world, run.trial.model, run.seed, every):
            yield step, model, step == getattr(learner, "steps", None)
        return
    if every and not isinstance(learner, Optimum):
        raise ConfigError(
            f"{type(learner).__name__} returns only its final model, so nothing can be "
            "measured during training; leave out 'every'"
        )
    yield 0, learner.learn(run.world, run.trial.model, run.seed), True
