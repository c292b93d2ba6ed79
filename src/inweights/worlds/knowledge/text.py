"""Rows of facts as text has them: delimited cells, or JSON objects."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from inweights.errors import DataError
from inweights.support.limits import read_text
from inweights.worlds.readers import published

#: What a header may call subject, relation and object.
COLUMNS = (
    ("subject", "head", "source", "s", "h"),
    ("relation", "predicate", "property", "r", "p"),
    ("object", "tail", "target", "o", "t"),
)

#: And the stage.
STAGE = ("stage", "phase")


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
    fact: published.Fact
    stage: int = 0
    chain: bool = False


def text_rows(path: Path, *, edited: bool) -> Iterator[Row]:
    """The facts of a file of text, by its ending."""
    text, suffix = read_text(path), path.suffix.lower()
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
                yield from record_rows(record, number, where, edited=edited)
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
        yield from record_rows(record, number, f"{path}, case {number}", edited=edited)


def record_rows(record: Any, number: int, where: str, *, edited: bool) -> Iterator[Row]:
    """The facts of an object."""
    if published.is_mquake(record):
        yield from (
            Row(number, f, chain=True) for f in published.mquake_facts(record, where, edited=edited)
        )
        return
    if not isinstance(record, Mapping):
        raise DataError(f"{where}: not a JSON object, but {json.dumps(record)[:40]}")
    lower = {key.lower(): v for key, v in record.items()}
    if published.is_two_hop(list(lower)):
        plain = {k: "" if v is None else str(v) for k, v in lower.items()}
        yield from (Row(number, f, chain=True) for f in published.two_hop_facts(plain, where))
        return
    fields = []
    for names in COLUMNS:
        value = next((lower[name] for name in names if name in lower), None)
        if isinstance(value, Mapping | list | bool):
            raise DataError(f"{where}: {names[0]} must be a string, got {json.dumps(value)[:40]}")
        fields.append("" if value is None else str(value))
    stage = next((lower[name] for name in STAGE if name in lower), None)
    yield row_of(fields, "" if stage is None else str(stage), number, where)


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
            header = names if published.is_two_hop(names) else None
            places = places_of(names)
            if header or places is not None:
                continue
        if header:
            if len(cells) != len(header):
                raise DataError(f"{where}: {len(cells)} cells; the header has {len(header)}")
            facts = published.two_hop_facts(dict(zip(header, cells, strict=True)), where)
            yield from (Row(number, fact, chain=True) for fact in facts)
        elif places is not None:
            yield row_of(*fields_at(cells, places), number, where)
        else:
            yield row_of(cells, "", number, where)


def _next(reader: Iterator[list[str]], most: int) -> list[str]:
    """The next row, with cells of any length: published sets list all aliases in one."""
    before = csv.field_size_limit(most)  # a global, so that it is put back at once
    try:
        return next(reader)
    finally:
        csv.field_size_limit(before)


def row_of(fields: list[str], stage: str, line: int, where: str) -> Row:
    """A fact of three fields and a stage."""
    if len(fields) != 3 or not all(field.strip() for field in fields):
        shown = str([field[:40] for field in fields[:8]])
        raise DataError(
            f"{where}: {len(fields)} field(s) {shown}; expected three that are not blank: "
            "subject, relation, object"
        )
    if not re.fullmatch(r"\d{1,4}|", stage.strip()):
        raise DataError(f"{where}: the stage must be a whole number, got '{stage}'")
    subject, relation, thing = (" ".join(field.split()) for field in fields)
    return Row(line, published.Fact((subject, relation, thing)), int(stage.strip() or 0))


def places_of(names: Sequence[str]) -> dict[str, int] | None:
    """Where a header puts each column; none if it is no header."""
    found = {
        known[0]: names.index(name)
        for known in (*COLUMNS, STAGE)
        for name in reversed(known)
        if name in names
    }
    return found if {"subject", "relation", "object"} <= set(found) else None


def fields_at(cells: list[str], places: dict[str, int]) -> tuple[list[str], str]:
    """The three fields in order, and the stage."""
    if len(cells) <= max(places[k] for k in ("subject", "relation", "object")):
        return cells, ""
    stage = places.get("stage", len(cells))
    fields = [cells[places[name]] for name in ("subject", "relation", "object")]
    return fields, cells[stage] if stage < len(cells) else ""
