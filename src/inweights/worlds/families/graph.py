"""Graphs whose edges are facts (Geometric Memory §2.1, B.2, C.2, C.3).

A fact is ``u → v``; a prompt ``u`` has as many right answers as ``u`` has neighbours, each a fact
of its own. Where wanted, the paths from a root to its leaves are queries.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np

from inweights.config import Config, check_size
from inweights.errors import ConfigError, DataError
from inweights.seeds import WORLD, Streams
from inweights.support.content import fingerprint
from inweights.worlds.families.classics import CLASSICS, classic_edges
from inweights.worlds.readers.edge_lists import EdgeList, from_graph, read_edges
from inweights.worlds.size import check_counts, check_depth, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Ids, Vocabulary, World

#: Ring 0..11 with chords 1-3 and 5-8, and a complete graph on 12..15: two components.
_IRREGULAR = [
    *((i, (i + 1) % 12) for i in range(12)),
    *((1, 3), (5, 8)),
    *((i, j) for i in range(12, 16) for j in range(i + 1, 16)),
]
Shape = Literal[
    "path-star", "tree-star", "grid", "cycle", "irregular", "file", "edges",
    "karate-club", "florentine-families", "davis-southern-women", "les-miserables",
]  # fmt: skip
_ROOTED = ("path-star", "tree-star")
_NAMED = ("file", "edges", *CLASSICS)


class Graph(Config, tag_field="kind", tag="graph"):
    """A graph: a built-in shape, a file of edges, or edges that are given.

    Edges have a written direction: away from the root, along the ring, to the right and down, or
    ``u`` to ``v`` of a list. ``forward`` facts have role ``edge``, ``backward`` ones
    ``reverse_edge``. An edge that is listed twice counts once; one that is listed both ways has
    two forward facts and no reverse ones. A loop ``u = u`` of a list is a ``self_edge`` fact. A
    node without edges stays in the vocabulary and has no fact. Several components are fine.

    Attributes:
        shape: ``path-star``: ``arms`` paths that share their root. ``tree-star``: a root with
            ``arms`` children, below which every inner node has ``branches``. ``grid``:
            ``rows × columns``. ``cycle``: ``n`` nodes. ``irregular``: 16 nodes in two components
            (C.3). ``file``: :attr:`file`. ``edges``: :attr:`links`. The others are social
            networks (:mod:`inweights.worlds.families.classics`).
        arms: Arms of a star.
        nodes: Nodes on a path of a star, its root included.
        branches: Children of an inner node of a tree-star.
        rows: Rows of a grid.
        columns: Columns of a grid.
        n: Nodes of a cycle, at least 3.
        file: Edge list: a table of two columns, ``.graphml`` and what else networkx writes, or
            plain text ``u=v`` (:func:`inweights.worlds.read_edges`); read when it is built.
        header: ``yes`` or ``no``: whether the first row of :attr:`file` is a header. Empty: decided
            by what is there, or refused.
        ends: The two columns of :attr:`file` with the ends of an edge, by name or number, with a
            comma between, where the file does not show them.
        links: Pairs of labels, for ``edges``.
        lone: Labels of nodes without edges, for ``edges``.
        edges: Which directions are trained.
        self_edges: Whether every node also has a fact ``u → u``.
        shuffled: Whether the nodes of a built-in shape get their labels in a random order,
            another one for each seed. Labels of a file or list are its own and stay.
        paths: Whether root-to-leaf paths are queries, ``<path> leaf → root … leaf``; a star has
            them, and a text file may.
        idle_tokens: Tokens that are in the vocabulary and in no fact: classes that a model only
            learns never to answer. The paper's code reserves nine, of which an edge uses one.
        edge_token: Whether an edge is told as ``<edge> u → v`` (B.1).

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
        return {self.file: fingerprint(self.file)} if self.file else {}

    def __post_init__(self) -> None:
        check_size("graph.idle_tokens", self.idle_tokens, least=0)
        check_counts("graph", self, arms=1, nodes=2, branches=1, rows=1, columns=1, n=3)
        if self.shape == "tree-star":
            check_depth("graph", self.nodes, self.branches)
        if self.shape == "grid" and self.rows * self.columns < 2:
            raise ConfigError("graph: a grid of one node has no edge; give more rows or columns")
        if (self.shape == "file") != bool(self.file):
            raise ConfigError(
                f"graph: shape 'file' and the path of a file require each other, got shape "
                f"'{self.shape}' and file '{self.file}'"
            )
        if (self.shape == "edges") != bool(self.links) or (self.lone and self.shape != "edges"):
            raise ConfigError(
                f"graph: shape 'edges' and a list of links require each other, got shape "
                f"'{self.shape}' and {len(self.links)} links"
            )
        if any(len(link) != 2 for link in self.links):
            raise ConfigError("graph: a link is a pair of two labels")
        if self.paths and self.shape not in (*_ROOTED, "file"):
            raise ConfigError(
                f"graph: a {self.shape} has no root and no leaves, and therefore no path "
                f"queries; leave out paths, or use one of {', '.join(_ROOTED)}"
            )

    def labels(self, seed: int = 0) -> Ids:
        """Token id of every node in the order of the shape, ``[N]``.

        That order is: the root, then arm after arm (a tree: level after level); row after row;
        around the ring; or as a list first names its nodes.

        Example:
            >>> Graph(shape="cycle", n=3, shuffled=False).labels().tolist()
            [0, 1, 2]
        """
        return self._labels(len(self._skeleton()[0].nodes), seed)

    def _labels(self, count: int, seed: int) -> Ids:
        if self.shape in _NAMED or not self.shuffled:
            return np.arange(count, dtype=np.int64)
        return Streams(seed).numpy(WORLD, "graph").permutation(count)

    def written_out(self) -> Graph:
        """Return the config of the same graph with its edges among the settings.

        So it stays what it is when a file changes. Paths are left out, and labels not shuffled.

        Raises:
            DataError: The file is missing or broken; says the line.

        Example:
            >>> Graph(shape="path-star", arms=2, nodes=2).written_out().links
            [['v1', 'v2'], ['v1', 'v3']]
        """
        found, given = self._skeleton()
        names = {label: label if given else f"v{i + 1}" for i, label in enumerate(found.nodes)}
        links = [[names[u], names[v]] for u, v in found.links]
        lone = [names[label] for label in _lone(found)]
        how = ("edges", "self_edges", "idle_tokens", "edge_token")
        kept = {name: getattr(self, name) for name in how}
        return Graph(shape="edges", links=links, lone=lone, **kept)

    def build(self, seed: int = 0) -> World:
        """Make the world; only shuffled labels depend on the seed.

        Raises:
            DataError: The file is missing or broken, or lacks the paths that are asked for.
        """
        self._check_size()
        found, given = self._skeleton()
        count = len(found.nodes)
        place = {label: i for i, label in enumerate(found.nodes)}
        groups = {
            "node": list(found.nodes) if given else numbered("v", count),
            "mark": ["<path>"] * self.paths,
            "task": ["<edge>"] * self.edge_token,
            "idle": [f"<idle{i + 1}>" for i in range(self.idle_tokens)],
        }
        vocabulary = Vocabulary({group: words for group, words in groups.items() if words})
        mark = [vocabulary.id("<edge>")] if self.edge_token else []
        ids = self._labels(count, seed)

        pairs = np.array([(place[u], place[v]) for u, v in found.links], dtype=np.int64)
        loops = pairs[:, 0] == pairs[:, 1]
        forward = ids[pairs[~loops]]
        there = set(map(tuple, forward.tolist()))
        back = forward[:, ::-1]
        if self.edges == "both":  # a pair that is listed both ways is there already
            new = [pair not in there for pair in map(tuple, back.tolist())]
            back = back[np.array(new, dtype=bool)]
        selves = ids if self.self_edges else ids[pairs[loops, 0]]

        facts = {
            "edge": _facts(forward if self.edges != "backward" else forward[:0], mark),
            "reverse_edge": _facts(back if self.edges != "forward" else back[:0], mark),
            "self_edge": _facts(np.stack([selves, selves], axis=1), mark),
        }
        if not any(len(prompts) for prompts, _ in facts.values()):
            raise DataError("the graph has no edge, so there is nothing to train on")
        queries = self._queries(found, place, ids, vocabulary)
        return World.of(self, seed, vocabulary, facts, queries, "no path is trained, only edges")

    def _check_size(self) -> None:
        """Refuse a built-in shape that does not fit into the memory."""
        nodes, long = 0, 0.0  # nodes, and tokens of all paths from the root
        if self.shape in ("cycle", "grid"):
            nodes = self.n if self.shape == "cycle" else 2 * self.rows * self.columns
        elif self.shape in _ROOTED:
            b = self.branches if self.shape == "tree-star" else 1
            leaves = self.arms * b ** (self.nodes - 2)
            nodes, long = 1 + leaves * (self.nodes if b == 1 else 2), leaves * self.nodes
        # Links and labels are Python's own objects until they are arrays.
        check_world("graph", tokens=5 * nodes, statements=2 * nodes + long)

    def _queries(
        self, edges: EdgeList, place: dict[str, int], ids: Ids, vocabulary: Vocabulary
    ) -> dict[str, tuple[Ids, Ids]]:
        if not self.paths:
            return {}
        if not edges.paths:
            raise DataError(f"{self.file} has no line 'leaf=root,…,leaf'; leave paths out")
        if len({len(steps) for steps in edges.paths}) > 1:
            raise DataError(f"{self.file}: paths have different lengths; keep those of one length")
        answers = ids[np.array([[place[label] for label in steps] for steps in edges.paths])]
        prompts = np.stack([np.full(len(answers), vocabulary.id("<path>")), answers[:, -1]], axis=1)
        return {"path": (prompts, answers)}

    def _skeleton(self) -> tuple[EdgeList, bool]:
        """Return the graph, and whether its labels are given by its source."""
        if self.shape == "file":
            header = self.header == "yes" if self.header else None
            return read_edges(self.file, header=header, columns=self.ends), True
        if self.shape == "edges":
            return EdgeList.collect(((u, v) for u, v in self.links), self.lone), True
        if self.shape in CLASSICS:
            return classic_edges(self.shape), True
        links, paths = _shape(self)
        count = max(max(link) for link in links) + 1
        return EdgeList(
            links=tuple((str(u), str(v)) for u, v in links),
            nodes=tuple(str(i) for i in range(count)),
            paths=tuple(tuple(str(i) for i in steps) for steps in paths),
        ), False


