"""Draw the atlas as a static figure: the last frame of every animation, in three dimensions.

The atlas shows graphs whose nodes move to the positions of their embeddings during
training. :func:`atlas` is registered as the drawing ``atlas``. The interactive page is
in ``report.living.atlas``.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.colors as mcolors
import numpy as np
import polars as pl
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection  # type: ignore[import-untyped]
from numpy.typing import NDArray

from inweights.errors import DataError, unknown_name
from inweights.report.base import style, tidy
from inweights.report.base.registry import drawing

Floats = NDArray[np.float64]
_DARK = ("#a9d6ff", "#4d9de0", "#2b5f8c", "#1b1f26", "#8a5330", "#e07b39", "#ffc79a")
#: Equidistant colours of each palette, by its name. ``place`` begins and ends with the
#: same colour.
PALETTES: dict[str, tuple[str, ...]] = {
    "hops": ("#ff9d1e", "#f0593e", "#c9357c", "#7a3fb8", "#3f68d8", "#1fa3c4"),
    "place": (
        "#e8483f",
        "#f08a24",
        "#d9b310",
        "#58a848",
        "#12a594",
        "#2481d6",
        "#6a55cf",
        "#c13fa0",
        "#e8483f",
    ),
    "spaces": ("#0b63b0", "#4d8fc4", "#8fa9bf", "#a9b3bf"),
    "light": tuple(mcolors.to_hex(style.DIVERGING(s)) for s in np.linspace(0, 1, 9)),
    "dark": _DARK,
}
#: Columns of the table of frames that contain arrays.
PACKED = ("positions", "cosines", "energies")
_FILMS = ("graph", "architecture", "step", "recall", "spearman", "shown", *PACKED)
_GRAPHS = (
    "graph",
    "nodes",
    "links",
    "roots",
    "order",
    "ring",
    "x",
    "y",
    "eigenvalues",
    "sizes",
)


def check(films: pl.DataFrame, graphs: pl.DataFrame) -> None:
    """Check that the tables of an atlas are complete and contain the graph of every animation.

    Args:
        films: Frames of the animations: one row per ``graph``, ``architecture`` and
            ``step``, with further columns that :func:`~inweights.probes.render_frames`
            describes.
        graphs: One row per ``graph``, with further columns that
            :func:`~inweights.theory.geometric_memory.layout.scene` describes.

    Raises:
        DataError: A table has no rows or lacks a column, or the graph of an animation
            is missing. It is not checked that an animation and its graph have the same
            number of nodes.
    """
    tidy.require("atlas", films, {name: name for name in _FILMS})
    tidy.require("atlas", graphs, {name: name for name in _GRAPHS})
    known = graphs["graph"].to_list()
    for name in films["graph"].unique(maintain_order=True):
        if name not in known:
            raise unknown_name(
                "graph",
                str(name),
                known,
                error=DataError,
                hint="One of the films shows this graph.",
            )


@drawing("atlas")
def atlas(
    films: pl.DataFrame,
    graphs: pl.DataFrame,
    *,
    order: Sequence[str] | None = None,
    columns: int = 5,
) -> Figure:
    """Draw the last frame of every animation, with graphs as rows and architectures as columns.

    Args:
        films: Frames of the animations: one row per ``graph``, ``architecture`` and
            ``step``, with further columns that :func:`~inweights.probes.render_frames`
            describes.
        graphs: One row per ``graph``, with further columns that
            :func:`~inweights.theory.geometric_memory.layout.scene` describes.
        order: Architectures to show first, in this order; the remaining ones follow. By
            default, the order of the table is used.
        columns: Maximum number of architectures to show, by default 5. If there are
            more, only the first ones in this order are shown.

    Returns:
        The matplotlib figure.

    Raises:
        DataError: A column or a graph is missing, a table has no rows, or the number of
            nodes of an animation differs from that of its graph.
    """
    check(films, graphs)
    shown = list(map(tidy.plain, tidy.distinct(films, "architecture", order)))[:columns]
    played = set(films["graph"])
    scenes = [row for row in graphs.iter_rows(named=True) if row["graph"] in played]
    with style.context():
        size = style.FULL_WIDTH / max(3, len(shown))
        figure = Figure(figsize=(size * len(shown), size * 1.12 * len(scenes) + 0.2))
        high = 1 - 0.25 / figure.get_figheight()
        for row, one in enumerate(scenes):
            for column, name in enumerate(shown):
                wide = 1 / len(shown)
                tall = high / len(scenes)
                box = (column * wide, high - (row + 1) * tall, wide, tall)
                axes = figure.add_axes(box, projection="3d")
                rows = films.filter(graph=one["graph"], architecture=name).sort("step")
                _space(axes, rows, one)
                if row == 0:
                    figure.text(
                        box[0] + wide / 2,
                        0.996,
                        name,
                        ha="center",
                        va="top",
                        fontweight="bold",
                        fontsize=style.LABEL,
                    )
                if column == 0:
                    figure.text(
                        0.004,
                        box[1] + 0.94 * tall,
                        one["graph"],
                        ha="left",
                        va="top",
                        fontsize=style.LABEL,
                        color=style.GREY,
                    )
    return figure


def _space(axes: Any, rows: pl.DataFrame, one: Mapping[str, Any]) -> None:
    """Draw the last frame of an animation, or nothing if it has no frames."""
    axes.set_axis_off()
    axes.patch.set_alpha(0.0)
    axes.view_init(elev=36, azim=-58)
    if rows.is_empty():
        return
    where = np.asarray(rows["positions"][-1], dtype=np.float64).reshape(-1, 3)
    if len(where) != len(one["nodes"]):
        raise DataError(
            f"a film of '{one['graph']}' has {len(where)} nodes, but the graph has "
            f"{len(one['nodes'])}"
        )
    colors = _colors(one)
    # Each half of a link has the colour of its node.
    ends = np.asarray(one["links"], dtype=np.int64).reshape(-1, 2)
    middles = where[ends].mean(1).repeat(2, axis=0)
    axes.computed_zorder = False  # draw links behind nodes
    axes.add_collection3d(
        Line3DCollection(
            np.stack([where[ends.ravel()], middles], axis=1),
            colors=[colors[end] for end in ends.ravel()],
            linewidths=1.3,
            alpha=0.75,
            capstyle="butt",
        )
    )
    axes.scatter(
        *where.T,
        c=colors,
        s=26,
        depthshade=True,
        edgecolors="white",
        linewidths=0.5,
        zorder=3,
    )
    reach = 0.8 * float(np.linalg.norm(where, axis=1).max())
    for axis in "xyz":
        getattr(axes, f"set_{axis}lim")(-reach, reach)
    axes.set_box_aspect((1, 1, 1), zoom=1.15)
    rho = rows["spearman"][-1]
    if rho is not None and math.isfinite(rho):
        text = f"ρ = {rho:.2f}".replace("-", "−")
        axes.text2D(
            0.5,
            0.01,
            text,
            transform=axes.transAxes,
            ha="center",
            fontsize=style.SMALL,
            color=style.INK,
        )


def _colors(one: Mapping[str, Any]) -> list[str]:
    """Return the colour of every node, by its position on a ring or its hops from the root."""
    n = len(one["nodes"])
    if one["ring"]:
        place = np.empty(n)
        place[np.asarray(one["order"])] = np.arange(n) / n
        return _shades("place", place)
    hops = np.full(n, np.inf)
    front = set(one["roots"])
    step = 0
    while front:
        hops[list(front)] = step
        links = [(u, v) for u, v in one["links"]]
        both = links + [(v, u) for u, v in links]
        front = {v for u, v in both if u in front and not np.isfinite(hops[v])}
        step += 1
    reached = np.isfinite(hops)
    found = _shades("hops", np.where(reached, hops, 0) / max(1.0, hops[reached].max()))
    return [
        color if there else "#9aa3b0"
        for color, there in zip(found, reached, strict=True)
    ]


def _shades(palette: str, at: Floats) -> list[str]:
    colors = mcolors.LinearSegmentedColormap.from_list(palette, list(PALETTES[palette]))
    return [mcolors.to_hex(colors(float(value))) for value in at]
