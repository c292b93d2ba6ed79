"""Built-in shapes of graphs, with numbers from 0 as labels, and well-known social networks.

:func:`built_in_graph` returns the :class:`~inweights.worlds.EdgeList` of the shape of a
:class:`~inweights.worlds.Graph`; :func:`classic_edges` returns that of a social
network. Links have a direction: away from the root, along the ring, to the right and
down.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain, combinations, pairwise
from typing import Literal, Protocol

import msgspec
import numpy as np

from inweights.config import Config, refuse_idle
from inweights.errors import ConfigError
from inweights.worlds.readers.graphs.edge_list import EdgeList
from inweights.worlds.readers.graphs.edge_lists import from_graph
from inweights.worlds.size import check_world

#: Names of shapes; ``file`` and ``edges`` are graphs of the user.
Shape = Literal[
    "path-star",
    "tree-star",
    "grid",
    "cycle",
    "irregular",
    "file",
    "edges",
    "karate-club",
    "florentine-families",
    "davis-southern-women",
    "les-miserables",
]
#: Names, and the functions of ``networkx`` that return them: members of a karate club who
#: met outside it (Zachary 1977), marriages between Florentine families (Padgett 1986),
#: women and the events that they attended (Davis 1941, bipartite), and characters who
#: share a chapter of Les Misérables (Knuth 1993).
CLASSICS = {
    "karate-club": "karate_club_graph",
    "florentine-families": "florentine_families_graph",
    "davis-southern-women": "davis_southern_women_graph",
    "les-miserables": "les_miserables_graph",
}
#: Shapes with a root, leaves and paths between them.
ROOTED = ("path-star", "tree-star")


#: Names of the sizes of each built-in shape that has any.
SIZES_OF: Mapping[str, tuple[str, ...]] = {
    "path-star": ("arms", "nodes"),
    "tree-star": ("arms", "nodes", "branches"),
    "grid": ("rows", "columns"),
    "cycle": ("n",),
}


class ShapeConfig(Protocol):
    """The settings of a graph that determine its shape; see :class:`~inweights.worlds.Graph`."""

    @property
    def shape(self) -> str:
        """Name of the shape of the graph, such as ``path-star``, ``grid`` or ``cycle``."""
        ...

    @property
    def arms(self) -> int:
        """Number of arms (paths from the root) of a path-star or tree-star."""
        ...

    @property
    def nodes(self) -> int:
        """Number of nodes on a path of a path-star or tree-star, root and leaf included."""
        ...

    @property
    def branches(self) -> int:
        """Number of children of an inner node of a tree-star."""
        ...

    @property
    def rows(self) -> int:
        """Number of rows of a grid."""
        ...

    @property
    def columns(self) -> int:
        """Number of columns of a grid."""
        ...

    @property
    def n(self) -> int:
        """Number of nodes of a cycle."""
        ...


def built_in_graph(config: ShapeConfig) -> EdgeList:
    """Return the graph of a built-in shape, with nodes named ``0``, ``1``, … in order.

    Args:
        config: The shape (``path-star``, ``tree-star``, ``grid``, ``cycle`` or
            ``irregular``), and its sizes; sizes that the shape does not have are
            ignored. Any other shape is treated as ``tree-star``.

    Returns:
        The edges and nodes; for the two stars, also the path from the root to every
        leaf.
    """
    if config.shape == "cycle":
        return cycle(config.n)
    if config.shape == "irregular":
        return irregular()
    if config.shape == "grid":
        return grid(config.rows, config.columns)
    if config.shape == "path-star":
        return path_star(config.arms, config.nodes)
    return tree_star(config.arms, config.nodes, config.branches)


def refuse_settings_of_other_shapes(config: Config) -> None:
    """Raise an error for a changed setting that has no effect on the chosen shape.

    Args:
        config: A :class:`~inweights.worlds.Graph`.

    Raises:
        ConfigError: A size that the chosen shape does not have differs from its
            default; or ``header`` or ``ends`` is given for a graph that is not read
            from a file.
    """
    shape = config.shape  # type: ignore[attr-defined]
    of_files = {name: getattr(config, name) for name in ("header", "ends")}
    refuse_idle("graph", of_files, shape == "file", f"shape = '{shape}'")
    own = SIZES_OF.get(shape, ())
    defaults = _defaults(type(config))
    foreign = {name for sizes in SIZES_OF.values() for name in sizes} - set(own)
    for name in sorted(foreign):
        if getattr(config, name) != defaults[name]:
            takes = f"its size is {', '.join(own)}" if own else "it has no size"
            raise ConfigError(
                f"graph: '{name}' does not apply to the shape '{shape}', but was set to "
                f"{getattr(config, name)}; {takes}"
            )


@cache
def _defaults(kind: type[Config]) -> dict[str, object]:
    """Return the defaults of a config's fields, which msgspec reads from its annotations."""
    return {field.name: field.default for field in msgspec.structs.fields(kind)}


