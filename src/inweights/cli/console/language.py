"""What ``inweights finetune`` and ``inweights evaluate`` print."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from inweights.cli.console.base import out, print_json, say, table
from inweights.support.progress import plural

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inweights.lm import FineTuned

#: Rows of a long table that are shown; the share of facts below which a training was too short.
_SHOWN, _KNOWN = 8, 0.9
_NAMES = {
    "composition": "two hops",
    "thought": "by steps",
    "first_hop": "first hop",
    "second_hop": "second hop",
    "skip": "(e1, r2)",
}


def mask(text: str, rows: int, tokens: int, steps: int, own: int) -> None:
    """Print what the loss sees, before anything is trained."""
    say(("Trained tokens", "bold"), ", in brackets, by token; the rest is the prompt")
    for row in text.splitlines():
        out.print(f"  {row}", soft_wrap=True)
    beside = f"; also {plural(own, 'generated text')}, to preserve earlier knowledge" if own else ""
    out.print(
        f"{plural(rows, 'example')}, {plural(tokens, 'token')}, "
        f"{plural(steps, 'update')} at most{beside}\n"
    )


def finetuned(done: FineTuned, folder: Path, *, json: bool) -> None:
    """Print how the loss went, and where the model is."""
    stages = done.losses.group_by("stage", maintain_order=True).agg(
        pl.len().alias("updates"), pl.col("loss").first().alias("first"), last=pl.col("loss").last()
    )
    if json:
        print_json(
            {
                "folder": str(folder),
                "stages": [
                    row | {"known": done.known.get(row["stage"])} for row in stages.to_dicts()
                ],
                "tokens": done.tokens,
                "padding": round(done.padding, 4),
                "seconds": round(done.seconds, 2),
            }
        )
        return
    listed = table(
        "stage", "updates", "first loss", "last loss", *(["known"] if done.known else [])
    )
    for row in stages.iter_rows(named=True):
        cells = [str(row["stage"]), f"{row['updates']:,}"]
        cells += [f"{row['first']:.3f}", f"{row['last']:.3f}"]
        listed.add_row(*cells, f"{done.known[row['stage']]:.0%}" if done.known else "")
    out.print(listed)
    if done.known and min(done.known.values()) < _KNOWN:
        say(("not all facts are learnt yet", "yellow"), ": train longer with --set epochs=N")
    out.print(
        f"{done.tokens:,} tokens read in {done.seconds:.0f} s; {done.padding:.1%} of the "
        "positions were padding"
    )
    out.print(f"written to {folder}", soft_wrap=True)


def epoch(row: dict[str, Any], *, json: bool) -> None:
    """Print one line of the scores of an epoch, as :func:`inweights.lm.score_epochs` gives them."""
    if json:
        print(msgspec.json.encode(row).decode(), flush=True)
        return
    roles = "  ".join(f"{_NAMES.get(r, r)} {a:.2f}" for r, a in row["accuracy"].items())
    old = f"plain {row['general']:.2f}  new names {row['spilled']:.0%}"
    damage = ("  damaged", "bold red") if row["damage"] else ""
    start = f"{row['epoch']:>3} of {row['epochs']}"
    say(
        (start, "bold"),
        f"  {roles}  {old}  perplexity {row['perplexity']:.1f}",
        damage,
        soft_wrap=True,
    )


def requests(number: int, tokens: int, kept: Path) -> None:
    """Print what asking a server takes, before it is asked."""
    out.print(
        f"{plural(number, 'request')}, about {plural(tokens, 'token')} in all; answers are kept in "
        f"{kept}",
        soft_wrap=True,
    )


def answered(made: dict[str, Any], *, json: bool) -> None:
    """Print the result of :func:`inweights.lm.exams.endpoint.ask_endpoint`."""
    if json:
        print_json({name: value for name, value in made.items() if value is not None})
        return
    _groups(made["groups"])
    wrong = made["answers"].filter(~pl.col("hit")).head(_SHOWN)
    listed = table("not right", "answer", "said")
    for row in wrong.select("prompt", "answer", "said").iter_rows():
        listed.add_row(*row)
    if wrong.height:
        out.print(listed)


def evaluated(made: dict[str, Any], *, why: str = "", json: bool) -> None:
    """Print the result of :func:`inweights.lm.evaluation`, and why there is no prediction."""
    if json:
        print_json({name: value for name, value in made.items() if value is not None})
        return
    if made.get("groups") is not None:
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
            f" {known}: among chains with both hops right ({gap['both']:.0%} of them), the "
            "share not answered directly",
        )
    sets = made.get("sets")
    if sets is not None:
        _sets(sets)
    layers = made.get("layers")
    if layers is not None:
        _layers(layers)


def _groups(rows: pl.DataFrame) -> None:
    """The headline: what is answered, by whether it was stated and its hops are known."""
    before = "before" in rows.columns
    listed = table("answered", "n", "accuracy", "95% interval", *(["before"] if before else []))
    for row in rows.iter_rows(named=True):
        earlier = row.get("before")
        listed.add_row(
            row["group"], f"{row['questions']:,}", f"{row['accuracy']:.2f}",
            f"{row['low']:.2f} to {row['high']:.2f}",
            *([] if not before else ["" if earlier is None else f"{earlier:.2f}"]),
        )  # fmt: skip
    out.print(listed)
    out.print()


def _summary(rows: pl.DataFrame, tests: Sequence[dict[str, Any]] | None) -> None:
    columns = ["questions", "n", "accuracy", "chance", "1/rank", "share", "words"]
    by_role = {test["role"]: test for test in tests or ()}
    if by_role:
        columns += ["before", "change", "p"]
    listed = table(*columns)
    for row in rows.iter_rows(named=True):
        said = row.get("exact")
        cells = [
            _NAMES.get(row["role"], row["role"]),
            f"{row['questions']:,}",
            f"{row['accuracy']:.2f}",
            f"{row['chance']:.2f}",
            f"{row['reciprocal']:.2f}",
            f"{row['share']:.3f}",
            "" if said is None else f"{said:.2f}",
        ]
        test = by_role.get(row["role"])
        if test:
            change = f"{test['low']:+.2f}..{test['high']:+.2f}"
            cells += [f"{row['accuracy'] - test['mean']:.2f}", change, f"{test['p']:.2g}"]
        listed.add_row(*cells)
    out.print(listed)
    legend = (
        "accuracy: the answer is more likely than every other candidate; share: its share of "
        "the probability of all candidates; words: right in generated text; change: 95% "
        "interval of accuracy after minus before; p: exact paired test; by steps: two hops, "
        "step by step; (e1, r2): first relation left out"
    )
    say((legend, "dim"))


def _kept(now: pl.DataFrame, lost: dict[str, Any] | None) -> None:
    """What it knew before it was told these facts."""
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
        listed.add_row(what, *(form.format(value) for value in lost[name]))
    out.print(listed)
    if lost["damage"]:
        say(("The model was damaged", "bold red"), f": {'; '.join(lost['damage'])}")
        out.print("  to avoid it: --set replay=2, a lower rate or fewer epochs for 'finetune'")
    else:
        out.print("no damage to earlier knowledge was found")


def _forecast(rows: pl.DataFrame) -> None:
    say(
        "\n",
        ("Two hops, by prediction", "bold"),
        ": for a network trained on these facts alone, not for this model",
    )
    listed = table("forecast", "questions", "expected", "this model")
    for row in rows.iter_rows(named=True):
        listed.add_row(
            row["verdict"],
            f"{row['questions']:,}",
            f"{row['expected']:.2f}",
            f"{row['accuracy']:.2f}",
        )
    out.print(listed)


def _sets(sets: pl.DataFrame) -> None:
    told = ", by correctness of two hops before and after"
    say("\n", ("Under (e1, r2)", "bold"), told)
    listed = table("set", "chains", "probability rises by", "share rises by")
    for row in sets.iter_rows(named=True):
        rises = (f"{row[column]:+.3f}" for column in ("rise", "share_rise"))
        listed.add_row(row["set"], f"{row['chains']:,}", *rises)
    out.print(listed)


def _layers(layers: pl.DataFrame) -> None:
    best = layers.sort("contrast", descending=True).head(1).row(0, named=True)
    say(
        "\n",
        ("Resemblance", "bold"),
        f" of two-hop questions and their second hops: largest in layer {best['layer']} of "
        f"{layers.height - 1}, cosine {best['cosine']:.3f} against {best['other']:.3f} for "
        "other bridges",
    )
