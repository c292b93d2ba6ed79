"""Judge claims by the confidence interval of their score.

A claim is *reproduced* if the whole interval lies within the target in every case, *not
reproduced* if it lies completely outside in at least one case, and *undecided*
otherwise. :func:`judge` reads the numbers from tables, and :func:`decide` judges given
numbers. :mod:`~.closeness` compares a number with the published number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from inweights.config import check_size
from inweights.errors import DataError
from inweights.experiments.claims.claim import (
    IN_A_SUBSTITUTE,
    RELIABLE,
    VERDICTS,
    Claim,
    Statement,
    Verdict,
)
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.needed_seeds import MIN_SEEDS, needed_seeds
from inweights.experiments.claims.numbers import Numbers, numbers_of
from inweights.experiments.claims.published import published_range
from inweights.experiments.claims.target import ROUNDING, Rounding, Target
from inweights.support.statistics import intervals

if TYPE_CHECKING:
    import polars as pl


def judge(
    claim: Claim,
    tables: Mapping[str, pl.DataFrame],
    *,
    alpha: float = intervals.ALPHA,
    minimum: int = MIN_SEEDS,
    targets: bool = True,
    strict: bool = True,
) -> ClaimResult:
    """Judge a claim by the tables of a finished run, and return it with its verdict.

    Args:
        claim: The claim.
        tables: Tables of the run, keyed by name.
        alpha: Error probability of a confidence interval, above 0 and below 1; by
            default .05.
        minimum: Minimum number of seeds required for a verdict, by default 8. Scores
            that do not depend on the seed require only one.
        targets: Whether to compare the numbers with the target, by default true. If
            false, as at scale ``smoke``, the verdict is ``not judged``, and the result
            contains only the measured numbers.
        strict: Whether to raise an error if the tables lack data that the score
            selects, by default true. If false, the verdict is ``not judged`` instead,
            and ``why`` of the result states the reason.

    Returns:
        The claim with its verdict and the numbers of one case, as returned by
        :func:`decide`. The verdict is also ``not judged`` if there are too few seeds,
        no row matches the score, a run diverged, or a number is missing; ``why`` then
        states the reason.

    Raises:
        ConfigError: ``alpha`` is not between 0 and 1.
        DataError: ``strict`` is true, and a table, a column or a value that the score
            selects is missing; the column contains values other than numbers and
            Booleans; or a selected value has a different type than its column.
    """
    try:
        numbers = numbers_of(claim.score, tables, claim.id)
    except DataError as error:
        if strict:
            raise
        return unjudged(claim, str(error))
    return decide(claim, numbers, alpha=alpha, minimum=minimum, targets=targets)


def decide(
    claim: Claim,
    numbers: Numbers,
    *,
    alpha: float = intervals.ALPHA,
    minimum: int = MIN_SEEDS,
    targets: bool = True,
    rounding: float = ROUNDING,
) -> ClaimResult:
    """Judge a claim by its numbers, and return it with its verdict.

    The verdict ``not reproduced`` is corrected for the number ``k`` of cases: the
    interval of each case has the error probability ``alpha / k``. The verdict
    ``reproduced``, for which the claim must hold in all cases, needs no correction.

    Args:
        claim: The claim.
        numbers: The numbers, grouped by case and seed, with at least one case. If there
            are no numbers, their attribute ``why`` gives the reason, and the verdict is
            ``not judged``.
        alpha: Error probability of a confidence interval, above 0 and below 1; by
            default .05.
        minimum: Minimum number of seeds required for a verdict, by default 8. Scores
            that do not depend on the seed require only one.
        targets: Whether to compare the numbers with the target, by default true. If
            false, the verdict is ``not judged``, and the result contains only the
            measured numbers.
        rounding: Relative tolerance at the ends of the target, by default a millionth
            (:class:`Rounding`).

    Returns:
        The claim with its verdict, and with the numbers and the interval of the case
        that is farthest from being reproduced. If the claim is judged by a substitute
        for the paper's protocol, the verdict is ``consistent`` in place of
        ``reproduced``, and ``not seen in a substitute`` in place of ``not reproduced``.

    Raises:
        ConfigError: ``alpha`` is not between 0 and 1.
    """
    check_size("alpha", alpha, least=0.0, above=0.0, below=1.0)
    if numbers.why:
        return unjudged(claim, numbers.why)
    spans = {}
    near = Rounding(rounding, max(claim.score.size, numbers.size))
    for case, of_seeds in numbers.cases.items():
        span = _Span(claim, list(of_seeds.values()), alpha, near)
        # One of many cases fails by chance more often than a single case. To fail the
        # claim, it must fail with a share of the error probability (Bonferroni
        # correction). No correction is needed if all cases hold.
        if span.verdict == "not reproduced" and len(numbers.cases) > 1:
            span = _Span(claim, span.values, alpha / len(numbers.cases), near)
        spans[case] = span
    worst, span = min(spans.items(), key=lambda item: item[1].rank)
    result: dict[str, Any] = span.result | {
        "replicates": len(span.values),
        "case": worst,
    }
    if not targets:
        return unjudged(claim, "this scale is too small to judge", **result)
    if numbers.fewest < minimum and not claim.score.exact:
        why = f"{numbers.fewest} seed(s); a verdict needs {minimum}"
        return unjudged(claim, why, **result | {"needed": minimum})
    needed = (
        needed_seeds(claim, span.values, span.alpha, near)
        if span.verdict == "undecided"
        else None
    )
    # A substitute for the paper's protocol cannot reproduce a claim.
    called = IN_A_SUBSTITUTE if claim.protocol == "substitute" else {}
    result |= {"verdict": called.get(span.verdict, span.verdict), "needed": needed}
    return ClaimResult(
        **claim.about() | {"close": published_range(claim)}, rule=claim.judged, **result
    )


class _Span:
    """Numbers, intervals and verdict of one case of a claim."""

    def __init__(
        self, claim: Claim, values: Sequence[float], alpha: float, rounding: Rounding
    ) -> None:
        self.values, self.alpha = values, alpha
        target = claim.target
        reliable = claim.judged == "reliable"
        hits = sum(target.contains(value, value, rounding) for value in values)
        if claim.score.exact:
            middle = low = high = fmean(values)
            self.result: dict[str, Any] = {"level": 1 - alpha, "measured": middle}
        else:
            middle, low, high = span_of(claim, values, alpha)
            _, share_low, share_high = intervals.share_interval(
                hits, len(values), alpha
            )
            self.result = {"level": 1 - alpha, "measured": middle, "hits": hits}
            self.result |= {"share_low": share_low, "share_high": share_high}
            if math.isfinite(low) and math.isfinite(high):
                self.result |= {"low": low, "high": high}
            if reliable:
                target = Target(least=RELIABLE)
                low = share_low
                high = share_high
        self.verdict = lies(target, low, high, rounding)
        self.inside = (
            hits / len(values) if reliable else 0.0,
            claim.target.distance(middle),
            min(target.distance(low), target.distance(high)),
        )

    @property
    def rank(self) -> tuple[float, ...]:
        """Sort key of cases; the case with the smallest key is farthest from being reproduced."""
        return (_RANK[self.verdict], *self.inside)


def span_of(
    claim: Claim, values: Sequence[float], alpha: float
) -> tuple[float, float, float]:
    """Return the median or mean over seeds, and its confidence interval.

    Args:
        claim: The claim. If its ``judged`` is ``mean``, the mean is returned, otherwise
            the median.
        values: One number per seed; there must be at least one.
        alpha: Error probability of the interval, above 0 and below 1.

    Returns:
        Three numbers: the median or mean, and the lower and upper ends of the interval.
        If there are too few seeds (fewer than six with ``alpha=0.05``), the interval of
        a median has infinite ends. If there is only one seed and the score has no
        bounds, both ends of the interval of a mean equal the mean.
    """
    if claim.judged != "mean":
        return intervals.median_interval(values, alpha)
    if claim.score.bounds:
        return intervals.bounded_interval(values, alpha, claim.score.bounds)
    return intervals.interval(values, alpha)


def is_open(claim: ClaimResult) -> bool:
    """Return whether a claim could be decided by adding seeds.

    This is the case if the claim's verdict is ``undecided``, or if it was not judged
    because there were too few seeds.

    Args:
        claim: The claim with its verdict.
    """
    return claim.verdict == "undecided" or (
        claim.verdict == "not judged" and bool(claim.needed)
    )


def tally(claims: Iterable[ClaimResult]) -> dict[str, dict[Verdict, int]]:
    """Count the verdicts on claims of papers, on our own claims, and on checks.

    Args:
        claims: The claims with their verdicts.

    Returns:
        Number of claims for each group (``papers``, ``ours``, ``checks``) and each
        verdict. The number is 0 for verdicts that do not occur. A check, which is a
        claim that holds by construction, is counted only among the ``checks``.
    """
    counts = {kind: dict.fromkeys(VERDICTS, 0) for kind in ("papers", "ours", "checks")}
    for claim in claims:
        kind = "ours" if claim.source == "ours" else "papers"
        if claim.check:
            kind = "checks"
        counts[kind][claim.verdict] += 1
    return counts


def unjudged(claim: Claim | Statement, why: str, **result: Any) -> ClaimResult:
    """Return the result of a claim that cannot be judged, with the verdict ``not judged``.

    Args:
        claim: The claim, or its statement without a score.
        why: Reason why the claim cannot be judged.
        **result: Further attributes of the
            :class:`~inweights.experiments.claims.claim_result.ClaimResult` that are
            known, such as ``measured``.
    """
    about: dict[str, Any] = {"verdict": "not judged", "why": why} | result
    return ClaimResult(**claim.about(), rule=claim.judged, **about)


#: Rank of each verdict. The lowest rank among the cases decides: a single failure fails
#: the claim, and a single undecided case leaves it undecided.
_RANK: dict[Verdict, int] = {"not reproduced": 0, "undecided": 1, "reproduced": 2}


def lies(
    target: Target, low: float, high: float, rounding: Rounding | None = None
) -> Verdict:
    """Return the verdict for an interval that lies inside, outside or partly inside the target.

    Args:
        target: The target range.
        low: Lower end of the interval.
        high: Upper end of the interval.
        rounding: Tolerance at the ends of the target; by default a millionth of the
            absolute value of each end.

    Returns:
        ``reproduced`` if the whole interval lies inside the target, ``not reproduced``
        if the whole interval lies on one side of the target, otherwise ``undecided``.
    """
    rounding = rounding or Rounding()
    if target.contains(low, high, rounding):
        return "reproduced"
    outside = target.falls_short(high, rounding) or target.exceeds(low, rounding)
    return "not reproduced" if outside else "undecided"
