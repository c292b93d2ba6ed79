"""What the command line prints: tables for people, JSON for programs, one progress display."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from inweights.config import to_dict
from inweights.recipes.claim import ClaimResult
from inweights.runs.environment import environment

if TYPE_CHECKING:
    from pathlib import Path

    from inweights.recipes.engine import Outcome
    from inweights.recipes.engine import Progress as Report
    from inweights.recipes.recipe import Recipe
    from inweights.runs import RunFolder
    from inweights.worlds import World

__all__ = ["board", "cores", "flat", "outcome", "progress", "recipes", "runs", "world"]

_out = Console(highlight=False)
_COLOURS = {"reproduced": "green", "not reproduced": "red", "not run": "dim"}
_MARKS = {"reproduced": "✓", "not reproduced": "✗", "not run": "·"}


@contextmanager
def progress() -> Iterator[Report]:
    """Show one progress display on the error stream while the block runs."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    bars = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bars.add_task("starting", total=None)

    def report(done: int, total: int, what: str) -> None:
        bars.start()  # nothing is drawn for what fails before it begins
        bars.update(task, completed=done, total=total, description=what)

    try:
        yield report
    finally:
        if bars.live.is_started:
            bars.stop()


def recipes(known: Sequence[Recipe], *, json: bool) -> None:
    """Print all recipes."""
    if json:
        _json(
            [
                {
                    "name": r.name,
                    "title": r.title,
                    "paper": r.paper,
                    "place": r.place,
                    "claims": len(r.claims),
                    "scales": list(r.scales),
                }
                for r in known
            ]
        )
        return
    table = _table("recipe", "what it shows", "place", "claims")
    for recipe in known:
        table.add_row(recipe.name, recipe.title, recipe.place, str(len(recipe.claims)))
    _out.print(table)
    _out.print("[dim]inweights run RECIPE --scale smoke|cpu|paper[/dim]")


def runs(folders: Sequence[RunFolder], *, json: bool) -> None:
    """Print all run folders."""
    rows = [
        {
            "recipe": folder.config.get("recipe", "?"),
            "scale": folder.config.get("scale", "?"),
            "seeds": len(folder.config.get("seeds", [])),
            "hash": folder.path.name,
            "state": "complete" if folder.complete else "interrupted",
            "folder": str(folder.path if folder.complete else folder.work),
        }
        for folder in folders
    ]
    if json:
        _json(rows)
        return
    if not rows:
        _out.print("no runs yet; 'inweights demo' makes one in a minute")
        return
    table = _table("recipe", "scale", "seeds", "hash", "state", "folder")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    _out.print(table)


def outcome(done: Outcome, *, json: bool) -> None:
    """Print what a run found."""
    page = done.folder.path / "page.html"
    if json:
        _json(
            {
                "recipe": done.recipe.name,
                "scale": done.scale,
                "seeds": list(done.seeds),
                "seconds": done.seconds,
                "folder": str(done.folder.path),
                "page": str(page),
                "cached": done.cached,
                "claims": [to_dict(claim) for claim in done.claims],
            }
        )
        return
    _out.print(f"[bold]{done.recipe.title}[/bold]")
    _out.print(
        f"[dim]{done.recipe.name}, {done.scale} scale, {len(done.seeds)} seeds, "
        f"{done.seconds:.0f} s{', read back' if done.cached else ''}[/dim]\n"
    )
    _claims(done.claims)
    _out.print(f"\npage  {page.resolve().as_uri()}", soft_wrap=True)


def board(
    claims: Sequence[ClaimResult], scale: str, *, json: bool = False, markdown: bool = False
) -> None:
    """Print every claim with its verdict."""
    counts = {verdict: sum(c.verdict == verdict for c in claims) for verdict in _COLOURS}
    if markdown:
        _markdown(claims, scale, counts)
        return
    if json:
        _json(
            {
                "scale": scale,
                "counts": counts,
                "environment": environment(),
                "claims": [to_dict(claim) for claim in claims],
            }
        )
        return
    _claims(claims, ids=True)
    _out.print("\n" + ", ".join(f"{n} {verdict}" for verdict, n in counts.items()))


