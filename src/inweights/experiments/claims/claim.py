"""Describe claims, as data: a sentence, what the paper says of it, and a score with its target.

:class:`Claim` is one claim, :class:`Stating` makes the claims of one recipe.
:mod:`~.verdict` judges a claim, which gives a
:class:`~inweights.experiments.claims.claim_result.ClaimResult`.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.experiments.claims.score import Judged, Score
from inweights.experiments.claims.target import Target
from inweights.support.showing import Card

#: What of the seeds' numbers is judged: their median, the share of seeds that meet the
#: target by themselves, or their mean.
Rule = Literal["typical", "reliable", "mean"]
#: How near to the paper's protocol a claim is judged: with the paper's settings and
#: sizes, with its settings at a smaller size, or with another model, data or measure.
Protocol = Literal["exact", "scaled", "substitute"]
#: Signs of the protocols on pages and boards.
SIGNS: dict[Protocol, str] = {"exact": "=", "scaled": "<", "substitute": "~"}
Verdict = Literal[
    "reproduced",
    "consistent",
    "not reproduced",
    "not seen in a substitute",
    "undecided",
    "not judged",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
#: What a verdict is called where the claim is judged by a substitute, which can agree
#: with a paper or not show what it says, and neither reproduces it nor speaks against
#: it.
IN_A_SUBSTITUTE: dict[str, Verdict] = {
    "reproduced": "consistent",
    "not reproduced": "not seen in a substitute",
}
#: The share of seeds that has to meet the target where a claim says *always*, *never*
#: or *fails*.
RELIABLE = 0.75
#: Instead of a quote, where a table or picture says it; of a number, where there is
#: none, or the text lost it; of either, where the paper's text was not at hand.
NO_WORDS = "none in words"
NONE_PRINTED = "none printed"
LOST = "lost in the text at hand"
NO_TEXT = "text not at hand"
#: Before a number that the paper does not print, and that follows from two that it
#: prints.
DERIVED = "derived "
#: Words that a quote has at most.
_WORDS = 25


class Said(Config, kw_only=True):
    """Sentence and source of a claim, whether or not it has been judged.

    Attributes:
        id: ``<recipe>/<short-name>``.
        text: The sentence.
        place: Where in the paper.
        source: Short name of the paper, or ``ours`` for a claim that is not a paper's.
        target: Where its numbers have to lie.
        published: The number or relation that the paper prints; or a note that it
            prints none, or that the text at hand lost it.
        check: Whether it holds by construction, as frozen vectors stay as drawn: a test
            of the code that the results table shows and does not count.
        condition: Condition of the trials on which the claim is judged; empty if there
            is only one.
        quote: The paper's own words.
        protocol: How near to the paper's protocol it is judged; ``None`` for claims of
            ours.
        close: Smallest and largest number that has the published size.
    """

    id: str
    text: str
    place: str
    source: str
    target: Target
    published: str | None = None
    check: bool = False
    condition: str = ""
    quote: str = ""
    protocol: Protocol | None = None
    close: tuple[float, float] | None = None

    @property
    def number(self) -> tuple[str, str]:
        """The paper's number and what it is: ``published``, or ``derived`` from two that are."""
        said = self.published or ""
        if said.startswith(DERIVED):
            return DERIVED.strip(), said.removeprefix(DERIVED)
        return "published", said

    def about(self) -> dict[str, Any]:
        """Return the attributes by name, to make another state of the same claim."""
        return {name: getattr(self, name) for name in Said.__struct_fields__}


class Statement(Said, kw_only=True, omit_defaults=True):
    """A claim without its score, as it is shown before any run.

    Attributes:
        judged: What is judged over the seeds.

    The others are those of :class:`Said`.
    """

    judged: Rule = "typical"