def check_memory_of(config: ShapeConfig) -> None:
    """Raise an error if the world of a built-in shape does not fit in memory.

    Args:
        config: The shape and its sizes. Shapes without a size are always accepted.

    Raises:
        ConfigError: The world does not fit; the message gives the required and the
            available memory.
    """
    nodes = 0
    path_tokens = 0.0
    if config.shape == "cycle":
        nodes = config.n
    elif config.shape == "grid":
        nodes = 2 * config.rows * config.columns
    elif config.shape in ROOTED:
        b = config.branches if config.shape == "tree-star" else 1
        leaves = config.arms * b ** (config.nodes - 2)
        nodes = 1 + leaves * (config.nodes if b == 1 else 2)
        path_tokens = leaves * config.nodes
    # Links and labels are Python objects before they become arrays, which takes more
    # memory.
    check_world("graph", tokens=5 * nodes, statements=2 * nodes + path_tokens)


def cycle(nodes: int) -> EdgeList:
    """Return a ring of nodes: edges ``0 → 1``, ``1 → 2``, …, and from the last node to 0.

    Args:
        nodes: Number of nodes, at least 3.
    """
    return _edge_list((i, (i + 1) % nodes) for i in range(nodes))


def irregular() -> EdgeList:
    """Return a graph of 16 nodes in two components (Geometric Memory C.3).

    The components are a ring of 12 nodes with two chords, and a complete graph of 4
    nodes.
    """
    ring = [(i, (i + 1) % 12) for i in range(12)]
    chords = [(1, 3), (5, 8)]
    complete = combinations(range(12, 16), 2)
    return _edge_list([*ring, *chords, *complete])


def grid(rows: int, columns: int) -> EdgeList:
    """Return a grid of ``rows × columns`` nodes, numbered row after row.

    Each node has an edge to the node on its right and to the node below.

    Args:
        rows: Number of rows, at least 1.
        columns: Number of columns, at least 1, and at least 2 if there is one row.
    """
    at = np.arange(rows * columns).reshape(rows, columns)
    right = zip(at[:, :-1].ravel().tolist(), at[:, 1:].ravel().tolist(), strict=True)
    down = zip(at[:-1].ravel().tolist(), at[1:].ravel().tolist(), strict=True)
    return _edge_list([*right, *down])


def path_star(arms: int, nodes: int) -> EdgeList:
    """Return a star of paths that start at a common root, node 0.

    Args:
        arms: Number of paths, at least 1.
        nodes: Number of nodes on a path, root and leaf included, at least 2.

    Returns:
        The edges, and the path from the root to every leaf.
    """
    tail = nodes - 1
    paths = [[0, *range(1 + tail * arm, 1 + tail * (arm + 1))] for arm in range(arms)]
    return _edge_list(chain.from_iterable(map(pairwise, paths)), paths)


def tree_star(arms: int, nodes: int, branches: int) -> EdgeList:
    """Return a tree whose root is node 0.

    Args:
        arms: Number of children of the root, at least 1.
        nodes: Number of nodes on a path, root and leaf included, at least 2.
        branches: Number of children of every other inner node.

    Returns:
        The edges, and the path from the root to every leaf.
    """
    links: list[tuple[int, int]] = []
    paths = [[0]]
    count = 1
    for depth in range(nodes - 1):
        children = arms if depth == 0 else branches
        longer = []
        for path in paths:
            for _ in range(children):
                links.append((path[-1], count))
                longer.append([*path, count])
                count += 1
        paths = longer
    return _edge_list(links, paths)


def classic_edges(name: str) -> EdgeList:
    """Return the edges of a network of :data:`CLASSICS`.

    Args:
        name: A key of :data:`CLASSICS`.

    Returns:
        The edges and nodes, with the names that they have in networkx.

    Raises:
        KeyError: There is no such network.
    """
    import networkx as nx

    return from_graph(getattr(nx, CLASSICS[name])())


def _edge_list(
    links: Iterable[tuple[int, int]], paths: Iterable[list[int]] = ()
) -> EdgeList:
    """Return numbered links and paths as an edge list, with nodes in the order of their numbers."""
    pairs = list(links)
    count = max(map(max, pairs)) + 1
    return EdgeList(
        links=tuple((str(u), str(v)) for u, v in pairs),
        nodes=tuple(map(str, range(count))),
        paths=tuple(tuple(map(str, path)) for path in paths),
    )
