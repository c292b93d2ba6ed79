"""Build the atlas: an interactive page of how architectures store graphs.

:func:`page` takes the results of :func:`inweights.probes.pictures.film.render_frames`,
and :func:`whole` takes the tables of a run. The page is one file without network
access. At the step that a slider selects, it shows the embedding in three dimensions
with the edges of the graph, the cosine of every pair of nodes, and the energy in each
eigenspace of the graph. It also shows curves of recall and Spearman's correlation.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from inweights.errors import DataError
from inweights.report.base.document import document
from inweights.report.base.html import escape, prose, tag
from inweights.report.base.html_tables import preview
from inweights.report.base.registry import player
from inweights.report.living.atlas_layout import build_content, build_fragment
from inweights.theory.geometric_memory.layout import scene
from inweights.worlds.world import World

Floats = NDArray[np.float64]


def page(
    films: Mapping[str, Mapping[str, pl.DataFrame]],
    worlds: Mapping[str, World],
    *,
    title: str = "How a graph is stored in the weights",
    summary: str = "",
    order: Sequence[str] | None = None,
    numbers: pl.DataFrame | None = None,
    unit: str = "step",
) -> str:
    """Return an atlas of graphs as one HTML file: an interactive page that works offline.

    Args:
        films: Tables returned by :func:`inweights.probes.pictures.film.render_frames`,
            keyed by the name of the graph and then by the name of the architecture.
        worlds: The world of each graph, keyed by the name of the graph.
        title: Heading of the page.
        summary: A sentence below the title, in which words between backticks are code;
            by default none.
        order: Architectures to show first, in this order; the remaining ones follow.
            ``None`` for the order of ``films``.
        numbers: A table that is shown below the pictures; ``None`` for no table.
        unit: Unit in which the frames of an animation are counted, such as ``step``
            (the default) or ``layer``.

    Returns:
        The text of the page, as HTML. No file is written.

    Raises:
        DataError: ``films`` is empty; a graph has no world; an animation has a
            different number of nodes than its world, two frames of the same step, or
            non-finite numbers; or the data exceed 14 MB (about 250 nodes with 40 frames
            and five architectures).

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
            f"no world is given for the films {', '.join(missing)}; each film requires a world "
            f"with the same name, got worlds with the names: {', '.join(worlds) or 'none'}"
        )
    parts: list[pl.DataFrame] = []
    for graph, by_architecture in films.items():
        for architecture, table in by_architecture.items():
            named = (
                pl.lit(graph).alias("graph"),
                pl.lit(architecture).alias("architecture"),
            )
            parts.append(table.select(*named, pl.all()))
    if not parts:
        raise DataError("an atlas needs at least one film")
    scenes = [
        scene(worlds[name]).select(pl.lit(name).alias("graph"), pl.all())
        for name in films
    ]
    return whole(
        pl.concat(parts, how="diagonal_relaxed"),
        pl.concat(scenes, how="diagonal_relaxed"),
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
    """Return an atlas as one HTML page, from the tables of a run of ``geometric-memory/fig1``.

    Args:
        films: Frames of the animations: one row per ``graph``, ``architecture`` and
            ``step``, with further columns that :func:`~inweights.probes.render_frames`
            describes.
        graphs: One row per ``graph``, with further columns that
            :func:`~inweights.theory.geometric_memory.layout.scene` describes.
        title: Heading of the page.
        summary: A sentence below the title, in which words between backticks are code;
            by default none.
        order: Architectures to show first, in this order; the remaining ones follow.
            ``None`` for the order of ``films``.
        numbers: A table that is shown below the pictures; ``None`` for no table.
        unit: Unit in which the frames of an animation are counted, such as ``step``
            (the default) or ``layer``.

    Returns:
        The text of the page, as HTML. No file is written.

    Raises:
        DataError: A table has no rows or lacks a column; an animation has no graph, a
            different number of nodes than its graph, two frames of the same step, or
            non-finite numbers; or the data exceed 14 MB.
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
    """Return the HTML of an atlas, to be embedded in the page of a run.

    Args:
        films: Frames of the animations: one row per ``graph``, ``architecture`` and
            ``step``, with further columns that :func:`~inweights.probes.render_frames`
            describes.
        graphs: One row per ``graph``, with further columns that
            :func:`~inweights.theory.geometric_memory.layout.scene` describes.
        name: Id of the figure on its page.
        order: Architectures to show first, in this order; the remaining ones follow.
            ``None`` for the order of ``films``.
        columns: Ignored; accepted because the function for the static figure has this
            option.

    Returns:
        The HTML, including styles, data and scripts.

    Raises:
        DataError: A table has no rows or lacks a column; an animation has no graph, a
            different number of nodes than its graph, two frames of the same step, or
            non-finite numbers; or the data exceed 14 MB.
    """
    del columns
    return build_fragment(build_content(films, graphs, order), name)
