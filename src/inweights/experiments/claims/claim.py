"""Describe claims as data: a sentence, its source, and a score with its target.

:class:`Claim` is one claim, and :mod:`~.stating` creates claims. :mod:`~.verdict` judges
a claim and returns a :class:`~inweights.experiments.claims.claim_result.ClaimResult`.
"""

import math
from typing import Any, Literal, get_args

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.experiments.claims.score import Score
from inweights.experiments.claims.target import Target
from inweights.support.showing import Card

#: Statistic over seeds that is judged: the median, the share of seeds that meet the
#: target individually, or the mean.
Rule = Literal["typical", "reliable", "mean"]
#: How closely the paper's protocol is followed: with its settings and sizes; with its
#: settings at a smaller size; or with a different model, data set or measure.
Protocol = Literal["exact", "scaled", "substitute"]
#: Signs of the protocols on pages and in tables of results.
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
#: Names of the verdicts on a claim that is judged by a substitute for the paper's
#: protocol. A substitute may agree with the paper or not, but it can neither reproduce
#: nor refute it.
IN_A_SUBSTITUTE: dict[str, Verdict] = {
    "reproduced": "consistent",
    "not reproduced": "not seen in a substitute",
}
#: Share of seeds that has to meet the target if a claim says *always*, *never* or
#: *fails*.
RELIABLE = 0.75
#: Notes in place of a quote (if only a table or picture shows the claim), of a number
#: (if none is printed, or our copy of the text lacks it), and of either (if we have no
#: copy).
NO_WORDS = "none in words"
NONE_PRINTED = "none printed"
LOST = "lost in the text at hand"
NO_TEXT = "text not at hand"
#: Prefix of a number that the paper does not print, but that follows from two printed
#: numbers.
DERIVED = "derived "
#: Largest number of words in a quote.
_WORDS = 25


class Said(Config, kw_only=True):
    """Sentence and source of a claim, without its score or verdict.

    Attributes:
        id: Name of the claim, ``<recipe>/<short-name>``.
        text: The claim, as a sentence.
        place: Place in the paper, such as ``Fig. 2``.
        source: Short name of the paper, or ``ours`` for a claim that no paper states.
        target: Range in which the numbers have to lie.
        published: The number or relation that the paper prints, such as ``98%`` or ``>
            1/C``, with ``derived`` before a number that follows from two printed
            numbers; or ``none printed``, ``lost in the text at hand`` or ``text not at
            hand``. It is ``None`` (the default) if nothing is stated.
        check: Whether the claim holds by construction, like the claim that frozen
            vectors do not change. Such a claim tests the code. The results table shows
            it but does not count it. By default false.
        condition: Condition of the trials on which the claim is judged, which is a
            value of their label ``condition``. It is ``A, minus B`` for a difference,
            ``each`` if the claim has to hold in every condition, and empty (the
            default) if there is only one condition.
        quote: At most 25 words, quoted from the paper. It is ``none in words`` if the
            claim is shown only by a table or figure, ``text not at hand`` if we have no
            copy of the paper, and empty (the default) for claims of our own.
        protocol: How closely the paper's protocol is followed: ``exact``, with its
            settings and sizes; ``scaled``, with its settings at a smaller size;
            ``substitute``, with a different model, data set or measure. ``None`` (the
            default) for claims of our own.
        close: Smallest and largest number that are considered close to the published
            number; ``None`` (the default) for all numbers within a factor of 1.5 of it.
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
        """Origin of the paper's number (``published`` or ``derived``), and the number as text.

        A number is ``derived`` if it follows from two printed numbers. The number is
        the text :attr:`published` without the word ``derived``. If :attr:`published` is
        ``None``, the pair is ``("published", "")``. Notes such as ``none printed`` are
        returned unchanged.
        """
        said = self.published or ""
        if said.startswith(DERIVED):
            return DERIVED.strip(), said.removeprefix(DERIVED)
        return "published", said

    def about(self) -> dict[str, Any]:
        """Return the attributes of :class:`Said` as a dictionary, without attributes of subclasses.

        They can be passed to the constructor of another subclass that represents the
        same claim.
        """
        return {name: getattr(self, name) for name in Said.__struct_fields__}


class Statement(Said, kw_only=True, omit_defaults=True):
    """A claim without its score, as it is shown before any run.

    It also has the attributes of :class:`Said`: ``id``, ``text`` (the sentence),
    ``place`` and ``source`` (where the paper states it), ``target`` (the range of the
    score), ``published`` (the paper's number), ``check``, ``condition``, ``quote``,
    ``protocol`` and ``close``.

    Attributes:
        judged: Statistic over the seeds that is judged: ``typical`` (the default) for
            the median, ``reliable`` for the share of seeds that meet the target, or
            ``mean`` for the mean.
    """

    judged: Rule = "typical"


class Claim(Said, kw_only=True):
    """A claim with the score by which it is judged.

    It also has the attributes of :class:`Said`: ``id``, ``text`` (the sentence),
    ``place`` and ``source`` (where the paper states it), ``target`` (the range of the
    score), ``published`` (the paper's number), ``check``, ``condition``, ``quote``,
    ``protocol`` and ``close``.

    Attributes:
        score: The numbers that are judged, one per seed.
        judged: Statistic over the seeds that is judged: their median (``typical``, the
            default) or their mean (``mean``), which has to lie within the target; or
            the share of seeds that meet the target individually (``reliable``), which
            has to be at least .75 (:data:`RELIABLE`).

    Raises:
        ConfigError: The first number of ``close`` is larger than the second. Or
            ``check`` is false, and the target could only be met exactly at a bound of
            the score: its lower end is at or above the score's upper bound, or its
            upper end is at or below the score's lower bound.
    """

    score: Score
    judged: Rule = "typical"

    def __post_init__(self) -> None:
        if self.close and self.close[0] > self.close[1]:
            raise ConfigError(
                f"claim {self.id}: 'close' must be a range from a smaller to a larger number, "
                f"got {list(self.close)}"
            )
        low, high = self.score.bounds or (-math.inf, math.inf)
        least = self.target.least
        most = self.target.most
        at_bound = (least is not None and least >= high) or (
            most is not None and most <= low
        )
        if at_bound and not self.check:
            raise ConfigError(
                f"claim {self.id}: the target {self.target.text} is at a bound of the range "
                f"of its score, which is {low:g} to {high:g}; use a target strictly inside "
                f"this range, such as {'>= 0.99' if least is not None else '<= 0.01'}"
            )

    def _repr_html_(self) -> str:
        about = {"target": self.target.text, "published": self.published or "–"}
        return Card(
            self.id, about, ("judged", "claim"), [(self.judged, self.text)]
        ).html

    @property
    def ours(self) -> bool:
        """Whether the claim is our own (``source`` is ``ours``), and not stated by a paper."""
        return self.source == "ours"

    def check_sources(self, file: str) -> None:
        """Check that a claim of a paper has a quote, a published number and a protocol.

        Our own claims require none of these; the caller must not call this method for
        them.

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
                f"{file}: the quote of claim {self.id} has {words} words; shorten it to at most "
                f"{_WORDS} words"
            )
