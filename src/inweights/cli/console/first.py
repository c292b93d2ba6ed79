"""Print the results of ``inweights doctor``, ``world`` and ``ask``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from inweights.cli.console.base import out, parts_of, print_json, say, table
from inweights.support.progress import plural

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from inweights.actions.installed import Finding
    from inweights.worlds import World

_MARKS = {True: ("✓", "green"), None: ("·", "dim"), False: ("✗", "red")}


def doctor(found: Sequence[Finding], *, json: bool) -> None:
    """Print the report on the installation, with a hint for each problem.

    Args:
        found: The findings of :func:`inweights.actions.doctor`.
        json: If true, print a JSON list instead of a table.
    """
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


def world(made: World, folder: Path | None, *, json: bool) -> None:
    """Print the numbers of facts and queries of a world by role, with one example of each role.

    Args:
        made: The world.
        folder: Folder to which the world was written, or ``None`` if it was not
            written.
        json: If true, print JSON instead of text.
    """
    statements = []
    for part, column in (("facts", made.facts), ("queries", made.queries)):
        statements += [
            (part, r, len(column.with_role(r)), column) for r in column.role_names
        ]
    if json:
        print_json(
            {
                **parts_of(made, "name seed settings complexity"),
                "tokens": {
                    group: len(names) for group, names in made.vocabulary.groups.items()
                },
                "facts": {
                    role: n for part, role, n, _ in statements if part == "facts"
                },
                "queries": {
                    role: n for part, role, n, _ in statements if part == "queries"
                },
                "out_of_distribution": int(made.queries.out_of_distribution.sum()),
                "folder": str(folder) if folder else None,
            }
        )
        return
    listed = table("part", "role", "number", "first one")
    for part, role, count, column in statements:
        first = int(column.with_role(role)[0])
        words = made.vocabulary.text
        listed.add_row(
            part,
            role,
            str(count),
            f"{words(column.prompt(first))} → {words(column.answer(first))}",
        )
    say(
        (made.name, "bold"),
        f", {plural(len(made.vocabulary), 'token')}, seed {made.seed}\n",
    )
    out.print(listed)
    outside = int(made.queries.out_of_distribution.sum())
    out.print(
        f"\n{outside} of {plural(len(made.queries), 'query', 'queries')} out of distribution",
        end="",
    )
    out.print(f": {made.why_out_of_distribution}" if outside else "")
    if folder:
        out.print(f"written to {folder}", soft_wrap=True)


def answers(asked: pl.DataFrame, *, json: bool) -> None:
    """Print the answers of each replica, the most probable first.

    Args:
        asked: Table returned by :func:`inweights.ask`.
        json: If true, print JSON instead of text.
    """
    if json:
        print_json(asked.to_dicts())
        return
    listed = table("replica", "answer", "probability", "")
    for row in asked.iter_rows(named=True):
        mark = {None: "", True: "right", False: "wrong"}[row["right"]]
        first = str(row["replica"]) if row["rank"] == 1 else ""
        listed.add_row(first, row["answer"], f"{row['probability']:.3f}", mark)
    out.print(listed)
