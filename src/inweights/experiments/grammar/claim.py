"""Describe claims and their results, as data.

A :class:`Claim` is a sentence, what the paper says of it, and a score with its target. A
:class:`ClaimResult` is the same with its verdict. :mod:`~.verdict` makes one of the other;
:class:`Stating` makes the claims of one recipe.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.experiments.grammar.score import Judged, Score, Target
from inweights.support.intervals import ALPHA
from inweights.support.showing import Card

#: What of the seeds' numbers is judged: their median, the share of seeds that meet the target by
#: themselves, or their mean.
Rule = Literal["typical", "reliable", "mean"]
#: How near to the paper's protocol a claim is judged: with the paper's settings and sizes, with its
#: settings at a smaller size, or with another model, data or measure.
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
#: What a verdict is called where the claim is judged by a substitute, which can agree with a paper
#: or not show what it says, and neither reproduces it nor speaks against it.
IN_A_SUBSTITUTE: dict[str, Verdict] = {
    "reproduced": "consistent",
    "not reproduced": "not seen in a substitute",
}
#: The share of seeds that has to meet the target where a claim says *always*, *never* or *fails*.
RELIABLE = 0.75
#: Instead of a quote, where a table or picture says it; of a number, where there is none, or the
#: text lost it; of either, where the paper's text was not at hand.
NO_WORDS, NONE_PRINTED = "none in words", "none printed"
LOST, NO_TEXT = "lost in the text at hand", "text not at hand"
#: Words that a quote has at most.
_WORDS = 25


class Said(Config, kw_only=True):
    """What a claim says and where, whether or not it has been judged.

    Attributes:
        id: ``<recipe>/<short-name>``.
        text: The sentence.
        place: Where in the paper.
        source: Short name of the paper, or ``ours`` for a claim that is not a paper's.
        target: Where its numbers have to lie.
        published: The number or relation that the paper prints; or a note that it prints none,
            or that the text at hand lost it.
        check: Whether it holds by construction, as frozen vectors stay as drawn: a test of the
            code that the results table shows and does not count.
        condition: Under which of its trials' conditions it is judged; empty where there is
            one.
        quote: The paper's own words.
        protocol: How near to the paper's protocol it is judged; ``None`` for claims of ours.
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

    def about(self) -> dict[str, Any]:
        """Return the attributes by name, to make another state of the same claim."""
        return {name: getattr(self, name) for name in Said.__struct_fields__}


class Statement(Said, kw_only=True, omit_defaults=True):
    """A claim without its score, as it is shown before anything has run.

    Attributes:
        judged: What is judged over the seeds.

    The others are those of :class:`Said`.
    """

    judged: Rule = "typical"


class Claim(Said, kw_only=True):
    """One claim, as data.

    Attributes:
        score: The numbers that are judged, one per seed.
        judged: Whether their median (``typical``), the share of seeds that meet the target by
            themselves (``reliable``) or their mean (``mean``) has to lie in the target.

    The others are those of :class:`Said`.

    Raises:
        ConfigError: The target is a bound of the score, so that every number would meet it.
    """

    score: Score
    judged: Rule = "typical"

    def __post_init__(self) -> None:
        low, high = self.score.bounds or (-math.inf, math.inf)
        least, most = self.target.least, self.target.most
        at_bound = (least is not None and least >= high) or (most is not None and most <= low)
        if at_bound and not self.check:
            raise ConfigError(
                f"claim {self.id}: the target {self.target.text} is the bound of its score, which "
                f"lies from {low:g} to {high:g}; state what the sentence means, such as "
                f"{'>= 0.99' if least is not None else '<= 0.01'}"
            )

    def _repr_html_(self) -> str:
        about = {"target": self.target.text, "published": self.published or "–"}
        return Card(self.id, about, ("judged", "claim"), [(self.judged, self.text)]).html

    @property
    def ours(self) -> bool:
        """Whether it is a claim of ours, which no paper states."""
        return self.source == "ours"

    def check_sources(self, file: str) -> None:
        """Check that a claim says what its paper says, and how near to it it is judged.

        Args:
            file: Name of the recipe's file, for the message.

        Raises:
            ConfigError: Quote, published number or protocol is missing, or the quote is too
                long.
        """
        wanted = {
            "quote": f"the paper's own words, '{NO_WORDS}' or '{NO_TEXT}'",
            "published": f"the paper's number, '{NONE_PRINTED}', '{LOST}' or '{NO_TEXT}'",
            "protocol": "'exact', 'scaled' or 'substitute', here or for all claims",
        }
        for name, what in wanted.items():
            if not getattr(self, name):
                raise ConfigError(f"{file}: claim {self.id} has no '{name}'; give {what}")
        if (words := len(self.quote.split())) > _WORDS:
            raise ConfigError(
                f"{file}: the quote of claim {self.id} has {words} words; give {_WORDS} at most"
            )


