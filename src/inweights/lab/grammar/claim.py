"""Claims: a sentence of a paper with a judged score, and what the claims of one recipe share."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from inweights.config import Config
from inweights.lab.grammar.score import Judged, Score, Target

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
        condition: Under which of its trials' conditions it is judged; none where there is one.
    """

    id: str
    text: str
    place: str
    source: str
    score: Score
    target: Target
    published: str | None = None
    check: bool = False
    condition: str = ""

    @property
    def ours(self) -> bool:
        """Whether no paper states it."""
        return self.source == "ours"


class Statement(msgspec.Struct, frozen=True, omit_defaults=True):
    """A claim without its score: what is shown of it as long as nothing has run."""

    id: str
    text: str
    place: str
    source: str
    target: Target
    published: str | None = None
    check: bool = False
    condition: str = ""


@dataclass(frozen=True)
class Stating:
    """Makes the claims of one recipe: what they share is said once.

    Attributes:
        recipe: Its name.
        source: Short name of the paper.
        place: Where in it.
        condition: Under which condition its claims are judged, where their scores do not say so by
            their own label ``condition``.

    Example:
        >>> from inweights.lab.grammar.score import share
        >>> state = Stating("identity-bridge/fig2", source="identity-bridge", place="Fig. 2")
        >>> state("c1", "At C = 1 it works.", share("t", "accuracy") >= 0.9).id
        'identity-bridge/fig2/c1'
    """

    recipe: str
    source: str
    place: str
    condition: str = ""

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
        condition: str | None = None,
    ) -> Claim:
        """Return a claim; ``place``, ``source``, ``condition`` are the recipe's own if left out."""
        return Claim(
            id=f"{self.recipe}/{name}",
            text=text,
            place=place or self.place,
            source=source or self.source,
            score=judged.score,
            target=judged.target,
            published=published,
            check=check,
            condition=_condition(judged.score, self.condition if condition is None else condition),
        )


def _condition(score: Score, otherwise: str) -> str:
    """The condition that a score's rows have by their label, or two if it is a difference."""
    if "condition" in score.each:
        return "each"
    one, other = (str(rows.get("condition", "")) for rows in (score.where, score.minus))
    return f"{one}, minus {other}" if one and other and one != other else one or otherwise
