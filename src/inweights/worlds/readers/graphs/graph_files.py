"""Read graphs from files of other programs with ``networkx``.

The supported formats are GraphML, GEXF, GML, Pajek, graph6, sparse6, adjacency lists,
and JSON of nodes and links. :func:`read_graph` returns a networkx graph. Its edges
become a graph (:mod:`.edge_lists`), or facts if they have a relation (:mod:`.linked`).
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.parsers import expat

from inweights.errors import DataError
from inweights.support.limits import check_file, read_text

#: Extensions of files, each with the name of the format and the networkx function that
#: reads it.
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
#: Formats whose edges can have a relation.
WITH_RELATIONS = (".graphml", ".gexf", ".gml")
_XML = (".graphml", ".gexf")
_LINKS = ("links", "edges", "relationships", "rels", "relations")
#: Errors that networkx raises for damaged files, besides its own.
_DAMAGE = (LookupError, ValueError, TypeError)


def own_graphs() -> dict[str, Path]:
    """Return a dictionary that maps the names of the edge files in the package to their paths."""
    folder = Path(__file__).parents[2] / "graphs"
    return {file.stem: file for file in sorted(folder.glob("*.csv"))}


def read_graph(file: Path) -> Any:
    """Read a graph with ``networkx``.

    Args:
        file: The file; its extension, a key of :data:`FORMATS`, determines the format.

    Returns:
        A ``networkx`` graph, whose class depends on the file. If the file contains
        several graphs, the first one is returned.

    Raises:
        DataError: The file cannot be read, is too large or not in this format, or is
            XML that declares an entity.
        KeyError: The extension is not a key of :data:`FORMATS`.
    """
    import networkx as nx

    suffix = file.suffix.lower()
    name, function = FORMATS[suffix]
    # memory for a tree of elements, then for a graph of dictionaries
    check_file(file, factor=100)
    read: Callable[..., Any] = getattr(nx, function)
    options = {"label": _gml_label(file)} if suffix == ".gml" else {}
    # The XML parser raises a SyntaxError, whose message states line and column.
    damage = (
        SyntaxError,
        nx.NetworkXException,
        AttributeError,
        RecursionError,
        *_DAMAGE,
    )
    try:
        if suffix in _XML:
            refuse_entities(file)
        found = read(file, **options)
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"cannot read {file}: {error.strerror}") from None
    except damage as error:
        raise DataError(f"{file} is not {_article(name)} file: {error}") from None
    return found[0] if isinstance(found, list) else found


def _article(name: str) -> str:
    """Return the name of a format with its indefinite article."""
    return name if name.startswith(("a ", "an ")) else f"a {name}"


def _gml_label(file: Path) -> str:
    """Return the attribute that names nodes: ``label`` if the file contains it, or ``id``."""
    return "label" if "label" in read_text(file) else "id"


def is_linked(found: Mapping[str, Any]) -> bool:
    """Return whether a JSON object is a graph: nodes, and links between them.

    Args:
        found: The object; ``nodes`` and one of the keys of :func:`links_of` must be
            lists.

    Example:
        >>> is_linked({"nodes": [{"id": 1}], "links": []}), is_linked({"data": []})
        (True, False)
    """
    nodes = found.get("nodes")
    return isinstance(nodes, list) and links_of(found) is not None


def links_of(found: Mapping[str, Any]) -> list[Any] | None:
    """Return the list of links of a JSON object of nodes and links, or ``None`` if it has none.

    Args:
        found: The object. Its links are the first list under one of these keys, in this
            order: ``links``, ``edges``, ``relationships``, ``rels``, ``relations``.
    """
    return next(
        (found[key] for key in _LINKS if isinstance(found.get(key), list)), None
    )


def read_json(file: Path) -> Any:
    """Read the value of a JSON file.

    Args:
        file: The file.

    Raises:
        DataError: The file is missing, nested too deeply or not JSON; the message gives
            the line number.
    """
    try:
        return json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{file}, line {error.lineno}: not JSON ({error.msg})"
        ) from None
    except RecursionError:
        raise DataError(f"{file} is nested too deeply") from None


def graph_of_adjacency(file: Path, found: Mapping[str, Any]) -> Any:
    """Return the graph of a JSON object in the format of ``networkx.adjacency_data``.

    Args:
        file: The file, used in error messages.
        found: The object.

    Returns:
        A ``networkx`` graph, whose class depends on the object.

    Raises:
        DataError: The object does not have this form.
    """
    import networkx as nx

    try:
        return nx.adjacency_graph(dict(found))
    except (nx.NetworkXException, AttributeError, *_DAMAGE) as error:
        raise DataError(
            f"{file} is not adjacency data of networkx: {error!r:.200}"
        ) from None


def refuse_entities(file: Path) -> None:
    """Raise an error for XML with entities, which can expand to huge texts or refer to other files.

    Damaged XML is accepted here, as the reader of the file reports it.

    Args:
        file: The file.

    Raises:
        DataError: An entity is declared.
        OSError: The file cannot be opened.
    """

    def refuse(name: str, *_: object) -> None:
        raise DataError(
            f"{file} declares the XML entity '{name}'; replace it with its value"
        )

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse
    # Networkx reports damage.
    with (
        file.open("rb") as opened,
        suppress(expat.ExpatError),
    ):
        parser.ParseFile(opened)
