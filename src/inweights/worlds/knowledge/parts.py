"""Connected components of facts, and a part of them that a program of limited size can hold.

:class:`Components` finds components of facts that share an entity;
:func:`whole_components` chooses some of them, for predictions of large knowledge.
"""

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
        graph = sparse.csr_array(
            (np.ones(len(facts)), (facts, nodes + total)), shape=(n, n)
        )
        self._links = (graph + graph.T).tocsr()
        self._total = total
        _, label = connected_components(graph, directed=False)
        sizes = np.bincount(label[:total])
        each = np.split(np.argsort(label[:total], kind="stable"), np.cumsum(sizes)[:-1])
        largest = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
        self.rows = [each[component] for component in largest.tolist()]

    def outwards(self, component: int) -> Ids:
        """Return the facts of a component, those nearest to the node with most facts first."""
        from scipy.sparse.csgraph import breadth_first_order

        nodes = np.unique(self._links[self.rows[component]].indices)
        busiest = nodes[np.diff(self._links.indptr)[nodes].argmax()]
        order = breadth_first_order(
            self._links, int(busiest), return_predecessors=False
        )
        return order[order < self._total]


def whole_components(facts: Ids, nodes: Ids, *, total: int, most: int) -> Bools:
    """Choose at most ``most`` facts, in whole components where possible.

    Components of facts that share a node are chosen whole, the largest that fits first.
    Where they have less than half of ``most`` facts, part of the largest component is
    chosen instead: its facts nearest to the node with most facts.

    Args:
        facts: The fact of each mention of a node, ``[K]``.
        nodes: The node of each mention, ``[K]``.
        total: Number of facts.
        most: Largest number of chosen facts.

    Returns:
        Whether each fact is chosen, ``[total]``.

    Example:
        >>> facts, nodes = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 3, 4])
        >>> whole_components(facts, nodes, total=3, most=2).tolist()
        [True, True, False]
    """
    if total <= most:
        return np.ones(total, dtype=bool)
    found = Components(facts, nodes, total=total)
    chosen = np.zeros(total, dtype=bool)
    remaining = most
    for rows in found.rows:
        if len(rows) <= remaining:
            chosen[rows] = True
            remaining -= len(rows)
    if 2 * chosen.sum() < most < len(found.rows[0]):
        chosen[:] = False
        chosen[found.outwards(0)[:most]] = True
    return chosen
