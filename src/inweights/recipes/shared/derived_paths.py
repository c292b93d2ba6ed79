"""Compute tables about paths and edges from measured tables, for recipes about path-stars."""

from collections.abc import Sequence

import polars as pl


def hardest(paths: pl.DataFrame) -> pl.DataFrame:
    """Return the rows for the hardest token of held-out paths, the token after the root.

    Args:
        paths: Table of :func:`inweights.probes.path_accuracy`.

    Returns:
        The rows whose ``part`` is ``queries`` and whose ``hardest`` is true, with all
        columns.
    """
    return paths.filter(pl.col("part") == "queries", pl.col("hardest"))


def whole(paths: pl.DataFrame) -> pl.DataFrame:
    """Return the accuracies on held-out and on training paths, one row for each run and step.

    Args:
        paths: Table of :func:`inweights.probes.path_accuracy`, with any labels.

    Returns:
        All columns that identify the measurement (the labels, ``seed``, and ``step`` if
        the table has it), and these fractions from 0 to 1:

        - ``hardest``: accuracy on the hardest token of held-out paths, which is the
          first token after the root.
        - ``exact``: share of held-out paths that are entirely correct.
        - ``easiest_last``: accuracy on the last token of held-out paths.
        - ``trained``: share of training paths that are entirely correct.
        - ``chance``: accuracy of guessing the hardest token of held-out paths.
    """
    about = (
        "part",
        "place",
        "hardest",
        "accuracy",
        "loss",
        "exact",
        "statements",
        "chance",
    )
    keys = [name for name in paths.columns if name not in about]
    held, told = (pl.col("part") == part for part in ("queries", "facts"))
    return paths.group_by(keys, maintain_order=True).agg(
        hardest=pl.col("accuracy").filter(held & pl.col("hardest")).mean(),
        exact=pl.col("exact").filter(held).mean(),
        easiest_last=pl.col("accuracy").filter(held).last(),
        trained=pl.col("exact").filter(told).mean(),
        chance=pl.col("chance").filter(held & pl.col("hardest")).mean(),
    )


def learnt(paths: pl.DataFrame, keys: Sequence[str], half: float = 0.5) -> pl.DataFrame:
    """Return the first step at which the accuracy on each token of held-out paths reaches ``half``.

    A token whose accuracy never reaches ``half`` is treated as learnt one step after
    the last measurement. The root, at place 0, is left out, because it is the same in
    all paths.

    Args:
        paths: A row per run, step and place (index of the token in the path, counted
            from the root), as returned by :func:`inweights.probes.path_accuracy` during
            training.
        keys: Names of the columns that identify the runs.
        half: Smallest accuracy at which a token is regarded as learnt; by default 0.5.

    Returns:
        A row per run and value of ``place``, with the columns ``keys``; ``step``, at
        which this token is learnt; and four columns with the same value in all rows of
        a run: ``order``, the rank correlation of ``step`` and place, which is −1 for a
        reverse cascade (the last token first), 1 for a cascade from the root, and NaN
        if all tokens are learnt at the same step; ``hardest`` and ``last``, the steps
        of the first and the last token; and ``lead``, ``last`` minus ``hardest``, which
        is negative if the last token is learnt first.
    """
    held = paths.filter(pl.col("part") == "queries", pl.col("place") > 0)
    reached = pl.col("step").filter(pl.col("accuracy") >= half).min()
    when = held.group_by([*keys, "place"], maintain_order=True).agg(
        step=reached.fill_null(pl.col("step").max() + 1).cast(pl.Float64)
    )
    order = pl.corr("place", "step", method="spearman")
    is_last = pl.col("place") == pl.col("place").max()
    span = when.group_by(list(keys), maintain_order=True).agg(
        order=order,
        hardest=pl.col("step").filter(pl.col("place") == 1).first(),
        last=pl.col("step").filter(is_last).first(),
    )
    return when.join(
        span.with_columns(lead=pl.col("last") - pl.col("hardest")), on=list(keys)
    )


