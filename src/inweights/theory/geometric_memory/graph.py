"""The graph of a world: its adjacency, its components, and hops between its nodes.

:func:`adjacency` reads the graph from facts, :func:`hop_distances` counts hops; spectra
are in ``spectral.py``. Shapes: ``N`` nodes, ``E`` edges, ``S`` source nodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inweights.errors import DataError
from inweights.support.limits import check_memory
from inweights.worlds.arrays import Bool, Bools, Float, Floats, Int
from inweights.worlds.families.graphs.edges import edge_prefix
from inweights.worlds.world import Ids, World


def adjacency(world: World) -> Float[Floats, "N N"]:
    """Return the adjacency matrix of a world whose facts are edges.

    The row of an entry is the start node of the edge, and the column is its end node.

    Every fact with one prompt token and one answer token, both in the group ``node`` of
    the vocabulary (or in any group, if there is no such group), is an edge; the prompt
    may begin with the token ``<edge>``. Self-edges are on the diagonal. The matrix is
    symmetric if both directions of every edge are facts.

    Args:
        world: A world whose facts are edges.

    Returns:
        Matrix ``[N, N]`` of 0 and 1 (``N`` nodes, in the order of their ids).

    Raises:
        DataError: No fact is an edge, ids of the group ``node`` do not start at 0, or
            the matrix would not fit in memory.

    Example:
        >>> from inweights.worlds import Graph
        >>> a = adjacency(Graph(shape="cycle", n=4, shuffled=False).build())
        >>> a.astype(int).tolist()
        [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    """
    count, u, v = edge_ends(world)
    check_memory(f"the adjacency of {count:,} nodes", 8 * 2 * count**2, error=DataError)
    matrix = np.zeros((count, count))
    matrix[u, v] = 1.0
    return matrix


def edge_ends(world: World) -> tuple[int, Int[Ids, " E"], Int[Ids, " E"]]:
    """Return the number of nodes, and the start and end nodes of the edges of a world.

    Args:
        world: A world whose facts are edges. The prompt of an edge is its start node,
            optionally preceded by the token ``<edge>``, and the answer is its end node.
            Other facts are ignored.

    Returns:
        The number ``N`` of nodes, and the ids of the start nodes and of the end nodes
        of ``E`` edges, ``[E]`` each. An edge in both directions is counted twice, and
        facts that state the same edge are not merged.

    Raises:
        DataError: No fact is an edge, or ids of the group ``node`` do not start at 0.

    Example:
        >>> from inweights.worlds import Graph
        >>> count, u, v = edge_ends(Graph(shape="cycle", n=4, shuffled=False).build())
        >>> count, len(u), len(v)
        (4, 8, 8)
    """
    words = world.vocabulary
    count = len(words["node"]) if "node" in words else len(words)
    if "node" in words and words["node"][0] != 0:
        raise DataError("the group 'node' must come first in the vocabulary of a graph")
    before = np.array(edge_prefix(world), dtype=np.int64)
    ends = []
    for _, prompts, answers in world.facts.by_shape():
        if prompts.shape[1] == len(before) + 1 and answers.shape[1] == 1:
            pairs = np.column_stack([prompts[:, -1], answers])
            are_nodes = (pairs < count).all(1)
            are_edges = (prompts[:, :-1] == before).all(1)
            ends.append(pairs[are_nodes & are_edges])
    if not sum(map(len, ends)):
        raise DataError(
            f"the world '{world.name}' has no fact 'node → node', so it is not a graph"
        )
    u, v = np.concatenate(ends).T
    return count, u, v


def components(joined: Bool[Bools, "N N"]) -> Int[Ids, " N"]:
    """Return the connected component of every node, identified by its smallest node.

    Args:
        joined: Mask of the pairs of nodes that are joined, ``[N, N]`` (``N`` nodes);
            direction does not matter.

    Returns:
        For each node, the index of the smallest node of its component, ``[N]``.

    Example:
        >>> components(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)).tolist()
        [0, 1, 0]
    """
    from scipy.sparse.csgraph import connected_components

    _, label = connected_components(joined, directed=False)
    return np.unique(label, return_index=True)[1][label]


def hop_distances(a: Float[Floats, "N N"]) -> Float[Floats, "N N"]:
    """Return hop distances between all pairs of nodes, ignoring direction; infinite if unconnected.

    Args:
        a: Adjacency of ``N`` nodes, ``[N, N]``; every entry above 0 is an edge.

    Returns:
        Floats ``[N, N]``, symmetric, with zeros on the diagonal.

    Raises:
        DataError: ``a`` is not a square matrix of non-negative numbers.

    Example:
        >>> hop_distances(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0.0]])).tolist()
        [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    check_adjacency(a)
    return hops_from(len(a), *np.nonzero(a))


def hops_from(
    count: int,
    u: Int[Ids, " E"],
    v: Int[Ids, " E"],
    sources: Int[Ids, " S"] | None = None,
) -> Float[Floats, "S N"]:
    """Return the hop distances from source nodes to all nodes; infinite if there is no path.

    Edges are followed in both directions. The function makes a breadth-first search
    from all sources at once, in which each node stores one bit per source.

    Args:
        count: Number of nodes ``N``.
        u: Start nodes of the edges, ``[E]``.
        v: End nodes of the edges, ``[E]``.
        sources: Nodes to start from, ``[S]``; ``None`` for all nodes.

    Returns:
        Array ``[S, N]`` of floats, for ``S`` sources and ``N`` nodes.

    Example:
        >>> hops_from(4, np.array([0, 1]), np.array([1, 2]), np.array([2])).tolist()
        [[2.0, 1.0, 0.0, inf]]
    """
    sources = np.arange(count) if sources is None else sources
    found = whole_hops(count, u, v, sources).T
    return np.where(found >= 0, found, np.inf)


def whole_hops(
    count: int, u: Int[Ids, " E"], v: Int[Ids, " E"], sources: Int[Ids, " S"]
) -> Int[NDArray[np.int32], "N S"]:
    """Return the hop distances from source nodes to all nodes as integers, one column per source.

    Args:
        count: Number of nodes ``N``.
        u: Start nodes of the edges, ``[E]``.
        v: End nodes of the edges, ``[E]``.
        sources: Nodes to start from, ``[S]``.

    Returns:
        Array ``[N, S]`` of the lengths of shortest paths, where edges are followed in
        both directions; -1 if there is no path.

    Example:
        >>> whole_hops(4, np.array([0, 1]), np.array([1, 2]), np.array([2])).T.tolist()
        [[2, 1, 0, -1]]
    """
    words = -(-len(sources) // 64)
    reached = np.zeros((count, words), dtype=np.uint64)
    place = np.arange(len(sources))
    # The first source has the highest bit of a byte, in the order of np.unpackbits.
    bit = (128 >> place % 8).astype(np.uint8)
    np.bitwise_or.at(reached.view(np.uint8), (sources, place // 8), bit)
    own = np.arange(count)  # a node that was reached remains reached
    pairs = np.unique(np.r_[u, v, own] * count + np.r_[v, u, own])
    ends, starts = np.divmod(pairs, count)
    first = np.searchsorted(ends, own)
    hops = np.full((count, 64 * words), -1, dtype=np.int32)
    hops[sources, place] = 0
    eights = hops.reshape(-1, 8)  # the sources of each byte
    distance = 0
    while True:
        near = np.bitwise_or.reduceat(reached[starts], first, axis=0)
        new = (near ^ reached).view(np.uint8).ravel()
        changed = np.flatnonzero(new)
        if not len(changed):
            return hops[:, : len(sources)]
        distance += 1
        bits = np.unpackbits(new[changed, None], axis=1).view(bool)
        eights[changed] = np.where(bits, np.int32(distance), eights[changed])
        reached = near


def check_adjacency(a: Floats) -> None:
    """Raise an error if an array is not a square matrix of non-negative numbers.

    Args:
        a: Any array.

    Raises:
        DataError: ``a`` is not a square matrix of non-negative numbers.
    """
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not (a >= 0).all():
        raise DataError(
            "an adjacency matrix must be a square matrix of non-negative numbers, got shape "
            f"{a.shape}"
        )
