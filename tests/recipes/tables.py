"""Small tables from which others are derived, and functions for comparing them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

Rows = list[tuple[Any, ...]]


def table(columns: str, *rows: tuple[Any, ...], **same: Any) -> pl.DataFrame:
    """Return a table of rows, with further columns that are the same in all of them."""
    made = pl.DataFrame(list(rows), schema=columns.split(), orient="row")
    return made.with_columns(**{name: pl.lit(value) for name, value in same.items()})


def rows(found: pl.DataFrame, columns: str, **where: Any) -> Rows:
    """Return some columns of the rows where others have these values."""
    kept = found.filter(*(pl.col(name) == value for name, value in where.items()))
    return kept.select(columns.split()).rows()


def values(found: pl.DataFrame, columns: str, **where: Any) -> Rows:
    """Return what :func:`rows` returns, with numbers rounded."""
    return [
        tuple(round(v, 6) if isinstance(v, float) else v for v in row)
        for row in rows(found, columns, **where)
    ]


def close(found: Rows, *wanted: tuple[Any, ...]) -> bool:
    """Return whether rows equal the expected ones up to rounding."""
    return len(found) == len(wanted) and all(
        one == pytest.approx(other) for one, other in zip(found, wanted, strict=True)
    )


def holds(found: pl.DataFrame, **columns: list[Any]) -> None:
    """Check that columns have the given values, row by row."""
    for name, wanted in columns.items():
        have = found[name].to_list()
        assert have == pytest.approx(wanted, abs=1e-12), (name, have)


ROLES = ("category", "similarity", "attribution")


def crossed(labels: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Return the cross product of the rows of labels."""
    return labels.join(others, how="cross")


def told(
    labels: str, values: tuple[Any, ...], facts: Sequence[float], right: float
) -> pl.DataFrame:
    """Return accuracies of one trial: facts by role, the conclusion, and an unrelated role."""
    return crossed(
        table(labels, values),
        table(
            "part role distribution accuracy",
            *(
                ("facts", role, "in", fact)
                for role, fact in zip(ROLES, facts, strict=True)
            ),
            ("queries", "conclusion", "out", right),
            ("queries", "conclusion", "in", 0.77),
        ),
    )
