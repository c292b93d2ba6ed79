"""Build the section of a page that compares every setting with the paper and its code.

:func:`differences_section` is one of the sections of
:func:`~inweights.report.build_page`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from inweights.experiments.grammar.protocols.differences import WHOSE, DifferenceRow
from inweights.experiments.grammar.protocols.protocol_file import (
    PaperProtocol,
    PaperSetting,
)
from inweights.report.base.html import disclosure, escape, tag
from inweights.report.base.html_tables import preview
from inweights.support.progress import plural


def differences_section(
    rows: Sequence[DifferenceRow],
    protocol: PaperProtocol | None,
    statements: Mapping[str, PaperSetting] = {},
) -> str:
    """Return a section with the settings that differ from those of the paper, as HTML.

    Settings that agree with the paper or its code are in a block that is initially
    closed.

    Args:
        rows: Rows returned by
            :func:`~inweights.experiments.grammar.protocols.differences.table_of`.
        protocol: Statements of the paper and its code; ``None`` if they are unknown.
        statements: Statements of the paper to which no setting corresponds, keyed by
            subject; by default none.

    Returns:
        The section; an empty string if ``protocol`` is ``None`` or there are no rows.
    """
    if protocol is None or not rows:
        return ""
    paper = protocol.paper
    text = f"Text: {paper.version}, {paper.date}; read {paper.read_on}. Code: {paper.code}."
    others = [row for row in rows if row.whose in ("paper", "code")]
    shown = [row for row in rows if row not in others]
    return tag(
        "section",
        tag("h2", "Beside the paper"),
        tag("p", escape(f"{in_numbers(rows)}. {text}")),
        _table("differences", shown) if shown else "",
        tag("ul", *(tag("li", escape(line)) for line in in_sentences(statements)))
        if statements
        else "",
        disclosure("Settings as in the paper or its code", _table("as-stated", others))
        if others
        else "",
        id="beside-paper",
    )


def in_sentences(statements: Mapping[str, PaperSetting]) -> list[str]:
    """Return sentences that compare statements of a paper with the library's own choices.

    Args:
        statements: Statements of the paper to which no setting of the library
            corresponds, keyed by subject, such as ``clipping``.

    Example:
        >>> in_sentences({"clipping": PaperSetting(paper="at 1", place="B.2", ours="none")})
        ['Clipping: at 1 (B.2); here: none.']
    """
    return [
        f"{name[:1].upper()}{name[1:]}: {one.text}; here: {one.ours or 'not stated'}."
        for name, one in statements.items()
    ]


def in_numbers(rows: Sequence[DifferenceRow]) -> str:
    """Return a text that counts the settings by origin, such as the paper or its code.

    Args:
        rows: Rows of a table of differences; the values of their field ``whose`` are
            counted.

    Returns:
        A text such as ``12 settings: 3 ours, 1 smaller, 8 as in the paper``.
    """
    counted = Counter(row.whose for row in rows)
    parts = [
        f"{counted[whose]} {said}" for whose, said in WHOSE.items() if counted[whose]
    ]
    return f"{plural(len(rows), 'setting')}: {', '.join(parts)}"


def _table(name: str, rows: Sequence[DifferenceRow]) -> str:
    """Return all rows as an HTML table, without columns that contain no information."""
    columns = {
        "setting": [row.setting for row in rows],
        "here": [row.value for row in rows],
        "whose": [WHOSE[row.whose] for row in rows],
        "stated": [row.stated for row in rows],
        "why": [row.why for row in rows],
    }
    said = {column: values for column, values in columns.items() if any(values)}
    return preview(name, pl.DataFrame(said), rows=len(rows))
