"""Verdicts: what the interval of a score says of a claim.

A claim is *reproduced* when the whole interval lies in the target, in every case; *not reproduced*
when all of it lies outside, in one case; *undecided* when it crosses the edge. What the interval is
of, the claim says: the median over seeds (*typical*), the share of seeds that meet the target by
themselves (*reliable*), or the mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, Any, Literal, get_args

from inweights.config import Config
from inweights.errors import DataError
from inweights.lab.grammar.claim import RELIABLE, Claim, Protocol, Rule, Statement, Target
from inweights.lab.grammar.numbers import Numbers, numbers_of
from inweights.support.intervals import (
    ALPHA,
    bounded_interval,
    fewest_one_sided,
    interval,
    median_interval,
    share_interval,
)
from inweights.support.showing import Card

if TYPE_CHECKING:
    import polars as pl

Verdict = Literal["reproduced", "consistent", "not reproduced", "undecided", "not judged"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

#: Fewer seeds than this give no verdict.
MIN_SEEDS = 8
#: As many seeds, or more, are not proposed.
_MANY = 10_000


class ClaimResult(Config):
    """A claim with its verdict, as in the results table.

    Attributes:
        rule: What was judged over the seeds: ``typical``, ``reliable`` or ``mean``.
        measured: Median of the seeds' numbers, or their mean; of the deciding case where the claim
            has several.
        low: Lower end of its confidence interval; none for what is computed, and for few seeds.
        high: Upper end.
        replicates: How many seeds were judged.
        hits: How many of them meet the target by themselves.
        share_low: Lower end of the confidence interval of the share of all seeds that would.
        share_high: Upper end.
        case: Which case decided: the one that is farthest from reproducing.
        why: Why there is no verdict, where there is none.
        needed: About how many seeds would decide an open claim, if they are like those so far.
        level: Confidence of the intervals.
        condition: Under which of its recipe's conditions it was judged, where there are several.
        quote: The paper's own words.
        protocol: How near to the paper's protocol it was judged.
        close: Smallest and largest number that has the published size.
        version: Of the claim, by the ledger.
        earlier: What became of its earlier versions, in words.
        p: The smallest error probability with which it would have this verdict, on the scale of
            one analysis at .05.
        together: Whether the verdict also holds with those of all papers' claims together (Holm).
    """

    id: str
    text: str
    place: str
    source: str
    published: str | None
    target: Target
    verdict: Verdict
    rule: Rule = "typical"
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    replicates: int = 0
    hits: int | None = None
    share_low: float | None = None
    share_high: float | None = None
    case: str = ""
    why: str = ""
    needed: int | None = None
    level: float = 1 - ALPHA
    check: bool = False
    condition: str = ""
    quote: str = ""
    protocol: Protocol | None = None
    close: tuple[float, float] | None = None
    version: int = 1
    earlier: tuple[str, ...] = ()
    p: float | None = None
    together: bool = False

    def __repr__(self) -> str:
        number = "" if self.measured is None else f" {self.measured:.3g}"
        return f"ClaimResult({self.id}: {self.verdict},{number} for {self.target.text})"

    def _repr_html_(self) -> str:
        between = "" if None in (self.low, self.high) else f"{self.low:.3g} to {self.high:.3g}"
        measured = {"measured": self.measured, "interval": between, "target": self.target.text}
        seeds = {"seeds": self.met or self.replicates, "version": self.version}
        row = (self.verdict, self.text)
        return Card(self.id, {**measured, **seeds}, ("verdict", "claim"), [row]).html

    @property
    def met(self) -> str:
        """How many seeds meet the target, with the interval of their share; "" for computed ones.

        Example:
            >>> about = {"id": "a/b/c", "text": "", "place": "", "source": "", "published": None}
            >>> found = {"replicates": 16, "hits": 16, "share_low": 0.76, "share_high": 1.0}
            >>> ClaimResult(**about, target=Target(least=0.9), verdict="reproduced", **found).met
            '16 of 16 seeds (76% to 100%)'
        """
        if self.hits is None or self.share_low is None or self.share_high is None:
            return ""
        between = f"{self.share_low:.0%} to {self.share_high:.0%}"
        return f"{self.hits} of {self.replicates} seeds ({between})"


def judge(
    claim: Claim,
    tables: Mapping[str, pl.DataFrame],
    *,
    alpha: float = ALPHA,
    minimum: int = MIN_SEEDS,
    targets: bool = True,
    strict: bool = True,
) -> ClaimResult:
    """Return the verdict on ``claim`` from the tables of a finished run.

    Args:
        claim: What is claimed.
        tables: Measured and derived tables.
        alpha: Probability with which an interval may miss.
        minimum: Seeds that a verdict needs.
        targets: Whether the claim is judged; else the numbers are only measured, as at ``smoke``.
        strict: Whether rows or columns that the claim asks for and that are not there are an
            error; else it is not judged, and says why. They may be missing where a setting was
            changed.

    Raises:
        DataError: The claim names a table, a column or a value that is not there.
    """
    try:
        numbers = numbers_of(claim, tables)
    except DataError as error:
        if strict:
            raise
        return unjudged(claim, str(error))
    return decide(claim, numbers, alpha=alpha, minimum=minimum, targets=targets)


def decide(
    claim: Claim,
    numbers: Numbers,
    *,
    alpha: float = ALPHA,
    minimum: int = MIN_SEEDS,
    targets: bool = True,
) -> ClaimResult:
    """Return the verdict on ``claim`` from its numbers; arguments as for :func:`judge`.

    That all of several cases hold needs no correction: a wrong ``reproduced`` needs a wrong
    interval in a case that does not hold. That one of ``k`` fails does: each has ``alpha / k``.
    """
    if numbers.why:
        return unjudged(claim, numbers.why)
    spans = {}
    for case, of_seeds in numbers.cases.items():
        span = _Span(claim, list(of_seeds.values()), alpha)
        if span.verdict == "not reproduced" and len(numbers.cases) > 1:
            strict = _Span(claim, span.values, alpha / len(numbers.cases))
            if strict.verdict == "not reproduced":
                span = strict
            else:
                span.verdict = "undecided"
        spans[case] = span
    worst, span = min(spans.items(), key=lambda item: item[1].rank)
    result: dict[str, Any] = span.result | {"replicates": len(span.values), "case": worst}
    if not targets:
        return unjudged(claim, "this scale is too small to judge", **result)
    if numbers.fewest < minimum and not claim.score.exact:
        why = f"{numbers.fewest} seed(s); a verdict needs {minimum}"
        return unjudged(claim, why, **result | {"needed": minimum})
    needed = _needed(claim, span.values, alpha) if span.verdict == "undecided" else None
    # Another model, data or measure than the paper's can agree with it, and reproduce nothing.
    agrees = span.verdict == "reproduced" and claim.protocol == "substitute"
    verdict: Verdict = "consistent" if agrees else span.verdict
    return _result(claim, verdict, **result | {"needed": needed})


class _Span:
    """What is known of one case: its numbers, intervals and verdict."""

    def __init__(self, claim: Claim, values: Sequence[float], alpha: float) -> None:
        self.values, target, score = values, claim.target, claim.score
        self.hits = sum(target.distance(value) >= 0 for value in values)
        self.result: dict[str, Any] = {"level": 1 - alpha}
        if score.exact:
            self.middle = low = high = fmean(values)
            self.result |= {"measured": self.middle}
        else:
            self.middle, low, high = span_of(claim, values, alpha)
            _, share_low, share_high = share_interval(self.hits, len(values), alpha)
            self.result |= {"measured": self.middle, "hits": self.hits}
            self.result |= {"share_low": share_low, "share_high": share_high}
            if math.isfinite(low) and math.isfinite(high):
                self.result |= {"low": low, "high": high}
        if claim.judged == "reliable" and not score.exact:
            target, low, high = Target(least=RELIABLE), share_low, share_high
        self.verdict = _verdict(target, low, high)
        self.inside = (
            self.hits / len(values) if claim.judged == "reliable" else 0.0,
            claim.target.distance(self.middle),
            min(target.distance(low), target.distance(high)),
        )

    @property
    def rank(self) -> tuple[float, ...]:
        """Less is farther from reproducing: by verdict, then middle, and among equals the end."""
        return (_RANK[self.verdict], *self.inside)


def span_of(claim: Claim, values: Sequence[float], alpha: float) -> tuple[float, float, float]:
    """Return the middle of the seeds' numbers with its interval, by the rule of the claim."""
    if claim.judged != "mean":
        return median_interval(values, alpha)
    if claim.score.bounds:
        return bounded_interval(values, alpha, claim.score.bounds)
    return interval(values, alpha)


