"""Compute the tables that the functions ``derive`` of several recipes have in common."""

import math
from collections.abc import Mapping, Sequence

import polars as pl


def compositions(accuracy: pl.DataFrame, distribution: str = "out") -> pl.DataFrame:
    """Return the rows for queries inside or outside the training distribution, with all columns.

    Args:
        accuracy: Table of :func:`inweights.probes.accuracy`.
        distribution: ``out`` (the default) for queries outside the training
            distribution, or ``in`` for queries within it.

    Returns:
        The rows whose ``part`` is ``queries`` and whose ``distribution`` matches the
        argument.
    """
    return accuracy.filter(
        pl.col("part") == "queries", pl.col("distribution") == distribution
    )


def memorised(accuracy: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the lowest accuracy of each run over the roles (kinds) of facts.

    Args:
        accuracy: Table of :func:`inweights.probes.accuracy`.
        labels: Names of the columns that identify the trials.

    Returns:
        A row per run: the columns ``labels``, ``seed`` and ``accuracy`` (0 to 1), the
        smallest accuracy over the roles of facts.
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
    """Set the ``accuracy`` of queries to NaN in runs that have not memorised their facts.

    A claim that depends on such a run is not judged, because the run may have failed to
    memorise the facts rather than to combine them.

    Args:
        queries: One or more rows per run, with ``accuracy`` and the columns ``labels``
            and ``seed``.
        accuracy: Table of :func:`inweights.probes.accuracy`.
        labels: Names of the columns that identify the trials.
        least: Smallest accuracy at which the facts of a run are regarded as memorised;
            by default 0.99.

    Returns:
        The rows of ``queries``, in which ``accuracy`` is NaN if the facts are not
        memorised, with the additional column ``recall``, the lowest accuracy of the run
        over the roles of facts. Runs without rows about facts in ``accuracy`` are left
        out.

    Example:
        >>> runs = pl.DataFrame({"model": ["a", "b"], "seed": [0, 0], "accuracy": [1.0, 0.9]})
        >>> facts = runs.with_columns(part=pl.lit("facts"))
        >>> where_known(runs, facts, ["model"])["accuracy"].to_list()
        [1.0, nan]
    """
    keys = [*labels, "seed"]
    recall = memorised(accuracy, labels).select(*keys, recall="accuracy")
    # The value is NaN and its row is not dropped, since otherwise a claim would be
    # judged by the other runs alone.
    known = pl.when(pl.col("recall") >= least).then("accuracy").otherwise(math.nan)
    return queries.join(recall, on=keys, maintain_order="left").with_columns(
        accuracy=known
    )


def excess(queries: pl.DataFrame, column: str = "accuracy") -> pl.DataFrame:
    """Return the rows with a complexity above 1, and the excess of an accuracy over ``1/C``.

    Args:
        queries: Rows with ``complexity`` (``C``, the number of objects that a subject
            leads to) and the column named by ``column``.
        column: Name of the column of the accuracy; by default ``accuracy``.

    Returns:
        The rows of ``queries`` with complexity above 1, with the additional columns
        ``one_over_c`` (``1/C``) and ``excess`` (the accuracy minus ``1/C``).
    """
    return queries.filter(pl.col("complexity") > 1).with_columns(
        one_over_c=1.0 / pl.col("complexity"),
        excess=pl.col(column) - 1.0 / pl.col("complexity"),
    )


def extremes(margins: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the smallest and the largest margin over the queries of each run.

    Args:
        margins: A row per query, with ``margin``.
        labels: Names of the columns that identify the trials.

    Returns:
        A row per run: the columns ``labels``, ``seed``, ``least`` and ``largest``.
    """
    return margins.group_by([*labels, "seed"], maintain_order=True).agg(
        least=pl.col("margin").min(), largest=pl.col("margin").max()
    )


def over_blocks(
    layers: pl.DataFrame, columns: Sequence[str], by: Sequence[str]
) -> pl.DataFrame:
    """Return the means of columns over the blocks of a model, excluding its embedding and output.

    Args:
        layers: A row per layer, whose name is in the column ``layer``. Blocks are the
            layers whose name begins with ``block``; all other rows are ignored.
        columns: Names of the columns to average.
        by: Names of the columns that define the groups.

    Returns:
        A row per group: the columns ``by``, and the columns ``columns`` with the means.
    """
    blocks = layers.filter(pl.col("layer").str.starts_with("block"))
    return blocks.group_by(list(by), maintain_order=True).agg(
        pl.col(list(columns)).mean()
    )


def half_time(curves: pl.DataFrame, column: str, by: Sequence[str]) -> pl.DataFrame:
    """Return the first step at which a column is half-way from its first value to its maximum.

    The column is half-way when its value is at least the mean of its first value and
    its maximum.

    Args:
        curves: A row per ``step`` of each curve, in any order.
        column: Name of the column that contains the value of the curve.
        by: Names of the columns that identify the curves.

    Returns:
        A row per curve: the columns ``by``, and ``half_time``, the step as a float.
    """
    ordered = curves.sort("step", maintain_order=True)
    half = (pl.col(column).first() + pl.col(column).max()) / 2
    return ordered.group_by(list(by), maintain_order=True).agg(
        half_time=pl.col("step").filter(pl.col(column) >= half).first().cast(pl.Float64)
    )


def mean_by_hops(cosines: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the mean cosine over all pairs of nodes at each distance of at least one hop.

    Args:
        cosines: A row per pair of nodes, with ``hops`` (their distance) and ``cosine``.
            Pairs of a node with itself (distance 0), and pairs that no path connects,
            are left out.
        by: Names of the columns that identify the trials.

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
    """Return the table with additional rows for random vectors.

    The rows with the same ``label`` as the first row are copied. In the copies, the
    mean of the null distribution replaces the measured value, and the label is
    ``name``.

    Args:
        table: The rows.
        column: Name of the column of the measured value.
        null: Name of the column that contains the mean of the null distribution.
        label: Name of the column of the label.
        name: Label of the new rows.

    Returns:
        The rows of ``table``, followed by the new rows, with the same columns.
    """
    one = table.filter(pl.col(label) == table[label].first())
    drawn = one.with_columns(pl.col(null).alias(column), pl.lit(name).alias(label))
    return pl.concat([table, drawn])


def correlation(
    table: pl.DataFrame, one: str, other: str, by: Sequence[str]
) -> pl.DataFrame:
    """Return Pearson's correlation of two columns over the rows of each group.

    Args:
        table: The rows.
        one: Name of the first column.
        other: Name of the second column.
        by: Names of the columns that define the groups.

    Returns:
        A row per group: the columns ``by``, and ``correlation`` (NaN if a column is
        constant in the group, or if the group has only one row).
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
    """Add the difference between a column and its value in the reference row of each group.

    Args:
        table: The rows.
        column: Name of the column.
        over: Dictionary that maps names of columns to their values in the reference
            row. Each group should contain exactly one such row, because any additional
            match duplicates all rows of the group.
        by: Names of the columns that define the groups.

    Returns:
        The rows of the groups that have a reference row, with two additional columns:
        ``_base``, the value of ``column`` in the reference row, and ``gain``, the value
        of ``column`` minus ``_base``.
    """
    base = table.filter(*(pl.col(name) == value for name, value in over.items()))
    base = base.select(*by, pl.col(column).alias("_base"))
    return table.join(base, on=list(by)).with_columns(
        gain=pl.col(column) - pl.col("_base")
    )


def at_the_end(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows of the last step of each run.

    Args:
        table: A row per run and value of ``step``.
        keys: Names of the columns that identify the runs, which may end at different
            steps.

    Returns:
        The rows with the largest ``step`` of each run, with all columns, in the order
        of the table.
    """
    return table.filter(pl.col("step") == pl.col("step").max().over(list(keys)))


def first_step(
    table: pl.DataFrame, column: str, keys: Sequence[str], least: float = 0.5
) -> pl.DataFrame:
    """Return the first step at which a column of each run reaches a value.

    Args:
        table: A row per run and value of ``step``.
        column: Name of the column that is compared with ``least``.
        keys: Names of the columns that identify the runs.
        least: Value that the column has to reach or exceed; by default 0.5.

    Returns:
        A row per run: the columns ``keys``, and ``first``, the step as a float; if the
        value is never reached, the last step of the run plus 1.
    """
    reached = pl.col("step").filter(pl.col(column) >= least).min()
    # Later than any measured step, so that a run which never reaches the value is the
    # slowest in every comparison.
    never = pl.col("step").max() + 1
    return table.group_by(list(keys), maintain_order=True).agg(
        first=reached.fill_null(never).cast(pl.Float64)
    )