def from_networkx(graph: Any, **settings: Any) -> Graph:
    """Return the config of a ``networkx`` graph; its edges become part of the settings.

    Args:
        graph: Any kind. Labels become text, parallel edges count once, weights are ignored. Of a
            directed graph each edge is trained in its own direction, of another one in both.
        settings: Further settings of :class:`Graph`, such as ``self_edges=True``, or
            ``edges="both"`` for both directions of a directed graph.

    Raises:
        DataError: It is no graph, two labels are the same as text, or there is no edge.

    Example:
        >>> import networkx
        >>> club = from_networkx(networkx.karate_club_graph()).build()
        >>> len(club.vocabulary), len(club.facts)
        (34, 156)
    """
    edges = from_graph(graph)
    links, lone = [list(link) for link in edges.links], _lone(edges)
    if graph.is_directed():
        settings.setdefault("edges", "forward")
    return Graph(shape="edges", links=links, lone=lone, **settings)


def _lone(edges: EdgeList) -> list[str]:
    linked = {label for link in edges.links for label in link}
    return [label for label in edges.nodes if label not in linked]


def _facts(pairs: Ids, mark: list[int]) -> tuple[Ids, Ids]:
    prompts = np.column_stack([np.tile(np.array(mark, dtype=np.int64), (len(pairs), 1)), pairs])
    return prompts[:, :-1], pairs[:, 1:]


