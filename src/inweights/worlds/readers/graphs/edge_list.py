"""A graph as pairs of labels: :class:`EdgeList`, which all readers of edges return."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

from inweights.worlds.readers.remark import Remark


@dataclass(frozen=True)
class EdgeList:
    """The edges and nodes of a graph, as labels.

    Attributes:
        links: Edges as ordered pairs of labels, without repetitions.
        nodes: All labels, in the order of their first occurrence, including those
            without a link.
        paths: Paths from a root to a leaf, each as a tuple of labels.
        remarks: Remarks on how the file was read; those whose ``sure`` is False are
            guesses.
    """

    links: tuple[tuple[str, str], ...]
    nodes: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...] = ()
    remarks: tuple[Remark, ...] = field(default=(), compare=False)

    @property
    def lone(self) -> list[str]:
        """Labels of the nodes without an edge, in the order of :attr:`nodes`."""
        linked = set(chain.from_iterable(self.links))
        return [label for label in self.nodes if label not in linked]

    @classmethod
    def collect(
        cls,
        links: Iterable[tuple[str, str]],
        lone: Iterable[str] = (),
        paths: Iterable[tuple[str, ...]] = (),
        remarks: Iterable[Remark] = (),
    ) -> Self:
        """Construct an edge list from links, and collect the nodes; repetitions are removed.

        Args:
            links: Edges as ordered pairs of labels.
            lone: Labels of nodes without edges.
            paths: Paths from a root to a leaf, as tuples of labels.
            remarks: Remarks on how the file was read.

        Returns:
            The edge list. Its nodes are the ends of ``links``, in the order of their
            first occurrence, followed by the nodes in ``lone``.

        Example:
            >>> EdgeList.collect([("b", "a"), ("b", "a"), ("a", "a")], ["z"]).nodes
            ('b', 'a', 'z')
        """
        unique = tuple(dict.fromkeys(links))
        nodes = dict.fromkeys(chain.from_iterable(unique))
        every = tuple(nodes | dict.fromkeys(lone))
        return cls(unique, every, tuple(dict.fromkeys(paths)), tuple(remarks))
