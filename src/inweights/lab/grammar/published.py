"""What a paper says beside what was measured: its words, its number, and how near the protocol is.

A claim with a printed number and a one-sided target has two verdicts: that of its target, the
direction, and that of its size, which is :func:`closeness`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from inweights.errors import ConfigError

if TYPE_CHECKING:
    from inweights.lab.grammar.claim import Claim, Protocol
    from inweights.lab.grammar.verdict import ClaimResult

#: Whether a measured number has the published size.
Size = Literal["close", "not close", "undecided"]
#: Signs of the protocols on pages and boards.
SIGNS: dict[Protocol, str] = {"exact": "=", "scaled": "<", "substitute": "~"}
#: Instead of a quote, where a table, a picture or a formula says it.
NO_WORDS = "none in words"
#: Instead of a published number, where there is none.
NONE_PRINTED = "none printed"
#: The same, where the paper prints one and the text at hand lost it.
LOST = "lost in the text at hand"
#: Instead of either, where the paper's text was not at hand.
NO_TEXT = "text not at hand"
#: A number has the published size if it is within this factor of it, where ``close`` is not given.
FACTOR = 1.5
#: Words that a quote has at most.
_WORDS = 25
_NUMBER = r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?"


@dataclass(frozen=True)
class Closeness:
    """Whether a measured number has the published size.

    Attributes:
        published: The printed number.
        ratio: Measured over published; none where the paper prints 0.
        span: The ratio's interval; none for what is computed.
        close: Smallest and largest measured number that has the published size.
        verdict: Whether it has.
    """

    published: float
    ratio: float | None
    span: tuple[float, float] | None
    close: tuple[float, float]
    verdict: Size

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
        return f"{self.verdict}: {measured} the published {self.published:g} {within}"


def closeness(claim: ClaimResult) -> Closeness | None:
    """Return whether a result has the published size.

    None where the paper prints no number, where nothing was measured, or where the target is an
    interval about the number, so that its verdict says it. The interval of what was measured has
    to lie in ``close``, or within a factor of :data:`FACTOR` of the number.
    """
    printed, target = printed_number(claim.published), claim.target
    two_sided = target.least is not None and target.most is not None
    if printed is None or claim.measured is None or (two_sided and claim.close is None):
        return None
    if printed == 0 and claim.close is None:
        return None
    least, most = claim.close or sorted((printed / FACTOR, printed * FACTOR))
    low = claim.measured if claim.low is None else claim.low
    high = claim.measured if claim.high is None else claim.high
    verdict: Size = "not close" if high < least or low > most else "undecided"
    if least <= low and high <= most:
        verdict = "close"
    ratio: float | None = None
    span: tuple[float, float] | None = None
    if printed:
        ratio = claim.measured / printed
        ends = sorted((low / printed, high / printed))
        span = None if claim.low is None else (ends[0], ends[1])
    return Closeness(printed, ratio, span, (least, most), verdict)


def sizes(claims: Iterable[ClaimResult]) -> Counter[Size]:
    """Count the verdicts on sizes, of the claims that are judged.

    Example:
        >>> sizes([])
        Counter()
    """
    found = (closeness(claim) for claim in claims if claim.verdict != "not judged")
    return Counter(size.verdict for size in found if size)


def printed_number(text: str | None) -> float | None:
    """Return what a paper prints where it is one number."""
    found = re.fullmatch(rf"[≈~]?\s*({_NUMBER})\s*(%?)", (text or "").strip(), re.IGNORECASE)
    return float(found[1]) / (100 if found[2] else 1) if found else None


def check_sources(claim: Claim, file: str) -> None:
    """Check that a claim of a paper says what the paper says and how near it is judged to it."""
    missing = {
        "quote": (claim.quote, f"the paper's own words, '{NO_WORDS}' or '{NO_TEXT}'"),
        "published": (
            claim.published,
            f"the paper's number, '{NONE_PRINTED}', '{LOST}' or '{NO_TEXT}'",
        ),
        "protocol": (claim.protocol, "'exact', 'scaled' or 'substitute', here or for all claims"),
    }
    for name, (value, what) in missing.items():
        if not value:
            raise ConfigError(f"{file}: claim {claim.id} has no '{name}'; give {what}")
    if (words := len(claim.quote.split())) > _WORDS:
        raise ConfigError(
            f"{file}: the quote of claim {claim.id} has {words} words; give {_WORDS} at most"
        )
