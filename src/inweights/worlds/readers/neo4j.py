"""Facts from exports of Neo4j: CSV and JSON lines as ``apoc.export`` writes them.

Nodes and relationships stand in one file; a fact is a relationship between the names of two nodes.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from inweights.errors import DataError
from inweights.worlds.readers.published import Fact
from inweights.worlds.readers.remark import Remark

_ENDS = ("_start", "_type", "_end")
#: Properties that say what a node is called, the best first.
NAMES = ("name", "title", "label", "displayname", "full_name", "fullname", "id")


def is_export(names: Sequence[str]) -> bool:
    """Whether columns are those of ``apoc.export.csv``: nodes and relationships in one file.

    Example:
        >>> is_export(["_id", "_labels", "name", "_start", "_end", "_type"]), is_export(["name"])
        (True, False)
    """
    return {"_id", *_ENDS} <= set(names)


def export_facts(
    path: str | Path, rows: Sequence[tuple[int, Sequence[str]]], remarks: list[Remark]
) -> Iterator[tuple[int, Fact]]:
    """Yield the relationships of ``apoc.export.csv``, with the names of their nodes."""
    header = [cell.strip() for cell in rows[0][1]]
    lower = [name.lower() for name in header]
    nodes: dict[str, str] = {}
    links: list[tuple[int, str, str, str]] = []
    for number, cells in rows[1:]:
        record = dict(zip(lower, (cell.strip() for cell in cells), strict=False))
        if record.get("_start") and record.get("_end"):
            links.append((number, record["_start"], record["_type"], record["_end"]))
        elif record.get("_id"):
            nodes[record["_id"]] = node_name(record, record["_id"])
    yield from _linked(path, nodes, links, remarks)


def is_export_record(record: Any) -> bool:
    """Whether a record is a line of ``apoc.export.json``: a node or a relationship."""
    if not isinstance(record, Mapping):
        return False
    node = record.get("type") == "node" and "id" in record
    ends = isinstance(record.get("start"), Mapping) and isinstance(record.get("end"), Mapping)
    return node or (record.get("type") == "relationship" and ends)


def export_record_facts(
    path: str | Path, records: Sequence[tuple[int, Mapping[str, Any]]], remarks: list[Remark]
) -> Iterator[tuple[int, Fact]]:
    """Yield the relationships of ``apoc.export.json``, with the names of their nodes."""
    nodes: dict[str, str] = {}
    links: list[tuple[int, str, str, str]] = []
    for number, record in records:
        if record.get("type") == "node":
            nodes[str(record["id"])] = node_name(_properties(record), str(record["id"]))
            continue
        ends = [record["start"], record["end"]]
        for end in ends:
            found = node_name(_properties(end), "")
            if found:
                nodes.setdefault(str(end.get("id")), found)
        links.append((number, str(ends[0].get("id")), str(record.get("label", "")),
                      str(ends[1].get("id"))))  # fmt: skip
    yield from _linked(path, nodes, links, remarks)


def _properties(record: Mapping[str, Any]) -> Mapping[str, Any]:
    found = record.get("properties")
    return {str(k).lower(): v for k, v in found.items()} if isinstance(found, Mapping) else {}


def node_name(properties: Mapping[str, Any], otherwise: str) -> str:
    """Return what a node is called by its properties; ``otherwise`` where none says it."""
    for key in NAMES:
        value = properties.get(key)
        if isinstance(value, str | int | float) and str(value).strip():
            return " ".join(str(value).split())
    return otherwise


def _linked(
    path: str | Path,
    nodes: Mapping[str, str],
    links: Sequence[tuple[int, str, str, str]],
    remarks: list[Remark],
) -> Iterator[tuple[int, Fact]]:
    if not links:
        raise DataError(
            f"{path} is an export of Neo4j with {len(nodes)} nodes and no relationship; export both"
        )
    said = f"an export of Neo4j: {len(nodes)} nodes, of which names are read, {len(links)} facts"
    remarks.append(Remark("format", (), said, sure=True))
    for number, start, kind, end in links:
        names = (nodes.get(start, start), kind.strip(), nodes.get(end, end))
        if not all(names):
            raise DataError(f"{path}, line {number}: a relationship without type or ends: {names}")
        yield number, Fact(names)
