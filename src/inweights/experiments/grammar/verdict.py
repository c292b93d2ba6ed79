"""Judge claims: say what the confidence interval of a score means for the claim.

A claim is *reproduced* when the whole interval lies in the target, in every case; *not
reproduced* when all of it lies outside, in one case; *undecided* when it crosses the edge.
Where the paper prints a number and the target has one edge, :func:`closeness` is a second
verdict: whether what was measured has the published size. :func:`judge` reads tables,
:func:`decide` numbers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, Any, Literal

from inweights.errors import DataError
from inweights.experiments.grammar.claim import (
    IN_A_SUBSTITUTE,
    RELIABLE,
    VERDICTS,
    Claim,
    ClaimResult,
    Statement,
    Verdict,
)
from inweights.experiments.grammar.score import ROUNDING, Numbers, Rounding, Target, numbers_of
from inweights.support import intervals

if TYPE_CHECKING:
    import polars as pl

#: Whether a measured number has the published size.
Size = Literal["close", "not close", "undecided"]
#: A number has the published size if it is within this factor of it, where ``close`` is not given.
FACTOR = 1.5
#: Fewer seeds than this give no verdict.
MIN_SEEDS = 8
#: As many seeds, or more, are not proposed.
_MANY = 10_000
_SIZES: dict[Verdict, Size] = {"reproduced": "close", "not reproduced": "not close"}
_NUMBER = r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?"


def judge(
    claim: Claim,
    tables: Mapping[str, pl.DataFrame],
    *,
    alpha: float = intervals.ALPHA,
    minimum: int = MIN_SEEDS,
    targets: bool = True,
    strict: bool = True,
) -> ClaimResult:
    """Return the verdict on a claim from the tables of a finished run.

    Args:
        claim: The claim.
        tables: Tables of the run, by name.
        alpha: Probability with which an interval may miss; by default .05.
        minimum: Fewest seeds that give a verdict.
        targets: Whether the numbers are judged; if not, they are measured only, as at
            ``smoke``.
        strict: Whether it is an error that the tables lack what the claim is about, as where a
            setting was changed; if not, the claim is not judged and says why.

    Raises:
        DataError: A table, a column or a value is missing, and ``strict`` holds.
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
    """Return the verdict on a claim from its numbers.

    That all of ``k`` cases hold needs no correction: a wrong ``reproduced`` needs a wrong
    interval in a case that does not hold. That one of them fails does: each has ``alpha / k``.

    Args:
        claim: The claim.
        numbers: Its score's number for each seed, by case.
        alpha: Probability with which an interval may miss; by default .05.
        minimum: Fewest seeds that give a verdict.
        targets: Whether the numbers are judged, and not measured only.
        rounding: Share of the size of a number within which it lies on an edge of the target,
            which belongs to the target
            (:class:`~inweights.experiments.grammar.score.Rounding`).
    """
    if numbers.why:
        return unjudged(claim, numbers.why)
    spans = {}
    near = Rounding(rounding, max(claim.score.size, numbers.size))
    for case, of_seeds in numbers.cases.items():
        span = _Span(claim, list(of_seeds.values()), alpha, near)
        if span.verdict == "not reproduced" and len(numbers.cases) > 1:
            span = _Span(claim, span.values, alpha / len(numbers.cases), near)
        spans[case] = span
    worst, span = min(spans.items(), key=lambda item: item[1].rank)
    result: dict[str, Any] = span.result | {"replicates": len(span.values), "case": worst}
    if not targets:
        return unjudged(claim, "this scale is too small to judge", **result)
    if numbers.fewest < minimum and not claim.score.exact:
        why = f"{numbers.fewest} seed(s); a verdict needs {minimum}"
        return unjudged(claim, why, **result | {"needed": minimum})
    needed = _needed(claim, span.values, span.alpha, near) if span.verdict == "undecided" else None
    called = IN_A_SUBSTITUTE if claim.protocol == "substitute" else {}
    result |= {"verdict": called.get(span.verdict, span.verdict), "needed": needed}
    return ClaimResult(**claim.about() | {"close": _close(claim)}, rule=claim.judged, **result)


