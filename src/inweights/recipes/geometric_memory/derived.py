"""Derive tables for the recipes of the tiny graphs: by condition, eigenspace and distance."""

from collections.abc import Mapping, Sequence

import polars as pl

from inweights.recipes.geometric_memory.common import CODE, TOP
from inweights.recipes.shared.derived import at_the_end
from inweights.theory.geometric_memory.spectral import COSINE_TIE


def judged(
    tables: Mapping[str, pl.DataFrame], condition: str = CODE
) -> dict[str, pl.DataFrame]:
    """Return the tables under one condition, on which the claims are judged, without its column.

    Rows of trials without a condition stay. Where Spearman's ρ of all conditions is
    measured, its values at the end are ``conditions``, the table of what the condition
    makes of the geometry.

    Args:
        tables: Measured tables, by name.
        condition: The condition; as the paper's code trains (:data:`~.common.CODE`) by
            default.
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
    """Return the energy in the first space (``first``), in the top ones (``top``), and by chance.

    The top eigenspaces are the first that hold two dimensions together: one space of
    the star (threefold), the grid and the cycle (twofold), two simple ones of the
    irregular graph.

    Args:
        energy: A row per run and eigenspace, with ``graph``, ``seed``, ``space``,
            ``energy``, ``null_mean`` and ``null_high`` (table of
            :func:`inweights.probes.spectral_energy`).
        by: Columns that name the trials, ``graph`` among them.

    Returns:
        A row per run: the columns ``by``, ``seed``, ``first``, ``top``, ``by_chance``
        and ``beyond_chance`` (``top`` minus the upper end of the null distribution).
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
    """Return Spearman's ρ with its ``size`` and how far it is ``beyond_chance`` (below 0).

    Args:
        correlation: Table of :func:`inweights.probes.hop_correlation`; of its
            columns ``spearman`` and ``null_low`` are read.

    Returns:
        The rows of ``correlation`` with two more columns: ``size``, the absolute value,
        and ``beyond_chance``, ρ minus the lower end of the null distribution.
    """
    rho = pl.col("spearman")
    return correlation.with_columns(
        size=rho.abs(), beyond_chance=rho - pl.col("null_low")
    )


def far_correlation(cosines: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return Spearman of cosine against hops over all pairs (``all``) and beyond neighbours.

    ``far`` takes the pairs that are two hops apart or more, which no fact names: what a
    lookup cannot know. ``near`` is how far the mean cosine falls from one hop to two,
    ``drop`` from two to more. Rows with no path, and nodes with themselves, are left
    out.

    Args:
        cosines: A row per run and pair, with ``hops`` and ``cosine``.
        by: Columns that name the trials.
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
    """Return ranks of the cosines of a group; equally close pairs share one."""
    # Cosines that are closer than this differ by rounding alone: a rank for each would
    # let rounding decide the correlation.
    ranks = (cosine.sort().diff().fill_null(0.0) > COSINE_TIE).cum_sum()
    return ranks.gather(cosine.arg_sort().arg_sort())
