"""A model seen through its graph, self-edges left out (Geometric Memory §4.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from inweights.config import decode
from inweights.errors import DataError
from inweights.models.base import Model
from inweights.training.worlds import as_worlds
from inweights.worlds.graph import Graph
from inweights.worlds.world import World

__all__ = ["without_self_edges"]


def without_self_edges(
    model: Model,
    worlds: World | Sequence[World],
    *,
    look: Callable[..., pl.DataFrame],
    **options: Any,
) -> pl.DataFrame:
    """Return what a probe of graphs says when the worlds' trained self-edges are left out.

    Self-edges raise the eigenvalues of the walk, so that fewer eigenspaces are negative and even
    random vectors have less energy there. To compare a model that learnt them with one that did
    not, see both through the graph without them.

    Args:
        model: ``R`` replicas.
        worlds: Worlds of :class:`~inweights.worlds.graph.Graph`: one, or one a replica.
        look: ``look(model, worlds, **options)``, such as :func:`~inweights.probes.zigzag`.
        options: Further keyword arguments of ``look``.

    Raises:
        DataError: A world is no graph.

    Example:
        >>> from inweights.models import Node2VecConfig
        >>> from inweights.probes import zigzag
        >>> ring = Graph(shape="cycle", self_edges=True).build()
        >>> model = Node2VecConfig().build(vocabulary=15, seeds=[0])
        >>> seen = without_self_edges(model, ring, look=zigzag)
        >>> bool(zigzag(model, ring)["null_mean"].item() < seen["null_mean"].item())
        True
    """
    plain = []
    for world in as_worlds(worlds, model.replicas):
        if world.name != "graph":
            raise DataError(f"the world '{world.name}' is no graph, so that it has no self-edges")
        config = decode(Graph, {**world.settings, "self_edges": False})
        plain.append(config.build(world.seed))
    return look(model, plain, **options)