class _Span:
    """What is known of one case: its numbers, intervals and verdict."""

    def __init__(
        self, claim: Claim, values: Sequence[float], alpha: float, rounding: Rounding
    ) -> None:
        self.values, self.alpha = values, alpha
        target, reliable = claim.target, claim.judged == "reliable"
        hits = sum(target.contains(value, value, rounding) for value in values)
        if claim.score.exact:
            middle = low = high = fmean(values)
            self.result: dict[str, Any] = {"level": 1 - alpha, "measured": middle}
        else:
            middle, low, high = span_of(claim, values, alpha)
            _, share_low, share_high = intervals.share_interval(hits, len(values), alpha)
            self.result = {"level": 1 - alpha, "measured": middle, "hits": hits}
            self.result |= {"share_low": share_low, "share_high": share_high}
            if math.isfinite(low) and math.isfinite(high):
                self.result |= {"low": low, "high": high}
            if reliable:
                target, low, high = Target(least=RELIABLE), share_low, share_high
        self.verdict = lies(target, low, high, rounding)
        self.inside = (
            hits / len(values) if reliable else 0.0,
            claim.target.distance(middle),
            min(target.distance(low), target.distance(high)),
        )

    @property
    def rank(self) -> tuple[float, ...]:
        """Order of cases: less is farther from reproducing."""
        return (_RANK[self.verdict], *self.inside)


def span_of(claim: Claim, values: Sequence[float], alpha: float) -> tuple[float, float, float]:
    """Return median or mean of the seeds' numbers, by the claim's rule, with its interval.

    Args:
        claim: Says whether the middle is the mean or the median, and bounds the mean.
        values: One number per seed.
        alpha: Probability with which the interval may miss.

    Returns:
        Middle, lower end and upper end; ends are infinite where there are too few seeds.
    """
    if claim.judged != "mean":
        return intervals.median_interval(values, alpha)
    if claim.score.bounds:
        return intervals.bounded_interval(values, alpha, claim.score.bounds)
    return intervals.interval(values, alpha)


