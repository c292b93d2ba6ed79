"""Derived tables of the tiny graphs, each from a small table and worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from inweights.config import apply_overrides
from inweights.errors import ConfigError
from inweights.recipes.beyond import real_graphs
from inweights.recipes.geometric_memory import derived
from inweights.recipes.geometric_memory import fig1, fig5, fig6, fig7, fig8, fig9, filming
from inweights.recipes.geometric_memory.common import (
    BF16,
    CODE,
    FROZEN,
    GPT,
    NN,
    NODE2VEC,
    PLAIN,
)
from inweights.worlds import Graph

Rows = list[tuple[Any, ...]]


def table(columns: str, *rows: tuple[Any, ...], **same: Any) -> pl.DataFrame:
    """Return a table of rows, with further columns that are the same in all of them."""
    made = pl.DataFrame(list(rows), schema=columns.split(), orient="row")
    return made.with_columns(**{name: pl.lit(value) for name, value in same.items()})


def rows(found: pl.DataFrame, columns: str, **where: Any) -> Rows:
    """Return some columns of the rows where others have these values."""
    kept = found.filter(*(pl.col(name) == value for name, value in where.items()))
    return kept.select(columns.split()).rows()


def close(found: Rows, *wanted: tuple[Any, ...]) -> bool:
    """Whether rows are those wanted, but for rounding."""
    return len(found) == len(wanted) and all(
        one == pytest.approx(other) for one, other in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize("figure", [fig1, fig5, fig6, fig7, fig8, fig9])
def test_other_graphs_are_refused(figure: Any) -> None:
    with pytest.raises(ConfigError, match="gird"):
        apply_overrides(figure.Settings(), ["graphs=['gird']"])


def film(gram: np.ndarray, steps: range, **labels: Any) -> pl.DataFrame:
    """Return a film that stands still, of one seed."""
    lower = gram[np.tril_indices(len(gram))].tolist()
    return pl.DataFrame(
        {"step": list(steps), "gram": [lower] * len(steps)},
        schema_overrides={"gram": pl.List(pl.Float32)},
    ).with_columns(
        recall=pl.lit(0.5),
        recall_others=pl.lit(0.75),
        seed=pl.lit(7),
        **{name: pl.lit(value) for name, value in labels.items()},
    )


#: Of the path a-b-c: neighbours are alike in the first, and the ends are in the second.
NEAR = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]])
ENDS = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]])


def test_pictures_of_films() -> None:
    """Forty frames of a long film stay; the start is no part of the curve."""
    long = film(NEAR, range(0, 1000, 10), graph="path", architecture=NODE2VEC)
    short = film(ENDS, range(3), graph="path", architecture=GPT)
    correlation = ((NODE2VEC, -0.9), (GPT, 0.2), (FROZEN, -0.1))
    recall = ((NODE2VEC, 0.1, 0.8), (GPT, 0.6, 0.3))
    made = filming.pictures(
        {
            "film": pl.concat([long, short]),
            "correlation": table("architecture spearman", *correlation, graph="path"),
            "recall": table("architecture recall recall_others", *recall),
        },
        {"path": Graph(shape="edges", links=[["a", "b"], ["b", "c"]])},
    )
    assert 30 <= len(rows(made["films"], "step", architecture=NODE2VEC)) <= 40
    keys = "architecture seed step"
    assert sorted(rows(made["film"], keys)) == sorted(rows(made["films"], keys))
    assert rows(made["films"], "recall seed", architecture=GPT, step=2) == [(0.75, 7)]
    # Ranks of cosine against hops: perfect, and the reverse.
    assert close(rows(made["curves"], "step spearman", architecture=GPT), (1, 1.0), (2, 1.0))
    assert close(rows(made["films"], "spearman", architecture=NODE2VEC, step=0), (-1.0,))
    assert rows(made["graphs"], "graph nodes") == [("path", ["a", "b", "c"])]
    assert rows(made["correlation"], "architecture size") == [
        (FROZEN, 0.1), (GPT, 0.2), (NODE2VEC, 0.9),
    ]  # fmt: skip
    assert rows(made["stored"], "architecture edges") == [(NODE2VEC, 0.8), (GPT, 0.6)]


def test_fig1_looks_at_graphs_in_order() -> None:
    """On the ring in order a Gram matrix that falls with the hops has the rank correlation -1."""
    apart = np.abs(np.subtract.outer(np.arange(15), np.arange(15)))
    ring = 8.0 - np.minimum(apart, 15 - apart)
    labels = {"graph": "cycle", "architecture": NN}
    made = fig1.derive(
        {
            "film": film(ring, range(2), **labels),
            "correlation": table("seed spearman", (7, -1.0), **labels),
            "recall": table("seed recall recall_others", (7, 1.0, 0.5), **labels),
        }
    )
    assert close(rows(made["curves"], "graph step spearman"), ("cycle", 1, -1.0))


def test_real_graphs_are_made_again_from_their_edges() -> None:
    gram = np.eye(4)
    gram[:3, :3] = NEAR
    correlation = ((GPT, -0.7, -0.3), (NN, -0.1, -0.3))
    recall = ((NODE2VEC, 0.1, 0.8), (GPT, 0.6, 0.3))
    made = real_graphs.derive(
        {
            "links": table("from to", ("a", "b"), ("b", "c"), ("z", None), graph="odd"),
            "film": film(gram, range(2), architecture=GPT, graph="odd"),
            "correlation": table("architecture spearman null_low", *correlation, graph="odd"),
            "recall": table("architecture recall recall_others", *recall, graph="odd"),
        }
    )
    assert made["graphs"]["nodes"].to_list() == [["a", "b", "c", "z"]]
    assert made["graphs"]["links"].to_list() == [[[0, 1], [1, 2]]]
    assert close(rows(made["correlation"], "architecture beyond_chance"), (NN, -0.2), (GPT, 0.4))
    assert rows(made["stored"], "edges trained") == [(0.8, False), (0.6, True)]


def test_claims_are_judged_under_one_condition_and_the_ends_of_all_are_kept() -> None:
    course = table(
        "condition step spearman", (CODE, 0, 0.0), (CODE, 9, -0.5), (PLAIN, 9, -0.2),
        graph="grid", architecture=GPT, seed=3,
    )  # fmt: skip
    shared = pl.concat([course.drop("condition").head(1), course], how="diagonal")
    made = derived.judged({"correlation": course, "shared": shared, "plain": course.drop("condition")})
    assert rows(made["correlation"], "step spearman") == [(0, 0.0), (9, -0.5)]
    assert made["shared"].height == 3
    assert made["plain"].height == 3
    assert rows(made["conditions"], "condition spearman") == [(CODE, -0.5), (PLAIN, -0.2)]


def test_equally_close_pairs_share_a_rank() -> None:
    """Both far pairs are equally close but for a rounding; a decimal place would part them."""
    pairs = ((1, 0.9), (2, 0.0500005), (3, 0.0500004), (2, 0.05000045), (3, -0.4))
    found = derived.far_correlation(table("hops cosine", *pairs, graph="grid", seed=3), ["graph"])
    assert close(rows(found, "far"), (-1 / np.sqrt(3),))


def test_fig5_ends_and_best_steps() -> None:
    """TinyGPT is best on the way, at step 10 of 20; the list at its start, of 5 steps."""
    course = table(
        "architecture step spearman recall",
        (GPT, 0, -0.1, 0.0), (GPT, 10, -0.9, 0.5), (GPT, 20, -0.6, 1.0),
        (FROZEN, 0, -0.2, 0.0), (FROZEN, 5, 0.4, 0.75),
        graph="grid", seed=3, null_low=-0.3,
    )  # fmt: skip
    pairs = ((0, 1.0), (1, 0.8), (1, 0.6), (2, 0.5), (2, 0.1), (3, -0.2), (None, 0.9))
    made = fig5.derive(
        {
            "correlation": course.drop("recall"),
            "recall": course.drop("spearman", "null_low"),
            "cosines": table("hops cosine", *pairs, architecture=GPT, graph="grid", seed=3),
        }
    )
    assert close(
        rows(made["last"], "architecture step recall beyond_chance size"),
        (GPT, 20, 1.0, -0.3, 0.6),
        (FROZEN, 5, 0.75, 0.7, 0.4),
    )
    assert close(rows(made["lost"], "architecture loss"), (GPT, 0.3), (FROZEN, 0.6))
    assert [step for (step,) in rows(made["course"], "step")] == [10, 20, 5]
    # Beyond neighbours hops rank 1.5, 1.5, 3 and cosines 3, 2, 1.
    far = -np.sqrt(3) / 2
    assert close(rows(made["far"], "far size drop"), (far, -far, 0.5))
    assert close(rows(made["by_hops"], "hops cosine"), (1, 0.7), (2, 0.3), (3, -0.2))


def courses(column: str, runs: dict[tuple[str, str], dict[int, float]]) -> pl.DataFrame:
    """Return the values of a column at steps, by architecture and horizon, on the cycle."""
    values = ((*run, step, y) for run, course in runs.items() for step, y in course.items())
    return table(f"architecture horizon step {column}", *values, graph="cycle", seed=3)


LATE_NN, SLOW_NN = (NN, fig6.LATE), (NN, fig6.SLOW)
EARLY_NN, EARLY_LIST = (NN, fig6.EARLY), (FROZEN, fig6.EARLY)
LATE_GPT, LATE_NODE2VEC = (GPT, fig6.LATE), (NODE2VEC, fig6.LATE)


@pytest.fixture
def figure6() -> dict[str, pl.DataFrame]:
    """Recall, margins, and energy in two eigenspaces, that in the second being the rest."""
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
    least = courses("margin", margin).with_columns(over=pl.lit("min"), rivals=pl.lit("nodes"))
    least = least.with_columns(condition=pl.lit(BF16))
    others = (
        least.with_columns(margin=5.0, over=pl.lit("max")),
        least.with_columns(margin=5.0, rivals=pl.lit("vocabulary")),
        least.filter(pl.col("horizon") == fig6.LATE).with_columns(
            margin=7.0, condition=pl.lit(CODE)
        ),
    )
    first = courses("energy", energy).with_columns(space=0, null_mean=0.1, null_high=0.2)
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
    """TinyNN's energy is half-way to .5 at step 2, Node2Vec's to .6 at 20, -ρ to .8 at 5."""
    times = "architecture horizon stored positive half_time lag ratio"
    assert rows(figure6["times"], times) == [
        (FROZEN, "early", 2.0, None, None, None, None),
        (NN, "early", 1.0, 20.0, 2.0, 1.0, 20.0),
        (NN, "late", 201.0, 100.0, None, None, 100 / 201),
        (NN, fig6.SLOW, 100.0, 200.0, None, None, 2.0),
        (GPT, "late", 10.0, None, None, None, None),
    ]
    assert rows(figure6["free"], "horizon lag ratio") == [("early", 1.0, 20.0)]
    assert rows(figure6["gpt"], "architecture half_time stored lag") == [(GPT, 5.0, 10.0, -5.0)]
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
        (usual, 0.5), (usual, -0.3), (slow, 0.0), (slow, 0.6),
    ]  # fmt: skip


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
        ("geometry", 0, 0.0), ("geometry", 5, 0.8), ("geometry", 10, 0.6),
        ("recall", 0, 0.1), ("recall", 5, 0.6), ("recall", 10, 1.0),
    ]  # fmt: skip


def test_fig7_counts_dimensions_beyond_chance() -> None:
    """Two spaces of two dimensions; by chance one has .2, so that it is used from .4 on."""

    def energies(first: float, second: float, **labels: Any) -> pl.DataFrame:
        return table(
            "space size energy", (0, 2, first), (1, 2, second),
            graph="cycle", null_mean=0.2, null_high=0.3, seed=3, **labels,
        )  # fmt: skip

    made = fig7.derive(
        {
            "energy": pl.concat(
                [
                    energies(0.55, 0.45, axis="width", value="2"),
                    energies(0.6, 0.3, axis="width", value="8"),
                    energies(0.8, 0.41, axis="width", value="17"),
                    energies(0.7, 0.3, axis="initial scale", value="0.02"),
                    energies(0.9, 0.1, axis="initial scale", value="1.0"),
                ]
            ),
            "deeper": pl.concat(
                [
                    energies(0.3, 0.35, architecture=GPT, condition=CODE),
                    energies(0.5, 0.35, architecture=GPT, condition=PLAIN),
                ]
            ),
        }
    )
    values = "axis value top"
    swept = [
        ("width", "2", 0.55), ("width", "8", 0.6), ("width", "17", 0.8),
        ("initial scale", "0.02", 0.7), ("initial scale", "1.0", 0.9),
    ]  # fmt: skip
    model = [("model", NODE2VEC, 0.9), ("model", GPT, 0.3), ("model", fig7.PLAIN_GPT, 0.5)]
    assert rows(made["top"], values) == swept + model
    assert rows(made["swept"], values) == swept
    assert rows(made["wide"], values) == [("width", "17", 0.8)]
    assert rows(made["dimensions"], "value dimensions extra") == [
        ("2", 4.0, 2.0), ("8", 2.0, 0.0), ("17", 4.0, 2.0), ("0.02", 2.0, 0.0), ("1.0", 2.0, 0.0),
        (NODE2VEC, 2.0, 0.0), (GPT, 0.0, -2.0), (fig7.PLAIN_GPT, 2.0, 0.0),
    ]  # fmt: skip
    assert rows(made["spectra"], "value number energy") == [
        (NODE2VEC, 1, 0.9), (NODE2VEC, 2, 0.1), (GPT, 1, 0.3), (GPT, 2, 0.35),
        (fig7.PLAIN_GPT, 1, 0.5), (fig7.PLAIN_GPT, 2, 0.35),
        ("random vectors", 1, 0.2), ("random vectors", 2, 0.2),
    ]  # fmt: skip


def test_fig8_ends_extremes_and_the_longer_run() -> None:
    """Three looks at two graphs; every column peaks or dips at another step."""
    columns = {
        "s_low": (0.9, 0.7, 0.8), "s_high": (0.5, 0.6, 0.4), "s_trace": (0.3, 0.9, 0.2),
        "walk_low": (-1.0, -3.0, -2.0), "walk_high": (0.1, 0.3, 0.2), "c_top": (-0.5, 0.4, 0.1),
        "c_second": (-0.9, -0.2, -0.3), "outside_c": (0.0, 0.5, 0.1),
        "outside_s": (0.2, 0.6, 0.3), "outside_v": (0.4, 0.7, 0.45),
        "outside_random": (0.8, 0.8, 0.8), "null_gap": (9.0, 8.0, 6.0),
        "null_size": (1.0, 2.0, 0.5), "degenerate": (0.1, 0.15, 0.2), "norm": (1.0, 3.0, 4.0),
    }  # fmt: skip
    looks = pl.DataFrame({"step": [0, 10, 30], **columns}).with_columns(seed=pl.lit(3))
    graphs = [looks.with_columns(graph=pl.lit(name)) for name in ("cycle", "grid")]
    made = fig8.derive(
        {
            "moments": pl.concat(graphs),
            "long": table(
                "graph seed degenerate norm", ("cycle", 3, 0.2, 4.0), ("grid", 3, 0.5, 5.0)
            ),
            "spaces": table(
                "space step", (-1, 0), (-1, 5), (0, 5), (4, 5), (5, 5), graph="grid", seed=3
            ),
        }
    )
    both = ("cycle", "grid")
    assert rows(made["ends"], "graph step norm") == [(name, 30, 4.0) for name in both]
    assert rows(made["starts"], "graph step s_low") == [(name, 0, 0.9) for name in both]
    least, most = "s_low walk_low", "s_high s_trace walk_high c_top c_second"
    assert rows(made["extremes"], least, graph="grid") == [(0.7, -3.0)]
    assert rows(made["extremes"], most, graph="grid") == [(0.6, 0.9, 0.3, 0.4, -0.2)]
    assert rows(made["extremes"], "outside_c outside_v", graph="grid") == [(0.5, 0.7)]
    assert rows(made["curves"], "step name") == [(5, "degenerate"), (5, "space 1"), (5, "space 5")]
    assert rows(made["shares"], "matrix step share", graph="grid") == [
        ("outside_c", 10, 0.5), ("outside_c", 30, 0.1),
        ("outside_s", 10, 0.6), ("outside_s", 30, 0.3),
        ("outside_v", 10, 0.7), ("outside_v", 30, 0.45),
        ("outside_random", 10, 0.8), ("outside_random", 30, 0.8),
    ]  # fmt: skip
    assert rows(made["rest"], "graph ratio") == [(name, 12.0) for name in both]
    grown = ("grid", 0.3, 0.25)
    assert close(rows(made["longer"], "graph share growth"), ("cycle", 0.0, 0.0), grown)
    assert close(rows(made["uneven"], "graph share growth"), grown)


def test_fig9_is_held_beside_random_vectors() -> None:
    loops, kept = "with self-edges", "model condition"
    made = fig9.derive(
        {
            "zigzag": table(
                "model self_edges zigzag null_mean bottom bottom_null",
                (fig9.TIED, False, 0.01, 0.5, 0.02, 0.1),
                (fig9.TIED, True, 0.03, 0.45, 0.04, 0.15),
                (NN, True, 0.6, 0.4, 0.3, 0.25),
                graph="grid",
            ),
            "energy": table(
                "model self_edges space energy",
                (fig9.TIED, False, 0, 0.9), (fig9.UNTIED, False, 0, 0.4), (NN, True, 4, 0.3),
                graph="grid",
            ),
            "margin": table(
                "graph self_edges over margin rivals condition",
                ("cycle", False, "min", 0.2, "nodes", BF16),
                ("cycle", False, "min", 0.3, "vocabulary", BF16),
                ("cycle", True, "max", -0.1, "nodes", CODE),
                ("grid", False, "min", 0.0, "nodes", BF16),
            ),
            "own_margin": table(
                "graph self_edges over p condition",
                ("cycle", False, "min", 0.05, BF16),
                ("cycle", False, "min", 0.06, CODE),
                ("cycle", True, "max", 0.01, BF16),
            ),
            "recall": table("model recall", (fig9.TIED, 0.1), (fig9.UNTIED, 0.9), (NN, 1.0)),
        }
    )  # fmt: skip
    assert close(
        rows(made["zigzags"], f"{kept} excess bottom_excess"),
        (fig9.TIED, "without", -0.49, -0.08),
        (fig9.TIED, loops, -0.42, -0.11),
        (NN, loops, 0.2, 0.05),
    )
    assert rows(made["beside_chance"], f"{kept} zigzag bottom") == [
        (fig9.TIED, "without", 0.01, 0.02),
        (fig9.TIED, loops, 0.03, 0.04),
        (NN, loops, 0.6, 0.3),
        (fig9.CHANCE, "without", 0.5, 0.1),
        (fig9.CHANCE, loops, 0.45, 0.15),
    ]
    assert rows(made["trained_spectra"], "panel condition number energy") == [
        (f"{fig9.UNTIED}, grid", "without", 1, 0.4),
        (f"{NN}, grid", loops, 5, 0.3),
    ]
    judged = "condition self_edges over margin stored"
    first = (BF16, False, "min", 0.2, 1.0)
    assert rows(made["cycle_margins"], judged) == [first, (CODE, True, "max", -0.1, 0.0)]
    assert rows(made["least"], f"loops {judged}") == [
        ("without", *first), ("without", BF16, False, "min", 0.0, 0.0),
    ]  # fmt: skip
    assert rows(made["cycle_own"], "p beats_chance") == [(0.05, 1.0)]
    assert rows(made["stored"], "model") == [(fig9.UNTIED,), (NN,)]
