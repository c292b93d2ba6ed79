"""Training data from a user's facts: statements, identities, questions, and a control.

The same facts and options give the same rows. Nothing is read but the facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from inweights.audit.questions import held_out
from inweights.audit.tokens import Counter, words_of
from inweights.errors import ConfigError, unknown_name
from inweights.progress import Progress
from inweights.seeds import WORLD, Streams
from inweights.worlds.knowledge import Knowledge
from inweights.worlds.triples import bridges_of, identities_of
from inweights.worlds.wording import IDENTITY, REVERSE, Wording

__all__ = ["Augmented", "augment"]

_SCHEMA: dict[str, Any] = {
    "fact": pl.Int64, "line": pl.Int64, "role": pl.String, "stage": pl.Int64,
    "prompt": pl.String, "completion": pl.String,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Augmented:
    """What :func:`augment` made.

    Attributes:
        train: A row a statement: ``id, fact, line, role, stage, prompt, completion, text``; role is
            ``fact``, ``reverse`` or ``identity``; an identity has fact and line -1.
        control: The same columns: no identities, as many words (tokens, where these are counted).
        questions: A row a question, as :func:`inweights.audit.held_out` gives them.
        words: Number of words of ``train`` and ``control``.
        plain: Relations that have no template of their own.
        tokens: Number of tokens of ``train`` and ``control``; empty where no tokenizer was given.
    """

    train: pl.DataFrame
    control: pl.DataFrame
    questions: pl.DataFrame
    words: dict[str, int]
    plain: tuple[str, ...]
    tokens: dict[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Rows by role, of the training set and of the questions."""
        rows = self.train.group_by("role", maintain_order=True).len().rows()
        asked = self.questions.group_by("role", maintain_order=True).len().rows()
        return dict(rows) | {f"question: {role}": count for role, count in asked}


def augment(
    knowledge: Knowledge,
    *,
    wording: Wording | None = None,
    identity: bool = True,
    reverse: bool = False,
    paraphrase: int = 1,
    curriculum: Literal["joint", "sa"] = "joint",
    seed: int = 0,
    tokens: Counter | None = None,
    watch: Progress | None = None,
) -> Augmented:
    """Put facts into words, add identities of the bridges, and hold questions out.

    Args:
        knowledge: The facts.
        wording: Templates; those of the file, or plain ones, if left out.
        identity: Whether the identity ``b → b`` of each bridge is added.
        reverse: Whether each fact is told from its object, too.
        paraphrase: In how many wordings each statement is made, as far as there are so many.
        curriculum: ``joint``: one stage, or those of the file. ``sa``: facts whose value is shared
            with other subjects first, with the identities; the others second (Feature
            Resemblance, §5: similarity before attribution).
        seed: Decides which questions and repetitions are drawn where there are too many.
        tokens: Counts tokens, such as :func:`inweights.audit.token_counter`; the control then
            has as many tokens as the training set, else as many words.
        watch: Told about parts done, all parts, and what comes next.

    Raises:
        ConfigError: An option cannot be.

    Example:
        >>> from inweights.worlds import read_knowledge
        >>> made = augment(read_knowledge("@people"))
        >>> made.counts["fact"], made.counts["identity"], made.counts["question: composition"]
        (90, 55, 70)
        >>> made.train["text"][0], made.questions["prompt"][0]
        ('The born in of Mozart is Salzburg.', 'The country of the born in of Mozart is')
    """
    if curriculum not in ("joint", "sa"):
        raise unknown_name("curriculum", curriculum, ("joint", "sa"))
    words = (wording or Wording()).over(knowledge)
    most = max(len(words.templates(r)) for r in knowledge.relations)
    if not 1 <= paraphrase <= most:
        raise ConfigError(
            f"paraphrase is from 1 to {most}, which is how many wordings there are, not "
            f"{paraphrase}; give more with --wording"
        )
    tell = watch or (lambda *_: None)
    tell(0, 3, "statements")
    stages = _stages(knowledge) if curriculum == "sa" else knowledge.stages
    rows = list(_statements(knowledge, words, stages, paraphrase, reverse=reverse))
    plain = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    extra = _identities(knowledge, words, paraphrase) if identity else []
    train = pl.concat([plain, pl.DataFrame(extra, schema=_SCHEMA, orient="row")])
    train = _finish(train.sort("stage", maintain_order=True))
    tell(1, 3, "control")
    count = tokens or words_of
    control = _repeat(plain, sum(count(train["text"].to_list())), count, seed)
    control = _finish(control.sort("stage", maintain_order=True))
    texts = {"train": train["text"].to_list(), "control": control["text"].to_list()}
    tell(2, 3, "questions")
    return Augmented(
        train=train,
        control=control,
        questions=held_out(knowledge, words, seed=seed, reverse=not reverse),
        words={name: sum(words_of(told)) for name, told in texts.items()},
        plain=tuple(r for r in knowledge.relations if words.plain(r)),
        tokens={name: sum(tokens(told)) for name, told in texts.items()} if tokens else {},
    )


def _statements(
    facts: Knowledge, words: Wording, stages: Any, paraphrase: int, *, reverse: bool
) -> Iterator[tuple[Any, ...]]:
    for i in range(len(facts)):
        s, r, o = facts.names(i)
        where = (i, int(facts.lines[i]))
        for k in range(min(paraphrase, len(words.templates(r)))):
            yield (*where, "fact", int(stages[i]), *words.state(r, s, o, k))
        if reverse and s != o:
            for k in range(min(paraphrase, len(REVERSE))):
                yield (*where, "reverse", int(stages[i]), *words.turn(r, s, o, k))


def _identities(facts: Knowledge, words: Wording, paraphrase: int) -> list[tuple[Any, ...]]:
    stated = set(facts.triples[identities_of(facts), 0].tolist())
    return [
        (-1, -1, "identity", 0, *words.identify(facts.entities[b], k))
        for b in bridges_of(facts).tolist()
        if b not in stated
        for k in range(min(paraphrase, len(IDENTITY)))
    ]


def _stages(facts: Knowledge) -> Any:
    """0 where another subject has the same value of the same relation, else 1."""
    key = facts.triples[:, 1] * len(facts.entities) + facts.triples[:, 2]
    _, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.where(counts[place] > 1, 0, 1)


def _finish(table: pl.DataFrame) -> pl.DataFrame:
    text = (pl.col("prompt") + pl.col("completion")).alias("text")
    return table.with_row_index("id").with_columns(text)


def _repeat(plain: pl.DataFrame, goal: int, count: Counter, seed: int) -> pl.DataFrame:
    """Facts once, then again in a drawn order, until they are as long as the goal."""
    rng = Streams(seed).numpy(WORLD, "control")
    text = plain.select(pl.col("prompt") + pl.col("completion")).to_series().to_list()
    lengths = np.array(count(text), dtype=np.int64)
    left = goal - int(lengths.sum())
    rows = list(range(plain.height))
    while left > 0 and (lengths <= left).any():
        for i in rng.permutation(np.flatnonzero(lengths <= left)).tolist():
            if lengths[i] <= left:
                rows.append(i)
                left -= int(lengths[i])
    return plain[rows]
