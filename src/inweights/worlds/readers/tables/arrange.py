"""Header and columns of a table of facts or edges: :func:`arrange` decides which are which.

It decides by the words of the first row, by cells that occur again, and by the form of
the cells below. What it cannot decide it refuses, naming the option with which a user
says it; what it guessed becomes a remark. Readers of text (``edge_lists``,
``knowledge/text``) call it.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from inweights.errors import ConfigError, DataError, unknown_name
from inweights.worlds.readers.remark import Remark
from inweights.worlds.readers.tables.headers import (
    EDGES,
    FACTS,
    LONGEST,
    has_clear_word,
    is_numbered,
    places_of,
    without_accents,
)
from inweights.worlds.readers.tables.order import order_of

Rows = Sequence[tuple[int, list[str]]]

#: Forms of cells that a header does not have.
_SHAPES = tuple(
    re.compile(pattern)
    for pattern in (
        r"[+-]?\d+([.,]\d+)*(e[+-]?\d+)?",  # a number
        r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*",  # a date
        r"<?\w+://\S+",  # an address
        r"[QP]\d+",  # an entity of Wikidata
        r"\d+[.:]\S*",
    )
)
#: Values that Gephi writes in a column called type.
_DIRECTIONS = {"directed", "undirected", "mutual"}
#: Largest number of a row's cells that a message shows.
_SHOWN = 8


class Layout(NamedTuple):
    """What a caller states about the columns of a table.

    Attributes:
        header: Whether the first row is a header; ``None``: decided by the rows.
        columns: Names or numbers (from 1) of the columns of subject, relation and
            object, or of both ends of an edge. Empty: decided by the rows.
        wide: Whether the first column has subjects, and each further column is a
            relation.
    """

    header: bool | None = None
    columns: tuple[str, ...] = ()
    wide: bool = False


class UnclearHeaderError(DataError):
    """The first row of a file may be a header or a fact.

    Attributes:
        cells: Cells of that row.
    """

    cells: tuple[str, ...] = ()


class Arranged(NamedTuple):
    """The rows of a table that hold facts or edges, and their columns.

    Attributes:
        places: Index of the column of each role.
        header: Cells of the header; empty where there is none.
        rows: All other rows, each with its line.
        remarks: What was assumed.
    """

    places: Mapping[str, int]
    header: tuple[str, ...]
    rows: Rows
    remarks: list[Remark]


def parse_columns(text: str) -> tuple[str, ...]:
    """Return names or numbers of columns from text that separates them by commas.

    Example:
        >>> parse_columns("head, tail,relation")
        ('head', 'tail', 'relation')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def arrange(
    path: str | Path, rows: Rows, layout: Layout, needed: Sequence[str] = FACTS
) -> Arranged:
    """Decide on the header and the columns of a table.

    Args:
        path: File that errors name.
        rows: Line and cells of each row, the first one included.
        layout: What the caller states.
        needed: Roles of the needed columns: :data:`.FACTS` or :data:`.EDGES`.

    Returns:
        The columns, the header, all other rows, and remarks on what was assumed.

    Raises:
        UnclearHeaderError: The first row may be a header or not.
        DataError: The rows do not show which columns are the needed ones.
        ConfigError: A column that the caller names does not exist.
    """
    if not rows:
        return Arranged(
            dict(zip(needed, range(len(needed)), strict=True)), (), rows, []
        )
    _refuse_narrow(path, rows, needed)
    line, first = rows[0]
    first = [cell.strip().removeprefix("#").strip() for cell in first]
    named = any(not column.isdigit() for column in layout.columns)
    given = True if named and layout.header is None else layout.header
    header, why, sure = _is_header(path, rows, given, needed)
    body = rows[1:] if header else rows
    remarks = []
    if header:
        sentence = f"line {line} is read as the header ({why}): {_listed(first)}"
        remarks.append(Remark("header", (line,), sentence, sure))
    elif why:
        sentence = f"line {line} is read as {_called(needed)}, not as a header: {why}"
        remarks.append(Remark("header", (line,), sentence, sure))
    if layout.columns:
        places = _chosen(layout.columns, first if header else (), len(first), needed)
    else:
        known = _known_places(first, body, needed) if header else None
        places = known or _by_content(
            path, body, first if header else (), needed, remarks
        )
    unread = [name for k, name in enumerate(first) if k not in places.values()]
    if header and unread:
        remarks.append(
            Remark(
                "columns",
                (line,),
                f"columns that are not read: {_listed(unread)}",
                True,
            )
        )
    return Arranged(places, tuple(first) if header else (), body, remarks)


def _known_places(
    header: Sequence[str], rows: Rows, needed: Sequence[str]
) -> dict[str, int] | None:
    """Return columns by the words of a header; a column of directions is not a relation."""
    found = places_of(header, needed)
    if found and "relation" in needed:
        place = found["relation"]
        kinds = {
            cells[place].strip().lower() for _, cells in rows if place < len(cells)
        }
        if kinds and kinds <= _DIRECTIONS:
            others = ["" if k == place else name for k, name in enumerate(header)]
            return places_of(others, needed)
    return found


