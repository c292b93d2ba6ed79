"""Combine all measurements of a model, optionally compared with the model before fine-tuning.

``inweights evaluate`` prints and stores the result of :func:`evaluation`.
:func:`forecast_of` adds the theory's predictions for the same questions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from inweights.errors import DataError, InweightsError
from inweights.lm.exams.compare import (
    changes,
    compositionality,
    paired,
    summary,
    whole_chains,
)
from inweights.lm.exams.evaluate import ask, ask_with_thought, say
from inweights.lm.exams.general import general_knowledge, kept
from inweights.lm.exams.kinds import groups
from inweights.lm.exams.questions import Question
from inweights.lm.exams.states import resemblance_by_layer
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.tables import found_in, read_table
from inweights.support.progress import Progress, SolverProgress


def evaluation(
    lm: LanguageModel,
    questions: Sequence[Question],
    *,
    before: LanguageModel | None = None,
    words: bool = True,
    forecast: pl.DataFrame | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Evaluate a model on questions; optionally, compare it with the model before fine-tuning.

    Args:
        lm: The model.
        questions: Questions, such as those returned by :func:`inweights.lm.read_exam`.
        before: The model before fine-tuning; ``None`` for no comparison.
        words: Whether to let the model also answer in its own words; by default True.
        forecast: Predictions for compositions: the table returned by
            :func:`forecast_of`; ``None`` if there are none.
        progress: Function that is called with the number of finished items, their total
            number and a description; ``None`` for no progress reports.

    Returns:
        Tables and numbers, keyed by name. The following are always included:

        - ``general``: results on questions and texts unrelated to the facts
          (:func:`inweights.lm.exams.general.general_knowledge`).
        - ``answers``: one row per question (:func:`inweights.lm.ask`) and, with the
          role ``thought``, one row per composition answered step by step. The column
          ``when`` is ``before`` or ``after`` training.
        - ``summary``: means for each role (:func:`inweights.lm.summary`). If ``words``
          is true, the column ``exact`` is the share of correct answers in the model's own
          words.
        - ``groups``: accuracy for each kind of question
          (:func:`inweights.lm.exams.kinds.groups`).

        If all three questions of a chain are asked, ``gap`` is the result of
        :func:`inweights.lm.compositionality`. If there are at least two different
        second hops, ``layers`` compares the states at the prompts of compositions with
        the states at the prompts of their second hops
        (:func:`inweights.lm.resemblance_by_layer`).

        If the model ``before`` is given, ``groups`` has its accuracy in the column
        ``before``; ``kept`` describes what the model has lost
        (:func:`inweights.lm.exams.general.kept`); and ``paired`` is a list with the
        fields of :class:`inweights.lm.Paired` for each ``role``. If there are also
        ``skip`` questions, ``sets`` contains the number of ``chains`` and the mean
        ``rise`` and ``share_rise`` in each ``set`` of :func:`inweights.lm.changes`.

        If ``forecast`` is given, the table ``forecast`` contains the number of
        ``questions``, the ``expected`` accuracy and the actual ``accuracy`` for each
        predicted ``verdict``.

    Raises:
        DataError: There are no questions, or a prompt or candidate has no tokens.

    Example:
        >>> from inweights.lm import load_model
        >>> asked = [Question("0", "reversal", "Rome is in", ("Italy", "Peru"), 0)]
        >>> sorted(evaluation(load_model("@tiny"), asked, words=False))
        ['answers', 'general', 'groups', 'summary']
    """
    if not questions:
        raise DataError("there are no questions to evaluate")
    after = _all_of(lm, questions, progress)
    tables: dict[str, Any] = {"answers": after.with_columns(when=pl.lit("after"))}
    table = summary(after)
    if words:
        answers = say(lm, questions, progress=progress)
        right = after.filter(pl.col("role") != "thought").join(answers, on="id")
        table = table.join(
            right.group_by("role").agg(exact=pl.col("exact").mean()),
            on="role",
            how="left",
            maintain_order="left",
        )
    tables["summary"] = table
    tables["groups"] = groups(after, questions)
    names = list(dict.fromkeys(chain.from_iterable(q.candidates for q in questions)))
    tables["general"] = general_knowledge(lm, names, progress=progress)
    if forecast is not None:
        tables["forecast"] = _by_verdict(after, forecast)
    chained = [q for q in questions if q.steps and q.bridge]
    if any(q.steps for q in questions) and len(whole_chains(after)):
        tables["gap"] = compositionality(after)
    seconds = [q.steps[1].replace("{bridge}", q.bridge) for q in chained]
    if len(set(seconds)) > 1:
        tables["layers"] = resemblance_by_layer(
            lm, [q.prompt for q in chained], seconds
        )
    if before is None:
        return tables
    tables["kept"] = kept(
        general_knowledge(before, names, progress=progress), tables["general"]
    )
    earlier = _all_of(before, questions, progress)
    was = groups(earlier, questions).select("group", before="accuracy")
    tables["groups"] = tables["groups"].join(
        was, on="group", how="left", maintain_order="left"
    )
    return tables | _against(earlier, after, table["role"])


