"""Select the table and column on which a claim is judged, before any run.

A :class:`Score` is one number per seed. Together with a
:class:`~inweights.experiments.claims.target.Target` it is what a claim asserts
(:class:`Judged`). :mod:`~.numbers` reads the numbers from the tables of a run.
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

    A score is made by :func:`number`, :func:`share`, :func:`cosine` or
    :func:`computed`. :meth:`at` selects rows, :meth:`over` requires that the claim
    holds for every value of a column, and ``-`` subtracts another score. A comparison
    with ``>=``, ``<=`` or :meth:`within` gives a :class:`Judged`.

    Attributes:
        table: Name of a table of the recipe, measured or derived.
        column: Column of the numbers.
        where: Values of columns that select the rows; empty for all rows.
        minus: Values of columns that select the rows to subtract, seed by seed; empty
            for none.
        each: Columns for all of whose values the claim has to hold; empty for a single
            case.
        bounds: Smallest and largest possible value of the score; ``None`` for no
            bounds.
        exact: Whether the numbers are computed and not sampled, so that one seed is
            enough.

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
        """Return the score of those rows in which columns also have the given values.

        The score itself is not changed. A value replaces an earlier one of the same
        column. Whether the table has the columns and values is checked when the claim
        is judged.

        Args:
            **where: Value of each column, by the column's name.
        """
        return structs.replace(self, where={**self.where, **where})

    def of(self, column: str) -> Score:
        """Return the score of another column, in the same rows and with the same bounds.

        Whether the table has the column is checked when the claim is judged.

        Args:
            column: Name of the column, in the same table.
        """
        return structs.replace(self, column=column)

    def over(self, *columns: str) -> Score:
        """Return a score that is judged separately for each combination of values of some columns.

        Args:
            *columns: Names of the columns, in place of earlier ones. The claim has to
                hold for every combination of their values that occurs in the table.

        Returns:
            The score, with the columns as :attr:`each`.
        """
        return structs.replace(self, each=columns)

    def __sub__(self, other: Score) -> Score:
        """Return the difference from the same column in other rows, seed by seed.

        Args:
            other: The score that is subtracted. Of it, only the rows are used and, if
                this score has none, its :attr:`each`.

        Returns:
            The score, whose bounds are those of the difference, such as -1 and 1 for
            two shares.

        Raises:
            ConfigError: The other score is of another table or column, has the same
                rows or selects none with :meth:`at`, or one of the two is already a
                difference.
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
        """Return the claim's assertion that the score is at least a number."""
        return Judged(self, Target(least=least))

    def __le__(self, most: float) -> Judged:
        """Return the claim's assertion that the score is at most a number."""
        return Judged(self, Target(most=most))

    def within(self, least: float, most: float) -> Judged:
        """Return the claim's assertion that the score lies in a range.

        Args:
            least: Smallest value that meets the target.
            most: Largest value that meets the target.

        Returns:
            The score together with its target, which includes both ends.

        Raises:
            ConfigError: ``least`` is larger than ``most``.
        """
        return Judged(self, Target(least=least, most=most))

    @property
    def size(self) -> float:
        """Largest absolute value of the finite :attr:`bounds`; 0 if there is none."""
        ends = [abs(end) for end in self.bounds or () if math.isfinite(end)]
        return max(ends, default=0.0)

    @property
    def columns(self) -> set[str]:
        """Names of all columns that the table must have, including ``seed``."""
        return {*self.where, *self.minus, *self.each, self.column, "seed"}


@dataclass(frozen=True)
class Judged:
    """A score with its target, which together are what a claim asserts.

    It is made by comparing a score: ``score >= 0.9``, ``score <= 0.1`` or
    ``score.within(-0.1, 0.1)``.

    Attributes:
        score: The numbers, one per seed.
        target: Range in which the numbers should lie.
    """

    score: Score
    target: Target


def number(table: str, column: str, **where: Value) -> Score:
    """Return a score without bounds, such as a loss, a logit or a number of steps.

    Args:
        table: Name of a table of the recipe.
        column: Column of the numbers.
        **where: Values of columns that select the rows; by default all rows.
    """
    return Score(table=table, column=column, where=where)


def share(table: str, column: str, **where: Value) -> Score:
    """Return a score from 0 to 1, such as an accuracy, a recall or a share of seeds.

    Args:
        table: Name of a table of the recipe.
        column: Column of the numbers.
        **where: Values of columns that select the rows; by default all rows.
    """
    return Score(table=table, column=column, where=where, bounds=(0.0, 1.0))


def cosine(table: str, column: str, **where: Value) -> Score:
    """Return a score from -1 to 1, such as a cosine, a correlation or a difference of shares.

    Args:
        table: Name of a table of the recipe.
        column: Column of the numbers.
        **where: Values of columns that select the rows; by default all rows.
    """
    return Score(table=table, column=column, where=where, bounds=(-1.0, 1.0))


def computed(table: str, column: str, **where: Value) -> Score:
    """Return a score that does not depend on seeds, such as a step of a proof at a given size.

    One seed is enough for a verdict on such a score.

    Args:
        table: Name of a table of the recipe.
        column: Column of the numbers.
        **where: Values of columns that select the rows; by default all rows.
    """
    return Score(table=table, column=column, where=where, exact=True)
