"""Learning over time: curves over steps, and states of the model at some steps."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from inweights.report.base import style, tidy
from inweights.report.base.matrix import scale_of
from inweights.report.base.paint import paint
from inweights.report.base.registry import drawing
from inweights.report.figures.film import Film
from inweights.report.figures.states import cloud, legend


@drawing("through_time")
@dataclass(frozen=True, eq=False)
class ThroughTime(Film):
    """The curves, and at two steps the matrix and the projected states.

    On the page the same options make a player: a slider over the steps moves all three.

    Example:
        >>> import polars as pl
        >>> curves = pl.DataFrame({"seed": [0, 0], "series": ["accuracy"] * 2, "step": [0, 9],
        ...                        "value": [0.1, 1.0]})
        >>> cells = pl.DataFrame({"step": [0, 9], "row": ["a"] * 2, "column": ["b"] * 2,
        ...                       "value": [0.0, 3.0]})
        >>> dots = pl.DataFrame({"step": [0, 9], "x": [0.0, 1.0], "y": [0.0, 1.0],
        ...                      "layer": [0, 0], "pair": [0, 0], "kind": ["bridge"] * 2})
        >>> film = ThroughTime(curves, cells, dots)
        >>> len(film.draw().axes)  # curves, two matrices, bar, two clouds
        6
    """

    def draw(self) -> Figure:
        """Return the figure."""
        with style.context():
            figure = style.blank(style.FULL_WIDTH + 0.6, 4.4)
            left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.0, 1.35))[0]
            _curves(left.subplots(), self)
            grid = right.subplots(2, len(self.chosen), squeeze=False)
            _matrices(right, grid[0], self)
            columns = ("x", "y", self.layer, "pair", "kind")
            pairs = tidy.distinct(self.states, "pair")
            for panel, at in zip(grid[1], self.chosen, strict=True):
                rows = self.states.filter(step=at)
                cloud(panel, rows, columns, pairs, self.layers, self.shown)
            grid[1][0].set_ylabel("hidden states", fontsize=style.SMALL)
            legend(right, self.legend, self.layers)
        return figure


def _curves(axes: Axes, film: Film) -> None:
    parts = tidy.panels(film.curves, "series")
    looks = style.marks([tidy.plain(name) for name, _ in parts])
    for name, rows in parts:
        text = tidy.plain(name)
        data, look = tidy.spread(rows, "step", "value"), looks[text]
        axes.fill_between(data.at, data.low, data.high, color=look.color, alpha=0.16, linewidth=0)
        axes.plot(data.at, data.mean, color=look.color, linestyle=look.dash, label=text)
    axes.grid(axis="y", color=style.PALE, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.get_figure().legend(  # type: ignore[union-attr]
        loc="outside upper left",
        ncols=len(parts) if len(parts) <= 3 else 2,
        handlelength=2.2,
        columnspacing=1.0,
    )
    axes.set(xlabel="training step", ylabel=film.y_label)
    if film.step_log:
        axes.set_xscale("symlog", linthresh=max(1, film.steps[min(1, len(film.steps) - 1)]))
    if film.y_limits is not None:
        margin = 0.03 * (film.y_limits[1] - film.y_limits[0])
        axes.set_ylim(film.y_limits[0] - margin, film.y_limits[1] + margin)
    for at in film.chosen:
        axes.axvline(at, color=style.INK, linewidth=0.8, dashes=(1.5, 1.5), zorder=1)


def _matrices(right: SubFigure, row_of_axes: Sequence[Axes], film: Film) -> None:
    chosen = film.chosen
    drawn = [film.matrix(at) for at in chosen]
    scale = scale_of(drawn, None)
    panel = (min(1.4, 3.0 / len(chosen)), 1.4)  # inches, about
    for place, (axes, matrix, at) in enumerate(zip(row_of_axes, drawn, chosen, strict=True)):
        cell = (panel[0] / len(matrix.columns), panel[1] / len(matrix.rows))
        image = paint(axes, matrix, scale, cell, rows=place == 0)
        axes.set_box_aspect(1)
        style.panel_title(axes, f"step {at:,}")
    bar = right.colorbar(image, ax=list(row_of_axes), aspect=14, pad=0.02, fraction=0.05)
    bar.set_label(film.matrix_label, fontsize=style.SMALL)
    bar.outline.set_visible(False)
