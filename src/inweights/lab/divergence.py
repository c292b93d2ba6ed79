"""Runs that diverged among others are told, when they are made and when they are read back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import polars as pl

__all__ = ["tell_divergence"]


def tell_divergence(tables: Mapping[str, pl.DataFrame]) -> None:
    """Warn of runs whose loss became infinite or not a number: their other numbers mean nothing.

    Where all that train together diverge, training ends with an error; this is about the others.
    """
    losses = tables.get("losses")
    if losses is None or "loss" not in losses.columns:
        return
    bad = losses.filter(~pl.col("loss").is_finite().fill_null(False))
    if bad.is_empty():
        return
    labels = [name for name in losses.columns if name not in ("phase", "step", "loss")]
    runs, whole = bad.unique(labels, maintain_order=True), losses.n_unique(labels)
    first = ", ".join(f"{name} {value}" for name, value in runs.row(0, named=True).items())
    warnings.warn(
        f"{runs.height} of {whole} runs diverged: their loss is infinite or not a number, and what "
        f"is measured of them means nothing; lower the rate. The first: {first}",
        stacklevel=3,
    )
