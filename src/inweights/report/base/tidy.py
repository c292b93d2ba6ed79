"""Prepare tidy tables for drawing: check columns, order values, split rows, average seeds.

Drawings call :func:`require` before they draw, :func:`panels` and :func:`distinct` to
split rows, and :func:`spread` for means with intervals.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from inweights.errors import DataError, unknown_name
from inweights.experiments.grammar.controls import CONTROL, NO_CONTROL
from inweights.report.base.frames import REPLICA, SEED
from inweights.support.statistics.intervals import interval

#: Smallest number of seeds for which an interval is drawn; with fewer, it is too wide.
FEWEST = 5


@dataclass(frozen=True)
class Spread:
    """Means, confidence intervals and individual values of a quantity along an axis.

    ``P`` is the number of positions, and ``V`` the number of individual values. Means
    and intervals are NaN at positions without values.

    Attributes:
        at: Positions on the axis, ``[P]``.
        mean: Mean over the seeds at each position, ``[P]``.
        low: Lower end of the 95% confidence interval of the mean, ``[P]``; the mean
            itself if there are fewer than five seeds.
        high: Upper end of this interval, ``[P]``.
        dots_at: Position of each individual value, ``[V]``.
        dots: The individual values, one per seed and position, ``[V]``.
    """

    at: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    dots_at: np.ndarray
    dots: np.ndarray


def plain(value: Any) -> str:
    """Return a table value as readable text; floats have at most six significant digits.

    Example:
        >>> plain(True), plain(0.30000000000000004), plain("gpt"), plain(None)
        ('true', '0.3', 'gpt', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def require(
    drawing: str,
    table: pl.DataFrame,
    columns: Mapping[str, str | None],
    *,
    numbers: Sequence[str] = (),
) -> None:
    """Raise an error unless a table has rows and the columns that a plot uses.

    Args:
        drawing: Name of the drawing function, for error messages.
        table: The table.
        columns: Dictionary that maps each option of the function to the name of a
            column, or to ``None`` if the option is not given.
        numbers: Names of options whose columns must contain numbers; by default none.

    Raises:
        DataError: A column is missing, a column of ``numbers`` contains neither numbers
            nor Booleans, or there are no rows. A column with only nulls is accepted.

    Example:
        >>> require("lines", pl.DataFrame({"seed": [0], "steps": [5]}), {"x": "step"})
        Traceback (most recent call last):
        ...
        inweights.errors.DataError: unknown column 'step'; did you mean 'steps'? Known: seed, steps.
        The drawing 'lines' uses it as x.
    """
    for option, column in columns.items():
        if column is not None and column not in table.columns:
            hint = f"The drawing '{drawing}' uses it as {option}."
            if column == SEED and option == SEED:
                hint = f"The drawing '{drawing}' identifies replicates by it, or by '{REPLICA}'."
            raise unknown_name(
                "column", column, table.columns, error=DataError, hint=hint
            )
        if column is None or option not in numbers:
            continue
        if not (
            table[column].dtype.is_numeric()
            or table[column].dtype in (pl.Boolean, pl.Null)
        ):
            fitting = [
                name
                for name in table.columns
                if table[name].dtype.is_numeric() and name not in (SEED, REPLICA)
            ]
            raise DataError(
                f"the drawing '{drawing}' needs numbers as {option}, but column '{column}' "
                f"contains {str(table[column].dtype).lower()}s; numeric columns: "
                f"{', '.join(fitting) or 'none'}"
            )
    if table.is_empty():
        raise DataError(
            f"the drawing '{drawing}' got a table without rows. Check the measure that writes "
            "it, or remove the figure"
        )


#: Column with the name of the measure in a sweep with several measures.
MEASURE = "measure"


def refuse_mixed(
    drawing: str,
    table: pl.DataFrame,
    y: str,
    *apart: str | None,
    along: str | None = None,
) -> None:
    """Raise an error if a plot would average rows with different values of ``measure``.

    Args:
        drawing: Name of the drawing function, for error messages.
        table: Rows that are drawn; they need not have a column ``measure``.
        y: Name of the column with the plotted numbers.
        *apart: Names of the columns that distinguish lines and panels; ``None`` is
            ignored.
        along: Name of the column of the other axis; ``None`` if there is none.

    Raises:
        DataError: The values of a line belong to several measures.
    """
    if (
        MEASURE not in table.columns
        or MEASURE in (*apart, along)
        or table[MEASURE].dtype != pl.String
    ):
        return
    rows = table.filter(pl.col(y).is_not_null() & pl.col(MEASURE).is_not_null())
    columns = [column for column in apart if column in table.columns]
    groups = rows.group_by(columns, maintain_order=True) if columns else [((), rows)]
    found: list[str] = []
    for _, group in groups:
        found = group[MEASURE].unique(maintain_order=True).to_list()
        if len(found) > 1:
            break
    if len(found) > 1:
        raise DataError(
            f"'{y}' contains numbers of several measures: {', '.join(found)}; the drawing "
            f"'{drawing}' would average them. Draw one with "
            f'table.filter(measure="{found[0]}"), or distinguish them with '
            'facet="measure" or series="measure"'
        )


def in_order(values: Sequence[Any], order: Sequence[str] | None) -> list[Any]:
    """Return values in a given order, followed by the remaining values in their original order.

    Args:
        values: The values, of any type.
        order: Values to place first, as text, in this order; ``None`` for no change.

    Example:
        >>> in_order(["gpt", "mlp", "rnn"], ["mlp", "gpt"])
        ['mlp', 'gpt', 'rnn']
    """
    # All values that are not in the order have the same rank, and sorting is stable.
    rank = {name: place for place, name in enumerate(order or ())}
    return sorted(values, key=lambda value: rank.get(plain(value), len(rank)))


def distinct(
    table: pl.DataFrame, column: str, order: Sequence[str] | None = None
) -> list[Any]:
    """Return the distinct values of a column, in a given order or the order of appearance.

    Args:
        table: The table.
        column: Name of the column. Null is treated as a value (``None``).
        order: Values to place first, as text; the remaining values follow. ``None`` for
            the order of appearance.
    """
    return in_order(table[column].unique(maintain_order=True).to_list(), order)


def panels(
    table: pl.DataFrame, column: str | None, order: Sequence[str] | None = None
) -> list[tuple[Any, pl.DataFrame]]:
    """Split a table by the values of a column.

    Args:
        table: The table.
        column: Name of the column; if it is ``None``, the table is not split.
        order: Values to place first, as text; the remaining values follow. ``None`` for
            the order of appearance.

    Returns:
        Pairs of a value and the table of its rows. If ``column`` is ``None``, the only
        pair is ``(None, table)``.
    """
    if column is None:
        return [(None, table)]
    return [
        (value, table.filter(pl.col(column).eq_missing(pl.lit(value))))
        for value in distinct(table, column, order)
    ]


def controls_apart(
    table: pl.DataFrame, *used: str | None
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Separate the rows of the conditions from the rows of their controls.

    Args:
        table: A table. Its column ``control``, if any, is ``none`` or null for
            conditions, and otherwise the name of a control.
        *used: Names of columns that a plot uses, or ``None``. If ``control`` is one of
            them, nothing is separated.

    Returns:
        The rows of the conditions, and a dictionary that maps each control to its rows.
    """
    if CONTROL not in table.columns or CONTROL in used:
        return table, {}
    table = table.with_columns(pl.col(CONTROL).fill_null(NO_CONTROL))
    split = dict(panels(table, CONTROL))
    own = split.pop(NO_CONTROL, table.clear())
    return own, {str(name): rows for name, rows in split.items()}


def spread(
    rows: pl.DataFrame, axis: str, value: str, bounds: Sequence[float] | None = None
) -> Spread:
    """Compute means over seeds with 95% intervals, and individual values, along an axis.

    Several rows of the same seed at the same position are averaged first. Missing and
    non-finite values are ignored. At a position without values, the mean is NaN, so
    that the line is interrupted. With fewer than five seeds, both ends of the interval
    are the mean.

    Args:
        rows: Table with a column ``seed``, which must not be empty.
        axis: Name of the column with positions.
        value: Name of the column with numbers or Booleans.
        bounds: Smallest and largest possible value, to which intervals are clipped;
            ``None`` for no bounds.

    Returns:
        Means, intervals and individual values, in ascending order of positions.
    """
    numbers = pl.col(value).cast(pl.Float64)
    finite = pl.when(numbers.is_finite()).then(numbers)
    # A seed is a single replicate, regardless of its number of rows.
    per_seed = (
        rows.group_by([axis, SEED])
        .agg(finite.mean().alias("_value"))
        .sort([axis, SEED])
    )
    ends = []
    dots = []
    cut = None if bounds is None else (bounds[0], bounds[1])
    for (place,), group in per_seed.group_by([axis], maintain_order=True):
        sample = group["_value"].drop_nulls().to_numpy()
        mean, low, high = (
            interval(sample, bounds=cut) if len(sample) else (math.nan,) * 3
        )
        # With few seeds, the interval is so wide that it hides the single values.
        if len(sample) < FEWEST:
            low = high = mean
        ends.append((place, mean, low, high))
        dots += [(place, value) for value in sample.tolist()]
    columns = (
        *zip(*ends, strict=True),
        *(zip(*dots, strict=True) if dots else ((), ())),
    )
    return Spread(*map(np.asarray, columns))


def wider(limits: Sequence[float], share: float = 0.03) -> tuple[float, float]:
    """Return the limits of an axis with a margin, so that markers at the limits are not cut off.

    Args:
        limits: Lower and upper limit, two numbers.
        share: Margin on each side, as a fraction of the distance between the limits.
    """
    low, high = limits
    margin = share * (high - low)
    return low - margin, high + margin
