"""Reduce a large graph for a picture: draw some nodes, each of which represents its neighbourhood.

:func:`~.layout.scene` uses :class:`Detail`. Shapes: ``N`` nodes, ``K`` drawn nodes,
``E`` edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inweights.worlds.arrays import Float, Floats, Int
from inweights.worlds.world import Ids

#: Largest number of nodes in a picture.
DRAWN = 250


@dataclass(frozen=True, eq=False)
class Detail:
    """The drawn nodes of a graph, and for each node the drawn node that represents it.

    Attributes:
        nodes: The drawn nodes in ascending order, ``[K]``; all nodes if their number
            does not exceed the maximum.
        cell: For each node, the index in ``nodes`` of the drawn node that is nearest in
            hops, ``[N]`` (``N`` nodes); -1 if no drawn node is reachable.
    """

    nodes: Int[Ids, " K"]
    cell: Int[Ids, " N"]

    @classmethod
    def of(cls, count: int, u: Ids, v: Ids, most: int = DRAWN) -> Detail:
        """Choose the nodes to draw in a picture, so that they are far from each other.

        Node 0 is chosen first. Each further choice is the node that is farthest, in
        hops, from the nodes already chosen.

        Args:
            count: Number of nodes ``N``.
            u: Start nodes of the edges, ``[E]``; direction does not matter.
            v: End nodes of the edges, ``[E]``.
            most: Largest number of drawn nodes, at least 1; 250 by default. All nodes
                of a graph of up to this size are drawn.

        Returns:
            The chosen nodes in ascending order, and the nearest chosen node of each
            node.

        Example:
            >>> path = np.arange(8), np.arange(1, 9)
            >>> Detail.of(9, *path, most=3).cell.tolist()
            [0, 0, 0, 1, 1, 1, 2, 2, 2]
        """
        if count <= most:
            return cls(np.arange(count), np.arange(count))
        from scipy import sparse
        from scipy.sparse.csgraph import dijkstra

        graph = sparse.csr_array((np.ones(len(u)), (u, v)), shape=(count, count))
        graph = graph.maximum(graph.T)
        far = np.full(count, np.inf)
        owner = np.full(count, -1)
        chosen = []
        for _ in range(most):
            node = int(far.argmax())
            chosen.append(node)
            hops = dijkstra(graph, unweighted=True, indices=node)
            nearer = hops < far
            owner[nearer] = node
            far[nearer] = hops[nearer]
        nodes = np.sort(chosen)
        place = np.full(count + 1, -1)  # the last entry is for nodes without an owner
        place[nodes] = np.arange(len(nodes))
        return cls(nodes, place[owner])

    def adjacency(self, u: Ids, v: Ids) -> Float[Floats, "K K"]:
        """Return the adjacency of the drawn nodes, which represent the nodes nearest to them.

        Args:
            u: Start nodes of the graph's edges, ``[E]``.
            v: End nodes of the graph's edges, ``[E]``.

        Returns:
            A matrix ``[K, K]`` of 0 and 1 for ``K`` drawn nodes. An entry is 1 if an
            edge leads from a node that the row represents to a node that the column
            represents. Self-edges are included only if all nodes are drawn.

        Example:
            >>> path = np.arange(8), np.arange(1, 9)
            >>> Detail.of(9, *path, most=3).adjacency(*path).tolist()
            [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
        """
        found = np.zeros((len(self.nodes), len(self.nodes)))
        one = self.cell[u]
        other = self.cell[v]
        whole = len(self.cell) == len(self.nodes)
        kept = (one >= 0) & (other >= 0) & (whole | (one != other))
        found[one[kept], other[kept]] = 1.0
        return found

    def names(self, every: list[str]) -> list[str]:
        """Return the names of the drawn nodes, with the number of other nodes that each represents.

        Args:
            every: Names of all ``N`` nodes, in the order of their ids.

        Returns:
            Names of the ``K`` drawn nodes, such as ``a + 2`` for a node that represents
            two others.

        Example:
            >>> Detail.of(9, np.arange(8), np.arange(1, 9), most=3).names(list("abcdefghi"))
            ['a + 2', 'e + 2', 'i + 2']
        """
        others = np.bincount(self.cell[self.cell >= 0], minlength=len(self.nodes)) - 1
        return [
            every[node] + (f" + {more:,}" if more else "")
            for node, more in zip(self.nodes.tolist(), others.tolist(), strict=True)
        ]
