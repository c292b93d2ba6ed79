"""What the command line prints on the first day: what is installed, and answers to one question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from inweights.cli.console.base import out, print_json, table

if TYPE_CHECKING:
    import polars as pl

    from inweights.laboratory.installed import Finding

_MARKS = {True: ("✓", "green"), None: ("·", "dim"), False: ("✗", "red")}


def doctor(found: Sequence[Finding], *, json: bool) -> None:
    """Print what was found, a line each, and below it what can be done."""
    if json:
        print_json([finding._asdict() for finding in found])
        return
    listed = table("", "", "")
    listed.show_header = False
    for finding in found:
        listed.add_row(Text(*_MARKS[finding.fine]), finding.what, finding.state)
        if finding.hint:
            listed.add_row("", "", Text(finding.hint, style="dim"))
    out.print(listed)


def answers(asked: pl.DataFrame, *, json: bool) -> None:
    """Print the answers of each replica, the best first."""
    if json:
        print_json(asked.to_dicts())
        return
    listed = table("replica", "answer", "probability", "")
    for row in asked.iter_rows(named=True):
        mark = "" if row["right"] is None else "right" if row["right"] else "wrong"
        first = str(row["replica"]) if row["rank"] == 1 else ""
        listed.add_row(first, row["answer"], f"{row['probability']:.3f}", mark)
    out.print(listed)
