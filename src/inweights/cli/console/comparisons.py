"""Print the results of ``inweights compare-training`` and ``inweights league``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from inweights.cli.console.base import (
    cut,
    listing,
    out,
    print_json,
    say,
    table,
    written_page,
)
from inweights.cli.console.results import outcome as print_outcome
from inweights.support.progress import duration, plural

if TYPE_CHECKING:
    from inweights.actions.training import Size, TrainingSettings
    from inweights.experiments.engine.outcome import Outcome

_FORMS = {
    "perplexity": "{:.1f}",
    "tokens": "{:,.0f}",
    "updates": "{:,.0f}",
    "question": "{:.0f}",
}
_FORMS |= {"training": "{:.1f}", "asking": "{:.1f}"}
_NAMES = {"question": "tokens per question", "new name": "answered with a new name"}


def sizes(
    found: Sequence[Size],
    settings: TrainingSettings,
    seeds: Sequence[int],
    *,
    json: bool,
) -> None:
    """Print the cost of a comparison on this machine, before it is run.

    Args:
        found: Cost of each way of giving the facts to the model.
        settings: Settings of the comparison; the number of epochs is printed.
        seeds: Seeds of the training runs. The cost of one run is multiplied by the
            number of seeds.
        json: If true, print JSON instead of text.
    """
    if json:
        print_json([one._asdict() for one in found])
        return
    listed = table(
        "way", "rows", "tokens per pass", "updates", "per seed", "seeds", "total"
    )
    total = 0.0
    for one in found:
        times = len(seeds) if one.rows else 1
        each = one.preparation + one.training + one.asking
        total += times * each
        cells = [
            f"{n:,}" if one.rows else "" for n in (one.rows, one.tokens, one.updates)
        ]
        listed.add_row(
            one.way, *cells, duration(each), str(times), duration(times * each)
        )
    out.print(listed)
    out.print(
        f"about {duration(total)} on this machine, measured on 20 updates and a few questions; "
        f"{plural(settings.tuning.epochs, 'epoch')} (--set tuning.epochs=N)\n"
    )


def ways(done: Outcome, *, json: bool) -> None:
    """Print the accuracy and cost of each way, and how much earlier knowledge is preserved.

    Args:
        done: The finished comparison.
        json: If true, print the path of the page, the table ``overview`` and the
            warnings as JSON, instead of text.
    """
    overview = done.tables["overview"]
    if json:
        page = str(done.folder.path / "page.html")
        print_json({"page": page, "measured": overview, "cautions": done.cautions})
        return
    for (kind,), rows in overview.group_by("kind", maintain_order=True):
        listed = table(str(kind), *overview.columns[2:])
        for _, name, *values in rows.rows():
            form = _FORMS.get(name, "{:.2f}")
            cells = ("" if value is None else form.format(value) for value in values)
            listed.add_row(_NAMES.get(name, name), *cells)
        out.print(listed)
        out.print()
    say(("means over seeds; accuracy: among candidates; cost: of one seed\n", "dim"))
    print_outcome(done, json=False)


def answers(rows: pl.DataFrame, *, json: bool) -> None:
    """Print a paired comparison of two models' answers.

    Args:
        rows: Table returned by :func:`inweights.lm.compare_answers`.
        json: If true, print JSON instead of text.
    """
    if json:
        print_json(rows)
        return
    cells = {"questions": "{role}", "n": "{questions:,}"}
    cells |= {"first": "{before:.2f}", "second": "{after:.2f}"}
    cells |= {
        "difference": "{difference:+.2f}",
        "95% interval": "{low:+.2f} to {high:+.2f}",
    }
    cells |= {"gained": "{gained}", "lost": "{lost}", "p": "{p:.2g}"}
    listing(rows, cells)
    legend = (
        "first, second: share right; difference: second minus first, over the same "
        "questions; p: McNemar's exact test of those gained and lost"
    )
    say((legend, "dim"))


def standings(
    rows: pl.DataFrame, outcome: Outcome | None, entries: Sequence[Path], *, json: bool
) -> None:
    """Print the accuracy on all two-hop queries, with a user-defined model first.

    Args:
        rows: Scores of each model, as returned by :func:`inweights.league`.
        outcome: The run of the user's model, or ``None`` if there is none.
        entries: Folders of the entries that were written. It may be empty.
        json: If true, print JSON instead of text.
    """
    if json:
        page = None if outcome is None else str(outcome.folder.path / "page.html")
        about = {"page": page, "entries": list(map(str, entries))}
        print_json(about | {"rows": rows.to_dicts()})
        return
    if rows.is_empty():
        out.print(
            "no stored rows yet; 'inweights run league' computes those of the library's models"
        )
        return
    whole = rows.filter(hops="all")
    shares = sorted(whole["trained"].unique())
    cases = [*product((False, True), shares)]
    names = [f"{share:.0%}{'+' if identity else ''}" for identity, share in cases]
    listed = table("model", *names, "new", "parameters")
    for model in whole["model"].unique(maintain_order=True):
        own = rows.filter(model=model)
        cells = [
            _mean(own.filter(identity=i, trained=share, hops="all"))
            for i, share in cases
        ]
        new = _mean(own.filter(identity=False, trained=shares[-1], hops="both_unseen"))
        size = own["parameters"][0]
        style = "bold" if own["own"][0] else ""
        listed.add_row(
            Text(cut(model, 20), style=style),
            *cells,
            new,
            "" if size is None else f"{size:,}",
        )
    out.print(listed)
    said = (
        "percentages: accuracy on two-hop questions, by the share of two-hop facts in "
        "training (+: with identities as well); new: accuracy on questions whose two hops "
        f"occur in none of these facts, at {shares[-1]:.0%} without identities"
    )
    say((said, "dim"))
    if outcome is not None:
        written_page(outcome.folder.path / "page.html", json=False)
    for entry in entries:
        out.print(f"entry {entry}", soft_wrap=True)


def _mean(rows: pl.DataFrame) -> str:
    return f"{rows['accuracy'][0]:.2f}" if len(rows) else ""


def replayed(entry: Path, scores: pl.DataFrame, *, json: bool) -> int:
    """Print whether retraining the model of an entry resulted in the same scores.

    Args:
        entry: Folder of the entry.
        scores: Table with the stored scores (``accuracy``) and the new scores
            (``now``), as returned by :func:`inweights.actions.replay`.
        json: If true, print JSON instead of text.

    Returns:
        The exit code: 0 if all scores are the same, otherwise 1.
    """
    others = scores.filter(~pl.col("accuracy").eq_missing(pl.col("now")))
    if json:
        print_json(
            {"entry": str(entry), "scores": len(scores), "others": others.to_dicts()}
        )
    elif others.is_empty():
        out.print(f"the same {plural(len(scores), 'score')} again")
    else:
        out.print(f"{len(others)} of {plural(len(scores), 'score')} are different now")
        for row in others.head(8).iter_rows(named=True):
            out.print(
                "  " + ", ".join(f"{name} {value}" for name, value in row.items())
            )
    return int(not others.is_empty())
