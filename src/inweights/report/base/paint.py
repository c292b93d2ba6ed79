"""Draw a matrix into a panel: cells, boxes, legible labels and names of groups.

:func:`plan_labels` computes the space that labels need, and :func:`paint` draws the
matrix. :func:`text_width` and :func:`wrap` measure and break text for all drawings.
"""

import textwrap
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.font_manager import FontProperties
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath

from inweights.report.base import style
from inweights.report.base.matrix import Matrix

#: Smallest size of a cell, in inches, at which its label is legible.
LEGIBLE = 0.105
_TICK = 6.5  # points
_GAP = 5.0  # points between cells, labels and groups
#: Style of the name of a group.
_NAMED: dict[str, Any] = {
    "textcoords": "offset points",
    "fontsize": style.SMALL,
    "color": style.INK,
    "annotation_clip": False,
}


@dataclass(frozen=True)
class Labels:
    """Layout of the labels of a matrix; lengths are in points.

    Attributes:
        rows_wide: Width of the names of rows; 0 if they are not shown.
        columns_deep: Height of the names of columns; 0 if they are not shown.
        rows_turned: Whether the names of the groups of rows are rotated by 90 degrees
            and read upwards.
        columns_turned: Whether the names of columns are rotated by 90 degrees and read
            upwards.
        columns_slant: Whether the names of the groups of columns are slanted.
        left: Total width to the left of the cells.
        below: Total height below the cells.
    """

    rows_wide: float
    columns_deep: float
    rows_turned: bool
    columns_turned: bool
    columns_slant: bool
    left: float
    below: float


