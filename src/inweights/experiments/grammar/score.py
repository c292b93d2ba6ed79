"""Say which numbers of which table a claim is about, and take them from a run's tables.

A :class:`Score` is one number for each seed, stated before anything has run; a :class:`Target`
is the range in which it should lie, and both together are what a claim asserts
(:class:`Judged`). :func:`numbers_of` takes the numbers afterwards; :mod:`~.verdict` judges
them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from msgspec import structs

from inweights.config import Config
from inweights.errors import ConfigError, DataError, check_names, unknown_name

if TYPE_CHECKING:
    import polars as pl

#: Two numbers that differ by this share of their size or less differ by rounding alone. A share in
#: single precision is off by 6e-8 at most, and a difference of two shares by twice as much.
ROUNDING = 1e-6
#: A label of a trial, and what a column of labels is compared with.
Value = str | float | bool
_MEASURED = ("phase", "step", "loss")


@dataclass(frozen=True)
class Rounding:
    """How near to an edge of a target a number counts as lying on it.

    Attributes:
        share: Tolerance as a share of the size of what is compared; 0 compares to the last
            bit.
        size: Size of the numbers that were rounded, where it may be more than the edge's own:
            1 for shares and for differences of shares.

    Example:
        >>> Rounding(size=1.0).at(0.1), Rounding().at(0.1), Rounding(share=0.0).at(0.1)
        (1e-06, 1e-07, 0.0)
    """

    share: float = ROUNDING
    size: float = 0.0

    def at(self, edge: float) -> float:
        """Return the distance from an edge within which a number still lies on it."""
        return self.share * max(abs(edge), self.size)


_USUAL = Rounding()


class Target(Config):
    """The range of a score, its edges included.

    Attributes:
        least: Lower edge; ``None`` for no lower edge.
        most: Upper edge; ``None`` for no upper edge.

    Raises:
        ConfigError: Both are left out, or the lower edge is above the upper one.

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

    def contains(self, low: float, high: float, rounding: Rounding = _USUAL) -> bool:
        """Return whether all numbers from ``low`` to ``high`` lie in the target.

        Args:
            low: Least of these numbers.
            high: Largest of them.
            rounding: How near to an edge a number lies on it.

        Example:
            >>> Target(least=0.9).contains(0.8999999762, 1.0), Target(least=0.9).contains(0.89, 1.0)
            (True, False)
        """
        return not self.falls_short(low, rounding) and not self.exceeds(high, rounding)

    def falls_short(self, value: float, rounding: Rounding = _USUAL) -> bool:
        """Return whether ``value`` is less than the lower edge, by more than rounding.

        Args:
            value: The number.
            rounding: How near to an edge a number lies on it.
        """
        return self.least is not None and value < self.least - rounding.at(self.least)

    def exceeds(self, value: float, rounding: Rounding = _USUAL) -> bool:
        """Return whether ``value`` is more than the upper edge, by more than rounding.

        Args:
            value: The number.
            rounding: How near to an edge a number lies on it.
        """
        return self.most is not None and value > self.most + rounding.at(self.most)

    def distance(self, value: float) -> float:
        """Return the distance from a value to the nearest edge; negative outside the target."""
        low = math.inf if self.least is None else value - self.least
        high = math.inf if self.most is None else self.most - value
        return float(min(low, high))


class Score(Config):
    """Numbers of one column of a table: one per seed, the mean where it has several rows.

    Made by :func:`number`, :func:`share`, :func:`cosine` or :func:`computed`; narrowed by
    :meth:`at`, spread by :meth:`over`, subtracted by ``-``, and judged by ``>=``, ``<=`` or
    :meth:`within`.

    Attributes:
        table: Name of a table of the recipe, measured or derived.
        column: Column of the numbers.
        where: Values that columns have in the rows that count.
        minus: Values in the rows that are subtracted, seed by seed; empty for none.
        each: Columns over all of whose values the claim has to hold.
        bounds: Least and largest value that the score can have; ``None`` if it has no bounds.
        exact: Whether the numbers are computed and not sampled, so that there is nothing to
            replicate.

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
        """Return the score in fewer rows: those where columns have these values, too."""
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
            ConfigError: The other score is of another column, of the same rows, or one of the
                two is a difference already.
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
        """The largest absolute value that the score can have; 0 where it has no bounds."""
        ends = [abs(end) for end in self.bounds or () if math.isfinite(end)]
        return max(ends, default=0.0)

    @property
    def columns(self) -> set[str]:
        """Every column that the table needs."""
        return {*self.where, *self.minus, *self.each, self.column, "seed"}


@dataclass(frozen=True)
class Judged:
    """A score and its target: what a claim asserts.

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


@dataclass(frozen=True)
class Numbers:
    """The numbers of a score, ready to be judged.

    Attributes:
        cases: The number of each seed, by case; a score without ``each`` has one case, "".
        why: Why they cannot be judged; "" if they can.
        size: Median size of what was subtracted, over all seeds; it says what rounding can
            move.
    """

    cases: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    why: str = ""
    size: float = 0.0

    @property
    def fewest(self) -> int:
        """Number of seeds of the case that has the fewest."""
        return min((len(numbers) for numbers in self.cases.values()), default=0)


