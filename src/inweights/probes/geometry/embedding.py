"""Embeddings from other programs: a matrix, the names of its rows, and a graph over these names.

:class:`Embedding` turns them into a model that every probe of graphs accepts. Rows are
matched to nodes by name, and a missing name is an error. The nodes of a graph are in
the order in which its file first names them. A matrix whose rows are in a different
order would silently give wrong results.
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

#: Maximum number of names in a message.
_LISTED = 5
#: Largest absolute value in an embedding. Sums of squares of such values are finite in
#: single precision.
_LARGEST = 1e15


class NamedNodes(Node2Vec):
    """Model whose logits are the inner products of given node vectors, for graph probes.

    Attributes:
        names: Names of the nodes, in the order of their ids. Probes raise a
            ``DataError`` for a graph whose nodes have different names or a different
            order.
    """

    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Embedding:
    """An embedding from another program: a matrix with a name for each row.

    Attributes:
        names: Names of the ``N`` rows.
        vectors: One matrix ``[N, D]`` (width ``D``), or several ``[R, N, D]`` (``R``
            replicas), such as one for each layer or seed.
        source: Origin of the matrix, such as a path, for error messages.

    Raises:
        DataError: The matrix does not have two or three axes or is empty, the number of
            names differs from the number of rows, or a number is NaN or has an absolute
            value above 1e15.

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
        usable = np.abs(self.vectors) <= _LARGEST  # false for NaN
        if not usable.all():
            row = int(np.argwhere(~usable)[0][-2])
            raise DataError(
                f"{self.source}: the row of '{self.names[row]}' contains a number that "
                f"is not finite or exceeds {_LARGEST:g}"
            )

    def on(self, world: World, *, centred: bool = False) -> NamedNodes:
        """Return the vectors of a graph's nodes as a model with one replica for each matrix.

        Rows whose names are not names of nodes are left out. Tokens of the graph that
        are not nodes, such as a pause token, get a vector of zeros.

        Args:
            world: A graph. The name of each node must be the name of exactly one row.
            centred: Whether the mean vector of all nodes is subtracted from each node's
                vector, which helps if all vectors have similar directions.

        Returns:
            A model in double precision with one replica for each matrix. Its token
            embeddings are copies of the vectors, in the order of the graph's nodes, and
            its logits are the inner products of these vectors.

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
        chosen = self.vectors[..., [place[name] for name in nodes], :].astype(
            np.float64
        )
        if centred:
            chosen = chosen - chosen.mean(-2, keepdims=True)
        table = torch.from_numpy(chosen.reshape(-1, *chosen.shape[-2:]))
        config = Node2VecConfig(width=table.shape[-1])
        model = NamedNodes(
            config, vocabulary=len(world.vocabulary), replicas=len(table)
        ).double()
        with torch.no_grad():
            model.tokens.weight.zero_()[:, : len(nodes)] = table
        model.names = nodes
        return model


def node_names(world: World) -> tuple[str, ...]:
    """Return the names of a graph's nodes, in the order of their ids.

    Args:
        world: World of the graph. Its nodes are the tokens of the group ``node``, or
            all tokens if there is no such group.
    """
    words = world.vocabulary
    return tuple(words.groups["node"] if "node" in words else words.names)


def _listed(names: Sequence[str]) -> str:
    """Return names as text: the first five, and the number of further ones."""
    shown = ", ".join(f"'{name}'" for name in names[:_LISTED])
    if len(names) <= _LISTED:
        return shown
    return f"{shown} and {len(names) - _LISTED} more"
