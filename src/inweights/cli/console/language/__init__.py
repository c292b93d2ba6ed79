"""Print the results of ``inweights finetune`` and ``inweights evaluate``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from inweights.cli.console.base import listing, out, print_json, say, table
from inweights.cli.console.language.training import NAMES, epoch, finetuned, mask
from inweights.support.progress import plural

__all__ = ["answered", "epoch", "evaluated", "finetuned", "mask", "requests", "written"]

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


#: Largest number of rows of a long table that are shown.
_SHOWN = 8


def requests(number: int, tokens: int, kept: Path) -> None:
    """Print the number of requests for an evaluation on a server, before they are sent.

    Args:
        number: Number of requests.
        tokens: Estimated total number of tokens.
        kept: File in which answers are stored.
    """
    out.print(
        f"{plural(number, 'request')}, about {plural(tokens, 'token')} in all; answers are "
        f"stored in {kept}",
        soft_wrap=True,
    )


def written(file: Path) -> None:
    """Print the path and the size of a GGUF file.

    Args:
        file: Path of the file, which must exist.
    """
    out.print(
        f"written to {file}, {file.stat().st_size / 1e6:,.1f} MB; llama.cpp runs it:"
        f"\nllama-cli -m {file}",
        soft_wrap=True,
    )


def answered(made: dict[str, Any], *, json: bool) -> None:
    """Print the result of :func:`inweights.lm.exams.endpoint.ask_endpoint`.

    Args:
        made: Result of the function. Its tables ``groups`` and ``answers`` are printed.
        json: If true, print the whole result as JSON, instead of the accuracy by group
            and the first wrong answers.
    """
    if json:
        print_json({name: value for name, value in made.items() if value is not None})
        return
    _groups(made["groups"])
    wrong = made["answers"].filter(~pl.col("hit")).head(_SHOWN)
    if wrong.height:
        listing(
            wrong, {"not right": "{prompt}", "answer": "{answer}", "said": "{said}"}
        )


def evaluated(made: dict[str, Any], *, why: str = "", json: bool) -> None:
    """Print the result of :func:`inweights.lm.evaluation`.

    Args:
        made: Result of the function. If unanswerable questions were asked, it also has
            the key ``abstention``, with the table of :func:`inweights.lm.abstention`.
        why: Reason why there is no prediction. It is empty (the default) if there is
            one.
        json: If true, print JSON instead of text.
    """
    if json:
        print_json({name: value for name, value in made.items() if value is not None})
        return
    if made.get("groups") is not None and made["groups"].height:
        _groups(made["groups"])
    _summary(made["summary"], made.get("paired"))
    _kept(made["general"], made.get("kept"))
    if made.get("forecast") is not None:
        _forecast(made["forecast"])
    elif why:
        say(("no prediction", "bold"), f": {why}")
    gap = made.get("gap")
    if gap:
        known = "none" if math.isnan(gap["gap"]) else f"{gap['gap']:.2f}"
        say(
            "\n",
            ("Compositionality gap", "bold"),
            f" {known}: of the chains with both hops right ({gap['both']:.0%} of all chains), "
            "the share whose two-hop question is not answered correctly",
        )
    sets = made.get("sets")
    if sets is not None:
        _sets(sets)
    if made.get("abstention") is not None:
        _abstention(made["abstention"])
    layers = made.get("layers")
    if layers is not None:
        _layers(layers)


def _groups(rows: pl.DataFrame) -> None:
    """Print the accuracy by kind of question: stated or not, and with known hops or not."""
    cells = {"answered": "{group}", "n": "{questions:,}", "accuracy": "{accuracy:.2f}"}
    cells |= {"95% interval": "{low:.2f} to {high:.2f}"}
    listing(
        rows, cells | ({"before": "{before:.2f}"} if "before" in rows.columns else {})
    )
    out.print()


def _summary(rows: pl.DataFrame, tests: Sequence[dict[str, Any]] | None) -> None:
    by_role = {test["role"]: test for test in tests or ()}
    cells = {
        "questions": "{name}",
        "n": "{questions:,}",
        "accuracy": "{accuracy:.2f}",
        "chance": "{chance:.2f}",
        "1/rank": "{reciprocal:.2f}",
        "share": "{share:.3f}",
    } | ({"words": "{exact:.2f}"} if "exact" in rows.columns else {})
    if by_role:
        cells |= {
            "before": "{before:.2f}",
            "change": "{low:+.2f}..{high:+.2f}",
            "p": "{p:.2g}",
        }
    listed = []
    for row in rows.iter_rows(named=True):
        test = by_role.get(row["role"])
        change = test | {"before": row["accuracy"] - test["mean"]} if test else {}
        listed.append(change | row | {"name": NAMES.get(row["role"], row["role"])})
    listing(listed, cells)
    legend = (
        "accuracy: the answer is more likely than every other candidate; share: its share of "
        "the probability of all candidates; words: right in generated text; change: 95% "
        "interval of accuracy after minus before; p: exact paired test; by steps: two hops, "
        "step by step; (e1, r2): first relation left out"
    )
    say((legend, "dim"))


def _kept(now: pl.DataFrame, lost: dict[str, Any] | None) -> None:
    """Print which share of its earlier knowledge the model keeps."""
    asked = now.filter(pl.col("kind") == "question")
    if lost is None:
        say(
            "\n",
            ("Plain questions", "bold"),
            f" unrelated to the facts: {asked['hit'].sum()} of {asked.height} right; give "
            "--before MODEL to see what was lost",
        )
        return
    listed = table("of 24 plain questions and four texts", "before", "after")
    for name, what in (
        ("accuracy", "answered"),
        ("repeats", "repetitive answers"),
        ("runs_on", "answers without an end"),
        ("spilled", "answered with a new name"),
        ("perplexity", "perplexity of the texts"),
    ):
        form = "{:.1f}" if name == "perplexity" else "{:.0%}"
        listed.add_row(what, *map(form.format, lost[name]))
    out.print(listed)
    if lost["damage"]:
        say(("The model was damaged", "bold red"), f": {'; '.join(lost['damage'])}")
        out.print(
            "  to avoid it: --set replay=2, a lower rate or fewer epochs for 'finetune'"
        )
    else:
        out.print("no damage to earlier knowledge was found")


def _forecast(rows: pl.DataFrame) -> None:
    say(
        "\n",
        ("Two hops, by prediction", "bold"),
        ": for a network trained on these facts alone, not for this model",
    )
    cells = {
        "forecast": "{verdict}",
        "questions": "{questions:,}",
        "expected": "{expected:.2f}",
    }
    listing(rows, cells | {"this model": "{accuracy:.2f}"})


def _sets(sets: pl.DataFrame) -> None:
    told = ", by correctness of two hops before and after"
    say("\n", ("Under (e1, r2)", "bold"), told)
    cells = {
        "set": "{set}",
        "chains": "{chains:,}",
        "probability rises by": "{rise:+.3f}",
    }
    listing(sets, cells | {"share rises by": "{share_rise:+.3f}"})


def _abstention(answers: pl.DataFrame) -> None:
    """Print how often a model says that it has no answer, and how often it names something."""
    from inweights.lm import abstention_shares

    out.print()
    cells = {"asked in words": "{kind}", "model": "{model}", "n": "{questions:,}"}
    cells |= {
        "says so": "{says_so:.2f}",
        "names": "{names:.2f}",
        "other": "{other:.2f}",
    }
    listing(abstention_shares(answers), cells | {"right": "{right:.2f}"})
    legend = (
        "says so: words such as unknown, not stated, I do not know; names: has a name of the "
        "facts, which is invented where they have no answer; other: may be invented from "
        "elsewhere; right: has a right answer"
    )
    if answers["model"].n_unique() == 1:
        legend += "; --before MODEL shows the original model beside it"
    say((legend, "dim"))


def _layers(layers: pl.DataFrame) -> None:
    best = layers.sort("contrast", descending=True).head(1).row(0, named=True)
    say(
        "\n",
        ("Resemblance", "bold"),
        f" of two-hop questions and their second hops: largest in layer {best['layer']} of "
        f"{layers.height - 1}, cosine {best['cosine']:.3f} against {best['other']:.3f} for "
        "other bridges",
    )
