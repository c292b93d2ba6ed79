"""Determine how many seeds a verdict on a claim needs.

:func:`first_seeds` returns the number for a first verdict, before any run.
:func:`needed_seeds` estimates, from the seeds that have been run, how many seeds would
decide an undecided claim. :mod:`~.verdict` and the commands that add seeds use them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev

from inweights.experiments.claims.claim import RELIABLE, Claim
from inweights.experiments.claims.target import Rounding
from inweights.support.statistics import intervals

#: Smallest number of seeds for which there is a verdict.
MIN_SEEDS = 8
#: If this many seeds or more would be needed, no number is proposed.
_MANY = 10_000


def first_seeds(claim: Claim, stated: int, alpha: float) -> int:
    """Return the number of seeds that is required for a first verdict.

    The stated number is doubled until it is at least 8 (:data:`MIN_SEEDS`). For a claim
    that is judged by the median or by the share of seeds, it is also doubled until the
    claim would be reproduced if all seeds met the target. In this case, the lower
    confidence limit of the share of seeds that meet the target must exceed one half
    (median) or 75% (share of seeds; :data:`RELIABLE`); see
    :func:`~.intervals.fewest_one_sided`.

    Args:
        claim: The claim, whose statistic (``judged``) determines the smallest possible
            number.
        stated: Number of seeds that the recipe specifies; 0 and negative numbers are
            treated as 1.
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
    """Estimate the number of seeds with which an undecided claim would be decided.

    The estimate assumes that further seeds give similar numbers. It is only shown to
    the user and has no influence on a verdict.

    Args:
        claim: The claim.
        values: One number per seed that has been run, at least one; for a claim with
            several cases, the numbers of the case that determines the verdict.
        alpha: Error probability of a confidence interval, above 0 and below 1.
        rounding: Tolerance at the ends of the target.

    Returns:
        The total number of seeds, including those that have been run. ``None`` if it
        cannot be estimated, or would be 10,000 or more. It cannot be estimated if the
        judged statistic of the numbers lies exactly at its limit, or if the claim is
        judged by the mean and there is only one number.
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
            return None  # a single number has no standard deviation
        spread = stdev(values)
    elif claim.judged == "reliable":
        gap = abs(inside - RELIABLE)
        spread = math.sqrt(inside * (1 - inside))
        fewest = max(fewest, first_seeds(claim, MIN_SEEDS, alpha))
    else:
        below = sum(target.falls_short(value, rounding) for value in values) / count
        # The median is on the side of the target's end on which more than half of the
        # values are. The excess over one half measures how certain this is.
        gap = max(inside, below, 1 - inside - below) - 0.5
        spread = 0.5
    if gap <= 0:
        return None
    needed = max(fewest, math.ceil((z * spread / gap) ** 2))
    return needed if needed < _MANY else None
