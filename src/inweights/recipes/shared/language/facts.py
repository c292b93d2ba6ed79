"""Train and evaluate chains of two facts, which are real or invented."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import structs

import inweights as iw
from inweights.audit import augment
from inweights.errors import ConfigError
from inweights.lm.exams.questions import Question, exam
from inweights.lm.model.data import Example
from inweights.lm.model.load import LanguageModel
from inweights.recipes.shared.language.budget import fill_budget
from inweights.recipes.shared.language.experiment import Quiz, without_bridge
from inweights.recipes.shared.language.invented import (
    COUNTRY,
    WORDING,
    Invented,
    knowledge,
)
from inweights.seeds import WORLD, Streams
from inweights.worlds.knowledge.knowledge import Knowledge, read_knowledge
from inweights.worlds.knowledge.words.wording import Wording

#: Wordings of the real facts, about people and substances. No relation is both a first
#: and a second hop, so that a mix of second hops contains no first hop.
_OTHERS = Wording.read(Path(__file__).with_suffix(".toml"))
_REAL = structs.replace(
    _OTHERS, statements={**WORDING.statements, **_OTHERS.statements}
)


class TrainingMix(iw.Config):
    """Config that selects the statements on which a model is trained.

    Attributes:
        identity: Whether the identity ``b → b`` of each bridge is in the training data.
        reverse: Whether each fact is also stated in reverse, from its object to its
            subject.
        paraphrase: Number of wordings of each statement, at least 1 (the default).
        hops: Hops to state in the training data: ``both``, ``first`` or ``second``.
        composed: Share of the bridges (at least 0 and below 1) whose two-hop facts are
            also in the training data. Questions through these bridges are in
            distribution; all other questions are out of distribution.

    Raises:
        ConfigError: ``composed`` is outside ``[0, 1)``, or ``hops`` is unknown.
    """

    identity: bool = False
    reverse: bool = False
    paraphrase: int = 1
    hops: Literal["both", "first", "second"] = "both"
    composed: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.composed < 1:
            raise ConfigError(
                f"'composed' must be at least 0 and below 1, got {self.composed:g}"
            )

    @property
    def strategies(self) -> tuple[str, ...]:
        """Names of the strategies of :func:`inweights.audit.augment` that add the statements."""
        chosen = {
            "paraphrases": self.paraphrase > 1,
            "reversals": self.reverse,
            "identities": self.identity,
        }
        return tuple(name for name, whether in chosen.items() if whether)


class Facts(iw.Config):
    """Config of facts that form two-hop chains, and of the statements to train on.

    There are four kinds of questions: compositions, their first hops, their second
    hops, and prompts that skip the first hop. A pair consists of the prompts of a
    composition and of its second hop. A value of the wrong type raises a
    ``ConfigError``; ranges are checked when the config is used.

    Attributes:
        world: Config of invented facts. If ``None`` (the default), real facts about
            people and substances are used.
        mix: Selection of the statements to train on; by default the facts of both
            hops.
        tokens: Number of tokens in one pass, up to which the statements are repeated.
            It must be at least their total number of tokens. The default, 0, can only
            be used if no model is trained.
    """

    world: Invented | None = None
    mix: TrainingMix = TrainingMix()
    tokens: int = 0

    @property
    def drawn(self) -> bool:
        """Whether the facts are invented, so that they depend on the seed."""
        return self.world is not None

    def quiz(self, seed: int) -> Quiz:
        """Return questions, pairs of prompts, and the ids of the chains stated in training.

        Args:
            seed: Root seed of invented facts and of the choice of bridges.

        Returns:
            The questions of :func:`asked_of`, which do not depend on ``mix``; for each
            composition, the pair of its prompt and the prompt of its second hop; and
            the ids of the compositions whose two-hop facts are in the training data.

        Raises:
            ConfigError: ``world`` does not define a world, or ``seed`` is negative.
        """
        questions = asked_of(*facts_of(self.world, seed))
        through = trained_bridges(questions, self.mix, seed)
        return Quiz(
            questions,
            [
                (q.prompt, q.steps[1].replace("{bridge}", q.bridge))
                for q in questions
                if q.steps
            ],
            frozenset(q.id for q in questions if q.bridge in through),
        )

    def examples(self, lm: LanguageModel, seed: int) -> list[Example]:
        """Return the training statements, repeated up to ``tokens`` tokens in total.

        Args:
            lm: The model, whose tokenizer counts the tokens.
            seed: Root seed of invented facts, bridges and repetitions.

        Returns:
            Examples in one stage. Facts about the countries of real cities
            (``world.second`` is ``known``) are left out.

        Raises:
            ConfigError: The statements have more than ``tokens`` tokens, ``world`` or
                ``mix.paraphrase`` is out of range, or ``seed`` is negative.
        """
        facts, words = facts_of(self.world, seed)
        told = statements(facts, words, self.mix, asked_of(facts, words), seed)
        return fill_budget(lm, _without_known(told, self.world), self.tokens, seed)


def facts_of(world: Invented | None, seed: int) -> tuple[Knowledge, Wording]:
    """Return the facts of an invented world, or real facts, and the wording of their statements.

    Args:
        world: Config of the invented world. If ``None``, real facts are used.
        seed: Root seed of the invented world. It has no effect on real facts.

    Returns:
        The facts, and the sentence templates of their relations.

    Raises:
        ConfigError: ``world`` does not define a world, or ``seed`` is negative.

    Example:
        >>> facts, words = facts_of(None, 0)
        >>> len(facts), facts.names(0), words.chain("contains", "symbol", "salt")
        (124, ('Mozart', 'born_in', 'Salzburg'),
        'The chemical symbol of the main element of salt is')
    """
    if world is not None:
        return world.build(seed), WORDING
    rows: list[tuple[str, str, str]] = []
    entities: list[str] = []
    for source in ("@people", "@chemistry"):
        table = read_knowledge(source).frame().select("subject", "relation", "object")
        for s, r, o in table.rows():
            if r not in _REAL.statements:
                continue
            # Files contain "New_York", but the model was pretrained on "New York".
            subject = s.replace("_", " ")
            answer = o.replace("_", " ")
            rows.append((subject, r, answer))
            entities += [subject, answer]
    return knowledge(entities, tuple(_REAL.statements), rows), _REAL


def asked_of(facts: Knowledge, words: Wording, seed: int = 0) -> list[Question]:
    """Return questions about two-hop chains, each with candidate answers.

    Args:
        facts: The facts.
        words: Wording of the statements of the facts.
        seed: Root seed of the choice of candidates; by default 0.

    Returns:
        Questions with the roles ``composition`` (the chain), ``first_hop``,
        ``second_hop`` and ``skip`` (the second relation applied to the subject), each
        with at most 12 candidates; an empty list if no two facts form a chain.

    Raises:
        ConfigError: ``seed`` is negative.
    """
    augmented = augment(facts, wording=words, seed=seed)
    asked = exam(augmented.questions, augmented.train, most=12, seed=seed)
    return [without_bridge(q) for q in asked if q.role not in ("reversal", "analogy")]


def trained_bridges(
    questions: Sequence[Question], mix: TrainingMix, seed: int
) -> set[str]:
    """Return the bridges whose two-hop facts are in the training data, drawn at random.

    Args:
        questions: Questions, whose bridges (``bridge``) are the candidates.
        mix: Selection of the training statements. Its field ``composed`` is the share
            of the bridges that are drawn.
        seed: Root seed of the draw.

    Returns:
        Names of the bridges, which are always the same for the same arguments.

    Raises:
        ConfigError: ``seed`` is negative.
    """
    bridges = sorted({q.bridge for q in questions if q.bridge})
    rng = Streams(seed).numpy(WORLD, "composed")
    count = round(mix.composed * len(bridges))
    return {bridges[i] for i in rng.permutation(len(bridges))[:count].tolist()}


def statements(
    facts: Knowledge,
    words: Wording,
    mix: TrainingMix,
    questions: Sequence[Question],
    seed: int,
) -> list[Example]:
    """Return the statements that a :class:`TrainingMix` selects, each of them once.

    Args:
        facts: The facts.
        words: Wording of the statements of the facts.
        mix: Selection of the statements.
        questions: Questions of :func:`asked_of`, the source of the two-hop facts.
        seed: Root seed of the wordings and of the choice of bridges.

    Returns:
        Examples in one stage: first the facts and the statements that the strategies of
        the mix add, then the two-hop facts that the mix includes.

    Raises:
        ConfigError: ``mix.paraphrase`` is out of range, or ``seed`` is negative.

    Example:
        >>> world = Invented(people=4, towns=2, countries=2)
        >>> facts, words = facts_of(world, 0)
        >>> asked = asked_of(facts, words)
        >>> [len(statements(facts, words, mix, asked, 0))
        ...  for mix in (TrainingMix(), TrainingMix(identity=True), TrainingMix(hops="second"),
        ...              TrainingMix(composed=0.5))]
        [6, 8, 2, 8]
    """
    augmented = augment(
        facts,
        wording=words,
        strategies=mix.strategies,
        wordings=mix.paraphrase,
        seed=seed,
    )
    objects = set(facts.triples[:, 2].tolist())
    subjects = set(facts.triples[:, 0].tolist())
    # A fact is a first hop if its object is the subject of another fact, which is a
    # second hop.
    hop = {
        "first": {i for i, t in enumerate(facts.triples.tolist()) if t[2] in subjects},
        "second": {i for i, t in enumerate(facts.triples.tolist()) if t[0] in objects},
    }
    rows = augmented.train.select("fact", "prompt", "completion").rows()
    examples = [
        Example(prompt, completion)
        for fact, prompt, completion in rows
        if mix.hops == "both" or fact < 0 or fact in hop[mix.hops]
    ]
    composed = trained_bridges(questions, mix, seed)
    examples += [
        Example(q.prompt, f" {q.answer}.")
        for q in questions
        if q.role == "composition" and q.bridge in composed
    ]
    return examples


def _without_known(examples: list[Example], world: Invented | None) -> list[Example]:
    """Return the examples without second hops that the model should know from its pretraining."""
    if world is None or world.second == "invented":
        return examples
    known = {
        template.partition("{subject}")[0] for template in WORDING.statements[COUNTRY]
    }
    beginnings = tuple(beginning for beginning in known if beginning)
    return [
        example for example in examples if not example.prompt.startswith(beginnings)
    ]
