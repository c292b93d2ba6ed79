"""The part of a set of facts that a program of some size can hold: whole components first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inweights.worlds.world import Ids

__all__ = ["whole_components"]


def whole_components(facts: Ids, nodes: Ids, *, total: int, most: int) -> NDArray[np.bool_]:
    """Return which facts to keep, at most so many, ``[total]``.

    Components of facts that share a node are taken whole, the largest that fits first. Where they
    come to less than half of what may be kept, the largest is cut instead: its facts nearest to its
    busiest node.

    Args:
        facts: The fact of each mention of a node, ``[K]``.
        nodes: The node of each mention, ``[K]``.
        total: Number of facts.
        most: How many may be kept.

    Example:
        >>> facts, nodes = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 3, 4])
        >>> whole_components(facts, nodes, total=3, most=2).tolist()
        [True, True, False]
    """
    from scipy import sparse
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    if total <= most:
        return np.ones(total, dtype=bool)
    n = total + int(nodes.max(initial=0)) + 1
    graph = sparse.csr_array((np.ones(len(facts)), (facts, nodes + total)), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    label_of_fact = label[:total]
    sizes = np.bincount(label_of_fact)
    room, whole = most, []
    for component in np.argsort(-sizes, kind="stable").tolist():
        if 0 < sizes[component] <= room:
            whole.append(component)
            room -= int(sizes[component])
        if not room:
            break
    kept: NDArray[np.bool_] = np.isin(label_of_fact, whole)
    if 2 * kept.sum() < most < sizes.max():
        both = (graph + graph.T).tocsr()
        degree = np.where(label == int(np.argmax(sizes)), np.diff(both.indptr), -1)
        degree[:total] = -1
        order = breadth_first_order(both, int(degree.argmax()), return_predecessors=False)
        kept = np.zeros(total, dtype=bool)
        kept[order[order < total][:most]] = True
    return kept
