"""Geometry of an embedding over a graph, compared with the same rows under shuffled names.

:func:`named_geometry` evaluates embeddings from other programs. Random vectors are the
right null distribution for a model whose training starts from them. An embedding from
another program has directions that all rows share, and its own clusters. Its null
distribution is therefore the embedding itself, with its rows assigned to the nodes at
random. Shapes: ``R`` replicas, ``N`` nodes, ``D`` width, ``K`` draws.
"""

from typing import Any

import numpy as np
import polars as pl

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.probes.geometry.pairs import (
    Pairs,
    choose_pairs,
    cosine_ranks,
    midranks,
    tie_groups,
)
from inweights.probes.geometry.vectors import (
    adjacencies,
    cosine_matrix,
    null_limits,
    once_each,
    placed,
    unit,
)
from inweights.probes.needs import holds
from inweights.seeds import EVALUATION, Streams
from inweights.theory.geometric_memory.graph import hop_distances
from inweights.theory.geometric_memory.spectral import EXACT, eigenspaces, operator
from inweights.worlds.arrays import Floats
from inweights.worlds.world import Ids, Worlds

#: The measures, and the sign with which a larger number means a more geometric
#: embedding.
_MEASURES = {
    "spearman": -1,
    "far": -1,
    "neighbours": 1,
    "fiedler": 1,
    "zigzag": -1,
}
#: Eigenvalues of the random walk's Laplacian below this value have eigenvectors in
#: which neighbours have opposite signs. The margin of 1e-9 is for rounding errors.
_NEGATIVE = -2.0 - 1e-9
#: Number of edges that are sampled for the measure ``neighbours`` in a graph of more
#: than EXACT nodes.
_EDGES = 1000
_EQUAL = (
    "all connected nodes have the same distance, so that no geometry can be measured"
)


