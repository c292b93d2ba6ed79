"""Lay out a graph for a picture: roots, an order of its nodes, coordinates in a plane, eigenspaces.

:func:`scene` describes a world's graph in one row of a table, which the report's
figures and the explorer read; :func:`roots_of`, :func:`depth_first` and :func:`plane`
compute parts of it. NumPy only. Shapes: ``N`` nodes, ``M`` links, ``G`` eigenspaces.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from inweights.support.statistics.decompositions import eigh
from inweights.theory.geometric_memory import spectral
from inweights.theory.geometric_memory.bands import Bands
from inweights.theory.geometric_memory.detail import Detail
from inweights.worlds.arrays import Bool, Bools, Float, Floats, Ids, Int
from inweights.worlds.world import World

#: Number of steps of the stress majorisation.
_ROUNDS = 300


def roots_of(hops: Float[Floats, "N N"]) -> list[int]:
    """Return the centre of every component: the node with the smallest eccentricity.

    The eccentricity of a node is its distance to the node that is farthest from it.

    Ties are broken by the smallest sum of distances, and then by the lowest id. The
    centre of the largest component comes first.

    Args:
        hops: Numbers of hops between all nodes, ``[N, N]`` (``N`` nodes); infinite
            between components.

    Returns:
        Ids of the centres, from the largest component to the smallest.

    Example:
        >>> far = np.inf
        >>> roots_of(np.array([[0.0, 1, 2, far], [1, 0, 1, far], [2, 1, 0, far], [far] * 3 + [0]]))
        [1, 3]
    """
    reach = np.isfinite(hops)
    away = np.where(reach, hops, 0.0)
    best = np.lexsort((away.sum(1), away.max(1), -reach.sum(1))).tolist()
    left = np.ones(len(hops), dtype=bool)
    roots = []
    for node in best:
        if left[node]:
            roots.append(int(node))
            left &= ~reach[node]
    return roots


def depth_first(near: Bool[Bools, "N N"]) -> Int[Ids, " N"]:
    """Return the nodes in the order of a depth-first search.

    The order follows a ring once around, and visits the arms of a star one after
    another. It begins at node 0; other components follow, each from its first node.

    Args:
        near: Mask of the pairs of nodes that are joined, ``[N, N]`` (``N`` nodes);
            direction does not matter.

    Returns:
        Ids of all nodes in this order, ``[N]``.

    Example:
        >>> ring = np.roll(np.eye(4, dtype=bool), 1, 1) | np.roll(np.eye(4, dtype=bool), -1, 1)
        >>> depth_first(ring).tolist()
        [0, 1, 2, 3]
    """
    import networkx as nx

    graph = nx.from_numpy_array((near | near.T).astype(int))
    return np.array(list(nx.dfs_preorder_nodes(graph)), dtype=np.int64)


def plane(hops: Float[Floats, "N N"]) -> Float[Floats, "N 2"]:
    """Place nodes in a plane so that their distances approximate the numbers of hops.

    The method is stress majorisation (SMACOF with weights ``hops⁻²``: the layout of
    Kamada and Kawai), starting from the two leading directions of classical scaling; it
    is deterministic. Components are placed at a distance from one another.

    Args:
        hops: Numbers of hops, ``[N, N]`` (``N`` nodes); infinite between components.

    Returns:
        Coordinates ``[N, 2]``, centred; the largest absolute coordinate is 1.

    Example:
        >>> path = np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
        >>> np.abs(plane(path)[:, 0]).round(1).tolist()
        [1.0, 0.0, 1.0]
    """
    n = len(hops)
    widest = hops[np.isfinite(hops)].max()
    # Nodes of different components are a little nearer to each other than the most
    # distant nodes of one component.
    d = np.where(np.isfinite(hops), hops, max(2.0, 0.75 * widest))
    centre = np.eye(n) - 1 / n
    values, vectors = eigh(-0.5 * centre @ d**2 @ centre)
    where = np.zeros((n, 2))
    take = min(2, n)
    sizes = np.sqrt(np.maximum(values[::-1][:take], 0))
    where[:, :take] = vectors[:, ::-1][:, :take] * sizes
    # If eigenvalues are tied, as for a star, two nodes may have the same position,
    # where majorisation cannot separate them. Therefore all nodes are moved a little.
    turn = 2 * np.pi * np.arange(n) / n
    where += 0.05 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    off = ~np.eye(n, dtype=bool)
    weight = np.divide(1.0, d**2, out=np.zeros_like(d), where=off & (d > 0))
    laplacian = np.diag(weight.sum(1)) - weight
    # The Laplacian is singular, since a shift of all nodes changes no distance.
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ROUNDS):
        x, y = where.T
        gap = np.sqrt((x[:, None] - x) ** 2 + (y[:, None] - y) ** 2)
        pull = np.divide(weight * d, gap, out=np.zeros_like(d), where=gap > 0)
        where = inverse @ ((np.diag(pull.sum(1)) - pull) @ where)
    where = where - where.mean(0)
    return np.asarray(where / max(float(np.abs(where).max()), 1e-12), dtype=np.float64)


def scene(world: World) -> pl.DataFrame:
    """Describe a world's graph for a picture, as a table with one row.

    A graph with more than 250 nodes is represented by 250 of them
    (:class:`~inweights.theory.geometric_memory.detail.Detail`) and by bands of
    eigenvalues.

    Args:
        world: A world whose facts are edges.

    Returns:
        One row of lists with the columns ``nodes`` (names of the ``N`` drawn nodes),
        ``links`` (distinct pairs of their indices, ``M``), ``roots`` (indices of the
        centres of the components; see :func:`roots_of`), ``order`` (indices in
        depth-first order; see :func:`depth_first`), ``ring`` (whether the graph is a
        single cycle), ``x`` and ``y`` (coordinates of :func:`plane`, ``N``),
        ``eigenvalues`` and ``sizes`` (of the eigenspaces of ``P + Pᵀ − 2I``, ``G``);
        and, only if not all nodes are drawn, ``all_nodes`` (the number of all nodes).

    Raises:
        DataError: The world has no edges, or no edge joins two different nodes, or its
            tokens of the group ``node`` are not the first tokens of the vocabulary.

    Example:
        >>> from inweights.worlds import Graph
        >>> row = scene(Graph(shape="path-star", shuffled=False).build()).row(0, named=True)
        >>> row["roots"], row["links"][:2], row["ring"], row["sizes"][0]
        ([0], [[0, 1], [0, 5]], False, 3)
    """
    count, u, v = spectral.edge_ends(world)
    detail = Detail.of(count, u, v)
    a = detail.adjacency(u, v)
    near = (a + a.T) > 0
    np.fill_diagonal(near, False)
    hops = spectral.hop_distances(a)
    ring = bool(np.isfinite(hops).all() and (near.sum(1) == 2).all())
    where = plane(hops)
    if count > len(a):
        bands = Bands.of(count, u, v)
        values = (bands.edges[1:] + bands.edges[:-1]) / 2
        sizes = bands.sizes(0).round().astype(np.int64)
    else:
        spectrum = spectral.eigenspaces(spectral.operator(a))
        values = spectrum.eigenvalues()
        sizes = spectrum.sizes()
    u, v = np.nonzero(np.triu(near))
    start = int(world.vocabulary["node"][0]) if "node" in world.vocabulary else 0
    names = detail.names(list(world.vocabulary.names[start : start + count]))
    row = pl.DataFrame(
        {
            "nodes": [names],
            "links": [np.stack([u, v], axis=1).tolist()],
            "roots": [roots_of(hops)],
            "order": [depth_first(near).tolist()],
            "ring": [ring],
            "x": [where[:, 0].tolist()],
            "y": [where[:, 1].tolist()],
            "eigenvalues": [values.tolist()],
            "sizes": [sizes.tolist()],
        }
    )
    return row.with_columns(all_nodes=pl.lit(count)) if count > len(a) else row
