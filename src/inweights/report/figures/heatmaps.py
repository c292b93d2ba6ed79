"""Draw several matrices with the same colour scale and the same size of cells.

:class:`Heatmaps` is registered as the drawing ``heatmaps``.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise

import polars as pl
from matplotlib.figure import Figure

from inweights.report.base import style, tidy
from inweights.report.base.matrix import Matrix, matrix_of, scale_of
from inweights.report.base.paint import LEGIBLE, paint, plan_labels, text_width, wrap
from inweights.report.base.registry import drawing

_SMALLEST, _LARGEST = 0.032, 0.22  # inches, side of a cell
_TALLEST = 4.5  # inches, height of a panel
_BAR = 0.72  # inches that the colour bar takes
_LINE = 0.165  # inches, a line of a panel's title
_GAP = 0.16  # inches between panels


@drawing("heatmaps")
@dataclass(frozen=True, eq=False)
class Heatmaps:
    """Draw one matrix for each value of ``panel``, with one colour scale that is white at zero.

    Attributes:
        table: Table with one row per cell and seed. The values of several rows for the
            same cell are averaged.
        row: Name of the column with the label of the matrix row.
        column: Name of the column with the label of the matrix column.
        value: Name of the column with the number in the cell.
        panel: Name of the column that distinguishes matrices; ``None`` for a single
            matrix.
        box: Name of the Boolean column that marks cells with a red box, such as the
            largest cell of each row; ``None`` for no boxes.
        row_group: Name of the column with the group of the matrix row. Groups of
            consecutive rows are separated and have labels. ``None`` for no groups.
        column_group: Name of the column with the group of the matrix column; ``None``
            for no groups.
        order: Values of ``panel`` to show first, in this order; the remaining values
            follow. ``None`` for the order of the table.
        value_label: Label of the colour bar; by default the name of the column
            ``value``.
        limit: Largest absolute value on the colour scale; by default the largest
            absolute value in the drawn matrices.
        columns: Maximum number of panels side by side, by default 4. Fewer are used if
            cells would be too small.

    Raises:
        DataError: A column is missing, ``value`` contains no numbers, or there are no
            rows.
    """

    table: pl.DataFrame
    _: KW_ONLY
    row: str
    column: str
    value: str
    panel: str | None = None
    box: str | None = None
    row_group: str | None = None
    column_group: str | None = None
    order: Sequence[str] | None = None
    value_label: str | None = None
    limit: float | None = None
    columns: int = 4

    def __post_init__(self) -> None:
        names = ("panel", "row", "column", "value", "box", "row_group", "column_group")
        used = {name: getattr(self, name) for name in names}
        tidy.require("heatmaps", self.table, used, numbers=("value",))

    def draw(self) -> Figure:
        """Draw the matrices with a common colour bar, and return the matplotlib figure.

        The labels of a matrix's rows and columns are in the columns :attr:`row` and
        :attr:`column`, and its numbers in :attr:`value`.

        There is one matrix for each value of the column ``panel``, or a single matrix
        if this option is not set. Columns are checked when the object is created, not
        by this method.
        """
        parts = tidy.panels(self.table, self.panel, self.order)
        titles = ["" if self.panel is None else tidy.plain(name) for name, _ in parts]
        drawn = [
            matrix_of(
                rows,
                self.row,
                self.column,
                self.value,
                box=self.box,
                row_group=self.row_group,
                column_group=self.column_group,
            )
            for _, rows in parts
        ]
        scale = scale_of(drawn, self.limit)
        plan = _plan(drawn, titles, self.columns)
        with style.context():
            figure = Figure(figsize=(plan.width, plan.height))
            for place, (matrix, (left, top)) in enumerate(
                zip(drawn, plan.corners, strict=True)
            ):
                wide = len(matrix.columns) * plan.cell
                high = len(matrix.rows) * plan.cell
                axes = figure.add_axes(_share(plan, left, top, wide, high))
                image = paint(
                    axes, matrix, scale, (plan.cell, plan.cell), rows=plan.named[place]
                )
                style.panel_title(axes, plan.titles[place])
            label = self.value_label or self.value
            room = plan.height - 0.3
            bar_high = min(
                room, max(1.0, 0.72 * room, text_width(label, style.SMALL) / 72 + 0.05)
            )
            top = (plan.height - bar_high) / 2
            box = _share(plan, plan.width - _BAR + 0.06, top, 0.1, bar_high)
            bar = figure.colorbar(image, cax=figure.add_axes(box))
            bar.set_label(label, fontsize=style.SMALL)
            bar.outline.set_visible(False)
            if not any((matrix.values < 0).any() for matrix in drawn):
                # The negative half of the bar would show colours that do not occur.
                bar.ax.set_ylim(0.0)
        return figure


@dataclass(frozen=True)
class _Plan:
    """Positions of the panels; lengths in inches, corners measured from the left and the top."""

    width: float
    height: float
    cell: float
    corners: tuple[tuple[float, float], ...]
    titles: tuple[str, ...]
    named: tuple[bool, ...]


def _share(
    plan: _Plan, left: float, top: float, wide: float, high: float
) -> tuple[float, float, float, float]:
    bottom = plan.height - top - high
    return (
        left / plan.width,
        bottom / plan.height,
        wide / plan.width,
        high / plan.height,
    )


def _plan(drawn: Sequence[Matrix], titles: Sequence[str], most: int) -> _Plan:
    """Place as many panels side by side as possible with legible labels or visible cells."""
    tries = []
    for asked in range(max(1, min(most, len(drawn))), 0, -1):
        down = math.ceil(len(drawn) / asked)
        tries.append(_try(drawn, titles, math.ceil(len(drawn) / down)))
    floor = LEGIBLE if tries[-1].cell >= LEGIBLE else _SMALLEST
    return next((plan for plan in tries if plan.cell >= floor), tries[-1])


def _try(drawn: Sequence[Matrix], titles: Sequence[str], across: int) -> _Plan:
    grid = [
        list(range(k, min(k + across, len(drawn))))
        for k in range(0, len(drawn), across)
    ]
    rows = [(matrix.rows, matrix.row_groups) for matrix in drawn]
    named = tuple(k % across == 0 or rows[k] != rows[k - 1] for k in range(len(drawn)))
    tall = max(len(matrix.rows) for matrix in drawn)
    cell = min(_LARGEST, _TALLEST / tall)
    # The labels depend on the size of a cell, which depends on the space that they
    # leave.
    for _ in range(4):
        labels = [
            plan_labels(m, (cell, cell), rows=n)
            for m, n in zip(drawn, named, strict=True)
        ]
        lefts = []
        wides = []
        for column in range(across):
            below = range(column, len(drawn), across)
            lefts.append(max(labels[k].left for k in below))
            wides.append(max(len(drawn[k].columns) for k in below))
        room = style.full_width() - _BAR - 0.16 - sum(lefts) / 72 - _GAP * (across - 1)
        cell = min(cell, max(room / sum(wides), 0.01))
    starts = []
    at = 0.08
    for left, wide in zip(lefts, wides, strict=True):
        at += left / 72
        starts.append(at)
        at += wide * cell + _GAP
    # Length by which a title may extend over the colour bar.
    over = 0.3 if len(grid) == 1 else 0.05
    limits = [*(b - a for a, b in pairwise(starts)), at - starts[-1] + over]
    wrapped = [
        wrap(title, limits[k % across] - 0.1, style.LABEL)
        for k, title in enumerate(titles)
    ]
    corners: list[tuple[float, float]] = []
    top = 0.06
    for line in grid:
        top += max(wrapped[k].count("\n") + 1 for k in line) * _LINE + 0.06
        corners.extend((starts[k % across], top) for k in line)
        top += max(len(drawn[k].rows) * cell + labels[k].below / 72 for k in line) + 0.1
    return _Plan(
        at - _GAP + _BAR + 0.08, top, cell, tuple(corners), tuple(wrapped), named
    )