@holds(matrix=120)
def named_geometry(
    model: Model,
    worlds: Worlds,
    *,
    layer: str = "tokens",
    together: bool = False,
    draws: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """Measure how well an embedding fits a graph, compared with copies whose rows are shuffled.

    The measures are ``spearman``, the rank correlation between cosines and hop
    distances; ``far``, the same correlation over pairs at least two hops apart (both
    are −1 at best); ``neighbours``, the share of a node's ``k`` neighbours among the
    ``k`` nodes with the largest cosine; ``fiedler``, the share of energy in the Fiedler
    space (the eigenspace of the graph's Laplacian with the smallest eigenvalue above
    0); and ``zigzag``, the share of energy in eigenspaces where neighbours have
    opposite signs (high for an embedding that separates neighbours).

    Args:
        model: Model with ``R`` replicas, such as a model returned by
            :meth:`inweights.probes.Embedding.on`.
        worlds: One world of a graph, or one for each replica. Edges are used in both
            directions.
        layer: Source of the vectors: ``tokens`` (token embeddings), or one of
            ``model.layer_names``; see
            :func:`inweights.probes.geometry.vectors.node_vectors`.
        together: If true, ``p`` is corrected for the choice of the best replica, by
            comparing each replica with the best replica of each draw. Otherwise ``p``
            is valid only for a replica that was chosen independently of these values.
        draws: Number of times that the names are shuffled, at least 1. Each shuffle is
            applied to all replicas.
        seed: Root seed of the shuffles.

    Returns:
        One row per replica and measure, with the columns ``replica``, ``measure``,
        ``value``, ``null_mean``, ``null_low`` and ``null_high`` (mean, 2.5% and 97.5%
        quantiles under shuffled names) and ``p``, the share of values that are at least
        as geometric as the embedding's own, among the values of the draws and the
        embedding's own: smaller or equal for ``spearman``, ``far`` and ``zigzag``,
        larger or equal for the others. ``far`` has no row if all such pairs have the
        same distance. For graphs with more than 2,000 nodes, ``far``, ``fiedler`` and
        ``zigzag`` have no rows (:func:`inweights.probes.zigzag` computes the last one),
        only pairs and edges drawn with ``seed`` are used, and there is a further column
        ``error``, the standard error of ``value``.

    Raises:
        DataError: A world is not a graph, all nodes of a graph have the same distance
            from one another, the model is an embedding that was matched with the nodes
            of a different graph, the model has no table of token embeddings, ``draws``
            is below 1, or the worlds do not fit the model.
        ConfigError: The layer is unknown, the model has no replica axis, ``seed`` is
            not between 0 and 2**63 - 1, or the probe would need more memory than is
            available (the message states both amounts).

    Example:
        >>> import inweights as iw
        >>> model = iw.models.Node2VecConfig().build(vocabulary=15, seeds=[0])
        >>> table = named_geometry(model, iw.worlds.Graph(shape="cycle").build(), draws=20)
        >>> table["measure"].to_list()
        ['spearman', 'far', 'neighbours', 'fiedler', 'zigzag']
    """
    if draws < 1:
        raise DataError(f"draws must be at least 1, got {draws}")
    edges, vectors = placed(model, worlds, layer)
    count = vectors.shape[1]
    rng = Streams(seed).numpy(EVALUATION, "names")
    orders = np.stack(
        [np.arange(count), *(rng.permutation(count) for _ in range(draws))]
    )
    errors: list[dict[str, float]] = []
    if count > EXACT:
        samples = {i: _Sample(*graph, seed) for i, graph in once_each(edges).items()}
        found = [
            samples[id(g)].measure(v, orders)
            for v, g in zip(vectors, edges, strict=True)
        ]
        errors = [samples[id(g)].errors(v) for v, g in zip(vectors, edges, strict=True)]
    else:
        graphs = adjacencies(model, worlds)
        shapes = {i: _Shape(a) for i, a in once_each(graphs).items()}
        found = [
            _measure(v, shapes[id(a)], orders)
            for v, a in zip(vectors, graphs, strict=True)
        ]
    rows = []
    for replica, each in enumerate(found):
        for name, values in each.items():
            sign = _MEASURES[name]
            rival = values[1:] * sign
            if together:
                rival = np.max(
                    [other[name][1:] * sign for other in found if name in other], 0
                )
            rows.append(
                {
                    "replica": replica,
                    "measure": name,
                    "value": values[0],
                    **null_limits(values[1:]),
                    # A draw with an equal value, except for rounding, counts as at
                    # least as geometric; it may be a symmetry of the graph.
                    "p": (1 + (rival >= sign * values[0] - 1e-9).sum()) / (1 + draws),
                }
                | ({"error": errors[replica][name]} if errors else {})
            )
    return pl.DataFrame(rows)


class _Sample:
    """Sampled pairs and edges of a large graph, on which embeddings are measured."""

    def __init__(self, count: int, u: Ids, v: Ids, seed: int) -> None:
        self.pairs = choose_pairs(count, u, v, 1, seed)
        if len(np.unique(self.pairs.hops)) < 2:
            raise DataError(_EQUAL)
        apart = u != v
        forward = np.stack([u, v])[:, apart]
        both = np.concatenate([forward, forward[::-1]], axis=1)
        one, other = np.unique(both, axis=1)
        degree = np.bincount(one, minlength=count)
        rng = Streams(seed).numpy(EVALUATION, "edges")
        chosen = rng.choice(len(one), min(_EDGES, len(one)), replace=False)
        self.one = one[chosen]
        self.other = other[chosen]
        self.within = degree[one[chosen]]

    def measure(self, vectors: Floats, orders: Ids) -> dict[str, Floats]:
        """Return each measure, ``[1 + K]``, for ``1 + K`` orders of the vectors, ``[1 + K, N]``."""
        ends = unit(vectors).astype(np.float32)
        found: dict[str, list[Any]] = {"spearman": [], "neighbours": []}
        rows = np.arange(len(self.one))
        for order in orders:
            angles = self.pairs.cosines(vectors[order])
            found["spearman"].append(self.pairs.correlation(cosine_ranks(angles)))
            close = ends[order[self.one]] @ ends.T
            own = close[rows, order[self.other]]
            close[rows, order[self.one]] = -np.inf
            found["neighbours"].append(
                ((close > own[:, None]).sum(1) < self.within).mean()
            )
        return {name: np.array(values) for name, values in found.items()}

    def errors(self, vectors: Floats) -> dict[str, float]:
        """Return the standard error of each measure, due to the sampling of pairs and edges."""
        share = self.measure(vectors, np.arange(len(vectors))[None])[
            "neighbours"
        ].item()
        return {
            "spearman": self.pairs.error(self.pairs.cosines(vectors)),
            "neighbours": float(np.sqrt(share * (1 - share) / len(self.one))),
        }


class _Shape:
    """Pairs, edges and spectrum of a graph, on which embeddings are measured."""

    def __init__(self, a: Floats) -> None:
        both = np.maximum(a, a.T)
        self.edge = (both > 0) & ~np.eye(len(a), dtype=bool)
        hops = hop_distances(both)
        self.all = Pairs.all(hops)
        if len(np.unique(self.all.hops)) < 2:
            raise DataError(_EQUAL)
        self.far = Pairs.all(np.where(hops >= 2, hops, np.inf))
        self.apart = len(np.unique(self.far.hops)) > 1
        self.spectrum = eigenspaces(operator(both))
        self.negative = self.spectrum.eigenvalues() < _NEGATIVE


def _measure(vectors: Floats, shape: _Shape, orders: Ids) -> dict[str, Floats]:
    """Return each measure, ``[1 + K]``, for ``1 + K`` orders of the vectors, ``[1 + K, N]``.

    A permutation of the rows only permutes the cosines, so that they are sorted once.
    """
    count = len(vectors)
    angles = cosine_matrix(vectors)
    u, v = np.triu_indices(count, 1)
    groups = np.zeros((count, count), dtype=np.int32)
    groups[u, v] = groups[v, u] = tie_groups(angles[u, v])
    np.fill_diagonal(angles, -np.inf)
    nearest = np.argsort(-angles, axis=-1, kind="stable")
    place = np.empty_like(nearest)  # rank of each node by its closeness to another node
    np.put_along_axis(place, nearest, np.arange(count)[None], -1)
    if vectors.shape[1] > count:  # reduces the width without changing inner products
        vectors = np.linalg.qr(vectors.T)[1].T
    one, other = np.nonzero(shape.edge)
    within = shape.edge.sum(1)[one]
    pairs = {"spearman": shape.all} | ({"far": shape.far} if shape.apart else {})
    parts: dict[str, list[Any]] = {name: [] for name in _MEASURES}
    for order in orders:
        for name, chosen in pairs.items():
            ranks = midranks(groups[order[chosen.u], order[chosen.v]])
            parts[name].append(chosen.correlation(ranks))
        parts["neighbours"].append((place[order[one], order[other]] < within).mean())
        energy = shape.spectrum.energy(vectors[order])
        parts["fiedler"].append(energy[0])
        parts["zigzag"].append(energy[shape.negative].sum())
    return {name: np.array(values) for name, values in parts.items() if values}
