"""Claims: a sentence of a paper, a target, and a verdict computed from replicates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import stats

from inweights.config import Config
from inweights.errors import ConfigError, DataError, unknown_name

__all__ = ["Claim", "ClaimResult", "Statement", "Target", "Verdict", "interval", "judge"]

Verdict = Literal["reproduced", "not reproduced", "not run"]

#: Fewer replicates than this give no verdict.
MIN_REPLICATES = 3


class Target(Config):
    """Where a claim's mean has to lie: from ``least`` to ``most``; either may be left open.

    Example:
        >>> Target(least=0.9).text, Target(most=0.15).text, Target(least=0.35, most=0.75).text
        ('≥ 0.9', '≤ 0.15', '0.35 to 0.75')
    """

    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        if self.least is None and self.most is None:
            raise ConfigError("a target needs a least or a most value")

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
        low = np.inf if self.least is None else value - self.least
        high = np.inf if self.most is None else self.most - value
        return float(min(low, high))


class Claim(Config):
    """One claim, as data: which numbers of which table are judged, and against what.

    The replicates are the values of ``column`` in the rows of ``table`` that match ``where``, one
    for each seed (their mean where a seed has several rows). With ``minus`` they are differences,
    seed by seed, to the rows that match ``minus``. With ``each`` the claim has to hold for every
    value of those columns, and the worst one is shown.

    Attributes:
        id: ``<recipe>/<short-name>``.
        text: The sentence.
        place: Where in the paper.
        source: Short name of the paper, or ``ours`` for a claim that is not a paper's.
        published: The number that the paper prints, if it prints one.
        table: Name of a table of the recipe.
        column: The judged column.
        where: Values that columns have in the judged rows.
        minus: Values in the rows that are subtracted.
        each: Columns over all of whose values the claim has to hold.
        targets: Target by scale; a scale without one is ``not run``.
        exact: Whether the numbers are computed, not sampled: one row is then enough for a verdict.
    """

    id: str
    text: str
    place: str
    source: str
    table: str
    column: str
    targets: dict[str, Target]
    published: str | None = None
    where: dict[str, str | float | bool] = {}
    minus: dict[str, str | float | bool] = {}
    each: tuple[str, ...] = ()
    exact: bool = False


@dataclass(frozen=True)
class Statement:
    """Makes the claims of one recipe: what they share is said once.

    Example:
        >>> state = Statement("identity-bridge/fig2", source="identity-bridge", place="Fig. 2")
        >>> state("c1", "At C = 1 it works.", Target(least=0.9), table="t", column="accuracy").id
        'identity-bridge/fig2/c1'
    """

    recipe: str
    source: str
    place: str

    def __call__(
        self,
        name: str,
        text: str,
        target: Target,
        *,
        table: str,
        column: str,
        where: Mapping[str, str | float | bool] | None = None,
        minus: Mapping[str, str | float | bool] | None = None,
        each: tuple[str, ...] = (),
        place: str | None = None,
        published: str | None = None,
        source: str | None = None,
        exact: bool = False,
    ) -> Claim:
        """Return a claim that is judged at the scales ``cpu`` and ``paper``."""
        return Claim(
            id=f"{self.recipe}/{name}",
            text=text,
            place=place or self.place,
            source=source or self.source,
            published=published,
            table=table,
            column=column,
            where=dict(where or {}),
            minus=dict(minus or {}),
            each=each,
            exact=exact,
            targets={"cpu": target, "paper": target},
        )


class ClaimResult(Config):
    """A claim with its verdict, as it stands on the board.

    Attributes:
        measured: Mean over replicates; of the worst case where the claim has several.
        low: Lower end of the 95% confidence interval of the mean; none for what is computed.
        high: Upper end.
        replicates: How many seeds were judged.
        case: Which case was the worst.
        why: Why there is no verdict, where there is none.
    """

    id: str
    text: str
    place: str
    source: str
    published: str | None
    target: str
    measured: float | None
    low: float | None
    high: float | None
    replicates: int
    verdict: Verdict
    case: str = ""
    why: str = ""


def interval(values: Any, confidence: float = 0.95) -> tuple[float, float, float]:
    """Return mean, low and high of the Student interval of the mean of ``values``.

    Example:
        >>> mean, low, high = interval([1.0, 2.0, 3.0])
        >>> mean, round(low, 2), round(high, 2)
        (2.0, -0.48, 4.48)
    """
    sample = np.asarray(values, dtype=float)
    mean = float(sample.mean())
    if len(sample) < 2:
        return mean, mean, mean
    half = float(stats.t.ppf(0.5 + confidence / 2, len(sample) - 1) * stats.sem(sample))
    return mean, mean - half, mean + half


def judge(claim: Claim, tables: Mapping[str, pl.DataFrame] | None, scale: str) -> ClaimResult:
    """Return the verdict on ``claim`` from the tables of a finished recipe, if there are any.

    ``reproduced`` means that the mean over replicates lies in the target, in every case.

    Raises:
        DataError: The claim names a table or column that is not there.
    """
    target = claim.targets.get(scale)
    if target is None:
        return _result(claim, "", "not run", why=f"the claim is not judged at scale '{scale}'")
    if tables is None:
        return _result(claim, target.text, "not run", why=f"no run at scale '{scale}' yet")
    cases = _cases(claim, tables)
    if not cases:
        return _result(claim, target.text, "not run", why="no row of the table matches the claim")
    fewest = min(len(values) for values in cases.values())
    if fewest < MIN_REPLICATES and not claim.exact:
        why = f"{fewest} replicate(s); a verdict needs {MIN_REPLICATES}"
        return _result(claim, target.text, "not run", why=why)
    spans = {case: interval(values) for case, values in cases.items()}
    worst = min(spans, key=lambda case: target.distance(spans[case][0]))
    if any(np.isnan(span[0]) for span in spans.values()):
        worst = next(case for case, span in spans.items() if np.isnan(span[0]))
        return _result(claim, target.text, "not run", why=f"not a number for {worst or 'it'}")
    mean, low, high = spans[worst]
    verdict: Verdict = "reproduced" if target.distance(mean) >= 0 else "not reproduced"
    if claim.exact:
        return _result(claim, target.text, verdict, mean, replicates=len(cases[worst]), case=worst)
    return _result(claim, target.text, verdict, mean, low, high, len(cases[worst]), worst)


def _result(
    claim: Claim,
    target: str,
    verdict: Verdict,
    measured: float | None = None,
    low: float | None = None,
    high: float | None = None,
    replicates: int = 0,
    case: str = "",
    why: str = "",
) -> ClaimResult:
    return ClaimResult(
        id=claim.id,
        text=claim.text,
        place=claim.place,
        source=claim.source,
        published=claim.published,
        target=target,
        measured=measured,
        low=low,
        high=high,
        replicates=replicates,
        verdict=verdict,
        case=case,
        why=why,
    )


def _cases(claim: Claim, tables: Mapping[str, pl.DataFrame]) -> dict[str, list[float]]:
    if claim.table not in tables:
        raise unknown_name("table", claim.table, tables, error=DataError, hint=f"Claim {claim.id}.")
    table = tables[claim.table]
    named = {*claim.where, *claim.minus, *claim.each, claim.column, "seed"}
    for column in named - set(table.columns):
        raise unknown_name(
            "column", column, table.columns, error=DataError, hint=f"Claim {claim.id}."
        )
    judged = _per_seed(table, claim, claim.where)
    keys = [*claim.each, "seed"]
    if claim.minus:
        other = _per_seed(table, claim, claim.minus).rename({claim.column: "_other"})
        judged = judged.join(other, on=keys, how="inner").with_columns(
            pl.col(claim.column) - pl.col("_other")
        )
    groups: dict[str, list[float]] = {}
    for row in judged.sort(keys).iter_rows(named=True):
        case = ", ".join(f"{column} = {_plain(row[column])}" for column in claim.each)
        groups.setdefault(case, []).append(float(row[claim.column]))
    return groups


def _per_seed(table: pl.DataFrame, claim: Claim, where: Mapping[str, Any]) -> pl.DataFrame:
    for column, value in where.items():
        table = table.filter(pl.col(column) == value)
    keys = [*claim.each, "seed"]
    return (
        table.group_by(keys)
        .agg(pl.col(claim.column).cast(pl.Float64).mean())
        .select([*keys, claim.column])
    )


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
