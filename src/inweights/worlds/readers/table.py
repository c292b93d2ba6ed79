"""Delimited text as rows of cells: the delimiter is found, comments and rulers are left out.

:func:`read_cells` serves facts and edges. What it assumed is a :class:`.Remark`.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from inweights.errors import DataError
from inweights.worlds.readers.remark import Remark

#: Delimiters, and what they are called.
DELIMITERS = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma", " ": "space"}
#: Lines that the delimiter is found by.
_SAMPLE = 50
_SPACED = re.compile(r'\s*"[^"]*"\s*[,;|]\s+"')
_RULER = re.compile(r"[\s:=+-]*-[\s:=+-]*")


class Cells(NamedTuple):
    """Rows of a file.

    Attributes:
        rows: The line where each begins, and its cells.
        delimiter: What stands between cells.
        remarks: What was assumed.
    """

    rows: list[tuple[int, list[str]]]
    delimiter: str
    remarks: list[Remark]


def read_cells(path: Path, text: str, *, least: int, expected: str = "") -> Cells:
    """Return all rows of delimited text that are not empty.

    Lines that begin with ``#`` are comments where they have another number of cells than most
    others; a ruler ``---|---`` of a table in Markdown is left out.

    Args:
        path: Named in errors.
        text: Content of the file.
        least: Cells that a row needs, at least: 3 of a fact, 2 of an edge.
        expected: What a broken row should be, for the message.

    Raises:
        DataError: A quoted cell does not end; names the line.
    """
    delimiter = delimiter_of(text, least)
    remarks: list[Remark] = []
    if delimiter not in ",\t":
        said = f"cells are separated by a {DELIMITERS[delimiter]}"
        remarks.append(Remark("cells", (), said, sure=delimiter in ";|"))
    if delimiter == " ":
        numbered = enumerate((line.split() for line in text.split("\n")), start=1)
        rows = [(number, cells) for number, cells in numbered if cells]
    else:
        rows = [
            (number, cells)
            for number, cells in _parsed(path, text, delimiter, expected)
            if any(cell.strip() for cell in cells)
        ]
    if delimiter == "|":
        rows = _without_bars(rows)
    width = usual_width(rows)
    rows, skipped = _without_comments(rows, width)
    if skipped:
        remarks.append(Remark("rows", tuple(skipped), "lines that begin with # are not read", True))
    return Cells(rows, delimiter, remarks)


def usual_width(rows: Sequence[tuple[int, list[str]]]) -> int:
    """Return how many cells most rows have."""
    counts = Counter(len(cells) for _, cells in rows)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def delimiter_of(text: str, least: int) -> str:
    r"""Return the delimiter that cuts most of the first lines into equally many cells.

    Example:
        >>> delimiter_of("a;b,c;d\ne;f;g", 3), delimiter_of("a b c\nd e f", 3)
        (';', ' ')
    """
    lines = [line for line in islice(io.StringIO(text), 2 * _SAMPLE) if not line.startswith("#")]
    lines = [line for line in lines if line.strip()]
    best, most = "", 0.0
    for delimiter in DELIMITERS:
        if delimiter == " ":
            widths = Counter(len(line.split()) for line in lines)
        else:
            widths = Counter(len(row) for row in _sample(lines, delimiter) if row)
        usual, count = widths.most_common(1)[0] if widths else (0, 0)
        share = count / max(widths.total(), 1)
        sure = delimiter != " " or (share == 1.0 and not best)
        if usual >= least and share > most and sure:
            best, most = delimiter, share
    if best:
        return best
    first = lines[0] if lines else ""
    return max("\t;,", key=first.count)


def _sample(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return list(islice(csv.reader(lines, delimiter=delimiter), _SAMPLE))
    except csv.Error:  # a cell that is too long, for one
        return [line.split(delimiter) for line in lines[:_SAMPLE]]


def _parsed(
    path: Path, text: str, delimiter: str, expected: str
) -> Iterator[tuple[int, list[str]]]:
    # A space before an opening quote is no part of the cell, where all cells are so.
    spaced = all(map(_SPACED.match, islice(filter(str.strip, text.split("\n")), _SAMPLE)))
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=spaced
    )
    while True:
        number = reader.line_num + 1
        try:
            cells = _next(reader, len(text))
        except StopIteration:
            return
        except csv.Error as error:
            wanted = f"expected {expected}; " if expected else ""
            raise DataError(
                f"{path}, line {number}: {wanted}{error}; quotes within a cell are doubled"
            ) from None
        yield number, cells


def _next(reader: Iterator[list[str]], most: int) -> list[str]:
    """The next row, with cells of any length: published sets list all aliases in one."""
    before = csv.field_size_limit(most)  # a global, so that it is put back at once
    try:
        return next(reader)
    finally:
        csv.field_size_limit(before)


def _without_bars(rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Rows of a table in Markdown, without its outer bars and the ruler below its header."""
    if all(cells[0].strip() == "" == cells[-1].strip() for _, cells in rows):
        rows = [(number, cells[1:-1]) for number, cells in rows]
    return [row for row in rows if not all(_RULER.fullmatch(cell) for cell in row[1])]


def _without_comments(
    rows: list[tuple[int, list[str]]], width: int
) -> tuple[list[tuple[int, list[str]]], list[int]]:
    """Rows that are no comments, and the lines of the others."""
    skipped = [
        number
        for number, cells in rows
        if cells[0].lstrip().startswith("#") and len(cells) != width
    ]
    gone = set(skipped)
    return [row for row in rows if row[0] not in gone], skipped
