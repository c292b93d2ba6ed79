"""Compute quantiles of Student's t-distribution in plain Python.

For an integer number of degrees of freedom, the distribution is a finite sum
(Abramowitz and Stegun, 26.7.3 and 26.7.4); for a large number, its quantile is an
expansion about the normal quantile (26.7.5).
"""

import math
from functools import lru_cache
from statistics import NormalDist

#: Smallest number of degrees of freedom for which the expansion is exact to ten digits.
_MANY = 200


@lru_cache(maxsize=4096)
def quantile(freedom: int, alpha: float) -> float:
    """Return the ``t`` for which ``P(|T| > t) = alpha``, where ``T`` has Student's t-distribution.

    Args:
        freedom: Degrees of freedom, at least 1.
        alpha: The two-sided probability, above 0 and below 1.

    Example:
        >>> round(quantile(7, 0.05), 6), round(quantile(10_000, 0.05), 6)
        (2.364624, 1.960201)
    """
    x = -NormalDist().inv_cdf(alpha / 2)
    if freedom >= _MANY:
        terms = (
            x,
            (x**3 + x) / 4,
            (5 * x**5 + 16 * x**3 + 3 * x) / 96,
            (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
            (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92_160,
        )
        return sum(term / freedom**power for power, term in enumerate(terms))
    low = 0.0
    high = 1.0
    while _outside(high, freedom) > alpha:
        low = high
        high = 2 * high
    while True:  # halve until no number lies between
        middle = (low + high) / 2
        if not low < middle < high:
            return middle
        low, high = (
            (middle, high) if _outside(middle, freedom) > alpha else (low, middle)
        )


def _outside(t: float, freedom: int) -> float:
    """Return ``P(|T| > t)`` for ``T`` with Student's t-distribution."""
    angle = math.atan2(t, math.sqrt(freedom))
    sine = math.sin(angle)
    cosine = math.cos(angle)
    odd = freedom % 2
    total = 0.0
    term = cosine if odd else 1.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    if odd:
        return 1 - 2 / math.pi * (angle + sine * total)
    return 1 - sine * total
