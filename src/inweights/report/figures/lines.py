"""Draw lines: the mean over seeds with a 95% interval, and every single seed as a dot.

:class:`Lines` is the drawing ``lines``, which consists of one or several panels of the
class :class:`~inweights.report.figures.line_panel.Panel`.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from inweights.report.base import style, tidy
from inweights.report.base.legend import add_legend, text_of
from inweights.report.base.paint import wrap
from inweights.report.base.registry import drawing
from inweights.report.figures.line_panel import Panel

_PANEL_HEIGHT = 2.7


@drawing("lines")
@dataclass(frozen=True, eq=False)
class Lines(Panel):
    """Draw ``y`` against ``x``, with a line per value of ``series`` and a panel per ``facet``.

    A line shows the mean over the seeds. With at least five seeds, a band shows the 95%
    confidence interval of this mean. Each faint dot shows an individual seed. On an
    axis with few positions, the series are slightly offset, so that identical series
    remain visible.
    Rows with a value other than ``none`` or null in the column ``control`` belong to
    controls, which are drawn as grey bands.

    Attributes:
        facet: Name of the column that distinguishes panels, which share the axis of
            ``y``; ``None`` for a single panel.
        columns: Maximum number of panels side by side, by default 4.
        table: Table with a column ``seed`` and the columns that are named below.
        y: Name of the column with the numbers to plot; non-finite numbers are left out.
        series: Name of the column that distinguishes lines; ``None`` for a single line.
        reference: Name of the column and label of a reference line, such as
            ``{"column": "chance", "label": "1/C"}``, which is drawn dashed and grey;
            ``None`` for no line.
        labels: Labels of values of ``series`` or ``facet``, keyed by the value as text.
            A value without a label is shown unchanged.
        x_label: Label of the axis of ``x``; by default the name of the column.
        y_label: Label of the axis of ``y``; by default the name of the column.
        x_limits: Smallest and largest position shown, in every panel; by default the
            range of the data.
        y_limits: Smallest and largest value shown, to which intervals are clipped; by
            default the range of the data.
        x_log: Whether the axis of ``x`` is logarithmic; by default it is linear.
        order: Values of ``series`` and ``facet`` to show first, in this order; the
            remaining values follow. By default, the order of the table is used.
        x: Name of the numeric column with the positions on the x-axis.

    Raises:
        DataError: A column is missing, ``x``, ``y`` or the reference contains no
            numbers, there are no rows, or numbers of several measures would be
            averaged.
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
        """Draw the column ``y`` against ``x`` as lines with a legend; return the matplotlib figure.

        There is one line for each value of the column that :attr:`series` names. It
        shows the mean over the seeds. With at least five seeds, a band shows the 95%
        confidence interval of this mean.

        There is one panel for each value of the column that :attr:`facet` names, or a
        single panel if it is ``None``. Columns are checked when the object is created,
        not by this method.
        """
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
                self.draw_into(axes, rows)
                if self.x_limits is not None:
                    axes.set_xlim(*tidy.wider(self.x_limits, 0.07))
            texts = (self.x_label or self.x, self.y_label or self.y)
            _name_axes(figure, panels, len(parts), texts, (width, across, down))
            if self.y_limits is not None:
                panels[0].set_ylim(*tidy.wider(self.y_limits))
            # A single line without a name needs no legend, since the axis states what
            # it is.
            is_named = len(self.names) > 1 or next(iter(self.names)) != self.y
            if is_named or self.apart[1]:
                add_legend(figure, self.handles)
        return figure


def _name_axes(
    figure: Figure,
    panels: Sequence[Axes],
    used: int,
    names: tuple[str, str],
    size: tuple[float, int, int],
) -> None:
    """Label both axes: once if there are many panels or little space, otherwise at each panel."""
    x, y = names
    width, across, down = size
    tall = _PANEL_HEIGHT - 0.9 if down == 1 else 0.75 * _PANEL_HEIGHT * down - 0.9
    if across > 2 or (used > 1 and width <= style.PHONE_WIDTH):
        figure.supxlabel(x, fontsize=style.LABEL)
        figure.supylabel(wrap(y, tall, style.LABEL), fontsize=style.LABEL)
        return
    for axes in panels[:used]:
        axes.set_xlabel(wrap(x, (width - 0.7) / across, style.LABEL))
    for axes in panels[::across]:
        axes.set_ylabel(wrap(y, tall, style.LABEL))
