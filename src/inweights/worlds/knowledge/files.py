"""Files of triples, read row by row: CSV, TSV, JSONL, JSON, Parquet, Arrow, and folders of these.

Wikidata, RDF, databases and the hub have files of their own. Every row comes with the place that it
came from, so that a message can name it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from inweights.errors import ConfigError, DataError, nearest
from inweights.support.limits import read_text
from inweights.worlds.readers.databases import database_rows, is_database
from inweights.worlds.readers.hub import hub_rows, is_hub_name
from inweights.worlds.readers.parquet import read_parquet
from inweights.worlds.readers.published import (
    Fact,
    is_mquake,
    is_two_hop,
    mquake_facts,
    two_hop_facts,
)
from inweights.worlds.readers.rdf import FORMATS, rdf_facts
from inweights.worlds.readers.wikidata import is_wikidata, wikidata_facts

__all__ = ["Row", "read_rows"]

_COLUMNS = (
    ("subject", "head", "source", "s", "h"),
    ("relation", "predicate", "property", "r", "p"),
    ("object", "tail", "target", "o", "t"),
)
_STAGE = ("stage", "phase")
_EXPECTED = "expected subject, relation and object"
_KINDS = "CSV, TSV, JSONL, JSON, Parquet, Turtle, N-Triples, a dataset folder, or a database"
#: What is not read, and what to make of it.
_REFUSED = dict.fromkeys(
    (".rdf", ".owl", ".xml", ".jsonld", ".trig", ".nq", ".n3"), "Turtle (.ttl)"
)
_REFUSED |= dict.fromkeys((".xlsx", ".xls", ".ods"), "CSV")
_REFUSED |= dict.fromkeys((".db", ".sqlite", ".sqlite3"), "sqlite:///FILE with --query")


class Row(NamedTuple):
    """A fact of a file.

    Attributes:
        line: Line of the file; row of a Parquet or Arrow file or of a query, case of a JSON list,
            triple of RDF.
        fact: The triple, with what a published set says about it.
        stage: Stage of training.
        chain: Whether the fact is one of a chain that the file gives whole.
    """

    line: int
    fact: Fact
    stage: int = 0
    chain: bool = False


def read_rows(
    source: str | Path, *, edited: bool = False, query: str = "", download: bool = False
) -> Iterator[Row]:
    """Read every fact of a file or folder, a database, or a data set of the hub.

    Args:
        source: What to read. A folder is one of :meth:`datasets.Dataset.save_to_disk`, or holds
            Parquet files; all its splits are read, in order.
        edited: Facts after the edit, where the file is MQuAKE.
        query: What to ask of a database.
        download: Whether a data set of the hub may be fetched.

    Raises:
        ConfigError: A query is missing, or out of place; fetching is not allowed.
        DataError: Something is missing or damaged; names the file and the line.
    """
    path, name = Path(source), str(source)
    suffix = path.suffix.lower()
    if is_database(name):
        yield from _query(name, *database_rows(name, query))
    elif query:
        raise ConfigError(f"--query requires a database, such as sqlite:///facts.db, got {name}")
    elif path.is_dir():
        yield from _folder(path, edited=edited)
    elif not path.is_file() and is_hub_name(name):
        for number, record in enumerate(hub_rows(name, download=download), start=1):
            yield from _record(record, number, f"{name}, row {number}", edited=edited)
    elif not path.is_file():
        there = path.parent.iterdir() if path.parent.is_dir() else ()
        close = nearest(path.name, (file.name for file in there))
        hint = (
            f"; did you mean {path.with_name(close)}?" if close else f"; facts come from {_KINDS}"
        )
        raise DataError(f"there is no file {path}{hint}")
    elif suffix in _REFUSED:
        raise DataError(f"{path}: {suffix} is not supported; give {_REFUSED[suffix]}")
    elif suffix in (".parquet", ".arrow"):
        yield from _table(path)
    elif suffix in FORMATS:
        yield from _named(rdf_facts(path))
    elif is_wikidata(path):
        yield from _named(wikidata_facts(path))
    elif suffix in (".gz", ".bz2"):
        raise DataError(f"{path} is not a dump of Wikidata; unpack other files first")
    else:
        yield from _text(path, edited=edited)


def _named(facts: Iterator[tuple[int, Fact]]) -> Iterator[Row]:
    """Facts whose names may hold any white space."""
    for number, fact in facts:
        s, r, o = (" ".join(name.split()) for name in fact.triple)
        if not (s and r and o):
            raise DataError(f"fact {number} has a blank name: {fact.triple}")
        yield Row(number, fact._replace(triple=(s, r, o)))


def _query(source: str, columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> Iterator[Row]:
    names = [name.lower() for name in columns]
    places = _places(names)
    if places is None:
        if len(names) != 3:
            raise DataError(f"{source}: the query gives the columns {names}; {_EXPECTED}")
        places = {"subject": 0, "relation": 1, "object": 2}
    for number, row in enumerate(rows, start=1):
        cells = ["" if cell is None else str(cell) for cell in row]
        yield _row(*_pick(cells, places), number, f"{source}, row {number}")


def _folder(path: Path, *, edited: bool) -> Iterator[Row]:
    """All parts of a folder, numbered on."""
    splits = path / "dataset_dict.json"
    state = path / "state.json"
    try:
        if splits.is_file():
            parts = _below(path, json.loads(read_text(splits))["splits"])
        elif state.is_file():
            listed = json.loads(read_text(state))["_data_files"]
            parts = _below(path, [entry["filename"] for entry in listed])
        else:
            # No deeper: it may be the root of all files.
            depths = ("*.parquet", "*/*.parquet", "*/*/*.parquet")
            parts = sorted(part for below in depths for part in path.glob(below))
    except DataError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path} is a damaged dataset folder ({error}); save it again") from None
    if not parts:
        raise DataError(
            f"{path} is a folder without facts; expected one of Dataset.save_to_disk, or Parquet "
            "files in it"
        )
    before = 0
    for part in parts:
        last = 0
        for row in read_rows(part, edited=edited):
            last = row.line
            yield row._replace(line=before + row.line)
        before += last


def _below(path: Path, names: Sequence[str]) -> list[Path]:
    """Parts of a folder by name; all of them lie in it."""
    home = path.resolve()
    for name in names:
        if home not in (path / name).resolve().parents:
            raise DataError(f"{path} names the part '{name}', which is not in it")
    return [path / name for name in names]


def _table(path: Path) -> Iterator[Row]:
    table = read_parquet(path, _wanted)
    columns = [name.lower() for name in table.columns]
    if is_two_hop(columns):
        for number, row in enumerate(table.iter_rows(), start=1):
            record = {k: "" if v is None else str(v) for k, v in zip(columns, row, strict=True)}
            yield from (
                Row(number, f, chain=True) for f in two_hop_facts(record, f"{path}, row {number}")
            )
        return
    places = _places(columns)
    if places is None:
        raise DataError(f"{path} has columns {table.columns}; {_EXPECTED}")
    for number, row in enumerate(table.iter_rows(), start=1):
        cells = ["" if cell is None else str(cell) for cell in row]
        yield _row(*_pick(cells, places), number, f"{path}, row {number}")


def _wanted(columns: Sequence[str]) -> Sequence[str]:
    """Columns that facts may come from; all where none may, so that the error names them."""
    known = {name for names in (*_COLUMNS, _STAGE) for name in names}
    lower = [name.lower() for name in columns]
    kept = columns if is_two_hop(lower) else [n for n in columns if n.lower() in known]
    return kept or columns


def _text(path: Path, *, edited: bool) -> Iterator[Row]:
    text = read_text(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        yield from _cases(path, text, edited=edited)
    elif suffix in (".jsonl", ".ndjson"):
        # Not splitlines: a name may hold one of the rarer separators that it cuts at.
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                where = f"{path}, line {number}"
                try:
                    record = msgspec.json.decode(line)
                except (msgspec.DecodeError, RecursionError) as error:
                    raise DataError(f"{where}: not a JSON object ({error})") from None
                yield from _record(record, number, where, edited=edited)
    else:
        yield from _cells(path, text)


def _cases(path: Path, text: str, *, edited: bool) -> Iterator[Row]:
    try:
        cases = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: not JSON ({error.msg})") from None
    except RecursionError:
        raise DataError(f"{path} is nested too deeply; expected a list of objects") from None
    if not isinstance(cases, list):
        raise DataError(
            f"{path} contains no list; expected the cases of MQuAKE, or objects of facts"
        )
    for number, record in enumerate(cases, start=1):
        yield from _record(record, number, f"{path}, case {number}", edited=edited)


def _record(record: Any, number: int, where: str, *, edited: bool) -> Iterator[Row]:
    """The facts of an object."""
    if is_mquake(record):
        yield from (Row(number, f, chain=True) for f in mquake_facts(record, where, edited=edited))
        return
    if not isinstance(record, Mapping):
        raise DataError(f"{where}: not a JSON object, but {json.dumps(record)[:40]}")
    lower = {key.lower(): v for key, v in record.items()}
    if is_two_hop(list(lower)):
        plain = {k: "" if v is None else str(v) for k, v in lower.items()}
        yield from (Row(number, f, chain=True) for f in two_hop_facts(plain, where))
        return
    fields = []
    for names in _COLUMNS:
        value = next((lower[name] for name in names if name in lower), None)
        if isinstance(value, Mapping | list | bool):
            raise DataError(f"{where}: {names[0]} must be a string, got {json.dumps(value)[:40]}")
        fields.append("" if value is None else str(value))
    stage = next((lower[name] for name in _STAGE if name in lower), None)
    yield _row(fields, "" if stage is None else str(stage), number, where)


def _cells(path: Path, text: str) -> Iterator[Row]:
    """The facts of delimited text; a header and empty lines are left out."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    delimiter = max("\t;,", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    places: dict[str, int] | None = None
    begun = False
    while True:
        number = reader.line_num + 1
        where = f"{path}, line {number}"
        try:
            cells = _next(reader, len(text))
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{where}: {error}; quotes within a cell are doubled") from None
        if not any(cell.strip() for cell in cells):
            continue
        if not begun:
            begun = True
            names = [cell.strip().lower() for cell in cells]
            header = names if is_two_hop(names) else None
            places = _places(names)
            if header or places is not None:
                continue
        if header:
            if len(cells) != len(header):
                raise DataError(f"{where}: {len(cells)} cells; the header has {len(header)}")
            facts = two_hop_facts(dict(zip(header, cells, strict=True)), where)
            yield from (Row(number, fact, chain=True) for fact in facts)
        elif places is not None:
            yield _row(*_pick(cells, places), number, where)
        else:
            yield _row(cells, "", number, where)


