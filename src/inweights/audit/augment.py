"""Make training data from a user's facts: statements, added texts, held-out questions, a control.

:func:`augment` is the main name; strategies (:mod:`inweights.audit.strategies`) add the
texts, and :func:`~inweights.audit.write_augmented` writes the result. The same facts
and options give the same rows; nothing is read but the facts, and a file to replay.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import polars as pl

from inweights.audit.questions.direct import mark_direct_answers
from inweights.audit.questions.held_out import with_left_out
from inweights.audit.rows import (
    Counter,
    fill,
    often_enough,
    stages_of,
    table_of,
    text_of,
    turn_of,
    within,
    words_of,
)
from inweights.audit.strategies import (
    Row,
    Strategy,
    StrategyInput,
    plain,
    strategies_of,
)
from inweights.audit.strategies.measured import Choice, choose
from inweights.errors import ConfigError, check_names
from inweights.support.progress import Progress
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.triples import two_step_questions
from inweights.worlds.knowledge.words.wording import Wording

#: Most tokens of replayed text for each token of all other texts.
REPLAYED = 0.25


@dataclass(frozen=True, eq=False)
class Augmented:
    """Training set, control and questions made by :func:`augment`.

    Attributes:
        train: A row for each text: ``id, fact, line, role, stage, prompt, completion,
            text, turn``. ``role`` is ``fact``, or what a strategy makes; a text that
            states no single fact has fact and line -1; ``turn`` is what a user says in
            chat, who asks rather than begins a sentence.
        control: The same columns: the facts alone, repeated to as many words as
            ``train`` has (tokens, where these are counted).
        questions: A row for each question, as :func:`inweights.audit.held_out` returns
            them, with ``told``: roles of the rows of ``train`` that answer it by direct
            statement, in a sentence that names first what is asked about and then the
            answer (empty for questions that only reasoning answers); and ``itself``:
            whether the answer is the subject.
        words: Number of words of ``train`` and ``control``.
        plain: Relations without a template.
        tokens: Number of tokens of ``train`` and ``control``; empty where no tokenizer
            was given.
        strategies: Names of the strategies that were used.
        dropped: Number of questions that were left out, as a training text has their
            very prompt.
        chains: Number of all two-step questions; fewer are asked where there are many,
            or where no wrong candidate is known.
        alone: Number of questions left out because the answer is their only candidate.
        choices: Choice of ``auto`` for each kind of question, with the reason.
        facts: ``subject, relation, object``, a row for each fact.
        rewritten: Number of facts that a model reworded, and of facts that it was
            given.
        often: How often the rarest and the commonest fact are stated as single facts in
            ``train``.
        doubtful: Number of facts that begin no chain, stated or asked, as the file
            contradicts one: their object seems to be another thing of the same name.
    """

    train: pl.DataFrame
    control: pl.DataFrame
    questions: pl.DataFrame
    words: dict[str, int]
    plain: tuple[str, ...]
    tokens: dict[str, int] = field(default_factory=dict)
    strategies: tuple[str, ...] = ()
    dropped: int = 0
    chains: int = 0
    alone: int = 0
    choices: tuple[Choice, ...] = ()
    facts: pl.DataFrame = field(default_factory=pl.DataFrame)
    rewritten: tuple[int, int] = (0, 0)
    often: tuple[int, int] = (0, 0)
    doubtful: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows by role, of the training set and of the questions."""
        rows = self.train.group_by("role", maintain_order=True).len().rows()
        asked = self.questions.group_by("role", maintain_order=True)
        is_stated = pl.col("told").list.len() > 0
        kinds = asked.agg(pl.len(), stated=is_stated.sum()).rows()
        found = dict(rows) | {f"question: {role}": count for role, count, _ in kinds}
        for role, _, stated in kinds:
            if stated:
                found[f"question: {role}, told"] = stated
        return found


