"""Format numbers and verdicts for the reports."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.experiments.claims.claim_result import ClaimResult

__all__ = ["as_word", "interval", "met", "number", "spread"]

_WORDS = [
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]


def number(value: float) -> str:
    """Return a number with two decimals, or more if it is small and fewer if it is large.

    Example:
        >>> number(-0.7473), number(0.0016), number(0.0003), number(58.0), number(-1e-16)
        ('−0.75', '0.002', '0.0003', '58', '0.00')
    """
    if abs(value) >= 10:
        text = (
            f"{value:.0f}"
            if value == round(value) or abs(value) >= 100
            else f"{value:.1f}"
        )
    elif 1e-5 <= abs(value) < 0.01:
        text = f"{value:.3f}" if abs(value) >= 5e-4 else f"{value:.5f}".rstrip("0")
    else:
        text = f"{value:.2f}"
    if not text.strip("-0."):
        text = text.lstrip("-")
    return text.replace("-", "−")


def interval(claim: ClaimResult) -> str:
    """Return the measured number with its interval; a computed number has no interval."""
    if claim.measured is None:
        return "not measured"
    if claim.low is None or claim.high is None:
        return number(claim.measured)
    return f"{number(claim.measured)} [{number(claim.low)}, {number(claim.high)}]"


def met(claim: ClaimResult) -> str:
    """Return the number of seeds that meet the target, as ``8 of 8``; empty if it is computed."""
    if claim.hits is None or claim.low is None:
        return "computed"
    return f"{claim.hits} of {claim.replicates}"


def spread(values: pl.Series | Sequence[float]) -> str:
    """Return the median over seeds, with the smallest and the largest value.

    Example:
        >>> spread([0.0, 0.1, 0.5])
        '0.10 (0.00 to 0.50)'
    """
    numbers = pl.Series(values).cast(pl.Float64)
    ends = [float(str(end)) for end in (numbers.median(), numbers.min(), numbers.max())]
    middle, least, largest = map(number, ends)
    if least == largest:
        return middle
    return f"{middle} ({least} to {largest})"


def as_word(count: int) -> str:
    """Return a small count as a word, and a larger count in figures.

    Example:
        >>> as_word(8), as_word(0), as_word(21)
        ('eight', 'no', '21')
    """
    return _WORDS[count] if 0 <= count < len(_WORDS) else f"{count:,}"
