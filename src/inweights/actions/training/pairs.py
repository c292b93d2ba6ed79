"""Compare every two ways of teaching on the same questions, by kind of question.

:func:`pairs_of` computes the table ``pairs`` of ``inweights compare-training`` from the
stored answers of each way, and :func:`say_pairs` describes its clearest rows as text.
"""

from dataclasses import asdict
from itertools import combinations

import polars as pl

from inweights.lm.exams.compare import ALL_HELD_OUT, paired

#: Kinds of rows that contain answers to single questions, and their names in the table
#: of pairs.
_ANSWERS = {"answered": "accuracy", "answered in words": "in words"}
#: Significance level of the comparison of two ways.
_ALPHA = 0.05
_SCHEMA = {
    "kind": pl.String,
    "name": pl.String,
    "way": pl.String,
    "other": pl.String,
    "questions": pl.Int64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "gained": pl.Int64,
    "lost": pl.Int64,
    "p": pl.Float64,
}


def pairs_of(measured: pl.DataFrame) -> pl.DataFrame:
    """Compare each pair of ways of teaching on the same questions.

    With one seed, each answer is either right or wrong. The confidence interval is
    Tango's (1998), and the test is McNemar's exact test. With several seeds, the
    fractions of seeds with the correct answer are compared. In this case, the interval is
    Student's t interval over the questions, and the test is the exact sign test.

    Args:
        measured: Table with the columns ``way, seed, kind, name, value`` of all ways;
            :func:`~inweights.actions.training.teach_and_ask` explains them.

    Returns:
        One row per kind of answer (``kind``: ``accuracy``, among candidates, or ``in
        words``), kind of question (``name``) and pair of ways (``way`` and ``other``,
        each pair once, in the order of the table). Further columns: ``difference``, the
        accuracy of ``other`` minus the accuracy of ``way`` (-1 to 1); ``low`` and
        ``high``, the ends of its 95% confidence interval; ``gained``, the number of
        questions that only ``other`` answers correctly (with several seeds, the number
        of questions that ``other`` answers correctly with more seeds); ``lost``, the
        corresponding number for ``way``; ``p``, the p value of the test; and
        ``questions``, the number of questions. The table is empty if ``measured``
        contains no answers to single questions.

    Raises:
        DataError: Two ways answered different questions.
    """
    answers = measured.filter(pl.col("kind").is_in(list(_ANSWERS))).with_columns(
        pl.col("kind").replace_strict(_ANSWERS, default=None),
        pl.col("name").str.splitn(": ", 2).struct.rename_fields(["asked", "id"]),
    )
    if answers.is_empty():  # runs of earlier versions did not store single answers
        return pl.DataFrame(schema=_SCHEMA)
    each = answers.unnest("name").group_by(
        "kind", "asked", "id", "way", maintain_order=True
    )
    means = each.agg(hit=pl.mean("value"), seeds=pl.len())
    ways = measured["way"].unique(maintain_order=True).to_list()
    rows = []
    for (kind, asked), group in means.group_by("kind", "asked", maintain_order=True):
        for way, other in combinations(ways, 2):
            before = _hits(group, way)
            after = _hits(group, other)
            found = asdict(paired(before, after))
            found["difference"] = found.pop("mean")
            rows.append(
                {
                    "kind": kind,
                    "name": asked,
                    "way": way,
                    "other": other,
                    **found,
                }
            )
    return pl.DataFrame(rows, schema=_SCHEMA)


def _hits(group: pl.DataFrame, way: str) -> pl.DataFrame:
    """Return the hits of a way by question: true or false for one seed, else a share of seeds."""
    if group["seeds"].max() == 1:
        group = group.with_columns(pl.col("hit").cast(pl.Boolean))
    return group.filter(way=way)


def say_pairs(pairs: pl.DataFrame) -> list[str]:
    """Describe which ways of teaching differ in their accuracy on held-out questions.

    Args:
        pairs: Table returned by :func:`pairs_of`.

    Returns:
        A list with one text. It states the difference, the interval and the p value of
        each pair of ways with a p value below .05. The list is empty if there are no
        held-out questions.
    """
    held = pairs.filter(kind="accuracy", name=ALL_HELD_OUT).sort("p")
    if held.is_empty():
        return []
    told = [
        f"'{row['other']}' against '{row['way']}' {row['difference']:+.0%} "
        f"({row['low']:+.0%} to {row['high']:+.0%}, p {row['p']:.2g})"
        for row in held.filter(pl.col("p") < _ALPHA).iter_rows(named=True)
    ]
    differ = "; ".join(told) if told else "no two ways differ (every p is .05 or more)"
    return [
        f"Each pair of ways on the same held-out questions: {differ}. p is that of an exact "
        f"paired test of one pair; with {held.height} pairs, one p below .05 may be due to "
        "chance. The table 'pairs' contains all pairs and kinds of questions."
    ]