@lru_cache(maxsize=65536)
def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a line of text in points.

    Args:
        text: The text, in the font DejaVu Sans. A text that consists only of whitespace
            has width 0.
        size: Font size in points.
        bold: Whether the text is bold; by default false.
    """
    if not text.strip():
        return 0.0
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")
    with style.plain_text():
        return float(TextPath((0, 0), text, size=size, prop=font).get_extents().width)


def wrap(text: str, inches: float, size: float) -> str:
    r"""Break a text in bold type into lines that fit into a given width.

    Args:
        text: The text.
        inches: Available width in inches.
        size: Font size in points.

    Returns:
        The text with line breaks. Words are not broken, so that a line with a long word
        may be wider.

    Example:
        >>> wrap("a title", 0.5, 9.0)
        'a title'
        >>> wrap("a title of some length", 0.9, 9.0)
        'a title of\nsome length'
    """
    wide = text_width(text, size, bold=True) / 72
    if wide <= inches:
        return text
    # Letters differ in width. The number of letters per line begins at an estimate from
    # their mean width and decreases until all lines fit.
    for letters in range(max(8, int(len(text) * inches / wide)), 7, -1):
        lines = textwrap.wrap(text, letters, break_long_words=False)
        if all(text_width(line, size, bold=True) / 72 <= inches for line in lines):
            break
    return "\n".join(lines)


def plan_labels(
    matrix: Matrix, cell: tuple[float, float], *, rows: bool = True
) -> Labels:
    """Compute the layout of a matrix's labels for cells of a given size.

    Args:
        matrix: The matrix.
        cell: Width and height of a cell in inches.
        rows: Whether the names of rows and of their groups are shown; by default true.

    Returns:
        The layout. Names of rows are left out if cells are less than 0.105 inches high,
        and names of columns if cells are less than 0.105 inches wide.
    """
    wide = cell[0] * 72
    high = cell[1] * 72
    longest = max((text_width(name, _TICK) for name in matrix.columns), default=0.0)
    turned = longest > 0.94 * wide
    rows_wide = columns_deep = 0.0
    if rows and cell[1] >= LEGIBLE:
        rows_wide = (
            max((text_width(name, _TICK) for name in matrix.rows), default=0.0) + _GAP
        )
    if cell[0] >= LEGIBLE:
        columns_deep = (longest if turned else _TICK) + _GAP

    groups = matrix.row_groups if rows else ()
    sizes = [text_width(_spoken(name), style.SMALL) for name, _, _ in groups]
    fits = all(
        size <= (last - first + 1) * high
        for size, (_, first, last) in zip(sizes, groups, strict=True)
    )
    groups_wide = 0.0
    if groups:
        groups_wide = (style.SMALL if fits else max(sizes)) + _GAP

    across = [
        text_width(_spoken(name), style.SMALL) for name, _, _ in matrix.column_groups
    ]
    slant = any(
        size > (last - first + 1) * wide + 3
        for size, (_, first, last) in zip(across, matrix.column_groups, strict=True)
    )
    deep = 0.0
    if across:
        slanted = 0.65 * max(across) if slant else 0.0
        deep = slanted + style.SMALL + _GAP
    return Labels(
        rows_wide=rows_wide,
        columns_deep=columns_deep,
        rows_turned=fits,
        columns_turned=turned,
        columns_slant=slant,
        left=rows_wide + groups_wide + 2,
        below=columns_deep + deep + 2,
    )


def paint(
    axes: Axes,
    matrix: Matrix,
    scale: Normalize,
    cell: tuple[float, float],
    *,
    rows: bool = True,
) -> AxesImage:
    """Draw a matrix on the given axes.

    Args:
        axes: Axes of the panel.
        matrix: The matrix.
        scale: Colour scale, from :func:`~inweights.report.base.matrix.scale_of`.
        cell: Width and height of a cell in inches, which determine the layout of the
            labels.
        rows: Whether the names of rows and of their groups are shown; by default true.

    Returns:
        The image of the cells, from which a colour bar can be drawn.
    """
    labels = plan_labels(matrix, cell, rows=rows)
    image = axes.imshow(
        matrix.values,
        cmap=style.DIVERGING,
        norm=scale,
        interpolation="none",
        aspect="auto",
    )
    axes.set_facecolor("#eceff3")
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(style.GREY)
    for _, _, last in matrix.row_groups[:-1]:
        axes.axhline(last + 0.5, color=style.INK, linewidth=0.7)
    for _, _, last in matrix.column_groups[:-1]:
        axes.axvline(last + 0.5, color=style.INK, linewidth=0.7)
    for y, x in matrix.boxes:
        edge = max(0.5, min(1.4, min(cell) * 9))
        frame = Rectangle(
            (x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=style.BOX, linewidth=edge
        )
        frame.set(clip_on=False, zorder=5)
        axes.add_patch(frame)
    axes.tick_params(length=0, pad=2, labelsize=_TICK)
    named = (
        matrix.rows if labels.rows_wide else (),
        matrix.columns if labels.columns_deep else (),
    )
    axes.set_yticks(range(len(named[0])), named[0])
    axes.set_xticks(range(len(named[1])), named[1])
    if labels.columns_turned:
        axes.tick_params(axis="x", rotation=90)
    if rows:
        _row_groups(axes, matrix, labels, cell[1] * 72)
    _column_groups(axes, matrix, labels)
    return image


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _spread(places: list[float], least: float) -> list[float]:
    """Move ascending positions until neighbours are at least about ``least`` apart."""
    spread = list(places)
    # Each of two neighbours moves by half of the missing distance. Twenty rounds for
    # each position are enough even for many names.
    for _ in range(20 * len(places)):
        for one in range(len(places) - 1):
            lack = max(0.0, least - (spread[one + 1] - spread[one]))
            spread[one] -= lack / 2
            spread[one + 1] += lack / 2
    return spread


def _row_groups(axes: Axes, matrix: Matrix, labels: Labels, high: float) -> None:
    middles = [high * (first + last) / 2 for _, first, last in matrix.row_groups]
    # The height of a group may be smaller than that of its name.
    line = 0.0 if labels.rows_turned else 1.15 * style.SMALL
    for (name, first, last), at, put in zip(
        matrix.row_groups, middles, _spread(middles, line), strict=True
    ):
        axes.annotate(
            _spoken(name),
            (0, (first + last) / 2),
            xycoords=("axes fraction", "data"),
            xytext=(-labels.rows_wide - _GAP, at - put),
            ha="right",
            va="center",
            rotation=90 if labels.rows_turned else 0,
            **_NAMED,
        )


def _column_groups(axes: Axes, matrix: Matrix, labels: Labels) -> None:
    for name, first, last in matrix.column_groups:
        axes.annotate(
            _spoken(name),
            ((first + last) / 2, 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -labels.columns_deep - _GAP),
            ha="right" if labels.columns_slant else "center",
            va="top",
            rotation=40 if labels.columns_slant else 0,
            rotation_mode="anchor" if labels.columns_slant else "default",
            **_NAMED,
        )
