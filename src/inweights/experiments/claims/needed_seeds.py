"""Determine how many seeds a verdict on a claim needs.

:func:`first_seeds` returns the number for a first verdict, before any run.
:func:`needed_seeds` estimates from the seeds so far how many would decide an open
claim. :mod:`~.verdict` and the commands that add seeds use them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev

from inweights.experiments.claims.claim import RELIABLE, Claim
from inweights.experiments.claims.target import Rounding
from inweights.support.statistics import intervals

#: Fewer seeds than this give no verdict.
MIN_SEEDS = 8
#: As many seeds, or more, are not proposed.
_MANY = 10_000


def first_seeds(claim: Claim, stated: int, alpha: float) -> int:
    """Return how many seeds a first verdict needs: the stated number, doubled while too small.

    The stated number is doubled until it is at least 8 (:data:`MIN_SEEDS`). For a claim
    that is judged by the median or by the share of seeds, it also has to be so large
    that all seeds together can show that more than a half, or more than
    :data:`RELIABLE`, of all seeds meet the target
    (:func:`~.intervals.fewest_one_sided`).

    Args:
        claim: The claim, whose statistic (``judged``) determines the smallest possible
            number.
        stated: Number of seeds that the recipe states; 0 and negative numbers count as
            1.
        alpha: Error probability of a confidence interval, above 0 and below 1.
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


def needed_seeds(
    claim: Claim, values: Sequence[float], alpha: float, rounding: Rounding
) -> int | None:
    """Estimate how many seeds would decide an open claim if further seeds are like these.

    The number is shown to the user and does not enter a verdict.

    Args:
        claim: The claim.
        values: One number per seed so far; for a claim with several cases those of the
            deciding case.
        alpha: Error probability of a confidence interval.
        rounding: Tolerance at the ends of the target.

    Returns:
        The total number of seeds, those so far included. ``None`` if the number cannot
        be estimated (the numbers lie at the end of the target, or the claim is judged
        by the mean and there is only one number), or is 10,000 or more.
    """
    z = -NormalDist().inv_cdf(alpha / 2)
    target = claim.target
    count = len(values)
    inside = sum(target.contains(value, value, rounding) for value in values) / count
    fewest = count + 1
    if claim.judged == "mean":
        edges = [edge for edge in (target.least, target.most) if edge is not None]
        gap = min(abs(fmean(values) - edge) for edge in edges)
        if count < 2:
            return None  # one number has no spread
        spread = stdev(values)
    elif claim.judged == "reliable":
        gap = abs(inside - RELIABLE)
        spread = math.sqrt(inside * (1 - inside))
        fewest = max(fewest, first_seeds(claim, MIN_SEEDS, alpha))
    else:
        below = sum(target.falls_short(value, rounding) for value in values) / count
        # The median lies where more than half of the values lie: what is beyond a half
        # is the distance to the edge.
        gap = max(inside, below, 1 - inside - below) - 0.5
        spread = 0.5
    if gap <= 0:
        return None
    needed = max(fewest, math.ceil((z * spread / gap) ** 2))
    return needed if needed < _MANY else None
