"""What was forecast of the questions that a language model is asked, beside its answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from inweights.errors import DataError
from inweights.lm.data import found_in
from inweights.lm.questions import Question
from inweights.progress import SolverProgress

__all__ = ["forecast_of"]


def forecast_of(
    folder: Path,
    questions: Sequence[Question],
    *,
    seconds: float = 60.0,
    progress: SolverProgress | None = None,
) -> tuple[pl.DataFrame | None, str]:
    """Forecast the compositions of a data set: what a network trained on its facts alone answers.

    Args:
        folder: What ``inweights augment`` wrote.
        questions: Of :func:`inweights.lm.read_exam`, of this folder.
        seconds: Time limit.
        progress: Told about the solution.

    Returns:
        ``id, verdict, expected``, a row a composition, or none; and why there is none.
    """
    from inweights.audit import audit
    from inweights.worlds import read_knowledge

    try:
        made = audit(read_knowledge(found_in(folder, "facts")), seconds=seconds, progress=progress)
    except DataError as error:
        return None, str(error)
    if made.forecast is None:
        return None, made.why_no_forecast
    told = (
        pl.read_parquet(found_in(folder, "questions"))
        .with_row_index("id")
        .filter(pl.col("role") == "composition")
    )
    rows = told.select(
        pl.col("id").cast(pl.String),
        "answer",
        prompt=pl.concat_str("subject", "first", "second", separator=" "),
    )
    foreseen = made.forecast.queries.select("prompt", "answer", "verdict", "expected")
    joined = rows.join(foreseen.unique(["prompt", "answer"]), on=["prompt", "answer"])
    asked = {q.id for q in questions}
    return joined.filter(pl.col("id").is_in(asked)).select("id", "verdict", "expected"), ""
