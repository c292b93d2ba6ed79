"""Read a matrix from a table with one row per cell, with groups and a colour scale.

:func:`matrix_of` reads a :class:`Matrix` from a tidy table, and :mod:`~.paint` draws
the matrix.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import polars as pl
from matplotlib.colors import Normalize

from inweights.report.base import tidy


@dataclass(frozen=True)
class Matrix:
    """Matrix with the labels and groups of its rows and columns.

    Attributes:
        values: Float64 array of shape ``[rows, columns]``; missing values are NaN.
        rows: Labels of the rows.
        columns: Labels of the columns.
        boxes: Indices ``(row, column)`` of cells that are drawn with a box.
        row_groups: Groups of consecutive rows as ``(name, first, last)``: the name and
            the indices of the first and the last row (inclusive); empty if there are no
            groups.
        column_groups: Groups of consecutive columns, in the same form.
    """

    values: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    boxes: tuple[tuple[int, int], ...] = ()
    row_groups: tuple[tuple[str, int, int], ...] = ()
    column_groups: tuple[tuple[str, int, int], ...] = ()


def matrix_of(
    table: pl.DataFrame,
    row: str,
    column: str,
    value: str,
    *,
    box: str | None = None,
    row_group: str | None = None,
    column_group: str | None = None,
) -> Matrix:
    """Read a matrix from a table with one row per cell.

    Rows and columns are in the order in which their labels appear in the table. Several
    rows for the same cell, such as those of different seeds, are averaged; missing and
    non-finite numbers are ignored.

    Args:
        table: Table with one row per cell and seed, and the columns that the other
            arguments name.
        row: Name of the column with the label of the matrix row.
        column: Name of the column with the label of the matrix column.
        value: Name of the column with the number in the cell.
        box: Name of the Boolean column that marks cells that are drawn with a box;
            ``None`` for no boxes.
        row_group: Name of the column with the group of the matrix row; ``None`` for no
            groups.
        column_group: Name of the column with the group of the matrix column; ``None``
            for no groups.

    Returns:
        The matrix. A cell without a finite number is NaN. A cell has a box if at least
        one of its table rows is marked. The group of a matrix row or column is taken
        from the first table row that belongs to it.

    Example:
        >>> table = pl.DataFrame({"in": ["a", "a"], "out": ["b", "c"], "logit": [1.0, 2.0]})
        >>> matrix_of(table, "in", "out", "logit").values
        array([[1., 2.]])
    """
    rows = list(map(tidy.plain, tidy.distinct(table, row)))
    columns = list(map(tidy.plain, tidy.distinct(table, column)))
    row_at = {name: place for place, name in enumerate(rows)}
    column_at = {name: place for place, name in enumerate(columns)}
    total = np.zeros((len(rows), len(columns)))
    count = np.zeros_like(total)
    boxes: set[tuple[int, int]] = set()
    row_names: dict[int, str] = {}
    column_names: dict[int, str] = {}
    for line in table.iter_rows(named=True):
        at = row_at[tidy.plain(line[row])], column_at[tidy.plain(line[column])]
        if line[value] is not None and math.isfinite(line[value]):
            total[at] += line[value]
            count[at] += 1
        if box is not None and line[box]:
            boxes.add(at)
        if row_group is not None:
            row_names.setdefault(at[0], tidy.plain(line[row_group]))
        if column_group is not None:
            column_names.setdefault(at[1], tidy.plain(line[column_group]))
    # A cell with several rows, such as one for each seed, has their mean.
    values = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return Matrix(
        values,
        tuple(rows),
        tuple(columns),
        tuple(sorted(boxes)),
        _runs([row_names[i] for i in range(len(rows))] if row_group else []),
        _runs([column_names[i] for i in range(len(columns))] if column_group else []),
    )


def _runs(names: Sequence[str]) -> tuple[tuple[str, int, int], ...]:
    runs = []
    for name, members in groupby(range(len(names)), key=lambda place: names[place]):
        places = list(members)
        runs.append((name, places[0], places[-1]))
    return tuple(runs)


def scale_of(matrices: Sequence[Matrix], limit: float | None) -> Normalize:
    """Return a common colour scale for several matrices, symmetric about zero.

    Args:
        matrices: The matrices.
        limit: Largest absolute value on the scale; ``None`` for the largest absolute
            value in the matrices.

    Returns:
        A ``Normalize`` of matplotlib from ``-limit`` to ``limit``. The range is -1 to 1
        if ``limit`` is 0, or if it is ``None`` and all values are zero or missing.
    """
    sizes = [
        np.nanmax(np.abs(m.values)) for m in matrices if not np.isnan(m.values).all()
    ]
    top = limit if limit is not None else max(map(float, sizes), default=1.0)
    # The scale must not be empty if all values are zero.
    return Normalize(-(top or 1.0), top or 1.0)