def token_names() -> pl.Expr:
    """Return a polars expression that names each token of a path by its ``place``.

    Returns:
        A string expression with the name ``token``: ``root`` for place 0,
        ``hardest (1st node)`` for place 1, otherwise ``node 2``, ``node 3``, …
    """
    ranks = {0: "root", 1: "hardest (1st node)"}
    place = pl.col("place")
    others = pl.format("node {}", "place")
    return place.replace_strict(ranks, default=others, return_dtype=pl.String).alias(
        "token"
    )


def mean_recall(edges: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the recall of the edges in each run, averaged over both directions.

    Args:
        edges: A row per run and direction of the edges, with the column ``recall``.
        keys: Names of the columns that identify the runs.

    Returns:
        A row per run: the columns ``keys`` and ``recall``.
    """
    return edges.group_by(list(keys), maintain_order=True).agg(pl.col("recall").mean())


def own_and_other_arms(
    cosines: pl.DataFrame, navigation: pl.DataFrame, keys: Sequence[str]
) -> pl.DataFrame:
    """Compare leaves with the first nodes of their own paths and of other paths.

    Leaves and first nodes are compared by their cosine similarity, averaged over the
    leaves of each run.

    Args:
        cosines: A row per run, leaf and first node of a path, with the columns
            ``cosine`` and ``own`` (whether the first node is on the leaf's own path).
        navigation: A row per run and depth, with the shares ``nearest`` and ``ridge``,
            as returned by :func:`inweights.probes.navigation`; only the rows of depth 1
            are used.
        keys: Names of the columns that identify the runs.

    Returns:
        A row per run: the columns ``keys``; the mean cosines ``own`` and ``others``,
        and their difference ``gap``; ``nearest``, the share of leaves for which the
        first node of their own path is the nearest of all first nodes; and ``ridge``,
        the share of leaves for which a ridge regression finds this node.
    """
    own = pl.col("own")
    cosine = pl.col("cosine")
    first = navigation.filter(pl.col("depth") == 1)
    return (
        cosines.group_by(list(keys), maintain_order=True)
        .agg(own=cosine.filter(own).mean(), others=cosine.filter(~own).mean())
        .with_columns(gap=pl.col("own") - pl.col("others"))
        .join(first.select(*keys, "nearest", "ridge"), on=list(keys))
    )


def path_ends(tables: dict[str, pl.DataFrame], keys: Sequence[str]) -> pl.DataFrame:
    """Return the accuracies on paths and edges of each run at the end of training.

    Args:
        tables: Two tables, keyed by name: ``places``, from
            :func:`inweights.probes.stepwise`, with a row per run, role, part and value
            of ``place`` (index of the token in the answer, from 0); and ``navigation``,
            from :func:`inweights.probes.navigation`.
        keys: Names of the columns that identify the runs.

    Returns:
        A row per run, with the columns ``keys`` and:

        - ``hardest``: accuracy on the hardest token of held-out paths, which is the
          first token after the root.
        - ``exact``: share of held-out paths that are entirely correct.
        - ``trained``: accuracy on the hardest token of training paths.
        - ``edges``: recall of the edges of the role for which it is smallest.
        - ``nearest`` and ``ridge``: share of leaves for which the first node of their
          own path is the nearest, or is found by a ridge regression, as in
          :func:`own_and_other_arms`.
        - ``chance``: accuracy of guessing the first node.

    Raises:
        KeyError: ``tables`` does not contain ``places`` or ``navigation``.
    """
    places = tables["places"]
    paths = places.filter(pl.col("role") == "path", pl.col("place") == 1)
    asked = paths.filter(pl.col("part") == "queries").select(
        *keys, "exact", hardest="accuracy"
    )
    told = paths.filter(pl.col("part") == "facts").select(*keys, trained="accuracy")
    edges = places.filter(pl.col("role") != "path").group_by(
        list(keys), maintain_order=True
    )
    first = tables["navigation"].filter(pl.col("depth") == 1)
    return (
        asked.join(told, on=list(keys))
        .join(edges.agg(edges=pl.col("recall").min()), on=list(keys))
        .join(first.select(*keys, "nearest", "ridge", "chance"), on=list(keys))
    )
