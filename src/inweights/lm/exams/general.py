"""Measure, on plain questions and texts, whether a model keeps its earlier knowledge.

:func:`general_knowledge` evaluates one model, and :func:`kept` compares two evaluations
and describes the damage. :func:`~inweights.lm.evaluation` includes both.
"""

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
#: Questions that a small model answers without further training, each as a prompt, its
#: answer, and wrong answers.
GENERAL: list[list[str]] = _ASKED["questions"]
#: Plain prose on which perplexity is measured.
TEXTS = [" ".join(text.split()) for text in _ASKED["texts"]]
_TOKENS = 16
_GOES_ON = re.compile(r"[.!?\n]\s*\S")
_REPEATS = re.compile(r"\b(\w[\w ]*?)(?:\W+\1\b){2,}")
#: Smallest changes that are reported as damage.
_LOST = 0.1
_RATIO = 1.5
_REPEATED = 0.2


def general_knowledge(
    lm: LanguageModel, names: Sequence[str] = (), *, progress: Progress | None = None
) -> pl.DataFrame:
    """Evaluate a model on questions and texts unrelated to its training facts.

    Args:
        lm: The model.
        names: Names in the model's training facts, to detect answers that wrongly use
            one of them; by default none.
        progress: Function that is called with the number of questions done, the total
            number of questions, and a description; ``None`` for no progress reports.

    Returns:
        One row per question of :data:`GENERAL` (``kind`` is ``question``), followed by
        one row per text of :data:`TEXTS` (``kind`` is ``text``). A question has the
        columns of :func:`inweights.lm.ask`; ``said``, an answer of at most 16 generated
        tokens; ``runs_on``, whether the answer continues after its first sentence or
        line; ``repeats``, whether it contains the same words three times in a row; and
        ``spilled``, whether it begins with one of ``names`` instead of the correct
        answer. A text has an ``id`` and ``nats``, its mean negative log-likelihood per
        token after the first word, in nats. Columns that do not apply are null.

    Raises:
        DataError: A prompt has no tokens.

    Example:
        >>> from inweights.lm import load_model
        >>> general_knowledge(load_model("@tiny"), ["Ann"])["kind"].value_counts(sort=True).rows()
        [('question', 24), ('text', 4)]
    """
    questions = [
        Question(f"general {i}", "general", prompt, tuple(answers), 0)
        for i, (prompt, *answers) in enumerate(GENERAL)
    ]

    def answered(done: int, total: int) -> None:
        if progress:
            progress(done, total, "earlier knowledge")

    prompts = [question.prompt for question in questions]
    # The text does not stop at the end of a line, because answers that continue after
    # it are counted.
    said = generate(lm, prompts, tokens=_TOKENS, stop="", progress=answered)
    trained = tuple(name for name in names if name)
    spilled = []
    for question, text in zip(questions, said, strict=True):
        right = text.startswith(question.answer)
        # A new name does not count as spilled if it is the correct answer.
        spilled.append(text.startswith(trained) and not right)
    asked = ask(lm, questions).with_columns(
        kind=pl.lit("question"),
        said=pl.Series(said, dtype=pl.String),
        runs_on=pl.Series([bool(_GOES_ON.search(text)) for text in said]),
        repeats=pl.Series([bool(_REPEATS.search(text)) for text in said]),
        spilled=pl.Series(spilled),
    )
    lm = replace(lm, chat=False)  # the texts below are not turns of a chat
    # The first word is given rather than scored, because no text precedes it.
    first_words = [text.partition(" ")[0] for text in TEXTS]
    rests = [" " + text.partition(" ")[2] for text in TEXTS]
    scores = log_likelihoods(lm, first_words, [[rest] for rest in rests])
    nats = []
    for score, rest in zip(scores, rests, strict=True):
        nats.append(-float(score[0]) / len(lm.tokens(rest)))
    names_of_texts = [f"text {i}" for i in range(len(TEXTS))]
    texts = pl.DataFrame({"id": names_of_texts, "nats": nats})
    texts = texts.with_columns(kind=pl.lit("text"))
    return pl.concat([asked, texts], how="diagonal")


def kept(before: pl.DataFrame, after: pl.DataFrame) -> dict[str, Any]:
    """Compare the general knowledge of a model before and after training, and describe the damage.

    Args:
        before: Table of the model before training, from :func:`general_knowledge`.
        after: Table of the model after training, from :func:`general_knowledge`.

    Returns:
        A dictionary with ``accuracy`` on questions, ``perplexity`` of the texts, and
        the shares ``runs_on``, ``repeats`` and ``spilled`` of the questions, each as a
        pair of numbers before and after training; ``p``, the p value of the exact
        paired test of the questions; and ``damage``, a list of sentences that describe
        the damage, which is empty if there is none. Damage is reported if ``accuracy``
        falls by at least .1 and ``p`` is below .05, if ``perplexity`` grows to at least
        1.5 times its value before training, if ``repeats`` rises by at least .2, or if
        ``spilled`` rises by at least .1.

    Raises:
        DataError: The tables have different questions.

    Example:
        >>> one = pl.DataFrame({"id": ["a", "b"], "kind": ["question", "text"], "nats": [None, 1.0],
        ...     "hit": [True, None], "runs_on": [True, None], "repeats": [False, None],
        ...     "spilled": [False, None]})
        >>> kept(one, one.with_columns(nats=pl.col("nats") + 1))["damage"]
        ['perplexity of plain text rose from 2.7 to 7.4']
    """
    tables = (before, after)
    questions = [t.filter(pl.col("kind") == "question") for t in tables]
    shares: dict[str, Any] = {}
    for name in ("hit", "runs_on", "repeats", "spilled"):
        shares[name] = tuple(float(t[name].mean()) for t in questions)  # type: ignore[arg-type]
    perplexity = tuple(
        float(np.exp(t["nats"].drop_nulls().to_numpy().mean())) for t in tables
    )
    test = paired(questions[0], questions[1])
    damage = []
    was, now = accuracy = shares.pop("hit")
    if was - now >= _LOST and test.p < 0.05:
        damage.append(
            f"accuracy on plain questions fell from {was:.0%} to {now:.0%} (p {test.p:.2g})"
        )
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
    return {
        "accuracy": accuracy,
        **shares,
        "perplexity": perplexity,
        "p": test.p,
        "damage": damage,
    }
