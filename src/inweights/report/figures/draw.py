"""Draw a figure of a recipe, or any table, with a registered drawing.

:func:`draw` draws the figures of a run, :func:`draw_for_phone` draws them for narrow
windows, and :func:`plot` is the public function for a user's tables. Importing this
module registers all drawings of the library.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from inweights.errors import ConfigError
from inweights.experiments.grammar.figure import Figure
from inweights.report.base import frames, style
from inweights.report.base.paint import wrap
from inweights.report.base.registry import DRAWINGS, Drawing, arguments, drawing, find
from inweights.report.base.save import show_inline

# Each import registers its drawings.
from inweights.report.figures import (  # noqa: F401
    atlas,
    auto,
    heatmaps,
    lines,
    states,
    sweeps,
    through_time,
)
from inweights.report.figures.line_panel import Panel

__all__ = ["DRAWINGS", "draw", "draw_for_phone", "drawing", "plot"]


def draw(figure: Figure, tables: Mapping[str, pl.DataFrame]) -> Picture:
    """Draw a figure of a run, given its description and the tables of the run.

    Args:
        figure: Description of the figure. Its ``kind`` is the name of a registered
            drawing function, ``sources`` are the names of the tables to draw, and
            ``options`` are the options of the function.
        tables: All tables of the run, by name.

    Returns:
        The matplotlib figure. If the kind is ``auto`` and it is unclear which of
        several columns to draw, the figure contains only a sentence that says so.

    Raises:
        ConfigError: No drawing function is registered under the figure's kind, a
            required option is missing, an option is unknown, or the number of tables is
            wrong.
        DataError: A table or a column is missing, a column contains no numbers, or a
            table has no rows.
        Exception: Any error raised by a user-defined drawing function.

    Example:
        >>> from types import SimpleNamespace
        >>> table = pl.DataFrame({"seed": [0, 1], "C": [1, 1], "model": ["gpt"] * 2, "hit": [0, 1]})
        >>> figure = SimpleNamespace(
        ...     id="fig2", kind="lines", sources=("hits",),
        ...     options={"x": "C", "y": "hit", "series": "model"},
        ... )
        >>> len(draw(figure, {"hits": table}).axes)
        1
    """
    try:
        return _drawn(find(figure), figure, tables)
    except auto.UndeclaredError as error:
        # All other results are shown, although the probe does not declare what to draw.
        return _message(str(error))


def _message(text: str) -> Picture:
    """Return a figure that only contains a text, such as the reason why nothing is drawn."""
    with style.context():
        picture = style.blank(style.full_width(), 0.9)
        text = wrap(text, style.full_width() - 0.3, style.SMALL)
        picture.text(
            0.02, 0.5, text, va="center", fontsize=style.SMALL, color=style.INK
        )
    return show_inline(picture)


def draw_for_phone(
    figure: Figure, tables: Mapping[str, pl.DataFrame]
) -> Picture | None:
    """Draw a figure for a narrow window, with stacked panels and text of the usual size.

    The library's own drawing functions have a layout for narrow windows. A figure that
    a user-defined function returned is made narrower if its panels are in a single
    column.

    Args:
        figure: Description of the figure.
        tables: All tables of the run, by name.

    Returns:
        The matplotlib figure, about 3.2 inches wide; ``None`` if the figure cannot be
        narrowed.

    Raises:
        ConfigError: No drawing function is registered under the figure's kind, a
            required option is missing, an option is unknown, or the number of tables is
            wrong.
        DataError: A table or a column is missing, a column contains no numbers, or a
            table has no rows.
        Exception: Any error raised by a user-defined drawing function.
    """
    with style.on_a_phone():
        picture = draw(figure, tables)
    if picture.get_figwidth() <= 1.1 * style.PHONE_WIDTH:
        return picture
    places = [axes.get_subplotspec() for axes in picture.axes]
    if picture.get_layout_engine() is None or any(
        p and p.get_gridspec().ncols > 1 for p in places
    ):
        return None
    picture.set_figwidth(style.PHONE_WIDTH)
    with style.context():
        _lay_out(picture)
    return picture


def plot(kind: Any, *tables: Any, axes: Axes | None = None, **options: Any) -> Picture:
    """Plot a table, as in ``plot("lines", table, x="C", y="hit")``.

    Args:
        kind: Name of a kind of plot, such as ``lines`` or ``heatmaps``; or the first
            table. If it is a table, the kind is ``auto``, which chooses the axes from
            the columns.
        *tables: Tables to plot, such as the result of a sweep or a probe: polars or
            pandas DataFrames, or dictionaries of columns. A column ``seed`` or
            ``replica`` distinguishes replicates.
        axes: Existing matplotlib axes in which to draw, only for the kind ``lines``.
            Their frame and limits are not changed. By default, a new figure is created.
        **options: Options of this kind of plot, such as ``x`` and ``y`` of ``lines``.

    Returns:
        The matplotlib figure; with ``axes``, the figure to which they belong.

    Raises:
        ConfigError: No kind of plot has this name, a required option is missing, an
            option is unknown, the number of tables is wrong, or ``axes`` is given for a
            kind other than ``lines``.
        DataError: A column is missing or contains no numbers, a table has no rows or an
            argument is not a table, or ``auto`` cannot determine which column to draw.

    Example:
        >>> table = pl.DataFrame({"replica": [0, 1], "C": [1, 1], "hit": [0, 1]})
        >>> len(plot("lines", table, x="C", y="hit").axes)
        1
    """
    if not isinstance(kind, str):
        kind, tables = "auto", (kind, *tables)
    named = {f"table {place + 1}": table for place, table in enumerate(tables)}
    figure = SimpleNamespace(
        id=kind,
        kind=kind,
        sources=tuple(named),
        options=options,
    )
    found = find(figure)  # type: ignore[arg-type]
    if axes is None:
        return _drawn(found, figure, named)
    if found is not lines.Lines:
        raise ConfigError(
            f"the drawing '{kind}' creates its own figure; only 'lines' can draw into given "
            "axes"
        )
    return _drawn(Panel, figure, named, axes)


def _drawn(
    kind: Drawing, figure: Any, tables: Mapping[str, Any], axes: Axes | None = None
) -> Picture:
    converted = {name: frames.as_polars(table) for name, table in tables.items()}
    given = arguments(figure, kind, converted)
    with style.context():
        made = kind(*given, **figure.options)
        if axes is not None:
            picture: Picture = made.into(axes)
        else:
            picture = made if isinstance(made, Picture) else made.draw()
            gridded = picture.axes and all(
                axes.get_subplotspec() for axes in picture.axes
            )
            if gridded and picture.get_layout_engine() is None:
                picture.set_layout_engine("constrained")  # so that no label is cut
        _lay_out(picture)
    return show_inline(picture)


def _lay_out(picture: Picture) -> None:
    """Compute the positions of all elements, with ticks in the style that is active."""
    if (layout := picture.get_layout_engine()) is None:
        picture.draw_without_rendering()
    else:
        layout.execute(picture)
