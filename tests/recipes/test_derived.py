"""Derived tables, computed by hand from small tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inweights.recipes.shared.derived import (
    compositions,
    correlation,
    excess,
    extremes,
    gain,
    half_time,
    memorised,
)
from inweights.recipes.shared.derived_templates import blocks, own_peaks

ACCURACY = pl.DataFrame(
    [
        ("a", 0, "facts", "in", "first_hop", 0.9),
        ("a", 0, "facts", "in", "identity", 0.7),
        ("a", 0, "queries", "out", "composition", 0.1),
        ("a", 0, "queries", "in", "composition", 0.2),
        ("b", 1, "facts", "in", "first_hop", 0.6),
        ("b", 0, "facts", "in", "first_hop", 1.0),
        ("b", 0, "queries", "out", "composition", 0.3),
    ],
    schema=["model", "seed", "part", "distribution", "role", "accuracy"],
    orient="row",
)


def test_compositions_are_queries_of_one_distribution() -> None:
    assert compositions(ACCURACY)["accuracy"].to_list() == [0.1, 0.3]
    assert compositions(ACCURACY, "in")["accuracy"].to_list() == [0.2]


def test_memorised_is_the_role_known_least() -> None:
    """The queries of a trial, here worse than its facts, are ignored."""
    found = memorised(ACCURACY, ["model"])
    assert found.rows() == [("a", 0, 0.7), ("b", 1, 0.6), ("b", 0, 1.0)]


def test_excess_over_chance() -> None:
    table = pl.DataFrame(
        {"complexity": [1, 2, 4], "accuracy": [0.9, 0.75, 0.2], "best": [0, 1, 1]}
    )
    found = excess(table)
    assert found["complexity"].to_list() == [2, 4]
    assert found["one_over_c"].to_list() == [0.5, 0.25]
    assert found["excess"].to_list() == pytest.approx([0.25, -0.05])
    assert excess(table, "best")["excess"].to_list() == [0.5, 0.75]


def test_extremes_of_each_trial() -> None:
    table = pl.DataFrame(
        {
            "n": [3, 3, 3, 5, 3],
            "seed": [0, 0, 1, 0, 0],
            "margin": [0.4, -0.2, 1.0, 2.0, 0.3],
        }
    )
    found = extremes(table, ["n"])
    assert found.columns == ["n", "seed", "least", "largest"]
    assert found.rows() == [(3, 0, -0.2, 0.4), (3, 1, 1.0, 1.0), (5, 0, 2.0, 2.0)]


def test_half_time_is_half_way_to_the_peak() -> None:
    """``a`` rises from .2 to its peak .8, and reaches .5 at step 20; rows are in any order.

    ``b`` falls from its start, which is its peak, so half is reached at once. ``c``
    reaches half exactly.
    """
    steps = [30, 0, 10, 20, 40]
    table = pl.concat(
        pl.DataFrame({"who": [who] * 5, "step": steps, "value": values})
        for who, values in (
            ("a", [0.8, 0.2, 0.49, 0.6, 0.3]),
            ("b", [0.1, 0.9, 0.8, 0.3, 0.0]),
            ("c", [0.75, 0.0, 0.25, 0.5, 1.0]),
        )
    )
    found = half_time(table, "value", ["who"])
    assert dict(found.rows()) == {"a": 20.0, "b": 0.0, "c": 20.0}
    assert found.schema["half_time"] == pl.Float64


@given(
    st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=12), st.integers(0, 10**6)
)
def test_half_time_of_any_curve(values: list[float], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(values))
    table = pl.DataFrame({"run": 0, "step": 3 * order, "v": np.array(values)[order]})
    half = (values[0] + max(values)) / 2
    first = next(i for i, value in enumerate(values) if value >= half)
    assert half_time(table, "v", ["run"])["half_time"].to_list() == [3 * first]


def test_correlation_within_each_group() -> None:
    """Correlations are computed within groups; over both groups the result would differ."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 20))
    y[10:] += 50
    table = pl.DataFrame({"seed": [0] * 10 + [1] * 10, "x": x, "y": y})
    found = correlation(table, "x", "y", ["seed"])
    expected = [
        np.corrcoef(x[part], y[part])[0, 1] for part in (slice(10), slice(10, None))
    ]
    assert found["correlation"].to_list() == pytest.approx(expected)
    up = pl.DataFrame(
        {"seed": [0, 0, 0], "x": [1.0, 2.0, 3.0], "y": [-2.0, -4.0, -6.0]}
    )
    assert correlation(up, "x", "y", ["seed"])["correlation"].item() == pytest.approx(
        -1
    )


