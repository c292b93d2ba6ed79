"""Draw lines over an axis: mean over seeds, 95% band, every single seed behind it.

:class:`Lines` is the drawing ``lines``, of one
:class:`~inweights.report.figures.line_panel.Panel` or several.
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
                self.draw_into(axes, rows)
                if self.x_limits is not None:
                    axes.set_xlim(*tidy.wider(self.x_limits, 0.07))
            texts = (self.x_label or self.x, self.y_label or self.y)
            _name_axes(figure, panels, len(parts), texts, (width, across, down))
            if self.y_limits is not None:
                panels[0].set_ylim(*tidy.wider(self.y_limits))
            # A single line without a name of its own is told by its axis.
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
    """Name both axes once where there are many panels or little room, otherwise at each of them."""
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
