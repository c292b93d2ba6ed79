"""Define, before any run, the table, rows and column by which a claim is judged.

A :class:`Score` is one number per seed. A claim asserts that the score lies in a
:class:`~inweights.experiments.claims.target.Target`; :class:`Judged` contains both.
:mod:`~.numbers` reads the numbers from the tables of a run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec import structs

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.experiments.claims.target import Target

#: Type of the label of a trial, and of a value with which a column of labels is
#: compared.
Value = str | float | bool


class Score(Config):
    """Numbers selected from a table, one per seed.

    If a seed has several rows, its number is their mean. A score is created by
    :func:`number`, :func:`share`, :func:`cosine` or :func:`computed`. :meth:`at`
    selects rows, :meth:`over` requires that the claim holds for every value of a
    column, and ``-`` subtracts another score. A comparison with ``>=``, ``<=`` or
    :meth:`within` returns a :class:`Judged`.

    Attributes:
        table: Name of a table of the recipe, measured or derived.
        column: Name of the column with the numbers.
        where: Values of columns, by name, that select the rows; empty for all rows.
        minus: Values of columns, by name, that select the rows to subtract, seed by
            seed; empty if nothing is subtracted.
        each: Names of columns. The claim has to hold for every combination of their
            values. Empty (the default) for a single case.
        bounds: Smallest and largest possible value of the score; ``None`` (the default)
            for no bounds.
        exact: Whether the numbers do not depend on random numbers, so that one seed is
            enough for a verdict; by default false.

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
        """Return the score restricted to the rows in which columns have the given values.

        This score is not changed. Rows must also have the values that were selected
        before; a new value replaces an earlier value of the same column. Whether the
        table has these columns and values is checked when the claim is judged.

        Args:
            **where: Value of each column, a string, number or Boolean, by the column's
                name.

        Returns:
            A new score, whose :attr:`where` includes the given values.
        """
        return structs.replace(self, where={**self.where, **where})

    def of(self, column: str) -> Score:
        """Return a score that reads another column of the same rows, with the same bounds.

        Whether the table has the column is checked when the claim is judged.

        Args:
            column: Name of the column, in the same table.

        Returns:
            A new score; this score is not changed.
        """
        return structs.replace(self, column=column)

    def over(self, *columns: str) -> Score:
        """Return the score, judged separately for each combination of values of the columns.

        Args:
            *columns: Names of the columns, which replace the columns of an earlier
                call. The claim has to hold for every combination of their values that
                occurs in the selected rows.

        Returns:
            A new score with these columns as ``each``; this score is not changed.
        """
        return structs.replace(self, each=columns)

    def __sub__(self, other: Score) -> Score:
        """Return the difference from the same column in other rows, seed by seed.

        Args:
            other: The score to subtract. Only its selection of rows is used; its
                columns ``each`` are used as well if this score has none.

        Returns:
            A new score with the bounds of the difference, such as -1 and 1 for two
            shares.

        Raises:
            ConfigError: The other score has a different table or column, selects the
                same rows or does not select rows, or one of the two scores is already a
                difference.
        """
        if self.minus or other.minus:
            raise ConfigError(
                "a score cannot be a difference of differences; derive a column that "
                "contains one of the differences"
            )
        if (self.table, self.column) != (other.table, other.column):
            raise ConfigError(
                f"{self.table}.{self.column} minus {other.table}.{other.column}: both numbers "
                "of a difference must be from the same column; derive a column that contains "
                "the difference"
            )
        if not other.where or self.where == other.where:
            raise ConfigError(
                f"the difference of {self.table}.{self.column} and itself is always 0; select "
                "different rows with 'at'"
            )
        low, high = self.bounds or (-math.inf, math.inf)
        return structs.replace(
            self,
            minus=other.where,
            each=self.each or other.each,
            bounds=(low - high, high - low) if self.bounds else None,
        )

    def __ge__(self, least: float) -> Judged:
        """Return the assertion of a claim (:class:`Judged`) that the score is at least a number."""
        return Judged(self, Target(least=least))

    def __le__(self, most: float) -> Judged:
        """Return the assertion of a claim (:class:`Judged`) that the score is at most a number."""
        return Judged(self, Target(most=most))

    def within(self, least: float, most: float) -> Judged:
        """Return the assertion that this score lies in a range, which includes its ends.

        Args:
            least: Smallest value that meets the target.
            most: Largest value that meets the target.

        Returns:
            A :class:`Judged`: the score together with the range as its target.

        Raises:
            ConfigError: ``least`` is larger than ``most``.
        """
        return Judged(self, Target(least=least, most=most))

    @property
    def size(self) -> float:
        """Largest absolute value of the score's finite bounds; 0 if no bound is finite."""
        ends = [abs(end) for end in self.bounds or () if math.isfinite(end)]
        return max(ends, default=0.0)

    @property
    def columns(self) -> set[str]:
        """Names of all columns that the score's table must have, including ``seed``.

        These are the column with the numbers, the columns that select rows, and the
        columns whose values distinguish cases.
        """
        return {*self.where, *self.minus, *self.each, self.column, "seed"}


@dataclass(frozen=True)
class Judged:
    """A score with its target: the assertion of a claim.

    It is the result of comparing a score: ``score >= 0.9``, ``score <= 0.1`` or
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
        table: Name of a table of the recipe, measured or derived.
        column: Name of the column with the numbers.
        **where: Values of columns, by name, that select the rows; by default all rows.
            Tables, columns and values are checked when the claim is judged.
    """
    return Score(table=table, column=column, where=where)


def share(table: str, column: str, **where: Value) -> Score:
    """Return a score from 0 to 1, such as an accuracy, a recall or a share of seeds.

    Args:
        table: Name of a table of the recipe, measured or derived.
        column: Name of the column with the numbers.
        **where: Values of columns, by name, that select the rows; by default all rows.
            Tables, columns and values are checked when the claim is judged.
    """
    return Score(table=table, column=column, where=where, bounds=(0.0, 1.0))


def cosine(table: str, column: str, **where: Value) -> Score:
    """Return a score from -1 to 1, such as a cosine or a correlation.

    When a claim is judged, the score of a seed is the mean of the selected rows with
    this seed.

    Args:
        table: Name of a table of the recipe, measured or derived.
        column: Name of the column with the numbers.
        **where: Values of columns, by name, that select the rows; by default all rows.
            Tables, columns and values are checked when the claim is judged.
    """
    return Score(table=table, column=column, where=where, bounds=(-1.0, 1.0))


def computed(table: str, column: str, **where: Value) -> Score:
    """Return a score that does not depend on seeds, such as a value computed without training.

    One seed is enough for a verdict on such a score. The score has no bounds.

    Args:
        table: Name of a table of the recipe, measured or derived.
        column: Name of the column with the numbers.
        **where: Values of columns, by name, that select the rows; by default all rows.
            Tables, columns and values are checked when the claim is judged.
    """
    return Score(table=table, column=column, where=where, exact=True)
