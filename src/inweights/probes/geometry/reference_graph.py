"""Models seen through a graph without self-edges (Geometric Memory §4.4) or both ways (Fig. 32)."""

from collections.abc import Callable
from typing import Any

import polars as pl

from inweights.config import decode
from inweights.errors import DataError
from inweights.models.base import Model
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.families.graph import Graph
from inweights.worlds.world import World, Worlds


def without_self_edges(
    model: Model, worlds: Worlds, *, inner: Callable[..., pl.DataFrame], **options: Any
) -> pl.DataFrame:
    """Return what a probe of graphs says when the worlds' trained self-edges are left out.

    Self-edges raise the eigenvalues of the walk, so that fewer eigenspaces are negative and even
    random vectors have less energy there. To compare a model that learnt them with one that did
    not, see both through the graph without them.

    Args:
        model: ``R`` replicas.
        worlds: Worlds of :class:`~inweights.worlds.families.graph.Graph`: one, or one a replica.
        inner: ``inner(model, worlds, **options)``, such as :func:`~inweights.probes.zigzag`.
        options: Further keyword arguments of ``inner``.
    """
    return inner(model, _changed(model, worlds, self_edges=False), **options)


def both_ways(
    model: Model, worlds: Worlds, *, inner: Callable[..., pl.DataFrame], **options: Any
) -> pl.DataFrame:
    """Return what a probe of graphs says of the graph whose edges go both ways.

    A model that was taught one direction of the edges is compared so with one that was taught
    both: distances and eigenspaces are those of the same graph.

    Args:
        model: ``R`` replicas.
        worlds: Worlds of :class:`~inweights.worlds.families.graph.Graph`: one, or one a replica.
        inner: ``inner(model, worlds, **options)``, such as :func:`~inweights.probes.zigzag`.
        options: Further keyword arguments of ``inner``.
    """
    return inner(model, _changed(model, worlds, edges="both"), **options)


def _changed(model: Model, worlds: Worlds, **settings: Any) -> list[World]:
    """The worlds with other settings; their labels and seeds stay."""
    changed = []
    for world in as_worlds(worlds, model):
        if world.name != "graph":
            raise DataError(f"the world '{world.name}' is not a graph; give a world built by Graph")
        changed.append(decode(Graph, {**world.settings, **settings}).build(world.seed))
    return changed
