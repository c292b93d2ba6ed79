"""Measure how long each way of teaching facts to a model takes on this machine (:func:`sizes`)."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from inweights import lm as language
from inweights.actions.training.settings import TrainingSettings
from inweights.actions.training.teaching import GENERAL, prepare
from inweights.lm.tuning.stages import steps_of
from inweights.lm.tuning.writing import tokens_to_write


class Size(NamedTuple):
    """Cost of one way of teaching, for one seed, on this machine.

    Attributes:
        way: Name of the way, a key of ``WAYS``.
        rows: Number of training texts; 0 for ways without training.
        tokens: Total number of tokens in these texts.
        updates: Number of updates of the training.
        preparation: Seconds for generating the model's own texts, which are mixed into
            the training texts.
        training: Seconds of training.
        asking: Seconds for answering all questions.
    """

    way: str
    rows: int
    tokens: int
    updates: int
    preparation: float
    training: float
    asking: float


def sizes(settings: TrainingSettings, lm: language.LanguageModel) -> list[Size]:
    """Estimate the cost of each way of teaching, by timing updates, answers and generation.

    Args:
        settings: Settings of the comparison.
        lm: The model. It is changed and must not be used afterwards.

    Returns:
        The cost of each way, in the order of ``settings.ways``.

    Raises:
        ConfigError: A strategy, a number or the file of wordings is invalid for the
            facts, or an optional package (``peft``, ``bm25s``) is not installed.
        DataError: The facts cannot be read.
        RunError: The loss of a timed update is not a finite number.
    """
    made = prepare(settings, lm)
    tuning = settings.tuning
    plain = _seconds_each(lm, made.questions)
    began = time.perf_counter()
    own_texts = language.own_text(lm, 80)
    written = sum(len(lm.tokens(text.completion)) for text in own_texts)
    writing = (time.perf_counter() - began) / written
    each = 0.0
    found = []
    for way in settings.ways:
        rows: Sequence[language.Example] = made.trained.get(way, ())
        tokens = updates = 0
        if rows:
            encoded = language.encode(lm, rows, end=tuning.end)
            tokens = sum(len(row.ids) for row in encoded)
            updates = steps_of(encoded, tuning)
            # Measured only once, since the time per token is the same for every way.
            each = each or language.cost_of(lm, rows, tuning).each
        asked = made.asked(way, settings.retrieved)
        question = plain if asked is made.questions else _seconds_each(lm, asked)
        size = Size(
            way=way,
            rows=len(rows),
            tokens=tokens,
            updates=updates,
            preparation=writing * tokens_to_write(tokens, tuning),
            training=each * tokens,
            asking=question * len(asked) + plain * GENERAL,
        )
        found.append(size)
    return found


def _seconds_each(
    lm: language.LanguageModel, questions: Sequence[language.Question]
) -> float:
    """Return the seconds for scoring and answering one question, timed on a few questions."""
    few = questions[:: max(1, len(questions) // 8)]
    began = time.perf_counter()
    language.ask(lm, few)
    language.say(lm, few)
    return (time.perf_counter() - began) / len(few)
