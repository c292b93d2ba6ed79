"""Train a model on facts with strategies of ``augment``, and measure their effect."""

import polars as pl

import inweights as iw
from inweights.audit import augment
from inweights.audit.strategies import StrategyInput, strategies_of
from inweights.experiments import Outside
from inweights.lm.exams.questions import Question, exam
from inweights.lm.model.data import Example
from inweights.lm.model.load import LanguageModel, load_model
from inweights.lm.tuning.fine_tune import FineTune
from inweights.recipes.shared.language.experiment import without_bridge
from inweights.recipes.shared.language.invented import WORDING, Invented
from inweights.worlds.knowledge.knowledge import Knowledge

#: Index of the wording that is used in questions but never in training.
_ASKED = 2


class Taught(iw.Config):
    """Config of training texts: facts of an invented world, and statements that strategies add.

    Attributes:
        world: Config of the invented facts.
        strategies: Names of strategies of :func:`inweights.audit.augment`, which add
            statements to the facts; none by default.
        wordings: Number of wordings in which a strategy states the same content; by
            default 2. Questions use the third wording of a fact.
        hold_out: Fraction of the bridge entities, from 0 to 1, that are held out: no
            strategy states a two-hop fact through them. The default is 0.5.
        tokens: Maximum number of tokens in one pass, the same for every strategy; by
            default 600.

    Raises:
        ConfigError: A strategy is unknown, or a value has the wrong type.
    """

    world: Invented
    strategies: tuple[str, ...] = ()
    wordings: int = 2
    hold_out: float = 0.5
    tokens: int = 600

    def __post_init__(self) -> None:
        strategies_of(self.strategies)

    def examples(self, lm: LanguageModel, facts: Knowledge, seed: int) -> list[Example]:
        """Return the training texts of one pass.

        Args:
            lm: The model. Its tokenizer counts the tokens, and for the strategy
                ``replay`` the model itself writes texts.
            facts: The facts, as ``world`` builds them.
            seed: Root seed of all random choices, at least 0.

        Returns:
            Examples, all in one stage, of about ``tokens`` tokens in total.

        Raises:
            ConfigError: ``tokens`` is too small for the facts, or ``wordings``,
                ``hold_out`` or ``seed`` is out of range.
        """
        from inweights.lm.tuning.writing import own_text

        replayed = None
        # Texts that the model writes before training. Training on them is meant to
        # preserve this behaviour.
        if "replay" in self.strategies:
            replayed = [
                text.completion for text in own_text(lm, self.tokens // 5, seed)
            ]
        made = augment(
            facts,
            strategies=self.strategies,
            wording=WORDING,
            wordings=self.wordings,
            hold_out=self.hold_out,
            replay=replayed,
            budget=self.tokens,
            tokens=lambda texts: [len(lm.tokens(text)) for text in texts],
            seed=seed,
        )
        return [
            Example(*row) for row in made.train.select("prompt", "completion").rows()
        ]


def known_before(*, model: Outside, device: str = "cpu", seed: int = 0) -> pl.DataFrame:
    """Evaluate a model on questions of general knowledge and on texts before fine-tuning.

    Args:
        model: The model's name: a folder, the name of a Hugging Face model in the local
            cache, ``@smollm2`` or ``@tiny`` (a small random model).
        device: Torch device of the model; by default ``cpu``.
        seed: Root seed of ``@tiny``; by default 0. It has no effect on other models.

    Returns:
        The table of :func:`~inweights.lm.exams.general.general_knowledge` without the
        column ``said``. It has one row per question and one per text. Its columns
        include ``hit`` (whether the answer to a question is correct) and ``nats`` (the
        loss on a text).

    Raises:
        ConfigError: The model's library is not installed, the device is unknown, or
            ``seed`` is negative.
        DataError: The model is missing or cannot be read.
    """
    from inweights.lm.exams.general import general_knowledge

    return general_knowledge(load_model(model.name, device=device, seed=seed)).drop(
        "said"
    )


def teach(
    *,
    model: Outside,
    lesson: Taught,
    tuning: FineTune,
    device: str = "cpu",
    seed: int = 0,
) -> pl.DataFrame:
    """Fine-tune a model on the facts of a lesson, and evaluate it on all questions.

    Args:
        model: The model's name: a folder, the name of a Hugging Face model in the local
            cache, ``@smollm2`` or ``@tiny`` (a small random model).
        lesson: Config of the facts and of the training texts.
        tuning: Settings of the fine-tuning.
        device: Torch device of the model; by default ``cpu``.
        seed: Root seed of the facts, the texts and the training; by default 0.

    Returns:
        A row per question, with these columns, which are null if they do not apply:

        - ``id``: id of the question.
        - ``what``: kind of question. ``told`` is a fact in a wording of the training
          texts, ``recall`` a fact in a different wording, ``reverse`` a question from
          the object to the subject, ``composition`` two facts answered directly,
          ``steps`` two facts answered one after the other, ``general`` a question of
          :func:`~inweights.lm.exams.general.general_knowledge`, and ``text`` one of the
          texts of that function.
        - ``hit``: whether the answer is correct.
        - ``chance``: probability of guessing the answer.
        - ``held``: whether the chain passes through a held-out bridge.
        - ``wrong``: for a composition, whether the generated answer begins with an
          incorrect name from the world.
        - ``runs_on``, ``repeats``, ``spilled`` (general questions) and ``nats``
          (texts): as in :func:`~inweights.lm.exams.general.general_knowledge`.

        An additional row, whose ``what`` is ``training``, contains ``trained`` (number
        of tokens) and ``loss`` (mean over the last pass, in nats).

    Raises:
        ConfigError: The library of the model is not installed, LoRA is requested and
            ``peft`` is not installed, the device is unknown, the lesson's number of
            tokens is too small for the facts, or a number of the lesson or ``seed`` is
            out of range.
        DataError: The model is missing or cannot be read.
        RunError: The loss is not a finite number.

    Example:
        >>> table = teach(
        ...     model=Outside(name="@tiny"),
        ...     lesson=Taught(world=Invented(people=4, towns=2, countries=2), tokens=1200),
        ...     tuning=FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=1024),
        ... )
        >>> sorted(set(table["what"]))[:5]
        ['composition', 'general', 'recall', 'reverse', 'steps']
    """
    from inweights.lm.exams.evaluate import ask, ask_with_thought, say
    from inweights.lm.exams.general import general_knowledge
    from inweights.lm.tuning.tuning import finetune

    lm = load_model(model.name, device=device, seed=seed)
    facts = lesson.world.build(seed)
    done = finetune(lm, lesson.examples(lm, facts, seed), tuning, seed=seed)
    questions, held = _questions(facts, lesson, seed)
    asked = ask(lm, questions)
    chains = [q for q in questions if q.role == "composition"]
    said = say(lm, chains)
    wrong = [
        not exact and text.startswith(facts.entities)
        for text, exact in said.select("said", "exact").rows()
    ]
    asserted = pl.DataFrame({"id": [q.id for q in chains], "wrong": wrong})
    parts = [asked.join(asserted, on="id", how="left", maintain_order="left")]
    parts.append(ask_with_thought(lm, chains).with_columns(role=pl.lit("steps")))
    answers = pl.concat(parts, how="diagonal_relaxed").select(
        "id",
        "hit",
        "chance",
        "wrong",
        what="role",
        held=pl.col("id").is_in(sorted(held)),
    )
    loss = done.losses["loss"].tail(max(1, done.losses.height // tuning.epochs)).mean()
    training = pl.DataFrame(
        {"what": ["training"], "trained": [done.tokens], "loss": [loss]}
    )
    invented = [facts.entities[s] for s in sorted(set(facts.triples[:, 0].tolist()))]
    after = general_knowledge(lm, invented).with_columns(
        what=pl.when(pl.col("kind") == "text")
        .then(pl.lit("text"))
        .otherwise(pl.lit("general"))
    )
    columns = ("id", "what", "hit", "chance", "runs_on", "repeats", "spilled", "nats")
    return pl.concat([answers, after.select(columns), training], how="diagonal_relaxed")


def _questions(
    facts: Knowledge, lesson: Taught, seed: int
) -> tuple[list[Question], set[str]]:
    """Return the questions, the same for every strategy, and the ids of those that are held out."""
    made = augment(facts, wording=WORDING, seed=seed)
    asked = [
        without_bridge(q)
        for q in exam(made.questions, made.train, seed=seed)
        if q.role == "composition"
    ]
    inputs = StrategyInput(
        facts, WORDING, facts.stages, seed=seed, hold_out=lesson.hold_out
    )
    never = {facts.entities[b] for b in inputs.held}
    held = {q.id for q in asked if q.bridge in never}
    reverse = [
        Question(f"reverse {i}", "reverse", prompt, tuple(candidates), label)
        for i, (prompt, candidates, label) in enumerate(
            made.questions.filter(role="reversal")
            .select("prompt", "candidates", "label")
            .rows()
        )
    ]
    ends: dict[str, list[str]] = {}
    for i in range(len(facts)):
        _, relation, thing = facts.names(i)
        ends.setdefault(relation, []).append(thing)
    recall = []
    for i in range(len(facts)):
        subject, relation, thing = facts.names(i)
        among = tuple(sorted(set(ends[relation])))
        for role, wording in (("told", 0), ("recall", _ASKED)):
            prompt = WORDING.state(relation, subject, thing, wording)[0]
            recall.append(
                Question(f"{role} {i}", role, prompt, among, among.index(thing))
            )
    return [*asked, *reverse, *recall], held