def augment(
    knowledge: Knowledge,
    *,
    strategies: Sequence[str] = (),
    want: Sequence[str] = ("recall", "composition"),
    wording: Wording | None = None,
    wordings: int = 3,
    hops: int = 2,
    most: int = 10_000,
    hold_out: float = 0.0,
    floor: float = 0.0,
    replay: Path | Sequence[str] | None = None,
    budget: int = 0,
    curriculum: Literal["joint", "sa"] = "joint",
    seed: int = 0,
    tokens: Counter | None = None,
    first: Sequence[tuple[int, int]] = (),
    rewrite: Callable[[Sequence[str]], Sequence[str]] | None = None,
    watch: Progress | None = None,
) -> Augmented:
    """Word facts as texts, add further texts by strategies, and hold out questions.

    Args:
        knowledge: The facts.
        strategies: Names of :data:`inweights.audit.strategies.STRATEGIES`: which texts
            are added to the statement of each fact. ``auto`` chooses those that
            measurements support.
        want: Kinds of questions that ``auto`` is to have answered: names of
            :data:`inweights.audit.strategies.measured.ASKED`.
        wording: Sentence templates; by default those of the file, or plain ones.
        wordings: In how many wordings a strategy states the same, as far as there are
            so many.
        hops: Largest number of facts in a chain whose end ``derive`` states.
        most: Largest number of chains of each length that strategies state.
        hold_out: Share of the bridges whose chains no strategy states, so that what is
            learnt beyond memory can be measured.
        floor: Least share of the training set (tokens, or words) that states facts by
            themselves: where strategies add more, all facts are stated again, so that
            chains which are held out measure composition and not facts forgotten among
            chains that are stated.
        replay: A text file with one text per line, or its lines, for the strategy
            ``replay``; it makes up at most a quarter of all other text.
        budget: Tokens (words, where no tokenizer is given) of the training set: all
            facts, then what strategies add in a drawn order, then all of it again. 0:
            each row once.
        curriculum: ``joint``: one stage, or those of the file. ``sa``: facts whose
            value is shared with other subjects first, with the identities; the others
            second (Feature Resemblance, §5: similarity before attribution).
        seed: Root seed of the questions, chains and repetitions that are drawn where
            there are too many.
        tokens: Counts tokens, such as :func:`inweights.audit.token_counter`; the
            control then has as many tokens as the training set, otherwise as many
            words.
        first: Chains of two facts (numbers of the facts) that are stated before all
            others where ``most`` limits them, such as those of
            :func:`inweights.audit.failing_chains`.
        rewrite: Rewords texts for the strategy ``paraphrases``, such as
            :func:`inweights.lm.paraphraser`: one text for each that it is given, in
            their order. What does not state the fact any more is left out.
        watch: Called with parts done, number of parts, and the name of the next part.

    Returns:
        Training set, control, questions, and counts.

    Raises:
        ConfigError: An option is not valid.
        DataError: The file to replay cannot be read, a training text answers a held-out
            question without being marked, or ``rewrite`` returns too few or many texts.

    Example:
        >>> from inweights.worlds import read_knowledge
        >>> made = augment(read_knowledge("@people"), strategies=["derive"])
        >>> made.counts["fact"], made.counts["derived"], made.counts["question: composition"]
        (90, 210, 70)
        >>> made.train["text"][0], made.questions["prompt"][0]
        ('Mozart was born in Salzburg.', 'The country of the birthplace of Mozart is')
        >>> made.train.filter(role="derived")["text"][0], made.questions["told"][0].to_list()
        ('Mozart has a birthplace whose country is Austria.', ['derived'])
    """
    choices = choose(want) if "auto" in strategies else []
    given = [name for name in strategies if name != "auto"]
    chosen = strategies_of([*given, *(c.strategy for c in choices if c.strategy)])
    check_names("curriculum", [curriculum], ("joint", "sa"))
    if replay is not None and "replay" not in chosen:
        raise ConfigError("a replay file needs the strategy 'replay'; add it")
    if rewrite is not None and "paraphrases" not in chosen:
        raise ConfigError("a paraphraser needs the strategy 'paraphrases'; add it")
    report = watch or (lambda *_: None)
    count = tokens or words_of
    words = (wording or Wording()).over(knowledge)
    inputs = StrategyInput(
        facts=knowledge,
        words=words,
        stages=stages_of(knowledge) if curriculum == "sa" else knowledge.stages,
        seed=seed,
        wordings=wordings,
        hops=hops,
        most=most,
        hold_out=hold_out,
        replay=replay,
        first=first,
        rewrite=rewrite,
    )
    _validate(inputs, floor, budget)
    report(0, 3, "statements")
    facts = list(plain(inputs))
    added = _added(inputs, chosen, facts, floor, count)
    rows = fill(facts, added, budget, count, seed) if budget else [*facts, *added]
    # In the order of training: by stage, then all texts of one fact, then those of
    # none.
    rows.sort(key=lambda row: (row.stage, row.fact < 0, row.fact))
    turn = partial(turn_of, facts=knowledge, words=words)
    train = table_of(rows, turn)
    report(1, 3, "control")
    length = sum(count(train["text"].to_list()))
    repeated = fill(facts, [], length, count, seed)
    control = table_of(sorted(repeated, key=lambda row: row.stage), turn)
    texts = {"train": train["text"].to_list(), "control": control["text"].to_list()}
    report(2, 3, "questions")
    asked, alone = with_left_out(
        knowledge, words, seed=seed, reverse="reversals" not in chosen
    )
    questions = mark_direct_answers(asked, rows, knowledge, train["turn"])
    often = train.filter(pl.col("fact") >= 0)["fact"].value_counts()["count"].to_list()
    return Augmented(
        train=train,
        control=control,
        questions=questions,
        words={name: sum(words_of(lines)) for name, lines in texts.items()},
        plain=tuple(r for r in knowledge.relations if words.plain(r)),
        tokens={name: sum(tokens(lines)) for name, lines in texts.items()}
        if tokens
        else {},
        strategies=tuple(chosen),
        dropped=asked.height - questions.height,
        chains=two_step_questions(knowledge),
        alone=alone,
        choices=tuple(choices),
        facts=knowledge.frame().select("subject", "relation", "object"),
        rewritten=(
            sum(row.role == "rewritten" for row in added),
            len(knowledge) if rewrite else 0,
        ),
        often=(min(often), max(often)),
        doubtful=len(inputs.doubtful),
    )