def first_seeds(claim: Claim, stated: int, alpha: float) -> int:
    """Return how many seeds a first verdict takes: those stated, doubled until one is possible.

    Before that nothing can be decided, so that no error is spent either.
    """
    least = {
        "typical": fewest_one_sided(0.5, alpha),
        "reliable": fewest_one_sided(RELIABLE, alpha),
        "mean": MIN_SEEDS,
    }[claim.judged]
    seeds = max(stated, 1)
    while seeds < max(least, MIN_SEEDS):
        seeds *= 2
    return seeds


def is_open(claim: ClaimResult) -> bool:
    """Whether more seeds may decide a claim."""
    return claim.verdict == "undecided" or (claim.verdict == "not judged" and bool(claim.needed))


def tally(claims: Iterable[ClaimResult]) -> dict[str, dict[Verdict, int]]:
    """Count verdicts: of the papers' claims, of our own, and of checks."""
    counts = {kind: dict.fromkeys(VERDICTS, 0) for kind in ("papers", "ours", "checks")}
    for claim in claims:
        kind = "checks" if claim.check else "ours" if claim.source == "ours" else "papers"
        counts[kind][claim.verdict] += 1
    return counts


def unjudged(claim: Claim | Statement, why: str, **result: Any) -> ClaimResult:
    """Return the result of a claim that is not judged, with the reason."""
    return _result(claim, "not judged", why=why, **result)


