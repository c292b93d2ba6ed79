"""Compute tables for the recipes of the tiny graphs: by condition, eigenspace and distance."""

from collections.abc import Mapping, Sequence

import polars as pl

from inweights.recipes.geometric_memory.common import CODE, TOP
from inweights.recipes.shared.derived import at_the_end
from inweights.theory.geometric_memory.spectral import COSINE_TIE


def judged(
    tables: Mapping[str, pl.DataFrame], condition: str = CODE
) -> dict[str, pl.DataFrame]:
    """Return the rows of one condition from every table, without the column ``condition``.

    Rows whose ``condition`` is null (trials without a condition) and tables without
    this column are retained.

    Args:
        tables: Measured tables, by name.
        condition: Name of the condition; by default ``the code's`` (the settings of the
            paper's code).

    Returns:
        The tables, keyed by name. If Spearman's ρ was measured in several conditions
        (in the table ``correlation``), there is an additional table ``conditions`` with
        its final values in all of them.
    """
    rho = tables.get("correlation", pl.DataFrame())
    beside = {"conditions": rho} if "condition" in rho.columns else {}
    if beside and "step" in rho.columns:
        beside = {
            "conditions": at_the_end(
                rho, ["graph", "architecture", "condition", "seed"]
            )
        }
    one = pl.col("condition").is_null() | (pl.col("condition") == condition)
    return beside | {
        name: table.filter(one).drop("condition")
        if "condition" in table.columns
        else table
        for name, table in tables.items()
    }


def top_energy(energy: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the energy in the first and in the top eigenspaces, and the energy expected by chance.

    The top eigenspaces are the smallest number of leading eigenspaces that together
    have at least two dimensions: one eigenspace for the star (three dimensions), the grid
    and the cycle (two dimensions each), and two eigenspaces of one dimension each for
    the irregular graph.

    Args:
        energy: A row per run and eigenspace, with ``graph``, ``seed``, ``space``,
            ``energy``, ``null_mean`` and ``null_high`` (table of
            :func:`inweights.probes.spectral_energy`).
        by: Names of the columns that identify the trials, including ``graph``.

    Returns:
        A row per run: the columns ``by``, ``seed``, ``first`` (share of the energy in
        the first eigenspace, from 0 to 1), ``top`` (share in the top eigenspaces),
        ``by_chance`` (mean of ``top`` for random vectors) and ``beyond_chance``
        (``top`` minus the upper end, the 97.5% quantile, of the null distribution).
    """
    top = pl.col("space") < pl.col("graph").replace_strict(TOP, return_dtype=pl.Int64)
    return energy.group_by([*by, "seed"], maintain_order=True).agg(
        first=pl.col("energy").filter(pl.col("space") == 0).sum(),
        top=pl.col("energy").filter(top).sum(),
        by_chance=pl.col("null_mean").filter(top).sum(),
        beyond_chance=pl.col("energy").filter(top).sum()
        - pl.col("null_high").filter(top).sum(),
    )


def beside_random(correlation: pl.DataFrame) -> pl.DataFrame:
    """Add columns for the size of Spearman's ρ and its distance from the null distribution.

    Args:
        correlation: Table of :func:`inweights.probes.hop_correlation`; the columns
            ``spearman`` and ``null_low`` are used.

    Returns:
        The rows of ``correlation`` with two additional columns: ``size``, the absolute
        value of ρ, and ``beyond_chance``, ρ minus the lower end (2.5% quantile) of the
        null distribution. The latter is negative if ρ is lower than for nearly all
        random embeddings, which indicates a geometry.
    """
    rho = pl.col("spearman")
    return correlation.with_columns(
        size=rho.abs(), beyond_chance=rho - pl.col("null_low")
    )


def far_correlation(cosines: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return Spearman's ρ between cosines and distances, over all and over non-adjacent pairs.

    Pairs of nodes that no path connects, and pairs of a node with itself, are left out.

    Args:
        cosines: A row per run and pair, with ``hops`` and ``cosine``.
        by: Names of the columns that identify the trials.

    Returns:
        A row per run: the columns ``by`` and ``seed``; ``all``, Spearman's ρ over all
        pairs; ``far``, the same over pairs at least two hops apart, which do not occur
        in any fact; ``near``, the mean cosine at one hop minus the mean cosine at two
        hops; and ``drop``, the mean cosine at two hops minus the mean cosine at larger
        distances. A value is null or NaN if there are no such pairs.
    """
    far = pl.col("hops") >= 2
    cosine, hops = pl.col("cosine"), pl.col("hops")
    return (
        cosines.filter(pl.col("hops") >= 1)
        .group_by([*by, "seed"], maintain_order=True)
        .agg(
            all=pl.corr(_tied(cosine), hops, method="spearman"),
            far=pl.corr(_tied(cosine.filter(far)), hops.filter(far), method="spearman"),
            near=cosine.filter(~far).mean() - cosine.filter(hops == 2).mean(),
            drop=cosine.filter(hops == 2).mean() - cosine.filter(hops > 2).mean(),
        )
    )


def _tied(cosine: pl.Expr) -> pl.Expr:
    """Return the ranks of the cosines in a group; nearly equal cosines have the same rank."""
    # Cosines that differ by less are equal except for rounding errors. If each had its
    # own rank, rounding errors would influence the correlation.
    ranks = (cosine.sort().diff().fill_null(0.0) > COSINE_TIE).cum_sum()
    return ranks.gather(cosine.arg_sort().arg_sort())
