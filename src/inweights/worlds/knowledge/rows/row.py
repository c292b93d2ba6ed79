"""A fact of a file with its line, :class:`Row`, and functions that construct it from cells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from inweights.errors import DataError
from inweights.worlds.readers import published
from inweights.worlds.readers.tables.headers import FACTS


class Row(NamedTuple):
    """A fact that was read from a file.

    Attributes:
        line: Line of the file; for other sources, the number of the row (Parquet,
            Arrow, databases), the case (JSON lists) or the triple (RDF).
        fact: The triple, with further information from the file.
        stage: Stage of training in which the fact is learnt, counted from 0.
        chain: Whether the file stores the fact in one row together with other facts of
            a chain.
    """

    line: int
    fact: published.Fact
    stage: int = 0
    chain: bool = False


def row_of(fields: Sequence[str], stage: str, line: int, where: str) -> Row:
    """Return a row of three fields and a stage, with repeated spaces in names reduced to one.

    Args:
        fields: Subject, relation and object as text.
        stage: Stage of training as text; blank for 0.
        line: Line of the row.
        where: File and line, used in error messages.

    Raises:
        DataError: There are not three fields, one of them is blank, or the stage is not
            a whole number of at most four digits.
    """
    if len(fields) != 3 or not all(map(str.strip, fields)):
        shown = str([field[:40] for field in fields[:8]])
        raise DataError(
            f"{where}: expected three fields that are not blank (subject, relation, object), "
            f"got {len(fields)}: {shown}"
        )
    if not re.fullmatch(r"\d{1,4}|", stage.strip()):
        raise DataError(f"{where}: the stage must be a whole number, got '{stage}'")
    # Line breaks and repeated spaces in cells become one space, so that each name has
    # one spelling.
    subject, relation, thing = (" ".join(field.split()) for field in fields)
    fact = published.Fact((subject, relation, thing))
    return Row(line, fact, int(stage.strip() or 0))


def fields_at(
    cells: Sequence[str], places: Mapping[str, int], *, exact: bool = False
) -> tuple[list[str], str]:
    """Select subject, relation and object, and the stage, from the cells of a row.

    Args:
        cells: Cells of the row.
        places: Index of the column of each role: ``subject``, ``relation``, ``object``,
            and ``stage`` if the table has one.
        exact: Whether a row must have exactly three cells.

    Returns:
        Subject, relation and object as a list; and the stage as text, empty if there is
        none. If a column is missing, or ``exact`` is True and there are not three
        cells, the function returns all cells and an empty stage, so that
        :func:`row_of` rejects the row (unless it has three cells that are not blank).
    """
    needed = [places[name] for name in FACTS]
    if len(cells) <= max(needed) or (exact and len(cells) != len(FACTS)):
        return list(cells), ""
    place = places.get("stage", len(cells))
    stage = cells[place] if place < len(cells) else ""
    return [cells[place] for place in needed], stage
