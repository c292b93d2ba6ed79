"""Build the data of an atlas, as compact JSON, and its HTML, for ``assets/atlas*.js``.

:func:`build_content` collects animations and graphs, and :func:`build_fragment` builds
the HTML.
"""

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from string import Template
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from inweights.errors import DataError
from inweights.report.base import tidy
from inweights.report.base.document import asset
from inweights.report.base.html import escape, script_json, tag
from inweights.report.figures.atlas import PACKED, PALETTES, check

#: Speed of the animations in frames per second.
_SPEED = 6
_SCRIPTS = ("atlas_film.js", "atlas_scene.js", "atlas_panels.js", "atlas.js")
_LARGE = 14_000_000  # characters
_OF_LARGE = (
    " Of a large graph, only some nodes are drawn, with the number of nodes that each represents; "
    "all numbers are those of the whole graph."
)


def pack(values: NDArray[np.floating[Any]]) -> dict[str, Any]:
    """Encode numbers as 16-bit integers times a scale, in base64 (2.7 characters per number).

    The error of a number is at most half of the scale, which is the largest absolute
    value divided by 32,767.

    Args:
        values: NumPy array of any shape, which is flattened in C order.

    Returns:
        A dictionary with ``scale`` (1 if all numbers are 0) and ``data``, the
        little-endian integers as base64 text.

    Raises:
        DataError: A number is not finite.
    """
    flat = np.asarray(values, dtype=np.float64).ravel()
    if not np.isfinite(flat).all():
        raise DataError(
            "a film contains numbers that are infinite or NaN, because the recorded training "
            "diverged"
        )
    # If all numbers are zero, any scale other than zero is possible.
    scale = float(np.abs(flat).max(initial=0.0)) / 32767 or 1.0
    # Little-endian, like typed arrays of JavaScript on common machines.
    whole = np.round(flat / scale).astype("<i2")
    return {"scale": scale, "data": base64.b64encode(whole.tobytes()).decode("ascii")}


