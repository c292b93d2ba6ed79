"""Derive tables from measured ones, as several recipes need them in their ``derive``."""

import math
from collections.abc import Mapping, Sequence

import polars as pl


def compositions(accuracy: pl.DataFrame, distribution: str = "out") -> pl.DataFrame:
    """Return the rows of the queries of one distribution, with all columns.

    Args:
        accuracy: Table of :func:`inweights.probes.accuracy`.
        distribution: ``out`` or ``in``: out of the training distribution, or in it.
    """
    return accuracy.filter(
        pl.col("part") == "queries", pl.col("distribution") == distribution
    )


def memorised(accuracy: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the accuracy of each run on the facts of its least known role.

    Args:
        accuracy: Table of :func:`inweights.probes.accuracy`.
        labels: Columns that name the trials.

    Returns:
        A row per run: the columns ``labels``, ``seed`` and ``accuracy``, the least over
        the roles of facts.
    """
    facts = accuracy.filter(pl.col("part") == "facts")
    return facts.group_by([*labels, "seed"], maintain_order=True).agg(
        pl.col("accuracy").min()
    )


def where_known(
    queries: pl.DataFrame,
    accuracy: pl.DataFrame,
    labels: Sequence[str],
    least: float = 0.99,
) -> pl.DataFrame:
    """Set the ``accuracy`` of queries to NaN for runs that have not memorised their facts.

    A claim that depends on such a run is not judged, because a failure to answer may be
    a failure to memorise.

    Args:
        queries: A row per run (or several) with ``accuracy``, and the columns
            ``labels`` and ``seed``.
        accuracy: Table of :func:`inweights.probes.accuracy`.
        labels: Columns that name the trials.
        least: Accuracy from which on a run's facts count as memorised; by default 0.99.

    Returns:
        ``queries``, with ``accuracy`` replaced by NaN where the facts are not
        memorised, and with a further column ``recall``, the accuracy on the least known
        role of facts.

    Example:
        >>> runs = pl.DataFrame({"model": ["a", "b"], "seed": [0, 0], "accuracy": [1.0, 0.9]})
        >>> facts = runs.with_columns(part=pl.lit("facts"))
        >>> where_known(runs, facts, ["model"])["accuracy"].to_list()
        [1.0, nan]
    """
    keys = [*labels, "seed"]
    recall = memorised(accuracy, labels).select(*keys, recall="accuracy")
    # Not a number, and not left out: a missing row would leave a claim to be judged by
    # the other runs.
    known = pl.when(pl.col("recall") >= least).then("accuracy").otherwise(math.nan)
    return queries.join(recall, on=keys, maintain_order="left").with_columns(
        accuracy=known
    )


def excess(queries: pl.DataFrame, column: str = "accuracy") -> pl.DataFrame:
    """Return rows of complexity above 1, with the ``excess`` of an accuracy over ``1/C``.

    Args:
        queries: Rows with ``complexity`` (``C``, the number of objects that a subject
            leads to) and ``column``.
        column: Column of the accuracy; by default ``accuracy``.

    Returns:
        The rows of ``queries`` with complexity above 1, with the additional columns
        ``one_over_c`` (``1/C``) and ``excess`` (the accuracy minus ``1/C``).
    """
    return queries.filter(pl.col("complexity") > 1).with_columns(
        one_over_c=1.0 / pl.col("complexity"),
        excess=pl.col(column) - 1.0 / pl.col("complexity"),
    )


def extremes(margins: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the ``least`` and ``largest`` margin over the queries of each run.

    Args:
        margins: A row per query, with ``margin``.
        labels: Columns that name the trials.

    Returns:
        A row per run: ``labels``, ``seed``, ``least`` and ``largest``.
    """
    return margins.group_by([*labels, "seed"], maintain_order=True).agg(
        least=pl.col("margin").min(), largest=pl.col("margin").max()
    )


def over_blocks(
    layers: pl.DataFrame, columns: Sequence[str], by: Sequence[str]
) -> pl.DataFrame:
    """Return the mean of columns over the blocks of a model, without its embedding and output.

    Args:
        layers: A row per layer, whose name is in ``layer``; blocks are the layers whose
            name begins with ``block``.
        columns: Columns to average.
        by: Columns that name the groups.

    Returns:
        A row per group: the columns ``by``, and the means under the names of
        ``columns``.
    """
    blocks = layers.filter(pl.col("layer").str.starts_with("block"))
    return blocks.group_by(list(by), maintain_order=True).agg(
        pl.col(list(columns)).mean()
    )


def half_time(curves: pl.DataFrame, column: str, by: Sequence[str]) -> pl.DataFrame:
    """Return the first step at which a column is half-way from its first value to its maximum.

    Args:
        curves: A row per ``step`` of each curve, in any order.
        column: Column of the curve's value.
        by: Columns that name the curves.

    Returns:
        A row per curve: the columns ``by``, and ``half_time``, the step as a float.
    """
    ordered = curves.sort("step", maintain_order=True)
    half = (pl.col(column).first() + pl.col(column).max()) / 2
    return ordered.group_by(list(by), maintain_order=True).agg(
        half_time=pl.col("step").filter(pl.col(column) >= half).first().cast(pl.Float64)
    )


def mean_by_hops(cosines: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the mean cosine over all pairs of nodes of equal distance, one hop and more.

    Args:
        cosines: A row per pair of nodes, with ``hops`` (their distance) and ``cosine``;
            pairs at distance 0, a node and itself, are left out.
        by: Columns that name the trials.

    Returns:
        A row per run and distance: the columns ``by``, ``seed``, ``hops`` and
        ``cosine`` (the mean).
    """
    pairs = cosines.filter(pl.col("hops") >= 1)
    return pairs.group_by([*by, "seed", "hops"], maintain_order=True).agg(
        pl.col("cosine").mean()
    )


def beside_chance(
    table: pl.DataFrame, column: str, null: str, *, label: str, name: str
) -> pl.DataFrame:
    """Return a table with additional rows for random vectors, whose ``label`` is ``name``.

    The rows with the first value of ``label`` in the table are copied, with the mean of
    their null distribution as the measured value.

    Args:
        table: The rows.
        column: Column of the measured value, which in the new rows is the mean of the
            null distribution.
        null: Column of that mean.
        label: Column of the label.
        name: Value of the label in the new rows.

    Returns:
        The rows of ``table``, then the new ones, with the same columns.
    """
    one = table.filter(pl.col(label) == table[label].first())
    drawn = one.with_columns(pl.col(null).alias(column), pl.lit(name).alias(label))
    return pl.concat([table, drawn])


def correlation(
    table: pl.DataFrame, one: str, other: str, by: Sequence[str]
) -> pl.DataFrame:
    """Return the correlation of two columns over the rows of every group.

    Args:
        table: The rows.
        one: Name of a column.
        other: Name of the other column.
        by: Columns that name the groups.

    Returns:
        A row per group: the columns ``by``, and ``correlation`` (Pearson's; NaN if a
        column is constant).
    """
    return table.group_by(list(by), maintain_order=True).agg(
        correlation=pl.corr(one, other)
    )


def gain(
    table: pl.DataFrame,
    column: str,
    over: Mapping[str, str | float | bool],
    by: Sequence[str],
) -> pl.DataFrame:
    """Add the column ``gain``: a column minus its value in the group's row that matches ``over``.

    Args:
        table: The rows.
        column: Name of the column.
        over: Values of columns, by name, that identify the subtracted row in each
            group; there should be one such row per group, since each further one
            repeats the group's rows.
        by: Columns that name the groups.

    Returns:
        The rows of ``table`` whose group has such a row, with the subtracted value
        (``_base``) and ``gain``.
    """
    base = table.filter(*(pl.col(name) == value for name, value in over.items()))
    base = base.select(*by, pl.col(column).alias("_base"))
    return table.join(base, on=list(by)).with_columns(
        gain=pl.col(column) - pl.col("_base")
    )


def at_the_end(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows of the last step of every run.

    Args:
        table: A row per run and ``step``.
        keys: Columns that name the runs; each run can end at another step.

    Returns:
        The rows whose ``step`` is the largest of their run, with all columns.
    """
    return table.filter(pl.col("step") == pl.col("step").max().over(list(keys)))


def first_step(
    table: pl.DataFrame, column: str, keys: Sequence[str], least: float = 0.5
) -> pl.DataFrame:
    """Return the first step at which a column reaches a value.

    Args:
        table: A row per run and ``step``.
        column: The column.
        keys: Columns that name the runs.
        least: Value to reach; by default 0.5.

    Returns:
        A row per run: the columns ``keys``, and ``first``, the step as a float; if the
        value is never reached, one more than the last step of the run.
    """
    reached = pl.col("step").filter(pl.col(column) >= least).min()
    # Later than any step that was seen, so that a run which never gets there is the
    # slowest in every comparison.
    never = pl.col("step").max() + 1
    return table.group_by(list(keys), maintain_order=True).agg(
        first=reached.fill_null(never).cast(pl.Float64)
    )
