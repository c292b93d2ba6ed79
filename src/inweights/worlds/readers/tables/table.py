"""Split delimited text into rows of cells, detect the delimiter and leave out comments.

:func:`read_cells` splits files of facts and edges. It returns its assumptions as
:class:`.Remark` objects.
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

#: Delimiters and their names.
DELIMITERS = {
    "\t": "tab",
    ";": "semicolon",
    "|": "bar",
    ",": "comma",
    " ": "space",
}
#: Number of lines from which the delimiter is detected.
_SAMPLE = 50
_SPACED = re.compile(r'\s*"[^"]*"\s*[,;|]\s+"')
_RULER = re.compile(r"[\s:=+-]*-[\s:=+-]*")


class Cells(NamedTuple):
    """Rows and cells of a file of delimited text.

    Attributes:
        rows: Number of the line (from 1) in which each row begins, and the cells of the
            row.
        delimiter: Character between cells, a key of :data:`DELIMITERS`. A space means
            any white space.
        remarks: Remarks on assumptions.
    """

    rows: list[tuple[int, list[str]]]
    delimiter: str
    remarks: list[Remark]


def read_cells(path: Path, text: str, *, least: int, expected: str = "") -> Cells:
    """Split delimited text into rows and cells; blank rows are left out.

    Lines that begin with ``#`` are comments if their number of cells differs from that
    of most rows. Outer bars of a Markdown table, and the line ``---|---`` below its
    header, are left out.

    Args:
        path: The file, used in error messages.
        text: Content of the file.
        least: Smallest number of cells of a row: 3 for a fact, 2 for an edge.
        expected: Description of a valid row, for the message about a damaged one; may
            be empty.

    Returns:
        The rows, the delimiter, and remarks on assumptions.

    Raises:
        DataError: A quoted cell does not end, or is followed by text; the message gives
            the line number.
    """
    delimiter = delimiter_of(text, least)
    remarks: list[Remark] = []
    if delimiter not in ",\t":
        sentence = f"cells are separated by a {DELIMITERS[delimiter]}"
        remarks.append(Remark("cells", (), sentence, sure=delimiter in ";|"))
    if delimiter == " ":
        numbered = enumerate(map(str.split, text.split("\n")), start=1)
        rows = [(number, cells) for number, cells in numbered if cells]
    else:
        parsed = _parsed(path, text, delimiter, expected)
        rows = [(number, cells) for number, cells in parsed if "".join(cells).strip()]
    if delimiter == "|":
        rows = _without_bars(rows)
    width = usual_width(rows)
    rows, skipped = _without_comments(rows, width)
    if skipped:
        remarks.append(
            Remark("rows", tuple(skipped), "lines that begin with # are not read", True)
        )
    return Cells(rows, delimiter, remarks)


def usual_width(rows: Sequence[tuple[int, list[str]]]) -> int:
    """Return the most frequent number of cells per row, or 0 if there are no rows.

    Args:
        rows: Line number and cells of each row.
    """
    counts = Counter(len(cells) for _, cells in rows)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def delimiter_of(text: str, least: int) -> str:
    r"""Return the delimiter that splits most of the first lines into the same number of cells.

    If no delimiter splits them into enough cells, the tab, semicolon or comma that
    occurs most often in the first line is returned.

    Args:
        text: Content of the file.
        least: Smallest number of cells in a row.

    Returns:
        A tab, semicolon, bar, comma, or (for any white space) a space.

    Example:
        >>> delimiter_of("a;b,c;d\ne;f;g", 3), delimiter_of("a b c\nd e f", 3)
        (';', ' ')
    """
    lines = []
    for line in islice(io.StringIO(text), 2 * _SAMPLE):
        is_comment = line.startswith("#")
        if not is_comment and line.strip():
            lines.append(line)
    best = ""
    most = 0.0
    for delimiter in DELIMITERS:
        if delimiter == " ":
            widths = Counter(len(line.split()) for line in lines)
        else:
            widths = Counter(len(row) for row in _sample(lines, delimiter) if row)
        usual, count = widths.most_common(1)[0] if widths else (0, 0)
        share = count / max(widths.total(), 1)
        sure = delimiter != " " or (share == 1.0 and not best)
        if usual >= least and share > most and sure:
            best = delimiter
            most = share
    if best:
        return best
    first = lines[0] if lines else ""
    return max("\t;,", key=first.count)


def _sample(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return the first lines, split by a delimiter."""
    try:
        return list(islice(csv.reader(lines, delimiter=delimiter), _SAMPLE))
    except csv.Error:  # for example, a cell is too long
        return [line.split(delimiter) for line in lines[:_SAMPLE]]


def _parsed(
    path: Path, text: str, delimiter: str, expected: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of text with quoted cells, each with the line in which it begins."""
    # A space before an opening quote is not part of the cell if all of the first lines
    # have such spaces.
    spaced = all(
        map(_SPACED.match, islice(filter(str.strip, text.split("\n")), _SAMPLE))
    )
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        strict=True,
        skipinitialspace=spaced,
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
                f"{path}, line {number}: {wanted}{error}; if a cell contains a quote, the "
                "quote must be doubled"
            ) from None
        yield number, cells


def _next(reader: Iterator[list[str]], most: int) -> list[str]:
    """Return the next row, with cells of up to ``most`` characters."""
    before = csv.field_size_limit(most)  # a global limit, which is reset at once
    try:
        return next(reader)
    finally:
        csv.field_size_limit(before)


def _without_bars(rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Return the rows of a Markdown table without outer bars and the line ``---|---``."""
    if all(cells[0].strip() == "" == cells[-1].strip() for _, cells in rows):
        rows = [(number, cells[1:-1]) for number, cells in rows]
    return [row for row in rows if not all(map(_RULER.fullmatch, row[1]))]


def _without_comments(
    rows: list[tuple[int, list[str]]], width: int
) -> tuple[list[tuple[int, list[str]]], list[int]]:
    """Return the rows that are not comments, and the line numbers of the comments."""
    skipped = []
    for number, cells in rows:
        # A name may begin with #, so that a row with the usual number of cells is not a
        # comment.
        begins = cells[0].lstrip().startswith("#")
        if begins and len(cells) != width:
            skipped.append(number)
    gone = set(skipped)
    return [row for row in rows if row[0] not in gone], skipped
