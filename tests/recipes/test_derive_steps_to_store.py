"""Derived tables of Figure 6: when edges are stored and embeddings become geometric."""

from __future__ import annotations

import polars as pl
import pytest
from tests.recipes.tables import rows, table

from inweights.recipes.geometric_memory import fig6
from inweights.recipes.geometric_memory.common import (
    BF16,
    CODE,
    FROZEN,
    GPT,
    NN,
    NODE2VEC,
)


def courses(column: str, runs: dict[tuple[str, str], dict[int, float]]) -> pl.DataFrame:
    """Return the values of a column at steps, by architecture and horizon, on the cycle."""
    values = (
        (*run, step, y) for run, course in runs.items() for step, y in course.items()
    )
    return table(f"architecture horizon step {column}", *values, graph="cycle", seed=3)


LATE_NN, SLOW_NN = (NN, fig6.LATE), (NN, fig6.SLOW)
EARLY_NN, EARLY_LIST = (NN, fig6.EARLY), (FROZEN, fig6.EARLY)
LATE_GPT, LATE_NODE2VEC = (GPT, fig6.LATE), (NODE2VEC, fig6.LATE)


@pytest.fixture
def figure6() -> dict[str, pl.DataFrame]:
    """Return tables of recall, margins, and energy in two eigenspaces."""
    recall = {
        EARLY_LIST: {0: 0.2, 1: 0.9, 2: 1.0, 3: 0.9},
        EARLY_NN: {0: 0.1, 1: 1.0, 2: 1.0, 20: 1.0, 21: 1.0},
        LATE_NN: {0: 0.5, 100: 0.5, 200: 0.5},
        SLOW_NN: {0: 0.0, 100: 1.0, 200: 1.0},
        LATE_GPT: {0: 0.1, 5: 0.6, 10: 1.0},
    }
    margin = {
        EARLY_NN: {0: -1.0, 1: -0.5, 2: 0.0, 20: 0.2, 21: 0.3},
        LATE_NN: {0: -1.0, 100: 0.5, 200: -0.3},
        SLOW_NN: {0: -1.0, 100: 0.0, 200: 0.6},
    }
    energy = {
        EARLY_NN: {0: 0.0, 1: 0.2, 2: 0.3, 20: 0.5, 21: 0.5},
        LATE_NODE2VEC: {0: 0.0, 10: 0.1, 20: 0.4, 30: 0.6},
    }
    least = courses("margin", margin).with_columns(
        over=pl.lit("min"), rivals=pl.lit("nodes")
    )
    least = least.with_columns(condition=pl.lit(BF16))
    others = (
        least.with_columns(margin=5.0, over=pl.lit("max")),
        least.with_columns(margin=5.0, rivals=pl.lit("vocabulary")),
        least.filter(pl.col("horizon") == fig6.LATE).with_columns(
            margin=7.0, condition=pl.lit(CODE)
        ),
    )
    first = courses("energy", energy).with_columns(
        space=0, null_mean=0.1, null_high=0.2
    )
    second = first.with_columns(energy=1 - pl.col("energy"), space=1)
    return fig6.derive(
        {
            "recall": courses("recall", recall),
            "margin": pl.concat([least, *others]),
            "energy": pl.concat([first, second]),
            "correlation": courses("spearman", {LATE_GPT: {0: 0.0, 5: -0.8, 10: -0.6}}),
        }
    )


def test_fig6_first_steps_and_half_times(figure6) -> None:
    """Half of the peak is reached at step 2 (TinyNN's energy), 20 (Node2Vec's) and 5 (-ρ)."""
    times = "architecture horizon stored positive half_time lag ratio"
    assert rows(figure6["times"], times) == [
        (FROZEN, "early", 2.0, None, None, None, None),
        (NN, "early", 1.0, 20.0, 2.0, 1.0, 20.0),
        (NN, "late", 201.0, 100.0, None, None, 100 / 201),
        (NN, fig6.SLOW, 100.0, 200.0, None, None, 2.0),
        (GPT, "late", 10.0, None, None, None, None),
    ]
    assert rows(figure6["free"], "horizon lag ratio") == [("early", 1.0, 20.0)]
    assert rows(figure6["gpt"], "architecture half_time stored lag") == [
        (GPT, 5.0, 10.0, -5.0)
    ]
    assert rows(figure6["node2vec"], "half_time") == [(20.0,)]


def test_fig6_margins_soon_and_at_the_end(figure6) -> None:
    kept, judged = "horizon step margin stored", {"condition": BF16}
    soon = [("late", 100, 0.5, 1.0), (fig6.SLOW, 100, 0.0, 0.0)]
    assert rows(figure6["soon"], kept, **judged) == soon
    end = [("late", 200, -0.3, 0.0), (fig6.SLOW, 200, 0.6, 1.0)]
    assert rows(figure6["end"], kept, **judged) == end
    assert rows(figure6["end"], kept, condition=CODE) == [("late", 200, 7.0, 1.0)]
    usual, slow = "β₂ = .999, the default", "β₂ = .9995"
    assert rows(figure6["margins"], "moment margin", **judged) == [
        (usual, 0.5),
        (usual, -0.3),
        (slow, 0.0),
        (slow, 0.6),
    ]


def test_fig6_curves_show_twenty_steps(figure6) -> None:
    values = {
        name: [y for (y,) in rows(figure6["curves"], "value", series=name)]
        for name in figure6["curves"]["series"].unique(maintain_order=True)
    }
    assert values == {
        "recall, frozen": [0.2, 0.9, 1.0, 0.9],
        "recall, free": [0.1, 1.0, 1.0, 1.0],
        "energy in the top eigenspaces, free": [0.0, 0.2, 0.3, 0.5],
    }
    assert sorted(rows(figure6["gpt_curves"], "series step value")) == [
        ("geometry", 0, 0.0),
        ("geometry", 5, 0.8),
        ("geometry", 10, 0.6),
        ("recall", 0, 0.1),
        ("recall", 5, 0.6),
        ("recall", 10, 1.0),
    ]
