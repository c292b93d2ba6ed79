"""Edge lists as files: plain text ``u=v``, CSV and GraphML.

The plain form has a line for each edge, ``u=v``, one for each lone node, ``u=``, and one for each
path, ``leaf=root,…,leaf``. Empty lines and lines that start with ``#`` are skipped.
"""

import csv
import io
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Self
from xml.parsers import expat

from inweights.errors import DataError
from inweights.support.limits import check_file, check_name, read_text

_HEADERS = {"source", "from", "u", "src"}, {"target", "to", "v", "dst"}


@dataclass(frozen=True)
class EdgeList:
    """What a file of edges says.

    Attributes:
        links: Ordered pairs of labels; each is kept once, however often it was written.
        nodes: All labels, in the order in which they first occur; some may be in no link.
        paths: Whole paths, each a tuple of labels from its root to its leaf.
    """

    links: tuple[tuple[str, str], ...]
    nodes: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def collect(
        cls,
        links: Iterable[tuple[str, str]],
        lone: Iterable[str] = (),
        paths: Iterable[tuple[str, ...]] = (),
    ) -> Self:
        """Drop what is there twice, and list the nodes.

        Example:
            >>> EdgeList.collect([("b", "a"), ("b", "a"), ("a", "a")], ["z"]).nodes
            ('b', 'a', 'z')
        """
        unique = tuple(dict.fromkeys(links))
        nodes = dict.fromkeys([label for link in unique for label in link])
        return cls(unique, tuple(nodes | dict.fromkeys(lone)), tuple(dict.fromkeys(paths)))


def own_graphs() -> dict[str, Path]:
    """Return the built-in graphs by name: files of edges."""
    return {
        file.stem: file for file in sorted((Path(__file__).parents[1] / "graphs").glob("*.csv"))
    }


def read_edges(path: str | Path) -> EdgeList:
    """Read a file of edges; its ending decides: ``.csv``, ``.graphml``, else plain text.

    A CSV has two columns; where its first line is a header (``source,target``, ``from,to`` or
    ``u,v``) further columns are allowed and ignored. Weights and other attributes are ignored.

    Raises:
        DataError: The file is missing or has no edge; or a line is broken: says which, and what
            was expected.
    """
    file = Path(path)
    text = read_text(file)
    if file.suffix.lower() == ".graphml":
        edges = _graphml(file)
    elif file.suffix.lower() == ".csv":
        edges = _csv(file, text)
    else:
        edges = _plain(file, text)
    for label in edges.nodes:
        check_name(label, str(file))
    if not edges.links:
        raise DataError(f"{file} has no edges; expected lines 'u=v', or 'u,v' in a .csv")
    return edges


def read_paths(path: str | Path) -> EdgeList:
    """Read plain text with paths; edges that are not listed are taken from the paths."""
    file = Path(path)
    edges = _plain(file, read_text(file), complete=False)
    if not edges.paths:
        raise DataError(f"{file} has no paths; expected lines 'leaf=root,…,leaf'")
    steps = [pair for line in edges.paths for pair in pairwise(line)]
    written = {frozenset(link) for link in edges.links}
    new = [pair for pair in steps if frozenset(pair) not in written]
    return EdgeList.collect([*edges.links, *new], edges.nodes, edges.paths)


def _plain(file: Path, text: str, *, complete: bool = True) -> EdgeList:
    links, lone, paths = [], [], {}
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        left, *right = (part.strip() for part in line.split("="))
        if len(right) != 1 or not left or "," in left:
            raise DataError(
                f"{file}, line {number}: expected 'u=v', 'u=' or 'leaf=root,…,leaf', got '{line}'"
            )
        steps = tuple(label.strip() for label in right[0].split(","))
        if right == [""]:
            lone.append(left)
        elif len(steps) == 1:
            links.append((left, steps[0]))
        elif all(steps) and steps[-1] == left and len(set(steps)) == len(steps):
            paths[steps] = number
        else:
            raise DataError(
                f"{file}, line {number}: a path 'leaf=root,…,leaf' must contain each node once "
                f"and end at its leaf '{left}', got '{line}'"
            )
    known = {frozenset(link) for link in links}
    for steps, number in paths.items() if complete else ():  # an edge may be written below its path
        for u, v in pairwise(steps):
            if frozenset((u, v)) not in known:
                raise DataError(
                    f"{file}, line {number}: the path to '{steps[-1]}' needs the edge '{u}={v}', "
                    "which is missing"
                )
    return EdgeList.collect(links, lone, paths)


def _csv(file: Path, text: str) -> EdgeList:
    links, wide, began = [], False, 1
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for index, row in enumerate(rows):
            cells = [cell.strip() for cell in row]
            line, began = began, rows.line_num + 1
            if not any(cells) or cells[0].startswith("#"):
                continue
            headed = [c.lower() in known for c, known in zip(cells, _HEADERS, strict=False)]
            if index == 0 and headed == [True, True]:
                wide = True
                continue
            if len(cells) < 2 or not all(cells[:2]) or (len(cells) > 2 and not wide):
                hint = "" if wide else "; more columns need a header 'source,target,…'"
                raise DataError(
                    f"{file}, line {line}: expected two labels 'u,v'{hint}, got '{','.join(row)}'"
                )
            links.append((cells[0], cells[1]))
    except csv.Error as error:
        raise DataError(
            f"{file}, line {began}: expected two labels 'u,v', a label with a comma or a quote "
            f'as "a, ""b"""; {error}'
        ) from None
    return EdgeList.collect(links)


def _graphml(file: Path) -> EdgeList:
    import networkx as nx

    check_file(file, factor=100)  # a tree of elements, then a graph of dictionaries
    _refuse_entities(file)
    try:
        graph = nx.read_graphml(file)
    except (SyntaxError, nx.NetworkXError, KeyError, ValueError) as error:
        # A SyntaxError is what the XML parser raises; its message has line and column.
        raise DataError(f"{file} is not a GraphML file: {error}") from None
    return from_graph(graph)


def _refuse_entities(file: Path) -> None:
    """An entity makes much of little, or names another file; no graph needs one."""

    def refuse(name: str, *_: object) -> None:
        raise DataError(f"{file} declares the XML entity '{name}'; replace it by its value")

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse
    with file.open("rb") as opened, suppress(expat.ExpatError):  # networkx says where
        parser.ParseFile(opened)


def from_graph(graph: Any) -> EdgeList:
    """Take nodes and edges from a ``networkx`` graph of any kind.

    Labels become text. Parallel edges count once; weights and keys are ignored.
    """
    labels = {node: str(node) for node in graph.nodes}
    if len(set(labels.values())) < len(labels):
        seen: set[str] = set()
        double = next(n for n in labels.values() if n in seen or seen.add(n))  # type: ignore[func-returns-value]
        raise DataError(f"two nodes of the graph have the name '{double}' as text; relabel them")
    edges = EdgeList.collect([(labels[u], labels[v]) for u, v in graph.edges()], labels.values())
    if not edges.links:
        raise DataError("the graph has no edge, so there is nothing to train on")
    return edges
