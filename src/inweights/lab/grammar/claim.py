"""Claims: a sentence with its score (which numbers of which table), and where that should lie."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

import msgspec
from msgspec import structs

from inweights.config import Config
from inweights.errors import ConfigError

#: A label of a trial, and what a column of labels is compared with.
Value = str | float | bool
#: What of the seeds' numbers is judged: their median (a *typical* seed), the share of seeds that
#: meet the target by themselves (*reliable*), or their mean.
Rule = Literal["typical", "reliable", "mean"]
#: How near to the paper's protocol a claim is judged: with the paper's settings and sizes, with its
#: settings at a smaller size, or with another model, data or measure.
Protocol = Literal["exact", "scaled", "substitute"]
#: The share of seeds that has to meet the target where a claim says *always*, *never* or *fails*.
RELIABLE = 0.75


class Target(Config):
    """The range of a score: from ``least`` to ``most``; either may be open.

    Example:
        >>> Target(least=0.9).text, Target(most=0.15).text, Target(least=0.35, most=0.75).text
        ('≥ 0.9', '≤ 0.15', '0.35 to 0.75')
    """

    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        if self.least is None and self.most is None:
            raise ConfigError("a target needs a least or a most value")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ConfigError(f"a target from {self.least:g} to {self.most:g} is empty")

    @property
    def text(self) -> str:
        """The target in words."""
        if self.least is None:
            return f"≤ {self.most:g}"
        if self.most is None:
            return f"≥ {self.least:g}"
        return f"{self.least:g} to {self.most:g}"

    def distance(self, value: float) -> float:
        """How far inside the target ``value`` lies; negative outside."""
        low = math.inf if self.least is None else value - self.least
        high = math.inf if self.most is None else self.most - value
        return float(min(low, high))


class Score(Config):
    """Numbers of one column of a table, one for each seed (their mean where a seed has several).

    Made by :func:`number`, :func:`share`, :func:`cosine` or :func:`computed`; narrowed by
    :meth:`at`, spread by :meth:`over`, subtracted by ``-``, and judged by ``>=``, ``<=`` or
    :meth:`within`.

    Attributes:
        table: Name of a table of the recipe, measured or derived.
        column: The column.
        where: Values that columns have in the rows.
        minus: Values in the rows that are subtracted, seed by seed; empty for none.
        each: Columns over all of whose values the claim has to hold.
        bounds: Least and largest value that the score can have, if it has any.
        exact: Whether the numbers are computed, not sampled: there is nothing to replicate.

    Example:
        >>> accuracy = share("compositions", "accuracy", identity=True)
        >>> gpt = accuracy.at(model="gpt")
        >>> falls = gpt.at(complexity=1) - gpt.at(complexity=5) >= 0.5
        >>> falls.target.text, falls.score.where["complexity"], falls.score.minus["complexity"]
        ('≥ 0.5', 1, 5)
        >>> falls.score.bounds
        (-1.0, 1.0)
    """

    table: str
    column: str
    where: dict[str, Value] = {}
    minus: dict[str, Value] = {}
    each: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None
    exact: bool = False

    def at(self, **where: Value) -> Score:
        """Return the score in the rows where columns have these values, too."""
        return structs.replace(self, where={**self.where, **where})

    def of(self, column: str) -> Score:
        """Return the same of another column, in the same rows and with the same bounds."""
        return structs.replace(self, column=column)

    def over(self, *columns: str) -> Score:
        """Return the score in every case: for each value of these columns."""
        return structs.replace(self, each=columns)

    def __sub__(self, other: Score) -> Score:
        """Return the difference, seed by seed, to the same column in other rows.

        Raises:
            ConfigError: The other is of another table or column, is a difference itself, or is not
                narrowed, so that nothing would be left.
        """
        if self.minus or other.minus:
            raise ConfigError(
                "a difference of differences cannot be judged; derive a column for it"
            )
        if (self.table, self.column) != (other.table, other.column):
            raise ConfigError(
                f"{self.table}.{self.column} minus {other.table}.{other.column}: a difference is "
                "taken within one column; derive one"
            )
        if not other.where or self.where == other.where:
            raise ConfigError(f"{self.table}.{self.column} minus itself; select the rows with 'at'")
        low, high = self.bounds or (-math.inf, math.inf)
        return structs.replace(
            self,
            minus=other.where,
            each=self.each or other.each,
            bounds=(low - high, high - low) if self.bounds else None,
        )

    def __ge__(self, least: float) -> Judged:
        return Judged(self, Target(least=least))

    def __le__(self, most: float) -> Judged:
        return Judged(self, Target(most=most))

    def within(self, least: float, most: float) -> Judged:
        """Judge whether it lies from ``least`` to ``most``."""
        return Judged(self, Target(least=least, most=most))

    @property
    def columns(self) -> set[str]:
        """Every column that the table needs."""
        return {*self.where, *self.minus, *self.each, self.column, "seed"}


@dataclass(frozen=True)
class Judged:
    """A score and its target: what a claim asserts."""

    score: Score
    target: Target


def number(table: str, column: str, **where: Value) -> Score:
    """Return a score without bounds: a loss, a logit, a number of steps."""
    return Score(table=table, column=column, where=where)


def share(table: str, column: str, **where: Value) -> Score:
    """Return a score from 0 to 1: an accuracy, a recall, a share of seeds."""
    return Score(table=table, column=column, where=where, bounds=(0.0, 1.0))


def cosine(table: str, column: str, **where: Value) -> Score:
    """Return a score from -1 to 1: a cosine, a correlation, a difference of shares."""
    return Score(table=table, column=column, where=where, bounds=(-1.0, 1.0))


def computed(table: str, column: str, **where: Value) -> Score:
    """Return a score that no seed decides: a step of a proof at a given size."""
    return Score(table=table, column=column, where=where, exact=True)


class Claim(Config):
    """One claim, as data: which numbers are judged, and against what.

    Attributes:
        id: ``<recipe>/<short-name>``.
        text: The sentence.
        place: Where in the paper.
        source: Short name of the paper, or ``ours`` for a claim that is not a paper's.
        score: The numbers that are judged.
        target: Where they have to lie.
        judged: What of them has to lie there: ``typical``, ``reliable`` or ``mean``.
        published: The number or relation that the paper prints; or that it prints none, or that
            the text at hand lost it.
        check: Whether it holds by construction (frozen vectors stay as drawn): a test of the code
            that the board shows, and does not count.
        condition: Under which of its trials' conditions it is judged; none where there is one.
        quote: The paper's own words.
        protocol: How near to the paper's protocol it is judged; none for claims of ours.
        close: Smallest and largest number that has the published size.
    """

    id: str
    text: str
    place: str
    source: str
    score: Score
    target: Target
    judged: Rule = "typical"
    published: str | None = None
    check: bool = False
    condition: str = ""
    quote: str = ""
    protocol: Protocol | None = None
    close: tuple[float, float] | None = None

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
    judged: Rule = "typical"
    published: str | None = None
    check: bool = False
    condition: str = ""
    quote: str = ""
    protocol: Protocol | None = None
    close: tuple[float, float] | None = None


class Said(TypedDict, total=False):
    """What a claim may say beside its sentence; see :class:`Claim`."""

    published: str | None
    check: bool
    quote: str
    protocol: Protocol | None
    close: tuple[float, float] | None


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
        **said: Unpack[Said],
    ) -> Claim:
        """Return a claim; ``place``, ``source``, ``condition`` are the recipe's own if left out."""
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
    """The condition that a score's rows have by their label, or two if it is a difference."""
    if "condition" in score.each:
        return "each"
    one, other = (str(rows.get("condition", "")) for rows in (score.where, score.minus))
    return f"{one}, minus {other}" if one and other and one != other else one or otherwise
