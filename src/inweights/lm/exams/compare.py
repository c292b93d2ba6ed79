"""Compare answers before and after fine-tuning: summaries, paired tests, the sets of §4.5.

The tables are those of :func:`inweights.lm.ask`; :func:`~inweights.lm.evaluation` joins
what
:func:`summary`, :func:`groups`, :func:`paired`, :func:`compositionality` and
:func:`changes` return. The three sets are those of Identity Bridge, §4.5.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from inweights.errors import DataError
from inweights.support.statistics.intervals import interval, paired_interval

#: Right before and after; wrong before and right after; wrong after (Identity Bridge,
#: §4.5).
CORRECT = "D_correct"
PARTIAL = "D_partial"
INCORRECT = "D_incorrect"

#: Compositions that no training text states: with both hops known, not so, and not
#: asked.
HELD_OUT = (
    "held out, both hops known",
    "held out, a hop unknown",
    "held out, hops not asked",
)
ITSELF = "the answer is the subject"
#: Groups of questions whose accuracy a report begins with, in their order.
GROUPS = (
    "facts",
    "facts in new words",
    "compositions, stated",
    *HELD_OUT,
    "reversals",
    "analogies",
    ITSELF,
)
#: Kind of all compositions that no training text states, whatever is known.
ALL_HELD_OUT = "held out"


@dataclass(frozen=True)
class Paired:
    """Paired comparison of one column over the same questions.

    Attributes:
        mean: Mean of after minus before.
        low: Lower end of its 95% interval: of yes-or-no columns Tango's for a paired
            difference (1998), of numbers Student's over questions.
        high: Upper end.
        gained: Number of questions that became right (yes-or-no columns) or rose.
        lost: Number of questions that became wrong, or fell.
        p: P value of the exact sign test over those that changed: for yes-or-no columns
            McNemar's.
        questions: Number of questions.
    """

    mean: float
    low: float
    high: float
    gained: int
    lost: int
    p: float
    questions: int


def paired(before: pl.DataFrame, after: pl.DataFrame, column: str = "hit") -> Paired:
    """Compare a column of two tables question by question.

    Args:
        before: Table of :func:`inweights.lm.ask`: columns ``id`` and ``column``.
        after: The same of another model, with the same questions.
        column: Numbers or yes-or-no values to compare.

    Returns:
        Mean change with its interval, numbers of gains and losses, and a p value.

    Raises:
        DataError: The tables are not of the same questions.

    Example:
        >>> one = pl.DataFrame({"id": list("abcd"), "hit": [False, False, False, True]})
        >>> other = pl.DataFrame({"id": list("abcd"), "hit": [True, True, True, True]})
        >>> found = paired(one, other)
        >>> found.mean, found.gained, found.lost, found.p
        (0.75, 3, 0, 0.25)
    """
    from scipy import stats

    both = _joined(before, after, column)
    now = both[f"{column}_after"].cast(pl.Float64)
    change = (now - both[column].cast(pl.Float64)).to_numpy()
    gained = int((change > 0).sum())
    lost = int((change < 0).sum())
    p = 1.0
    if gained + lost:
        p = float(stats.binomtest(gained, gained + lost).pvalue)
    # Student's interval of yes and no has no width where no question changed.
    if both.schema[column] == pl.Boolean:
        mean, low, high = paired_interval(gained, lost, len(change))
    else:
        mean, low, high = interval(change)
    return Paired(mean, low, high, gained, lost, p, len(change))


def summary(table: pl.DataFrame, by: tuple[str, ...] = ("role",)) -> pl.DataFrame:
    """Return accuracy, mean reciprocal rank, probability and share of the answer, by role.

    Args:
        table: Table of :func:`inweights.lm.ask`.
        by: Columns to group by.

    Returns:
        A row per group: the columns ``by``, ``questions``, ``accuracy``,
        ``reciprocal``, ``chance``, ``probability`` and ``share`` (means over
        questions).

    Example:
        >>> row = {"role": "skip", "hit": True, "reciprocal": 1.0, "chance": 0.5,
        ...        "probability": 0.1, "share": 0.9}
        >>> summary(pl.DataFrame([row])).row(0)
        ('skip', 1, 1.0, 1.0, 0.5, 0.1, 0.9)
    """
    return table.group_by(list(by), maintain_order=True).agg(
        questions=pl.len(),
        accuracy=pl.col("hit").mean(),
        reciprocal=pl.col("reciprocal").mean(),
        chance=pl.col("chance").mean(),
        probability=pl.col("probability").mean(),
        share=pl.col("share").mean(),
    )


def compositionality(table: pl.DataFrame) -> dict[str, float]:
    """Return the compositionality gap (Press et al. 2022) and the accuracies that it is made of.

    Args:
        table: Table of :func:`inweights.lm.ask`, with compositions and both of their
            hops.

    Returns:
        A number by name: ``first_hop``, ``second_hop`` (accuracy), ``both`` (share of
        chains whose hops are both right), ``composition`` (accuracy), ``known``
        (accuracy of compositions whose hops are both right) and ``gap``: ``1 - known``,
        NaN where no chain has both.

    Raises:
        DataError: There are no questions of one of the three roles.

    Example:
        >>> rows = [("0", "composition", False), ("0", "first_hop", True),
        ...         ("0", "second_hop", True), ("1", "composition", True),
        ...         ("1", "first_hop", True), ("1", "second_hop", True)]
        >>> compositionality(pl.DataFrame(rows, ["chain", "role", "hit"], orient="row"))["gap"]
        0.5
    """
    wanted = ("composition", "first_hop", "second_hop")
    wide = (
        table.filter(pl.col("role").is_in(wanted))
        .group_by("chain", "role", maintain_order=True)
        .agg(pl.col("hit").all())
        .pivot("role", index="chain", values="hit")
    )
    for role in wanted:
        if role not in wide.columns:
            raise DataError(
                f"the compositionality gap needs questions of the role {role}"
            )
    # The gap is about chains of which all three questions were asked.
    wide = wide.drop_nulls()
    numbers = {c: wide[c].cast(pl.Float64).to_numpy() for c in wanted}
    both = (numbers["first_hop"] * numbers["second_hop"]) > 0
    known = float(numbers["composition"][both].mean()) if both.any() else float("nan")
    means = {name: float(column.mean()) for name, column in numbers.items()}
    return {
        **means,
        "both": float(both.mean()),
        "known": known,
        "gap": 1.0 - known,
    }


def changes(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Return what training changed under the ``(e1, r2)`` prompt, for each chain and its set.

    Identity Bridge, §4.5 and Figure 8. A chain is in ``D_correct``, ``D_partial`` or
    ``D_incorrect`` by its composition; the rise is that of its ``skip`` question.

    Args:
        before: Table of :func:`inweights.lm.ask` before training.
        after: The same after training, with the same questions.

    Returns:
        ``chain, set``; ``probability_before, probability_after`` and their difference
        ``rise``; ``share_before, share_after`` and ``share_rise``, of the answer among
        the candidates; ``log_ratio`` (of probabilities) and ``log_share_ratio``,
        natural logarithms. Null where a chain has no ``skip`` question.

    Raises:
        DataError: The tables are not of the same questions.

    Example:
        >>> rows = [("0", "0", "composition", False, 0.1, 0.2), ("1", "0", "skip", False, 0.1, 0.2)]
        >>> columns = ["id", "chain", "role", "hit", "probability", "share"]
        >>> one = pl.DataFrame(rows, columns, orient="row")
        >>> changes(one, one.with_columns(hit=True, share=0.4)).select("set", "share_rise").row(0)
        ('D_partial', 0.2)
    """
    # For its check alone: questions of one side would be left out without a word.
    _joined(before, after, "hit")
    composed = _joined(
        before.filter(pl.col("role") == "composition"),
        after.filter(pl.col("role") == "composition"),
        "hit",
        "chain",
    )
    right = pl.when(pl.col("hit")).then(pl.lit(CORRECT)).otherwise(pl.lit(PARTIAL))
    kind = pl.when(pl.col("hit_after")).then(right).otherwise(pl.lit(INCORRECT))
    table = composed.select("chain", set=kind)
    for when, answers in (("before", before), ("after", after)):
        skip = answers.filter(role="skip").select(
            "chain", pl.col("probability", "share")
        )
        named = {name: f"{name}_{when}" for name in ("probability", "share")}
        table = table.join(skip.rename(named), on="chain", maintain_order="left")
    p_before = pl.col("probability_before")
    p_after = pl.col("probability_after")
    s_before = pl.col("share_before")
    s_after = pl.col("share_after")
    return table.with_columns(
        rise=p_after - p_before,
        share_rise=s_after - s_before,
        log_ratio=_log(p_after) - _log(p_before),
        log_share_ratio=_log(s_after) - _log(s_before),
    )


def _log(column: pl.Expr) -> pl.Expr:
    """Return the natural logarithm; what underflowed counts as the smallest positive number."""
    return column.clip(lower_bound=np.finfo(np.float64).tiny).log()


def _joined(
    before: pl.DataFrame, after: pl.DataFrame, column: str, key: str = "id"
) -> Any:
    if set(before[key]) != set(after[key]) or before.height != after.height:
        raise DataError("before and after must have the same questions")
    other = after.select(key, pl.col(column).alias(f"{column}_after"))
    return before.select(key, column).join(other, on=key, maintain_order="left")