def _next(reader: Iterator[list[str]], most: int) -> list[str]:
    """The next row, with cells of any length: published sets list all aliases in one."""
    before = csv.field_size_limit(most)  # a global, so that it is put back at once
    try:
        return next(reader)
    finally:
        csv.field_size_limit(before)


def _row(fields: list[str], stage: str, line: int, where: str) -> Row:
    if len(fields) != 3 or not all(field.strip() for field in fields):
        shown = str([field[:40] for field in fields[:8]])
        raise DataError(
            f"{where}: {len(fields)} field(s) {shown}; expected three that are not blank: "
            "subject, relation, object"
        )
    if not re.fullmatch(r"\d{1,4}|", stage.strip()):
        raise DataError(f"{where}: the stage must be a whole number, got '{stage}'")
    subject, relation, thing = (" ".join(field.split()) for field in fields)
    return Row(line, Fact((subject, relation, thing)), int(stage.strip() or 0))


def _places(names: Sequence[str]) -> dict[str, int] | None:
    """Where a header puts each column; none if it is no header."""
    found = {
        known[0]: names.index(name)
        for known in (*_COLUMNS, _STAGE)
        for name in reversed(known)
        if name in names
    }
    return found if {"subject", "relation", "object"} <= set(found) else None


def _pick(cells: list[str], places: dict[str, int]) -> tuple[list[str], str]:
    """The three fields in order, and the stage."""
    if len(cells) <= max(places[k] for k in ("subject", "relation", "object")):
        return cells, ""
    stage = places.get("stage", len(cells))
    fields = [cells[places[name]] for name in ("subject", "relation", "object")]
    return fields, cells[stage] if stage < len(cells) else ""
