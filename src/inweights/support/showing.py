"""Display an object: a few lines in a terminal, a small table in a notebook.

A class that inherits from :class:`Carded` provides a :class:`Card`, which displays its
instances as text and as HTML.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Largest number of displayed rows of a table, and of characters of a cell.
_ROWS = 10
_LETTERS = 90


@dataclass(frozen=True)
class Card:
    """Displayed content of an object: a title, named values, a table and a figure.

    Attributes:
        title: First line.
        about: Values shown below the title, keyed by name; empty for none.
        columns: Names of the columns of a table.
        rows: Rows of the table, each with one value per column. The first ten are
            displayed; empty for no table.
        picture: A figure as the bytes of an SVG file, for notebooks; empty for none.
    """

    title: str
    about: Mapping[str, Any] = field(default_factory=dict)
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    picture: bytes = b""

    @property
    def text(self) -> str:
        """The card as text: the title, a line for each named value, and the table.

        At most ten rows of the table and 90 characters of a value are shown. The
        picture is left out.
        """
        lines = [
            self.title,
            *_aligned([(name, _cell(v)) for name, v in self.about.items()]),
        ]
        if self.rows:
            shown = [[*map(_cell, row)] for row in self.rows[:_ROWS]]
            lines += ["", *_aligned([list(self.columns), *shown])]
        return "\n".join([*lines, *([self._rest] if self._rest else [])])

    @property
    def html(self) -> str:
        """The card as HTML: the title, a line for each named value, the table and the figure.

        At most ten rows of the table and 90 characters of a value are shown. All text
        is escaped.
        """
        about = " · ".join(
            f"{_safe(name)} {_safe(value)}" for name, value in self.about.items()
        )
        parts = [
            f"<strong>{_safe(self.title)}</strong>",
            f"<div>{about}</div>" if about else "",
        ]
        if self.rows:
            head = "".join(f"<th>{_safe(name)}</th>" for name in self.columns)
            body = "".join(map(_html_row, self.rows[:_ROWS]))
            parts.append(
                f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            )
        parts += [f"<div>{self._rest.strip()}</div>" if self._rest else ""]
        if self.picture:
            import base64

            data = base64.b64encode(self.picture).decode()
            parts.append(
                f'<img alt="" style="max-width:46em" src="data:image/svg+xml;base64,{data}">'
            )
        return "".join(parts)

    @property
    def _rest(self) -> str:
        more = len(self.rows) - _ROWS
        return f"  … and {more} more" if more > 0 else ""


class Carded:
    """Base of classes whose instances are displayed as a card.

    Notebooks display the card as HTML, and ``repr`` returns it as text. A subclass
    defines the method ``_card``, which returns the :class:`Card`.
    """

    def _card(self) -> Card:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._card().text

    def _repr_html_(self) -> str:
        return self._card().html


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return one line of text per row, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def _html_row(row: Sequence[Any]) -> str:
    cells = "".join(f"<td>{_safe(value)}</td>" for value in row)
    return f"<tr>{cells}</tr>"


def _cell(value: Any) -> str:
    """Return a value on one line, without control characters."""
    text = "–" if value is None else str(value)
    if isinstance(value, float):
        text = f"{value:.3g}"
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def _safe(value: Any) -> str:
    return html.escape(_cell(value))
