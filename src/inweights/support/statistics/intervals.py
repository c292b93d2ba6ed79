"""Confidence intervals of medians, shares and means, without a statistics library.

The ends of the interval of a median are two values of the ordered sample, and the
interval of a share is Clopper and Pearson's; both are exact for every distribution. The
interval of a mean is Student's (:mod:`~inweights.support.statistics.student`). If the
score is bounded, a value at each bound is added to the sample.
``benchmarks/coverage.py`` measures the coverage.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist, median
from typing import Any

from inweights.support.statistics.student import quantile

#: Error probability: the probability that an interval misses the true value.
ALPHA = 0.05


def interval(
    values: Any, alpha: float = ALPHA, bounds: tuple[float, float] | None = None
) -> tuple[float, float, float]:
    """Return the mean of a sample and the ends of Student's confidence interval for the mean.

    If ``bounds`` are given, the interval is clipped to them. For example, the true mean
    of a share lies in [0, 1], so that clipping does not remove possible values and the
    coverage does not change.

    Args:
        values: One number per replicate, as a sequence or array, at least one. For a
            single number, both ends equal that number.
        alpha: Probability that the interval misses the true mean.
        bounds: Smallest and largest possible mean; ``None`` for no bounds.

    Returns:
        The mean, the lower end and the upper end of the interval.

    Example:
        >>> mean, low, high = interval([1.0, 2.0, 3.0])
        >>> mean, round(low, 2), round(high, 2)
        (2.0, -0.48, 4.48)
        >>> interval([0.9, 1.0, 1.0], bounds=(0.0, 1.0))[2]
        1.0
    """
    import numpy as np

    sample = np.asarray(values, dtype=float)
    mean = float(sample.mean())
    if len(sample) < 2:
        return mean, mean, mean
    half = (
        quantile(len(sample) - 1, alpha)
        * float(sample.std(ddof=1))
        / math.sqrt(len(sample))
    )
    low = mean - half
    high = mean + half
    if bounds:
        # Due to rounding, the mean of ones may be above one.
        low = max(low, min(bounds[0], mean))
        high = min(high, max(bounds[1], mean))
    return mean, low, high


def bounded_interval(
    values: Sequence[float], alpha: float, bounds: tuple[float, float]
) -> tuple[float, float, float]:
    """Return the mean of bounded values and the ends of an interval that allows for rare failures.

    The interval is Student's for the sample with one additional value at each bound.
    Therefore its width is positive even if all values are equal. The returned mean is
    the mean of the sample without the two additional values.

    Args:
        values: One number per replicate, at least one.
        alpha: Probability that the interval misses the true mean.
        bounds: Smallest and largest possible value.

    Returns:
        The mean, the lower end and the upper end of the interval.

    Example:
        >>> [round(end, 2) for end in bounded_interval([1.0] * 8, 0.05, (0.0, 1.0))]
        [1.0, 0.67, 1.0]
    """
    mean = math.fsum(values) / len(values)
    _, low, high = interval([*values, *bounds], alpha, bounds)
    return mean, min(low, mean), max(high, mean)


def median_interval(
    values: Sequence[float], alpha: float = ALPHA
) -> tuple[float, float, float]:
    """Return the median of a sample and the ends of its interval, exact for any distribution.

    The ends are two values of the ordered sample. The probability that fewer than ``k``
    of ``n`` values lie below the true median is at most the probability that a fair
    coin shows fewer than ``k`` heads. ``k`` is the largest number for which the latter
    is at most ``alpha / 2`` (Conover, *Practical nonparametric statistics*, 3.2). If
    even the range of all values misses the median with a probability above ``alpha``,
    the ends are infinite. At 95%, this is the case for fewer than six values.

    Args:
        values: One number per replicate, at least one.
        alpha: Largest probability that the interval misses the true median.

    Raises:
        statistics.StatisticsError: There are no values.

    Example:
        >>> median_interval([0.1, 0.7, 0.8, 0.8, 0.9, 1.0])
        (0.8, 0.1, 1.0)
        >>> median_interval([0.7, 0.8, 0.9])
        (0.8, -inf, inf)
    """
    ordered = sorted(values)
    count = len(ordered)
    outside = _outside_of(count, alpha)
    if outside == 0:
        return median(ordered), -math.inf, math.inf
    low = ordered[outside - 1]
    high = ordered[count - outside]
    return median(ordered), low, high


@lru_cache(maxsize=4096)
def _outside_of(count: int, alpha: float) -> int:
    """Return how many values lie on each side of a median's interval, including its end."""
    most = Fraction(alpha) * 2**count / 2
    total = 1
    outside = 0
    while total <= most:
        outside += 1
        total += math.comb(count, outside)
    return outside


