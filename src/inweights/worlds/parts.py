"""Connected components of facts, and the part that a program of some size can hold."""

import numpy as np

from inweights.worlds.arrays import Bools
from inweights.worlds.world import Ids


class Components:
    """Components of facts that share a node, the largest first.

    Args:
        facts: The fact of each mention of a node, ``[K]``.
        nodes: The node of each mention, ``[K]``.
        total: Number of facts.

    Attributes:
        rows: The facts of each component, in order.
    """

    def __init__(self, facts: Ids, nodes: Ids, *, total: int) -> None:
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        n = total + int(nodes.max(initial=0)) + 1
        graph = sparse.csr_array((np.ones(len(facts)), (facts, nodes + total)), shape=(n, n))
        self._links = (graph + graph.T).tocsr()
        self._total = total
        _, label = connected_components(graph, directed=False)
        sizes = np.bincount(label[:total])
        each = np.split(np.argsort(label[:total], kind="stable"), np.cumsum(sizes)[:-1])
        largest = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
        self.rows = [each[component] for component in largest.tolist()]

    def outwards(self, component: int) -> Ids:
        """Return the facts of a component, those nearest to its busiest node first."""
        from scipy.sparse.csgraph import breadth_first_order

        nodes = np.unique(self._links[self.rows[component]].indices)
        busiest = nodes[np.diff(self._links.indptr)[nodes].argmax()]
        order = breadth_first_order(self._links, int(busiest), return_predecessors=False)
        return order[order < self._total]


def whole_components(facts: Ids, nodes: Ids, *, total: int, most: int) -> Bools:
    """Return which facts to keep, at most so many, ``[total]``.

    Components of facts that share a node are taken whole, the largest that fits first. Where they
    come to less than half of what may be kept, the largest is cut instead: its facts nearest to its
    busiest node.

    Args:
        facts: The fact of each mention of a node, ``[K]``.
        nodes: The node of each mention, ``[K]``.
        total: Number of facts.
        most: How many may be kept.
    """
    if total <= most:
        return np.ones(total, dtype=bool)
    found = Components(facts, nodes, total=total)
    kept, room = np.zeros(total, dtype=bool), most
    for rows in found.rows:
        if len(rows) <= room:
            kept[rows] = True
            room -= len(rows)
    if 2 * kept.sum() < most < len(found.rows[0]):
        kept[:] = False
        kept[found.outwards(0)[:most]] = True
    return kept