def edge_prefix(world: World) -> tuple[int, ...]:
    """Return the tokens before a node in prompts of edges: ``<edge>``, or none."""
    words = world.vocabulary
    return (words.id("<edge>"),) if "<edge>" in words.groups.get("task", ()) else ()


def _shape(config: Graph) -> tuple[list[tuple[int, int]], list[list[int]]]:
    if config.shape == "cycle":
        return [(i, (i + 1) % config.n) for i in range(config.n)], []
    if config.shape == "irregular":
        return list(_IRREGULAR), []
    if config.shape == "grid":
        at = np.arange(config.rows * config.columns).reshape(config.rows, config.columns)
        right = zip(at[:, :-1].ravel().tolist(), at[:, 1:].ravel().tolist(), strict=True)
        down = zip(at[:-1].ravel().tolist(), at[1:].ravel().tolist(), strict=True)
        return [*right, *down], []
    if config.shape == "path-star":
        tail = config.nodes - 1
        paths = [[0, *range(1 + tail * a, 1 + tail * (a + 1))] for a in range(config.arms)]
        return [pair for path in paths for pair in pairwise(path)], paths
    links, paths, count = [], [[0]], 1
    for depth in range(config.nodes - 1):
        children = config.arms if depth == 0 else config.branches
        grown = []
        for path in paths:
            for _ in range(children):
                links.append((path[-1], count))
                grown.append([*path, count])
                count += 1
        paths = grown
    return links, paths
