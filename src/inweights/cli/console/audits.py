"""Print the results of ``inweights audit`` and ``inweights augment``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inweights.audit.findings import Finding, findings
from inweights.audit.outlook import headline, outlook
from inweights.audit.strategies.measured import ASKED, MEASURED_ON, evidence
from inweights.cli.console.base import listing, out, parts_of, print_json, say, table
from inweights.cli.console.plain import plain_forecast
from inweights.support.progress import duration, plural
from inweights.theory.prediction.trust import propose_training, trust

if TYPE_CHECKING:
    from pathlib import Path

    from inweights.audit import Audit, Augmented, Mended
    from inweights.lm import Cost

#: Rows of each table that are shown.
_SHOWN = 8
#: What JSON says of a training set that was written, as it is.
_COUNTED = "dropped chains alone counts words tokens plain rewritten often doubtful"
#: Leaks in the JSON object: a dense graph of 5,000 facts has half a million. Python has them all.
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
    """Print an audit (contents, predictions, problems and advice) and write its page if requested.

    Args:
        made: The audit.
        json: Whether JSON is printed.
        page: File of the page; None for no page.
        name: Name of the facts, the heading of the page.
        mended: The corrected copy; None if there is none.
        folder: Folder of the corrected copy.
    """
    facts, values = made.knowledge, made.entity_positions["literal"]
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
        f"set apart (set_apart.csv); changes.csv lists each with line and reason, and "
        f"{counts['to decide']} to decide; missing.csv has "
        f"{plural(counts['missing'], 'fact')} that others imply, turned",
        soft_wrap=True,
    )


def augmented(made: Augmented, folder: Path, *, json: bool) -> None:
    """Print what was written, and where.

    Args:
        made: Training data, control and questions.
        folder: Folder they were written to.
        json: Whether JSON is printed.
    """
    if json:
        print_json(
            {
                "folder": str(folder),
                "strategies": {name: evidence(name) for name in made.strategies},
                "choices": [choice._asdict() for choice in made.choices],
                "measured_on": MEASURED_ON,
                **parts_of(made, _COUNTED),
            }
        )
        return
    _listed(made)
    _questions(made)
    _strategies(made)
    if made.plain:
        names = ", ".join(made.plain[:_SHOWN]) + (" …" if len(made.plain) > _SHOWN else "")
        say(
            ("plain words", "yellow"),
            f" for {len(made.plain)} relation(s) without a template: {names}; add one with "
            "--wording",
        )
    out.print(f"written to {folder}", soft_wrap=True)


def cost(found: Cost | None, limit: str) -> None:
    """Print what fine-tuning on the texts costs, before they are written.

    Args:
        found: The measured cost; None if no model was given.
        limit: Value of ``--for``; empty if it was not given.
    """
    if limit:
        out.print(f"as long as --for {limit} allows, over all epochs, without replayed text")
    if found is None:
        return
    listed = table(
        "rows", "tokens a pass", "epochs, at most", "updates", "padding", "on this machine"
    )
    listed.add_row(
        f"{found.rows:,}",
        f"{found.tokens:,}",
        str(found.epochs),
        f"{found.updates:,}",
        f"{found.padding:.0%}",
        f"about {duration(found.seconds)}, by 20 updates",
    )
    out.print(listed)


def _listed(made: Augmented) -> None:
    listed = table("rows", "number", "first one")
    for role, rows in made.train.group_by("role", maintain_order=True):
        listed.add_row(str(role[0]), f"{rows.height:,}", rows["text"][0])
    for role, rows in made.questions.group_by("role", maintain_order=True):
        first = f"{rows['prompt'][0]} … {rows['answer'][0]}"
        listed.add_row(f"question: {role[0]}", f"{rows.height:,}", first)
    out.print(listed)
    for unit, cost in (("words", made.words), ("tokens", made.tokens)):
        if cost:
            out.print(
                f"{cost['train']:,} {unit} in the training set; the control, facts alone, has "
                f"{cost['control']:,}"
            )
    often = " to ".join(dict.fromkeys(map(str, made.often)))
    out.print(f"a pass states each fact by itself {often} times")
    kept, given = made.rewritten
    if given:
        out.print(f"of {given:,} facts rewritten by a model {kept:,} passed the check")


def _questions(made: Augmented) -> None:
    asked = made.questions.filter(role="composition").height
    if made.chains > asked:
        itself = made.facts.filter(pl.col("subject") == pl.col("object")).height
        why = " (none through a fact of an entity about itself)" if itself else ""
        out.print(f"of {made.chains:,} two-step questions {asked:,} are evaluated{why}")
    told = made.questions.filter(pl.col("told").list.len() > 0).height
    if made.doubtful:
        out.print(
            f"{plural(made.doubtful, 'fact begins', 'facts begin')} no chain, as the file "
            "contradicts one: a name may mean two things (inweights audit)"
        )
    for count, what in (
        (told, "stated directly in a text (column `told`)"),
        (made.dropped, "left out: a training text contains the prompt"),
        (made.alone, "left out: the answer is the only candidate"),
        (
            int(made.questions["itself"].sum()),
            "about a subject that is the answer (column `itself`)",
        ),
    ):
        if count:
            out.print(f"{plural(count, 'question is', 'questions are')} {what}")


def _strategies(made: Augmented) -> None:
    for choice in made.choices:
        taken = choice.strategy or "nothing"
        say((f"for {ASKED[choice.asked]}: {taken}", "bold"), f": {choice.why}")
    for name in made.strategies if not made.choices else ():
        say((name, "bold"), f": {evidence(name)}")
    if made.strategies:
        say((f"measured on {MEASURED_ON}; measure your model too, against the control", "dim"))
    else:
        out.print("no strategy: each fact once (for strategies see docs/own-facts-measured.md)")


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
    cells = {"shared value of": "{shared}", "passes": "{attribute}", "pairs": "{pairs:,}"}
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
            told = f"{totals['asserted']} would be asserted, {totals['open']} not"
        else:
            told = (
                f"{totals['follow']} follow, {totals['tied']} tie, {totals['fail']} fail (chance "
                f"{totals['chance']:.2f}, {totals['right_answers']:.1f} right answers)"
            )
        out.print(f"{totals['role']}: of {totals['queries']} {told}")
    fitted = pl.col("outlook").is_in(["likely", "open", "unlikely"])
    chained = made.forecast.probabilities.drop_nulls("GPT probability").filter(fitted)["outlook"]
    if len(chained):
        counts = ", ".join(f"{(chained == w).sum()} {w}" for w in ("likely", "open", "unlikely"))
        out.print(
            f"answered by a GPT trained on them: of {len(chained)} questions of two facts or more "
            f"{counts}"
        )
    advice = made.forecast.advice
    net = len(advice.mended) - len(advice.broken) if advice else 0
    if advice and net > 0:
        given = plural(len(advice.identities), "bridge")
        out.print(f"with identities of {given} a net {net} more of all kinds follow")
    say((trust(made.forecast), "dim"))
    if more := propose_training(made.forecast):
        say((more, "yellow"))


def _worded(made: Audit) -> None:
    """How facts and questions would be worded, the questions and as many facts."""
    facts = pl.col("role").str.starts_with("fact")
    say("\n", ("Wording", "bold"), " (change it with --wording FILE)")
    one_each = made.samples.filter(facts).unique("role", keep="first", maintain_order=True)
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
        "reading": [parts_of(remark, "kind lines text sure") for remark in facts.reading],
        "contradicted": [chain._asdict() for chain in made.contradicted],
        "remarks": [parts_of(remark, "kind lines text") for remark in facts.remarks],
        "relations": made.relations.join(made.name_overlap, on="relation", maintain_order="left"),
        **parts_of(made, "compositions listed bridges transfers why_no_forecast"),
        "leaks_found": made.leaks.height,
        "leaks": made.leaks.head(_LEAKS),
        "wording": made.samples,
        "forecast": None if made.forecast is None else plain_forecast(made.forecast),
        "seconds": round(made.seconds, 3),
    }
