"""Draw one panel of lines: means over seeds with 95% intervals, and every seed as a dot.

The drawing ``lines`` consists of one or more panels (:class:`Panel`), and
:func:`inweights.plot` draws a panel into axes that the user provides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from inweights.report.base import frames, legend, style, tidy
from inweights.report.base.paint import text_width

# between two series, relative to the distance between two positions of a discrete axis
_DODGE = 0.08
_REACH = 0.012  # between two series, relative to the whole axis, at most


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel of a plot of the kind ``lines``.

    Attributes:
        table: Table with a column ``seed`` and the columns that are named below.
        x: Name of the numeric column with the positions on the x-axis.
        y: Name of the column with the numbers to plot; non-finite numbers are left out.
        series: Name of the column that distinguishes lines; ``None`` for a single line.
        reference: Name of the column and label of a reference line, such as
            ``{"column": "chance", "label": "1/C"}``, which is drawn dashed and grey;
            ``None`` for no line.
        labels: Labels of values of ``series``, keyed by the value as text. A value
            without a label is shown unchanged.
        x_label: Label of the axis of ``x``; ``None`` for the name of the column.
        y_label: Label of the axis of ``y``; ``None`` for the name of the column.
        x_log: Whether the axis of ``x`` is logarithmic; by default it is linear.
        order: Values of ``series`` to show first, in this order; the remaining values
            follow. ``None`` for the order of the table.
        x_limits: Smallest and largest position shown; ``None`` for the range of the
            data.
        y_limits: Smallest and largest value shown, to which intervals are clipped;
            ``None`` for the range of the data.

    Raises:
        DataError: A column is missing, ``x``, ``y`` or the reference contains no
            numbers, or there are no rows.
    """

    table: pl.DataFrame
    _: KW_ONLY
    x: str
    y: str
    series: str | None = None
    reference: Mapping[str, str] | None = None
    labels: Mapping[str, str] | None = None
    x_label: str | None = None
    y_label: str | None = None
    x_log: bool = False
    order: Sequence[str] | None = None
    x_limits: Sequence[float] | None = None
    y_limits: Sequence[float] | None = None

    def __post_init__(self) -> None:
        used = {
            "x": self.x,
            "y": self.y,
            "series": self.series,
            "seed": frames.SEED,
        }
        used["reference"] = self.named.get("column")
        tidy.require("lines", self.table, used, numbers=("x", "y", "reference"))

    @property
    def named(self) -> dict[str, str]:
        """Column and label of the reference line, as a dictionary; empty if there is none."""
        return dict(self.reference or {})

    @cached_property
    def names(self) -> dict[str, Any]:
        """Values of the column :attr:`series`, keyed by their text, in the order of the lines.

        If :attr:`series` is ``None``, the dictionary maps the name of the column
        :attr:`y` to ``None``.
        """
        if self.series is None:
            return {self.y: None}
        return {
            tidy.plain(v): v
            for v in tidy.distinct(self.apart[0], self.series, self.order)
        }

    @cached_property
    def apart(self) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
        """Table of the conditions, and a dictionary that maps each control to its table.

        The column ``control`` of a row contains the name of its control, or ``none`` or
        null if the row belongs to a condition. If there is no such column, or if it is
        used as ``x`` or ``series``, all rows belong to conditions
        (:func:`.tidy.controls_apart`).
        """
        return tidy.controls_apart(self.table, self.x, self.series)

    def into(self, axes: Axes) -> Figure:
        """Draw the lines in existing axes and label the axes; frame and limits are not changed.

        A line shows the mean over the seeds of the column :attr:`y`, at the positions
        in :attr:`x`, for each value of the column :attr:`series`.

        If ``series`` is set, the axes also get a legend.

        Args:
            axes: Axes of the caller's own figure.

        Returns:
            The figure to which the axes belong.
        """
        self.draw_into(axes, self.table)
        axes.set_xlabel(self.x_label or self.x)
        axes.set_ylabel(self.y_label or self.y)
        if self.series is not None:
            axes.legend(handles=self.handles)
        figure = axes.get_figure(root=True)
        assert figure is not None
        return figure

    @property
    def handles(self) -> list[Line2D]:
        """Legend entries for the series, the controls and the reference line, in this order."""
        text = self.named.get("label", self.named.get("column", ""))
        controls = list(self.apart[1])
        return legend.handles(
            list(self.names), self.labels, reference=text, controls=controls
        )

    def draw_into(self, axes: Axes, rows: pl.DataFrame) -> None:
        """Draw all lines of one panel, on an axis that covers the positions of the whole table.

        Args:
            axes: Axes of the panel.
            rows: The rows of the table that the panel shows.
        """
        places = self.table[self.x]
        names = self.names
        rows, controls = tidy.controls_apart(rows, self.x, self.series)
        for place, name in enumerate(self.apart[1]):
            part = controls.get(name)
            if part is not None and not part.is_empty():
                band = tidy.spread(part, self.x, self.y, self.y_limits)
                shade = style.shade(place)
                # The band shows the interval; without an interval, it is a line at the
                # mean.
                axes.fill_between(
                    band.at,
                    band.low,
                    band.high,
                    color=style.GREY,
                    alpha=shade,
                    linewidth=1.5,
                    zorder=0,
                )
        looks = style.marks(list(names))
        step, reach = (0.0, 0.0) if self.x_log else _step(places.unique().to_numpy())
        for place, (name, raw) in enumerate(names.items()):
            # The series are placed symmetrically around their position.
            shift = min(step * _DODGE, reach * _REACH) * (place - (len(names) - 1) / 2)
            part = rows
            if self.series is not None:
                part = rows.filter(pl.col(self.series).eq_missing(pl.lit(raw)))
            if not part.is_empty():
                data = tidy.spread(part, self.x, self.y, self.y_limits)
                _line(axes, data, looks[name], shift, dots=step > 0)
        if "column" in self.named:
            _reference(axes, rows, self.x, self.named["column"])
        _dress(axes, places, self.x_log and bool((places > 0).any()))


