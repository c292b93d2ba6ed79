"""Read edge lists: plain text ``u=v``, tables of two columns, and formats of ``networkx``.

:func:`read_edges` reads a file of any of these formats into an
:class:`~inweights.worlds.readers.graphs.edge_list.EdgeList`; :func:`from_graph`
converts a graph in memory.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from inweights.errors import DataError
from inweights.support.limits import check_name, read_text
from inweights.worlds.readers.graphs.edge_list import EdgeList
from inweights.worlds.readers.graphs.graph_files import (
    FORMATS,
    graph_of_adjacency,
    is_linked,
    read_graph,
    read_json,
)
from inweights.worlds.readers.graphs.linked import links_with_names
from inweights.worlds.readers.graphs.plain_edges import is_plain, read_plain
from inweights.worlds.readers.remark import Remark
from inweights.worlds.readers.tables.arrange import Layout, arrange, parse_columns
from inweights.worlds.readers.tables.headers import EDGES
from inweights.worlds.readers.tables.table import read_cells, usual_width

#: Attributes that networkx writes after the two labels of an edge.
_ATTRIBUTES = re.compile(r"[ \t,;]+\{.*\}\s*$")
#: Extensions of files that are not supported, and the functions that read them.
_REFUSED = {
    ".dot": "networkx.nx_pydot.read_dot",
    ".gv": "networkx.nx_pydot.read_dot",
    ".mtx": "scipy.io.mmread and networkx.from_scipy_sparse_array",
    ".npy": "numpy.load and networkx.from_numpy_array",
    ".npz": "scipy.sparse.load_npz and networkx.from_scipy_sparse_array",
    ".xlsx": "polars.read_excel",
    ".pkl": "the program that wrote it",
}
_LABELS = 'two labels \'u,v\', a label with a comma or a quote as "a, ""b"""'


