"""One fact of a file with its line: :class:`Row`, constructed from the fields of a text row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from inweights.errors import DataError
from inweights.worlds.readers import published
from inweights.worlds.readers.tables.headers import FACTS


class Row(NamedTuple):
    """A fact of a file.

    Attributes:
        line: Line of the file; row of a Parquet or Arrow file or of a query, case of a
            JSON list, triple of RDF.
        fact: A triple, with its line and other information from the file.
        stage: Stage of training.
        chain: Whether the fact is part of a chain that the file has as one row.
    """

    line: int
    fact: published.Fact
    stage: int = 0
    chain: bool = False


def row_of(fields: Sequence[str], stage: str, line: int, where: str) -> Row:
    """Return a row of three fields and a stage.

    Args:
        fields: Subject, relation and object as text.
        stage: Stage of training as text; empty for 0.
        line: Line of the row.
        where: File and line, which errors name.

    Raises:
        DataError: There are not three fields, one is blank, or the stage is not a
            number.
    """
    if len(fields) != 3 or not all(map(str.strip, fields)):
        shown = str([field[:40] for field in fields[:8]])
        raise DataError(
            f"{where}: {len(fields)} field(s) {shown}; expected three that are not blank: "
            "subject, relation, object"
        )
    if not re.fullmatch(r"\d{1,4}|", stage.strip()):
        raise DataError(f"{where}: the stage must be a whole number, got '{stage}'")
    # One spelling of each name: cells may hold line breaks and several spaces.
    subject, relation, thing = (" ".join(field.split()) for field in fields)
    fact = published.Fact((subject, relation, thing))
    return Row(line, fact, int(stage.strip() or 0))


def fields_at(
    cells: Sequence[str], places: Mapping[str, int], *, exact: bool = False
) -> tuple[list[str], str]:
    """Return the three fields of a row in order, and its stage.

    Args:
        cells: Cells of the row.
        places: Index of each role's column.
        exact: Whether the row must have three cells.

    Returns:
        Subject, relation and object, and the stage, empty if there is none. Where the
        row lacks a column, all its cells, which :func:`row_of` then refuses.
    """
    needed = [places[name] for name in FACTS]
    if len(cells) <= max(needed) or (exact and len(cells) != len(FACTS)):
        return list(cells), ""
    place = places.get("stage", len(cells))
    stage = cells[place] if place < len(cells) else ""
    return [cells[place] for place in needed], stage
