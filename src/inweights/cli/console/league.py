"""What the command line prints of the league: a row for each model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from inweights.cli.console.base import cut, line, out, print_json, table, written_page
from inweights.support.progress import plural

if TYPE_CHECKING:
    from inweights.lab.engine.outcome import Outcome


def standings(
    rows: pl.DataFrame, outcome: Outcome | None, entries: Sequence[Path], *, json: bool
) -> None:
    """Print accuracy on all two-hop queries by what is taught, a model's own row first."""
    if json:
        page = None if outcome is None else str(outcome.folder.path / "page.html")
        about = {"page": page, "entries": [str(entry) for entry in entries]}
        print_json(about | {"rows": rows.to_dicts()})
        return
    if rows.is_empty():
        out.print("no stored rows yet; 'inweights run league' makes those of the standing models")
        return
    whole = rows.filter(hops="all")
    shares = sorted(whole["trained"].unique())
    names = [f"{share:.0%}{'+' if told else ''}" for told in (False, True) for share in shares]
    listed = table("model", *names, "new", "parameters")
    for model in whole["model"].unique(maintain_order=True):
        own = rows.filter(model=model)
        cells = [
            _mean(own.filter(identity=told, trained=share, hops="all"))
            for told in (False, True)
            for share in shares
        ]
        new = _mean(own.filter(identity=False, trained=shares[-1], hops="both_unseen"))
        size = own["parameters"][0]
        style = "bold" if own["own"][0] else ""
        listed.add_row(
            Text(cut(model, 20), style=style), *cells, new, "" if size is None else f"{size:,}"
        )
    out.print(listed)
    said = (
        "accuracy on two-hop questions by the share of two-hop facts trained; + and identities; "
        f"new: both hops in none of the {shares[-1]:.0%}, no identities"
    )
    out.print(line((said, "dim")))
    if outcome is not None:
        written_page(outcome.folder.path / "page.html", json=False)
    for entry in entries:
        out.print(f"entry {entry}", soft_wrap=True)


def _mean(rows: pl.DataFrame) -> str:
    return f"{rows['accuracy'][0]:.2f}" if len(rows) else ""


def replayed(entry: Path, scores: pl.DataFrame, *, json: bool) -> int:
    """Print whether an entry gave the same scores again; returns the exit code."""
    others = scores.filter(~pl.col("accuracy").eq_missing(pl.col("now")))
    if json:
        print_json({"entry": str(entry), "scores": len(scores), "others": others.to_dicts()})
    elif others.is_empty():
        out.print(f"the same {plural(len(scores), 'score')} again")
    else:
        out.print(f"{len(others)} of {plural(len(scores), 'score')} are others now")
        for row in others.head(8).iter_rows(named=True):
            out.print("  " + ", ".join(f"{name} {value}" for name, value in row.items()))
    return int(not others.is_empty())
