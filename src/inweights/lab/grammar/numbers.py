"""The numbers of a claim: one for each case and seed, taken from the tables of a run."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inweights.errors import DataError, unknown_name
from inweights.lab.grammar.claim import Claim, Score

if TYPE_CHECKING:
    import polars as pl

_MEASURED = ("phase", "step", "loss")


@dataclass(frozen=True)
class Numbers:
    """What is judged."""

    cases: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    why: str = ""

    @property
    def fewest(self) -> int:
        """Seeds of the case that has the fewest."""
        return min((len(numbers) for numbers in self.cases.values()), default=0)


def numbers_of(claim: Claim, tables: Mapping[str, pl.DataFrame]) -> Numbers:
    """Return the numbers of a claim, with the reason where they cannot be judged."""
    cases = _cases(claim, tables)
    if not cases:
        return Numbers(why="no row of the table matches the claim")
    if diverged := _diverged(claim.score, tables):
        return Numbers(why=f"{diverged} of its runs diverged: their numbers mean nothing")
    for case, numbers in cases.items():
        if any(math.isnan(number) for number in numbers.values()):
            return Numbers(why=f"not a number for {case or 'it'}")
    return Numbers(cases)


def tell_divergence(tables: Mapping[str, pl.DataFrame]) -> None:
    """Warn of runs whose loss became infinite or not a number: their other numbers mean nothing.

    Claims about them are not judged: see :func:`judge`.
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
    """Return labels and seeds of the runs whose loss became infinite or not a number."""
    import polars as pl

    losses = tables.get("losses", pl.DataFrame())
    if "loss" not in losses.columns:
        return pl.DataFrame()
    return _bad(losses).drop(_MEASURED, strict=False).unique(maintain_order=True)


def _bad(losses: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return losses.filter(~pl.col("loss").is_finite().fill_null(False))


def _cases(claim: Claim, tables: Mapping[str, pl.DataFrame]) -> dict[str, dict[int, float]]:
    import polars as pl

    score = claim.score
    hint = f"Claim {claim.id}."
    if score.table not in tables:
        raise unknown_name("table", score.table, tables, error=DataError, hint=hint)
    table = tables[score.table]
    for column in score.columns - set(table.columns):
        raise unknown_name("column", column, table.columns, error=DataError, hint=hint)
    judged = _per_seed(table, score, score.where, hint)
    keys = [*score.each, "seed"]
    if score.minus:
        other = _per_seed(table, score, score.minus, hint)
        judged = judged.join(
            other.rename({score.column: "_other"}), on=keys, how="inner"
        ).with_columns(pl.col(score.column) - pl.col("_other"))
    groups: dict[str, dict[int, float]] = {}
    for row in judged.sort(keys).iter_rows(named=True):
        case = ", ".join(f"{column} = {_plain(row[column])}" for column in score.each)
        value = row[score.column]
        number = math.nan if value is None else float(value)
        groups.setdefault(case, {})[row["seed"]] = number
    return groups


def _diverged(score: Score, tables: Mapping[str, pl.DataFrame]) -> int:
    """How many of the runs that a score is about diverged, where its table tells runs apart."""
    import polars as pl

    runs, table = diverged_runs(tables), tables[score.table]
    if runs.is_empty():
        return 0
    every = tables["losses"]
    keys = [name for name in runs.columns if name == "seed" or every[name].n_unique() > 1]
    if any(table.schema.get(name) != runs.schema[name] for name in keys):
        return 0  # its rows are of many runs, or of none
    found = [runs.clear()]
    for where in (score.where, score.minus) if score.minus else (score.where,):
        rows = table.filter(*(pl.col(column) == value for column, value in where.items()))
        found.append(runs.join(rows, on=keys, how="semi", nulls_equal=True))
    return pl.concat(found).n_unique()


def _per_seed(
    table: pl.DataFrame, score: Score, where: Mapping[str, Any], hint: str
) -> pl.DataFrame:
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
    return (
        table.group_by(keys)
        .agg(pl.col(score.column).cast(pl.Float64).mean())
        .select([*keys, score.column])
    )


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
