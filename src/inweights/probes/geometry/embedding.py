"""Embeddings from elsewhere: a matrix, the names of its rows, and a graph over the same names.

Rows are matched to nodes by name, or refused: a graph's nodes stand in the order in which a file
first names them, and a matrix in another order would give other numbers without a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from inweights.errors import DataError, nearest
from inweights.models.configs import Node2VecConfig
from inweights.models.node2vec import Node2Vec
from inweights.support.border import guarded
from inweights.worlds.arrays import Num
from inweights.worlds.world import World

#: Names that a message lists.
_LISTED = 5


class NamedNodes(Node2Vec):
    """Node vectors as a model, so that every probe of graphs takes them; logits are products.

    Attributes:
        names: Name of every node, by its id. A probe refuses a graph with other ones.
    """

    names: tuple[str, ...] = ()


#: The largest number of an embedding: sums of its squares are numbers still, in single precision.
_LARGEST = 1e15


@dataclass(frozen=True, eq=False)
class Embedding:
    """A matrix with a name for each row.

    Attributes:
        names: ``N`` names.
        vectors: One matrix; or several, such as one a layer or a seed.
        source: Where it is from, for messages.

    Raises:
        DataError: The shapes do not fit, or a number is not finite, or over 10¹⁰⁰.

    Example:
        >>> from inweights.probes import hop_correlation
        >>> from inweights.worlds import Graph
        >>> ring = Graph(shape="edges", links=[["c", "d"], ["d", "a"], ["a", "b"], ["b", "c"]])
        >>> square = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
        >>> model = Embedding(("a", "b", "c", "d"), square).on(ring.build())
        >>> round(hop_correlation(model, ring.build())["spearman"].item(), 6)
        -1.0
    """

    names: tuple[str, ...]
    vectors: Num[NDArray[Any], "... N D"]
    source: str = "the embedding"

    @guarded
    def __post_init__(self) -> None:
        shape = self.vectors.shape
        if self.vectors.ndim not in (2, 3) or 0 in shape:
            raise DataError(
                f"{self.source} has shape {shape}; expected [nodes, width], or [replicas, nodes, "
                "width]"
            )
        if shape[-2] != len(self.names):
            raise DataError(
                f"{self.source} has {shape[-2]:,} rows and {len(self.names):,} names; each row "
                "needs its own name"
            )
        usable = np.abs(self.vectors) <= _LARGEST  # nor is what is no number
        if not usable.all():
            row = int(np.argwhere(~usable)[0][-2])
            raise DataError(
                f"{self.source}: the row of '{self.names[row]}' has a number that is not finite or "
                f"over {_LARGEST:g}"
            )

    def on(self, world: World, *, centred: bool = False) -> NamedNodes:
        """Return the vectors of a graph's nodes as a model; further rows are left out.

        Tokens of the graph that are no nodes, such as a pause, get zeros.

        Args:
            world: A graph, whose nodes carry the names of rows.
            centred: Whether the mean of the nodes' rows is taken off, for vectors that lie in a
                narrow cone.

        Raises:
            DataError: A node has no row, or several rows have its name.
        """
        nodes = node_names(world)
        place = {name: row for row, name in enumerate(self.names)}
        missing = [name for name in nodes if name not in place]
        if missing:
            close = nearest(missing[0], self.names)
            hint = f"; the nearest name to '{missing[0]}' is '{close}'" if close else ""
            raise DataError(
                f"{self.source} has no row for {len(missing):,} of {len(nodes):,} nodes: "
                f"{_listed(missing)}{hint}. Rows are matched by name: rename them, or leave these "
                "nodes out of the graph"
            )
        counts = Counter(self.names)
        double = [name for name in nodes if counts[name] > 1]
        if double:
            raise DataError(
                f"{self.source} has several rows for {_listed(double)}; keep one of each"
            )
        chosen = self.vectors[..., [place[name] for name in nodes], :].astype(np.float64)
        if centred:
            chosen = chosen - chosen.mean(-2, keepdims=True)
        table = torch.from_numpy(chosen.reshape(-1, *chosen.shape[-2:]))
        config = Node2VecConfig(width=table.shape[-1])
        model = NamedNodes(config, vocabulary=len(world.vocabulary), replicas=len(table)).double()
        with torch.no_grad():
            model.tokens.weight.zero_()[:, : len(nodes)] = table
        model.names = nodes
        return model


def node_names(world: World) -> tuple[str, ...]:
    """Names of a graph's nodes, in the order of their ids."""
    words = world.vocabulary
    return tuple(words.groups["node"] if "node" in words else words.names)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_LISTED])
    return shown + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
