"""Warns about diverged runs, after training and when they are read back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["diverged_runs", "tell_divergence"]

_MEASURED = ("phase", "step", "loss")


def tell_divergence(tables: Mapping[str, pl.DataFrame]) -> None:
    """Warn of runs whose loss became infinite or not a number: their other numbers mean nothing.

    Claims about them are not judged: see :func:`inweights.lab.grammar.verdict.judge`.
    """
    runs = diverged_runs(tables)
    if runs.is_empty():
        return
    whole = tables["losses"].n_unique(runs.columns)
    first = ", ".join(f"{name} {value}" for name, value in runs.row(0, named=True).items())
    warnings.warn(
        f"{runs.height} of {whole} runs diverged: their loss is infinite or not a number, and "
        f"their measurements are meaningless; lower the rate. The first: {first}",
        stacklevel=3,
    )


def diverged_runs(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return labels and seeds of the runs whose loss became infinite or not a number."""
    import polars as pl

    losses = tables.get("losses", pl.DataFrame())
    if "loss" not in losses.columns:
        return pl.DataFrame()
    bad = losses.filter(~pl.col("loss").is_finite().fill_null(False))
    return bad.drop(_MEASURED, strict=False).unique(maintain_order=True)
