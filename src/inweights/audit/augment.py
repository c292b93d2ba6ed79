"""Create training data from a user's facts: training texts, a control, and held-out questions.

:func:`augment` calls strategies (:mod:`inweights.audit.strategies`) that add texts, and
:func:`~inweights.audit.write_augmented` writes the result. The same arguments always
yield the same rows.
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
from inweights.audit.strategies.inputs import check_ranges
from inweights.audit.strategies.measured import Choice, choose
from inweights.errors import ConfigError, check_names
from inweights.support.progress import Progress
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.triples import two_step_questions
from inweights.worlds.knowledge.words.wording import Wording

#: Maximum number of tokens of replayed text per token of all other texts.
REPLAYED = 0.25


@dataclass(frozen=True, eq=False)
class Augmented:
    """Training set, control set and held-out questions returned by :func:`augment`.

    Attributes:
        train: One row per text, in the order of training: ``id`` (its index), ``fact``
            (index of the fact that it states) and ``line`` (its line in the file; both
            are -1 for a text that does not state exactly one fact), ``role`` (``fact``,
            or the kind of text that a strategy adds), ``stage`` (of the curriculum,
            from 0), ``prompt``, ``completion``, ``text`` (both together), ``turn`` (the
            user's turn in chat).
        control: A training set with the same columns that contains only the facts,
            repeated until it is as long as ``train`` (in tokens if a tokenizer was
            given, otherwise in words).
        questions: The table of :func:`inweights.audit.held_out`, with two more columns:
            ``told``, the roles of the rows of ``train`` that name the subject of the
            question and then its answer in one sentence (empty if the answer requires
            reasoning); and ``itself``, whether the answer is the subject.
        words: Number of words in all texts of ``train`` and of ``control``, by these
            names.
        plain: Names of the relations without a sentence template of their own.
        tokens: Number of tokens in all texts of ``train`` and of ``control``, by these
            names; empty if no tokenizer was given.
        strategies: Names of the strategies used, including those that ``auto`` chose.
        dropped: Number of questions left out because the training set contains their
            prompt.
        chains: Number of all possible two-step questions (distinct prompts);
            ``questions`` may contain fewer.
        alone: Number of questions left out because they have no wrong candidate.
        choices: Choices of ``auto``, one per kind of question; empty without ``auto``.
        facts: One row per fact: ``subject``, ``relation``, ``object``.
        rewritten: Number of facts for which a text from ``rewrite`` was used, and
            number of facts passed to ``rewrite``; both are 0 if it is ``None``.
        often: Smallest and largest number, over all facts, of rows of ``train`` that
            state only this fact.
        doubtful: Number of facts that cannot begin a chain because their object may be
            a homonym (one name for two entities).
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
        """Number of rows of each role in the training set, and of questions of each role.

        The keys are the roles of ``train``, and ``question: ROLE`` for questions.
        ``question: ROLE, told`` counts the questions that a training text answers
        directly; it is left out if there are none.
        """
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
    replay: str | Path | Sequence[str] | None = None,
    budget: int = 0,
    curriculum: Literal["joint", "sa"] = "joint",
    seed: int = 0,
    tokens: Counter | None = None,
    first: Sequence[tuple[int, int]] = (),
    rewrite: Callable[[Sequence[str]], Sequence[str]] | None = None,
    watch: Progress | None = None,
) -> Augmented:
    """Turn facts into training texts, add further texts with strategies, and hold out questions.

    Args:
        knowledge: The facts.
        strategies: Names of :data:`inweights.audit.strategies.STRATEGIES` that add
            texts, or ``auto`` for the strategies that measurements support. By default,
            no texts are added.
        want: Kinds of questions for which ``auto`` chooses a strategy: ``recall``,
            ``reverse``, ``composition`` or ``steps``
            (:data:`inweights.audit.strategies.measured.ASKED`). Used only by ``auto``.
        wording: Sentence templates; by default the templates of the file if it defines
            any, otherwise generic templates.
        wordings: Largest number of wordings in which a strategy states the same fact or
            chain; from 1 to the largest number of templates of a relation.
        hops: Largest number of facts (2 to 6) in a chain for the strategy ``derive``.
        most: Largest number of chains of each length that strategies state; at least 1.
        hold_out: Fraction (0 to 1) of the bridges that are held out: no strategy states
            chains through them, so that questions about these chains test composition.
        floor: Smallest fraction (0 to below 0.9) of the text that states individual
            facts. Facts are repeated until this fraction is reached, so that errors on
            held-out chains are not due to forgotten facts.
        replay: Texts for the strategy ``replay`` (a sequence, or a file with one text
            per line), at most a quarter as long in total as all other texts.
        budget: Length of the training set, in tokens (in words if ``tokens`` is
            ``None``). The set is filled with all facts, then with added texts in random
            order, then with repetitions. If it is 0, each row occurs once.
        curriculum: ``joint`` uses the stages of the file, or a single stage if the file
            has no stages. With ``sa``, facts whose value other subjects share, and
            identities that a strategy adds, come first (Feature Resemblance, §5:
            similarity before attribution).
        seed: Root seed of all random choices among questions, chains and repetitions;
            from 0 to 2**63 - 1.
        tokens: Function that returns the number of tokens (above 0) of each text in a
            list, such as the result of :func:`inweights.audit.token_counter`. If it is
            ``None``, words are counted.
        first: Chains of two facts, as pairs of indices (not checked), such as the
            result of :func:`inweights.audit.failing_chains`. They are stated before all
            other chains if ``most`` limits the number of chains.
        rewrite: Function that rewords texts for the strategy ``paraphrases``, such as
            :func:`inweights.lm.paraphraser`. It returns one text for each text given,
            in the same order; texts that no longer state the fact are left out. Its
            errors propagate. If it is ``None``, only the templates are used.
        watch: Called with the number of finished parts, the number of all parts (3),
            and the name of the next part; ``None`` disables progress reporting.

    Returns:
        The training set, the control set, the questions and counts. No file is written.

    Raises:
        ConfigError: A strategy, a kind of question or ``curriculum`` is unknown; a
            number is out of range; the budget is too small for the facts; the result is
            too large for the memory; ``replay`` is given without the strategy
            ``replay`` or vice versa; or ``rewrite`` is given without ``paraphrases``.
        DataError: ``replay`` cannot be read or contains no text; ``rewrite`` returns
            too few or too many texts; or a text answers a held-out question, but is not
            marked (``told``) because a relation is worded with the name of an entity.

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
        raise ConfigError(
            "replay texts have no effect without the strategy 'replay'; add it to "
            "'strategies'"
        )
    if rewrite is not None and "paraphrases" not in chosen:
        raise ConfigError(
            "a rewrite function has no effect without the strategy 'paraphrases'; add it to "
            "'strategies'"
        )
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
    check_ranges(inputs, floor, budget)
    report(0, 3, "statements")
    facts = list(plain(inputs))
    added = _added(inputs, chosen, facts, floor, count)
    rows = fill(facts, added, budget, count, seed) if budget else [*facts, *added]
    # Rows are in the order of training: by stage, then by fact, then rows without a
    # fact.
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
    """Return the rows that strategies add, and repetitions of facts up to ``floor``."""
    added: list[Row] = []
    for name, strategy in chosen.items():
        if name != "replay":
            added += strategy(inputs)
    added += often_enough([*facts, *added], floor, count)
    if "replay" in chosen:
        length = sum(count([text_of(row) for row in (*facts, *added)]))
        added += within(list(chosen["replay"](inputs)), int(REPLAYED * length), count)
    return added