def _markdown(claims: Sequence[ClaimResult], scale: str, counts: Mapping[str, int]) -> None:
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    print("# The board\n")
    print(
        "Every claim of every recipe, with the verdict on it; a claim that did not reproduce stays."
    )
    print(f"Written by `inweights verify --scale {scale} --markdown`: {summary}.")
    recipe = ""
    for claim in claims:
        home, _, name = claim.id.rpartition("/")
        if home != recipe:
            recipe = home
            print(f"\n## {recipe}\n\n| verdict | claim | target | measured, 95% interval | n |")
            print("|---|---|---|---|---|")
        measured = ""
        if claim.measured is not None and claim.low is not None and claim.high is not None:
            measured = f"{claim.measured:.3g} ({claim.low:.3g} to {claim.high:.3g})"
        ours = " *Our own claim.*" if claim.source == "ours" else ""
        worst = f" Worst case: {claim.case}." if claim.case else ""
        print(
            f"| {_MARKS[claim.verdict]} {claim.verdict} | `{name}` {claim.text}{worst}{ours} "
            f"({claim.place}) | {claim.target} | {measured} | {claim.replicates or ''} |"
        )


def world(made: World, folder: Path | None, *, json: bool) -> None:
    """Print what a world holds."""
    statements = [
        (part, role, len(column.with_role(role)), column)
        for part, column in (("facts", made.facts), ("queries", made.queries))
        for role in column.role_names
    ]
    if json:
        _json(
            {
                "name": made.name,
                "seed": made.seed,
                "settings": made.settings,
                "tokens": {group: len(names) for group, names in made.vocabulary.groups.items()},
                "facts": {role: n for part, role, n, _ in statements if part == "facts"},
                "queries": {role: n for part, role, n, _ in statements if part == "queries"},
                "out_of_distribution": int(made.queries.out_of_distribution.sum()),
                "complexity": made.complexity,
                "folder": str(folder) if folder else None,
            }
        )
        return
    table = _table("part", "role", "number", "first one")
    for part, role, count, column in statements:
        first = int(column.with_role(role)[0])
        words = made.vocabulary.text
        table.add_row(
            part, role, str(count), f"{words(column.prompt(first))} → {words(column.answer(first))}"
        )
    _out.print(f"[bold]{made.name}[/bold], {len(made.vocabulary)} tokens, seed {made.seed}\n")
    _out.print(table)
    out = int(made.queries.out_of_distribution.sum())
    _out.print(f"\n{out} of {len(made.queries)} queries are out of distribution", end="")
    _out.print(f": {made.why_out_of_distribution}" if out else "")
    if folder:
        _out.print(f"written to {folder}")


def cores(device: str, scale: str) -> int:
    """How many processes to train in: the cores that this one may use, or one if that is enough."""
    if device != "cpu" or scale == "smoke":
        return 1
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def flat(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return nested settings as overrides ``key.path=value``, the value written as TOML.

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


def _claims(claims: Sequence[ClaimResult], *, ids: bool = False) -> None:
    table = _table("verdict", "claim, and what was measured")
    for claim in claims:
        mark = Text(f"{_MARKS[claim.verdict]} {claim.verdict}", style=_COLOURS[claim.verdict])
        text = Text(f"{claim.id}\n", style="dim") if ids else Text()
        text.append(claim.text, style="not dim")
        if claim.measured is not None and claim.low is not None and claim.high is not None:
            text.append(f"\n{claim.measured:.3g}", style="bold not dim")
            span = f"95% interval {claim.low:.3g} to {claim.high:.3g}, {claim.replicates} seeds"
            worst = f", worst case {claim.case}" if claim.case else ""
            text.append(f"  target {claim.target}, {span}{worst}", style="dim")
        elif claim.why:
            text.append(f"\n{claim.why}", style="dim")
        table.add_row(mark, text)
    _out.print(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, no_wrap=column in ("verdict", "hash", "recipe"), overflow="fold")
    return table


def _json(value: Any) -> None:
    print(msgspec.json.format(msgspec.json.encode(value)).decode())
