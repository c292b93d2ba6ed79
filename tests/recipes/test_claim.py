"""Verdicts are computed from replicates, and cannot be had from fewer than three."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from inweights.errors import ConfigError, DataError
from inweights.recipes.claim import Claim, Target, interval, judge


def claim(**changes: object) -> Claim:
    base = {
        "id": "a/b/c",
        "text": "It works.",
        "place": "Fig. 1",
        "source": "ours",
        "table": "t",
        "column": "accuracy",
        "targets": {"cpu": Target(least=0.5)},
    }
    return Claim(**{**base, **changes})  # type: ignore[arg-type]


TABLE = pl.DataFrame(
    {
        "model": ["a"] * 4 + ["b"] * 4,
        "seed": [0, 1, 2, 3] * 2,
        "accuracy": [0.6, 0.7, 0.8, 0.9, 0.1, 0.2, 0.3, 0.8],
    }
)


def test_interval_is_students() -> None:
    values = [0.2, 0.5, 0.9, 0.4]
    mean, low, high = interval(values)
    expected = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert mean == pytest.approx(0.5)
    assert (low, high) == pytest.approx(expected)
    assert interval([0.3]) == (0.3, 0.3, 0.3)


def test_verdicts() -> None:
    good = judge(claim(where={"model": "a"}), {"t": TABLE}, "cpu")
    assert (good.verdict, good.measured, good.replicates) == ("reproduced", pytest.approx(0.75), 4)
    bad = judge(claim(where={"model": "b"}), {"t": TABLE}, "cpu")
    assert (bad.verdict, bad.measured) == ("not reproduced", pytest.approx(0.35))


def test_each_case_has_to_hold_and_the_worst_is_shown() -> None:
    result = judge(claim(each=("model",)), {"t": TABLE}, "cpu")
    assert (result.verdict, result.case) == ("not reproduced", "model = b")


def test_differences_are_paired_by_seed() -> None:
    shuffled = TABLE.sample(fraction=1.0, shuffle=True, seed=0)
    result = judge(claim(where={"model": "a"}, minus={"model": "b"}), {"t": shuffled}, "cpu")
    assert result.measured == pytest.approx(0.4)
    assert result.low == pytest.approx(interval([0.5, 0.5, 0.5, 0.1])[1])


@pytest.mark.parametrize(
    ("tables", "scale", "why"),
    [
        ({"t": TABLE}, "smoke", "not judged at scale"),
        (None, "cpu", "no run"),
        ({"t": TABLE.filter(pl.col("seed") < 2)}, "cpu", "2 replicate"),
        ({"t": TABLE.clear()}, "cpu", "no row"),
        ({"t": TABLE.with_columns(accuracy=pl.lit(float("nan")))}, "cpu", "not a number"),
    ],
)
def test_no_verdict_without_evidence(tables, scale: str, why: str) -> None:
    result = judge(claim(where={"model": "a"}), tables, scale)
    assert result.verdict == "not run"
    assert result.measured is None
    assert why in result.why


def test_unknown_table_and_column_name_the_nearest() -> None:
    with pytest.raises(DataError, match="did you mean 'accuracy'"):
        judge(claim(column="acuracy"), {"t": TABLE}, "cpu")
    with pytest.raises(DataError, match="unknown table 't'"):
        judge(claim(), {"tt": TABLE}, "cpu")


def test_a_target_has_an_end() -> None:
    with pytest.raises(ConfigError, match="least or a most"):
        Target()
    assert Target(least=0.1, most=0.3).distance(0.2) == pytest.approx(0.1)
    assert Target(most=0.3).distance(0.5) == pytest.approx(-0.2)