def first_seeds(claim: Claim, stated: int, alpha: float) -> int:
    """Return how many seeds a first verdict takes: those stated, doubled until it is possible.

    Args:
        claim: Says which rule judges it.
        stated: Seeds that the recipe states.
        alpha: Probability with which an interval may miss.
    """
    least = {
        "typical": intervals.fewest_one_sided(0.5, alpha),
        "reliable": intervals.fewest_one_sided(RELIABLE, alpha),
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
    """Return the result of a claim that is not judged.

    Args:
        claim: The claim, or its statement.
        why: The reason.
        **result: What is known of its numbers, as attributes of
            :class:`~inweights.experiments.grammar.claim.ClaimResult`.
    """
    about: dict[str, Any] = {"verdict": "not judged", "why": why} | result
    return ClaimResult(**claim.about(), rule=claim.judged, **about)


#: Order in which cases decide: one failure fails the claim, one open case leaves it open.
_RANK: dict[Verdict, int] = {"not reproduced": 0, "undecided": 1, "reproduced": 2}


def lies(target: Target, low: float, high: float, rounding: Rounding | None = None) -> Verdict:
    """Return the verdict on an interval: inside the target, outside, or across its edge.

    Args:
        target: The range.
        low: Lower end of the interval.
        high: Upper end.
        rounding: How near to an edge a number lies on it; by default a millionth of its size.
    """
    rounding = rounding or Rounding()
    if target.contains(low, high, rounding):
        return "reproduced"
    outside = target.falls_short(high, rounding) or target.exceeds(low, rounding)
    return "not reproduced" if outside else "undecided"


def _needed(claim: Claim, values: Sequence[float], alpha: float, rounding: Rounding) -> int | None:
    """Return about how many seeds decide, if others are like these (normal approximation)."""
    z = -NormalDist().inv_cdf(alpha / 2)
    target, count = claim.target, len(values)
    inside = sum(target.contains(value, value, rounding) for value in values) / count
    fewest = count + 1
    if claim.judged == "mean":
        edges = [edge for edge in (target.least, target.most) if edge is not None]
        gap, spread = min(abs(fmean(values) - edge) for edge in edges), stdev(values)
    elif claim.judged == "reliable":
        gap, spread = abs(inside - RELIABLE), math.sqrt(inside * (1 - inside))
        fewest = max(fewest, first_seeds(claim, MIN_SEEDS, alpha))
    else:
        below = sum(target.falls_short(value, rounding) for value in values) / count
        gap, spread = max(inside, below, 1 - inside - below) - 0.5, 0.5
    if gap <= 0:
        return None
    needed = max(fewest, math.ceil((z * spread / gap) ** 2))
    return needed if needed < _MANY else None


@dataclass(frozen=True)
class Closeness:
    """Whether a measured number has the published size.

    Attributes:
        published: The number that the paper prints.
        ratio: Measured over published; ``None`` where the paper prints 0.
        span: Confidence interval of the ratio; ``None`` for what is computed.
        close: Smallest and largest number that has the published size.
        verdict: Whether the interval lies in ``close``, outside, or across an end.
    """

    published: float
    ratio: float | None
    span: tuple[float, float] | None
    close: tuple[float, float]
    verdict: Size

    @property
    def text(self) -> str:
        """The ratio in words.

        Example:
            >>> Closeness(0.0194, 0.16, (0.12, 0.2), (0.013, 0.029), "not close").text
            'not close: 0.16 of the published 0.0194 (0.12 to 0.2; close is 0.013 to 0.029)'
        """
        spread = "{:.2g} to {:.2g}; ".format(*self.span) if self.span else ""
        within = f"({spread}close is {self.close[0]:.3g} to {self.close[1]:.3g})"
        measured = "beside" if self.ratio is None else f"{self.ratio:.2g} of"
        return f"{self.verdict}: {measured} the published {self.published:g} {within}"


def closeness(claim: ClaimResult) -> Closeness | None:
    """Return whether the interval of a result lies in the range of the published size.

    Returns:
        ``None`` where the claim is not judged, no number is printed, or the target says it
        already.
    """
    printed, measured = printed_number(claim.published), claim.measured
    if printed is None or measured is None or claim.close is None or claim.verdict == "not judged":
        return None
    least, most = claim.close
    low, high = (measured if end is None else end for end in (claim.low, claim.high))
    verdict = _SIZES.get(lies(Target(least=least, most=most), low, high), "undecided")
    if not printed:
        return Closeness(printed, None, None, claim.close, verdict)
    first, last = sorted((low / printed, high / printed))
    span = None if claim.low is None else (first, last)
    return Closeness(printed, measured / printed, span, claim.close, verdict)


def _close(claim: Claim) -> tuple[float, float] | None:
    """Return what has the published size: a claim's own range, or all within :data:`FACTOR`.

    It is ``None`` where no number is printed, or the target says it: about it, or up to the
    score's bound.
    """
    printed, target = printed_number(claim.published), claim.target
    if printed is None or not (claim.close or (printed and None in (target.least, target.most))):
        return None
    low, high = claim.close or sorted((printed / FACTOR, printed * FACTOR))
    floor, ceiling = claim.score.bounds or (-math.inf, math.inf)
    least = floor if target.least is None else target.least
    most = ceiling if target.most is None else target.most
    return None if low <= least and most <= high else (low, high)


def sizes(claims: Iterable[ClaimResult]) -> Counter[Size]:
    """Count the verdicts on the published size, of those claims that have one."""
    return Counter(size.verdict for size in map(closeness, claims) if size)


def printed_number(text: str | None) -> float | None:
    """Return what a paper prints as a number; ``None`` where it is not a single one.

    A spread (``± 0.1``) is left out, and a percentage becomes a share.
    """
    pattern = rf"[≈~]?\s*({_NUMBER})(?:\s*±\s*{_NUMBER})?\s*(%?)"
    found = re.fullmatch(pattern, (text or "").strip(), re.IGNORECASE)
    return float(found[1]) / (100 if found[2] else 1) if found else None