def read_edges(
    path: str | Path, *, header: bool | None = None, columns: str = ""
) -> EdgeList:
    """Read an edge file in one of many formats.

    The extension determines the format: ``.graphml``, ``.gexf``, ``.gml``, ``.net``,
    ``.g6``, ``.s6``, ``.adjlist`` and ``.json`` (nodes and links) are read as
    ``networkx`` writes them. Any other file is text: lines ``u=v``, or a table with two
    columns, separated by comma, tab, semicolon, bar or space. Weights, other attributes
    and further columns that a header names are ignored. :attr:`EdgeList.remarks` lists
    the guesses.

    Args:
        path: The file.
        header: Whether the first row of a table is a header. By default, this is
            inferred from its words (``source,target``, ``from,to``, ``node1,node2``, …)
            and from the rows below it; if it is unclear, an error is raised. ``header``
            and ``columns`` have no effect on other formats.
        columns: The two columns with the ends of an edge, by name or by number from 1,
            separated by a comma; by default (empty) the columns that a header names, or
            the first two.

    Returns:
        The edges in the order of the file, the nodes, and the paths. Only text with
        lines ``u=v`` can contain paths.

    Raises:
        UnclearHeaderError: It is unclear whether the first row is a header (a
            ``DataError``).
        DataError: The file is missing, has an unsupported format or no edge, or a line
            is damaged (the message gives the line number and the expected form).
        ConfigError: ``columns`` does not name two columns of the table.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix in _REFUSED:
        raise DataError(
            f"{file}: {suffix} is not supported; read it with {_REFUSED[suffix]} and give the "
            "graph to inweights.worlds.from_networkx, or write it with networkx.write_edgelist"
        )
    if suffix in FORMATS:
        edges = from_graph(read_graph(file))
    elif suffix == ".json":
        edges = _json(file)
    else:
        text = read_text(file)
        if suffix != ".csv" and is_plain(text):
            edges = read_plain(file, text)
        else:
            edges = _table(file, text, Layout(header, parse_columns(columns)))
    for label in edges.nodes:
        check_name(label, str(file))
    if not edges.links:
        raise DataError(
            f"{file} has no edges; expected lines of the form 'u=v', or 'u,v' in a .csv file"
        )
    return edges


def _table(file: Path, text: str, layout: Layout) -> EdgeList:
    """Read the edges of a table: from the two columns that a header names, or the first two."""
    _refuse_multiline(file, text)
    remarks: list[Remark] = []
    text = _without_attributes(text, remarks)
    table = read_cells(file, text, least=2, expected=_LABELS)
    remarks += table.remarks
    rows = [row for row in table.rows if not row[1][0].lstrip().startswith("#")]
    _refuse_adjacency(file, rows)
    arranged = arrange(file, rows, layout, EDGES)
    remarks += arranged.remarks
    places = [arranged.places[role] for role in EDGES]
    width = len(arranged.header) or usual_width(rows)
    links = []
    for number, row in arranged.rows:
        cells = list(map(str.strip, row))
        short = len(cells) <= max(places) or not all(cells[place] for place in places)
        if short or any(cells[width:]):
            raise DataError(
                f"{file}, line {number}: expected two labels 'u,v', got '{','.join(row)}'"
            )
        links.append((cells[places[0]], cells[places[1]]))
    return EdgeList.collect(links, remarks=remarks)


def _refuse_multiline(file: Path, text: str) -> None:
    """Raise an error for a multiline adjacency list, whose lines look like edges.

    A line with a label and a number is followed by that many lines of neighbours, which
    have attributes in braces.
    """
    written = [line for line in text.split("\n") if line.strip()]
    lines = [line.split() for line in written if line[0] != "#"]
    place = 0
    neighbours = 0
    while place < len(lines):
        if len(lines[place]) != 2 or not lines[place][1].isdecimal():
            return
        count = int(lines[place][1])
        own = lines[place + 1 : place + 1 + count]
        if len(own) < count or not all(cells[-1].endswith("}") for cells in own):
            return
        place += 1 + count
        neighbours += count
    if neighbours:
        raise DataError(
            f"{file} looks like a multiline adjacency list of networkx, in which each label is "
            "followed by its number of neighbours; rename the file to end in .mladj"
        )


def _without_attributes(text: str, remarks: list[Remark]) -> str:
    """Return the text without the attributes that networkx writes after edges, such as ``{}``."""
    lines = text.split("\n")
    written = [line for line in lines if line.strip() and not line.startswith("#")]
    if not written or not all(map(_ATTRIBUTES.search, written)):
        return text
    if any("{}" not in line for line in written):
        sentence = "attributes of edges, in braces, are not read"
        remarks.append(Remark("columns", (), sentence, sure=True))
    return "\n".join(_ATTRIBUTES.sub("", line) for line in lines)


def _refuse_adjacency(file: Path, rows: list[tuple[int, list[str]]]) -> None:
    """Raise an error for an adjacency list, whose lines have different numbers of labels."""
    if usual_width(rows) >= 2 or not rows:
        return
    words = [(line, " ".join(cells).split()) for line, cells in rows]
    if any(len(cells) > 1 for _, cells in words):
        line, cells = next(row for row in words if len(row[1]) != 2)
        raise DataError(
            f"{file}, line {line}: expected 'u=v', or two labels in each line, got {len(cells)} "
            f"labels: '{' '.join(cells[:6])}'; for an adjacency list, as networkx writes it, "
            "rename the file to end in .adjlist"
        )


def _json(file: Path) -> EdgeList:
    """Read the edges of JSON: nodes and links, or a list of pairs or of objects."""
    found = read_json(file)
    if isinstance(found, Mapping) and "adjacency" in found:
        return from_graph(graph_of_adjacency(file, found))
    if isinstance(found, Mapping) and isinstance(found.get("elements"), Mapping):
        found = found["elements"]  # the format of Cytoscape
    if isinstance(found, Mapping) and is_linked(found):
        return EdgeList.collect(*links_with_names(file, found))
    if isinstance(found, list):
        return EdgeList.collect(_pairs(file, found))
    raise DataError(
        f'{file}: expected an object with nodes and links, or a list of pairs ["u", "v"]'
    )


def _pairs(file: Path, found: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the edges of a list of pairs or of objects."""
    if found and all(isinstance(pair, Mapping) for pair in found):
        yield from links_with_names(file, {"nodes": [], "links": found})[0]
        return
    for number, pair in enumerate(found, start=1):
        listed = isinstance(pair, list) and len(pair) >= 2
        # Values after the two labels, such as a weight, are ignored.
        if not listed or not all(map(_is_label, pair[:2])):
            raise DataError(
                f'{file}, case {number}: expected a pair ["u", "v"], got {pair!r:.60}'
            )
        yield str(pair[0]), str(pair[1])


def _is_label(value: Any) -> bool:
    """Return whether a JSON value can be a label."""
    # A Boolean is an int in Python, but not a valid label.
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def from_graph(graph: Any) -> EdgeList:
    """Return the nodes and edges of a ``networkx`` graph of any class.

    Labels are converted to text. Parallel edges are merged; weights and keys are
    ignored.

    Args:
        graph: The graph.

    Returns:
        The edges, in the direction in which networkx lists them, and the nodes:
        first those with edges, in the order in which they first occur in the edges,
        then those without edges. There are no paths.

    Raises:
        DataError: The value is not a graph, two labels are equal as text, or there is
            no edge.
    """
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
        raise DataError(f"expected a networkx graph, got {type(graph).__name__}")
    # Nodes of networkx may be any objects; for example, 1 and "1" would have the same
    # name.
    labels = {node: str(node) for node in graph.nodes}
    seen: set[str] = set()
    for label in labels.values():
        if label in seen:
            raise DataError(
                f"two nodes of the graph have the same name '{label}' when converted to strings; "
                "relabel them"
            )
        seen.add(label)
    links = [(labels[u], labels[v]) for u, v in graph.edges()]
    edges = EdgeList.collect(links, labels.values())
    if not edges.links:
        raise DataError("the graph has no edge, so a model cannot be trained on it")
    return edges
