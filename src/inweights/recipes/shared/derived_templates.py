"""Compute the peaks and blocks of the logit templates for worlds of complexity one."""

from collections.abc import Sequence

import polars as pl


def _numbered(table: pl.DataFrame) -> pl.DataFrame:
    """Add ``own``: whether row and column have the same number, such as ``a3`` and ``c3``."""
    number = [pl.col(c).str.slice(1) for c in ("row", "column")]
    return table.with_columns(own=number[0] == number[1])


def own_peaks(tokens: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the share of tokens whose largest logit is that of their own bridge or object.

    The tokens are subjects and bridges. In a world of complexity one, a subject, its
    bridge and its object have the same number, such as ``a3``, ``b3`` and ``c3``.

    Args:
        tokens: Table of :func:`inweights.probes.templates` in a world of complexity
            one: a row per run, token and output, with ``value``, the logit. The maximum
            is taken over the columns of each group.
        by: Names of the columns that identify the runs.

    Returns:
        A row per run, ``row_group`` (``subject`` or ``bridge``) and ``column_group``
        (``bridge`` or ``object``): the columns ``by``, these two, and ``own``, the
        share of the tokens in ``row_group`` whose largest logit among the outputs in
        ``column_group`` is that of the output with the same number.
    """
    from inweights.probes.templates import winners

    best = _numbered(winners(tokens, by))
    return (
        best.filter(pl.col("row_group").is_in(["subject", "bridge"]))
        .group_by(*by, "row_group", "column_group", maintain_order=True)
        .agg(pl.col("own").mean())
    )


def blocks(tokens: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the contrast and spread of the logits in each block of templates.

    A block contains the logits of one group of rows (subjects or bridges) in one group
    of columns (bridges or objects). Its own entries are those whose row and column have
    the same number, such as ``a3`` and ``c3``. The contrast compares these entries with
    all other entries of the block, and the spread is the range of the other entries.

    Args:
        tokens: Table of :func:`inweights.probes.templates` in a world of complexity
            one: a row per run, token and output, with ``value``, the logit.
        by: Names of the columns that identify the runs.

    Returns:
        A row per run and block: the columns ``by``, ``row_group`` (``subject`` or
        ``bridge``) and ``column_group`` (``bridge`` or ``object``); ``contrast``, the
        mean of the own entries minus the mean of all other entries; and ``spread``, the
        largest minus the smallest of the other entries.
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
