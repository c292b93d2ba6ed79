"""Create the tables of a prediction's queries: counts by kind, and queries by outcome.

The command ``predict`` prints the tables of :func:`kinds_table` and
:func:`queries_table`.
"""

from collections import Counter
from typing import Any

import polars as pl

from inweights.cli.console.base import line, table
from inweights.theory.prediction.calibration.fitted import MODELS
from inweights.theory.prediction.tables import comparable_margin

#: Largest number of facts, of remedies, and of queries of each outcome that are shown
#: by default.
SHOWN = 3


#: Marks and colours of outcomes, the most surprising ones first: queries without a
#: stated answer that the model answers, then failures.
_MARKS = {
    "asserted": ("! asserted", "magenta"),
    "unlikely": ("✗ unlikely", "red"),
    "open": ("≈ open", "yellow"),
    "uncalibrated": ("? uncalibrated", "yellow"),
    "likely": ("✓ likely", "green"),
    "no answer": ("· no answer", "dim"),
}


def kinds_table(queries: pl.DataFrame, patterns: bool) -> Any:
    """Return a table with the number of queries by kind and by predicted outcome.

    The column ``follow/tied/fail`` contains the numbers of queries with each of these
    outcomes according to the program of the theory. If probabilities were calibrated on
    worlds that are similar to the world of the queries, there are further columns:
    ``likely/open/unlikely`` contains the numbers of queries with each of these outcomes
    for a trained GPT, and a column for each model contains mean probabilities.

    Args:
        queries: Table of queries of a prediction
            (:class:`inweights.theory.Prediction`), joined with its probabilities.
        patterns: Whether a kind is a pair of role and pattern; otherwise it is a role.

    Returns:
        A ``Table`` of rich.
    """
    by = ["role", "pattern"] if patterns else ["role"]
    program = ("follows", "tied", "fails")
    words = ("likely", "open", "unlikely")
    far = not _is_fitted(queries).any()
    models = () if far else MODELS
    looked = () if far else ("likely/open\n/unlikely",)
    head = ("queries", "right\nanswers", "chance", "follow/tied/fail", *looked)
    kinds = table(" ".join(by), *head, *models)
    for key, rows in queries.group_by(by, maintain_order=True):
        said = Counter(rows["verdict"].to_list())
        looks = Counter(rows["outlook"].to_list())
        name = ": ".join(map(str, key))
        if rows["role"][0] == "unstated":
            text = f"{said['asserted']} asserted, {said['open']} no answer"
            kinds.add_row(name, str(rows.height), "", "", line((text, "magenta")))
            continue
        cells = ["/".join(str(said[verdict]) for verdict in program)]
        if not far:
            cells.append("/".join(str(looks[outlook]) for outlook in words))
        # Probabilities are shown only for outcomes that were fitted.
        fitted = rows.filter(_is_fitted(rows))
        for model in models:
            known = fitted[f"{model} probability"].drop_nulls().to_list()
            cells.append(f"{sum(known) / len(known):.2f}" if known else "")
        kinds.add_row(name, str(rows.height), *guessing(rows), *cells)
    return kinds


def _is_fitted(queries: pl.DataFrame) -> pl.Series:
    """Return, for each query, whether its outcome is likely, open or unlikely."""
    return queries["outlook"].is_in(["likely", "open", "unlikely"])


def guessing(rows: pl.DataFrame) -> tuple[str, str]:
    """Return the mean number of correct answers per query, and the mean accuracy by chance.

    Args:
        rows: Queries with the columns ``right_answers`` and ``chance``; at least one.

    Returns:
        Two texts: the mean number of correct answers with one decimal (``1`` if every
        query has exactly one), and the mean of ``chance`` with two decimals.
    """
    right, chance = rows.select(pl.col("right_answers", "chance").mean()).row(0)
    several = (rows["right_answers"] > 1).any()
    return f"{right:.1f}" if several else "1", f"{chance:.2f}"


def queries_table(queries: pl.DataFrame, every: bool, models: list[str]) -> Any:
    """Return a table of the queries, sorted by outcome.

    Queries without a stated answer, for which a model is predicted to assert one, come
    first, in descending order of the margin.

    Args:
        queries: Table of queries as for :func:`kinds_table`, with columns of the
            trained models if there are any.
        every: If true, list all queries; otherwise, list only the first queries of each
            outcome.
        models: Names of the trained models, each of which has a column. It may be
            empty.

    Returns:
        A ``Table`` of rich.
    """
    proved = "lower" in queries.columns
    fitted = MODELS if _is_fitted(queries).any() else ()
    trained = (f"{m} trained" for m in models)
    listed = table("", "query", "answer", "chance", "program", *fitted, *trained)
    for outlook, (mark, colour) in _MARKS.items():
        sure = outlook == "asserted"
        rows = queries.filter(pl.col("outlook") == outlook)
        margin = comparable_margin().abs()
        rows = rows.sort(margin, descending=sure, maintain_order=True)
        for row in (rows if every else rows.head(SHOWN)).iter_rows(named=True):
            known = [row[f"{model} probability"] for model in fitted]
            if outlook == "uncalibrated":
                known = [None] * len(known)
            listed.add_row(
                line((mark, colour)),
                row["prompt"],
                _answer(row),
                "" if row["chance"] is None else f"{row['chance']:.2f}",
                _program(row) + (_interval(row) if proved else ""),
                *("" if share is None else f"{share:.2f}" for share in known),
                *(_share(row, m) for m in models),
            )
        if not every and len(rows) > SHOWN:
            listed.add_row("", line((f"… and {len(rows) - SHOWN} more (--all)", "dim")))
    return listed


def _answer(row: dict[str, Any]) -> str:
    """Return the correct answer of a query, or the first of several and their number."""
    if row["role"] == "unstated":
        return "(not stated)"
    right = row["right_answers"]
    return f"{row['answer']} (or {right - 1} more)" if right > 1 else str(row["answer"])


def _program(row: dict[str, Any]) -> str:
    """Return the program's prediction for a query: a wrong answer (if any), verdict and margin."""
    other = (
        ""
        if row["predicted"] == row["answer"] and row["answer"]
        else f"{row['predicted']}, "
    )
    if row["verdict"] == "tied":
        return f"tied (of {row['tied']})"
    return f"{other}{row['verdict']} {row['margin']:+.2f}"


def _share(row: dict[str, Any], model: str) -> str:
    """Return the share of a model's replicas, and their answer if it is informative."""
    said = row[f"{model} predicted"]
    other = row["role"] == "unstated" and said != row["predicted"]
    text = f"{row[model]:.2f} ({row[f'{model} lower']:.2f}-{row[f'{model} upper']:.2f})"
    return f"{said} {text}" if other else text


def _interval(row: dict[str, Any]) -> str:
    """Return the interval proved to contain a margin at every optimum; empty if there is none."""
    if row["lower"] is None:
        return ""
    return f" ({row['lower']:+.3f} to {row['upper']:+.3f})"
