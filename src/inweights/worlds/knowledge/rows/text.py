"""Read facts from delimited text, such as CSV, row by row.

:func:`text_rows` reads the text of a file, and :func:`table_rows` any table of cells.
Both yield :class:`Row` objects, as do all readers that ``files`` calls.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from pathlib import Path

from inweights.errors import DataError
from inweights.worlds.knowledge.rows.row import Row, fields_at, row_of
from inweights.worlds.readers import published
from inweights.worlds.readers.neo4j import export_facts, is_export
from inweights.worlds.readers.remark import Remark
from inweights.worlds.readers.tables.arrange import Arranged, Layout, arrange
from inweights.worlds.readers.tables.first_row import Rows
from inweights.worlds.readers.tables.headers import FACTS
from inweights.worlds.readers.tables.table import read_cells, usual_width

#: Brackets that may enclose every line of a file.
_BRACKETS = {("(", ")"), ("[", "]"), ("<", ">")}
#: Quotes that may enclose every cell of a file, besides those that the parser removes.
_QUOTES = (("'", "'"), ("“", "”"), ("„", "“"), ("«", "»"), ("`", "`"), ("‘", "’"))


def text_rows(
    path: Path, text: str, layout: Layout, remarks: list[Remark]
) -> Iterator[Row]:
    """Yield the facts of delimited text.

    Tables of TwoHopFact and SOCRATES and exports of Neo4j are recognised by their
    header; any other text is a table of facts (:func:`table_rows`).

    Args:
        path: The file, used in error messages.
        text: Content of the file.
        layout: Header and columns, as specified by the caller.
        remarks: List to which remarks on assumptions are appended.

    Yields:
        The facts in the order of the file; none if the text has no rows.

    Raises:
        UnclearHeaderError: It is unclear whether the first row is a header.
        DataError: A row is not a fact; the message gives the line number.
        ConfigError: A column that the layout names does not exist.
    """
    table = read_cells(path, _without_brackets(text, remarks), least=3)
    remarks += table.remarks
    names = [cell.strip().lower() for cell in table.rows[0][1]] if table.rows else []
    if published.is_two_hop(names):
        yield from _chains(path, names, table.rows[1:])
    elif is_export(names):
        yield from starmap(Row, export_facts(path, table.rows, remarks))
    else:
        yield from table_rows(path, table.rows, layout, remarks)


def _without_brackets(text: str, remarks: list[Remark]) -> str:
    """Return the text without brackets that enclose every line, such as those of Python tuples."""
    lines = list(map(str.strip, text.split("\n")))
    written = [line.rstrip(",;.") for line in lines if line]
    pairs = {(line[:1], line[-1:]) for line in written}
    if len(written) < 2 or len(pairs) != 1 or not pairs <= _BRACKETS:
        return text
    # In RDF each name has its own angle brackets, which do not enclose the whole line.
    if pairs == {("<", ">")} and "://" in text:
        return text
    if not all(map(_is_balanced, written)):
        return text
    sentence = "every line is enclosed in brackets, which are removed"
    remarks.append(Remark("cells", (), sentence))
    return "\n".join(line.rstrip(",;.")[1:-1] if line else "" for line in lines)


def _is_balanced(line: str) -> bool:
    """Return whether the last bracket of a line closes the first; False for ``[a],in,[b]``."""
    depth = 0
    for letter in line[1:-1]:
        if letter == line[0]:
            depth += 1
        elif letter == line[-1]:
            depth -= 1
        if depth < 0:
            return False
    return depth == 0


def table_rows(
    path: str | Path,
    rows: Rows,
    layout: Layout,
    remarks: list[Remark],
    *,
    line: str = "line",
) -> Iterator[Row]:
    """Yield the facts of a table: one per row, or with ``layout.wide`` one per cell.

    Args:
        path: The file, used in error messages.
        rows: Line number and cells of each row, with the header if there is one.
        layout: Header and columns, as specified by the caller.
        remarks: List to which remarks on assumptions are appended.
        line: Unit of the row numbers in messages, such as ``line`` or ``row``.

    Yields:
        The facts in the order of the rows. Titles above the table, which have a single
        cell, are skipped. With ``layout.wide``, empty cells are skipped as well.

    Raises:
        UnclearHeaderError: It is unclear whether the first row is a header.
        DataError: A row is not a fact (the message gives the line number), or with
            ``layout.wide``, the column of the subjects does not exist or a row has more
            cells than the header.
        ConfigError: A column that ``layout.columns`` names does not exist.
    """
    if layout.wide:
        yield from _wide_rows(path, rows, layout, remarks)
        return
    usual = usual_width(rows)
    while rows and not layout.columns and _is_note(rows[0], usual, remarks):
        rows = rows[1:]
    arranged = arrange(path, rows, layout)
    remarks += arranged.remarks
    quotes = _quotes(arranged)
    if quotes:
        sentence = f"every name is enclosed in quotes, {quotes[0]}…{quotes[1]}, which are removed"
        remarks.append(Remark("cells", (), sentence))
    width = len(arranged.header)
    exact = not arranged.header and not layout.columns
    joined: list[int] = []
    for number, given in arranged.rows:
        where = f"{path}, {line} {number}"
        cells = given
        if width or exact:
            cells = _joined(cells, width or len(FACTS), arranged.places, where, joined)
        fields, stage = fields_at(cells, arranged.places, exact=exact)
        if quotes:
            fields = [field.strip()[1:-1] for field in fields]
        yield row_of(fields, stage, number, where)
    if joined:
        sentence = (
            "a comma followed by a space is read as part of the name; put such names in "
            "quotes"
        )
        sentence = f"lines {_some(joined)}: {sentence}"
        remarks.append(Remark("cells", tuple(joined), sentence))


def _joined(
    cells: list[str],
    width: int,
    places: Mapping[str, int],
    where: str,
    joined: list[int],
) -> list[str]:
    """Return the cells of a row; a name that was split at a comma and a space is rejoined.

    Args:
        cells: Cells of the row.
        width: Number of cells of a valid row.
        places: Index of the column of each role.
        where: File and line, used in error messages.
        joined: List to which the line is appended if cells were joined.

    Raises:
        DataError: The row has too many cells for another reason.
    """
    extra = cells[width:]
    if not any(map(str.strip, extra)):
        return cells[:width]
    last = places["object"] == width - 1
    if last and all(cell.startswith(" ") for cell in extra):
        joined.append(int(where.rsplit(" ", 1)[1]))
        return [*cells[: width - 1], ",".join(cells[width - 1 :])]
    raise DataError(
        f"{where}: expected {width} fields, got {len(cells)}; put a name that contains the "
        "delimiter in double quotes"
    )


def _some(lines: Sequence[int]) -> str:
    """List the first five lines."""
    listed = ", ".join(map(str, lines[:5]))
    return f"{listed} …" if len(lines) > 5 else listed


def _is_note(row: tuple[int, list[str]], usual: int, remarks: list[Remark]) -> bool:
    """Return whether a row is a title above a table, which has one cell, unlike the other rows."""
    number, cells = row
    filled = [cell for cell in cells if cell.strip()]
    if len(filled) > 1 or usual < len(FACTS) or len(cells) == usual:
        return False
    sentence = f"line {number} is not a fact and is not read: {filled[0]}"
    remarks.append(Remark("rows", (number,), sentence))
    return True


def _quotes(arranged: Arranged) -> tuple[str, str] | None:
    """Return the quotes that enclose every name; ``None`` if there are none."""
    if len(arranged.rows) < 2:
        return None
    places = [arranged.places[role] for role in FACTS]
    for begin, end in _QUOTES:
        if _all_within(arranged.rows, places, begin, end):
            return begin, end
    return None


def _all_within(rows: Rows, places: Sequence[int], begin: str, end: str) -> bool:
    """Return whether all cells of the given columns are names in quotes."""
    for _, cells in rows:
        for place in places:
            if place >= len(cells) or not _is_within(cells[place].strip(), begin, end):
                return False
    return True


def _is_within(cell: str, begin: str, end: str) -> bool:
    """Return whether a cell is a name in quotes."""
    return len(cell) > 2 and cell.startswith(begin) and cell.endswith(end)


def _wide_rows(
    path: str | Path, rows: Rows, layout: Layout, remarks: list[Remark]
) -> Iterator[Row]:
    """Yield a fact for each cell; one column contains subjects, and all others are relations."""
    if not rows:
        return
    line, header = rows[0]
    names = list(map(str.strip, header))
    subject = 0
    if layout.columns:
        lower = list(map(str.casefold, names))
        if len(layout.columns) != 1 or layout.columns[0].casefold() not in lower:
            raise DataError(
                f"{path}: with --wide, --columns must name only the column of the subjects; the "
                f"columns are {', '.join(names)}"
            )
        subject = lower.index(layout.columns[0].casefold())
    blank = 0
    for number, cells in rows[1:]:
        where = f"{path}, line {number}"
        if len(cells) > len(names):
            raise DataError(
                f"{where}: the row has {len(cells)} cells, but the header has {len(names)}"
            )
        for k, cell in enumerate(cells):
            if k == subject or not names[k]:
                continue
            if cell.strip():
                yield row_of([cells[subject], names[k], cell], "", number, where)
            else:
                blank += 1
    others = ", ".join(name for k, name in enumerate(names) if k != subject and name)
    sentence = (
        f"each column is a relation of {names[subject]}: {others}; {blank} empty cells"
    )
    remarks.append(Remark("order", (line,), sentence, sure=True))


def _chains(path: Path, names: list[str], rows: Rows) -> Iterator[Row]:
    """Yield both facts of each row of TwoHopFact or SOCRATES."""
    for number, cells in rows:
        where = f"{path}, line {number}"
        if len(cells) != len(names):
            raise DataError(
                f"{where}: the row has {len(cells)} cells, but the header has {len(names)}"
            )
        facts = published.two_hop_facts(dict(zip(names, cells, strict=True)), where)
        yield from (Row(number, fact, chain=True) for fact in facts)
