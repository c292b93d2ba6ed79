"""Draw a figure of a recipe from the tables of its run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.figure import Figure as Picture

# Each import registers its drawings.
from inweights.report import heatmaps, lines, states, sweeps, through_time
from inweights.report.registry import DRAWINGS, arguments, drawing, find

if TYPE_CHECKING:
    from inweights.recipes.recipe import Figure

__all__ = [
    "DRAWINGS",
    "draw",
    "drawing",
    "heatmaps",
    "lines",
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
