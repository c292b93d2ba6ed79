"""Print the results of ``inweights augment``: what was written, and what it costs to train on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inweights.audit.strategies.measured import ASKED, MEASURED_ON, evidence
from inweights.cli.console.base import out, parts_of, print_json, say, table
from inweights.support.progress import duration, plural

if TYPE_CHECKING:
    from pathlib import Path

    from inweights.audit import Augmented
    from inweights.lm import Cost

#: Largest number of names that are shown.
_SHOWN = 8
#: Attributes of a training set that are printed as JSON without changes.
_COUNTED = "dropped chains alone counts words tokens plain rewritten often doubtful"


def augmented(made: Augmented, folder: Path, *, json: bool) -> None:
    """Print how many texts were written, with examples, and their folder.

    Args:
        made: The training data, the control data set and the questions.
        folder: Folder to which the data were written.
        json: If true, print JSON instead of text.
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
        names = ", ".join(made.plain[:_SHOWN]) + (
            " …" if len(made.plain) > _SHOWN else ""
        )
        say(
            ("plain words", "yellow"),
            f" for {len(made.plain)} relation(s) without a template: {names}; add one with "
            "--wording",
        )
    out.print(f"written to {folder}", soft_wrap=True)


def cost(found: Cost | None, limit: str) -> None:
    """Print the cost of fine-tuning on the texts, before they are written.

    Args:
        found: The measured cost, or ``None`` if no model was given.
        limit: Value of ``--for``, or empty if it was not given.
    """
    if limit:
        out.print(
            f"as long as --for {limit} allows, over all epochs, without replayed text"
        )
    if found is None:
        return
    listed = table(
        "rows",
        "tokens per pass",
        "epochs (at most)",
        "updates",
        "padding",
        "on this machine",
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
                f"{cost['train']:,} {unit} in the training set; {cost['control']:,} in the "
                "control, which has only the facts"
            )
    often = " to ".join(dict.fromkeys(map(str, made.often)))
    out.print(f"each fact is stated by itself {often} times per pass")
    kept, given = made.rewritten
    if given:
        out.print(f"{kept:,} of {given:,} facts rewritten by a model passed the check")


def _questions(made: Augmented) -> None:
    asked = made.questions.filter(role="composition").height
    if made.chains > asked:
        itself = made.facts.filter(pl.col("subject") == pl.col("object")).height
        why = " (none through a fact of an entity about itself)" if itself else ""
        out.print(f"{asked:,} of {made.chains:,} two-step questions are evaluated{why}")
    told = made.questions.filter(pl.col("told").list.len() > 0).height
    if made.doubtful:
        out.print(
            f"{plural(made.doubtful, 'fact begins', 'facts begin')} no chain, since the file "
            "contradicts the chain: a name may have two meanings (inweights audit)"
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
        say(
            (
                f"measured on {MEASURED_ON}; measure your model too, against the control",
                "dim",
            )
        )
    else:
        out.print(
            "no strategy: each fact once (for strategies see docs/own-facts-measured.md)"
        )
