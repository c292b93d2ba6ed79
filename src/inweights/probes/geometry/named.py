"""Does an embedding lie as a graph does, or would any names do? A null of shuffled names.

Random vectors are a null for what was trained from such; an embedding from elsewhere has directions
that all rows share and clusters of its own. Its null is itself, with its rows dealt to the nodes
at random. Shapes: ``R`` replicas, ``N`` nodes, ``D`` width, ``K`` draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.probes.geometry.cosines import (
    adjacencies,
    cosine_matrix,
    node_vectors,
    prefix_of,
)
from inweights.probes.geometry.hops import Pairs, midranks, tie_groups
from inweights.seeds import EVALUATION, Streams
from inweights.theory.geometric_memory.spectral import eigenspaces, hop_distances, operator
from inweights.worlds.world import Ids, World

__all__ = ["named_geometry"]

Floats = NDArray[np.float64]
#: What is measured, with the sign that makes a larger number more of a geometry.
_MEASURES = {"spearman": -1, "far": -1, "neighbours": 1, "fiedler": 1, "zigzag": -1}
#: Eigenvalues of the walk's Laplacian below which neighbours have opposite signs.
_NEGATIVE = -2.0 - 1e-9


def named_geometry(
    model: Model,
    worlds: World | Sequence[World],
    *,
    layer: str = "tokens",
    together: bool = False,
    draws: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """How an embedding lies on a graph, against the same rows under shuffled names.

    Args:
        model: ``R`` replicas, such as :meth:`inweights.probes.Embedding.on` gives.
        worlds: Worlds of graphs: one, or one a replica. Edges count in both directions.
        layer: See :func:`inweights.probes.geometry.cosines.node_vectors`.
        together: Whether ``p`` is for the best of all replicas, whichever that is: each draw
            counts with its own best. Without, it is right only for a replica that was not chosen.
        draws: Times that the names are shuffled, the same way for all replicas.
        seed: Root seed of the shuffles.

    Returns:
        A row for each replica and measure: ``replica, measure, value, null_mean, null_low,
        null_high`` (2.5 and 97.5%) and ``p``, the share of ``1 + draws`` values that are at least
        as geometric. The measures are ``spearman`` of cosine against hops and ``far``, the same
        over pairs of two hops and more (both −1 at best; ``far`` is missing where all of them are
        equally far), ``neighbours`` (share of a node's neighbours among as many nodes with the
        largest cosine), and the shares of energy in the ``fiedler`` space and, as ``zigzag``,
        where neighbours have opposite signs (high for what separates neighbours).

    Raises:
        DataError: A world is no graph, all its nodes are equally far from one another, the names
            of model and graph differ, or there are no draws.

    Example:
        >>> from inweights.models import Node2VecConfig
        >>> from inweights.worlds import Graph
        >>> model = Node2VecConfig().build(vocabulary=15, seeds=[0])
        >>> table = named_geometry(model, Graph(shape="cycle").build(), draws=20)
        >>> table["measure"].to_list()
        ['spearman', 'far', 'neighbours', 'fiedler', 'zigzag']
    """
    if draws < 1:
        raise DataError(f"draws must be at least 1, got {draws}")
    graphs = adjacencies(model, worlds)
    vectors = node_vectors(model, len(graphs[0]), layer, prefix_of(worlds))
    rng = Streams(seed).numpy(EVALUATION, "names")
    count = len(graphs[0])
    orders = np.stack([np.arange(count), *(rng.permutation(count) for _ in range(draws))])
    shapes = {id(a): _Shape(a) for a in {id(a): a for a in graphs}.values()}
    found = [_measured(v, shapes[id(a)], orders) for v, a in zip(vectors, graphs, strict=True)]
    rows = []
    for replica, each in enumerate(found):
        for name, values in each.items():
            sign = _MEASURES[name]
            rival = values[1:] * sign
            if together:
                rival = np.max([other[name][1:] * sign for other in found if name in other], 0)
            low, high = np.quantile(values[1:], [0.025, 0.975])
            rows.append(
                {
                    "replica": replica,
                    "measure": name,
                    "value": values[0],
                    "null_mean": values[1:].mean(),
                    "null_low": low,
                    "null_high": high,
                    # Equal but for rounding is as geometric: a symmetry of the graph, say.
                    "p": (1 + (rival >= sign * values[0] - 1e-9).sum()) / (1 + draws),
                }
            )
    return pl.DataFrame(rows)


class _Shape:
    """What is asked of a graph, whatever lies on it."""

    def __init__(self, a: Floats) -> None:
        both = np.maximum(a, a.T)
        self.edge = (both > 0) & ~np.eye(len(a), dtype=bool)
        hops = hop_distances(both)
        self.all = Pairs.all(hops)
        if len(np.unique(self.all.hops)) < 2:
            raise DataError(
                "all connected nodes have the same distance, so that no geometry can be measured"
            )
        self.far = Pairs.all(np.where(hops >= 2, hops, np.inf))
        self.apart = len(np.unique(self.far.hops)) > 1
        self.spectrum = eigenspaces(operator(both))
        self.negative = self.spectrum.eigenvalues() < _NEGATIVE


def _measured(vectors: Floats, shape: _Shape, orders: Ids) -> dict[str, Floats]:
    """Every measure under every order of the rows ``[1 + K, N]``, ``[1 + K]`` each.

    An order moves cosines and changes none, so that they are sorted once.
    """
    count = len(vectors)
    angles = cosine_matrix(vectors)
    u, v = np.triu_indices(count, 1)
    groups = np.zeros((count, count), dtype=np.int32)
    groups[u, v] = groups[v, u] = tie_groups(angles[u, v])
    np.fill_diagonal(angles, -np.inf)
    nearest = np.argsort(-angles, axis=-1, kind="stable")
    place = np.empty_like(nearest)  # how many nodes are nearer to a node than another is
    np.put_along_axis(place, nearest, np.arange(count)[None], -1)
    if vectors.shape[1] > count:  # the same products in as few dimensions as there are rows
        vectors = np.linalg.qr(vectors.T)[1].T
    one, other = np.nonzero(shape.edge)
    within = shape.edge.sum(1)[one]
    pairs = {"spearman": shape.all} | ({"far": shape.far} if shape.apart else {})
    parts: dict[str, list[Any]] = {name: [] for name in _MEASURES}
    for order in orders:
        for name, asked in pairs.items():
            ranks = midranks(groups[order[asked.u], order[asked.v]])
            parts[name].append(asked.correlation(ranks))
        parts["neighbours"].append((place[order[one], order[other]] < within).mean())
        energy = shape.spectrum.energy(vectors[order])
        parts["fiedler"].append(energy[0])
        parts["zigzag"].append(energy[shape.negative].sum())
    return {name: np.array(values) for name, values in parts.items() if values}
