"""Small multiples of matrices, with groups of rows and columns set apart and named."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath

from inweights.report import style, tidy
from inweights.report.registry import drawing

__all__ = ["Matrix", "heatmaps", "matrix_of", "paint"]

_LEGIBLE = 0.105  # inches a row needs for its label
_CELL = (0.032, 0.2)  # inches, least and greatest side of a cell
_TICK = 6.5  # points


@dataclass(frozen=True)
class Matrix:
    """A matrix read from long rows.

    Attributes:
        values: ``[rows, columns]``; NaN where the table has no row.
        rows: Label of each row.
        columns: Label of each column.
        boxes: Cells ``(row, column)`` that carry a box.
        row_groups: ``(name, first, last)`` of each run of rows of one group.
        column_groups: The same for columns.
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
    """Return the matrix in long rows; rows and columns keep the order of first appearance.

    Rows of several seeds are averaged.

    Example:
        >>> table = pl.DataFrame({"in": ["a", "a"], "out": ["b", "c"], "logit": [1.0, 2.0]})
        >>> matrix_of(table, "in", "out", "logit").values
        array([[1., 2.]])
    """
    rows = [tidy.plain(v) for v in tidy.distinct(table, row)]
    columns = [tidy.plain(v) for v in tidy.distinct(table, column)]
    row_at, column_at = ({n: i for i, n in enumerate(names)} for names in (rows, columns))
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


@drawing("heatmaps")
def heatmaps(
    table: pl.DataFrame,
    *,
    row: str,
    column: str,
    value: str,
    panel: str | None = None,
    box: str | None = None,
    row_group: str | None = None,
    column_group: str | None = None,
    order: Sequence[str] | None = None,
    value_label: str | None = None,
    limit: float | None = None,
) -> Figure:
    """Draw one matrix for each ``panel``; all share a colour scale that is white at zero.

    Args:
        table: Long rows, one a cell; rows of several seeds are averaged.
        row: Column with the label of a cell's row.
        column: Column with the label of a cell's column.
        value: Column of numbers.
        panel: Column that tells the matrices apart; one matrix if left out.
        box: Boolean column; its cells carry a red box, such as the greatest of a row.
        row_group: Column with the group of the row; runs of one group are set apart and named.
        column_group: The same for columns.
        order: Panels in the order wanted; the others follow.
        value_label: Text of the colour bar; the column's name if left out.
        limit: Greatest size on the colour scale; the greatest in the table if left out.

    Raises:
        DataError: A column is missing, or the table has no rows.

    Example:
        >>> table = pl.DataFrame({"in": ["a", "a"], "out": ["b", "c"], "logit": [1.0, -2.0]})
        >>> len(heatmaps(table, row="in", column="out", value="logit").axes)  # and its colour bar
        2
    """
    used = {"panel": panel, "row": row, "column": column, "value": value, "box": box}
    tidy.require("heatmaps", table, {**used, "row_group": row_group, "column_group": column_group})
    drawn = [
        (
            "" if panel is None else tidy.plain(name),
            matrix_of(
                rows,
                row,
                column,
                value,
                box=box,
                row_group=row_group,
                column_group=column_group,
            ),
        )
        for name, rows in tidy.panels(table, panel, order)
    ]
    scale = scale_of([matrix for _, matrix in drawn], limit)
    with style.context():
        figure, grid, cell, across = _grid([matrix for _, matrix in drawn])
        image: AxesImage | None = None
        for place, (axes, (title, matrix)) in enumerate(zip(grid, drawn, strict=False)):
            same = place > 0 and _same_rows(matrix, drawn[place - 1][1])
            first = place % across == 0 or not same
            image = paint(axes, matrix, scale, cell, rows=first)
            style.panel_title(axes, title)
        assert image is not None
        bar = figure.colorbar(image, ax=list(grid), shrink=0.8, aspect=22, pad=0.02, fraction=0.05)
        bar.set_label(value_label or value)
        bar.outline.set_visible(False)  # type: ignore[operator]
        figure.draw_without_rendering()
    return figure


def scale_of(matrices: Sequence[Matrix], limit: float | None) -> Normalize:
    """Return the colour scale that the matrices share, symmetric about zero."""
    sizes = [np.nanmax(np.abs(m.values)) for m in matrices if not np.isnan(m.values).all()]
    top = limit if limit is not None else max((float(size) for size in sizes), default=1.0)
    return Normalize(-(top or 1.0), top or 1.0)


def _same_rows(one: Matrix, other: Matrix) -> bool:
    return one.rows == other.rows and one.row_groups == other.row_groups


def _across(panels: int, wide: int) -> int:
    """How many panels stand side by side: as many as stay legible."""
    floor = _LEGIBLE if _room(1) / wide >= _LEGIBLE else _CELL[0]
    most = max((n for n in range(1, min(panels, 4) + 1) if _room(n) / wide >= floor), default=1)
    return math.ceil(panels / math.ceil(panels / most))


