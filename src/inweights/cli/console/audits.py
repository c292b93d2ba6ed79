"""Print the results of ``inweights audit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inweights.audit.findings import Finding, findings
from inweights.audit.outlook import headline, outlook
from inweights.cli.console.base import listing, out, parts_of, print_json, say
from inweights.cli.console.forecast.plain import plain_forecast
from inweights.support.progress import plural
from inweights.theory.prediction.trust import propose_training, trust

if TYPE_CHECKING:
    from pathlib import Path

    from inweights.audit import Audit, Mended

#: Largest number of rows of each table that are shown.
_SHOWN = 8
#: Largest number of leaks in the JSON object, since a dense graph of 5,000 facts has half
#: a million. In Python, all of them are available.
_LEAKS = 1000


def audit(
    made: Audit,
    *,
    json: bool,
    page: Path | None = None,
    name: str = "facts",
    mended: Mended | None = None,
    folder: Path | None = None,
) -> None:
    """Print an audit (contents, predictions, problems and advice), and write its page if requested.

    Args:
        made: The audit.
        json: If true, print a JSON object instead of text.
        page: Path of the page to write. If it is ``None`` (the default), no page is
            written.
        name: Name of the set of facts, used as the title of the page.
        mended: The corrected copy, whose counts are printed; ``None`` (the default) if
            no copy was written.
        folder: Folder of the corrected copy, or ``None`` (the default) if there is
            none.

    Raises:
        DataError: The page cannot be written, or its file exists and is not a page of
            the library.
    """
    facts = made.knowledge
    values = made.entity_positions["literal"]
    if page is not None:
        from inweights.report.base.html import write_page
        from inweights.report.pages.audit_page import build_audit_page

        write_page(build_audit_page(made, name), page)
    if json:
        print_json(_plain(made) | ({"mended": mended.counts} if mended else {}))
        return
    found = findings(made)
    say((headline(made), "bold"))
    _findings(found, "act", "good")
    out.print()
    say(
        (plural(len(facts), "fact"), "bold"),
        f", {plural(len(facts.entities) - values, 'entity', 'entities')} "
        f"({made.entity_positions['both']} of them both subject and object), "
        f"{plural(values, 'date or number', 'dates or numbers')}, "
        f"{plural(len(facts.relations), 'relation')}",
    )
    _compositions(made)
    _similarity(made)
    _forecast(made)
    _worded(made)
    out.print()
    _findings(found, "note")
    if mended is not None:
        _mended(mended, folder)
    if page is not None:
        out.print(f"\npage  {page.resolve().as_uri()}", soft_wrap=True)


def _mended(mended: Mended, folder: Path | None) -> None:
    counts = mended.counts
    split = f"{plural(counts['split'], 'cell')} split, " if "split" in counts else ""
    out.print(
        f"\ncorrected copy: {folder}/facts.csv, {plural(counts['facts'], 'fact')}; "
        f"{plural(counts['renamed'], 'name')} changed, {split}"
        f"{plural(counts['left out'], 'duplicate')} removed, {plural(counts['set apart'], 'fact')} "
        f"set apart (set_apart.csv); changes.csv lists each change with line and reason, and "
        f"{counts['to decide']} rows 'to decide'; missing.csv contains "
        f"{plural(counts['missing'], 'fact')} that others imply in the opposite direction",
        soft_wrap=True,
    )


def _findings(those: tuple[Finding, ...], *levels: str) -> None:
    colours = {"act": "red", "good": "green", "note": "yellow"}
    for found in those:
        if found.level in levels:
            text = f"{found.title}. {found.text}".replace("`", "")
            say(("•", colours[found.level]), f" {text}")


def _compositions(made: Audit) -> None:
    found = made.compositions
    if not found.height:
        out.print("\nno two facts form a chain: nothing can be composed")
        return
    say("\n", ("Compositions", "bold"), ": questions (subject, first, second)")
    cells = {
        "first": "{first}",
        "second": "{second}",
        "questions": "{subjects:,}",
        "chains": "{chains:,}",
        "complexity": "{complexity}",
        "at best": "{expected:.2f}",
        "stated": "{stated}",
        "most common": "{share:.0%}",
    }
    listing(found.head(_SHOWN), cells)
    _more(found, "pairs of relations")
    if made.listed < 1:
        told = f"except for the number of chains, from {made.listed:.2%} of them"
        say((told, "dim"))


def _similarity(made: Audit) -> None:
    found = made.transfers
    if not found.height:
        return
    told = ": attributes that may transfer between similar entities"
    say("\n", ("Analogies", "bold"), told)
    cells = {
        "shared value of": "{shared}",
        "passes": "{attribute}",
        "pairs": "{pairs:,}",
    }
    shown = found.head(_SHOWN).with_columns(pl.col("late").replace(0, None))
    listing(shown, cells | {"learnt too late": "{late:,}"})
    _more(found, "pairs of relations")


def _forecast(made: Audit) -> None:
    if made.forecast is None:
        return
    worst = max(made.forecast.parts, key=lambda part: part.gap)
    say("\n", ("Forecast", "bold"), f" ({worst.status}, gap {worst.gap:.1e})")
    for totals in made.forecast.summary(by=["role"]).iter_rows(named=True):
        if totals["asserted"] or totals["open"]:
            told = f"{totals['asserted']} would be asserted, {totals['open']} would not"
        else:
            told = (
                f"{totals['follow']} follow, {totals['tied']} tie, {totals['fail']} fail (chance "
                f"{totals['chance']:.2f}, {totals['right_answers']:.1f} correct answers)"
            )
        out.print(f"{totals['role']} ({totals['queries']} queries): {told}")
    fitted = pl.col("outlook").is_in(["likely", "open", "unlikely"])
    chained = made.forecast.probabilities.drop_nulls("GPT probability").filter(fitted)[
        "outlook"
    ]
    if len(chained):
        counts = ", ".join(
            f"{(chained == w).sum()} {w}" for w in ("likely", "open", "unlikely")
        )
        out.print(
            f"answers of a GPT trained on them to {len(chained)} questions of two facts or more: "
            f"{counts}"
        )
    advice = made.forecast.advice
    net = len(advice.mended) - len(advice.broken) if advice else 0
    if advice and net > 0:
        given = plural(len(advice.identities), "bridge")
        out.print(
            f"with identities of {given}, {net} more questions follow (those that no longer "
            "follow are subtracted)"
        )
    say((trust(made.forecast), "dim"))
    if more := propose_training(made.forecast):
        say((more, "yellow"))


def _worded(made: Audit) -> None:
    """Print how some facts and questions would be worded."""
    facts = pl.col("role").str.starts_with("fact")
    say("\n", ("Wording", "bold"), " (change it with --wording FILE)")
    one_each = made.samples.filter(facts).unique(
        "role", keep="first", maintain_order=True
    )
    shown = pl.concat([one_each.head(_SHOWN), made.samples.filter(~facts)])
    listing(shown, {"": "{role}", "prompt or question": "{text}", "answer": "{answer}"})


def _more(found: pl.DataFrame, what: str) -> None:
    if found.height > _SHOWN:
        say((f"… and {found.height - _SHOWN} more {what} (--json)", "dim"))


def _plain(made: Audit) -> dict[str, Any]:
    facts = made.knowledge
    return {
        "headline": headline(made),
        "findings": findings(made),
        "outlook": outlook(made),
        "facts": len(facts),
        "entities": len(facts.entities),
        "ends": made.entity_positions,
        "reading": [
            parts_of(remark, "kind lines text sure") for remark in facts.reading
        ],
        "contradicted": [chain._asdict() for chain in made.contradicted],
        "remarks": [parts_of(remark, "kind lines text") for remark in facts.remarks],
        "relations": made.relations.join(
            made.name_overlap, on="relation", maintain_order="left"
        ),
        **parts_of(made, "compositions listed bridges transfers why_no_forecast"),
        "leaks_found": made.leaks.height,
        "leaks": made.leaks.head(_LEAKS),
        "wording": made.samples,
        "forecast": None if made.forecast is None else plain_forecast(made.forecast),
        "seconds": round(made.seconds, 3),
    }
