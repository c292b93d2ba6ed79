"""Compute how certain a verdict is, and correct for the number of claims that are judged.

:func:`least_alpha` returns the smallest error probability with the same verdict (a p
value); :func:`holm` corrects the p values of the claims of all papers for multiple
testing.
"""

import math
from collections.abc import Iterable, Sequence

from msgspec import structs

from inweights.experiments.claims.claim import RELIABLE, Claim
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.numbers import Numbers
from inweights.experiments.claims.target import ROUNDING, Rounding
from inweights.experiments.claims.verdict import (
    lies,
    span_of,
)
from inweights.support.statistics.intervals import ALPHA


def holm(claims: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Correct the verdicts on papers' claims for multiple testing (Holm's procedure).

    The field ``together`` of a returned claim is True if its verdict is still
    significant after the correction. The probability that at least one of these
    verdicts is wrong is at most 5% (Holm, *A simple sequentially rejective multiple
    test procedure*, Scandinavian Journal of Statistics 6, 1979).

    Args:
        claims: Judged claims. Only the claims that :func:`tested` selects are
            corrected; for all others ``together`` is False.

    Returns:
        Copies of the claims in the same order, with the field ``together`` set.
    """
    ranked = sorted(tested(claims), key=lambda claim: claim.p or 0.0)
    together: set[str] = set()
    for place, claim in enumerate(ranked):
        if (claim.p or 0.0) > ALPHA / (len(ranked) - place):
            break
        together.add(claim.id)
    return [structs.replace(claim, together=claim.id in together) for claim in claims]


def tested(claims: Iterable[ClaimResult]) -> list[ClaimResult]:
    """Return the claims that are tested together: decided claims of papers.

    Args:
        claims: Claims with their verdicts.

    Returns:
        The claims of papers (source other than ``ours``) that have a p value and are
        not checks, which hold by construction. Undecided claims, and claims whose score
        does not depend on seeds, have no p value.
    """
    return [c for c in claims if c.p is not None and c.source != "ours" and not c.check]


def least_alpha(
    claim: Claim, numbers: Numbers, reproduced: bool, rounding: float = ROUNDING
) -> float:
    """Return the smallest error probability at which a claim would have the same verdict.

    The p value of a reproduced claim is the largest p value of its cases, since every
    case must meet the target. The p value of a claim that is not reproduced is the
    smallest p value of its cases, multiplied by the number of cases (but at most 1),
    since one case that misses the target is enough.

    Args:
        claim: The claim.
        numbers: The claim's numbers, for at least one case.
        reproduced: True for the verdicts ``reproduced`` and ``consistent``, False for
            ``not reproduced`` and ``not seen in a substitute``.
        rounding: Relative tolerance within which a number is considered equal to an end
            of the target; by default the tolerance of new verdicts.

    Returns:
        A p value, from 0 to 1.
    """
    near = Rounding(rounding, max(claim.score.size, numbers.size))
    cases = [list(case.values()) for case in numbers.cases.values()]
    every = [_least(claim, values, reproduced, near) for values in cases]
    return max(every) if reproduced else min(1.0, len(every) * min(every))


def _least(
    claim: Claim, values: Sequence[float], reproduced: bool, rounding: Rounding
) -> float:
    """Return the smallest error probability that leaves the verdict on one case unchanged."""
    target = claim.target
    count = len(values)
    below = sum(target.falls_short(value, rounding) for value in values)
    above = sum(target.exceeds(value, rounding) for value in values)
    if claim.judged == "mean":
        return _least_of_mean(claim, values, reproduced, rounding)
    if claim.judged == "reliable":
        missed = below + above
        share = 1 - RELIABLE
        if reproduced:
            tail = _at_most(missed, count, share)
        else:
            tail = 1 - _at_most(missed - 1, count, share)
    else:
        # A value lies above (or below) the median with probability 1/2.
        most = max(below, above)
        tail = _at_most(most if reproduced else count - most, count, 0.5)
    # Verdicts follow from two-sided intervals, so the probability of one tail counts
    # twice.
    return min(1.0, 2 * tail)


def _at_most(hits: int, count: int, share: float) -> float:
    """Return the probability of at most ``hits`` successes in ``count`` trials (binomial)."""
    terms = []
    for k in range(hits + 1):
        ways = math.comb(count, k)
        terms.append(ways * share**k * (1 - share) ** (count - k))
    return math.fsum(terms)


def _least_of_mean(
    claim: Claim, values: Sequence[float], reproduced: bool, rounding: Rounding
) -> float:
    """Return the smallest error probability for a claim judged by its mean, found by bisection."""
    low = -12.0
    high = 0.0
    for _ in range(30):
        middle = (low + high) / 2
        _, least, most = span_of(claim, values, 10**middle)
        wanted = "reproduced" if reproduced else "not reproduced"
        if lies(claim.target, least, most, rounding) == wanted:
            high = middle
        else:
            low = middle
    return 10**high
