"""What a model knew before it was fine-tuned: plain questions and text, and how answers end."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from inweights.config import load_toml
from inweights.lm.exams.compare import paired
from inweights.lm.exams.evaluate import ask
from inweights.lm.exams.questions import Question
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.score import generate, log_likelihoods
from inweights.support.progress import Progress

_ASKED = load_toml(Path(__file__).with_suffix(".toml"))
#: What a small model knows of itself: a prompt, the answer, and wrong ones.
GENERAL: list[list[str]] = _ASKED["questions"]
#: Plain prose whose perplexity is measured.
TEXTS = [" ".join(text.split()) for text in _ASKED["texts"]]
_TOKENS = 16
_GOES_ON = re.compile(r"[.!?\n]\s*\S")
_REPEATS = re.compile(r"\b(\w[\w ]*?)(?:\W+\1\b){2,}")
#: A model is called damaged from these changes on.
_LOST, _RATIO, _REPEATED = 0.1, 1.5, 0.2


def general_knowledge(
    lm: LanguageModel, names: Sequence[str] = (), *, progress: Progress | None = None
) -> pl.DataFrame:
    """Evaluate a model on questions unrelated to the training facts.

    ``names`` are those of its training facts, to notice where it gives one for an answer.

    Returns:
        A row a question of ``GENERAL``, with the columns of :func:`inweights.lm.ask` and ``said``
        (16 tokens of its own), ``runs_on`` (it goes on after its first sentence), ``repeats`` (it
        says the same three times in a row) and ``spilled`` (it begins with one of ``names``, and
        not with the answer); then a row a text of ``TEXTS``, with ``nats``, the mean negative
        log-likelihood a token. ``kind`` is ``question`` or ``text``.

    Example:
        >>> from inweights.lm import load_model
        >>> general_knowledge(load_model("@tiny"), ["Ann"])["kind"].value_counts(sort=True).rows()
        [('question', 24), ('text', 4)]
    """
    questions = [
        Question(f"general {i}", "general", prompt, tuple(answers), 0)
        for i, (prompt, *answers) in enumerate(GENERAL)
    ]
    tell = (lambda d, n: progress(d, n, "earlier knowledge")) if progress else None
    said = generate(lm, [q.prompt for q in questions], tokens=_TOKENS, stop="", progress=tell)
    told = tuple(name for name in names if name)
    spilled = [
        text.startswith(told) and not text.startswith(q.answer)
        for q, text in zip(questions, said, strict=True)
    ]
    asked = ask(lm, questions).with_columns(
        kind=pl.lit("question"),
        said=pl.Series(said, dtype=pl.String),
        runs_on=pl.Series([bool(_GOES_ON.search(text)) for text in said]),
        repeats=pl.Series([bool(_REPEATS.search(text)) for text in said]),
        spilled=pl.Series(spilled),
    )
    lm = replace(lm, chat=False)  # the texts are nobody's turn
    cut = [text.partition(" ") for text in TEXTS]
    scores = log_likelihoods(lm, [a for a, _, _ in cut], [[f" {b}"] for _, _, b in cut])
    nats = [
        -float(s[0]) / len(lm.tokens(f" {b}")) for s, (_, _, b) in zip(scores, cut, strict=True)
    ]
    texts = pl.DataFrame({"id": [f"text {i}" for i in range(len(TEXTS))], "nats": nats})
    return pl.concat([asked, texts.with_columns(kind=pl.lit("text"))], how="diagonal")


def kept(before: pl.DataFrame, after: pl.DataFrame) -> dict[str, Any]:
    """Say what a model lost between two tables of :func:`general_knowledge`.

    Returns:
        ``accuracy``, ``perplexity`` (of the texts together), ``runs_on``, ``repeats`` and
        ``spilled`` (shares), each a pair before and after; ``p``, of the exact paired test of the
        questions; and ``damage``: what went wrong, a sentence each, empty where nothing did. The
        limits: a tenth of the questions lost and p below .05, perplexity grown by half, a fifth
        more answers that repeat themselves, or a new name for a tenth of the old questions.

    Example:
        >>> one = pl.DataFrame({"id": ["a", "b"], "kind": ["question", "text"], "nats": [None, 1.0],
        ...     "hit": [True, None], "runs_on": [True, None], "repeats": [False, None],
        ...     "spilled": [False, None]})
        >>> kept(one, one.with_columns(nats=pl.col("nats") + 1))["damage"]
        ['perplexity of plain text rose from 2.7 to 7.4']
    """
    tables = (before, after)
    questions = [t.filter(pl.col("kind") == "question") for t in tables]
    shares: dict[str, Any] = {
        name: tuple(float(t[name].mean()) for t in questions)  # type: ignore[arg-type]
        for name in ("hit", "runs_on", "repeats", "spilled")
    }
    perplexity = tuple(float(np.exp(t["nats"].drop_nulls().to_numpy().mean())) for t in tables)
    test = paired(questions[0], questions[1])
    damage = []
    was, now = accuracy = shares.pop("hit")
    if was - now >= _LOST and test.p < 0.05:
        damage.append(f"plain questions answered fell from {was:.0%} to {now:.0%} (p {test.p:.2g})")
    if perplexity[1] >= _RATIO * perplexity[0]:
        from_to = "perplexity of plain text rose from {:.1f} to {:.1f}"
        damage.append(from_to.format(*perplexity))
    was, now = shares["repeats"]
    if now - was >= _REPEATED:
        damage.append(f"repetitive answers rose from {was:.0%} to {now:.0%}")
    was, now = shares["spilled"]
    if now - was >= _LOST:
        named = "of plain questions are answered with a new name"
        damage.append(f"{now:.0%} {named} ({was:.0%} before)")
    return {"accuracy": accuracy, **shares, "perplexity": perplexity, "p": test.p, "damage": damage}
