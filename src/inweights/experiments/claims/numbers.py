"""Read the numbers of a score from the tables of a run, and find runs that diverged.

:func:`numbers_of` returns the :class:`Numbers` that :mod:`~.verdict` judges.
:func:`warn_of_divergence` is called whenever the tables of runs are joined or loaded.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from inweights.errors import DataError, check_names, unknown_name

if TYPE_CHECKING:
    import polars as pl
from inweights.experiments.claims.score import Score

_MEASURED = ("phase", "step", "loss")


@dataclass(frozen=True)
class Numbers:
    """The numbers of a score, or the reason why there are none.

    Attributes:
        cases: The numbers, by case and seed. The name of a case contains the values of
            the score's columns ``each``, such as ``model = gpt``. A score without
            ``each`` has a single case, whose name is empty.
        why: Reason why the numbers cannot be judged; empty if they can be judged.
        size: Typical absolute value of the two numbers whose difference is judged,
            which determines how large rounding errors can be. It is the median, over
            all cases and seeds, of the larger of the two absolute values. It is 0 if
            nothing is subtracted, or if the numbers are integers.
    """

    cases: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    why: str = ""
    size: float = 0.0

    @property
    def fewest(self) -> int:
        """Smallest number of seeds of any case; 0 if there are no cases.

        A case is a combination of values of the score's columns ``each``.
        """
        return min(map(len, self.cases.values()), default=0)


def numbers_of(score: Score, tables: Mapping[str, pl.DataFrame], claim: str) -> Numbers:
    """Read the numbers of a claim's score from the tables of a run.

    Args:
        score: The score, which selects table, column and rows.
        tables: Tables of the run, by name.
        claim: Id of the claim, for error messages.

    Returns:
        The numbers by case and seed, each the mean over the rows of that case and seed.
        If they cannot be judged, there are no cases, and ``why`` gives the reason: no
        row matches (the table is empty and the score selects no values, or the two
        parts of a difference have no case and seed in common), a run to which a
        selected row belongs diverged (:func:`diverged_runs`), or the mean of a case and
        seed is NaN or missing.

    Raises:
        DataError: The table or a column of the score is missing; the column contains
            values other than numbers and Booleans; no row has all the values that the
            score selects; or one of these values has a different type than its column.
    """
    cases, size = _cases(score, tables, f"Claim {claim}.")
    if not cases:
        return Numbers(why="no row of the table matches the claim")
    if diverged := _diverged(score, tables):
        return Numbers(
            why=f"{diverged} of its runs diverged: their numbers are meaningless"
        )
    # If a seed has no number, the claim is not judged: leaving the seed out would be a
    # selection.
    for case, numbers in cases.items():
        if any(map(math.isnan, numbers.values())):
            return Numbers(why=f"not a number for {case or 'it'}")
    return Numbers(cases, size=size)


def warn_of_divergence(tables: Mapping[str, pl.DataFrame]) -> None:
    """Warn about runs whose loss is infinite, NaN or missing, as their numbers are meaningless.

    The warning is a ``UserWarning`` that states how many runs diverged and names the
    first one.

    Args:
        tables: Tables of a plan, by name. Without a table ``losses`` that has a column
            ``loss``, there is no warning.
    """
    runs = diverged_runs(tables)
    if runs.is_empty():
        return
    whole = tables["losses"].n_unique(runs.columns)
    first = ", ".join(
        f"{name} {value}" for name, value in runs.row(0, named=True).items()
    )
    if _bad(tables["losses"]).filter(step=0).is_empty():
        when = ""
        what = "lower the rate"
    else:
        when = " before the first update"
        what = "make the logits finite: torch.isfinite(model(prompts)).all() of an untrained model"
    warnings.warn(
        f"{runs.height} of {whole} runs diverged: their loss is infinite or not a number{when}, "
        f"and their measurements are meaningless; {what}. The first: {first}",
        stacklevel=3,
    )


def diverged_runs(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the runs with a recorded loss that is infinite, NaN or missing.

    Args:
        tables: Tables of a plan, by name. Only ``losses`` is read, with its columns
            ``loss``, ``seed`` and the labels.

    Returns:
        One row per diverged run, with its labels and its ``seed``, in the order of the
        table; no rows if no run diverged. If there is no table ``losses`` with a column
        ``loss``, the result is a table without rows and columns.
    """
    import polars as pl

    losses = tables.get("losses", pl.DataFrame())
    if "loss" not in losses.columns:
        return pl.DataFrame()
    return _bad(losses).drop(_MEASURED, strict=False).unique(maintain_order=True)


