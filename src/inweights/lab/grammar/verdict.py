"""Verdicts: what the interval of a score says of a claim.

A claim is *reproduced* when the whole 95% interval of its score lies in the target, in every case;
*not reproduced* when all of it lies outside, in one case; *undecided* when it crosses the edge.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from inweights.config import Config
from inweights.errors import DataError, unknown_name
from inweights.lab.grammar.claim import Claim, Score, Statement, Target
from inweights.support.intervals import ALPHA, interval, quantile

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "VERDICTS",
    "ClaimResult",
    "Verdict",
    "diverged_runs",
    "judge",
    "tally",
    "tell_divergence",
    "unjudged",
]

Verdict = Literal["reproduced", "not reproduced", "undecided", "not judged"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "not reproduced", "undecided", "not judged")

#: Fewer replicates than this give no verdict.
MIN_REPLICATES = 3
_MEASURED = ("phase", "step", "loss")


class ClaimResult(Config):
    """A claim with its verdict, as in the results table.

    Attributes:
        measured: Mean over replicates; of the deciding case where the claim has several.
        low: Lower end of the confidence interval of the mean; none for what is computed.
        high: Upper end.
        replicates: How many seeds were judged.
        case: Which case decided: the one that is farthest from reproducing.
        why: Why there is no verdict, where there is none.
        needed: About how many seeds would decide an undecided claim, if mean and spread stay.
        level: Confidence of the interval.
        condition: Under which of its recipe's conditions it was judged, where there are several.
    """

    id: str
    text: str
    place: str
    source: str
    published: str | None
    target: Target
    verdict: Verdict
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    replicates: int = 0
    case: str = ""
    why: str = ""
    needed: int | None = None
    level: float = 1 - ALPHA
    check: bool = False
    condition: str = ""


def judge(
    claim: Claim,
    tables: Mapping[str, pl.DataFrame],
    *,
    alpha: float = ALPHA,
    minimum: int = MIN_REPLICATES,
    targets: bool = True,
    strict: bool = True,
) -> ClaimResult:
    """Return the verdict on ``claim`` from the tables of a finished run.

    Args:
        claim: What is claimed.
        tables: Measured and derived tables.
        alpha: Share of true means that an interval may miss.
        minimum: Replicates that a verdict needs.
        targets: Whether the claim is judged; else the numbers are only measured, as at ``smoke``.
        strict: Whether rows or columns that the claim asks for and that are not there are an
            error; else it is not judged, and says why. They may be missing where a setting was
            changed.

    Raises:
        DataError: The claim names a table, a column or a value that is not there.
    """
    try:
        cases = _cases(claim, tables)
    except DataError as error:
        if strict:
            raise
        return unjudged(claim, str(error))
    if not cases:
        return unjudged(claim, "no row of the table matches the claim")
    exact = claim.score.exact
    if diverged := _diverged(claim.score, tables):
        return unjudged(claim, f"{diverged} of its runs diverged: their numbers mean nothing")
    spans = {c: interval(v, alpha, claim.score.bounds) for c, v in cases.items()}
    for case, (mean, _, _) in spans.items():
        if math.isnan(mean):
            return unjudged(claim, f"not a number for {case or 'it'}")
    # The case that is farthest from reproducing: by its mean, and among equal means by its end.
    target = claim.target
    ranked = sorted(
        spans, key=lambda c: (_RANK[_verdict(target, spans[c])], target.distance(spans[c][0]))
    )
    worst = ranked[0]
    mean, low, high = spans[worst]
    result = {"measured": mean, "replicates": len(cases[worst]), "case": worst, "level": 1 - alpha}
    if not exact:
        result |= {"low": low, "high": high}
    fewest = min(len(values) for values in cases.values())
    if not targets:
        return unjudged(claim, "this scale is too small to judge", **result)
    if fewest < minimum and not exact:
        return unjudged(claim, f"{fewest} replicate(s); a verdict needs {minimum}", **result)
    verdict = _verdict(target, spans[worst])
    needed = _needed(target, cases[worst], alpha) if verdict == "undecided" else None
    return _result(claim, verdict, needed=needed, **result)


def tally(claims: Iterable[ClaimResult]) -> dict[str, dict[Verdict, int]]:
    """Count verdicts: of the papers' claims, of our own, and of checks, which hold by construction.

    Example:
        >>> tally([])["papers"]
        {'reproduced': 0, 'not reproduced': 0, 'undecided': 0, 'not judged': 0}
    """
    counts = {kind: dict.fromkeys(VERDICTS, 0) for kind in ("papers", "ours", "checks")}
    for claim in claims:
        kind = "checks" if claim.check else "ours" if claim.source == "ours" else "papers"
        counts[kind][claim.verdict] += 1
    return counts


def unjudged(claim: Claim | Statement, why: str, **result: Any) -> ClaimResult:
    """Return the result of a claim that is not judged, with the reason."""
    return _result(claim, "not judged", why=why, **result)


def tell_divergence(tables: Mapping[str, pl.DataFrame]) -> None:
    """Warn of runs whose loss became infinite or not a number: their other numbers mean nothing.

    Claims about them are not judged: see :func:`judge`.
    """
    runs = diverged_runs(tables)
    if runs.is_empty():
        return
    whole = tables["losses"].n_unique(runs.columns)
    first = ", ".join(f"{name} {value}" for name, value in runs.row(0, named=True).items())
    warnings.warn(
        f"{runs.height} of {whole} runs diverged: their loss is infinite or not a number, and "
        f"their measurements are meaningless; lower the rate. The first: {first}",
        stacklevel=3,
    )


def diverged_runs(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return labels and seeds of the runs whose loss became infinite or not a number."""
    import polars as pl

    losses = tables.get("losses", pl.DataFrame())
    if "loss" not in losses.columns:
        return pl.DataFrame()
    bad = losses.filter(~pl.col("loss").is_finite().fill_null(False))
    return bad.drop(_MEASURED, strict=False).unique(maintain_order=True)


