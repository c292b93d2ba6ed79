"""Predictions for the questions of a language model's evaluation."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from inweights.errors import InweightsError
from inweights.lm.exams.questions import Question
from inweights.lm.model.data import found_in, read_table
from inweights.support.progress import SolverProgress


def forecast_of(
    folder: Path,
    questions: Sequence[Question],
    *,
    seconds: float = 60.0,
    progress: SolverProgress | None = None,
) -> tuple[pl.DataFrame | None, str]:
    """Predict the compositions of a data set for a network trained on its facts alone.

    Args:
        folder: What ``inweights augment`` wrote.
        questions: Of :func:`inweights.lm.read_exam`, of this folder.
        seconds: Time limit.
        progress: Told about the solution.

    Returns:
        ``id, verdict, expected``, a row a composition that is forecast, or none; and why none is.
    """
    from inweights.audit.forecast import forecast
    from inweights.theory.prediction.parts_in_time import check_seconds
    from inweights.worlds import Triples, read_knowledge

    check_seconds(seconds)
    config = Triples(questions="composition")
    try:
        facts = read_knowledge(found_in(folder, "facts"))
        made = forecast(facts, config, seconds=seconds, advise=False, progress=progress)
    except InweightsError as error:
        return None, str(error)
    told = (
        read_table(found_in(folder, "questions"))
        .with_row_index("id")
        .filter(pl.col("role") == "composition")
    )
    rows = told.select(
        pl.col("id").cast(pl.String),
        "answer",
        prompt=pl.concat_str("subject", "first", "second", separator=" "),
    )
    foreseen = made.queries.select("prompt", "answer", "verdict", "expected")
    joined = rows.join(foreseen.unique(["prompt", "answer"], keep="first"), on=["prompt", "answer"])
    asked = {q.id for q in questions}
    return joined.filter(pl.col("id").is_in(asked)).select("id", "verdict", "expected"), ""
