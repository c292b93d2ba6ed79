"""Graphs whose edges are facts (Geometric Memory §2.1, B.2, C.2, C.3).

A fact is ``u → v``. Each neighbour of ``u`` is a correct answer to the prompt ``u``,
and is stated by a separate fact. Paths from a root to its leaves may be queries.
:class:`Graph` is the config; the shapes are in ``shapes``, and ``networkx_graphs``
creates a config from a networkx graph.
"""

from __future__ import annotations

from itertools import chain
from typing import Literal

import numpy as np

from inweights.config import Config, check_size
from inweights.errors import ConfigError, DataError
from inweights.seeds import WORLD, Streams
from inweights.support.keys.content import fingerprint
from inweights.worlds.families.graphs.edges import edge_facts
from inweights.worlds.families.graphs.shapes import (
    CLASSICS,
    ROOTED,
    Shape,
    built_in_graph,
    check_memory_of,
    classic_edges,
    refuse_settings_of_other_shapes,
)
from inweights.worlds.readers.graphs.edge_list import EdgeList
from inweights.worlds.readers.graphs.edge_lists import read_edges
from inweights.worlds.size import check_counts, check_depth
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Ids, Vocabulary, World

#: Shapes whose nodes have their own labels.
NAMED = ("file", "edges", *CLASSICS)


