"""Student's intervals of means, in plain Python: verdicts are shown without a statistics library.

For a whole number of degrees of freedom the distribution is a finite sum (Abramowitz and Stegun,
26.7.3 and 26.7.4); for many of them its quantile is an expansion about the normal one (26.7.5).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Any

__all__ = ["ALPHA", "alpha_of", "interval", "quantile"]

#: Share of true means that an interval may miss.
ALPHA = 0.05
#: Degrees of freedom from which the expansion is exact to ten digits.
_MANY = 200


def interval(
    values: Any, alpha: float = ALPHA, bounds: tuple[float, float] | None = None
) -> tuple[float, float, float]:
    """Return mean, low and high of the Student interval of the mean of ``values``.

    With ``bounds`` the interval is cut to them. The true mean of a share lies in [0, 1], so that
    cutting drops no value that it could have: the coverage stays what it was.

    Args:
        values: One number a replicate.
        alpha: Share of true means that the interval may miss.
        bounds: Least and largest value that a mean can have.

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
    half = quantile(len(sample) - 1, alpha) * float(sample.std(ddof=1)) / math.sqrt(len(sample))
    low, high = mean - half, mean + half
    if bounds:
        # Rounding may push a mean of ones beyond one.
        low, high = max(low, min(bounds[0], mean)), min(high, max(bounds[1], mean))
    return mean, low, high


def alpha_of(seeds: int, stated: int) -> float:
    """Error probability of an interval, for a number of seeds and the number stated.

    More seeds are another look, which pays for being one: see :mod:`inweights.lab.studies.settle`.

    Example:
        >>> [round(1 - alpha_of(n, stated=8), 4) for n in (8, 16, 32)]
        [0.95, 0.9917, 0.9958]
    """
    if seeds <= stated:
        return ALPHA
    look = 1 + math.ceil(math.log2(seeds / stated))
    return ALPHA / (look * (look + 1))


@lru_cache(maxsize=4096)
def quantile(freedom: int, alpha: float) -> float:
    """Return ``t`` with ``P(|T| > t) = alpha`` for ``freedom`` degrees of freedom, at least 1.

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
    low, high = 0.0, 1.0
    while _outside(high, freedom) > alpha:
        low, high = high, 2 * high
    while True:  # halve until no number lies between
        middle = (low + high) / 2
        if not low < middle < high:
            return middle
        low, high = (middle, high) if _outside(middle, freedom) > alpha else (low, middle)


def _outside(t: float, freedom: int) -> float:
    """``P(|T| > t)``."""
    angle = math.atan2(t, math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    total, term = 0.0, cosine if odd else 1.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    if odd:
        return 1 - 2 / math.pi * (angle + sine * total)
    return 1 - sine * total
