"""Select the table and column on which a claim is judged, before any run.

A :class:`Score` is one number per seed; with a
:class:`~inweights.experiments.claims.target.Target` it forms the assertion of a claim
(:class:`Judged`). :mod:`~.numbers` takes the numbers from the tables of a run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec import structs

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.experiments.claims.target import Target

#: A label of a trial, and what a column of labels is compared with.
Value = str | float | bool


class Score(Config):
    """Numbers of one column of a table: one per seed, the mean if a seed has several rows.

    Made by :func:`number`, :func:`share`, :func:`cosine` or :func:`computed`; narrowed
    by
    :meth:`at`, spread by :meth:`over`, subtracted by ``-``, and judged by ``>=``,
    ``<=`` or
    :meth:`within`.

    Attributes:
        table: Name of a table of the recipe, measured or derived.
        column: Column of the numbers.
        where: Values that columns have in the rows that count.
        minus: Values in the rows that are subtracted, seed by seed; empty for none.
        each: Columns over all of whose values the claim has to hold.
        bounds: Least and largest value that the score can have; ``None`` if it has no
            bounds.
        exact: Whether the numbers are computed and not sampled, so that there is
            nothing to replicate.

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
        """Return the score of fewer rows: those where columns have these values, too."""
        return structs.replace(self, where={**self.where, **where})

    def of(self, column: str) -> Score:
        """Return the score of another column, in the same rows and with the same bounds."""
        return structs.replace(self, column=column)

    def over(self, *columns: str) -> Score:
        """Return the score in every case: for each combination of values of these columns."""
        return structs.replace(self, each=columns)

    def __sub__(self, other: Score) -> Score:
        """Return the difference, seed by seed, to the same column in other rows.

        Raises:
            ConfigError: The other score is of another column, of the same rows, or one
                of the two is a difference already.
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
            raise ConfigError(
                f"{self.table}.{self.column} minus itself; select the rows with 'at'"
            )
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
        """Return the score with a target from ``least`` to ``most``.

        Args:
            least: Lower edge.
            most: Upper edge.

        Raises:
            ConfigError: The lower edge is above the upper one.
        """
        return Judged(self, Target(least=least, most=most))

    @property
    def size(self) -> float:
        """The largest absolute value that the score can have; 0 if it has no bounds."""
        ends = [abs(end) for end in self.bounds or () if math.isfinite(end)]
        return max(ends, default=0.0)

    @property
    def columns(self) -> set[str]:
        """Every column that the table needs."""
        return {*self.where, *self.minus, *self.each, self.column, "seed"}


@dataclass(frozen=True)
class Judged:
    """A score and its target: what a claim asserts.

    A comparison of a score makes it: ``score >= 0.9``, ``score <= 0.1`` or
    ``score.within(-0.1, 0.1)``.

    Attributes:
        score: The numbers, one per seed.
        target: Where they should lie.
    """

    score: Score
    target: Target


def number(table: str, column: str, **where: Value) -> Score:
    """Return a score without bounds, such as a loss, a logit or a number of steps.

    Args:
        table: Name of a table of the recipe.
        column: Column of the numbers.
        **where: Values that columns have in the rows that count.
    """
    return Score(table=table, column=column, where=where)


def share(table: str, column: str, **where: Value) -> Score:
    """Return a score from 0 to 1, such as an accuracy, a recall or a share of seeds.

    Args:
        table: Name of a table of the recipe.
        column: Column of the numbers.
        **where: Values that columns have in the rows that count.
    """
    return Score(table=table, column=column, where=where, bounds=(0.0, 1.0))


def cosine(table: str, column: str, **where: Value) -> Score:
    """Return a score from -1 to 1, such as a cosine, a correlation or a difference of shares.

    Args:
        table: Name of a table of the recipe.
        column: Column of the numbers.
        **where: Values that columns have in the rows that count.
    """
    return Score(table=table, column=column, where=where, bounds=(-1.0, 1.0))


def computed(table: str, column: str, **where: Value) -> Score:
    """Return a score that does not depend on seeds, such as a step of a proof at a given size.

    Args:
        table: Name of a table of the recipe.
        column: Column of the numbers.
        **where: Values that columns have in the rows that count.
    """
    return Score(table=table, column=column, where=where, exact=True)