def test_gain_over_the_row_that_matches() -> None:
    table = pl.DataFrame(
        {
            "seed": [0, 0, 1, 1, 2],
            "init": ["small", "standard", "small", "standard", "small"],
            "decay": [0.0, 0.0, 0.0, 0.0, 0.0],
            "value": [0.9, 0.4, 0.7, 0.8, 1.0],
        }
    )
    found = gain(table, "value", {"init": "standard", "decay": 0.0}, ["seed"]).sort(
        "seed", "init"
    )
    # Seed 2 has no counterpart.
    assert found["seed"].to_list() == [0, 0, 1, 1]
    assert found["gain"].to_list() == pytest.approx([0.5, 0.0, -0.1, 0.0])
    assert gain(table, "value", {"init": "standard", "decay": 1.0}, ["seed"]).is_empty()


def tokens(*rows: tuple[str, str, dict[str, float]]) -> pl.DataFrame:
    """Return a table of logits over bridges ``b`` and objects ``c``."""
    groups = {"b": "bridge", "c": "object"}
    return pl.DataFrame(
        [
            (0, row, group, column, groups[column[0]], value)
            for row, group, values in rows
            for column, value in values.items()
        ],
        schema=["seed", "row", "row_group", "column", "column_group", "value"],
        orient="row",
    )


TEMPLATES = tokens(
    (
        "a1",
        "subject",
        {"b1": 3.0, "b2": 1.0, "b3": 0.0, "c1": 2.0, "c2": 5.0, "c3": 1.0},
    ),
    (
        "a2",
        "subject",
        {"b1": 4.0, "b2": 2.0, "b3": 1.0, "c1": 0.0, "c2": 6.0, "c3": -1.0},
    ),
    (
        "b1",
        "bridge",
        {"b1": 9.0, "b2": 8.0, "b3": 7.0, "c1": 1.0, "c2": 0.0, "c3": -3.0},
    ),
    (
        "r1",
        "first_relation",
        {"b1": 9.0, "b2": 0.0, "b3": 0.0, "c1": 0.0, "c2": 0.0, "c3": 0.0},
    ),
)


def test_own_peaks_by_block() -> None:
    """``a1`` and ``a2`` both peak on the bridge ``b1``, and on the object ``c2``."""
    found = own_peaks(TEMPLATES, ["seed"])
    shares = {(r, c): own for _, r, c, own in found.rows()}
    assert shares == {
        ("subject", "bridge"): 0.5,
        ("subject", "object"): 0.5,
        ("bridge", "bridge"): 1.0,
        ("bridge", "object"): 1.0,
    }


def test_numbers_are_whole() -> None:
    """``a1`` and ``b11`` have different numbers, although one begins with the other."""
    table = tokens(("a1", "subject", {"b1": 0.0, "b11": 1.0}))
    assert own_peaks(table, ["seed"])["own"].to_list() == [0.0]


def test_contrast_and_spread_of_blocks() -> None:
    found = {(r, c): (x, s) for _, r, c, x, s in blocks(TEMPLATES, ["seed"]).rows()}
    # Own: 3 and 2; others: 1, 0, 4, 1.
    assert found["subject", "bridge"] == pytest.approx((2.5 - 1.5, 4.0))
    # Own: 2 and 6; others: 5, 1, 0, -1.
    assert found["subject", "object"] == pytest.approx((4.0 - 1.25, 6.0))
    assert found["bridge", "bridge"] == pytest.approx((9.0 - 7.5, 1.0))
    assert found["bridge", "object"] == pytest.approx((1.0 + 1.5, 3.0))
    assert len(found) == 4


def test_groups_are_kept_apart() -> None:
    two = pl.concat(
        [
            TEMPLATES,
            TEMPLATES.with_columns(
                pl.lit(1).cast(pl.Int64).alias("seed"), value=-pl.col("value")
            ),
        ]
    )
    for function, column in ((blocks, "contrast"), (own_peaks, "own")):
        first, second = (
            function(two, ["seed"]).filter(seed=seed)[column].to_list()
            for seed in (0, 1)
        )
        assert first == function(TEMPLATES, ["seed"])[column].to_list()
        assert first != second