_ABOUT = (
    "id", "text", "place", "source", "published", "target", "check", "condition", "quote",
    "protocol", "close",
)  # fmt: skip


def _result(claim: Claim | Statement, verdict: Verdict, **result: Any) -> ClaimResult:
    about = {name: getattr(claim, name) for name in _ABOUT}
    return ClaimResult(**about, rule=claim.judged, verdict=verdict, **result)


#: Order in which cases decide: one failure fails the claim, one open case leaves it open.
_RANK: dict[Verdict, int] = {"not reproduced": 0, "undecided": 1, "reproduced": 2}


def _verdict(target: Target, low: float, high: float) -> Verdict:
    if target.distance(low) >= 0 and target.distance(high) >= 0:
        return "reproduced"
    below = target.least is not None and high < target.least
    above = target.most is not None and low > target.most
    return "not reproduced" if below or above else "undecided"


def _needed(claim: Claim, values: Sequence[float], alpha: float) -> int | None:
    """About how many seeds decide, if further ones are like those so far (normal approximation)."""
    z = -NormalDist().inv_cdf(alpha / 2)
    target, count = claim.target, len(values)
    inside = sum(target.distance(value) >= 0 for value in values) / count
    fewest = count + 1
    if claim.judged == "mean":
        edges = [edge for edge in (target.least, target.most) if edge is not None]
        gap, spread = min(abs(fmean(values) - edge) for edge in edges), stdev(values)
    elif claim.judged == "reliable":
        gap, spread = abs(inside - RELIABLE), math.sqrt(inside * (1 - inside))
        fewest = max(fewest, first_seeds(claim, 1, alpha))
    else:
        below = sum(target.least is not None and value < target.least for value in values) / count
        gap, spread = max(inside, below, 1 - inside - below) - 0.5, 0.5
    if gap <= 0:
        return None
    needed = max(fewest, math.ceil((z * spread / gap) ** 2))
    return needed if needed < _MANY else None
