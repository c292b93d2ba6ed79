"""Compare answers before and after fine-tuning: summaries, paired tests, and sets of chains.

The tables are those of :func:`inweights.lm.ask`. :func:`~inweights.lm.evaluation`
combines the results of :func:`summary`, :func:`paired`, :func:`compositionality` and
:func:`changes`. The three sets of chains are those of Identity Bridge, §4.5.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from inweights.errors import DataError
from inweights.support.statistics.intervals import interval, paired_interval

#: Roles of the questions about one chain.
_CHAIN = ("composition", "first_hop", "second_hop")
#: Sets of chains: those whose composition is right before and after training, only
#: after it, or not after it (Identity Bridge, §4.5).
CORRECT = "D_correct"
PARTIAL = "D_partial"
INCORRECT = "D_incorrect"

#: Kinds of compositions that no training text states: both hops are known, a hop is
#: unknown, or the questions do not include both hops.
HELD_OUT = (
    "held out, both hops known",
    "held out, a hop unknown",
    "held out, hops not asked",
)
ITSELF = "the answer is the subject"
#: Groups of questions whose accuracy a report states first, in this order.
GROUPS = (
    "facts",
    "facts in new words",
    "compositions, stated",
    *HELD_OUT,
    "reversals",
    "analogies",
    ITSELF,
)
#: Name of the group of all compositions that no training text states.
ALL_HELD_OUT = "held out"


@dataclass(frozen=True)
class Paired:
    """Paired comparison of one number or yes-or-no value per question.

    Attributes:
        mean: Mean difference, after minus before.
        low: Lower end of the 95% confidence interval of :attr:`mean`. For yes-or-no
            values, this is Tango's interval for a paired difference (1998); for
            numbers, it is Student's t interval over questions.
        high: Upper end of the confidence interval.
        gained: Number of questions whose value changed from no to yes, or whose number
            increased.
        lost: Number of questions whose value changed from yes to no, or whose number
            decreased.
        p: P value of the exact two-sided sign test over the questions that changed,
            which for yes-or-no values is McNemar's test; 1 if none changed.
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
    """Compare a column of two tables, question by question.

    Args:
        before: Table of :func:`inweights.lm.ask`, with the columns ``id`` and
            ``column``.
        after: Table of another model, with the same questions, in any order.
        column: Column with the numbers or yes-or-no values to compare; by default
            ``hit``.

    Returns:
        The mean difference with its interval, the numbers of gains and losses, and the
        p value.

    Raises:
        DataError: The tables have different questions, or lack a column.

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
    # For Booleans, Student's interval would have no width if no question changed.
    if both.schema[column] == pl.Boolean:
        mean, low, high = paired_interval(gained, lost, len(change))
    else:
        mean, low, high = interval(change)
    return Paired(mean, low, high, gained, lost, p, len(change))


def summary(table: pl.DataFrame, by: tuple[str, ...] = ("role",)) -> pl.DataFrame:
    """Compute the mean accuracy, reciprocal rank, probability and share for each role.

    Args:
        table: Table of :func:`inweights.lm.ask`.
        by: Columns by which the rows are grouped; by default ``("role",)``.

    Returns:
        One row per group, in order of first appearance: the columns ``by``; the number
        of ``questions``; and the following means over these questions: ``accuracy``,
        the share of questions whose correct answer has rank 1; ``reciprocal``, 1 divided
        by the rank of the correct answer; ``chance``, the accuracy of random choice;
        ``probability`` of the correct answer; and ``share``, its probability relative to
        the sum over all candidates.

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


def whole_chains(table: pl.DataFrame) -> pl.DataFrame:
    """Return the chains for which the table contains the composition and both hops.

    Args:
        table: Table of :func:`inweights.lm.ask`.

    Returns:
        One row per chain: ``chain``, its id; ``composition``, ``first_hop`` and
        ``second_hop``, which state whether each question was answered correctly. The
        table is empty if there is no such chain.
    """
    wide = (
        table.filter(pl.col("role").is_in(_CHAIN))
        .group_by("chain", "role", maintain_order=True)
        .agg(pl.col("hit").all())
        .pivot("role", index="chain", values="hit")
    )
    return wide.drop_nulls() if set(_CHAIN) <= set(wide.columns) else wide.clear()


