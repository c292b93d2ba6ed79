"""Judge whether a measured number has the size of the published one.

:func:`closeness` is a second verdict on a claim beside that of :mod:`~.verdict`, where
the paper prints a number and the target has one edge.
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

#: Whether a measured number has the published size.
Size = Literal["close", "not close", "undecided"]
_SIZES: dict[Verdict, Size] = {"reproduced": "close", "not reproduced": "not close"}


@dataclass(frozen=True)
class Closeness:
    """Whether a measured number has the published size.

    Attributes:
        published: The number that the paper prints.
        ratio: Measured over published; ``None`` where the paper prints 0.
        span: Confidence interval of the ratio; ``None`` for what is computed.
        close: Smallest and largest number that has the published size.
        verdict: Whether the interval lies in ``close``, outside, or across an end.
        derived: Whether the number is not printed, but follows from two that are.
    """

    published: float
    ratio: float | None
    span: tuple[float, float] | None
    close: tuple[float, float]
    verdict: Size
    derived: bool = False

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
        source = "derived" if self.derived else "published"
        return f"{self.verdict}: {measured} the {source} {self.published:g} {within}"


def closeness(claim: ClaimResult) -> Closeness | None:
    """Return whether the interval of a result lies within the range of the published size.

    Returns:
        ``None`` where the claim is not judged, no number is printed, or the target says
        it already.
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
    """Count the verdicts on the published size, over the claims that have one."""
    return Counter(size.verdict for size in map(closeness, claims) if size)
