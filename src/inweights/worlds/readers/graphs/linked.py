"""Facts from graphs whose edges have a relation: GraphML, GEXF, GML, and JSON of nodes and links.

A node is named by its name, title or label, or else by its id. The relation is an
attribute of the edge such as its label, type or relation; :mod:`.headers` ranks the
names of attributes. :func:`graph_facts` reads files, and :func:`linked_facts` JSON
objects.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from inweights.errors import DataError
from inweights.worlds.readers.graphs.graph_files import FORMATS, links_of, read_graph
from inweights.worlds.readers.neo4j import distinct_names, node_name
from inweights.worlds.readers.published import Fact
from inweights.worlds.readers.remark import Remark
from inweights.worlds.readers.tables.headers import EDGES, found_roles, places_of


def graph_facts(path: Path, remarks: list[Remark]) -> Iterator[tuple[int, Fact]]:
    """Yield the edges of a GraphML, GEXF or GML file as facts.

    Args:
        path: The file.
        remarks: List to which remarks on how the file was read are appended.

    Yields:
        The number of each edge in the file, from 1, and its fact. If several nodes have
        the same name, ids are appended to it.

    Raises:
        DataError: The file is missing or damaged, or an edge has no relation.
        KeyError: The extension of the file is unknown.
    """
    graph = read_graph(path)
    called = {}
    for node, data in graph.nodes.items():
        called[node] = node_name(_lower(data), str(node))
    # Two nodes may have the same name, but a fact distinguishes nodes only by their
    # names.
    names = distinct_names(called)
    links = [(u, v, data) for u, v, data in graph.edges(data=True)]
    yield from _facts(path, names, links, remarks)
    kind = FORMATS[path.suffix.lower()][0]
    remarks.append(Remark("format", (), f"edges of {kind}: {len(links)} facts", True))


def linked_facts(
    path: str | Path, found: Mapping[str, Any], remarks: list[Remark]
) -> Iterator[tuple[int, Fact]]:
    """Yield the links of a JSON object of nodes and links as facts.

    Args:
        path: The file, used in error messages.
        found: The object. It has ``nodes`` (texts, or objects with an ``id`` and
            optionally a name), and ``links`` or ``edges``: objects with their two ends
            under a pair of keys such as ``source`` and ``target``, and their relation
            under a key such as ``relation``, ``label`` or ``type``.
        remarks: List to which remarks on how the file was read are appended.

    Yields:
        The number of each link, from 1, and its fact. If several nodes have the same
        name, ids are appended to it.

    Raises:
        DataError: A link lacks an end or a relation.
    """
    names, links = _read(path, found)
    yield from _facts(path, names, links, remarks)
    sentence = (
        f"a graph of {len(names)} nodes, whose {len(links)} links are read as facts"
    )
    remarks.append(Remark("format", (), sentence, True))


def links_with_names(
    path: str | Path, found: Mapping[str, Any]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the links of a JSON object of nodes and links, with the names of their nodes.

    Args:
        path: The file, used in error messages.
        found: The object, as for :func:`linked_facts`; links need no relation.

    Returns:
        Two lists: the names of both ends of each link, and the names of all nodes.

    Raises:
        DataError: A link lacks an end.
    """
    names, links = _read(path, found)
    ends = [(names.get(u, str(u)), names.get(v, str(v))) for u, v, _ in links]
    return ends, list(names.values())


def _read(
    path: str | Path, found: Mapping[str, Any]
) -> tuple[dict[Any, str], list[tuple[Any, Any, Mapping[str, Any]]]]:
    """Return the name of every node by its id, and the ends and attributes of every link."""
    nodes: dict[Any, str] = {}
    for place, node in enumerate(found["nodes"]):
        data = _lower(_flat(node)) if isinstance(node, Mapping) else {"id": node}
        key = _key(data.get("id", data.get("key", place)))
        nodes[key] = node_name(data, str(key))
    names = distinct_names(nodes)
    links: list[tuple[Any, Any, Mapping[str, Any]]] = []
    for number, link in enumerate(links_of(found) or (), start=1):
        data = _flat(link) if isinstance(link, Mapping) else {}
        places = places_of(list(data), EDGES)
        if places is None:
            keys = ", ".join(map(str, data)) or str(link)[:40]
            raise DataError(
                f"{path}: link {number} has no source or no target; its keys are {keys}"
            )
        values = list(data.values())
        u, v = (_key(values[places[role]]) for role in EDGES)
        # The values of the ends are no attributes, and could be mistaken for the
        # relation.
        rest = {key: value for key, value in data.items() if value not in (u, v)}
        links.append((u, v, rest))
    return names, links


def _facts(
    path: str | Path,
    names: Mapping[Any, str],
    links: Iterable[tuple[Any, Any, Mapping[str, Any]]],
    remarks: list[Remark],
) -> Iterator[tuple[int, Fact]]:
    """Yield links as facts, and append a remark on the attribute that is read as the relation."""
    read = set()
    for number, (u, v, data) in enumerate(links, start=1):
        texts = {k: x for k, x in data.items() if isinstance(x, str) and x.strip()}
        place = found_roles(list(texts)).get("relation")
        if place is None:
            lower = list(map(str.lower, texts))
            named = [k for k, key in enumerate(lower) if key in ("name", "title")]
            place = named[0] if named else None
        if place is None:
            keys = ", ".join(map(str, data)) or "none"
            raise DataError(
                f"{path}, edge {number}: the edge has no relation, which a fact requires "
                f"(its attributes: {keys}); 'inweights atlas {path}' reads the file as "
                "a graph"
            )
        key = list(texts)[place]
        read.add(key)
        relation = " ".join(texts[key].split())
        yield number, Fact((names.get(u, str(u)), relation, names.get(v, str(v))))
    if read:
        keys = ", ".join(sorted(map(str, read)))
        sentence = f"the relation of an edge is read from its attribute {keys}"
        remarks.append(Remark("order", (), sentence, sure=len(read) == 1))


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with the entries of ``data`` and ``properties`` moved to the top level."""
    flat: dict[str, Any] = {}
    for key in ("properties", "data"):
        inner = record.get(key)
        if isinstance(inner, Mapping):
            flat |= {str(k): v for k, v in inner.items()}
    own = {str(k): v for k, v in record.items() if k not in ("properties", "data")}
    return {**flat, **own}


def _lower(record: Mapping[Any, Any]) -> dict[str, Any]:
    """Return an object with keys in lower case."""
    return {str(key).lower(): value for key, value in record.items()}


def _key(value: Any) -> Any:
    """Return the value with which a link refers to a node; for an object, its id."""
    if isinstance(value, Mapping):
        value = value.get("id", value.get("name"))
    return value if isinstance(value, str | int | float) else str(value)
