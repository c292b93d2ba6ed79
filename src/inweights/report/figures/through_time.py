"""Draw how a training run proceeds: curves over steps, and the model's states at some steps.

:class:`ThroughTime` is the drawing ``through_time``. The interactive player of
``report.living.player`` shows all steps.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from inweights.errors import DataError
from inweights.report.base import frames, style, tidy
from inweights.report.base.matrix import Matrix, matrix_of, scale_of
from inweights.report.base.paint import paint
from inweights.report.base.registry import drawing
from inweights.report.figures.states import cloud, legend


@drawing("through_time")
@dataclass(frozen=True, eq=False)
class ThroughTime:
    """Draw one training run: curves over steps, and a matrix and projected states at some steps.

    On the page of a run, the same options create an interactive player, in which a
    slider selects the step for all three parts.

    Attributes:
        curves: Table with the columns ``seed``, ``series``, ``step`` and ``value``; the
            mean over seeds and its 95% interval are drawn.
        matrices: Table of one seed with the columns ``step``, ``row``, ``column`` and
            ``value``, and one row per step and cell.
        states: Table of one seed with the columns ``step``, ``x``, ``y``, ``pair`` (the
            sample), ``kind`` (the kind of state) and a column for the layer, with one
            row per step and state. The projections of all steps must be aligned with
            each other.
        row_group: Name of the column of ``matrices`` with the group of the row;
            ``None`` for no groups.
        column_group: Name of the column of ``matrices`` with the group of the column;
            ``None`` for no groups.
        layer: Name of the integer column of ``states`` with the layer; by default
            ``layer``.
        kinds: Values of ``kind`` that are drawn; ``None`` for all values. The markers
            are star, circle, square, triangle and diamond, in this order.
        kind_labels: Labels of ``kinds``, in the same order; by default the values
            themselves.
        moments: Steps at which the matrix and the states are drawn. They must be in
            both tables; by default, they are the first and the last common step. The
            player shows all steps, and begins at the last of ``moments``.
        y_label: Label of the axis of the curves.
        y_limits: Smallest and largest value on the axis of the curves; ``None`` for the
            range of the data.
        matrix_label: Label of the colour bar.
        step_log: Whether the axis of steps is logarithmic; by default it is linear.

    Raises:
        DataError: A table has no rows or lacks a column, the matrices and the states
            have no step in common, or one of the ``moments`` is not a step of both
            tables.
    """

    curves: pl.DataFrame
    matrices: pl.DataFrame
    states: pl.DataFrame
    _: KW_ONLY
    row_group: str | None = None
    column_group: str | None = None
    layer: str = "layer"
    kinds: Sequence[str] | None = None
    kind_labels: Sequence[str] | None = None
    moments: Sequence[int] | None = None
    y_label: str = "value"
    y_limits: Sequence[float] | None = None
    matrix_label: str = "value"
    step_log: bool = False

    def __post_init__(self) -> None:
        groups = {"row_group": self.row_group, "column_group": self.column_group}
        for table, names, others in (
            (self.curves, ("step", "series", "value", frames.SEED), {}),
            (self.matrices, ("step", "row", "column", "value"), groups),
            (self.states, ("step", "x", "y", "pair", "kind"), {"layer": self.layer}),
        ):
            tidy.require(
                "through_time", table, {**{name: name for name in names}, **others}
            )
        if not self.steps:
            one, other = (
                sorted(set(t["step"]))[:5] for t in (self.matrices, self.states)
            )
            raise DataError(
                f"the matrices (steps {one} …) and the states (steps {other} …) have no "
                "step in common; measure both at the same interval"
            )
        for at in self.moments or ():
            if at not in self.steps:
                near = min(self.steps, key=lambda step: abs(step - at))
                raise DataError(
                    f"nothing was measured at step {at}; the nearest measured step is {near}"
                )

    @cached_property
    def steps(self) -> list[int]:
        """Steps at which both the matrix and the states were measured, in ascending order."""
        return sorted(set(self.matrices["step"]) & set(self.states["step"]))

    @property
    def chosen(self) -> list[int]:
        """Steps at which the matrix and states are drawn, by default the first and last step."""
        return list(self.moments or dict.fromkeys((self.steps[0], self.steps[-1])))

    @property
    def shown(self) -> list[str]:
        """Kinds of hidden states that are drawn, as text, in the order of their markers.

        They are :attr:`kinds` or, by default, all values of the column ``kind`` of the
        table of states.
        """
        if self.kinds is not None:
            return list(self.kinds)
        return list(map(tidy.plain, tidy.distinct(self.states, "kind")))

    @property
    def legend(self) -> list[str]:
        """Labels of the drawn kinds of hidden states, in the order of their markers."""
        return list(self.kind_labels or self.shown)

    @property
    def layers(self) -> list[int]:
        """Numbers of the layers in the table of states, in ascending order."""
        return list(map(int, self.states[self.layer].unique().sort()))

    def matrix(self, step: int) -> Matrix:
        """Return the matrix at one step, with the labels and groups of its rows and columns.

        Args:
            step: One of :attr:`steps`, at which the matrix was measured.
        """
        return matrix_of(
            self.matrices.filter(step=step),
            "row",
            "column",
            "value",
            row_group=self.row_group,
            column_group=self.column_group,
        )

    def draw(self) -> Figure:
        """Draw the curves, and the matrix and states at selected steps; return the figure.

        The curves show the mean over the seeds and its 95% interval, for each value of
        ``series``.

        The matrix and the states are drawn at the steps in ``moments``, by default the
        first and the last step. Tables are checked when the object is created, not by
        this method.
        """
        with style.context():
            figure = style.blank(style.FULL_WIDTH + 0.6, 4.4)
            left, right = figure.subfigures(
                1, 2, squeeze=False, width_ratios=(1.0, 1.35)
            )[0]
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


def _curves(axes: Axes, film: ThroughTime) -> None:
    parts = tidy.panels(film.curves, "series")
    looks = style.marks([tidy.plain(name) for name, _ in parts])
    for name, rows in parts:
        text = tidy.plain(name)
        data = tidy.spread(rows, "step", "value")
        look = looks[text]
        axes.fill_between(
            data.at, data.low, data.high, color=look.color, alpha=0.16, linewidth=0
        )
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
        axes.set_xscale(
            "symlog", linthresh=max(1, film.steps[min(1, len(film.steps) - 1)])
        )
    if film.y_limits is not None:
        axes.set_ylim(*tidy.wider(film.y_limits))
    for at in film.chosen:
        axes.axvline(
            at,
            color=style.INK,
            linewidth=0.8,
            dashes=(1.5, 1.5),
            zorder=1,
        )


def _matrices(right: SubFigure, row_of_axes: Sequence[Axes], film: ThroughTime) -> None:
    chosen = film.chosen
    drawn = list(map(film.matrix, chosen))
    scale = scale_of(drawn, None)
    panel = (min(1.4, 3.0 / len(chosen)), 1.4)  # inches, about
    for place, (axes, matrix, at) in enumerate(
        zip(row_of_axes, drawn, chosen, strict=True)
    ):
        cell = (panel[0] / len(matrix.columns), panel[1] / len(matrix.rows))
        image = paint(axes, matrix, scale, cell, rows=place == 0)
        axes.set_box_aspect(1)
        style.panel_title(axes, f"step {at:,}")
    bar = right.colorbar(
        image,
        ax=list(row_of_axes),
        aspect=14,
        pad=0.02,
        fraction=0.05,
    )
    bar.set_label(film.matrix_label, fontsize=style.SMALL)
    bar.outline.set_visible(False)
