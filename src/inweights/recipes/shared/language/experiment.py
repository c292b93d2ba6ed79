"""Run a fine-tuning experiment: evaluate a model, train it on some facts, and evaluate it again.

A :class:`Lesson` defines the training texts and the questions. The evaluation before
training is a separate computation, so that all lessons and recipes share its result.
:func:`inweights.recipes.shared.language.tables.both_times` joins the results before and
after training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import polars as pl

from inweights.experiments import Computation, Outside, Value
from inweights.lm.exams.questions import Question
from inweights.lm.model.data import Example
from inweights.lm.model.load import TINY, LanguageModel, load_model
from inweights.lm.tuning.fine_tune import FineTune


class Quiz(NamedTuple):
    """Questions on which a model is evaluated.

    Attributes:
        questions: Questions, each with its candidate answers.
        pairs: At least 2 pairs of prompts, whose hidden states are compared layer by
            layer.
        told: Ids of the chains (:attr:`Question.chain`) whose conclusion is stated in
            the training texts; empty by default.
    """

    questions: Sequence[Question]
    pairs: Sequence[tuple[str, str]]
    told: frozenset[str] = frozenset()


def without_bridge(question: Question) -> Question:
    """Remove the bridge of a two-hop question from its candidates.

    Args:
        question: A question of any role. Only a question with the role ``composition``
            is changed.

    Returns:
        If the question is a composition and its bridge is one of the candidates, a copy
        without this candidate; otherwise the same question.
    """
    if question.role != "composition" or question.bridge not in question.candidates:
        return question
    names = tuple(name for name in question.candidates if name != question.bridge)
    return replace(question, candidates=names, label=names.index(question.answer))


class Lesson(Protocol):
    """Protocol for configs that define the training texts and the questions of an experiment.

    Results are stored under a hash of the config, so that they are shared by all
    experiments with an equal config.
    """

    @property
    def drawn(self) -> bool:
        """Whether the questions depend on the seed."""
        ...

    def quiz(self, seed: int) -> Quiz:
        """Return the questions, which are the same before and after training.

        Args:
            seed: Root seed of random choices. It has no effect if :attr:`drawn` is
                false.

        Returns:
            Questions, pairs of prompts, and the ids of the chains that the training
            texts state.
        """
        ...

    def examples(self, lm: LanguageModel, seed: int) -> list[Example]:
        """Return the training texts of one pass.

        Args:
            lm: The model, whose tokenizer may be used to count tokens.
            seed: Root seed of random choices.

        Returns:
            The examples, each with its stage.
        """
        ...


def computations(
    labels: Mapping[str, Value],
    lessons: Mapping[str, Lesson],
    *,
    asked: Lesson,
    model: str,
    tuning: FineTune,
    device: str = "cpu",
) -> list[Computation]:
    """Return the computations whose results are the tables ``before`` and ``after``.

    Args:
        labels: Dictionary that maps the name of each additional column to its value,
            which is the same in all rows.
        lessons: Dictionary that maps the name of each condition, as it appears in the
            column ``condition`` of ``after``, to its lesson, the config of its training
            texts and questions. All lessons must have the same questions. If the
            dictionary is empty, only ``before`` is computed.
        asked: A lesson with the same questions, on which the computation ``before``
            evaluates the model. The training texts of this lesson are not used.
        model: A folder, the name of a Hugging Face model in the local cache,
            ``@smollm2`` or ``@tiny`` (a small random model).
        tuning: Settings of the fine-tuning.
        device: Torch device of the model; by default ``cpu``.

    Returns:
        First the computation ``before``, then one computation named ``after`` for each
        lesson, all of which call :func:`tell_and_ask`. ``after`` is computed for each
        seed. ``before`` is computed for each seed only if the questions or the model
        (``@tiny``) depend on the seed.
    """
    where = {"model": Outside(name=model), "device": device}
    before = Computation(
        name="before",
        labels=labels,
        compute=tell_and_ask,
        options={**where, "lesson": asked},
        seeded=asked.drawn or model == TINY,  # a random model depends on the seed, too
        effort=300,
    )
    after = [
        Computation(
            name="after",
            labels={**labels, "condition": name},
            compute=tell_and_ask,
            options={**where, "lesson": lesson, "tuning": tuning},
            seeded=True,
        )
        for name, lesson in lessons.items()
    ]
    return [before, *after]


def tell_and_ask(
    *,
    model: Outside,
    lesson: Lesson,
    tuning: FineTune | None = None,
    device: str = "cpu",
    seed: int = 0,
) -> pl.DataFrame:
    """Fine-tune a model on the texts of a lesson, and evaluate it on the lesson's questions.

    Args:
        model: The model's name: a folder, the name of a Hugging Face model in the local
            cache, ``@smollm2`` or ``@tiny`` (a small random model).
        lesson: Config of the training texts and the questions.
        tuning: Settings of the fine-tuning. If ``None`` (the default), the model is not
            fine-tuned.
        device: Torch device of the model; by default ``cpu``.
        seed: Root seed of the lesson, of the fine-tuning and of ``@tiny``; by default
            0.

    Returns:
        Rows of four kinds, identified by the column ``kind``. Columns that do not apply
        to a kind are null.

        - ``question``: the rows of :func:`inweights.lm.ask`, one per question, with
          ``told``, whether the answer is stated in the training texts.
        - ``thought``: the rows of :func:`inweights.lm.exams.evaluate.ask_with_thought`,
          one per composition that is answered step by step, also with ``told``. There
          are no such rows if no question has steps, or if the model is not trained and
          the facts are invented.
        - ``layer``: the rows of :func:`inweights.lm.resemblance_by_layer`, one per
          layer, for the pairs of the quiz.
        - ``training``: one row if the model was trained: ``steps`` (number of updates),
          ``trained`` (number of tokens) and ``loss`` (mean over the last pass, in
          nats).

    Raises:
        ConfigError: The library of the model is not installed, LoRA is requested and
            ``peft`` is not installed, the device is unknown, the statements do not fit
            in the lesson's number of tokens, or ``seed`` is negative.
        DataError: The model is missing or cannot be read, there is nothing to train on,
            or a text has no tokens.
        RunError: The loss is not a finite number.
    """
    lm = load_model(model.name, device=device, seed=seed)
    quiz = lesson.quiz(seed)
    training: list[pl.DataFrame] = []
    if tuning is not None:
        from inweights.lm.tuning.tuning import finetune

        done = finetune(lm, lesson.examples(lm, seed), tuning, seed=seed)
        stage = done.losses.filter(pl.col("stage") == pl.col("stage").last())["loss"]
        training = [
            pl.DataFrame(
                {
                    "kind": "training",
                    "steps": done.losses.height,
                    "trained": done.tokens,
                    "loss": stage.tail(max(1, len(stage) // tuning.epochs)).mean(),
                }
            )
        ]
    # Before training, a model cannot reason about facts that were invented for this
    # seed.
    thoughts = tuning is not None or not lesson.drawn
    return pl.concat([_answers(lm, quiz, thoughts), *training], how="diagonal_relaxed")


def _answers(lm: LanguageModel, quiz: Quiz, thoughts: bool) -> pl.DataFrame:
    """Return a model's answers to a quiz, and the similarity of its hidden states for each pair."""
    from inweights.lm.exams.evaluate import ask, ask_with_thought
    from inweights.lm.exams.states import resemblance_by_layer

    asked = ask(lm, quiz.questions)
    parts = [
        asked.with_columns(kind=pl.lit("question"), thought=pl.lit(None, pl.String))
    ]
    if thoughts and any(question.steps for question in quiz.questions):
        stepwise = ask_with_thought(lm, quiz.questions)
        parts.append(stepwise.with_columns(kind=pl.lit("thought")))
    answers = pl.concat(parts, how="diagonal_relaxed")
    layers = resemblance_by_layer(lm, *zip(*quiz.pairs, strict=True))
    return pl.concat(
        [
            answers.with_columns(told=pl.col("chain").is_in(sorted(quiz.told))),
            layers.with_columns(
                kind=pl.lit("layer"), layer=pl.col("layer").cast(pl.Int64)
            ),
        ],
        how="diagonal_relaxed",
    )
