"""Learning through time: curves over the steps, and what the model looked like at some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from inweights.errors import DataError
from inweights.report import style, tidy
from inweights.report.matrix import matrix_of, scale_of
from inweights.report.paint import paint
from inweights.report.registry import drawing
from inweights.report.states import cloud, legend

__all__ = ["check", "chosen_moments", "shared_steps", "through_time"]


@drawing("through_time")
def through_time(
    curves: pl.DataFrame,
    matrices: pl.DataFrame,
    states: pl.DataFrame,
    *,
    step: str = "step",
    series: str = "series",
    value: str = "value",
    row: str = "row",
    column: str = "column",
    cell: str = "value",
    row_group: str | None = None,
    column_group: str | None = None,
    x: str = "x",
    y: str = "y",
    layer: str = "layer",
    pair: str = "pair",
    kind: str = "kind",
    kinds: Sequence[str] | None = None,
    kind_labels: Sequence[str] | None = None,
    moments: Sequence[int] | None = None,
    labels: Mapping[str, str] | None = None,
    order: Sequence[str] | None = None,
    y_label: str | None = None,
    y_limits: Sequence[float] | None = None,
    step_label: str = "training step",
    matrix_label: str | None = None,
    states_label: str = "hidden states",
    step_log: bool = False,
) -> Figure:
    """Draw the curves, and at two steps the matrix and the projected states.

    On the page the same arguments make a player: a slider over the steps moves all three.

    Args:
        curves: Long rows ``(seed, series, step, value)``; the mean and its 95% band are drawn.
        matrices: Rows ``(step, row, column, value)`` of one seed.
        states: Rows ``(step, x, y, layer, pair, kind)`` of one seed, the steps already aligned.
        step: Column with the step, in all three tables.
        series: Column of ``curves`` that tells the curves apart.
        value: Column of ``curves`` with their value.
        row: Column of ``matrices`` with the label of a cell's row.
        column: Column of ``matrices`` with the label of a cell's column.
        cell: Column of ``matrices`` with the value of a cell.
        row_group: Column of ``matrices`` with the group of the row.
        column_group: Column of ``matrices`` with the group of the column.
        x: Column of ``states`` with the first coordinate.
        y: Column of ``states`` with the second.
        layer: Column of ``states`` with the layer, an integer.
        pair: Column of ``states`` with the sample.
        kind: Column of ``states`` with what the state is of.
        kinds: Values of ``kind`` drawn as star, circle, square, ….
        kind_labels: Text for each of ``kinds``.
        moments: The steps shown, each among those of ``matrices`` and ``states``; the first and the
            last if left out. The player has them all, and begins at the last of these.
        labels: Text for a value of ``series``, by the value as text.
        order: Values of ``series`` in the order wanted; the others follow.
        y_label: Text of the curves' axis; the column's name if left out.
        y_limits: Least and greatest value of the curves shown.
        step_label: Text of the axis of steps.
        matrix_label: Text of the colour bar; the column's name if left out.
        states_label: Text of the projection.
        step_log: Whether the steps are drawn on a logarithmic axis.

    Raises:
        DataError: A column is missing, a table has no rows, or a moment was not measured.

    Example:
        >>> curves = pl.DataFrame({"seed": [0, 0], "series": ["accuracy"] * 2, "step": [0, 9],
        ...                        "value": [0.1, 1.0]})
        >>> cells = pl.DataFrame({"step": [0, 9], "row": ["a"] * 2, "column": ["b"] * 2,
        ...                       "value": [0.0, 3.0]})
        >>> dots = pl.DataFrame({"step": [0, 9], "x": [0.0, 1.0], "y": [0.0, 1.0],
        ...                      "layer": [0, 0], "pair": [0, 0], "kind": ["bridge"] * 2})
        >>> len(through_time(curves, cells, dots).axes)  # curves, two matrices, bar, two clouds
        6
    """
    groups = {"row_group": row_group, "column_group": column_group}
    check(curves, {"step": step, "series": series, "value": value, "seed": tidy.SEED})
    check(matrices, {"step": step, "row": row, "column": column, "cell": cell, **groups})
    check(states, {"step": step, "x": x, "y": y, "layer": layer, "pair": pair, "kind": kind})
    known = shared_steps(matrices, states, step)
    chosen = chosen_moments(moments, known)
    shown = [tidy.plain(v) for v in tidy.distinct(states, kind)] if kinds is None else list(kinds)
    with style.context():
        figure = style.blank(style.FULL_WIDTH + 0.6, 4.4)
        left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.0, 1.35))[0]
        axes = left.subplots()
        _curves(axes, curves, (series, step, value), labels, order)
        axes.set(xlabel=step_label, ylabel=y_label or value)
        if step_log:
            axes.set_xscale("symlog", linthresh=max(1, known[min(1, len(known) - 1)]))
        if y_limits is not None:
            margin = 0.03 * (y_limits[1] - y_limits[0])
            axes.set_ylim(y_limits[0] - margin, y_limits[1] + margin)
        for at in chosen:
            axes.axvline(at, color=style.INK, linewidth=0.8, dashes=(1.5, 1.5), zorder=1)
        grid = right.subplots(2, len(chosen), squeeze=False)
        _matrices(right, grid[0], matrices, chosen, (step, row, column, cell), groups, matrix_label)
        pairs = tidy.distinct(states, pair)
        layers = [int(v) for v in states[layer].unique().sort()]
        for panel, at in zip(grid[1], chosen, strict=True):
            rows = states.filter(pl.col(step) == at)
            cloud(panel, rows, (x, y, layer, pair, kind), pairs, layers, shown)
        grid[1][0].set_ylabel(states_label, fontsize=style.SMALL)
        legend(right, list(kind_labels or shown), layers)
        figure.draw_without_rendering()
    return figure


def check(table: pl.DataFrame, columns: Mapping[str, str | None]) -> None:
    """Check one of the three tables."""
    tidy.require("through_time", table, columns)


def shared_steps(matrices: pl.DataFrame, states: pl.DataFrame, step: str) -> list[int]:
    """Return the steps at which both the matrix and the states were measured, sorted.

    Raises:
        DataError: There is none.
    """
    both = sorted(set(matrices[step].to_list()) & set(states[step].to_list()))
    if not both:
        one, other = (sorted(set(t[step].to_list()))[:5] for t in (matrices, states))
        raise DataError(
            f"the matrices (steps {one} …) and the states (steps {other} …) share no step; "
            "measure both at the same interval"
        )
    return both


def chosen_moments(moments: Sequence[int] | None, known: Sequence[int]) -> list[int]:
    """Return the steps to show: those asked for, or the first and the last of the known ones.

    Raises:
        DataError: A moment is not among the known steps; names the nearest.
    """
    if moments is None:
        return list(dict.fromkeys((known[0], known[-1])))
    for at in moments:
        if at not in known:
            near = min(known, key=lambda step: abs(step - at))
            raise DataError(f"nothing was measured at step {at}; the nearest measured is {near}")
    return list(moments)


def _curves(
    axes: Axes,
    table: pl.DataFrame,
    named: tuple[str, str, str],
    labels: Mapping[str, str] | None,
    order: Sequence[str] | None,
) -> None:
    series, step, value = named
    parts = tidy.panels(table, series, order)
    looks = style.marks([tidy.plain(name) for name, _ in parts])
    for name, rows in parts:
        data, look = tidy.spread(rows, step, value), looks[tidy.plain(name)]
        text = (labels or {}).get(tidy.plain(name), tidy.plain(name))
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


def _matrices(
    right: SubFigure,
    row_of_axes: Sequence[Axes],
    table: pl.DataFrame,
    chosen: Sequence[int],
    named: tuple[str, str, str, str],
    groups: Mapping[str, str | None],
    label: str | None,
) -> None:
    step, row, column, value = named
    drawn = [
        matrix_of(table.filter(pl.col(step) == at), row, column, value, **groups) for at in chosen
    ]
    scale = scale_of(drawn, None)
    panel = (min(1.4, 3.0 / len(chosen)), 1.4)  # inches, about
    for place, (axes, matrix, at) in enumerate(zip(row_of_axes, drawn, chosen, strict=True)):
        cell = (panel[0] / len(matrix.columns), panel[1] / len(matrix.rows))
        image = paint(axes, matrix, scale, cell, rows=place == 0)
        axes.set_box_aspect(1)
        style.panel_title(axes, f"step {at:,}")
    bar = right.colorbar(image, ax=list(row_of_axes), aspect=14, pad=0.02, fraction=0.05)
    bar.set_label(label or value, fontsize=style.SMALL)
    bar.outline.set_visible(False)