def numbers_of(score: Score, tables: Mapping[str, pl.DataFrame], claim: str) -> Numbers:
    """Take the numbers of a claim's score from the tables of a run.

    Args:
        score: Which numbers.
        tables: Tables of the run, by name.
        claim: Id of the claim, for messages.

    Returns:
        The numbers; or the reason why they cannot be judged: no row matches, a run diverged,
        or one of them is not a number.

    Raises:
        DataError: A table, a column or a value of a column is missing.
    """
    cases, size = _cases(score, tables, f"Claim {claim}.")
    if not cases:
        return Numbers(why="no row of the table matches the claim")
    if diverged := _diverged(score, tables):
        return Numbers(why=f"{diverged} of its runs diverged: their numbers mean nothing")
    for case, numbers in cases.items():
        if any(math.isnan(number) for number in numbers.values()):
            return Numbers(why=f"not a number for {case or 'it'}")
    return Numbers(cases, size=size)


def warn_of_divergence(tables: Mapping[str, pl.DataFrame]) -> None:
    """Warn of runs whose loss became infinite or not a number: their other numbers mean nothing.

    Args:
        tables: Tables of a plan, by name; without a table ``losses`` nothing is said.
    """
    runs = diverged_runs(tables)
    if runs.is_empty():
        return
    whole = tables["losses"].n_unique(runs.columns)
    first = ", ".join(f"{name} {value}" for name, value in runs.row(0, named=True).items())
    if _bad(tables["losses"]).filter(step=0).is_empty():
        when, what = "", "lower the rate"
    else:
        when = " before the first update"
        what = "make the logits finite: torch.isfinite(model(prompts)).all() of an untrained model"
    warnings.warn(
        f"{runs.height} of {whole} runs diverged: their loss is infinite or not a number{when}, "
        f"and their measurements are meaningless; {what}. The first: {first}",
        stacklevel=3,
    )


def diverged_runs(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the runs whose loss became infinite or not a number.

    Args:
        tables: Tables of a plan, by name.

    Returns:
        A row per diverged run, with its labels and its seed; no rows where there are no
        losses.
    """
    import polars as pl

    losses = tables.get("losses", pl.DataFrame())
    if "loss" not in losses.columns:
        return pl.DataFrame()
    return _bad(losses).drop(_MEASURED, strict=False).unique(maintain_order=True)


def _bad(losses: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a table of losses whose loss is infinite, not a number or missing."""
    import polars as pl

    return losses.filter(~pl.col("loss").is_finite().fill_null(False))


def _cases(
    score: Score, tables: Mapping[str, pl.DataFrame], hint: str
) -> tuple[dict[str, dict[int, float]], float]:
    """Return the numbers of each case, and the size of what was subtracted."""
    check_names("table", [score.table], tables, error=DataError, hint=hint)
    table = tables[score.table]
    check_names("column", score.columns, table.columns, error=DataError, hint=hint)
    _check_numbers(table, score.column, hint)
    numbers = _per_seed(table, score, score.where, hint)
    size = 0.0
    if score.minus:
        others = _per_seed(table, score, score.minus, hint)
        both = {key: (one, others[key]) for key, one in numbers.items() if key in others}
        numbers = {key: one - other for key, (one, other) in both.items()}
        if both and not table.schema[score.column].is_integer():  # whole numbers are exact
            size = median(max(abs(one), abs(other)) for one, other in both.values())
    groups: dict[str, dict[int, float]] = {}
    for (*values, seed), one in numbers.items():
        case = ", ".join(f"{c} = {_plain(v)}" for c, v in zip(score.each, values, strict=True))
        groups.setdefault(case, {})[seed] = one
    return groups, size


def _check_numbers(table: pl.DataFrame, column: str, hint: str) -> None:
    """Refuse a column that holds no numbers, which have no mean."""
    import polars as pl

    kind = table.schema[column]
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return
    fitting = [name for name in table.columns if table.schema[name].is_numeric()]
    raise DataError(
        f"a claim is about numbers, and column '{column}' holds {kind}, which has no mean; numeric "
        f"columns: {', '.join(fitting)}. {hint}"
    )


def _diverged(score: Score, tables: Mapping[str, pl.DataFrame]) -> int:
    """Return how many runs of a score diverged; 0 where its table does not name runs."""
    import polars as pl

    runs, table = diverged_runs(tables), tables[score.table]
    if runs.is_empty():
        return 0
    every = tables["losses"]
    keys = [name for name in runs.columns if name == "seed" or every[name].n_unique() > 1]
    if any(table.schema.get(name) != runs.schema[name] for name in keys):
        return 0  # its rows are of many runs, or of none
    wheres = (score.where, score.minus) if score.minus else (score.where,)
    rows = pl.concat([table.filter(**where) for where in wheres])
    return runs.join(rows, on=keys, how="semi", nulls_equal=True).n_unique()


def _per_seed(
    table: pl.DataFrame, score: Score, where: Mapping[str, Any], hint: str
) -> dict[tuple[Any, ...], float]:
    """Return the mean of each case and seed, in order; a missing mean is not a number."""
    import polars as pl

    for column, value in where.items():
        try:
            left = table.filter(pl.col(column) == value)
        except pl.exceptions.PolarsError:
            kind = table.schema[column]
            raise DataError(
                f"{column} holds {kind}, and is compared with {value!r}. {hint}"
            ) from None
        if not len(left):
            known = [_plain(one) for one in table[column].unique(maintain_order=True)]
            raise unknown_name(
                f"value of {column}", _plain(value), known, error=DataError, hint=hint
            )
        table = left
    keys = [*score.each, "seed"]
    means = table.group_by(keys).agg(pl.col(score.column).cast(pl.Float64).mean()).sort(keys)
    numbers = means[score.column].fill_null(math.nan)
    return dict(zip(means.select(keys).iter_rows(), numbers, strict=True))


def _plain(value: Any) -> str:
    """Return a value as messages show it."""
    return f"{value:g}" if isinstance(value, float) else str(value)
