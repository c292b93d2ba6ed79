"""Build the axes, titles and group names of the player; ``assets/player.js`` positions them.

:func:`build_layout` fills the layout of ``assets/player.json`` for one
:class:`ThroughTime`.
"""

import html
import json
from typing import Any

import polars as pl

from inweights.report.base import style, tidy
from inweights.report.base.document import asset
from inweights.report.base.matrix import Matrix
from inweights.report.figures.through_time import ThroughTime

_LEGIBLE = 30  # largest number of rows or columns with names


def words(text: str) -> str:
    """Return a text escaped for plotly, which interprets some HTML tags.

    Args:
        text: Text to escape.

    Example:
        >>> words("a < b")
        'a &lt; b'
    """
    return html.escape(text, quote=False)


def build_layout(film: ThroughTime, matrix: Matrix) -> dict[str, Any]:
    """Return the plotly layout of curves, matrix and states, excluding positions on the page.

    The axis ranges are the same at every step. In the plot of states, they cover the
    states at all steps.

    Args:
        film: The plot with its tables.
        matrix: The matrix at one step. Its labels and groups are used for all steps.

    Returns:
        The layout, as a dictionary of plain Python values.
    """
    first = film.layers[0]
    last = film.layers[-1]
    depth = "" if first == last else f"; light to dark: layer {first} to {last}"
    layout: dict[str, Any] = json.loads(asset("player.json"))
    layout["hoverlabel"] = {"font": {"family": layout["font"]["family"]}}
    layout["yaxis"]["title"]["text"] = words(film.y_label)
    if film.step_log:
        layout["xaxis"] |= {"type": "log", "dtick": 1}
    if film.y_limits is not None:
        layout["yaxis"]["range"] = list(tidy.wider(film.y_limits, 0.04))
    named_rows = len(matrix.rows) <= _LEGIBLE
    named_columns = len(matrix.columns) <= _LEGIBLE
    layout["xaxis2"]["showticklabels"] = named_columns
    layout["yaxis2"]["showticklabels"] = named_rows
    for axis in "xy":
        layout[f"{axis}axis3"]["range"] = _range(film.states[axis])
    # Approximate width, in pixels, of everything to the left of the matrix.
    left = (_names(matrix) if named_rows else 4) + (18 if matrix.row_groups else 0)
    return layout | {
        "shapes": _edges(matrix),
        "annotations": _groups(matrix, named_rows, named_columns),
        "meta": {
            "titles": [words(film.matrix_label), f"hidden states{depth}"],
            "left": left,
        },
    }


def _edges(matrix: Matrix) -> list[dict[str, Any]]:
    """Return the lines between the groups of the matrix."""
    line = {"type": "line", "line": {"color": style.INK, "width": 1}}
    across = {
        **line,
        "xref": "x2 domain",
        "yref": "y2",
        "x0": 0,
        "x1": 1,
    }
    down = {**line, "xref": "x2", "yref": "y2 domain"}
    edges: list[dict[str, Any]] = []
    for _, _, last in matrix.row_groups[:-1]:
        edges.append({**across, "y0": last + 0.5, "y1": last + 0.5})
    for _, _, last in matrix.column_groups[:-1]:
        edges.append(
            {
                **down,
                "x0": last + 0.5,
                "x1": last + 0.5,
                "y0": 0,
                "y1": 1,
            }
        )
    return edges


def _names(matrix: Matrix) -> float:
    """Return the approximate width of the names of the rows, in pixels."""
    return 6.0 * max(map(len, matrix.rows), default=0) + 6


def _groups(
    matrix: Matrix, named_rows: bool, named_columns: bool
) -> list[dict[str, Any]]:
    """Return the names of the groups, placed outside the names of their rows and columns."""
    font = {"showarrow": False, "font": {"size": 12}}
    wide = _names(matrix) if named_rows else 4
    rows = [
        {
            **font,
            "text": words(name.replace("_", " ")),
            "xref": "x2 domain",
            "yref": "y2",
            "x": 0,
            "y": (first + last) / 2,
            "xanchor": "right",
            "yanchor": "middle",
            "xshift": -wide,
            "textangle": -90,
        }
        for name, first, last in matrix.row_groups
    ]
    columns = [
        {
            **font,
            "text": words(name.replace("_", " ")),
            "xref": "x2",
            "yref": "y2 domain",
            "x": (first + last) / 2,
            "y": 0,
            "xanchor": "center",
            "yanchor": "top",
            "yshift": -18 if named_columns else -3,
        }
        for name, first, last in matrix.column_groups
    ]
    return rows + columns


def _range(values: pl.Series) -> list[float]:
    numbers = values.cast(pl.Float64).drop_nulls()
    numbers = numbers.filter(numbers.is_finite())
    if numbers.is_empty():
        return [-1.0, 1.0]
    low = float(numbers.to_numpy().min())
    high = float(numbers.to_numpy().max())
    margin = 0.08 * (high - low) or 1.0
    return [low - margin, high + margin]