@lru_cache(maxsize=4096)
def paired_interval(
    gained: int, lost: int, total: int, alpha: float = ALPHA
) -> tuple[float, float, float]:
    """Return the difference between two paired shares, and the ends of its confidence interval.

    The difference is ``(gained - lost) / total``. The interval is Tango's score
    interval (1998, equations 6 and 7). Unlike Student's, its width is positive even if no
    answer or every answer changed, and it stays within [-1, 1]. McNemar's test uses
    the same numbers.

    Args:
        gained: Number of questions whose answer became correct.
        lost: Number of questions whose answer became incorrect.
        total: Number of all questions, at least 1, with changed or unchanged answers.
        alpha: Probability that the interval misses the true difference.

    Returns:
        The difference, the lower end and the upper end of its interval.

    Example:
        >>> [round(end, 3) for end in paired_interval(12, 2, 50)]
        [0.2, 0.061, 0.345]
        >>> [round(end, 3) for end in paired_interval(0, 0, 20)]
        [0.0, -0.161, 0.161]
    """
    observed = (gained - lost) / total
    critical = NormalDist().inv_cdf(1 - alpha / 2)

    def beyond(difference: float) -> bool:
        """Return whether a difference lies outside the interval."""
        return abs(_tango_score(gained, lost, total, difference)) > critical

    ends = []
    for bound in (-1.0, 1.0):
        inner = observed
        outer = bound
        for _ in range(60):  # halving, to the precision of a float
            middle = (inner + outer) / 2
            if beyond(middle):
                outer = middle
            else:
                inner = middle
        ends.append(inner)
    return observed, ends[0], ends[1]


def _tango_score(gained: int, lost: int, total: int, difference: float) -> float:
    """Return Tango's score statistic for a paired difference.

    It is the observed minus the expected difference, divided by its standard deviation.
    The probability of a loss is its maximum-likelihood estimate given the difference
    (Tango 1998, eq. 7).
    """
    a = 2 * total
    b = -gained - lost + (2 * total - gained + lost) * difference
    c = -lost * difference * (1 - difference)
    loss = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    variance = total * (2 * loss + difference * (1 - difference))
    excess = gained - lost - total * difference
    if variance <= 0:
        return 0.0 if excess == 0 else math.copysign(math.inf, excess)
    return excess / math.sqrt(variance)


def share_interval(
    hits: int, count: int, alpha: float = ALPHA
) -> tuple[float, float, float]:
    """Return ``hits / count`` and the ends of its exact interval (Clopper and Pearson, 1934).

    Args:
        hits: Number of successes, from 0 to ``count``.
        count: Number of trials, at least 1.
        alpha: Largest probability that the interval misses the true share.

    Example:
        >>> [round(end, 3) for end in share_interval(16, 16)]
        [1.0, 0.794, 1.0]
    """
    low = 0.0 if hits == 0 else 1 - _most(count - hits, count, alpha / 2)
    high = 1.0 if hits == count else _most(hits, count, alpha / 2)
    return hits / count, low, high


def fewest_one_sided(share: float, alpha: float) -> int:
    """Return the smallest number of seeds that can show that a share exceeds a limit.

    If all seeds of a sample of this size are successful, the interval returned by
    :func:`share_interval` lies above the limit.

    Args:
        share: The limit, above 0 and below 1.
        alpha: Error probability of the two-sided interval, above 0 and below 1.

    Example:
        >>> fewest_one_sided(0.5, 0.025), fewest_one_sided(0.75, 0.025)
        (7, 16)
    """
    return math.ceil(math.log(alpha / 2) / math.log(share) - 1e-9)


@lru_cache(maxsize=4096)  # a results table of 900 claims needs only a few dozen values
def _most(hits: int, count: int, tail: float) -> float:
    """Return the share for which P(at most ``hits`` of ``count`` succeed) equals ``tail``."""
    ways = [
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        for k in range(hits + 1)
    ]
    low = 0.0
    high = 1.0
    for _ in range(60):
        middle = (low + high) / 2
        yes = math.log(middle)
        no = math.log1p(-middle)
        at_most = math.fsum(
            math.exp(w + k * yes + (count - k) * no) for k, w in enumerate(ways)
        )
        low, high = (middle, high) if at_most > tail else (low, middle)
    return (low + high) / 2


def alpha_of(seeds: int, stated: int, version: int = 1) -> float:
    """Return the error probability of a claim's interval after a number of seeds.

    The version of a claim is increased when the claim is changed. Version ``v`` has the
    error probability ``α = .05 / (v (v + 1))``, which sums to .05 over all versions. If
    seeds were added until the interval lies on one side of the target, every claim
    would eventually be decided. Therefore only the first analysis has the error
    probability ``α``; analysis ``k = 2, 3, …`` has ``α / (k (k + 1))``, which sums to
    at most ``α / 2`` over all of them. This is a union bound, the simplest way of
    spending an error probability over interim analyses (Lan and DeMets, Biometrika 70,
    1983).

    Args:
        seeds: Number of seeds of this analysis. Up to ``stated`` seeds it is the first
            analysis, up to ``2 · stated`` the second, and up to ``4 · stated`` the
            third.
        stated: Number of seeds that was fixed when the claim was stated, at least 1.
        version: Version of the claim, from 1.

    Example:
        >>> [round(1 - alpha_of(n, stated=8), 4) for n in (8, 16, 32)]
        [0.975, 0.9958, 0.9979]
        >>> round(1 - alpha_of(8, stated=8, version=2), 4)
        0.9917
    """
    alpha = version_alpha(version)
    if seeds <= stated:
        return alpha
    look = 1 + math.ceil(math.log2(seeds / stated))
    return alpha / (look * (look + 1))


def version_alpha(version: int) -> float:
    """Return the error probability of version ``v`` of a claim, ``.05 / (v (v + 1))``.

    Args:
        version: Version ``v``, from 1. The sum over all versions is .05.
    """
    return ALPHA / (version * (version + 1))