def _refuse_narrow(path: str | Path, rows: Rows, needed: Sequence[str]) -> None:
    """Refuse a table of facts with fewer than three columns, whatever its first row is."""
    width = max(len(cells) for _, cells in rows)
    if width < len(needed):
        found = order_of([[""] * width], tuple(needed), named=False)
        raise DataError(f"{path}: {found.refused}")


def _is_header(
    path: str | Path, rows: Rows, given: bool | None, needed: Sequence[str]
) -> tuple[bool, str, bool]:
    """Return whether the first row is a header, why, and whether that is sure."""
    line, cells = rows[0]
    first = [cell.strip() for cell in cells]
    if given is not None:
        return given, "as was said" if given else "", True
    places = places_of([cell.removeprefix("#").strip() for cell in first], needed)
    again = _occur_again(rows)
    if places is not None:
        own = [first[places[role]] for role in needed]
        same = sum(again[places[role]] for role in needed)
        letters = all(len(cell) == 1 for cell in own)
        if not same or (same == 1 and not letters):
            return True, "its words name columns", not letters
        if letters:
            return False, "its letters occur again below", False
    elif is_numbered(first) and not any(_shaped(cell) for cell in first):
        return True, "its cells count columns", False
    elif len(rows) == 1:
        return False, "there is no other", False
    elif any(again) and not has_clear_word(
        [c for c, there in zip(first, again, strict=True) if not there]
    ):
        return False, "", True
    elif not any(again):
        for place, cell in enumerate(first):
            below = [row[place].strip() for _, row in rows[1:] if place < len(row)]
            shaped = len(below) > 1 and all(map(_shaped, below))
            letters = len(cell) == 1 and all(len(other) == 1 for other in below)
            if letters or (shaped and _shaped(cell)):
                return False, f"'{cell}' is of the kind that stands below it", True
            if shaped and cell:
                return True, f"all of '{cell}' are numbers, dates or addresses", False
    raise _unclear(path, line, first, needed)


def _unclear(
    path: str | Path, line: int, cells: Sequence[str], needed: Sequence[str]
) -> UnclearHeaderError:
    """Return the error for a first row that may be a header."""
    wide = (
        ", or --wide if each column is a relation of the first"
        if needed == FACTS
        else ""
    )
    error = UnclearHeaderError(
        f"{path}, line {line}: {_listed(cells)} may be a header or {_called(needed)}; say "
        f"--header yes or --header no{wide} (in Python header=True or header=False)"
    )
    error.cells = tuple(cells)
    return error


def _called(needed: Sequence[str]) -> str:
    """Return what a row is called in messages."""
    return "an edge" if tuple(needed) == EDGES else "a fact"


def _listed(cells: Sequence[str]) -> str:
    """List some cells for a message."""
    shown = ", ".join(" ".join(cell.split())[:40] for cell in cells[:_SHOWN])
    return f"'{shown}'" + (" …" if len(cells) > _SHOWN else "")


def _shaped(cell: str) -> bool:
    """Return whether a cell has a form that no header has."""
    return any(shape.fullmatch(cell.strip()) for shape in _SHAPES)


def _occur_again(rows: Rows) -> list[bool]:
    """Return which cells of the first row occur in another row."""
    first = [_plain(cell) for cell in rows[0][1]]
    there = dict.fromkeys(first, False)
    for _, cells in rows[1:]:
        for cell in cells:
            text = _plain(cell)
            if text in there:
                there[text] = True
    return [there[cell] and bool(cell) for cell in first]


@lru_cache(maxsize=2**16)
def _plain(cell: str) -> str:
    """Return a cell without case, accents and separators, to compare spellings of a name."""
    if len(cell) > LONGEST:  # a text, not a name
        return cell
    return re.sub(r"[\s_.'-]+", "", without_accents(cell))


def _chosen(
    columns: Sequence[str], header: Sequence[str], width: int, needed: Sequence[str]
) -> dict[str, int]:
    """Return the columns that the caller names, by name or by number from 1."""
    if len(columns) != len(needed):
        raise ConfigError(
            f"columns must name {len(needed)}: {', '.join(needed)}; got {', '.join(columns)}"
        )
    lower = [name.casefold() for name in header]
    places = []
    for column in columns:
        if column.casefold() in lower:
            places.append(lower.index(column.casefold()))
        elif column.isdigit() and 1 <= int(column) <= width:
            places.append(int(column) - 1)
        else:
            known = header or [str(k + 1) for k in range(width)]
            raise unknown_name("column", column, known)
    if len(set(places)) < len(places):
        raise ConfigError(
            f"columns must name different columns, got {', '.join(columns)}"
        )
    return dict(zip(needed, places, strict=True))


def _by_content(
    path: str | Path,
    rows: Rows,
    header: Sequence[str],
    needed: Sequence[str],
    remarks: list[Remark],
) -> dict[str, int]:
    """Return the columns by their cells, where no header names them."""
    found = order_of([cells for _, cells in rows], tuple(needed), named=bool(header))
    if found.why:
        remarks.append(Remark("order", (), found.why))
    if found.refused:
        line, cells = rows[0]
        called = f" ({', '.join(header)})" if header else f", line {line}"
        raise DataError(f"{path}{called}: {found.refused.format(cells=_listed(cells))}")
    return dict(zip(needed, found.places, strict=True))
