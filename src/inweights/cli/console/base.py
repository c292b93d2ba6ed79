"""Shared parts of printing: the two streams, tables and JSON.

:data:`out` and :data:`err` are the streams; :func:`table` and :func:`listing` create
tables. Names may come from files, folders and plugins written by other people. They are
treated as plain text: nothing is interpreted as markup, and control characters are
shown as escapes instead of being sent to the terminal. For styled text, :func:`line`
takes pairs of text and style.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from inweights.support.limits import usable_cores

if TYPE_CHECKING:
    import polars as pl

    from inweights.worlds.readers.remark import Remark

#: Number of columns of a terminal in which all output fits.
WIDTH = 80

#: Characters that a terminal may interpret, except the end of a line.
_CONTROL = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


class PlainConsole(Console):
    """A console that does not interpret markup and shows control characters as escapes.

    Args:
        stderr: If true, print on the error stream; by default on the output stream.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        """Open the error stream if ``stderr`` is set, otherwise the output stream."""
        super().__init__(
            highlight=False,
            markup=False,
            emoji=False,
            stderr=stderr,
        )

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments to print, with control characters shown as escapes.

        Args:
            renderable: The object to print: a text, a table or another renderable of
                rich.
            options: Options of rich. If it is ``None`` (the default), the console's
                options are used.
        """
        for segment in super().render(renderable, options):
            if segment.control or not _CONTROL.search(segment.text):
                yield segment
            else:
                text = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], segment.text)
                yield Segment(text, segment.style)


#: The output stream.
out = PlainConsole()
#: The error stream.
err = PlainConsole(stderr=True)


def line(*parts: str | tuple[str, str]) -> Text:
    """Create a styled text to be printed on :data:`out`.

    Args:
        *parts: Texts, or pairs of a text and a style, such as ``("certified",
            "green")``.

    Returns:
        A ``Text`` of rich.
    """
    return Text.assemble(*parts)


def say(*parts: str | tuple[str, str], soft_wrap: bool = False) -> None:
    """Print a line on the output stream.

    Args:
        *parts: Texts, or pairs of a text and a style.
        soft_wrap: If true, long lines are wrapped by the terminal. By default, rich
            wraps them.
    """
    out.print(line(*parts), soft_wrap=soft_wrap)


def assumed(remarks: Iterable[Remark]) -> None:
    """Print on the error stream which assumptions were made when a file was read.

    Args:
        remarks: Remarks of the function that read the file. Only uncertain ones
            (``sure`` is false) are printed, one per line.
    """
    for remark in remarks:
        if not remark.sure:
            err.print(f"inweights: assumed: {remark.text}", soft_wrap=True)


def ask(question: str) -> bool | None:
    """Ask a yes-or-no question on the terminal, repeatedly until it is answered.

    Args:
        question: The question.

    Returns:
        True for yes, False for no, and ``None`` if there is no terminal or the input
        ends.
    """
    if not (err.is_terminal and sys.stdin.isatty()):
        return None
    while True:
        err.print(f"{question} [y/n] ", end="", soft_wrap=True)
        answer = sys.stdin.readline()
        if not answer:
            return None
        if answer.strip().lower() in ("y", "yes", "n", "no"):
            return answer.strip().lower().startswith("y")


def cores(device: str, scale: str) -> int:
    """Return the default number of processes for training.

    Args:
        device: Torch device. For any device other than ``cpu``, the result is 1.
        scale: Scale of the recipe. For ``smoke``, the result is 1.

    Returns:
        The number of cores that this process may use, or 1.
    """
    return 1 if device != "cpu" or scale == "smoke" else usable_cores()


def flat(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Convert nested settings to strings ``key.path=value``, with values written as JSON.

    Args:
        values: The settings. A nested mapping results in longer paths; an empty mapping
            is left out.
        prefix: Path of ``values`` itself, ending in a dot; by default empty.

    Returns:
        One string per value, in the order of ``values``.

    Raises:
        TypeError: A value cannot be written as JSON.

    Example:
        >>> flat({"n": 10, "gpt": {"decay": 3.0}})
        ['n=10', 'gpt.decay=3.0']
    """
    changes = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            changes += flat(value, f"{prefix}{key}.")
        else:
            changes.append(f"{prefix}{key}={msgspec.json.encode(value).decode()}")
    return changes


def cut(text: str, width: int) -> str:
    """Return a text shortened to one line of limited length, which ends with ``…`` if it was cut.

    Args:
        text: The text. If it has several lines, all white space in it is replaced by
            single spaces.
        width: Maximum number of characters, at least 1.
    """
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def table(*columns: str) -> Table:
    """Build an empty table of rich in the common style, without borders.

    Args:
        *columns: Headings of the columns.
    """
    made = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="dim",
    )
    for column in columns:
        made.add_column(
            column,
            no_wrap=column in ("verdict", "hash", "recipe", "when"),
            overflow="fold",
        )
    return made


def listing(
    rows: pl.DataFrame | Sequence[Mapping[str, Any]], cells: Mapping[str, str]
) -> None:
    """Print a table whose cells are formatted by format strings.

    A cell is empty if the row lacks a value that the format names, or the value is
    ``None``.

    Args:
        rows: The rows, as a data frame or as mappings from column name to value.
        cells: Format string of each column, by heading. It refers to the values of a
            row by name, as in ``"{low:.2f} to {high:.2f}"``.
    """
    listed = table(*cells)
    named = rows if isinstance(rows, Sequence) else rows.iter_rows(named=True)
    for row in named:
        listed.add_row(*(_cell(form, row) for form in cells.values()))
    out.print(listed)


def _cell(form: str, row: Mapping[str, Any]) -> str:
    shown = [row.get(name) for _, name, _, _ in Formatter().parse(form) if name]
    # Number formats do not accept None, so a cell with a missing value is empty.
    return "" if None in shown else form.format_map(row)


def print_json(value: Any) -> None:
    """Print a value as JSON; data frames become lists of rows, and NaN becomes null.

    Args:
        value: Plain values, dataclasses, structs and polars DataFrames, nested in any way.

    Raises:
        AttributeError: The value contains an object of another class.
    """
    rows = msgspec.json.encode(value, enc_hook=lambda frame: frame.to_dicts())
    text = msgspec.json.format(rows).decode()
    # Not printed with rich, which would break lines. Characters that a terminal would
    # interpret, such as marks of direction, are escaped, although JSON does not require
    # this.
    print(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def parts_of(made: object, names: str) -> dict[str, Any]:
    """Return the named attributes of an object as a dictionary.

    Args:
        made: The object.
        names: Names of the attributes, separated by spaces.

    Returns:
        Dictionary from attribute name to value.

    Raises:
        AttributeError: The object lacks an attribute.
    """
    return {name: getattr(made, name) for name in names.split()}


def written_page(page: Path, *, json: bool) -> None:
    """Print the path of a page that was written, as a ``file://`` address or as JSON.

    Args:
        page: Path of the page.
        json: If true, print a JSON object with the path under ``page``, instead of the
            address.
    """
    if json:
        print_json({"page": str(page)})
    else:
        out.print(f"page  {page.resolve().as_uri()}", soft_wrap=True)
