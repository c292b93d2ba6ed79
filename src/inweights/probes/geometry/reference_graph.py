"""Apply probes to a graph that differs from the graph on which a model was trained.

:func:`without_self_edges` removes self-edges (Geometric Memory §4.4); :func:`both_ways`
adds the reverse of every edge (Fig. 32). In this way, models that were trained on
different facts can be compared on the same graph.
"""

from collections.abc import Callable
from typing import Any

import polars as pl

from inweights.config import decode
from inweights.errors import DataError
from inweights.models.base import Model
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.families.graphs.graph import Graph
from inweights.worlds.world import World, Worlds


def without_self_edges(
    model: Model, worlds: Worlds, *, inner: Callable[..., pl.DataFrame], **options: Any
) -> pl.DataFrame:
    """Apply a graph probe to the graph without its self-edges, and return its table.

    Self-edges raise the eigenvalues of the random walk. Fewer eigenvalues are then
    negative, and even random vectors have less energy in the eigenspaces of negative
    eigenvalues. To compare a model that was trained on self-edges with a model that was
    not, measure both on the graph without self-edges.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world built by
            :class:`~inweights.worlds.families.graphs.graph.Graph`, or one for each
            replica.
        inner: Probe ``inner(model, worlds, **options)``, such as
            :func:`~inweights.probes.zigzag`.
        options: Further keyword arguments of ``inner``.

    Returns:
        The table returned by ``inner``. Errors of ``inner`` propagate.

    Raises:
        DataError: A world was not built by ``Graph``, or the worlds do not fit the
            model.
    """
    return inner(model, _changed(model, worlds, self_edges=False), **options)


def both_ways(
    model: Model, worlds: Worlds, *, inner: Callable[..., pl.DataFrame], **options: Any
) -> pl.DataFrame:
    """Apply a graph probe to the graph with every edge in both directions, and return its table.

    A model that was trained on one direction of the edges can then be compared with a
    model that was trained on both, since both are measured with the distances and
    eigenspaces of the same graph.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world built by
            :class:`~inweights.worlds.families.graphs.graph.Graph`, or one for each
            replica.
        inner: Probe ``inner(model, worlds, **options)``, such as
            :func:`~inweights.probes.zigzag`.
        options: Further keyword arguments of ``inner``.

    Returns:
        The table returned by ``inner``. Errors of ``inner`` propagate.

    Raises:
        DataError: A world was not built by ``Graph``, or the worlds do not fit the
            model.
    """
    return inner(model, _changed(model, worlds, edges="both"), **options)


def _changed(model: Model, worlds: Worlds, **settings: Any) -> list[World]:
    """Build the worlds again with changed settings but the same labels and seeds."""
    changed = []
    for world in as_worlds(worlds, model):
        if world.name != "graph":
            raise DataError(
                f"the world '{world.name}' is not a graph; give a world built by Graph"
            )
        changed.append(decode(Graph, {**world.settings, **settings}).build(world.seed))
    return changed
