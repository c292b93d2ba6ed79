"""Judge whether a measured number is close to the published number.

For claims with a range of close numbers, :func:`closeness` returns a second verdict, in
addition to the verdict of :mod:`~.verdict`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from inweights.experiments.claims.claim import Verdict
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.published import printed_number
from inweights.experiments.claims.target import Target
from inweights.experiments.claims.verdict import lies

#: Verdict on whether a measured number is close to the published number.
Size = Literal["close", "not close", "undecided"]
_SIZES: dict[Verdict, Size] = {"reproduced": "close", "not reproduced": "not close"}


@dataclass(frozen=True)
class Closeness:
    """Comparison of a measured number with the published number.

    Attributes:
        published: The number that the paper prints, or that follows from two printed
            numbers.
        ratio: Measured number divided by the published number; ``None`` if the latter
            is 0.
        span: Lower and upper end of the confidence interval of the ratio; ``None`` if
            the measured number has no interval or the published number is 0.
        close: Smallest and largest number that are considered close to the published
            number.
        verdict: ``close`` if the confidence interval of the measured number lies within
            the range ``close``, ``not close`` if it lies completely outside, and
            ``undecided`` if it lies only partly within the range.
        derived: Whether the number is not printed in the paper, but follows from two
            printed numbers; by default false.
    """

    published: float
    ratio: float | None
    span: tuple[float, float] | None
    close: tuple[float, float]
    verdict: Size
    derived: bool = False

    @property
    def text(self) -> str:
        """The comparison of the measured number with the published number, as text.

        The text states the verdict (``close``, ``not close`` or ``undecided``), the
        ratio of the measured to the published number, the published number, the
        confidence interval of the ratio, and the range of numbers that are considered
        close. A ratio or interval that does not exist is left out.

        Example:
            >>> Closeness(0.0194, 0.16, (0.12, 0.2), (0.013, 0.029), "not close").text
            'not close: 0.16 of the published 0.0194 (0.12 to 0.2; close is 0.013 to 0.029)'
        """
        spread = "{:.2g} to {:.2g}; ".format(*self.span) if self.span else ""
        within = f"({spread}close is {self.close[0]:.3g} to {self.close[1]:.3g})"
        measured = "beside" if self.ratio is None else f"{self.ratio:.2g} of"
        source = "derived" if self.derived else "published"
        return f"{self.verdict}: {measured} the {source} {self.published:g} {within}"


def closeness(claim: ClaimResult) -> Closeness | None:
    """Compare the measured number of a claim, and its interval, with the published number.

    Args:
        claim: The claim with its verdict.

    Returns:
        The comparison. ``None`` if the claim was not judged, if the paper prints no
        single number, or if the attribute ``close`` of ``claim`` (the range of close
        numbers, from :func:`~.published.published_range`) is ``None``.
    """
    printed = printed_number(claim.published)
    measured = claim.measured
    if (
        printed is None
        or measured is None
        or claim.close is None
        or claim.verdict == "not judged"
    ):
        return None
    least, most = claim.close
    low, high = (measured if end is None else end for end in (claim.low, claim.high))
    verdict = _SIZES.get(lies(Target(least=least, most=most), low, high), "undecided")
    derived = claim.number[0] == "derived"
    if not printed:
        return Closeness(printed, None, None, claim.close, verdict, derived)
    first, last = sorted((low / printed, high / printed))
    span = None if claim.low is None else (first, last)
    return Closeness(printed, measured / printed, span, claim.close, verdict, derived)


def sizes(claims: Iterable[ClaimResult]) -> Counter[Size]:
    """Count the verdicts on closeness to published numbers.

    Args:
        claims: The claims with their verdicts. Claims for which :func:`closeness`
            returns ``None`` are ignored.

    Returns:
        The number of claims for each verdict (``close``, ``not close`` and
        ``undecided``). Looking up a verdict that does not occur yields 0.
    """
    return Counter(size.verdict for size in map(closeness, claims) if size)
