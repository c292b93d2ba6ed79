"""Describe claims as data: a sentence, what the paper says, and a score with its target.

:class:`Claim` is one claim, and :mod:`~.stating` makes claims. :mod:`~.verdict` judges
a claim and returns a :class:`~inweights.experiments.claims.claim_result.ClaimResult`.
"""

import math
from typing import Any, Literal, get_args

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.experiments.claims.score import Score
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
    """Sentence and source of a claim, without its score and its verdict.

    Attributes:
        id: Name of the claim, ``<recipe>/<short-name>``.
        text: The claim, as a sentence.
        place: Place in the paper, such as ``Fig. 2``.
        source: Short name of the paper, or ``ours`` for a claim that no paper states.
        target: Range in which the numbers have to lie.
        published: The number or relation that the paper prints; or a note that it
            prints none, or that it is missing in our copy of the text.
        check: Whether the claim holds by construction, such as that frozen vectors do
            not change. It tests the code; the results table shows it and does not count
            it.
        condition: Condition of the trials on which the claim is judged, a value of
            their label ``condition``; ``A, minus B`` for a difference, ``each`` if the
            claim has to hold in every condition, and empty if there is only one.
        quote: The paper's own words, at most 25; or a note that the paper does not say
            it in words, or that its text was not at hand.
        protocol: How closely the paper's protocol is followed: ``exact``, with its
            settings and sizes; ``scaled``, with its settings at a smaller size;
            ``substitute``, with another model, other data or another measure. ``None``
            for claims of ours.
        close: Smallest and largest number that count as close to the published one;
            ``None`` for the numbers within a factor of 1.5
            (:func:`~.published.published_range`).
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
        """Origin of the paper's number, ``published`` or ``derived``, and the number as text.

        A number is ``derived`` if it follows from two that the paper prints. The second
        text is empty if the claim has no published number.
        """
        said = self.published or ""
        if said.startswith(DERIVED):
            return DERIVED.strip(), said.removeprefix(DERIVED)
        return "published", said

    def about(self) -> dict[str, Any]:
        """Return the attributes of :class:`Said` by name, without those that a subclass adds.

        They are the arguments that make an object of another subclass for the same claim.
        """
        return {name: getattr(self, name) for name in Said.__struct_fields__}


class Statement(Said, kw_only=True, omit_defaults=True):
    """A claim without its score, as it is shown before any run.

    Its other attributes are those of :class:`Said`.

    Attributes:
        judged: Statistic over the seeds that is judged; see :class:`Claim`.
    """

    judged: Rule = "typical"


class Claim(Said, kw_only=True):
    """A claim with the score on which it is judged.

    Its other attributes are those of :class:`Said`.

    Attributes:
        score: The numbers that are judged, one per seed.
        judged: Statistic over the seeds that is judged: their median (``typical``) or
            their mean (``mean``), which has to lie within the target; or the share of
            seeds that meet the target individually (``reliable``), which has to be at
            least :data:`RELIABLE`.

    Raises:
        ConfigError: The target begins at the largest possible value of the score or
            ends at the smallest, and ``check`` is not set; or the first number of
            ``close`` is larger than the second.
    """

    score: Score
    judged: Rule = "typical"

    def __post_init__(self) -> None:
        if self.close and self.close[0] > self.close[1]:
            raise ConfigError(
                f"claim {self.id}: close must begin with the smaller number, got "
                f"{list(self.close)}"
            )
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
        """Whether the claim is our own, which no paper states."""
        return self.source == "ours"

    def check_sources(self, file: str) -> None:
        """Check that a claim of a paper has a quote, a published number and a protocol.

        It does not look at :attr:`ours`: the caller leaves out our own claims, for which
        these are not required.

        Args:
            file: Name of the recipe's file, for error messages.

        Raises:
            ConfigError: The quote, the published number or the protocol is missing, or
                the quote has more than 25 words.
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
                f"{file}: the quote of claim {self.id} has {words} words; shorten it to {_WORDS}"
            )
