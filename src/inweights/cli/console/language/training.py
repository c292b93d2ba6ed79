"""Print a fine-tuning run: which tokens are trained, its cost, and the scores of each epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from inweights.cli.console.base import listing, out, print_json, say
from inweights.support.progress import plural

if TYPE_CHECKING:
    from pathlib import Path

    from inweights.lm import FineTuned


#: Names of the roles of questions, as they are printed.
NAMES = {
    "composition": "two hops",
    "thought": "by steps",
    "first_hop": "first hop",
    "second_hop": "second hop",
    "skip": "(e1, r2)",
}
#: Fraction of known facts below which a training counts as too short.
_KNOWN = 0.9


def mask(text: str, rows: int, tokens: int, steps: int, own: int) -> None:
    """Print, before the training, the tokens to which the loss applies and the amount of data.

    Args:
        text: Examples, in which brackets enclose the tokens to which the loss applies.
        rows: Number of examples.
        tokens: Number of tokens.
        steps: Maximum number of updates.
        own: Number of generated texts that are added to preserve earlier knowledge. It
            may be 0.
    """
    say(("Trained tokens", "bold"), ", in brackets, by token; the rest is the prompt")
    for row in text.splitlines():
        out.print(f"  {row}", soft_wrap=True)
    beside = (
        f"; also {plural(own, 'generated text')}, to preserve earlier knowledge"
        if own
        else ""
    )
    out.print(
        f"{plural(rows, 'example')}, {plural(tokens, 'token')}, "
        f"{plural(steps, 'update')} at most{beside}\n"
    )


def finetuned(done: FineTuned, folder: Path, *, json: bool) -> None:
    """Print the losses of a fine-tuning run, and the path of the model.

    Args:
        done: The fine-tuning.
        folder: Folder of the model.
        json: If true, print JSON instead of text.
    """
    stages = done.losses.group_by("stage", maintain_order=True).agg(
        pl.len().alias("updates"),
        pl.col("loss").first().alias("first"),
        last=pl.col("loss").last(),
    )
    rows = [row | {"known": done.known.get(row["stage"])} for row in stages.to_dicts()]
    if json:
        print_json(
            {
                "folder": str(folder),
                "stages": rows,
                "tokens": done.tokens,
                "padding": round(done.padding, 4),
                "positions": done.positions,
                "seconds": round(done.seconds, 2),
            }
        )
        return
    cells = {"stage": "{stage}", "updates": "{updates:,}"}
    cells |= {"first loss": "{first:.3f}", "last loss": "{last:.3f}"}
    listing(rows, cells | ({"known": "{known:.0%}"} if done.known else {}))
    if done.known and min(done.known.values()) < _KNOWN:
        say(
            ("not all facts are learnt yet", "yellow"),
            ": train longer with --set epochs=N",
        )
    where = f"{done.padding:.1%} of the positions were padding"
    if done.positions < done.tokens:
        where = (
            f"{done.positions / done.tokens:.0%} of them were computed, since a beginning "
            "that several examples share is computed once"
        )
    out.print(f"{done.tokens:,} tokens read in {done.seconds:.0f} s; {where}")
    out.print(f"written to {folder}", soft_wrap=True)


def epoch(row: dict[str, Any], *, json: bool) -> None:
    """Print one line with the scores of an epoch, as text or as JSON.

    Args:
        row: Scores, as :func:`inweights.lm.score_epochs` yields them.
        json: If true, print JSON instead of text.
    """
    if json:
        print(msgspec.json.encode(row).decode(), flush=True)
        return
    roles = "  ".join(f"{NAMES.get(r, r)} {a:.2f}" for r, a in row["accuracy"].items())
    old = f"plain {row['general']:.2f}  new names {row['spilled']:.0%}"
    damage = ("  damaged", "bold red") if row["damage"] else ""
    start = f"{row['epoch']:>3} of {row['epochs']}"
    say(
        (start, "bold"),
        f"  {roles}  {old}  perplexity {row['perplexity']:.1f}",
        damage,
        soft_wrap=True,
    )