def build_content(
    films: pl.DataFrame, graphs: pl.DataFrame, order: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return all data that the page of an atlas shows, as plain values for JSON.

    Args:
        films: Frames of the animations: one row per ``graph``, ``architecture`` and
            ``step``, with further columns that :func:`~inweights.probes.render_frames`
            describes.
        graphs: One row per ``graph``, with further columns that
            :func:`~inweights.theory.geometric_memory.layout.scene` describes.
        order: Architectures to show first, in this order; the remaining ones follow.
            ``None`` for the order of ``films``.

    Returns:
        A dictionary with these keys: ``graphs``, a list with nodes, edges and layout of
        each graph that has animations; ``architectures``, a list of names; ``films``,
        the frames of each animation, keyed by the string ``I/J``, where ``I`` and ``J``
        are the indices of graph and architecture in these lists; ``palettes``, lists of
        colours keyed by name; ``speed``, in frames per second; and ``start``, the
        indices of the graph and the architecture that are shown first (the first graph
        with its last architecture).

    Raises:
        DataError: A table has no rows or lacks a column; an animation has no graph, a
            different number of nodes than its graph, two frames of the same step, or
            non-finite numbers; or the data exceed 14 MB.
    """
    check(films, graphs)
    architectures = list(map(tidy.plain, tidy.distinct(films, "architecture", order)))
    played = set(films["graph"])
    scenes = [row for row in graphs.iter_rows(named=True) if row["graph"] in played]
    found: dict[str, Any] = {}
    for place, scene in enumerate(scenes):
        for rank, architecture in enumerate(architectures):
            rows = films.filter(graph=scene["graph"], architecture=architecture).sort(
                "step"
            )
            if not rows.is_empty():
                found[f"{place}/{rank}"] = _film(rows, scene, architecture)
    size = 0
    for film in found.values():
        size += sum(len(film[name]["data"]) for name in PACKED)
    if size > _LARGE:
        raise DataError(
            f"the films take {size / 1e6:.0f} MB, but a page may take at most 14 MB; "
            "render fewer frames, or show fewer graphs"
        )

    def order_of(name: str) -> tuple[int, int]:
        """Return the sort key of an animation, by its graph and then its architecture."""
        graph, architecture = name.split("/")[:2]
        return int(graph), -int(architecture)

    first = min(found, key=order_of)
    return {
        "graphs": list(map(_scene, scenes)),
        "architectures": architectures,
        "films": found,
        "palettes": {name: list(stops) for name, stops in PALETTES.items()},
        "speed": _SPEED,
        "start": list(map(int, first.split("/"))),
    }


def _scene(row: Mapping[str, Any]) -> dict[str, Any]:
    rounded = {}
    for key in ("x", "y", "eigenvalues"):
        rounded[key] = [round(value, 4) for value in row[key]]
    kept = {
        key: row[key] for key in ("nodes", "links", "roots", "order", "ring", "sizes")
    }
    more = {"all": row["all_nodes"]} if row.get("all_nodes") else {}
    return {"name": row["graph"], **kept, **rounded, **more}


def _film(
    rows: pl.DataFrame, scene: Mapping[str, Any], architecture: str
) -> dict[str, Any]:
    n = len(scene["nodes"])
    frames = rows.height
    if rows["step"].is_duplicated().any():
        raise DataError(
            f"the film of '{architecture}' on '{scene['graph']}' has two frames of the same "
            "step; keep the rows of only one seed"
        )
    sizes = {
        "positions": 3 * n,
        "cosines": n * (n - 1) // 2,
        "energies": len(scene["sizes"]),
    }
    packed = {}
    arrays = {}
    for name, size in sizes.items():
        if rows[name].list.len().unique().to_list() != [size]:
            raise DataError(
                f"'{architecture}' on '{scene['graph']}': '{name}' must have {size} numbers per "
                f"frame for {n} nodes; render the film with the world of the graph"
            )
        arrays[name] = np.stack([np.asarray(v, dtype=np.float64) for v in rows[name]])
        packed[name] = pack(arrays[name])
    far = np.linalg.norm(arrays["positions"].reshape(frames, n, 3), axis=2).max()
    measures = {}
    for name in ("recall", "spearman", "shown"):
        measures[name] = list(map(_short, rows[name]))
    return {
        "steps": rows["step"].to_list(),
        "radius": round(float(far), 4) or 1.0,
        **measures,
        **packed,
    }


def _short(value: float | None) -> float | None:
    # JSON has no NaN.
    return None if value is None or not np.isfinite(value) else round(float(value), 4)


def build_fragment(content: Mapping[str, Any], name: str) -> str:
    """Return the HTML of an atlas with its data, styles and scripts.

    Args:
        content: The data returned by :func:`build_content`, optionally with the key
            ``unit``: the unit in which frames are counted (by default ``step``).
        name: Id of the figure on its page.
    """
    icon = tag("svg", viewBox="-1.1 -1.1 2.2 2.2", aria_hidden="true")
    canvas = tag("canvas", aria_hidden="true")
    large = any("all" in graph for graph in content["graphs"])
    markup = _markup().substitute(
        name=escape(name),
        graphs="".join(
            _choice(f"{name}-graph", graph["name"], icon, _size(graph))
            for graph in content["graphs"]
        ),
        architectures="".join(
            _choice(f"{name}-architecture", one, canvas, "–")
            for one in content["architectures"]
        ),
        spaces="band of eigenvalues" if large else "eigenspace",
        unit=escape(content.get("unit", "step")),
        large=_OF_LARGE if large else "",
        data=script_json(content),
    )
    scripts = "".join(tag("script", asset(part)) for part in _SCRIPTS)
    return tag("style", asset("atlas.css")) + markup + scripts


@cache
def _markup() -> Template:
    return Template("".join(map(str.strip, asset("atlas.html").splitlines())))


def _size(graph: Mapping[str, Any]) -> str:
    count = len(graph["nodes"])
    return f"{count} of {graph['all']:,} nodes" if "all" in graph else f"{count} nodes"


def _choice(group: str, value: str, picture: str, about: str) -> str:
    button = tag("input", type="radio", name=group, value=value)
    name = tag("b", escape(value), title=value)
    return tag("label", button, picture, name, tag("output", about))