def _bad(losses: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a table whose ``loss`` is infinite, NaN or missing."""
    import polars as pl

    return losses.filter(~pl.col("loss").is_finite().fill_null(False))


def _cases(
    score: Score, tables: Mapping[str, pl.DataFrame], hint: str
) -> tuple[dict[str, dict[int, float]], float]:
    """Return the numbers of each case and, for a difference, their typical size."""
    check_names("table", [score.table], tables, error=DataError, hint=hint)
    table = tables[score.table]
    check_names("column", score.columns, table.columns, error=DataError, hint=hint)
    _check_numbers(table, score.column, hint)
    numbers = _per_seed(table, score, score.where, hint)
    size = 0.0
    if score.minus:
        others = _per_seed(table, score, score.minus, hint)
        both = {
            key: (one, others[key]) for key, one in numbers.items() if key in others
        }
        numbers = {key: one - other for key, (one, other) in both.items()}
        # Differences of integers have no rounding errors.
        if both and not table.schema[score.column].is_integer():
            size = median(max(abs(one), abs(other)) for one, other in both.values())
    groups: dict[str, dict[int, float]] = {}
    for (*values, seed), one in numbers.items():
        case = ", ".join(
            f"{c} = {_plain(v)}" for c, v in zip(score.each, values, strict=True)
        )
        groups.setdefault(case, {})[seed] = one
    return groups, size


def _check_numbers(table: pl.DataFrame, column: str, hint: str) -> None:
    """Raise an error if a column contains no numbers, so that it has no mean."""
    import polars as pl

    kind = table.schema[column]
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return
    fitting = [name for name in table.columns if table.schema[name].is_numeric()]
    raise DataError(
        f"the column of a claim must contain numbers, but '{column}' contains {kind}; numeric "
        f"columns: {', '.join(fitting)}. {hint}"
    )


def _diverged(score: Score, tables: Mapping[str, pl.DataFrame]) -> int:
    """Return the number of a score's runs that diverged; 0 if its rows are not per run."""
    import polars as pl

    runs = diverged_runs(tables)
    table = tables[score.table]
    if runs.is_empty():
        return 0
    every = tables["losses"]
    keys = [
        name for name in runs.columns if name == "seed" or every[name].n_unique() > 1
    ]
    if any(table.schema.get(name) != runs.schema[name] for name in keys):
        return 0  # the rows do not belong to individual runs of the losses
    wheres = (score.where, score.minus) if score.minus else (score.where,)
    rows = pl.concat([table.filter(**where) for where in wheres])
    return runs.join(rows, on=keys, how="semi", nulls_equal=True).n_unique()


def _per_seed(
    table: pl.DataFrame, score: Score, where: Mapping[str, Any], hint: str
) -> dict[tuple[Any, ...], float]:
    """Return the mean of each case and seed, sorted by case and seed; NaN if it is missing."""
    import polars as pl

    for column, value in where.items():
        try:
            left = table.filter(pl.col(column) == value)
        except pl.exceptions.PolarsError:
            kind = table.schema[column]
            raise DataError(
                f"the column '{column}' contains {kind}, but is compared with {value!r}. {hint}"
            ) from None
        if not len(left):
            known = list(map(_plain, table[column].unique(maintain_order=True)))
            raise unknown_name(
                f"value of {column}", _plain(value), known, error=DataError, hint=hint
            )
        table = left
    keys = [*score.each, "seed"]
    means = (
        table.group_by(keys)
        .agg(pl.col(score.column).cast(pl.Float64).mean())
        .sort(keys)
    )
    # A seed without any value has a null mean, which becomes NaN so that it is noticed.
    numbers = means[score.column].fill_null(math.nan)
    return dict(zip(means.select(keys).iter_rows(), numbers, strict=True))


def _plain(value: Any) -> str:
    """Return a value as text for error messages."""
    return f"{value:g}" if isinstance(value, float) else str(value)
