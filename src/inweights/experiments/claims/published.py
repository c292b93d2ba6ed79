"""Parse the number that a paper prints, and determine which numbers are close to it."""

from __future__ import annotations

import math
import re

from inweights.experiments.claims.claim import DERIVED, Claim

#: A number is close to the published one if it is within this factor of it, unless the
#: claim has a range of its own (``close``).
FACTOR = 1.5
_NUMBER = r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?"


def published_range(claim: Claim) -> tuple[float, float] | None:
    """Return the range of numbers that are close to the published number, or ``None``.

    The range is the attribute ``close`` of the claim if it is set, otherwise all
    numbers within a factor of :data:`FACTOR` (1.5).

    Args:
        claim: The claim, whose ``published`` text states the paper's number.

    Returns:
        The smallest and the largest number that are considered close. ``None`` in three
        cases: the paper prints no single number (:func:`printed_number`); ``close`` is
        not set, and the number is 0 or the target has two ends; or every possible value
        of the score within the target lies in the range.
    """
    printed = printed_number(claim.published)
    target = claim.target
    if printed is None or not (
        claim.close or (printed and None in (target.least, target.most))
    ):
        return None
    low, high = claim.close or sorted((printed / FACTOR, printed * FACTOR))
    floor, ceiling = claim.score.bounds or (-math.inf, math.inf)
    least = floor if target.least is None else target.least
    most = ceiling if target.most is None else target.most
    return None if low <= least and most <= high else (low, high)


def printed_number(text: str | None) -> float | None:
    """Return the number in a published value, or ``None`` if it is not a single number.

    A symbol ``≈`` or ``~`` before the number and a spread (``± 0.1``) after it are
    ignored. A percentage is converted to a share from 0 to 1. The text may begin with
    ``derived``, for a number that follows from two printed numbers, and then end with a
    note in parentheses that names these numbers.

    Args:
        text: The attribute ``published`` of a claim, such as ``98%``; ``None`` if it is
            not set.

    Example:
        >>> printed_number("0.7983 ± 0.027"), printed_number("derived .1967 (.995 − .7983)")
        (0.7983, 0.1967)
    """
    pattern = rf"[≈~]?\s*({_NUMBER})(?:\s*±\s*{_NUMBER})?\s*(%?)"
    said = (text or "").strip()
    if said.startswith(DERIVED):
        said = said.removeprefix(DERIVED)
        pattern = rf"{pattern}(?:\s*\([^()]*\))?"
    found = re.fullmatch(pattern, said, re.IGNORECASE)
    return float(found[1]) / (100 if found[2] else 1) if found else None
