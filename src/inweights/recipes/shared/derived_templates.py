"""Derive tables from logit templates at complexity one: their peaks and their blocks."""

from collections.abc import Sequence

import polars as pl


def _numbered(table: pl.DataFrame) -> pl.DataFrame:
    """Add whether row and column have one number: at complexity one a3, b3 and c3 belong."""
    number = [pl.col(c).str.slice(1) for c in ("row", "column")]
    return table.with_columns(own=number[0] == number[1])


def own_peaks(tokens: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the share of the rows of subjects and bridges that peak on their own bridge or object.

    Args:
        tokens: Table of :func:`inweights.probes.templates` at complexity one; among the
            columns of each group.
        by: Columns that name the runs.

    Returns:
        A row per run, ``row_group`` (``subject`` or ``bridge``) and ``column_group``:
        ``own``, the share.
    """
    from inweights.probes.templates import winners

    best = _numbered(winners(tokens, by))
    return (
        best.filter(pl.col("row_group").is_in(["subject", "bridge"]))
        .group_by(*by, "row_group", "column_group", maintain_order=True)
        .agg(pl.col("own").mean())
    )


def blocks(tokens: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return each block of templates at complexity one: contrast and spread of its logits.

    Args:
        tokens: Table of :func:`inweights.probes.templates`.
        by: Columns that name the runs.

    Returns:
        A row per block: ``contrast``, own minus other, and ``spread``, the range of the
            others.
    """
    other = pl.col("value").filter(~pl.col("own"))
    keys = [*by, "row_group", "column_group"]
    return (
        _numbered(tokens)
        .filter(pl.col("row_group").is_in(["subject", "bridge"]))
        .group_by(keys, maintain_order=True)
        .agg(
            contrast=pl.col("value").filter(pl.col("own")).mean() - other.mean(),
            spread=other.max() - other.min(),
        )
    )
