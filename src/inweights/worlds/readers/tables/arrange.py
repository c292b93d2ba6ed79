"""Find the header and the columns of a table of facts or edges: :func:`arrange`.

It uses the words of the first row, cells that occur again, and the form of the cells
below. If these are not sufficient, it raises an error that names the option to set. Its
guesses become remarks. Readers of text (``graphs``, ``knowledge/rows``) call it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from inweights.errors import ConfigError, DataError, unknown_name
from inweights.worlds.readers.remark import Remark
from inweights.worlds.readers.tables.first_row import Rows, called, is_header, listed
from inweights.worlds.readers.tables.headers import (
    FACTS,
    places_of,
)
from inweights.worlds.readers.tables.order import order_of

#: Values that Gephi writes in a column called type.
_DIRECTIONS = {"directed", "undirected", "mutual"}


class Layout(NamedTuple):
    """Header and columns of a table, as specified by the caller.

    Attributes:
        header: Whether the first row is a header; ``None`` to infer it from the rows.
        columns: Names or numbers (from 1) of the columns of subject, relation and
            object, or of both ends of an edge; with ``wide``, only of the column of the
            subjects. If empty, the columns are inferred.
        wide: Whether the first column contains subjects, and each further column is a
            relation.
    """

    header: bool | None = None
    columns: tuple[str, ...] = ()
    wide: bool = False


class Arranged(NamedTuple):
    """The rows of a table that contain facts or edges, and their columns.

    Attributes:
        places: Index of the column (from 0) of each role: ``subject``, ``relation`` and
            ``object``, or for edges ``subject`` and ``object``.
        header: Cells of the header; empty if there is none.
        rows: All other rows, as pairs of the number of the line in the file (from 1)
            and the list of its cells.
        remarks: Remarks on assumptions.
    """

    places: Mapping[str, int]
    header: tuple[str, ...]
    rows: Rows
    remarks: list[Remark]


def parse_columns(text: str) -> tuple[str, ...]:
    """Split a text at commas into names or numbers of columns.

    Args:
        text: Names or numbers, separated by commas.

    Returns:
        The parts in order, without surrounding spaces and without blank parts; empty
        for an empty string.

    Example:
        >>> parse_columns("head, tail,relation")
        ('head', 'tail', 'relation')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def arrange(
    path: str | Path, rows: Rows, layout: Layout, needed: Sequence[str] = FACTS
) -> Arranged:
    """Find the header and the columns of a table.

    Args:
        path: The file, used in error messages.
        rows: Line number and cells of each row, including the first one.
        layout: Header and columns, as specified by the caller; ``wide`` has no effect.
        needed: Roles of the required columns: ``FACTS`` (``subject``, ``relation``,
            ``object``) or ``EDGES`` (``subject``, ``object``).

    Returns:
        The columns, the header, all other rows, and remarks on assumptions. Without
        rows, the columns are those of ``needed`` in order, regardless of ``layout``.

    Raises:
        UnclearHeaderError: It is unclear whether the first row is a header (a
            ``DataError``).
        DataError: There are too few columns, or the rows do not show which columns are
            the required ones.
        ConfigError: The caller does not name one column for each role, names a column
            twice, or names one that does not exist.
    """
    if not rows:
        in_order = {role: place for place, role in enumerate(needed)}
        return Arranged(in_order, (), rows, [])
    _refuse_narrow(path, rows, needed)
    line, first = rows[0]
    first = [cell.strip().removeprefix("#").strip() for cell in first]
    given = layout.header
    if given is None and not all(map(str.isdigit, layout.columns)):
        given = True  # words can only refer to names in a header
    header, why, sure = is_header(path, rows, given, needed)
    body = rows[1:] if header else rows
    remarks = []
    if header:
        sentence = f"line {line} is read as the header ({why}): {listed(first)}"
        remarks.append(Remark("header", (line,), sentence, sure))
    elif why:
        sentence = f"line {line} is read as {called(needed)}, not as a header: {why}"
        remarks.append(Remark("header", (line,), sentence, sure))
    names = tuple(first) if header else ()
    if layout.columns:
        places = _chosen(layout.columns, names, len(first), needed)
    else:
        known = _known_places(first, body, needed) if header else None
        places = known or _by_content(path, body, names, needed, remarks)
    unread = [name for k, name in enumerate(names) if k not in places.values()]
    if unread:
        sentence = f"columns that are not read: {listed(unread)}"
        remarks.append(Remark("columns", (line,), sentence, sure=True))
    return Arranged(places, names, body, remarks)


def _known_places(
    header: Sequence[str], rows: Rows, needed: Sequence[str]
) -> dict[str, int] | None:
    """Return the columns that the words of a header name; ``None`` if these are unknown.

    A column of directions of edges is not regarded as the relation.
    """
    found = places_of(header, needed)
    if found and "relation" in needed:
        place = found["relation"]
        kinds = set()
        for _, cells in rows:
            if place < len(cells):
                kinds.add(cells[place].strip().lower())
        if kinds and kinds <= _DIRECTIONS:
            others = ["" if k == place else name for k, name in enumerate(header)]
            return places_of(others, needed)
    return found


def _refuse_narrow(path: str | Path, rows: Rows, needed: Sequence[str]) -> None:
    """Raise an error for a table with too few columns, with or without a header."""
    width = max(len(cells) for _, cells in rows)
    if width < len(needed):
        found = order_of([[""] * width], tuple(needed), named=False)
        raise DataError(f"{path}: {found.refused}")


def _chosen(
    columns: Sequence[str], header: Sequence[str], width: int, needed: Sequence[str]
) -> dict[str, int]:
    """Return the columns that the caller specifies, by name or by number from 1."""
    if len(columns) != len(needed):
        raise ConfigError(
            f"'columns' must contain {len(needed)} names, for {', '.join(needed)}; got "
            f"{', '.join(columns)}"
        )
    lower = list(map(str.casefold, header))
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
            f"'columns' must name different columns, got {', '.join(columns)}"
        )
    return dict(zip(needed, places, strict=True))


def _by_content(
    path: str | Path,
    rows: Rows,
    header: Sequence[str],
    needed: Sequence[str],
    remarks: list[Remark],
) -> dict[str, int]:
    """Return the columns as inferred from their cells, if the header does not name them."""
    found = order_of([cells for _, cells in rows], tuple(needed), named=bool(header))
    if found.why:
        remarks.append(Remark("order", (), found.why))
    if found.refused:
        line, cells = rows[0]
        called = f" ({', '.join(header)})" if header else f", line {line}"
        raise DataError(f"{path}{called}: {found.refused.format(cells=listed(cells))}")
    return dict(zip(needed, found.places, strict=True))
