"""Draw lines over an axis: mean over seeds, 95% band, every single seed behind it.

:class:`Lines` is the drawing ``lines``; :class:`Panel` is one panel of it, which
:func:`inweights.plot` draws into a user's own axes.
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

from inweights.report.base import frames, style, tidy
from inweights.report.base.legend import add_legend, handles, text_of
from inweights.report.base.paint import text_width, wrap
from inweights.report.base.registry import drawing

_PANEL_HEIGHT = 2.7
_DODGE = 0.08  # of the distance between two positions of a discrete axis
_REACH = 0.012  # of the whole axis, at most


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel of :class:`Lines`.

    Attributes:
        table: Long rows with a column ``seed`` and those named below.
        x: Column of the axis, with numbers.
        y: Column of numbers; what is not finite is left out.
        series: Column that distinguishes lines; one line if None.
        reference: ``{"column": "chance", "label": "1/C"}``, drawn as a dashed grey
            line.
        labels: Text for a value of ``series``, by the value as text.
        x_label: Text of the axis; the column's name if None.
        y_label: Text of the axis; the column's name if None.
        x_log: Whether ``x`` is drawn on a logarithmic axis.
        order: Values of ``series`` in the order wanted; the others follow.
        x_limits: Least and greatest position shown.
        y_limits: Least and greatest value shown; intervals are cut to them.
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
        used = {"x": self.x, "y": self.y, "series": self.series, "seed": frames.SEED}
        used["reference"] = self.named.get("column")
        tidy.require("lines", self.table, used, numbers=("x", "y", "reference"))

    @property
    def named(self) -> dict[str, str]:
        """Column and label of the reference line; empty if there is none."""
        return dict(self.reference or {})

    @cached_property
    def names(self) -> dict[str, Any]:
        """Value of each series by its name; a single line has the name of its column."""
        if self.series is None:
            return {self.y: None}
        return {
            tidy.plain(v): v
            for v in tidy.distinct(self._apart[0], self.series, self.order)
        }

    @cached_property
    def _apart(self) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
        return tidy.controls_apart(self.table, self.x, self.series)

    def into(self, axes: Axes) -> Figure:
        """Return the figure of given axes, with the lines drawn into them; frame and limits stay.

        Args:
            axes: Axes of a figure of the caller's own.
        """
        self._lines(axes, self.table)
        axes.set_xlabel(self.x_label or self.x)
        axes.set_ylabel(self.y_label or self.y)
        if self.series is not None:
            axes.legend(handles=self._handles)
        figure = axes.get_figure(root=True)
        assert figure is not None
        return figure

    @property
    def _handles(self) -> list[Line2D]:
        text = self.named.get("label", self.named.get("column", ""))
        controls = list(self._apart[1])
        return handles(list(self.names), self.labels, reference=text, controls=controls)

    def _lines(self, axes: Axes, rows: pl.DataFrame) -> None:
        """All lines of one panel; the axis is that of the whole table."""
        places, names = self.table[self.x], self.names
        rows, controls = tidy.controls_apart(rows, self.x, self.series)
        for place, name in enumerate(self._apart[1]):
            part = controls.get(name)
            if part is not None and not part.is_empty():
                band, shade = (
                    tidy.spread(part, self.x, self.y, self.y_limits),
                    style.shade(place),
                )
                axes.fill_between(  # an interval, or its mean where there is none
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


@drawing("lines")
@dataclass(frozen=True, eq=False)
class Lines(Panel):
    """Draw ``y`` against ``x``: one line for each ``series``, one panel for each ``facet``.

    A line is the mean over the seeds, the band its 95% interval where there are five
    seeds or more, a faint dot a single seed. On an axis of few positions the series
    stand slightly apart, so that equal ones are all seen. Controls (a column
    ``control``) are grey bands. The other options are those of :class:`Panel`.

    Attributes:
        facet: Column that distinguishes panels, which share the axis of ``y``; one
            panel if None.
        columns: Largest number of panels side by side.
        table: Long rows with a column ``seed`` and those named below.
        y: Column of numbers; what is not finite is left out.
        series: Column that distinguishes lines; one line if None.
        reference: ``{"column": "chance", "label": "1/C"}``, drawn as a dashed grey
            line.
        labels: Text for a value of ``series`` or ``facet``, by the value as text.
        x_label: Text of the axis; the column's name if left out.
        y_label: Text of the axis; the column's name if left out.
        x_limits: Least and greatest place shown, in every panel.
        y_limits: Least and greatest value shown; intervals are cut to them.
        x_log: Whether ``x`` is drawn on a logarithmic axis.
        order: Values of ``series`` and ``facet`` in the order wanted; the others
            follow.
        x: Column of the axis, with numbers.
    """

    _: KW_ONLY
    facet: str | None = None
    columns: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        tidy.require("lines", self.table, {"facet": self.facet})
        tidy.refuse_mixed(
            "lines", self.table, self.y, self.series, self.facet, along=self.x
        )

    def draw(self) -> Figure:
        """Return the figure."""
        parts = tidy.panels(self.table, self.facet, self.order)
        with style.context():
            down, across = style.grid_shape(len(parts), self.columns)
            width = min(style.full_width(), 1.6 + 3.1 * across)
            figure = style.blank(
                width, _PANEL_HEIGHT * (1 if down == 1 else 0.75 * down)
            )
            grid = figure.subplots(down, across, sharey=True, squeeze=False)
            panels = list(grid.flat)
            for axes in panels[len(parts) :]:
                axes.set_visible(False)
            for axes, (value, rows) in zip(panels, parts, strict=False):
                if self.facet is not None:
                    title = text_of(tidy.plain(value), self.labels)
                    style.panel_title(
                        axes, wrap(title, (width - 0.7) / across, style.LABEL)
                    )
                self._lines(axes, rows)
                if self.x_limits is not None:
                    axes.set_xlim(*tidy.wider(self.x_limits, 0.07))
            texts = (self.x_label or self.x, self.y_label or self.y)
            _name_axes(figure, panels, len(parts), texts, (width, across, down))
            if self.y_limits is not None:
                panels[0].set_ylim(*tidy.wider(self.y_limits))
            if (
                len(self.names) > 1
                or next(iter(self.names)) != self.y
                or self._apart[1]
            ):
                add_legend(figure, self._handles)
        return figure


def _name_axes(
    figure: Figure,
    panels: Sequence[Axes],
    used: int,
    names: tuple[str, str],
    size: tuple[float, int, int],
) -> None:
    """Name both axes once where there are many panels or little room, else at each of them."""
    (x, y), (width, across, down) = names, size
    tall = _PANEL_HEIGHT - 0.9 if down == 1 else 0.75 * _PANEL_HEIGHT * down - 0.9
    if across > 2 or (used > 1 and width <= style.PHONE_WIDTH):
        figure.supxlabel(x, fontsize=style.LABEL)
        figure.supylabel(wrap(y, tall, style.LABEL), fontsize=style.LABEL)
        return
    for axes in panels[:used]:
        axes.set_xlabel(wrap(x, (width - 0.7) / across, style.LABEL))
    for axes in panels[::across]:
        axes.set_ylabel(wrap(y, tall, style.LABEL))


def _step(places: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Smallest distance and length of a discrete axis; no distance where the axis is dense."""
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
        line[x], line[column], color=style.GREY, linewidth=1, dashes=(3, 2), zorder=1
    )


