"""A graph as pairs of labels: :class:`EdgeList`, which every reader of edges returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

from inweights.worlds.readers.remark import Remark


@dataclass(frozen=True)
class EdgeList:
    """The contents of a file of edges.

    Attributes:
        links: Ordered pairs of labels, without repetitions.
        nodes: All labels, in the order of their first occurrence; some may have no
            link.
        paths: Paths from a root to a leaf, each a tuple of labels.
        remarks: Remarks on how the file was read; those that are not ``sure`` are
            guesses.
    """

    links: tuple[tuple[str, str], ...]
    nodes: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...] = ()
    remarks: tuple[Remark, ...] = field(default=(), compare=False)

    @property
    def lone(self) -> list[str]:
        """Labels of the nodes that occur in no link."""
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
        """Make an edge list from links, without repetitions, and list its nodes.

        Args:
            links: Ordered pairs of labels.
            lone: Labels of nodes without edges.
            paths: Paths from a root to a leaf, as tuples of labels.
            remarks: Remarks on how the file was read.

        Returns:
            The edge list; its nodes are in the order of their first occurrence.

        Example:
            >>> EdgeList.collect([("b", "a"), ("b", "a"), ("a", "a")], ["z"]).nodes
            ('b', 'a', 'z')
        """
        unique = tuple(dict.fromkeys(links))
        nodes = dict.fromkeys(chain.from_iterable(unique))
        every = tuple(nodes | dict.fromkeys(lone))
        return cls(unique, every, tuple(dict.fromkeys(paths)), tuple(remarks))