def _added(
    inputs: StrategyInput,
    chosen: Mapping[str, Strategy],
    facts: list[Row],
    floor: float,
    count: Counter,
) -> list[Row]:
    """Return the rows that strategies add, and facts repeated up to their least share."""
    added: list[Row] = []
    for name, strategy in chosen.items():
        if name != "replay":
            added += strategy(inputs)
    added += often_enough([*facts, *added], floor, count)
    if "replay" in chosen:
        length = sum(count([text_of(row) for row in (*facts, *added)]))
        added += within(list(chosen["replay"](inputs)), int(REPLAYED * length), count)
    return added


def _validate(inputs: StrategyInput, floor: float, budget: int) -> None:
    """Raise an error for a number out of range."""
    there = max(len(inputs.words.templates(r)) for r in inputs.facts.relations)
    if not 1 <= inputs.wordings <= there:
        raise ConfigError(
            f"wordings must be from 1 to {there}, the number of wordings, got {inputs.wordings}; "
            "add more with --wording"
        )
    if not 2 <= inputs.hops <= 6:
        raise ConfigError(f"hops must be from 2 to 6, got {inputs.hops}")
    if inputs.most < 1 or budget < 0:
        raise ConfigError(
            f"most must be at least 1 and budget at least 0, got {inputs.most} and {budget}"
        )
    if not 0 <= inputs.hold_out <= 1:
        raise ConfigError(
            f"hold_out must be a fraction from 0 to 1, got {inputs.hold_out:g}"
        )
    if not 0 <= floor < 0.9:
        raise ConfigError(f"floor must be a fraction from 0 to 0.9, got {floor:g}")
