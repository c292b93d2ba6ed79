"""Read facts from exports of Neo4j: CSV and JSON lines as ``apoc.export`` writes them.

Nodes and relationships are in one file; a fact is a relationship between two nodes,
which are given by their names. :func:`export_facts` reads CSV, and
:func:`export_record_facts` reads JSON. Other readers of graphs name nodes in the same
way (:func:`node_name`, :func:`distinct_names`).
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from inweights.errors import DataError
from inweights.worlds.readers.published import Fact
from inweights.worlds.readers.remark import Remark

_ENDS = ("_start", "_type", "_end")
#: Properties that name a node, in order of preference.
NAMES = ("name", "title", "label", "displayname", "full_name", "fullname", "id")


def is_export(names: Sequence[str]) -> bool:
    """Return whether a file has the columns of ``apoc.export.csv``.

    Args:
        names: Names of the columns, in lower case.

    Example:
        >>> is_export(["_id", "_labels", "name", "_start", "_end", "_type"]), is_export(["name"])
        (True, False)
    """
    return {"_id", *_ENDS} <= set(names)


def export_facts(
    path: str | Path, rows: Sequence[tuple[int, Sequence[str]]], remarks: list[Remark]
) -> Iterator[tuple[int, Fact]]:
    """Yield the relationships of ``apoc.export.csv`` as facts, with their line numbers.

    Args:
        path: The file, used in error messages.
        rows: Line number and cells of each row, starting with the header, which must
            have the columns of :func:`is_export`.
        remarks: List to which a remark on how the file was read is appended.

    Yields:
        Line number and fact of each relationship. A node is named by
        :func:`node_name`, or else by its id.

    Raises:
        DataError: There are no relationships, or one lacks its type.
    """
    header = list(map(str.strip, rows[0][1]))
    lower = list(map(str.lower, header))
    nodes: dict[str, str] = {}
    links: list[tuple[int, str, str, str]] = []
    for number, cells in rows[1:]:
        record = dict(zip(lower, map(str.strip, cells), strict=False))
        if record.get("_start") and record.get("_end"):
            kind = record.get("_type", "")
            links.append((number, record["_start"], kind, record["_end"]))
        elif record.get("_id"):
            nodes[record["_id"]] = node_name(record, record["_id"])
    yield from _linked(path, nodes, links, remarks)


def is_export_record(record: Any) -> bool:
    """Return whether a record is a line of ``apoc.export.json``: a node or a relationship.

    Args:
        record: Decoded JSON value.
    """
    if not isinstance(record, Mapping):
        return False
    node = record.get("type") == "node" and "id" in record
    ends = isinstance(record.get("start"), Mapping) and isinstance(
        record.get("end"), Mapping
    )
    return node or (record.get("type") == "relationship" and ends)


def export_record_facts(
    path: str | Path,
    records: Sequence[tuple[int, Mapping[str, Any]]],
    remarks: list[Remark],
) -> Iterator[tuple[int, Fact]]:
    """Yield the relationships of ``apoc.export.json`` as facts, with their line numbers.

    Args:
        path: The file, used in error messages.
        records: Line number and object of each record, for which
            :func:`is_export_record` is true.
        remarks: List to which a remark on how the file was read is appended.

    Yields:
        Line number and fact of each relationship. A node is named by
        :func:`node_name`, or else by its id.

    Raises:
        DataError: There are no relationships, or one lacks its type or an end.
    """
    nodes: dict[str, str] = {}
    links: list[tuple[int, str, str, str]] = []
    for number, record in records:
        if record.get("type") == "node":
            nodes[str(record["id"])] = node_name(_properties(record), str(record["id"]))
            continue
        start = record["start"]
        end = record["end"]
        for node in (start, end):
            found = node_name(_properties(node), "")
            if found:
                nodes.setdefault(str(node.get("id")), found)
        kind = str(record.get("label", ""))
        links.append((number, str(start.get("id")), kind, str(end.get("id"))))
    yield from _linked(path, nodes, links, remarks)


def _properties(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of a node, with keys in lower case."""
    found = record.get("properties")
    if not isinstance(found, Mapping):
        return {}
    return {str(k).lower(): v for k, v in found.items()}


def node_name(properties: Mapping[str, Any], otherwise: str) -> str:
    """Return the name of a node: the first of its properties in :data:`NAMES` that is not blank.

    Args:
        properties: The properties of the node, with keys in lower case.
        otherwise: Text to return if no property names the node.

    Returns:
        The name, with single spaces. Only strings and numbers are accepted as names.
    """
    for key in NAMES:
        value = properties.get(key)
        if isinstance(value, str | int | float) and str(value).strip():
            return " ".join(str(value).split())
    return otherwise


def distinct_names(names: Mapping[Any, str]) -> dict[Any, str]:
    """Make all names distinct by appending the key of the node to repeated names.

    Args:
        names: Dictionary that maps the key of each node to its name.

    Returns:
        A dictionary with the same keys. If a name occurs several times, it is unchanged
        for the first key.

    Example:
        >>> distinct_names({1: "Springfield", 2: "Springfield"})
        {1: 'Springfield', 2: 'Springfield (2)'}
    """
    taken: dict[str, Any] = {}
    found = {}
    for key, name in names.items():
        first = taken.setdefault(name, key)
        found[key] = name if first == key else f"{name} ({key})"
    return found


def _linked(
    path: str | Path,
    nodes: Mapping[str, str],
    links: Sequence[tuple[int, str, str, str]],
    remarks: list[Remark],
) -> Iterator[tuple[int, Fact]]:
    """Yield links between nodes as facts, with the names of the nodes."""
    if not links:
        raise DataError(
            f"{path} is an export of Neo4j that contains {len(nodes)} nodes but no "
            "relationships; export the relationships as well"
        )
    sentence = (
        f"an export of Neo4j with {len(nodes)} nodes, of which only the names are read, and "
        f"{len(links)} facts"
    )
    remarks.append(Remark("format", (), sentence, sure=True))
    for number, start, kind, end in links:
        names = (nodes.get(start, start), kind.strip(), nodes.get(end, end))
        if not all(names):
            raise DataError(
                f"{path}, line {number}: a relationship has no type, or one of its two nodes "
                f"has no name: {names}"
            )
        yield number, Fact(names)