def own_claim(id_: str, text: str, judged: Judged) -> Claim:
    """Return a claim that is not a paper's.

    Args:
        id_: ``<recipe>/<short-name>``.
        text: The sentence.
        judged: The score and its target.
    """
    score, target = judged.score, judged.target
    return Claim(id=id_, text=text, place="", source="ours", score=score, target=target)


@dataclass(frozen=True)
class Stating:
    """Makes the claims of one recipe; what they share is given once.

    Attributes:
        recipe: Name of the recipe, ``<paper>/<figure>``.
        source: Short name of the paper, or ``ours``.
        place: Where in the paper, for claims that do not say it.
        condition: The condition of claims whose scores do not name it by their own label
            ``condition``; by default none.

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
            condition=_condition(judged.score, self.condition if condition is None else condition),
            **said,
        )


def _condition(score: Score, otherwise: str) -> str:
    """Return the condition that a score's rows name; two if it is a difference."""
    if "condition" in score.each:
        return "each"
    one, other = (str(rows.get("condition", "")) for rows in (score.where, score.minus))
    return f"{one}, minus {other}" if one and other and one != other else one or otherwise


class ClaimResult(Said, kw_only=True):
    """A claim with its verdict, as in the results table.

    Attributes:
        verdict: Whether it is reproduced.
        rule: What was judged over the seeds.
        measured: Median of the seeds' numbers, or their mean; of several cases, that of the
            one that decided.
        low: Lower end of its confidence interval; ``None`` for what is computed, and for few
            seeds.
        high: Upper end of the same.
        replicates: Number of seeds that were judged.
        hits: Number of them that meet the target by themselves.
        share_low: Lower end of the interval of the share of all seeds that would meet it.
        share_high: Upper end of the same.
        case: The case that decided: the one that is farthest from reproducing.
        why: Why there is no verdict, where there is none.
        needed: About how many seeds would decide an open claim, if they are like those so far.
        level: Confidence of the intervals.
        version: Of the claim, by the ledger.
        earlier: What became of its earlier versions, in words.
        p: The smallest error probability with which it would have this verdict, on the scale
            of one analysis at .05.
        together: Whether the verdict also holds when all papers' claims are tested together
            (Holm).

    The others are those of :class:`Said`.
    """

    verdict: Verdict
    rule: Rule = "typical"
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    replicates: int = 0
    hits: int | None = None
    share_low: float | None = None
    share_high: float | None = None
    case: str = ""
    why: str = ""
    needed: int | None = None
    level: float = 1 - ALPHA
    version: int = 1
    earlier: tuple[str, ...] = ()
    p: float | None = None
    together: bool = False

    def __repr__(self) -> str:
        number = "" if self.measured is None else f" {self.measured:.3g}"
        return f"ClaimResult({self.id}: {self.verdict},{number} for {self.target.text})"

    def _repr_html_(self) -> str:
        between = "" if None in (self.low, self.high) else f"{self.low:.3g} to {self.high:.3g}"
        measured = {"measured": self.measured, "interval": between, "target": self.target.text}
        seeds = {"seeds": self.met or self.replicates, "version": self.version}
        row = (self.verdict, self.text)
        return Card(self.id, {**measured, **seeds}, ("verdict", "claim"), [row]).html

    @property
    def agrees(self) -> bool:
        """Whether what was measured agrees with the claim (reproduced or consistent)."""
        return self.verdict in ("reproduced", "consistent")

    @property
    def met(self) -> str:
        """How many seeds meet the target, with the interval of their share, in words.

        Example:
            >>> about = {"id": "a/b/c", "text": "", "place": "", "source": "", "published": None}
            >>> found = {"replicates": 16, "hits": 16, "share_low": 0.76, "share_high": 1.0}
            >>> ClaimResult(**about, target=Target(least=0.9), verdict="reproduced", **found).met
            '16 of 16 seeds (76% to 100%)'
        """
        if self.hits is None or self.share_low is None or self.share_high is None:
            return ""
        between = f"({self.share_low:.0%} to {self.share_high:.0%})"
        return f"{self.hits} of {self.replicates} seeds {between}"
