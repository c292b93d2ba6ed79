"""Compute tables that compare predictions with the answers of trained models."""

from collections.abc import Sequence

import numpy as np
import polars as pl

#: Edges of the bins of the predicted margin. The bin around 0 contains the ties.
EDGES = (-1.0, -0.5, -0.25, -0.1, -0.02, 0.02, 0.1, 0.25, 0.5, 1.0)


def roc_auc(
    table: pl.DataFrame, score: str, hit: str, by: Sequence[str]
) -> pl.DataFrame:
    """Return the area under the ROC curve of a score for each group of rows.

    The area is the probability that a randomly chosen hit has a higher score than a
    randomly chosen miss, where ties count one half. Groups that contain only hits or
    only misses are left out.

    Args:
        table: A row per query, with the columns named by ``score``, ``hit`` and ``by``.
        score: Name of the column of the score; larger values predict a hit.
        hit: Name of a column that is above 0.5 if the query was answered correctly.
        by: Names of the columns that define the groups, at least one.

    Returns:
        A row per group, in the order of the first rows of the groups: the columns
        ``by``; ``auc``, from 0 to 1; and ``place`` (for figures), the rank, counted
        from 1, of the group's value in the last column of ``by``, in order of first
        occurrence in the table.
    """
    # Ties have their mean rank, so that the order of the rows does not favour a
    # predictor with few distinct values.
    ranked = table.with_columns(_rank=pl.col(score).rank("average").over(list(by)))
    won = pl.col(hit) > 0.5
    hits = won.sum().cast(pl.Float64)
    misses = pl.len() - hits
    # If all hits had the lowest ranks, the sum of their ranks would be ``lowest``. What
    # exceeds this sum is the number of misses below each hit (Mann and Whitney's U).
    lowest = hits * (hits + 1) / 2
    area = (pl.col("_rank").filter(won).sum() - lowest) / (hits * misses)
    found = ranked.group_by(list(by), maintain_order=True).agg(auc=area)
    places = {
        name: i + 1 for i, name in enumerate(table[by[-1]].unique(maintain_order=True))
    }
    return found.filter(pl.col("auc").is_finite()).with_columns(
        place=pl.col(by[-1]).replace_strict(places, return_dtype=pl.Int64)
    )


def agreement(queries: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the share of correct predictions, excluding queries that are predicted to tie.

    Args:
        queries: A row per query with ``verdict`` (the prediction: ``follows``, ``tied``
            or another value, which predicts a wrong answer) and ``hit`` (above .5 if
            answered correctly).
        by: Names of the columns that define the groups.

    Returns:
        A row per group: the columns ``by``, and ``agrees``, the share (0 to 1) of the
        queries for which the verdict is ``follows`` if and only if the query was
        answered correctly. Groups that contain only ties are left out.
    """
    decided = queries.filter(pl.col("verdict") != "tied")
    came = (pl.col("verdict") == "follows") == (pl.col("hit") > 0.5)
    return decided.group_by(list(by), maintain_order=True).agg(agrees=came.mean())


def reliability(queries: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the share of hits in each bin of the predicted margin, with the bin's mean margin.

    The edges of the bins are :data:`EDGES`. The outermost bins also contain all margins
    beyond them. The mean margin of a bin is taken over all groups together.

    Args:
        queries: A row per query with ``predicted_margin`` and ``hit`` (1 if answered
            correctly, otherwise 0).
        by: Names of the columns that define the groups.

    Returns:
        A row per group and bin that has queries: the columns ``by``, ``bin`` (index,
        from 0), ``hit`` (share of hits), ``queries`` (number of queries) and
        ``predicted_margin`` (mean margin of the bin), sorted by ``by`` and ``bin``.
    """
    inner = list(EDGES[1:-1])
    bins = np.digitize(queries["predicted_margin"].to_numpy(), inner)
    binned = queries.with_columns(bin=pl.Series(bins))
    centres = binned.group_by("bin").agg(pl.col("predicted_margin").mean())
    shares = binned.group_by([*by, "bin"], maintain_order=True).agg(
        pl.col("hit").mean(), queries=pl.len()
    )
    return shares.join(centres, on="bin").sort([*by, "bin"])
