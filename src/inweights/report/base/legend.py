"""Create the legend above a figure, and its labels.

:func:`handles` creates the entries, and :func:`add_legend` places them in as many
columns as fit. Drawings with series use both.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from inweights.report.base import style
from inweights.report.base.paint import text_width


def text_of(name: str, labels: Mapping[str, str] | None) -> str:
    """Return the label of a value, or the value itself if it has no label.

    Args:
        name: The value, as text.
        labels: Labels, keyed by value; ``None`` if there are none.
    """
    return (labels or {}).get(name, name)


def handles(
    names: Sequence[str],
    labels: Mapping[str, str] | None = None,
    *,
    reference: str = "",
    controls: Sequence[str] = (),
) -> list[Line2D]:
    """Return the entries of a legend: series, controls, and the reference line.

    Args:
        names: Names of the series, in the order of their styles.
        labels: Labels, keyed by name. A name without a label is shown unchanged.
        reference: Label of the reference line; empty if there is no line.
        controls: Names of the controls, drawn as grey bands.

    Returns:
        One ``Line2D`` of matplotlib per entry: ``names``, ``controls``, and
        ``reference`` if it is not empty, in this order. The label of a control is
        ``control: NAME``.
    """
    shown = [
        Line2D(
            [],
            [],
            color=look.color,
            linestyle=look.dash,
            marker=look.marker,
            markersize=4.6,
            label=text_of(name, labels),
        )
        for name, look in style.marks(names).items()
    ]
    for place, name in enumerate(controls):
        shown.append(
            Line2D(
                [],
                [],
                color=style.GREY,
                alpha=style.shade(place),
                linewidth=6,
                label=f"control: {name}",
            )
        )
    if reference:
        shown.append(
            Line2D(
                [],
                [],
                color=style.GREY,
                dashes=(3, 2),
                linewidth=1,
                label=reference,
            )
        )
    return shown


def add_legend(figure: Figure, shown: Sequence[Line2D]) -> None:
    """Put a legend above a figure, in as many columns as fit.

    There is at most one column per 1.35 inches of the figure's width, but two columns
    are always allowed.

    Args:
        figure: The figure.
        shown: Entries of the legend, as returned by :func:`handles`.
    """
    texts = [str(handle.get_label()) for handle in shown]
    most = max(2, int(figure.get_figwidth() / 1.35))
    columns = columns_that_fit(texts, figure, 48, most=most)
    figure.legend(
        handles=list(shown), loc="outside upper left", ncols=columns, handlelength=2.8
    )


def columns_that_fit(
    texts: Sequence[str], figure: Figure | SubFigure, beside: float, *, most: int = 99
) -> int:
    """Return the largest number of columns with which a legend is not wider than its figure.

    Args:
        texts: Labels of the entries.
        figure: The figure.
        beside: Width in points that each entry needs in addition to its label.
        most: Maximum number of columns; by default 99.

    Returns:
        The number of columns, at least 1.
    """
    room = figure.bbox.width / figure.dpi * 72
    sizes = np.array([text_width(text, style.SMALL + 0.5) + beside for text in texts])
    for columns in range(min(len(texts), most), 1, -1):
        widths = [part.max() for part in np.array_split(sizes, columns)]
        if sum(widths) <= room:
            return columns
    return 1