class Claim(Said, kw_only=True):
    """One claim, as data.

    Attributes:
        score: The numbers that are judged, one per seed.
        judged: Whether their median (``typical``), the share of seeds that meet the
            target by themselves (``reliable``) or their mean (``mean``) has to lie
            within the target.

    The others are those of :class:`Said`.

    Raises:
        ConfigError: The target is a bound of the score, so that every number would meet
            it.
    """

    score: Score
    judged: Rule = "typical"

    def __post_init__(self) -> None:
        low, high = self.score.bounds or (-math.inf, math.inf)
        least = self.target.least
        most = self.target.most
        at_bound = (least is not None and least >= high) or (
            most is not None and most <= low
        )
        if at_bound and not self.check:
            raise ConfigError(
                f"claim {self.id}: the target {self.target.text} is the bound of its score, which "
                f"lies from {low:g} to {high:g}; state what the sentence means, such as "
                f"{'>= 0.99' if least is not None else '<= 0.01'}"
            )

    def _repr_html_(self) -> str:
        about = {"target": self.target.text, "published": self.published or "–"}
        return Card(
            self.id, about, ("judged", "claim"), [(self.judged, self.text)]
        ).html

    @property
    def ours(self) -> bool:
        """Whether it is our own claim, which no paper states."""
        return self.source == "ours"

    def check_sources(self, file: str) -> None:
        """Check that a claim has the quote, published number and protocol of its paper.

        Args:
            file: Name of the recipe's file, for the message.

        Raises:
            ConfigError: Quote, published number or protocol is missing, or the quote is
                too long.
        """
        wanted = {
            "quote": f"the paper's own words, '{NO_WORDS}' or '{NO_TEXT}'",
            "published": f"the paper's number, '{NONE_PRINTED}', '{LOST}' or '{NO_TEXT}'",
            "protocol": "'exact', 'scaled' or 'substitute', here or for all claims",
        }
        for name, what in wanted.items():
            if not getattr(self, name):
                raise ConfigError(
                    f"{file}: claim {self.id} has no '{name}'; give {what}"
                )
        if (words := len(self.quote.split())) > _WORDS:
            raise ConfigError(
                f"{file}: the quote of claim {self.id} has {words} words; give {_WORDS} at most"
            )


def own_claim(id_: str, text: str, judged: Judged) -> Claim:
    """Return a claim that is not a paper's.

    Args:
        id_: ``<recipe>/<short-name>``.
        text: The sentence.
        judged: The score and its target, such as
            ``share("runs", "accuracy").over("model") >= 0.9``; see
            :class:`~inweights.experiments.Score`.
    """
    score = judged.score
    target = judged.target
    return Claim(
        id=id_,
        text=text,
        place="",
        source="ours",
        score=score,
        target=target,
    )


@dataclass(frozen=True)
class Stating:
    """Makes the claims of one recipe; what they share is given once.

    Attributes:
        recipe: Name of the recipe, ``<paper>/<figure>``.
        source: Short name of the paper, or ``ours``.
        place: Where in the paper, for claims that do not say it.
        condition: The condition of claims whose scores do not name it by their own
            label ``condition``; by default none.

    Example:
        >>> from inweights.experiments import share
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
        rule: Rule = "typical",
        condition: str | None = None,
        **said: Any,
    ) -> Claim:
        """Return one claim.

        Args:
            name: Its short name, the last part of its id.
            text: The sentence.
            judged: The score and its target.
            place: Where in the paper; the recipe's own if left out.
            source: Short name of the paper; the recipe's own if left out.
            rule: What is judged over the seeds; by default their median.
            condition: Under which condition; the recipe's own if left out.
            **said: Further attributes of :class:`Claim`.

        Raises:
            ConfigError: The target is a bound of the score.
        """
        return Claim(
            id=f"{self.recipe}/{name}",
            text=text,
            place=place or self.place,
            source=source or self.source,
            score=judged.score,
            target=judged.target,
            judged=rule,
            condition=_condition(
                judged.score, self.condition if condition is None else condition
            ),
            **said,
        )


def _condition(score: Score, otherwise: str) -> str:
    """Return the condition that a score's rows name; two if it is a difference."""
    if "condition" in score.each:
        return "each"
    one, other = (str(rows.get("condition", "")) for rows in (score.where, score.minus))
    return (
        f"{one}, minus {other}" if one and other and one != other else one or otherwise
    )
