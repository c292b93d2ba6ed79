"""Run a fine-tuning experiment: a model is evaluated, trained on some facts, and evaluated again.

What is trained and asked is a :class:`Lesson`. What the model says before is a
computation of its own, so that it is done once, however many lessons follow, in
whichever process or recipe.
:func:`inweights.recipes.shared.language.tables.both_times` puts both times side by
side.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import polars as pl

from inweights.experiments import Computation, Outside, Value
from inweights.lm.exams.questions import Question
from inweights.lm.model.data import Example
from inweights.lm.model.load import TINY, LanguageModel, load_model
from inweights.lm.tuning.fine_tune import FineTune


class Quiz(NamedTuple):
    """What a model is asked.

    Attributes:
        questions: Questions with candidates.
        pairs: Prompts that belong together, whose states are compared layer by layer.
        told: Chains whose conclusion is itself trained.
    """

    questions: Sequence[Question]
    pairs: Sequence[tuple[str, str]]
    told: frozenset[str] = frozenset()


class Lesson(Protocol):
    """What a model is trained on and asked: a config, by which its results are stored."""

    @property
    def drawn(self) -> bool:
        """Whether the seed decides what is asked."""
        ...

    def quiz(self, seed: int) -> Quiz:
        """Return what is asked, before and after."""
        ...

    def examples(self, lm: LanguageModel, seed: int) -> list[Example]:
        """Return what is trained.

        Args:
            lm: The model, whose tokens are counted.
            seed: Root seed of what is drawn.
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
    """Return the computations that make the tables ``before`` and ``after``.

    Args:
        labels: Columns that are added to all rows.
        lessons: What is trained, by the name of the condition, in the column
            ``condition`` of ``after``; all ask the same.
        asked: A lesson that asks the same and trains nothing, for ``before``.
        model: A folder, a hub name in the local cache, or ``@smollm2``.
        tuning: How it is fine-tuned.
        device: Where it lives.
    """
    where = {"model": Outside(name=model), "device": device}
    before = Computation(
        name="before",
        labels=labels,
        compute=tell_and_ask,
        options={**where, "lesson": asked},
        seeded=asked.drawn or model == TINY,  # a random model is drawn, too
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
    """Fine-tune a model on a lesson, and return one tidy table of what it says then.

    Args:
        model: A folder, a hub name in the local cache, or ``@smollm2``.
        lesson: What is trained and asked.
        tuning: How it is fine-tuned; without it nothing is trained.
        device: Where the model lives.
        seed: Root seed.

    Returns:
        Rows of four kinds. ``question``: what :func:`inweights.lm.ask` gives.
        ``thought``: the same of questions that were answered step by step, where
        questions have steps. ``layer``: what :func:`inweights.lm.resemblance_by_layer`
        gives. ``training``, where there was one: ``steps, trained`` (tokens) and
        ``loss``, the mean over the last pass. ``told`` is whether the conclusion of a
        question's chain was itself trained.
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
    # What a seed invents cannot be thought about before it is told.
    thoughts = tuning is not None or not lesson.drawn
    return pl.concat([_answers(lm, quiz, thoughts), *training], how="diagonal_relaxed")


def _answers(lm: LanguageModel, quiz: Quiz, thoughts: bool) -> pl.DataFrame:
    """Return what a model says to a quiz, and how alike its states are."""
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