class Graph(Config, tag_field="kind", tag="graph"):
    """A world of the edges of a graph: a built-in shape, an edge file, or a list of edges.

    Edges have a written direction: away from the root, along the ring, to the right and
    down, or from ``u`` to ``v`` in a list. Facts in this direction have the role
    ``edge``, and facts in the opposite direction have the role ``reverse_edge``. An
    edge that is listed twice is used only once; an edge that is listed in both
    directions has two facts of the role ``edge``. A loop ``u = u`` in a list is a
    ``self_edge`` fact. A node without edges is in the vocabulary, but in no fact unless
    :attr:`self_edges` is set. The graph may have several components.

    Attributes:
        shape: ``path-star``: ``arms`` paths that share their root. ``tree-star``: a
            root with ``arms`` children; every other inner node has ``branches``
            children. ``grid``: ``rows × columns`` nodes. ``cycle``: ``n`` nodes.
            ``irregular``: 16 nodes in two components (Geometric Memory, C.3). ``file``:
            the graph in :attr:`file`. ``edges``: the edges in :attr:`links`.
            ``karate-club``, ``florentine-families``, ``davis-southern-women`` and
            ``les-miserables`` are social networks
            (:mod:`inweights.worlds.families.graphs.shapes`).
        arms: Number of arms of a star, at least 1.
        nodes: Number of nodes on a path of a star, root and leaf included, at least 2.
        branches: Number of children of an inner node of a tree-star.
        rows: Number of rows of a grid, at least 1.
        columns: Number of columns of a grid, at least 1.
        n: Number of nodes of a cycle, at least 3.
        file: File of edges: a table of two columns, ``.graphml`` and other formats of
            networkx, or plain text with lines ``u=v``
            (:func:`inweights.worlds.read_edges`). It is read when the world is built.
        header: ``yes`` or ``no``: whether the first row of :attr:`file` is a header. If
            empty, it is inferred from the rows; if it is unclear, an error is raised.
        ends: Names, or numbers from 1, of the two columns of :attr:`file` with the ends
            of edges, separated by a comma. If empty, they are inferred from the header.
        links: Pairs of labels, for the shape ``edges``.
        lone: Labels of nodes without edges, for the shape ``edges``.
        edges: Directions of the facts: ``forward``, ``backward`` or ``both``.
        self_edges: Whether every node also has a fact ``u → u``.
        shuffled: Whether labels are assigned to the nodes of a built-in shape in random
            order, depending on the seed. It has no effect on graphs with labels of
            their own.
        paths: Whether root-to-leaf paths are queries, ``<path> leaf → root … leaf``;
            only for stars, and for text files that list paths.
        idle_tokens: Number of tokens that are in the vocabulary but in no fact: classes
            that a model learns never to predict. The code of Geometric Memory reserves
            nine tokens, of which an edge uses one.
        edge_token: Whether a prompt starts with a special token: ``<edge> u → v``.

    Raises:
        ConfigError: A number is out of range, a link is not a pair, or settings
            contradict each other, such as a size that the shape does not have.

    Example:
        >>> world = Graph(shape="path-star", arms=4, nodes=5).build(seed=0)
        >>> world, world.facts.role_names
        (World('graph', 17 tokens, 32 facts, 0 queries, seed=0), ('edge', 'reverse_edge'))
    """

    later = {"idle_tokens": 0, "edge_token": False, "header": "", "ends": ""}
    newer = ("header", "ends")

    shape: Shape = "path-star"
    arms: int = 4
    nodes: int = 5
    branches: int = 2
    rows: int = 4
    columns: int = 4
    n: int = 15
    file: str = ""
    links: list[list[str]] = []
    lone: list[str] = []
    edges: Literal["forward", "backward", "both"] = "both"
    self_edges: bool = False
    shuffled: bool = True
    paths: bool = False
    idle_tokens: int = 0
    edge_token: bool = False
    header: Literal["", "yes", "no"] = ""
    ends: str = ""

    @property
    def contents(self) -> dict[str, str]:
        """Dictionary that maps the path of :attr:`file` to a hash of its content.

        It is part of a run's key, and is empty if there is no file.

        Raises:
            DataError: The file cannot be read.
        """
        return {self.file: fingerprint(self.file)} if self.file else {}

    def __post_init__(self) -> None:
        check_size("graph.idle_tokens", self.idle_tokens, least=0)
        check_counts("graph", self, arms=1, nodes=2, branches=1, rows=1, columns=1, n=3)
        refuse_settings_of_other_shapes(self)
        if self.shape == "tree-star":
            check_depth("graph", self.nodes, self.branches)
        if self.shape == "grid" and self.rows * self.columns < 2:
            raise ConfigError(
                "graph: a grid of one node has no edge; give more rows or columns"
            )
        if (self.shape == "file") != bool(self.file):
            raise ConfigError(
                "graph: 'file' must be set if the shape is 'file', and only then, got shape = "
                f"'{self.shape}' and file = '{self.file}'"
            )
        given = self.shape == "edges"
        if given != bool(self.links) or (self.lone and not given):
            raise ConfigError(
                "graph: 'links' must be set if the shape is 'edges', and only then, got shape = "
                f"'{self.shape}' and {len(self.links)} links"
            )
        if any(len(link) != 2 for link in self.links):
            raise ConfigError("graph: each link must be a pair of labels")
        if self.paths and self.shape not in (*ROOTED, "file"):
            raise ConfigError(
                f"graph: a {self.shape} has no root and no leaves, and therefore no path "
                f"queries; leave out 'paths', or use one of {', '.join(ROOTED)}"
            )

    def labels(self, seed: int = 0) -> Ids:
        """Return the token id of each of the ``N`` nodes in the order of the shape, ``[N]``.

        The nodes of a path-star are the root, then one arm after another. The nodes of
        a tree-star are ordered by level, those of a grid by row, and those of a cycle
        around the ring. The nodes of a file or list are in order of first occurrence.

        Args:
            seed: Root seed, which only affects shuffled labels.

        Raises:
            DataError: The file is missing or damaged.
            ConfigError: :attr:`ends` names an unknown column, or labels are shuffled
                and the seed is not between 0 and 2**63 - 1.

        Example:
            >>> Graph(shape="cycle", n=3, shuffled=False).labels().tolist()
            [0, 1, 2]
        """
        return self._labels(len(self._skeleton()[0].nodes), seed)

    def _labels(self, count: int, seed: int) -> Ids:
        """Return the token ids of ``count`` nodes, in the order of the shape."""
        if self.shape in NAMED or not self.shuffled:
            return np.arange(count, dtype=np.int64)
        return Streams(seed).numpy(WORLD, "graph").permutation(count)

    def written_out(self) -> Graph:
        """Return a config of the same graph that lists its edges, so that it needs no file.

        The edges become :attr:`links`. Path queries are left out, and labels are not
        shuffled.

        Raises:
            DataError: The file is missing or damaged; the message names the line.
            ConfigError: :attr:`ends` names an unknown column.

        Example:
            >>> Graph(shape="path-star", arms=2, nodes=2).written_out().links
            [['v1', 'v2'], ['v1', 'v3']]
        """
        found, given = self._skeleton()
        labels = found.nodes if given else numbered("v", len(found.nodes))
        names = dict(zip(found.nodes, labels, strict=True))
        links = [[names[u], names[v]] for u, v in found.links]
        lone = [names[label] for label in found.lone]
        return Graph(
            shape="edges",
            links=links,
            lone=lone,
            edges=self.edges,
            self_edges=self.self_edges,
            idle_tokens=self.idle_tokens,
            edge_token=self.edge_token,
        )

    def build(self, seed: int = 0) -> World:
        """Build the world; only shuffled labels depend on the seed.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            DataError: The file is missing or damaged; it has no paths, or paths of
                different lengths, although ``paths`` is True; the graph has no edge; or
                a node has the name of a special token, such as ``<path>``.
            ConfigError: The world does not fit in memory, ``ends`` names an unknown
                column, or labels are shuffled and the seed is out of range.
        """
        check_memory_of(self)
        found, given = self._skeleton()
        count = len(found.nodes)
        place = {label: i for i, label in enumerate(found.nodes)}
        groups = {
            "node": list(found.nodes) if given else numbered("v", count),
            "mark": ["<path>"] * self.paths,
            "task": ["<edge>"] * self.edge_token,
            "idle": [f"<idle{i + 1}>" for i in range(self.idle_tokens)],
        }
        vocabulary = Vocabulary({name: some for name, some in groups.items() if some})
        mark = [vocabulary.id("<edge>")] if self.edge_token else []
        ids = self._labels(count, seed)

        pairs = np.array([(place[u], place[v]) for u, v in found.links], dtype=np.int64)
        loops = pairs[:, 0] == pairs[:, 1]
        forward = ids[pairs[~loops]]
        backward = forward[:, ::-1]
        # If a pair is listed in both directions, its reverse is already a forward edge.
        if self.edges == "both":
            listed = set(map(tuple, forward.tolist()))
            new = [pair not in listed for pair in map(tuple, backward.tolist())]
            backward = backward[np.array(new, dtype=bool)]
        if self.edges == "backward":
            forward = forward[:0]
        if self.edges == "forward":
            backward = backward[:0]
        selves = ids if self.self_edges else ids[pairs[loops, 0]]

        facts = {
            "edge": edge_facts(forward, mark),
            "reverse_edge": edge_facts(backward, mark),
            "self_edge": edge_facts(np.stack([selves, selves], axis=1), mark),
        }
        if not any(len(prompts) for prompts, _ in facts.values()):
            raise DataError("the graph has no edge, so a model cannot be trained on it")
        queries = self._queries(found, place, ids, vocabulary)
        return World.of(
            self, seed, vocabulary, facts, queries, "no path is trained, only edges"
        )

    def _queries(
        self, edges: EdgeList, place: dict[str, int], ids: Ids, vocabulary: Vocabulary
    ) -> dict[str, tuple[Ids, Ids]]:
        """Return a dictionary that maps each role to its path queries; empty if there are none."""
        if not self.paths:
            return {}
        if not edges.paths:
            raise DataError(
                f"{self.file} has no line 'leaf=root,…,leaf'; add such lines, or set paths "
                "= false"
            )
        if len(set(map(len, edges.paths))) > 1:
            raise DataError(
                f"{self.file}: all paths must have the same length; keep paths of one length"
            )
        places = np.array([place[label] for label in chain.from_iterable(edges.paths)])
        answers = ids[places.reshape(len(edges.paths), -1)]
        marks = np.full(len(answers), vocabulary.id("<path>"))
        # The prompt contains the leaf, and the answer is the whole path from the root.
        prompts = np.stack([marks, answers[:, -1]], axis=1)
        return {"path": (prompts, answers)}

    def _skeleton(self) -> tuple[EdgeList, bool]:
        """Return the graph, and whether its nodes have labels of their own."""
        if self.shape == "file":
            header = self.header == "yes" if self.header else None
            return read_edges(self.file, header=header, columns=self.ends), True
        if self.shape == "edges":
            return EdgeList.collect(((u, v) for u, v in self.links), self.lone), True
        if self.shape in CLASSICS:
            return classic_edges(self.shape), True
        return built_in_graph(self), False
