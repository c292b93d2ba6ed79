"""Build the interactive player of ``through_time``: its traces, and their values at every step.

The player is registered as the interactive form of the drawing. :mod:`~.player_layout`
builds axes and titles, and ``assets/player.js`` plays the steps.
"""

import html
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.colors import to_hex

from inweights.report.base import style, tidy
from inweights.report.base.html import escape, script_json, tag
from inweights.report.base.matrix import Matrix, scale_of
from inweights.report.base.registry import player as twin
from inweights.report.figures.states import depth_of
from inweights.report.figures.through_time import ThroughTime
from inweights.report.living.player_layout import build_layout, words

_DASHES = (
    "solid",
    "dash",
    "10px,4px",
    "dashdot",
    "dot",
    "longdash",
    "longdashdot",
    "4px,2px",
)
#: Attributes of every trace in the panel of the states.
_STATES = {"type": "scatter", "xaxis": "x3", "yaxis": "y3"}
_SYMBOLS = ("star", "circle", "square", "triangle-up", "diamond")


@twin("through_time")
def through_time(*tables: pl.DataFrame, name: str, **options: Any) -> str:
    """Return the player of a training run, as HTML for a page that loads plotly and ``player.js``.

    Args:
        *tables: Curves, matrices and states, as for :class:`ThroughTime`.
        name: Id of the figure on its page.
        **options: Options of :class:`ThroughTime`, such as ``row_group``.

    Raises:
        DataError: The tables or ``moments`` are invalid; see :class:`ThroughTime`.
    """
    film = ThroughTime(*tables, **options)
    steps = film.steps
    drawn = {*steps, *film.curves["step"].to_list()}
    # A logarithmic axis has no 0: step 0 is drawn before the first other step.
    least = (
        min((at for at in drawn if at > 0), default=1) / 2
        if film.step_log
        else -math.inf
    )

    lines, read = _curves(film.curves, least)
    matrices = list(map(film.matrix, steps))
    heat = _heat(matrices, film.matrix_label)
    paths = _paths(film)
    keys = _keys(film.legend)
    first_path = len(lines) + 1
    frames = []
    for place, at in enumerate(steps):
        changes: list[Any] = [[len(lines), {"z": _rounded(matrices[place].values)}]]
        changes += [
            [first_path + k, path["frames"][place]] for k, path in enumerate(paths)
        ]
        texts = {"text": f"step {at:,}", "read": read(at)}
        frames.append(
            {
                "step": at,
                "cursor": max(at, least),
                **texts,
                "changes": changes,
            }
        )
    traces = [*lines, heat, *(path["trace"] for path in paths), *keys]
    content = {
        "traces": traces,
        "layout": build_layout(film, matrices[-1]),
        "frames": frames,
        "curves": _swatches(lines),
    }
    return _fragment(name, content, steps.index(film.chosen[-1]))


def _fragment(name: str, content: Mapping[str, Any], start: int) -> str:
    last = str(len(content["frames"]) - 1)
    bar = tag(
        "div",
        tag("button", "Play", type="button", class_="player-play"),
        tag(
            "input",
            type="range",
            min="0",
            max=last,
            step="1",
            value=str(start),
            aria_label="training step",
        ),
        tag("output", escape(content["frames"][start]["text"])),
        class_="player-bar",
    )
    plot = tag("div", class_="player-plot", id=f"{name}-plot")
    read = tag("p", class_="player-read", aria_live="off")
    data = tag("script", script_json(content), type="application/json")
    return tag("div", bar, read, plot, data, class_="player", id=f"{name}-player")


def _curves(
    table: pl.DataFrame, least: float
) -> tuple[list[dict[str, Any]], Callable[[int], list[str]]]:
    """Return the traces of the curves, and a function from a step to their values as text.

    Steps below ``least`` are drawn at ``least``, since a logarithmic axis has no zero.
    """
    parts = tidy.panels(table, "series")
    looks = style.marks([tidy.plain(name) for name, _ in parts])
    traces: list[dict[str, Any]] = []
    known: list[tidy.Spread] = []
    for raw, rows in parts:
        name = tidy.plain(raw)
        data = tidy.spread(rows, "step", "value")
        look = looks[name]
        known.append(data)
        fine = np.isfinite(data.mean)
        at = [max(step, least) for step in data.at[fine].tolist()]
        around = [*at, *at[::-1]]
        # Along the upper ends of the intervals, and back along the lower ends.
        upper = data.high[fine].tolist()
        lower = data.low[fine].tolist()
        edge = [*upper, *lower[::-1]]
        band = {
            "fill": "toself",
            "fillcolor": look.color,
            "opacity": 0.16,
            "hoverinfo": "skip",
        }
        traces.append(
            {
                "type": "scatter",
                "x": around,
                "y": _rounded(edge),
                "mode": "lines",
                "line": {"width": 0},
                "showlegend": False,
                **band,
            }
        )
        line = {
            "color": look.color,
            "width": 2.2,
            "dash": _DASHES[style.CYCLE.index(look)],
        }
        traces.append(
            {
                "type": "scatter",
                "x": at,
                "y": _rounded(data.mean[fine]),
                "mode": "lines",
                "line": line,
                "name": words(name),
                "showlegend": False,
                "hovertemplate": "%{y:.3g}",
            }
        )

    def read(moment: int) -> list[str]:
        values = []
        for data in known:
            fine = np.isfinite(data.mean)
            near = np.abs(data.at[fine] - moment)
            values.append(f"{data.mean[fine][near.argmin()]:.2f}" if len(near) else "–")
        return [text.replace("-", "−") for text in values]

    return traces, read


