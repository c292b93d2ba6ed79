"""Draw a figure of a recipe from the tables of its run."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.figure import Figure as Picture

# Each import registers its drawings.
from inweights.report import atlas, auto, heatmaps, lines, states, sweeps, through_time
from inweights.report.registry import DRAWINGS, arguments, drawing, find

if TYPE_CHECKING:
    from inweights.lab.figure import Figure

__all__ = [
    "DRAWINGS",
    "atlas",
    "auto",
    "draw",
    "drawing",
    "heatmaps",
    "lines",
    "plot",
    "states",
    "sweeps",
    "through_time",
]


def draw(figure: Figure, tables: Mapping[str, pl.DataFrame]) -> Picture:
    """Return the picture of ``figure``.

    Args:
        figure: What to draw: a kind, the names of its tables, options.
        tables: Tables of the run by name.

    Raises:
        ConfigError: No drawing has the figure's kind, or an option does not fit it.
        DataError: A table or a column is missing, or a table has no rows.

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
    function = find(figure)
    return function(*arguments(figure, function, tables), **figure.options)


def plot(kind: str, *tables: pl.DataFrame, **options: Any) -> Picture:
    """Draw tables of one's own: the same drawings as those of recipes.

    Args:
        kind: Name of a drawing, such as ``lines`` or ``heatmaps``.
        tables: What it draws.
        options: Its options.

    Raises:
        ConfigError: No drawing has the name, or an option does not fit it.
        DataError: A column is missing, or a table has no rows.

    Example:
        >>> table = pl.DataFrame({"seed": [0, 1], "C": [1, 1], "model": ["gpt"] * 2, "hit": [0, 1]})
        >>> len(plot("lines", table, x="C", y="hit", series="model").axes)
        1
    """
    named = {f"table {place + 1}": table for place, table in enumerate(tables)}
    figure = SimpleNamespace(id=kind, kind=kind, sources=tuple(named), options=options)
    return draw(figure, named)  # type: ignore[arg-type]
