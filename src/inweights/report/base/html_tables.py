"""Show the first rows of tables in HTML, with a CSV download of small tables.

Pages of runs use :func:`preview`. Pages about facts use :func:`sortable`, whose headers
sort the rows. Text is escaped as in :mod:`inweights.report.base.html`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from inweights.report.base.frames import csv_text
from inweights.report.base.html import data_uri, escape, tag
from inweights.report.base.tidy import plain
from inweights.support.progress import plural

#: Number of rows of a table that are shown.
PREVIEW_ROWS = 50
#: Number of rows that are shown of a table that can be sorted.
SORTABLE_ROWS = 200
#: Largest size of a CSV file that is included in a page, in bytes.
CSV_BYTES = 200_000
#: Largest length of a list in a cell that is shown; of longer lists, only the length is
#: shown.
LIST_SHOWN = 8


def preview(name: str, table: pl.DataFrame, rows: int = PREVIEW_ROWS) -> str:
    """Return the first rows of a table as HTML, with a CSV download if the table is small.

    Args:
        name: Name of the table, and of the downloaded file without ``.csv``.
        table: The table.
        rows: Maximum number of rows to show; by default 50.

    Returns:
        A note with the number of rows, a link that downloads the whole table as CSV (if
        the file has at most 200,000 bytes), and the table. For lists of more than eight
        values, only the length is shown.
    """
    head = list(map(escape, table.columns))
    grid = _grid(table.head(rows), head, _plain_cell, "data")
    size = plural(table.height, "row")
    if table.height > rows:
        size += f", the first {rows} shown"
    return _framed(name, grid, f"{size}. ", _csv_link(name, table))


def sortable(title: str, table: pl.DataFrame) -> str:
    """Return the first rows of a table as HTML with sortable columns and a CSV download.

    Args:
        title: Title of the table. The downloaded file has the same name, in lower case
            and with spaces replaced by hyphens.
        table: The table, of which at most 200 rows are shown. Its values must be text,
            numbers, Booleans, dates or null.

    Returns:
        A link that downloads the whole table as CSV (if the file has at most 200,000
        bytes), and the table, preceded by a note if rows are left out.

    Raises:
        TypeError: The table contains lists.
    """
    names = (escape(column.replace("_", " ")) for column in table.columns)
    head = [tag("button", name, type="button") for name in names]
    grid = _grid(table.head(SORTABLE_ROWS), head, _sorted_cell, "data sortable")
    note = ""
    if table.height > SORTABLE_ROWS:
        note = f"The first {SORTABLE_ROWS} of {table.height:,} rows. "
    return _framed(title, grid, note, _csv_link(title.lower().replace(" ", "-"), table))


def _grid(
    table: pl.DataFrame,
    head: Sequence[str],
    cell: Callable[[Any, str | None], str],
    class_: str,
) -> str:
    kinds = ["num" if dtype.is_numeric() else None for dtype in table.dtypes]
    named = (
        tag("th", name, scope="col", class_=k)
        for name, k in zip(head, kinds, strict=True)
    )
    rows = (tag("tr", *map(cell, row, kinds)) for row in zip(*table, strict=True))
    inside = tag("thead", tag("tr", *named)), tag("tbody", *rows)
    return tag("table", *inside, class_=class_)


def _framed(name: str, grid: str, note: str, link: str) -> str:
    return tag("p", escape(note), link, class_="note") + tag(
        "div", grid, class_="scroll", tabindex="0", role="region", aria_label=name
    )


def _csv_link(name: str, table: pl.DataFrame) -> str:
    """Return a link that downloads the whole table as CSV; empty if the table is large."""
    # The size is estimated first, since writing long lists takes much time and memory.
    lists = (column.list.len().sum() for column in table if column.dtype == pl.List)
    if 2 * sum(lists) > CSV_BYTES:  # a value takes at least two characters
        return ""
    content = _csv(table)
    if len(content) > CSV_BYTES:
        return ""
    address = data_uri(content, "text/csv;charset=utf-8")
    return tag("a", "Download CSV", href=address, download=f"{name}.csv")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _plain_cell(value: Any, class_: str | None) -> str:
    if isinstance(value, pl.Series):  # a list, which may be long
        value = f"{len(value):,} values" if len(value) > LIST_SHOWN else value.to_list()
    text = plain(value)
    if _is_missing(value):
        text = "–"
    elif isinstance(value, float):
        text = f"{value:.4g}".replace("-", "−")
    return tag("td", escape(text), class_=class_)


def _sorted_cell(value: Any, class_: str | None) -> str:
    if _is_missing(value):
        return tag("td", "–", class_=class_, data_value="")
    if class_ is None:
        return tag("td", escape({True: "yes", False: "no"}.get(value, value)))
    shown = f"{value:.3g}" if isinstance(value, float) else f"{value:,}"
    return tag(
        "td", escape(shown.replace("-", "−")), class_=class_, data_value=str(value)
    )


def _csv(table: pl.DataFrame) -> bytes:
    texts: list[pl.Series] = []
    for column in table:
        if column.dtype.is_nested():
            values = list(map(plain, column.to_list()))
            texts.append(pl.Series(column.name, values, dtype=pl.String))
    return csv_text(table.with_columns(texts)).encode()
