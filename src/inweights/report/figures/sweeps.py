"""Draw sweeps in which one setting is varied at a time: one panel per setting, with error bars.

:class:`Sweeps` is registered as the drawing ``sweeps``.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import chain

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from inweights.report.base import frames, style, tidy
from inweights.report.base.legend import add_legend, handles, text_of
from inweights.report.base.paint import text_width, wrap
from inweights.report.base.registry import drawing

_PANEL = 1.95  # inches, height of a panel
#: Distance between the marks of one value, relative to the distance between two values:
#: if lines connect the values, and if the values are names.
_DODGE = 0.16
_DODGE_OF_NAMES = 0.4


@drawing("sweeps")
@dataclass(frozen=True, eq=False)
class Sweeps:
    """Draw ``y`` for the values of every varied setting, with one panel per setting.

    A mark shows the mean over the seeds, and a bar shows the 95% confidence interval of
    this mean. With fewer than five seeds, the individual seeds are shown as dots in
    place of the bar. If the values of a setting are numbers, lines connect their marks.
    Rows with a value other than ``none`` or null in the column ``control`` belong to
    controls, which are drawn as grey bands.

    Attributes:
        table: Table with a column ``seed`` and the columns that are named below.
        axis: Name of the column with the name of the varied setting, such as depth or
            width.
        value: Name of the column with the value of this setting. The values are evenly
            spaced, in order of appearance.
        y: Name of the column with the numbers to plot; non-finite numbers are left out.
        series: Name of the column that distinguishes marks; ``None`` for a single
            series.
        baseline: Dictionary that maps the name of each setting to its value while other
            settings are varied. The tick label of this value is bold. ``None`` for no
            such values.
        labels: Labels of values of ``axis``, ``value`` or ``series``, keyed by the
            value as text. A value without a label is shown unchanged.
        y_label: Label of the shared vertical axis; by default the name of the column
            ``y``.
        y_limits: Smallest and largest value shown, to which intervals are clipped; by
            default the range of the data.
        y_linear: Absolute value beyond which the axis of ``y`` is logarithmic, on both
            sides of 0; ``None`` for a linear axis.
        columns: Maximum number of panels side by side, by default 4.
        order: Values of ``axis`` and ``series`` to show first, in this order; the
            remaining values follow. By default, the order of the table is used.

    Raises:
        DataError: A column is missing, ``y`` contains no numbers, there are no rows, or
            numbers of several measures would be averaged.
    """

    table: pl.DataFrame
    _: KW_ONLY
    axis: str
    value: str
    y: str
    series: str | None = None
    baseline: Mapping[str, str] | None = None
    labels: Mapping[str, str] | None = None
    y_label: str | None = None
    y_limits: Sequence[float] | None = None
    y_linear: float | None = None
    columns: int = 4
    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        named = {
            "axis": self.axis,
            "value": self.value,
            "y": self.y,
            "series": self.series,
        }
        tidy.require(
            "sweeps", self.table, {**named, "seed": frames.SEED}, numbers=("y",)
        )
        tidy.refuse_mixed(
            "sweeps", self.table, self.y, self.axis, self.series, along=self.value
        )

    @property
    def names(self) -> list[str]:
        """Values of the column :attr:`series`, as text, in the order of their styles.

        If :attr:`series` is ``None``, the list contains only the name of the column
        :attr:`y`.
        """
        if self.series is None:
            return [self.y]
        own, _ = tidy.controls_apart(self.table, self.axis, self.value, self.series)
        return list(map(tidy.plain, tidy.distinct(own, self.series, self.order)))

    @property
    def controls(self) -> list[str]:
        """Names of the controls, in the order of the table; empty if there are none.

        A name is a value of the column ``control`` other than ``none`` and null.
        """
        return [*tidy.controls_apart(self.table, self.axis, self.value, self.series)[1]]

    def draw(self) -> Figure:
        """Draw the values of every varied setting, and return the matplotlib figure.

        A mark shows the mean of the column :attr:`y` over the seeds, and a bar shows
        the 95% confidence interval of this mean. With fewer than five seeds, the
        individual seeds are shown as dots in place of the bar.

        There is one panel for each setting (value of the column ``axis``), with a
        shared vertical axis. Columns are checked when the object is created, not by
        this method.
        """
        parts = tidy.panels(self.table, self.axis, self.order)
        down, across = style.grid_shape(len(parts), self.columns)
        with style.context():
            width = min(style.full_width(), 0.8 + 2.9 * across)
            figure = style.blank(width, 0.5 + _PANEL * down)
            grid = figure.subplots(down, across, sharey=True, squeeze=False)
            for extra in grid.flat[len(parts) :]:
                extra.set_visible(False)
            # Width of a panel, without the labels of its ticks.
            room = (width - 0.6) / across - 0.35
            if self.y_linear is not None:
                grid[0][0].set_yscale("symlog", linthresh=self.y_linear)
                grid[0][0].yaxis.set_major_formatter("{x:,.10g}")
            for axes, (setting, rows) in zip(grid.flat, parts, strict=False):
                self._panel(axes, tidy.plain(setting), rows, room)
            for line in grid:
                line[0].set_ylabel(
                    wrap(self.y_label or self.y, _PANEL - 0.2, style.LABEL)
                )
            if self.y_limits is not None:
                grid[0][0].set_ylim(*tidy.wider(self.y_limits, 0.04))
            if self.series is not None or self.controls:
                add_legend(
                    figure, handles(self.names, self.labels, controls=self.controls)
                )
        return figure

    def _panel(self, axes: Axes, setting: str, rows: pl.DataFrame, room: float) -> None:
        names = self.names
        looks = style.marks(names)
        style.panel_title(
            axes, wrap(text_of(setting, self.labels), room + 0.1, style.LABEL)
        )
        values = list(map(tidy.plain, tidy.distinct(rows, self.value)))
        joined = pl.Series(values).cast(pl.Float64, strict=False).is_not_null().all()
        rows, controls = tidy.controls_apart(rows, self.axis, self.value, self.series)
        for name, part in controls.items():
            placed = _placed(part, self.value, values)
            shade = style.shade(self.controls.index(name))
            _band(axes, tidy.spread(placed, "_place", self.y, self.y_limits), shade)
        apart = _DODGE if joined else _DODGE_OF_NAMES
        for place, (raw, part) in enumerate(tidy.panels(rows, self.series, self.order)):
            name = tidy.plain(raw) if self.series else self.y
            lean = names.index(name) if self.series else place
            shift = apart * (lean - (len(names) - 1) / 2) / max(1, len(names) - 1)
            placed = _placed(part, self.value, values)
            data = tidy.spread(placed, "_place", self.y, self.y_limits)
            _bars(axes, data, looks[name], shift, joined=joined)
        _ticks(axes, values, (self.baseline or {}).get(setting), self.labels, room)


def _placed(rows: pl.DataFrame, value: str, values: Sequence[str]) -> pl.DataFrame:
    """Return the rows with a column ``_place``, the position of their value on the axis."""
    places = {name: place for place, name in enumerate(values)}
    at = [places[tidy.plain(v)] for v in rows[value].to_list()]
    return rows.with_columns(pl.Series("_place", at, dtype=pl.Int64))


def _band(axes: Axes, data: tidy.Spread, shade: float) -> None:
    """Draw a control: its interval at each position, or a line at its mean without an interval."""
    axes.bar(
        data.at,
        data.high - data.low,
        0.8,
        data.low,
        color=style.GREY,
        edgecolor=style.GREY,
        linewidth=1.5,
        alpha=shade,
        zorder=0,
    )


def _bars(
    axes: Axes, data: tidy.Spread, look: style.Mark, shift: float, *, joined: bool
) -> None:
    if (data.low == data.high).all():
        axes.plot(
            data.dots_at + shift,
            data.dots,
            ".",
            color=look.color,
            alpha=0.4,
            markersize=4,
        )
    axes.errorbar(
        data.at + shift,
        data.mean,
        yerr=np.vstack([data.mean - data.low, data.high - data.mean]),
        color=look.color,
        linestyle=look.dash if joined else "none",
        linewidth=1.3,
        elinewidth=1.1,
        capsize=2.2,
        capthick=1.1,
        marker=look.marker,
        **style.MARKER,
    )


def _ticks(
    axes: Axes,
    values: Sequence[str],
    kept: str | None,
    labels: Mapping[str, str] | None,
    room: float,
) -> None:
    texts = [text_of(value, labels) for value in values]
    place = room * 72 / len(values)  # width of a label, in points
    letters = max(5, int(place / (0.58 * style.SMALL)))
    wrapped = [
        textwrap.wrap(text, letters, break_long_words=False) or [""] for text in texts
    ]
    widths = [text_width(line, style.SMALL) for line in chain.from_iterable(wrapped)]
    level = all(width < place - 1 for width in widths)
    axes.set_xticks(
        range(len(values)), ["\n".join(w) for w in wrapped] if level else texts
    )
    axes.set_xlim(-0.45, len(values) - 0.55)
    axes.tick_params(axis="y", labelleft=True)
    axes.grid(axis="y", color=style.PALE, linewidth=0.5)
    axes.set_axisbelow(True)
    if not level:
        for tick in axes.get_xticklabels():
            tick.set(rotation=35, ha="right", rotation_mode="anchor")
    if kept is not None and tidy.plain(kept) in values:
        axes.get_xticklabels()[values.index(tidy.plain(kept))].set_fontweight("bold")
