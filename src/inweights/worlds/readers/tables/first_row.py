"""Decide whether the first row of a table is a header: :func:`is_header`.

It considers the words of the row, cells that occur again below, and the form of the
cells below. ``arrange.py`` calls it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from inweights.errors import DataError
from inweights.worlds.readers.tables.headers import (
    EDGES,
    FACTS,
    LONGEST,
    has_clear_word,
    is_numbered,
    places_of,
    without_accents,
)

Rows = Sequence[tuple[int, list[str]]]


#: Patterns of cells that a header does not contain.
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


#: Largest number of a row's cells that a message shows.
_SHOWN = 8


class UnclearHeaderError(DataError):
    """Error raised if it is unclear whether the first row of a file is a header.

    Attributes:
        cells: Cells of that row.
    """

    cells: tuple[str, ...] = ()


def is_header(
    path: str | Path, rows: Rows, given: bool | None, needed: Sequence[str]
) -> tuple[bool, str, bool]:
    """Return whether the first row of a table is a header, why, and whether this is certain.

    Args:
        path: The file, used in error messages.
        rows: Line number and cells of each row; at least one row.
        given: Whether the caller says that the row is a header; ``None`` to infer this.
        needed: Roles of the required columns: ``FACTS`` (``subject``, ``relation``,
            ``object``) or ``EDGES`` (``subject``, ``object``).

    Returns:
        Three values: whether the row is a header; the reason in words, for a remark
        (may be empty); and whether this is certain. If it is not certain, the first
        value is a guess, and the caller should show the remark.

    Raises:
        UnclearHeaderError: It is unclear whether the row is a header, and ``given`` is
            ``None`` (a ``DataError``).
    """
    line, cells = rows[0]
    first = list(map(str.strip, cells))
    if given is not None:
        return given, "as specified" if given else "", True
    places = places_of([cell.removeprefix("#").strip() for cell in first], needed)
    again = _occur_again(rows)
    if places is not None:
        # One word of a header may occur again below, but two of them hardly do. Of
        # single letters, such as s, r, o, one occurrence is enough.
        own = [first[places[role]] for role in needed]
        same = sum(again[places[role]] for role in needed)
        letters = all(len(cell) == 1 for cell in own)
        if not same or (same == 1 and not letters):
            return True, "its words are names of columns", not letters
        if letters:
            return False, "its letters occur again below", False
    elif is_numbered(first) and not any(map(_shaped, first)):
        return True, "its cells number the columns", False
    elif len(rows) == 1:
        return False, "there is no other row", False
    elif any(again) and not has_clear_word(_only_here(first, again)):
        return False, "", True
    elif not any(again):
        for place, cell in enumerate(first):
            below = [row[place].strip() for _, row in rows[1:] if place < len(row)]
            shaped = len(below) > 1 and all(map(_shaped, below))
            letters = len(cell) == 1 and all(len(other) == 1 for other in below)
            if letters or (shaped and _shaped(cell)):
                return False, f"'{cell}' has the form of the cells below it", True
            if shaped and cell:
                return (
                    True,
                    f"all cells below '{cell}' are numbers, dates or addresses",
                    False,
                )
    raise _unclear(path, line, first, needed)


def _unclear(
    path: str | Path, line: int, cells: Sequence[str], needed: Sequence[str]
) -> UnclearHeaderError:
    """Return the error for a first row that may or may not be a header."""
    wide = ""
    if needed == FACTS:
        wide = ", or --wide if each column is a relation of the first"
    error = UnclearHeaderError(
        f"{path}, line {line}: {listed(cells)} may be a header or {called(needed)}; "
        f"specify --header yes or --header no{wide} (in Python header=True or "
        "header=False)"
    )
    error.cells = tuple(cells)
    return error


def called(needed: Sequence[str]) -> str:
    """Return the term for a row in messages: ``a fact`` or ``an edge``.

    Args:
        needed: Roles of the columns. For ``EDGES`` (``subject``, ``object``) the term is
            ``an edge``; for all other roles it is ``a fact``.
    """
    return "an edge" if tuple(needed) == EDGES else "a fact"


def listed(cells: Sequence[str]) -> str:
    """Return the first eight cells of a row in quotes, each cut to 40 characters, for a message.

    Args:
        cells: Cells of the row.
    """
    shown = ", ".join(" ".join(cell.split())[:40] for cell in cells[:_SHOWN])
    return f"'{shown}'" + (" …" if len(cells) > _SHOWN else "")


def _shaped(cell: str) -> bool:
    """Return whether a cell has a form that no header has."""
    return any(shape.fullmatch(cell.strip()) for shape in _SHAPES)


def _only_here(cells: Sequence[str], again: Sequence[bool]) -> list[str]:
    """Return the cells of the first row that occur in no other row."""
    return [cell for cell, there in zip(cells, again, strict=True) if not there]


def _occur_again(rows: Rows) -> list[bool]:
    """Return which cells of the first row occur in another row."""
    first = list(map(_plain, rows[0][1]))
    there = dict.fromkeys(first, False)
    for _, cells in rows[1:]:
        for cell in cells:
            text = _plain(cell)
            if text in there:
                there[text] = True
    return [there[cell] and bool(cell) for cell in first]


@lru_cache(maxsize=2**16)
def _plain(cell: str) -> str:
    """Return a cell in lower case without accents and separators, to compare spellings."""
    if len(cell) > LONGEST:  # a longer text is not a name
        return cell
    return re.sub(r"[\s_.'-]+", "", without_accents(cell))
