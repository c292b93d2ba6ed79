"""Measure trained models, and store a table for each run and measure."""

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
    """Return the table of a measure, for the runs for which it is wanted.

    Args:
        measure: The probe and its options.
        block: Runs that are trained together, and the requested parts of each.
        model: A replica for each run.

    Returns:
        The probe's table; ``replica`` counts all runs of the block.

    Raises:
        RunError: A probe failed.
    """
    rows = [row for row, parts in enumerate(block.parts) if measure.key in parts]
    # To measure fewer replicas is cheaper, and a first seed alone may be filmed.
    if len(rows) < len(block.runs):
        with suppress(ConfigError):  # a model of one's own may have no config
            few = model.select(rows)
            table = measure_model(measure, block.part(rows).worlds, few)
            whose = pl.Series(rows, dtype=table["replica"].dtype)
            return table.with_columns(whose.gather(table["replica"]).alias("replica"))
    return measure_model(measure, block.worlds, model)


def measure_model(
    measure: Measure, worlds: Sequence[World], model: Model
) -> pl.DataFrame:
    """Return the table of a measure of a model.

    Args:
        measure: The probe and its options.
        worlds: One world per replica.
        model: ``R`` replicas.

    Returns:
        The probe's table, with a column ``replica``.

    Raises:
        RunError: The probe failed, and the weights are not finite.
    """
    try:
        table: pl.DataFrame = measure.call(model, worlds)
    except Exception as error:
        # A probe may fail for many reasons: only weights that are not finite are blamed
        # on the training.
        if all(values.isfinite().all() for values in model.parameters()):
            raise
        raise RunError(
            f"runs diverged, and '{measure.name}' cannot measure weights that are not finite "
            f"({error}); lower the rate"
        ) from error
    return table


def store_by_run(
    tables: Mapping[str, pl.DataFrame], block: LearnTask, store: Store
) -> None:
    """Store the rows of each replica as the tables of its run.

    Args:
        tables: Tables of all replicas, by part.
        block: The runs, one for each replica.
        store: Where the tables go.
    """
    for replica, (run, parts) in enumerate(zip(block.runs, block.parts, strict=True)):
        for part in parts:
            if part != MODEL_PART:
                own = tables[part].filter(pl.col("replica") == replica).drop("replica")
                store_part(store, run, part, own)


def store_part(store: Store, run: Run, part: str, made: pl.DataFrame | bytes) -> None:
    """Store a table of a run, or its weights, together with a description of the run.

    Args:
        store: Where it goes.
        run: The run.
        part: Name of the table.
        made: The table, or the bytes of the weights.
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
