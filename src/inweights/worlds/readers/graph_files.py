"""Graphs in the files that other programs write, read by ``networkx``.

GraphML, GEXF, GML, Pajek, graph6, sparse6, adjacency lists, and JSON of nodes and links. Their
edges are a graph (:mod:`.edge_lists`), or facts where they have a relation (:mod:`.linked`).
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.parsers import expat

from inweights.errors import DataError
from inweights.support.limits import check_file, read_text

#: Endings, what they are called, and the function of networkx.
FORMATS = {
    ".graphml": ("GraphML", "read_graphml"),
    ".gexf": ("GEXF", "read_gexf"),
    ".gml": ("GML", "read_gml"),
    ".net": ("Pajek", "read_pajek"),
    ".paj": ("Pajek", "read_pajek"),
    ".g6": ("graph6", "read_graph6"),
    ".graph6": ("graph6", "read_graph6"),
    ".s6": ("sparse6", "read_sparse6"),
    ".sparse6": ("sparse6", "read_sparse6"),
    ".adjlist": ("an adjacency list", "read_adjlist"),
    ".adj": ("an adjacency list", "read_adjlist"),
    ".multiadjlist": ("a multiline adjacency list", "read_multiline_adjlist"),
    ".mladj": ("a multiline adjacency list", "read_multiline_adjlist"),
}
#: Those that can say what relates two nodes.
WITH_RELATIONS = (".graphml", ".gexf", ".gml")
_XML = (".graphml", ".gexf")
_LINKS = ("links", "edges", "relationships", "rels", "relations")


def read_graph(file: Path) -> Any:
    """Return the ``networkx`` graph of a file; its ending decides on the format.

    Raises:
        DataError: The file is missing, too large, or not of this format.
    """
    import networkx as nx

    suffix = file.suffix.lower()
    name, function = FORMATS[suffix]
    check_file(file, factor=100)  # a tree of elements, then a graph of dictionaries
    if suffix in _XML:
        refuse_entities(file)
    read: Callable[..., Any] = getattr(nx, function)
    options = {"label": _gml_label(file)} if suffix == ".gml" else {}
    try:
        found = read(file, **options)
    except (SyntaxError, nx.NetworkXException, LookupError, ValueError, TypeError,
            AttributeError, RecursionError) as error:  # fmt: skip
        # A SyntaxError is what the XML parser raises; its message has line and column.
        raise DataError(f"{file} is not {_article(name)} file: {error}") from None
    return found[0] if isinstance(found, list) else found


def _article(name: str) -> str:
    return name if name.startswith(("a ", "an ")) else f"a {name}"


def _gml_label(file: Path) -> str:
    """The label of nodes where they have one, else their number."""
    return "label" if "label" in read_text(file) else "id"


def is_linked(found: Mapping[str, Any]) -> bool:
    """Whether an object holds a graph: nodes, and links between them.

    Example:
        >>> is_linked({"nodes": [{"id": 1}], "links": []}), is_linked({"data": []})
        (True, False)
    """
    nodes = found.get("nodes")
    return isinstance(nodes, list) and links_of(found) is not None


def links_of(found: Mapping[str, Any]) -> list[Any] | None:
    """Return the links of such an object."""
    return next((found[key] for key in _LINKS if isinstance(found.get(key), list)), None)


def read_json(file: Path) -> Any:
    """Return the value of a file of JSON.

    Raises:
        DataError: It is none; names the line.
    """
    try:
        return json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise DataError(f"{file}, line {error.lineno}: not JSON ({error.msg})") from None
    except RecursionError:
        raise DataError(f"{file} is nested too deeply") from None


def graph_of_adjacency(file: Path, found: Mapping[str, Any]) -> Any:
    """Return the graph of JSON that ``networkx.adjacency_data`` made.

    Raises:
        DataError: It is none.
    """
    import networkx as nx

    try:
        return nx.adjacency_graph(dict(found))
    except (nx.NetworkXException, LookupError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{file} is not adjacency data of networkx: {error!r:.200}") from None


def refuse_entities(file: Path) -> None:
    """Refuse XML with entities: one makes much of little, or names another file.

    Raises:
        DataError: An entity is declared.
    """

    def refuse(name: str, *_: object) -> None:
        raise DataError(f"{file} declares the XML entity '{name}'; replace it by its value")

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse
    with file.open("rb") as opened, suppress(expat.ExpatError):  # networkx says where
        parser.ParseFile(opened)
