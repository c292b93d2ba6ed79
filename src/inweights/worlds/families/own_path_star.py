"""Path-stars from files: edges, training paths and held-out paths.

:func:`read_path_star` reads files in the syntax of the data sets of Geometric Memory: a
line ``u=v`` for an edge, ``leaf=root,…,leaf`` for a path. The facts and queries of
:class:`OwnPathStar` are of the same kinds as in :class:`~inweights.worlds.PathStar`, so
that curricula and probes work with both.
"""

from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inweights.config import Config
from inweights.errors import ConfigError, DataError, check_names
from inweights.seeds import WORLD, Streams
from inweights.worlds.families.path_star import (
    check_task,
    edge_statements,
    path_statements,
    task_vocabulary,
)
from inweights.worlds.readers.graphs.edge_lists import read_edges
from inweights.worlds.readers.graphs.plain_edges import read_paths
from inweights.worlds.world import Ids, Vocabulary, World


class OwnPathStar(Config, tag_field="kind", tag="own-path-star"):
    """The path-star task on a user's own graph, which :func:`read_path_star` reads from files.

    Roles, prompts and answers are the same as for :class:`~inweights.worlds.PathStar`.
    The paths are part of the settings, so that the world stays the same if a file
    changes.

    Attributes:
        paths: Paths from the root to a leaf, as labels; all have the same length, at
            least 3 nodes.
        held_out: Paths that are queries. If empty, queries are drawn from :attr:`paths`
            with the seed.
        links: Edges as pairs of labels, in the direction in which they were written. If
            empty, the edges are the steps of all paths.
        train: Fraction of :attr:`paths` that are facts if :attr:`held_out` is empty,
            above 0 and below 1.
        pauses: Number of tokens ``<pause>`` between leaf and answer.
        task_tokens: Whether each prompt begins with ``<edge>`` or ``<path>``.
        edges: Directions of the edges in training: ``forward`` (away from the root),
            ``backward``, ``both``, or ``listed`` (as :attr:`links` lists them).
        reverse: Whether the answer goes from the leaf to the root.
        answer: ``path`` for the whole path, or ``first`` for only its first two nodes:
            the root and the hardest token, which is the first node of the arm.
        moved: Whether there are also facts that state the edges of the same graph with
            permuted nodes, with roles ``moved_edge`` and ``moved_reverse_edge``.

    Raises:
        ConfigError: ``pauses`` is negative, ``train`` is not between 0 and 1, a link is
            not a pair, ``reverse`` is combined with ``answer="first"``, or there are
            neither pauses nor task tokens. (The paths are checked by :meth:`build`.)

    Example:
        >>> star = OwnPathStar(paths=[["r", "a", "b"], ["r", "c", "d"]], held_out=[["r", "e", "f"]])
        >>> world = star.build()
        >>> world, world.vocabulary.text(world.queries.prompt(0))
        (World('own-path-star', 8 tokens, 14 facts, 1 query, seed=0), 'f <pause> <pause>')
    """

    paths: list[list[str]] = []
    held_out: list[list[str]] = []
    links: list[list[str]] = []
    train: float = 0.75
    pauses: int = 2
    task_tokens: bool = False
    edges: Literal["forward", "backward", "both", "listed"] = "both"
    reverse: bool = False
    answer: Literal["path", "first"] = "path"
    moved: bool = False

    def __post_init__(self) -> None:
        check_task(self, "own-path-star")
        if any(len(link) != 2 for link in self.links):
            raise ConfigError("own-path-star: each link must be a pair of labels")

    def build(self, seed: int = 0) -> World:
        """Build the world.

        The seed determines which paths are held out if :attr:`held_out` is empty, and
        the permutation of nodes if :attr:`moved` is set.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            DataError: The paths have no common root, differ in length, have fewer than
                3 nodes, contain a node twice or a step that is not among the links; two
                paths lead to one leaf; there are fewer than two paths, or none to train
                on; or a node has the name of a special token, such as ``<pause>``.
            ConfigError: The seed is out of range.
        """
        lines = [*self.paths, *self.held_out]
        self._check(lines)
        links = [(u, v) for u, v in self.links]
        if not links:
            links = list(chain.from_iterable(map(pairwise, lines)))
        # Paths come before links, so that the root is the first node in any case.
        names = list(dict.fromkeys(chain.from_iterable([*lines, *links])))
        words = task_vocabulary(self, names)
        place = {name: i for i, name in enumerate(names)}
        there, back = _directed(links, lines, place)
        streams = Streams(seed)
        facts = self._edge_facts(words, there, back, np.arange(len(names)), "")
        if self.moved:
            other = streams.numpy(WORLD, "path-star", "moved").permutation(len(names))
            facts |= self._edge_facts(words, there, back, other, "moved_")
        trained = np.arange(len(lines)) < len(self.paths)
        if not self.held_out:
            # At least one path is trained, and at least one is a query.
            count = min(max(1, round(self.train * len(lines))), len(lines) - 1)
            order = streams.numpy(WORLD, "path-star", "split").permutation(len(lines))
            trained[order[count:]] = False
        places = np.array([place[label] for label in chain.from_iterable(lines)])
        ids = places.reshape(len(lines), -1)
        facts["path"] = path_statements(self, words, ids[trained])
        queries = path_statements(self, words, ids[~trained])
        why = "no path to this leaf is trained, only edges"
        return World.of(self, seed, words, facts, {"path": queries}, why)

    def _check(self, lines: list[list[str]]) -> None:
        """Raise an error for paths that do not form one star, or that use unknown edges."""
        if len(lines) < 2 or not self.paths:
            raise DataError(
                "a path-star needs at least one path to train on and one to hold out, got "
                f"{len(self.paths)} paths and {len(self.held_out)} held-out paths; "
                "read_path_star reads them from files"
            )
        first = lines[0]
        last = first[-1] if first else ""
        for line in lines:
            leaf = line[-1] if line else ""
            if len(line) != len(first) or len(line) < 3:
                raise DataError(
                    "paths must have the same length, at least 3 nodes; the path to "
                    f"'{last}' has {len(first)} nodes, and the path to '{leaf}' has {len(line)}"
                )
            if len(set(line)) < len(line):
                raise DataError(
                    f"a path must contain each node once, got {', '.join(line)}"
                )
            if line[0] != first[0]:
                raise DataError(
                    f"paths must have the same root; the path to '{last}' starts at "
                    f"'{first[0]}' and the path to '{leaf}' at '{line[0]}'"
                )
        leaves = [line[-1] for line in lines]
        if len(set(leaves)) < len(leaves):
            double = next(leaf for leaf in leaves if leaves.count(leaf) > 1)
            trained = {path[-1] for path in self.paths}
            held_out = {path[-1] for path in self.held_out}
            both = double in trained and double in held_out
            kinds = ", one to train and one held out" if both else ""
            raise DataError(
                f"there are two paths to the leaf '{double}'{kinds}; keep one"
            )
        # Either direction is sufficient; another setting determines which ones are
        # trained.
        known = set(map(frozenset, self.links))
        for line in lines if known else ():
            for u, v in pairwise(line):
                if frozenset((u, v)) not in known:
                    raise DataError(
                        f"the path to '{line[-1]}' needs the edge '{u}={v}', which is not among "
                        f"the {len(self.links):,} links"
                    )

    def _edge_facts(
        self, words: Vocabulary, there: Ids, back: Ids, ids: Ids, name: str
    ) -> dict[str, tuple[Ids, Ids]]:
        """Return the facts of edges between nodes ``ids``, by role, with the prefix ``name``."""
        if self.edges != "listed":
            # A link that is listed in both directions counts as one edge here.
            every = np.unique(np.concatenate([there, back]), axis=0)
            return edge_statements(self, words, ids[every], name)
        facts = {}
        for role, pairs in ((f"{name}edge", there), (f"{name}reverse_edge", back)):
            if len(pairs):
                facts[role] = edge_statements(self, words, ids[pairs], name)[role]
        return facts