def _room(across: int) -> float:
    """Inches that a panel has for its cells."""
    return (style.FULL_WIDTH - 1.7) / across - 0.25


def _grid(matrices: Sequence[Matrix]) -> tuple[Figure, list[Axes], float, int]:
    """A figure whose panels have room for cells of one size; the size, and panels in a row."""
    tall = max(len(m.rows) for m in matrices)
    wide = max(len(m.columns) for m in matrices)
    across = _across(len(matrices), wide)
    cell = min(_CELL[1], 4.5 / tall, _room(across) / wide)
    down = math.ceil(len(matrices) / across)
    width = min(style.FULL_WIDTH, 1.9 + across * (max(0.5, wide * cell) + 0.25))
    height = down * (max(0.8, tall * cell) + 0.85) + 0.1
    figure = Figure(figsize=(max(2.6, width), height), layout="compressed")
    grid = list(figure.subplots(down, across, squeeze=False).flat)
    for extra in grid[len(matrices) :]:
        extra.set_visible(False)
    return figure, grid[: len(matrices)], cell, across


def paint(
    axes: Axes,
    matrix: Matrix,
    scale: Normalize,
    cell: float,
    *,
    rows: bool = True,
    columns: bool = True,
) -> AxesImage:
    """Paint a matrix into a panel.

    Args:
        axes: The panel.
        matrix: What to paint.
        scale: The colour scale.
        cell: Side of a cell in inches, which decides whether labels can be read.
        rows: Whether to name the rows and their groups.
        columns: Whether to name the columns and their groups.
    """
    image = axes.imshow(matrix.values, cmap=style.DIVERGING, norm=scale, interpolation="none")
    axes.set_facecolor("#eceff3")
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(style.GREY)
    for _, _, last in matrix.row_groups[:-1]:
        axes.axhline(last + 0.5, color=style.INK, linewidth=0.7)
    for _, _, last in matrix.column_groups[:-1]:
        axes.axvline(last + 0.5, color=style.INK, linewidth=0.7)
    for y, x in matrix.boxes:
        edge = max(0.5, min(1.4, cell * 9))
        frame = Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=style.BOX, linewidth=edge)
        frame.set_zorder(5)
        frame.set_clip_on(False)
        axes.add_patch(frame)
    legible = cell >= _LEGIBLE
    axes.tick_params(length=0, pad=2, labelsize=_TICK)
    shown = legible and rows
    axes.set_yticks(range(len(matrix.rows)) if shown else [], matrix.rows if shown else [])
    shown = legible and columns
    axes.set_xticks(range(len(matrix.columns)) if shown else [], matrix.columns if shown else [])
    if shown and max(_width(name, _TICK) for name in matrix.columns) > cell * 72:
        axes.tick_params(axis="x", rotation=90)
    if rows:
        _row_groups(axes, matrix, cell, legible)
    if columns:
        _column_groups(axes, matrix, cell, legible)
    return image


def _width(text: str, size: float) -> float:
    """Width of a text in points."""
    if not text.strip():
        return 0.0
    return float(TextPath((0, 0), text, size=size, prop=FontProperties()).get_extents().width)


def _row_groups(axes: Axes, matrix: Matrix, cell: float, ticks: bool) -> None:
    out = max((_width(name, _TICK) for name in matrix.rows), default=0.0) + 7 if ticks else 4.0
    room = [(last - first + 1) * cell * 72 for _, first, last in matrix.row_groups]
    upright = all(r >= style.SMALL * 1.15 for r in room)
    for (name, first, last), space in zip(matrix.row_groups, room, strict=True):
        turned = not upright and _width(name, style.SMALL) <= space
        axes.annotate(
            name,
            (0, (first + last) / 2),
            xycoords=("axes fraction", "data"),
            xytext=(-out, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            rotation=90 if turned else 0,
            fontsize=style.SMALL,
            color=style.INK,
            annotation_clip=False,
        )


def _column_groups(axes: Axes, matrix: Matrix, cell: float, ticks: bool) -> None:
    names = [_width(name, _TICK) for name in matrix.columns]
    deep = max(names, default=0.0)
    out = (deep if deep > cell * 72 else _TICK) + 8 if ticks else 4.0
    groups = matrix.column_groups
    room = [(last - first + 1) * cell * 72 for _, first, last in groups]
    level = all(_width(n, style.SMALL) <= r + 2 for (n, _, _), r in zip(groups, room, strict=True))
    for name, first, last in groups:
        axes.annotate(
            name,
            ((first + last) / 2, 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -out),
            textcoords="offset points",
            ha="center" if level else "right",
            va="top",
            rotation=0 if level else 40,
            rotation_mode="default" if level else "anchor",
            fontsize=style.SMALL,
            color=style.INK,
            annotation_clip=False,
        )