def _step(places: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the smallest distance between positions (0 for more than 12), and their range."""
    if len(places) < 2:
        return 1.0, 1.0
    step = float(np.diff(np.sort(places)).min())
    return (step if len(places) <= 12 else 0.0), float(places.max() - places.min())


def _line(
    axes: Axes, data: tidy.Spread, look: style.Mark, shift: float, *, dots: bool
) -> None:
    at = data.at + shift
    axes.fill_between(
        at, data.low, data.high, color=look.color, alpha=0.16, linewidth=0
    )
    if dots:
        faint: dict[str, Any] = {
            "color": look.color,
            "alpha": 0.4,
            "markersize": 4,
            "markeredgewidth": 0,
        }
        axes.plot(data.dots_at + shift, data.dots, ".", **faint)
    line: dict[str, Any] = {
        "color": look.color,
        "linestyle": look.dash,
        "linewidth": 1.5,
    }
    axes.plot(at, data.mean, marker=look.marker if dots else "", **line, **style.MARKER)


def _reference(axes: Axes, rows: pl.DataFrame, x: str, column: str) -> None:
    finite = rows.filter(pl.col(column).cast(pl.Float64).is_finite())
    line = finite.group_by(x).agg(pl.col(column).mean()).sort(x).drop_nulls()
    axes.plot(
        line[x],
        line[column],
        color=style.GREY,
        linewidth=1,
        dashes=(3, 2),
        zorder=1,
    )


def _dress(axes: Axes, values: pl.Series, log: bool) -> None:
    axes.grid(axis="y", color=style.PALE, linewidth=0.5)
    axes.set_axisbelow(True)
    # A logarithmic axis has no position for 0.
    places = (values.filter(values > 0) if log else values).unique().sort().to_list()
    # Within the margins.
    wide = 0.8 * axes.get_window_extent().width * 72 / axes.figure.dpi
    if log:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    if log and len(places) > 6:
        # Check whether labels at 1, 2 and 5 fit.
        low = axes.dataLim.minposx
        high = axes.dataLim.x1
        texts = f" {low:.1g} ", f" {high:,.0f} "
        each = max(text_width(text, style.SMALL) for text in texts)
        short = each * 3 * np.log10(high / low) < wide
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if short else (1,)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    # If there are few positions, only these have labels.
    elif log or (values.dtype.is_integer() and 0 < len(places) <= 12):
        axes.set_xticks(places, _named(axes, places, wide))
    elif values.dtype.is_integer():
        axes.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]


def _named(axes: Axes, places: list[float], wide: float) -> list[str]:
    """Return labels of ticks; if they would touch, all but every second, third, ... are empty."""
    at = axes.transScale.transform([(place, 1) for place in places])[:, 0]
    span = (at[-1] - at[0]) or 1
    texts = [f"{place:,.10g}" for place in places]
    halves = [text_width(text, style.SMALL) / 2 + 1 for text in texts]

    def is_room(a: int, b: int) -> bool:
        return bool(wide * (at[b] - at[a]) / span > halves[a] + halves[b])

    for step in range(1, len(places)):
        if all(is_room(a, b) for a, b in pairwise(range(0, len(places), step))):
            break
    else:
        step = len(places)
    return [text if place % step == 0 else "" for place, text in enumerate(texts)]