def read_path_star(
    paths: str | Path,
    held_out: str | Path | None = None,
    *,
    edge_file: str | Path | None = None,
    **settings: Any,
) -> OwnPathStar:
    r"""Read a path-star from files in the syntax of the data sets of Geometric Memory.

    Args:
        paths: File of paths to train on, one ``leaf=root,…,leaf`` per line; lines
            ``u=v`` are edges.
        held_out: File of paths to hold out. By default, some of the paths in ``paths``
            are held out; they are drawn with the seed when the world is built.
        edge_file: File of edges (``u=v``, ``.csv`` or ``.graphml``), in one direction
            or both. By default, edges are the lines ``u=v`` of the other files; without
            such lines, they are the steps of paths.
        settings: Other fields of :class:`OwnPathStar`, such as ``pauses=5``.

    Returns:
        The config, whose method ``build`` builds the world.

    Raises:
        DataError: A file is missing or damaged (the message gives the line number), or
            has no paths or no edges; or it is unclear whether the first row of a table
            is a header (``UnclearHeaderError``).
        ConfigError: A setting is unknown, or its value is invalid.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "paths.txt"
        >>> _ = file.write_text("9=1,4,9\n7=1,2,7\n8=1,3,8\n")
        >>> len(read_path_star(file, pauses=1).build().queries)
        1
    """
    known = set(OwnPathStar.__struct_fields__) - {"paths", "held_out", "links"}
    check_names("setting of a path-star", settings, known)
    trained = read_paths(paths)
    links = list(trained.links)
    queried: list[list[str]] = []
    if held_out is not None:
        found = read_paths(held_out)
        links += found.links
        queried = list(map(list, found.paths))
    if edge_file is not None:
        links = [*read_edges(edge_file).links]
    return OwnPathStar(
        paths=list(map(list, trained.paths)),
        held_out=queried,
        links=list(map(list, dict.fromkeys(links))),
        **settings,
    )


def _directed(
    links: list[tuple[str, str]], lines: list[list[str]], place: dict[str, int]
) -> tuple[Ids, Ids]:
    """Direct links away from the root.

    Args:
        links: Labels of both ends of each link.
        lines: Paths from the root, as labels.
        place: Index of each label.

    Returns:
        Indices of both ends of the links that are written away from the root, ``[E,
        2]``; and of the links that are written towards it, reversed.
    """
    depth: dict[str, int] = {}
    for line in lines:
        depth |= {label: d for d, label in enumerate(line)}
    neighbours: dict[str, list[str]] = {}
    for u, v in links:
        neighbours.setdefault(u, []).append(v)
        neighbours.setdefault(v, []).append(u)
    front = list(depth)
    while front:  # nodes on no path get their distance from the edges
        new: list[tuple[str, int]] = []
        for u in front:
            further = [v for v in neighbours.get(u, ()) if v not in depth]
            new += [(v, depth[u] + 1) for v in further]
        depth.update(new)
        front = [v for v, _ in new]
    there = []
    back = []
    for u, v in links:
        if depth.get(v, 0) < depth.get(u, 0):
            back.append((place[v], place[u]))
        else:
            there.append((place[u], place[v]))
    return _pairs(there), _pairs(back)


def _pairs(found: list[tuple[int, int]]) -> Ids:
    """Return pairs as an array ``[E, 2]``, even if there are none."""
    return np.array(found, dtype=np.int64).reshape(-1, 2)
