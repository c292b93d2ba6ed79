"""Level of detail: a large graph drawn as some of its nodes, each with those nearest to it.

Shapes: ``N`` nodes, ``K`` of them that are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inweights.worlds.arrays import Float, Floats, Int
from inweights.worlds.world import Ids

#: Nodes that a picture shows at most.
DRAWN = 250


@dataclass(frozen=True, eq=False)
class Detail:
    """The nodes that stand for all.

    Attributes:
        nodes: Which, in ascending order; all of a graph of up to :data:`DRAWN`.
        cell: Place in ``nodes`` of the one nearest to each node, by hops; -1 where none is reached.
    """

    nodes: Int[Ids, " K"]
    cell: Int[Ids, " N"]

    @classmethod
    def of(cls, count: int, u: Ids, v: Ids, most: int = DRAWN) -> Detail:
        """Choose nodes that lie far from one another: each next one is the farthest from all.

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
        far, owner, chosen = np.full(count, np.inf), np.full(count, -1), []
        for _ in range(most):
            node = int(far.argmax())
            chosen.append(node)
            hops = dijkstra(graph, unweighted=True, indices=node)
            nearer = hops < far
            owner[nearer], far[nearer] = node, hops[nearer]
        nodes = np.sort(chosen)
        place = np.full(count + 1, -1)  # the last one is that of nodes without an owner
        place[nodes] = np.arange(len(nodes))
        return cls(nodes, place[owner])

    def adjacency(self, u: Ids, v: Ids) -> Float[Floats, "K K"]:
        """Return which drawn nodes are joined: an edge leads from the one's cell to the other's."""
        found = np.zeros((len(self.nodes), len(self.nodes)))
        one, other = self.cell[u], self.cell[v]
        whole = len(self.cell) == len(self.nodes)
        kept = (one >= 0) & (other >= 0) & (whole | (one != other))
        found[one[kept], other[kept]] = 1.0
        return found

    def names(self, every: list[str]) -> list[str]:
        """Return the names of the drawn nodes, with how many others each stands for."""
        others = np.bincount(self.cell[self.cell >= 0], minlength=len(self.nodes)) - 1
        return [
            every[node] + (f" + {more:,}" if more else "")
            for node, more in zip(self.nodes.tolist(), others.tolist(), strict=True)
        ]