def compositionality(table: pl.DataFrame) -> dict[str, float]:
    """Compute the compositionality gap (Press et al. 2022) and the accuracies that determine it.

    Only chains for which the table contains all three questions are counted.

    Args:
        table: Table of :func:`inweights.lm.ask` with compositions and the questions
            about both of their hops.

    Returns:
        Six numbers, keyed by name: ``first_hop`` and ``second_hop``, the accuracy on
        single hops; ``both``, the share of chains of which both hops are answered
        correctly; ``composition``, the accuracy on compositions; ``known``, the
        accuracy on compositions whose hops are both answered correctly (NaN if there
        are no such compositions); and ``gap``, which is ``1 - known``.

    Raises:
        DataError: There is no chain with questions of all three roles.

    Example:
        >>> rows = [("0", "composition", False), ("0", "first_hop", True),
        ...         ("0", "second_hop", True), ("1", "composition", True),
        ...         ("1", "first_hop", True), ("1", "second_hop", True)]
        >>> compositionality(pl.DataFrame(rows, ["chain", "role", "hit"], orient="row"))["gap"]
        0.5
    """
    wide = whole_chains(table)
    if wide.is_empty():
        raise DataError(
            "the compositionality gap requires chains with questions of all three roles "
            f"({', '.join(_CHAIN)}); no chain has them"
        )
    numbers = {c: wide[c].cast(pl.Float64).to_numpy() for c in _CHAIN}
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
    """Compute how training changes the answers to the prompt ``(e1, r2)``, for each chain.

    The prompt ``(e1, r2)`` leaves out the first relation of a chain (role ``skip``).
    Chains are divided into the three sets of Identity Bridge, §4.5 and Figure 8: a
    chain belongs to ``D_correct`` if its composition is answered correctly both before
    and after training, to ``D_partial`` if it is answered correctly only after
    training, and otherwise to ``D_incorrect``.

    Args:
        before: Table of :func:`inweights.lm.ask` before training.
        after: Table of the same questions after training.

    Returns:
        One row per chain: ``chain``, its id; ``set``, as explained above;
        ``probability_before`` and ``probability_after`` of the answer to the ``skip``
        question, and their difference ``rise``; ``share_before``, ``share_after`` and
        ``share_rise``, the same for the answer's share of the probability of all
        candidates; ``log_ratio`` and ``log_share_ratio``, the natural logarithms of the
        values after training divided by the values before training. All columns after
        ``set`` are null if a chain has no ``skip`` question.

    Raises:
        DataError: The tables have different questions.

    Example:
        >>> rows = [("0", "0", "composition", False, 0.1, 0.2), ("1", "0", "skip", False, 0.1, 0.2)]
        >>> columns = ["id", "chain", "role", "hit", "probability", "share"]
        >>> one = pl.DataFrame(rows, columns, orient="row")
        >>> changes(one, one.with_columns(hit=True, share=0.4)).select("set", "share_rise").row(0)
        ('D_partial', 0.2)
    """
    # Called only for its check, without which questions of one side would be dropped
    # silently.
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
    """Return the natural logarithm, with 0 replaced by the smallest positive number."""
    return column.clip(lower_bound=np.finfo(np.float64).tiny).log()


def _joined(
    before: pl.DataFrame, after: pl.DataFrame, column: str, key: str = "id"
) -> Any:
    if set(before[key]) != set(after[key]) or before.height != after.height:
        raise DataError("before and after must have the same questions")
    other = after.select(key, pl.col(column).alias(f"{column}_after"))
    return before.select(key, column).join(other, on=key, maintain_order="left")
