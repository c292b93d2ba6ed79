"""Claims: a sentence of a paper with a judged score, and what the claims of one recipe share."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from inweights.config import Config
from inweights.lab.score import Judged, Score, Target

__all__ = ["Claim", "Statement", "Stating"]


class Claim(Config):
    """One claim, as data: which numbers are judged, and against what.

    Attributes:
        id: ``<recipe>/<short-name>``.
        text: The sentence.
        place: Where in the paper.
        source: Short name of the paper, or ``ours`` for a claim that is not a paper's.
        score: The numbers that are judged.
        target: Where they have to lie.
        published: The number that the paper prints, if it prints one.
        check: Whether it holds by construction (frozen vectors stay as drawn): a test of the code
            that the board shows, and does not count.
    """

    id: str
    text: str
    place: str
    source: str
    score: Score
    target: Target
    published: str | None = None
    check: bool = False

    @property
    def ours(self) -> bool:
        """Whether no paper states it."""
        return self.source == "ours"


class Statement(msgspec.Struct, frozen=True):
    """A claim without its score: what is shown of it as long as nothing has run."""

    id: str
    text: str
    place: str
    source: str
    target: Target
    published: str | None = None
    check: bool = False


@dataclass(frozen=True)
class Stating:
    """Makes the claims of one recipe: what they share is said once.

    Example:
        >>> from inweights.lab.score import share
        >>> state = Stating("identity-bridge/fig2", source="identity-bridge", place="Fig. 2")
        >>> state("c1", "At C = 1 it works.", share("t", "accuracy") >= 0.9).id
        'identity-bridge/fig2/c1'
    """

    recipe: str
    source: str
    place: str

    def __call__(
        self,
        name: str,
        text: str,
        judged: Judged,
        *,
        place: str = "",
        source: str = "",
        published: str | None = None,
        check: bool = False,
    ) -> Claim:
        """Return a claim; ``place`` and ``source`` are the recipe's own if left out."""
        return Claim(
            id=f"{self.recipe}/{name}",
            text=text,
            place=place or self.place,
            source=source or self.source,
            score=judged.score,
            target=judged.target,
            published=published,
            check=check,
        )
