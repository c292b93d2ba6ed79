"""Measure trained models, and store one table for each run and measure."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import polars as pl

from inweights.config import identity
from inweights.errors import ConfigError, RunError
from inweights.experiments.engine.tasks import LearnTask, Run
from inweights.experiments.grammar.trial import Measure
from inweights.models.base import Model
from inweights.runs.tables.names import MODEL_PART
from inweights.runs.tables.store import Store
from inweights.support.keys.sources import sources_of
from inweights.worlds.world import World


def measure_wanted(measure: Measure, block: LearnTask, model: Model) -> pl.DataFrame:
    """Apply a measure to those runs of a block that lack its table.

    Args:
        measure: The measure, a probe with options.
        block: Runs that were trained together, and the missing parts of each run.
        model: The trained model, with one replica per run.

    Returns:
        The probe's table, in which ``replica`` is the index of the run in the block. If
        the model cannot be reduced to the runs without a table
        (:meth:`~inweights.models.Model.select` raises a ``ConfigError``), the table
        contains the rows of all runs.

    Raises:
        RunError: The probe raised an error, and the model has weights that are not
            finite. If all weights are finite, the error propagates unchanged.
    """
    rows = [row for row, parts in enumerate(block.parts) if measure.key in parts]
    # Only the replicas that need the measure are measured, which saves time. Some
    # measures are wanted for the first seed only.
    if len(rows) < len(block.runs):
        with suppress(ConfigError):  # a model without a config has no selection
            few = model.select(rows)
            table = measure_model(measure, block.part(rows).worlds, few)
            whose = pl.Series(rows, dtype=table["replica"].dtype)
            return table.with_columns(whose.gather(table["replica"]).alias("replica"))
    return measure_model(measure, block.worlds, model)


def measure_model(
    measure: Measure, worlds: Sequence[World], model: Model
) -> pl.DataFrame:
    """Apply a measure to a model, and return its table.

    Args:
        measure: The measure, a probe with options.
        worlds: One world per replica.
        model: The model, with one replica per world.

    Returns:
        The probe's table. Its column ``replica`` contains the index of the replica.

    Raises:
        RunError: The probe raised an error, and the model has weights that are not
            finite. If all weights are finite, the error propagates unchanged.
    """
    try:
        table: pl.DataFrame = measure.call(model, worlds)
    except Exception as error:
        # A probe may fail for many reasons. The training is blamed only if weights are
        # not finite.
        if all(values.isfinite().all() for values in model.parameters()):
            raise
        raise RunError(
            f"runs diverged, and '{measure.name}' cannot measure weights that are not finite "
            f"({error}); lower the learning rate"
        ) from error
    return table


def store_by_run(
    tables: Mapping[str, pl.DataFrame], block: LearnTask, store: Store
) -> None:
    """Store the rows of each replica as tables of its run.

    Args:
        tables: Tables of all replicas, by the name of the part, with a column
            ``replica``, which is not stored.
        block: The runs, one per replica, and the missing parts of each run; only these
            parts are stored. Weights are not stored here.
        store: Store to which the tables are written.

    Raises:
        KeyError: A missing part is not in ``tables``.
        WriteError: A table, or the description of a run, cannot be written.
        DataError: A file to which a trial refers cannot be read.
    """
    for replica, (run, parts) in enumerate(zip(block.runs, block.parts, strict=True)):
        for part in parts:
            if part != MODEL_PART:
                own = tables[part].filter(pl.col("replica") == replica).drop("replica")
                store_part(store, run, part, own)


def store_part(store: Store, run: Run, part: str, made: pl.DataFrame | bytes) -> None:
    """Store one table of a run, or its weights, together with a description of the run.

    Args:
        store: Store to which the part is written.
        run: The run.
        part: Name of the part: the key of a measure, or ``losses``. It is ignored for
            weights.
        made: The table, or the weights as bytes, as returned by
            :func:`~inweights.models.save.encode_model`.

    Raises:
        WriteError: The part or the description cannot be written.
        DataError: A file to which the trial refers, and which belongs to the
            description, cannot be read.
    """
    trial = run.trial
    parts = {name: getattr(trial, name) for name in ("world", "model", "learner")}
    about = {name: identity(part) for name, part in parts.items()} | {"seed": run.seed}
    if sources := sources_of(parts):
        about["sources"] = sources
    store.describe(run.key, about)
    if isinstance(made, bytes):
        store.write_model(run.key, made)
    else:
        store.write(run.key, part, made)