def _result(claim: Claim | Statement, verdict: Verdict, **result: Any) -> ClaimResult:
    about = {
        name: getattr(claim, name)
        for name in ("id", "text", "place", "source", "published", "target", "check", "condition")
    }
    return ClaimResult(**about, verdict=verdict, **result)


#: Order in which cases decide: one failure fails the claim, one open case leaves it open.
_RANK: dict[Verdict, int] = {"not reproduced": 0, "undecided": 1, "reproduced": 2}


def _verdict(target: Target, span: tuple[float, float, float]) -> Verdict:
    _, low, high = span
    if target.distance(low) >= 0 and target.distance(high) >= 0:
        return "reproduced"
    below = target.least is not None and high < target.least
    above = target.most is not None and low > target.most
    return "not reproduced" if below or above else "undecided"


def _needed(target: Target, values: Sequence[float], alpha: float) -> int | None:
    """About how many seeds give an interval that ends at the target's edge, if all else stays."""
    import numpy as np

    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))
    edges = [edge for edge in (target.least, target.most) if edge is not None]
    gap = min(abs(mean - edge) for edge in edges)
    if gap == 0:
        return None
    count = len(values)
    while count < 10_000 and quantile(count - 1, alpha) * spread / math.sqrt(count) > gap:
        count = max(count + 1, int(count * 1.05))
    return count if count < 10_000 else None


def _cases(claim: Claim, tables: Mapping[str, pl.DataFrame]) -> dict[str, list[float]]:
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
    groups: dict[str, list[float]] = {}
    for row in judged.sort(keys).iter_rows(named=True):
        case = ", ".join(f"{column} = {_plain(row[column])}" for column in score.each)
        value = row[score.column]
        groups.setdefault(case, []).append(math.nan if value is None else float(value))
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
