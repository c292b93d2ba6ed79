"""The atlas: graphs as architectures come to store them, to turn, to hover and to play.

One page, one file, no network: the embedding in space with the graph's edges, the cosine of every
pair, the energy by eigenspace, recall and Spearman over steps, all at the slider's step. A still of
it is drawn with matplotlib. Its pictures come from :func:`inweights.probes.film.render_frames`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.colors as mcolors
import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from inweights.errors import DataError
from inweights.report.base import style, tidy
from inweights.report.base.document import document
from inweights.report.base.html import escape, preview, prose, tag
from inweights.report.base.registry import drawing, player
from inweights.report.living.atlas_layout import PALETTES, build_content, build_fragment, check
from inweights.theory.geometric_memory.layout import scene
from inweights.worlds.world import World

__all__ = ["atlas", "fragment", "page", "whole"]

Floats = NDArray[np.float64]


def page(
    films: Mapping[str, Mapping[str, pl.DataFrame]],
    worlds: Mapping[str, World],
    *,
    title: str = "How a graph comes to lie in the weights",
    summary: str = "",
    order: Sequence[str] | None = None,
    numbers: pl.DataFrame | None = None,
    unit: str = "step",
) -> str:
    """Return the atlas of graphs of one's own as one HTML file that opens offline.

    Args:
        films: By name of the graph, then of the architecture: what
            :func:`inweights.probes.film.render_frames` returned.
        worlds: The world of every graph, by the same names.
        title: Heading of the page.
        summary: A sentence below it; what stands between backticks is set as code.
        order: Architectures in the order wanted; the others follow.
        numbers: A table that stands below the pictures.
        unit: What a frame is one of, such as ``layer``.

    Raises:
        DataError: A graph has no world, a film does not fit its world, or the page would be too
            large: about 250 nodes with 40 frames and five architectures fit.

    Example:
        >>> from inweights.models import Node2VecConfig
        >>> from inweights.probes import render_frames, snapshot
        >>> from inweights.training import Descent
        >>> from inweights.worlds import Graph
        >>> ring = Graph(shape="cycle", n=8, shuffled=False).build()
        >>> taken = Descent(steps=50).observe(snapshot, ring, Node2VecConfig(), seed=0, every=10)
        >>> films = {"Node2Vec": render_frames(taken, ring)}
        >>> page({"ring": films}, {"ring": ring}).startswith("<!doctype")
        True
    """
    missing = [name for name in films if name not in worlds]
    if missing:
        raise DataError(
            f"films of {', '.join(missing)} have no world; give worlds the same names: "
            f"{', '.join(worlds) or 'there are none'}"
        )
    parts = [
        table.select(pl.lit(graph).alias("graph"), pl.lit(name).alias("architecture"), pl.all())
        for graph, each in films.items()
        for name, table in each.items()
    ]
    if not parts:
        raise DataError("an atlas needs at least one film")
    scenes = [scene(worlds[name]).select(pl.lit(name).alias("graph"), pl.all()) for name in films]
    return whole(
        pl.concat(parts, how="diagonal_relaxed"),
        pl.concat(scenes),
        title=title,
        summary=summary,
        order=order,
        numbers=numbers,
        unit=unit,
    )


def whole(
    films: pl.DataFrame,
    graphs: pl.DataFrame,
    *,
    title: str,
    summary: str = "",
    order: Sequence[str] | None = None,
    numbers: pl.DataFrame | None = None,
    unit: str = "step",
) -> str:
    """Return the page of tables, such as those of a run of ``geometric-memory/fig1``.

    Args:
        films: As for :func:`atlas`.
        graphs: As for :func:`atlas`.
        title: Heading of the page.
        summary: A sentence below it.
        order: Architectures in the order wanted; the others follow.
        numbers: A table that stands below the pictures.
        unit: What a frame is one of, such as ``layer``.

    Raises:
        DataError: A film does not fit its graph, or the page would be too large.
    """
    content = build_content(films, graphs, order) | {"unit": unit}
    body = tag(
        "main",
        tag("h1", escape(title)),
        tag("p", prose(summary), class_="summary"),
        build_fragment(content, "own"),
        "" if numbers is None else preview("numbers", numbers, rows=numbers.height),
    )
    return document(title, body, styles=["page.css"], class_="atlas-page")


@player("atlas")
def fragment(
    films: pl.DataFrame,
    graphs: pl.DataFrame,
    *,
    name: str,
    order: Sequence[str] | None = None,
    columns: int = 5,
) -> str:
    """Return the atlas for a page of a run; the arguments are those of :func:`atlas`."""
    del columns
    return build_fragment(build_content(films, graphs, order), name)


@drawing("atlas")
def atlas(
    films: pl.DataFrame,
    graphs: pl.DataFrame,
    *,
    order: Sequence[str] | None = None,
    columns: int = 5,
) -> Figure:
    """Draw every film's last frame in space: a row for each graph, a column for each architecture.

    Args:
        films: Rows of :func:`inweights.probes.film.render_frames` with ``graph`` and
            ``architecture``.
        graphs: A row for each graph: ``graph`` and
            :func:`inweights.theory.geometric_memory.layout.scene`.
        order: Architectures in the order wanted; the others follow.
        columns: Architectures that are shown at most.

    Raises:
        DataError: A column or a graph is missing, or a table has no rows.
    """
    check(films, graphs)
    shown = [tidy.plain(a) for a in tidy.distinct(films, "architecture", order)][:columns]
    played = set(films["graph"])
    scenes = [row for row in graphs.iter_rows(named=True) if row["graph"] in played]
    with style.context():
        size = style.FULL_WIDTH / max(3, len(shown))
        figure = Figure(figsize=(size * len(shown), size * 1.12 * len(scenes) + 0.2))
        high = 1 - 0.25 / figure.get_figheight()
        for row, one in enumerate(scenes):
            for column, name in enumerate(shown):
                wide, tall = 1 / len(shown), high / len(scenes)
                box = (column * wide, high - (row + 1) * tall, wide, tall)
                axes = figure.add_axes(box, projection="3d")
                rows = films.filter(graph=one["graph"], architecture=name).sort("step")
                _space(axes, rows, one)
                if row == 0:
                    figure.text(box[0] + wide / 2, 0.996, name, ha="center", va="top",
                                fontweight="bold", fontsize=style.LABEL)  # fmt: skip
                if column == 0:
                    figure.text(0.004, box[1] + 0.94 * tall, one["graph"], ha="left", va="top",
                                fontsize=style.LABEL, color=style.GREY)  # fmt: skip
    return figure


def _space(axes: Any, rows: pl.DataFrame, one: Mapping[str, Any]) -> None:
    """Draw the last frame of one film; nothing where there is none."""
    axes.set_axis_off()
    axes.patch.set_alpha(0.0)
    axes.view_init(elev=36, azim=-58)
    if rows.is_empty():
        return
    where = np.asarray(rows["positions"][-1], dtype=np.float64).reshape(-1, 3)
    if len(where) != len(one["nodes"]):
        raise DataError(
            f"a film of '{one['graph']}' has {len(where)} nodes, the graph {len(one['nodes'])}"
        )
    colors = _colors(one)
    for u, v in one["links"]:
        middle = (where[u] + where[v]) / 2
        for end in (u, v):
            axes.plot(*np.stack([where[end], middle]).T, color=colors[end], lw=1.3, alpha=0.75,
                      solid_capstyle="butt")  # fmt: skip
    axes.scatter(*where.T, c=colors, s=26, depthshade=True, edgecolors="white", linewidths=0.5)
    reach = 0.8 * float(np.linalg.norm(where, axis=1).max())
    for axis in "xyz":
        getattr(axes, f"set_{axis}lim")(-reach, reach)
    axes.set_box_aspect((1, 1, 1), zoom=1.15)
    rho = rows["spearman"][-1]
    if rho is not None and math.isfinite(rho):
        text = f"ρ = {rho:.2f}".replace("-", "−")
        axes.text2D(0.5, 0.01, text, transform=axes.transAxes, ha="center", fontsize=style.SMALL,
                    color=style.INK)  # fmt: skip


def _colors(one: Mapping[str, Any]) -> list[str]:
    """Colour of every node as the page starts: place on a ring, else hops from the root."""
    n = len(one["nodes"])
    if one["ring"]:
        place = np.empty(n)
        place[np.asarray(one["order"])] = np.arange(n) / n
        return _shades("place", place)
    hops = np.full(n, np.inf)
    front, step = set(one["roots"]), 0
    while front:
        hops[list(front)] = step
        both = [(u, v) for u, v in one["links"]] + [(v, u) for u, v in one["links"]]
        front = {v for u, v in both if u in front and not np.isfinite(hops[v])}
        step += 1
    reached = np.isfinite(hops)
    found = _shades("hops", np.where(reached, hops, 0) / max(1.0, hops[reached].max()))
    return [color if there else "#9aa3b0" for color, there in zip(found, reached, strict=True)]


def _shades(palette: str, at: Floats) -> list[str]:
    colors = mcolors.LinearSegmentedColormap.from_list(palette, list(PALETTES[palette]))
    return [mcolors.to_hex(colors(float(value))) for value in at]
