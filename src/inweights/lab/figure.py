"""Figures, as data: what is drawn of which tables. A constructor for each kind of drawing.

A recipe stands left of ``report`` and must not import it, so that a figure names its drawing. The
constructors give each drawing's options their types; a test holds their signatures to those of the
drawings. A drawing of one's own takes ``Figure(kind="mine", options={...})``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inweights.config import Config

__all__ = ["Figure", "atlas", "auto", "heatmaps", "lines", "states", "sweeps", "through_time"]


class Figure(Config):
    """A figure, as data. ``inweights.report`` draws it from the tables of a run.

    Attributes:
        id: Short name, also the file's.
        kind: Name of a drawing function of ``inweights.report.figures``.
        title: What the figure shows, in a few words.
        caption: How to read it, and what to see.
        sources: Names of the tables that it draws, in the order of the function's arguments.
        options: Keyword arguments of the drawing function, those that are not left out.
    """

    id: str
    kind: str
    title: str
    caption: str
    sources: tuple[str, ...]
    options: dict[str, Any] = {}


def auto(
    id: str,  # noqa: A002
    table: str = "",
    title: str = "",
    caption: str = "",
    *,
    x: str | None = None,
    y: str | None = None,
    series: str | None = None,
    facet: str | None = None,
    where: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    y_limits: tuple[float, float] | None = None,
    x_log: bool | None = None,
) -> Figure:
    """A table of a sweep, drawn by what was varied in it: axis, then lines, then panels.

    Args:
        id: Short name, also the file's.
        table: What is drawn; the table called ``id`` if left out.
        title: What the figure shows, in a few words.
        caption: How to read it, and what to see.
        x: Column of the axis, if not chosen.
        y: Column of numbers, if not chosen.
        series: Column that tells the lines apart, if not chosen.
        facet: Column that tells the panels apart, if not chosen.
        where: Values that columns have in the rows that are drawn.
        labels: Text for a value of ``series`` or ``facet``.
        x_label: Text of the axis; the column's name if left out.
        y_label: Text of the axis; the column's name if left out.
        y_limits: Least and greatest value shown.
        x_log: Whether ``x`` is drawn on a logarithmic axis, if not chosen.

    Example:
        >>> auto("accuracy", where={"role": "composition"}).sources
        ('accuracy',)
    """
    return _figure(
        id,
        "auto",
        (table or id,),
        title or id,
        caption or "Mean over seeds, its 95% interval, and single seeds as dots.",
        x=x,
        y=y,
        series=series,
        facet=facet,
        where=where,
        labels=labels,
        x_label=x_label,
        y_label=y_label,
        y_limits=y_limits,
        x_log=x_log,
    )


def lines(
    id: str,  # noqa: A002
    table: str,
    title: str,
    caption: str,
    *,
    x: str,
    y: str,
    series: str | None = None,
    facet: str | None = None,
    reference: tuple[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    y_limits: tuple[float, float] | None = None,
    x_log: bool = False,
    order: Sequence[str] | None = None,
    columns: int | None = None,
) -> Figure:
    """``y`` against ``x``, one line for each ``series``, one panel for each ``facet``.

    Args:
        id: Short name, also the file's.
        table: What is drawn; rows with a column ``seed``.
        title: What the figure shows, in a few words.
        caption: How to read it, and what to see.
        x: Column of numbers.
        y: Column of numbers.
        series: Column that tells the lines apart; one line if left out.
        facet: Column that tells the panels apart.
        reference: Column and name of a dashed grey line.
        labels: Text for a value of ``series`` or ``facet``.
        x_label: Text of the axis; the column's name if left out.
        y_label: Text of the axis; the column's name if left out.
        y_limits: Least and greatest value shown.
        x_log: Whether ``x`` is drawn on a logarithmic axis.
        order: Values of ``series`` and ``facet`` in the order wanted; the others follow.
        columns: Panels side by side, at most.

    Example:
        >>> lines("hits", "table", "Hits", "High is good.", x="C", y="hit", series="model").kind
        'lines'
    """
    return _figure(
        id,
        "lines",
        (table,),
        title,
        caption,
        x=x,
        y=y,
        series=series,
        facet=facet,
        labels=labels,
        x_label=x_label,
        y_label=y_label,
        y_limits=y_limits,
        x_log=x_log or None,
        order=order,
        columns=columns,
        reference={"column": reference[0], "label": reference[1]} if reference else None,
    )


def sweeps(
    id: str,  # noqa: A002
    table: str,
    title: str,
    caption: str,
    *,
    axis: str,
    value: str,
    y: str,
    series: str | None = None,
    baseline: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    y_label: str | None = None,
    y_limits: tuple[float, float] | None = None,
    columns: int | None = None,
    order: Sequence[str] | None = None,
) -> Figure:
    """``y`` for the values of every swept setting, one panel a setting.

    Args:
        id: Short name, also the file's.
        table: What is drawn; rows with a column ``seed``.
        title: What the figure shows, in a few words.
        caption: How to read it, and what to see.
        axis: Column with the name of the swept setting.
        value: Column with its value.
        y: Column of numbers.
        series: Column that tells the lines apart; one line if left out.
        baseline: The value of each setting that the other panels keep; its tick is bold.
        labels: Text for a value of ``axis``, ``value`` or ``series``.
        y_label: Text of the shared axis; the column's name if left out.
        y_limits: Least and greatest value shown.
        columns: Panels side by side, at most.
        order: Values of ``axis`` and ``series`` in the order wanted; the others follow.
    """
    return _figure(
        id,
        "sweeps",
        (table,),
        title,
        caption,
        axis=axis,
        value=value,
        y=y,
        series=series,
        baseline=baseline,
        labels=labels,
        y_label=y_label,
        y_limits=y_limits,
        columns=columns,
        order=order,
    )


def heatmaps(
    id: str,  # noqa: A002
    table: str,
    title: str,
    caption: str,
    *,
    row: str,
    column: str,
    value: str,
    panel: str | None = None,
    box: str | None = None,
    row_group: str | None = None,
    column_group: str | None = None,
    order: Sequence[str] | None = None,
    value_label: str | None = None,
    limit: float | None = None,
    columns: int | None = None,
) -> Figure:
    """One matrix for each ``panel``; all share a colour scale that is white at zero.

    Args:
        id: Short name, also the file's.
        table: What is drawn: a row a cell; rows of several seeds are averaged.
        title: What the figure shows, in a few words.
        caption: How to read it, and what to see.
        row: Column with the label of a cell's row.
        column: Column with the label of a cell's column.
        value: Column of numbers.
        panel: Column that tells the matrices apart; one matrix if left out.
        box: Boolean column; its cells carry a red box.
        row_group: Column with the group of the row.
        column_group: Column with the group of the column.
        order: Panels in the order wanted; the others follow.
        value_label: Text of the colour bar; the column's name if left out.
        limit: Greatest size on the colour scale; the greatest in the table if left out.
        columns: Panels side by side, at most.
    """
    return _figure(
        id,
        "heatmaps",
        (table,),
        title,
        caption,
        row=row,
        column=column,
        value=value,
        panel=panel,
        box=box,
        row_group=row_group,
        column_group=column_group,
        order=order,
        value_label=value_label,
        limit=limit,
        columns=columns,
    )


def states(
    id: str,  # noqa: A002
    table: str,
    title: str,
    caption: str,
    *,
    x: str,
    y: str,
    layer: str,
    pair: str,
    kind: str,
    panel: str | None = None,
    kinds: Sequence[str] | None = None,
    kind_labels: Sequence[str] | None = None,
    note: str | None = None,
    text: str | None = None,
    order: Sequence[str] | None = None,
    columns: int | None = None,
) -> Figure:
    """Hidden states in the plane, one panel for each ``panel``.

    Args:
        id: Short name, also the file's.
        table: What is drawn: a row a state.
        title: What the figure shows, in a few words.
        caption: How to read it, and what to see.
        x: Column with the first coordinate of the projection.
        y: Column with the second.
        layer: Integer column, 0 the shallowest.
        pair: Column with the sample.
        kind: Column with what the state is of.
        panel: Column that tells the panels apart; one panel if left out.
        kinds: Values of ``kind`` drawn as star, circle, square, ….
        kind_labels: Text for each of ``kinds``.
        note: Column with a short text for the panel.
        text: Column with a name that is written beside each state.
        order: Panels in the order wanted; the others follow.
        columns: Panels side by side, at most.
    """
    return _figure(
        id,
        "states",
        (table,),
        title,
        caption,
        x=x,
        y=y,
        layer=layer,
        pair=pair,
        kind=kind,
        panel=panel,
        kinds=kinds,
        kind_labels=kind_labels,
        note=note,
        text=text,
        order=order,
        columns=columns,
    )


def through_time(
    id: str,  # noqa: A002
    tables: tuple[str, str, str],
    title: str,
    caption: str,
    *,
    layer: str | None = None,
    row_group: str | None = None,
    column_group: str | None = None,
    kinds: Sequence[str] | None = None,
    kind_labels: Sequence[str] | None = None,
    matrix_label: str | None = None,
    y_label: str | None = None,
    y_limits: tuple[float, float] | None = None,
) -> Figure:
    """Curves, matrices and projected states; a slider over the steps moves all three.

    Args:
        id: Short name, also the file's.
        tables: Curves, matrices and states.
        title: What the figure shows, in a few words.
        caption: How to read it, and what to see.
        layer: Column of the states with the layer.
        row_group: Column of the matrices with the group of the row.
        column_group: Column of the matrices with the group of the column.
        kinds: Values of ``kind`` of the states drawn as star, circle, square, ….
        kind_labels: Text for each of ``kinds``.
        matrix_label: Text of the colour bar.
        y_label: Text of the curves' axis.
        y_limits: Least and greatest value of the curves shown.
    """
    return _figure(
        id,
        "through_time",
        tables,
        title,
        caption,
        layer=layer,
        row_group=row_group,
        column_group=column_group,
        kinds=kinds,
        kind_labels=kind_labels,
        matrix_label=matrix_label,
        y_label=y_label,
        y_limits=y_limits,
    )


def atlas(
    id: str,  # noqa: A002
    films: str,
    graphs: str,
    title: str,
    caption: str,
    *,
    order: Sequence[str] | None = None,
    columns: int | None = None,
) -> Figure:
    """Graphs and architectures that play their training in 3-D.

    Args:
        id: Short name, also the file's.
        films: Table of the films, as :func:`inweights.probes.film.render_frames` makes them.
        graphs: Table of the graphs that they are of.
        title: What the figure shows, in a few words.
        caption: How to read it, and what to see.
        order: Architectures in the order wanted; the others follow.
        columns: Panels side by side, at most.
    """
    return _figure(id, "atlas", (films, graphs), title, caption, order=order, columns=columns)


def _figure(
    name: str,
    drawing: str,
    tables: tuple[str, ...],
    title: str,
    caption: str,
    **options: Any,
) -> Figure:
    """Keep the options that are given; sequences become lists, as JSON gives them back."""
    given = {
        key: list(value) if isinstance(value, tuple | list) else value
        for key, value in options.items()
        if value is not None
    }
    return Figure(
        id=name, kind=drawing, title=title, caption=caption, sources=tables, options=given
    )