def _swatches(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return name, colour and dash of every curve, for a legend that also shows the values."""
    dashes = {mark.color: _svg_dash(mark) for mark in style.CYCLE}
    named = [
        (trace["name"], trace["line"]["color"]) for trace in lines if "name" in trace
    ]
    # Plotly interprets names as markup, but the page inserts these names as text.
    return [{"name": html.unescape(n), "color": c, "dash": dashes[c]} for n, c in named]


def _svg_dash(mark: style.Mark) -> str:
    """Return a dash pattern of matplotlib in SVG's notation."""
    if mark.dash == "solid":
        return "none"
    return " ".join(f"{2 * length:g}" for length in mark.dash[1])


def _heat(matrices: Sequence[Matrix], label: str) -> dict[str, Any]:
    last = matrices[-1]
    scale = scale_of(matrices, None)
    stops = np.linspace(0, 1, 9)
    hover = "%{y} → %{x}<br>" + words(label) + " %{z:.3g}<extra></extra>"
    return {
        "type": "heatmap",
        "z": _rounded(last.values),
        "x": list(map(words, last.columns)),
        "y": list(map(words, last.rows)),
        "xaxis": "x2",
        "yaxis": "y2",
        "zmin": scale.vmin,
        "zmax": scale.vmax,
        "colorscale": [[float(s), to_hex(style.DIVERGING(s))] for s in stops],
        "colorbar": {
            "thickness": 9,
            "len": 0.5,
            "outlinewidth": 0,
            "tickfont": {"size": 11},
        },
        "hovertemplate": hover,
    }


def _paths(film: ThroughTime) -> list[dict[str, Any]]:
    """Return one trace for each sample and kind, with its coordinates at every step."""
    layers = film.layers
    paths = []
    for place, sample in enumerate(tidy.distinct(film.states, "pair")):
        hue = style.CYCLE[place % len(style.CYCLE)].color
        mine = film.states.filter(pl.col("pair").eq_missing(pl.lit(sample)))
        for rank, name in enumerate(film.shown):
            rows = mine.filter(pl.col("kind").cast(pl.String) == name).sort(
                "step", film.layer
            )
            if rows.is_empty():
                continue
            frames = []
            for at in film.steps:
                now = rows.filter(step=at)
                shades = [style.tint(hue, depth_of(v, layers)) for v in now[film.layer]]
                places = {axis: _rounded(now[axis].to_numpy()) for axis in ("x", "y")}
                texts = {"text": [f"layer {v}" for v in now[film.layer]]}
                frames.append(
                    {**places, **texts, "marker.color": list(map(to_hex, shades))}
                )
            last = dict(frames[-1])
            marker = {
                "color": last.pop("marker.color"),
                "size": 12 if rank == 0 else 8,
                "symbol": _SYMBOLS[rank % len(_SYMBOLS)],
                "line": {"color": "#ffffff", "width": 0.6},
            }
            hover = (
                f"{words(tidy.plain(sample))}, {words(name)}<br>"
                + "%{text}<extra></extra>"
            )
            line = {"color": to_hex(style.tint(hue, 0.4)), "width": 1}
            trace = {
                **_STATES,
                "mode": "lines+markers",
                **last,
                "line": line,
                "marker": marker,
                "hovertemplate": hover,
                "showlegend": False,
            }
            paths.append({"trace": trace, "frames": frames})
    return paths


def _keys(kinds: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield traces without points, which explain the markers in the legend."""
    for rank, name in enumerate(kinds):
        marker = {
            "symbol": _SYMBOLS[rank % len(_SYMBOLS)],
            "size": 11 if rank == 0 else 8,
            "color": "#6b7280",
        }
        yield {
            **_STATES,
            "mode": "markers",
            "x": [None],
            "y": [None],
            "name": words(name),
            "legend": "legend2",
            "marker": marker,
        }


def _rounded(values: Any) -> Any:
    """Return nested lists rounded to four significant digits; ``None`` for non-finite numbers."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, list):
        return list(map(_rounded, values))
    if values is None or not math.isfinite(values):
        return None
    return float(f"{values:.4g}")
