"""Interactive twins of drawings: an HTML fragment in which a slider moves through training.

A fragment needs ``assets/player.js`` and plotly on its page; :mod:`inweights.report.page` puts them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.colors import to_hex

from inweights.report import style, tidy
from inweights.report import figures as figures  # registers the drawings
from inweights.report.heatmaps import Matrix, matrix_of
from inweights.report.html import escape, script_json, tag
from inweights.report.registry import PLAYERS, arguments, find, player
from inweights.report.states import depth_of
from inweights.report.through_time import check, shared_steps

if TYPE_CHECKING:
    from inweights.recipes.recipe import Figure

__all__ = ["interactive"]

_DASHES = ("solid", "dash", "10px,4px", "dashdot", "dot", "longdash", "longdashdot", "4px,2px")
_SYMBOLS = ("star", "circle", "square", "triangle-up", "diamond")
_SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def interactive(figure: Figure, tables: Mapping[str, pl.DataFrame]) -> str | None:
    """Return the interactive twin of ``figure``, or ``None`` where its kind has none.

    Raises:
        ConfigError: No drawing has the figure's kind, or an option does not fit it.
        DataError: A table or a column is missing, or a table has no rows.
    """
    drawing = find(figure)
    if figure.kind not in PLAYERS:
        return None
    given = arguments(figure, drawing, tables)
    return PLAYERS[figure.kind](*given, name=figure.id, **figure.options)


@player("through_time")
def through_time(
    curves: pl.DataFrame,
    matrices: pl.DataFrame,
    states: pl.DataFrame,
    *,
    name: str,
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
) -> str:
    """Return the player; the arguments are those of the drawing, and ``name`` its id."""
    groups = {"row_group": row_group, "column_group": column_group}
    check(curves, {"step": step, "series": series, "value": value, "seed": tidy.SEED})
    check(matrices, {"step": step, "row": row, "column": column, "cell": cell, **groups})
    check(states, {"step": step, "x": x, "y": y, "layer": layer, "pair": pair, "kind": kind})
    steps = shared_steps(matrices, states, step)
    shown = [tidy.plain(v) for v in tidy.distinct(states, kind)] if kinds is None else list(kinds)

    lines, read = _curves(curves, (series, step, value), labels, order)
    frames_of_matrix = [
        matrix_of(matrices.filter(pl.col(step) == at), row, column, cell, **groups) for at in steps
    ]
    heat = _heat(frames_of_matrix[-1], frames_of_matrix, matrix_label or cell)
    paths = _paths(states, steps, (step, x, y, layer, pair, kind), shown)
    keys = _keys(list(kind_labels or shown))
    first_path = len(lines) + 1
    frames = []
    for place, at in enumerate(steps):
        changes: list[Any] = [[len(lines), {"z": _rounded(frames_of_matrix[place].values)}]]
        changes += [[first_path + k, path["frames"][place]] for k, path in enumerate(paths)]
        frames.append({"step": at, "text": f"step {at:,}", "read": read(at), "changes": changes})
    traces = [*lines, heat, *(path["trace"] for path in paths), *keys]
    titles = (y_label or value, matrix_label or cell, states_label)
    layout = _layout(frames_of_matrix[-1], states, (x, y), step_label, titles, y_limits, step_log)
    return _fragment(name, {"traces": traces, "layout": layout, "frames": frames})


def _fragment(name: str, content: Mapping[str, Any]) -> str:
    last = str(len(content["frames"]) - 1)
    bar = tag(
        "div",
        tag("button", "Play", type="button", class_="player-play"),
        tag("input", type="range", min="0", max=last, step="1", value=last,
            aria_label="training step"),
        tag("output", escape(content["frames"][-1]["text"])),
        class_="player-bar",
    )  # fmt: skip
    plot = tag("div", class_="player-plot", id=f"{name}-plot")
    read = tag("p", class_="player-read", aria_live="off")
    data = tag("script", script_json(content), type="application/json")
    return tag("div", bar, read, plot, data, class_="player", id=f"{name}-player")


def _curves(
    table: pl.DataFrame,
    named: tuple[str, str, str],
    labels: Mapping[str, str] | None,
    order: Sequence[str] | None,
) -> tuple[list[dict[str, Any]], Any]:
    """The traces of the curves, and a function from a step to their values in words."""
    series, step, value = named
    parts = tidy.panels(table, series, order)
    looks = style.marks([tidy.plain(name) for name, _ in parts])
    traces: list[dict[str, Any]] = []
    known: list[tuple[str, tidy.Spread]] = []
    for raw, rows in parts:
        name = tidy.plain(raw)
        text = (labels or {}).get(name, name)
        data, look = tidy.spread(rows, step, value), looks[name]
        known.append((text, data))
        fine = np.isfinite(data.mean)
        at = data.at[fine].tolist()
        around = [*at, *at[::-1]]
        edge = [*data.high[fine].tolist(), *data.low[fine].tolist()[::-1]]
        band = {"fill": "toself", "fillcolor": look.color, "opacity": 0.16, "hoverinfo": "skip"}
        traces.append({"type": "scatter", "x": around, "y": _rounded(edge), "mode": "lines",
                       "line": {"width": 0}, "showlegend": False, **band})  # fmt: skip
        line = {"color": look.color, "width": 2.2, "dash": _DASHES[style.CYCLE.index(look)]}
        traces.append({"type": "scatter", "x": at, "y": _rounded(data.mean[fine]), "mode": "lines",
                       "line": line, "name": text, "hovertemplate": "%{y:.3g}"})  # fmt: skip

    def read(moment: int) -> str:
        words = []
        for text, data in known:
            if len(data.at) and np.isfinite(data.mean).any():
                fine = np.isfinite(data.mean)
                near = int(np.abs(data.at[fine] - moment).argmin())
                words.append(f"{text} {data.mean[fine][near]:.2f}")
        return " · ".join(words).replace("-", "−")

    return traces, read


def _heat(last: Matrix, all_of_them: Sequence[Matrix], label: str) -> dict[str, Any]:
    sizes = [np.nanmax(np.abs(m.values)) for m in all_of_them if not np.isnan(m.values).all()]
    top = float(max(sizes, default=1.0)) or 1.0
    stops = np.linspace(0, 1, 9)
    hover = "%{y} → %{x}<br>" + escape(label) + " %{z:.3g}<extra></extra>"
    return {
        "type": "heatmap",
        "z": _rounded(last.values),
        "x": list(last.columns),
        "y": list(last.rows),
        "xaxis": "x2",
        "yaxis": "y2",
        "zmin": -top,
        "zmax": top,
        "colorscale": [[float(s), to_hex(style.DIVERGING(s))] for s in stops],
        "colorbar": {"thickness": 9, "len": 0.5, "outlinewidth": 0, "tickfont": {"size": 11}},
        "hovertemplate": hover,
    }


def _paths(
    states: pl.DataFrame,
    steps: Sequence[int],
    named: tuple[str, str, str, str, str, str],
    kinds: Sequence[str],
) -> list[dict[str, Any]]:
    """A trace for each sample and kind, with its coordinates at every step."""
    step, x, y, layer, pair, kind = named
    layers = [int(v) for v in states[layer].unique().sort()]
    found = []
    for place, sample in enumerate(tidy.distinct(states, pair)):
        hue = style.CYCLE[place % len(style.CYCLE)].color
        mine = states.filter(pl.col(pair).eq_missing(pl.lit(sample)))
        for rank, name in enumerate(kinds):
            rows = mine.filter(pl.col(kind).cast(pl.String) == name).sort(step, layer)
            if rows.is_empty():
                continue
            frames = []
            for at in steps:
                now = rows.filter(pl.col(step) == at)
                shades = [to_hex(style.tint(hue, depth_of(v, layers))) for v in now[layer]]
                xy = {"x": _rounded(now[x].to_numpy()), "y": _rounded(now[y].to_numpy())}
                frames.append({**xy, "text": [f"layer {v}" for v in now[layer]], "_shades": shades})
            shades = frames[-1]["_shades"]
            for frame in frames:
                frame["marker.color"] = frame.pop("_shades")
            trace = {
                "type": "scatter",
                "mode": "lines+markers",
                "xaxis": "x3",
                "yaxis": "y3",
                "x": frames[-1]["x"],
                "y": frames[-1]["y"],
                "text": frames[-1]["text"],
                "line": {"color": to_hex(style.tint(hue, 0.4)), "width": 1},
                "marker": {
                    "color": shades,
                    "size": 12 if rank == 0 else 8,
                    "symbol": _SYMBOLS[rank % len(_SYMBOLS)],
                    "line": {"color": "#ffffff", "width": 0.6},
                },
                "hovertemplate": f"{escape(tidy.plain(sample))}, {escape(name)}<br>"
                "%{text}<extra></extra>",
                "showlegend": False,
            }
            found.append({"trace": trace, "frames": frames})
    return found


def _keys(kinds: Sequence[str]) -> list[dict[str, Any]]:
    """Empty traces that name the markers in the legend of the states."""
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [None],
            "y": [None],
            "xaxis": "x3",
            "yaxis": "y3",
            "name": name,
            "legend": "legend2",
            "marker": {
                "symbol": _SYMBOLS[rank % len(_SYMBOLS)],
                "size": 11 if rank == 0 else 8,
                "color": "#6b7280",
            },
        }
        for rank, name in enumerate(kinds)
    ]


def _layout(
    matrix: Matrix,
    states: pl.DataFrame,
    xy: tuple[str, str],
    step_label: str,
    titles: tuple[str, str, str],
    y_limits: Sequence[float] | None,
    step_log: bool,
) -> dict[str, Any]:
    free = {"showgrid": False, "zeroline": False, "showticklabels": False, "showline": True,
            "mirror": True, "linecolor": style.PALE}  # fmt: skip
    plain = {"linecolor": style.GREY, "ticks": "outside", "ticklen": 4, "tickcolor": style.GREY}
    label = {"size": 13, "color": style.INK}
    axis_y: dict[str, Any] = {**plain, "gridcolor": "#e6e9ee", "zeroline": False, "showline": True,
                              "title": {"text": escape(titles[0]), "font": label}}  # fmt: skip
    if y_limits is not None:
        margin = 0.04 * (y_limits[1] - y_limits[0])
        axis_y["range"] = [y_limits[0] - margin, y_limits[1] + margin]
    axis_x: dict[str, Any] = {**plain, "showgrid": False, "zeroline": False, "showline": True,
                              "title": {"text": escape(step_label), "font": label}}  # fmt: skip
    if step_log:
        axis_x["type"] = "log"
    legible = len(matrix.rows) <= 30
    cells = {"showgrid": False, "zeroline": False, "ticks": "", "showline": True, "mirror": True,
             "linecolor": style.GREY, "tickfont": {"size": 10.5}, "type": "category"}  # fmt: skip
    edges = [(last + 0.5, "y") for _, _, last in matrix.row_groups[:-1]]
    edges += [(last + 0.5, "x") for _, _, last in matrix.column_groups[:-1]]
    return {
        "font": {"family": _SANS, "size": 12, "color": style.INK},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "hoverlabel": {"font": {"family": _SANS}},
        "xaxis": {**axis_x, "anchor": "y"},
        "yaxis": {**axis_y, "anchor": "x"},
        "xaxis2": {**cells, "anchor": "y2", "showticklabels": len(matrix.columns) <= 30},
        "yaxis2": {**cells, "anchor": "x2", "showticklabels": legible, "autorange": "reversed"},
        "xaxis3": {**free, "anchor": "y3", "range": _range(states, xy[0])},
        "yaxis3": {**free, "anchor": "x3", "range": _range(states, xy[1])},
        "shapes": [_edge(place, axis) for place, axis in edges],
        "meta": {"titles": [escape(titles[1]), escape(titles[2])]},
    }


def _edge(place: float, axis: str) -> dict[str, Any]:
    """A line between two groups of the matrix."""
    line = {"color": style.INK, "width": 1}
    if axis == "y":
        return {"type": "line", "xref": "x2 domain", "yref": "y2", "x0": 0, "x1": 1,
                "y0": place, "y1": place, "line": line}  # fmt: skip
    return {"type": "line", "xref": "x2", "yref": "y2 domain", "x0": place, "x1": place,
            "y0": 0, "y1": 1, "line": line}  # fmt: skip


def _range(states: pl.DataFrame, column: str) -> list[float]:
    finite = states[column].cast(pl.Float64).drop_nulls()
    numbers = finite.filter(finite.is_finite()).to_numpy()
    if not len(numbers):
        return [-1.0, 1.0]
    low, high = float(numbers.min()), float(numbers.max())
    margin = 0.08 * (high - low) or 1.0
    return [low - margin, high + margin]


def _rounded(values: Any) -> Any:
    """Nested lists of four significant digits; ``None`` for what is not finite."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, list):
        return [_rounded(value) for value in values]
    if values is None or not math.isfinite(values):
        return None
    return float(f"{values:.4g}")
