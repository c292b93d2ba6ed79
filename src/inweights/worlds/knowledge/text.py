"""Rows of facts as delimited text has them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from inweights.errors import DataError
from inweights.worlds.readers import published
from inweights.worlds.readers.arrange import Arranged, Layout, Rows, arrange
from inweights.worlds.readers.headers import FACTS
from inweights.worlds.readers.neo4j import export_facts, is_export
from inweights.worlds.readers.remark import Remark
from inweights.worlds.readers.table import read_cells, usual_width

#: Quotes that may stand around every cell of a file, beside the usual ones, which are read as such.
_QUOTES = (("'", "'"), ("“", "”"), ("„", "“"), ("«", "»"), ("`", "`"), ("‘", "’"))


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


def text_rows(path: Path, text: str, layout: Layout, remarks: list[Remark]) -> Iterator[Row]:
    """Yield the facts of delimited text; what was assumed is added to ``remarks``."""
    table = read_cells(path, _without_brackets(text, remarks), least=3)
    remarks += table.remarks
    names = [cell.strip().lower() for cell in table.rows[0][1]] if table.rows else []
    if published.is_two_hop(names):
        yield from _chains(path, names, table.rows[1:])
    elif is_export(names):
        yield from (Row(line, fact) for line, fact in export_facts(path, table.rows, remarks))
    else:
        yield from table_rows(path, table.rows, layout, remarks)


def _without_brackets(text: str, remarks: list[Remark]) -> str:
    """Text without the brackets that stand around every line, as Python writes tuples."""
    lines = [line.strip() for line in text.split("\n")]
    written = [line.rstrip(",;.") for line in lines if line]
    pairs = {(line[:1], line[-1:]) for line in written}
    if len(written) < 2 or len(pairs) != 1 or not pairs <= {("(", ")"), ("[", "]"), ("<", ">")}:
        return text
    if (pairs == {("<", ">")} and "://" in text) or not all(map(_is_balanced, written)):
        return text
    said = "every line stands in brackets, which are left out"
    remarks.append(Remark("cells", (), said))
    return "\n".join(line.rstrip(",;.")[1:-1] if line else "" for line in lines)


def _is_balanced(line: str) -> bool:
    """Whether the first bracket of a line closes with its last: not so in ``[a],in,[b]``."""
    depth = 0
    for letter in line[1:-1]:
        depth += (letter == line[0]) - (letter == line[-1])
        if depth < 0:
            return False
    return depth == 0


def table_rows(
    path: str | Path, rows: Rows, layout: Layout, remarks: list[Remark], *, line: str = "line"
) -> Iterator[Row]:
    """Yield the facts of a table of text: a row each, or with ``layout.wide`` a cell each."""
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
        said = f"every name stands in quotes, {quotes[0]}…{quotes[1]}, which are left out"
        remarks.append(Remark("cells", (), said))
    width = len(arranged.header)
    exact = not arranged.header and not layout.columns
    joined: list[int] = []
    for number, given in arranged.rows:
        where, cells = f"{path}, {line} {number}", given
        if width or exact:
            cells = _joined(cells, width or len(FACTS), arranged.places, where, joined)
        fields, stage = fields_at(cells, arranged.places, exact=exact)
        if quotes:
            fields = [field.strip()[1:-1] for field in fields]
        yield row_of(fields, stage, number, where)
    if joined:
        said = "a comma followed by a space is read as part of the name; put such names in quotes"
        remarks.append(Remark("cells", tuple(joined), f"lines {_some(joined)}: {said}"))


def _joined(
    cells: list[str], width: int, places: Mapping[str, int], where: str, joined: list[int]
) -> list[str]:
    """The cells of a row, with what stands behind a comma and a space put back into its name."""
    extra = cells[width:]
    if not any(cell.strip() for cell in extra):
        return cells[:width]
    last = places["object"] == width - 1
    if last and all(cell.startswith(" ") for cell in extra):
        joined.append(int(where.rsplit(" ", 1)[1]))
        return [*cells[: width - 1], ",".join(cells[width - 1 :])]
    raise DataError(
        f"{where}: {len(cells)} field(s), expected {width}; a name with the delimiter in it must "
        "stand in double quotes"
    )


def _some(lines: Sequence[int]) -> str:
    return ", ".join(map(str, lines[:5])) + (" …" if len(lines) > 5 else "")


def _is_note(row: tuple[int, list[str]], usual: int, remarks: list[Remark]) -> bool:
    """Whether a row is a title above a table: one cell where all others have three or more."""
    number, cells = row
    filled = [cell for cell in cells if cell.strip()]
    if len(filled) > 1 or usual < len(FACTS) or len(cells) == usual:
        return False
    remarks.append(Remark("rows", (number,), f"line {number} is no fact and not read: {filled[0]}"))
    return True


def _quotes(arranged: Arranged) -> tuple[str, str] | None:
    """The quotes that stand around every name."""
    places = [arranged.places[role] for role in FACTS]
    for begin, end in _QUOTES:
        if len(arranged.rows) > 1 and all(
            place < len(cells) and _is_within(cells[place].strip(), begin, end)
            for _, cells in arranged.rows
            for place in places
        ):
            return begin, end
    return None


def _is_within(cell: str, begin: str, end: str) -> bool:
    return len(cell) > 2 and cell.startswith(begin) and cell.endswith(end)


def _wide_rows(
    path: str | Path, rows: Rows, layout: Layout, remarks: list[Remark]
) -> Iterator[Row]:
    """A fact for each cell: the first column is the subject, the header names the relations."""
    if not rows:
        return
    line, header = rows[0]
    names = [cell.strip() for cell in header]
    subject = 0
    if layout.columns:
        lower = [name.casefold() for name in names]
        if len(layout.columns) != 1 or layout.columns[0].casefold() not in lower:
            raise DataError(
                f"{path}: with --wide, --columns names the one column of the subjects; the columns "
                f"are {', '.join(names)}"
            )
        subject = lower.index(layout.columns[0].casefold())
    blank = 0
    for number, cells in rows[1:]:
        where = f"{path}, line {number}"
        if len(cells) > len(names):
            raise DataError(f"{where}: {len(cells)} cells, but the header has {len(names)}")
        for k, cell in enumerate(cells):
            if k == subject or not names[k]:
                continue
            if cell.strip():
                yield row_of([cells[subject], names[k], cell], "", number, where)
            else:
                blank += 1
    others = ", ".join(name for k, name in enumerate(names) if k != subject and name)
    said = f"each column is a relation of {names[subject]}: {others}; {blank} empty cells"
    remarks.append(Remark("order", (line,), said, sure=True))


def _chains(path: Path, names: list[str], rows: Rows) -> Iterator[Row]:
    """Both facts of each row of TwoHopFact or SOCRATES."""
    for number, cells in rows:
        where = f"{path}, line {number}"
        if len(cells) != len(names):
            raise DataError(f"{where}: {len(cells)} cells; the header has {len(names)}")
        facts = published.two_hop_facts(dict(zip(names, cells, strict=True)), where)
        yield from (Row(number, fact, chain=True) for fact in facts)


def row_of(fields: Sequence[str], stage: str, line: int, where: str) -> Row:
    """Return a fact of three fields and a stage."""
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


def fields_at(
    cells: Sequence[str], places: Mapping[str, int], *, exact: bool = False
) -> tuple[list[str], str]:
    """Return the three fields of a row in order, and its stage; all cells if some are missing."""
    needed = [places[name] for name in FACTS]
    if len(cells) <= max(needed) or (exact and len(cells) != len(FACTS)):
        return list(cells), ""
    stage = places.get("stage", len(cells))
    return [cells[place] for place in needed], cells[stage] if stage < len(cells) else ""