def _against(
    earlier: pl.DataFrame, after: pl.DataFrame, roles: Iterable[str]
) -> dict[str, Any]:
    """Return the tables that compare the answers before and after the fine-tuning."""
    answers = pl.concat(
        [
            earlier.with_columns(when=pl.lit("before")),
            after.with_columns(when=pl.lit("after")),
        ]
    )
    tables: dict[str, Any] = {"answers": answers}
    tables["paired"] = [
        {
            "role": role,
            **asdict(paired(earlier.filter(role=role), after.filter(role=role))),
        }
        for role in roles
    ]
    if "skip" in set(after["role"]):
        wide = [t.filter(pl.col("role") != "thought") for t in (earlier, after)]
        tables["sets"] = (
            changes(*wide)
            .group_by("set")
            .agg(pl.len().alias("chains"), pl.col("rise", "share_rise").mean())
            .sort("set")
        )
    return tables


def _by_verdict(after: pl.DataFrame, forecast: pl.DataFrame) -> pl.DataFrame:
    """Return the accuracy on compositions, by the predicted verdict."""
    return (
        after.filter(pl.col("role") == "composition")
        .join(forecast, on="id", maintain_order="left")
        .group_by("verdict")
        .agg(
            pl.len().alias("questions"),
            pl.col("expected").mean(),
            accuracy=pl.mean("hit"),
        )
        .sort("expected", descending=True)
    )


def _all_of(
    lm: LanguageModel, questions: Sequence[Question], progress: Progress | None
) -> pl.DataFrame:
    """Return direct answers, and answers given step by step as rows of the role ``thought``."""
    table = ask(lm, questions, progress=progress)
    if not any(q.steps for q in questions):
        return table
    thought = ask_with_thought(lm, questions, progress=progress)
    return pl.concat(
        [table, thought.drop("thought").with_columns(role=pl.lit("thought"))],
        how="vertical",
    )


def forecast_of(
    folder: Path,
    questions: Sequence[Question],
    *,
    seconds: float = 60.0,
    progress: SolverProgress | None = None,
) -> tuple[pl.DataFrame | None, str]:
    """Predict whether a network that is trained only on the facts answers compositions correctly.

    Args:
        folder: Data set that ``inweights augment`` wrote.
        questions: Questions of this data set, from :func:`inweights.lm.read_exam`.
        seconds: Time limit of the solver in seconds, from 0 to 10,000,000, by default
            60; ``None`` sets no limit.
        progress: Function that is called with the number of iterations and the relative
            duality gap of the solver; ``None`` for no progress reports.

    Returns:
        Two values. If a prediction is possible, they are a table with one row per
        predicted composition, and an empty string. The columns are ``id``, the id of
        the question; ``verdict``, which is ``follows`` if the correct answer has the
        largest logit, ``tied`` if a wrong answer has the same logit, and ``fails`` if a
        wrong answer has a larger logit; and ``expected``, the expected accuracy, a
        number from 0 to 1. If no prediction is possible, the values are ``None`` and
        the reason as a string.

    Raises:
        ConfigError: ``seconds`` is not a number, or is not between 0 and 10,000,000.
        DataError: The questions of the data set cannot be read.
    """
    from inweights.audit.prediction.forecast import forecast
    from inweights.theory.prediction.parts_in_time import check_seconds
    from inweights.worlds import Triples, read_knowledge

    check_seconds(seconds)
    config = Triples(questions="composition")
    try:
        facts = read_knowledge(found_in(folder, "facts"))
        made = forecast(facts, config, seconds=seconds, advise=False, progress=progress)
    except InweightsError as error:
        return None, str(error)
    compositions = (
        read_table(found_in(folder, "questions"))
        .with_row_index("id")
        .filter(pl.col("role") == "composition")
    )
    rows = compositions.select(
        pl.col("id").cast(pl.String),
        "answer",
        prompt=pl.concat_str("subject", "first", "second", separator=" "),
    )
    foreseen = made.queries.select("prompt", "answer", "verdict", "expected")
    joined = rows.join(
        foreseen.unique(["prompt", "answer"], keep="first"), on=["prompt", "answer"]
    )
    asked = {q.id for q in questions}
    return joined.filter(pl.col("id").is_in(asked)).select(
        "id", "verdict", "expected"
    ), ""
