"""Find connected components of facts, and choose a part of them for a program of limited size.

:class:`Components` finds components of facts that share an entity;
:func:`whole_components` chooses some of them, for predictions of large sets of facts.
"""

import numpy as np

from inweights.worlds.arrays import Bools
from inweights.worlds.world import Ids


class Components:
    """Connected components of facts, the largest first; facts are connected if they share a node.

    The arguments describe ``K`` mentions. A mention is a pair of a fact and a node that
    occurs in it.

    Args:
        facts: Index of the fact of each mention, ``[K]``.
        nodes: Index of the node of each mention, ``[K]``.
        total: Number of facts.

    Attributes:
        rows: For each component, the indices of its facts in ascending order (NumPy).
    """

    def __init__(self, facts: Ids, nodes: Ids, *, total: int) -> None:
        """Find the connected components of facts that share a node.

        Args:
            facts: Index of the fact of each of ``K`` mentions (pairs of a fact and a
                node that occurs in it), from 0 to ``total - 1``, ``[K]``.
            nodes: Index of the node of each mention, ``[K]``.
            total: Number of facts; a fact without a node is a component of its own.
        """
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
        """Return the facts of a component, sorted by distance from its most frequent node.

        Args:
            component: Index of the component in :attr:`rows`; 0 is the largest.

        Returns:
            Indices of its facts (NumPy), beginning with those of the node that occurs
            in the largest number of facts.
        """
        from scipy.sparse.csgraph import breadth_first_order

        nodes = np.unique(self._links[self.rows[component]].indices)
        busiest = nodes[np.diff(self._links.indptr)[nodes].argmax()]
        order = breadth_first_order(
            self._links, int(busiest), return_predecessors=False
        )
        return order[order < self._total]


def whole_components(facts: Ids, nodes: Ids, *, total: int, most: int) -> Bools:
    """Choose at most ``most`` facts, in whole components if possible.

    If there are at most ``most`` facts, all are chosen. Otherwise, connected components
    are chosen as a whole, from the largest to the smallest, if they still fit. If the
    chosen facts are fewer than half of ``most``, and the largest component has more
    than ``most`` facts, a part of this component is chosen instead: the ``most`` facts
    nearest to the node that occurs in the largest number of facts.

    Args:
        facts: Index of the fact of each of ``K`` mentions of a node, ``[K]``.
        nodes: Index of the node of each mention, ``[K]``.
        total: Number of facts.
        most: Largest number of chosen facts.

    Returns:
        Whether each fact is chosen, ``[total]`` (NumPy).

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