def _dress(axes: Axes, values: pl.Series, log: bool) -> None:
    axes.grid(axis="y", color=style.PALE, linewidth=0.5)
    axes.set_axisbelow(True)
    places = (values.filter(values > 0) if log else values).unique().sort().to_list()
    # Within the margins.
    wide = 0.8 * axes.get_window_extent().width * 72 / axes.figure.dpi
    if log:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    if log and len(places) > 6:
        # Do labels at 1, 2 and 5 fit here?
        low, high = (
            axes.dataLim.minposx,
            axes.dataLim.x1,
        )
        each = max(
            text_width(text, style.SMALL) for text in (f" {low:.1g} ", f" {high:,.0f} ")
        )
        short = each * 3 * np.log10(high / low) < wide
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if short else (1,)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    elif log or (values.dtype.is_integer() and 0 < len(places) <= 12):
        axes.set_xticks(places, _named(axes, places, wide))
    elif values.dtype.is_integer():
        axes.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]


def _named(axes: Axes, places: list[float], wide: float) -> list[str]:
    """Texts of ticks: of all, or of every second, third, ... where they would touch."""
    at = axes.transScale.transform([(place, 1) for place in places])[:, 0]
    span, texts = (at[-1] - at[0]) or 1, [f"{place:,.10g}" for place in places]
    halves = [text_width(text, style.SMALL) / 2 + 1 for text in texts]
    for step in range(1, len(places)):
        ends = pairwise(range(0, len(places), step))
        if all(wide * (at[b] - at[a]) / span > halves[a] + halves[b] for a, b in ends):
            break
    else:
        step = len(places)
    return [text if place % step == 0 else "" for place, text in enumerate(texts)]
