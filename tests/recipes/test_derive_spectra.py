"""Derived tables of energies by eigenspace and margins on the tiny graphs, by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
from tests.recipes.tables import close, holds, rows, table

from inweights.recipes.geometric_memory import fig7, fig8, fig9, fig25_31
from inweights.recipes.geometric_memory.common import (
    BF16,
    CODE,
    GPT,
    NN,
    NODE2VEC,
    PLAIN,
)


def test_fig7_counts_dimensions_beyond_chance() -> None:
    """Two spaces of two dimensions; chance is .2, so a space is used from .4 on."""

    def energies(first: float, second: float, **labels: Any) -> pl.DataFrame:
        return table(
            "space size energy",
            (0, 2, first),
            (1, 2, second),
            graph="cycle",
            null_mean=0.2,
            null_high=0.3,
            seed=3,
            **labels,
        )

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
        ("width", "2", 0.55),
        ("width", "8", 0.6),
        ("width", "17", 0.8),
        ("initial scale", "0.02", 0.7),
        ("initial scale", "1.0", 0.9),
    ]
    model = [
        ("model", NODE2VEC, 0.9),
        ("model", GPT, 0.3),
        ("model", fig7.PLAIN_GPT, 0.5),
    ]
    assert rows(made["top"], values) == swept + model
    assert rows(made["swept"], values) == swept
    assert rows(made["wide"], values) == [("width", "17", 0.8)]
    assert rows(made["dimensions"], "value dimensions extra") == [
        ("2", 4.0, 2.0),
        ("8", 2.0, 0.0),
        ("17", 4.0, 2.0),
        ("0.02", 2.0, 0.0),
        ("1.0", 2.0, 0.0),
        (NODE2VEC, 2.0, 0.0),
        (GPT, 0.0, -2.0),
        (fig7.PLAIN_GPT, 2.0, 0.0),
    ]
    assert rows(made["spectra"], "value number energy") == [
        (NODE2VEC, 1, 0.9),
        (NODE2VEC, 2, 0.1),
        (GPT, 1, 0.3),
        (GPT, 2, 0.35),
        (fig7.PLAIN_GPT, 1, 0.5),
        (fig7.PLAIN_GPT, 2, 0.35),
        ("random vectors", 1, 0.2),
        ("random vectors", 2, 0.2),
    ]


def test_fig8_ends_extremes_and_the_longer_run() -> None:
    """Three measurements on two graphs; every column has its extreme at a different step."""
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
                "graph seed degenerate norm",
                ("cycle", 3, 0.2, 4.0),
                ("grid", 3, 0.5, 5.0),
            ),
            "spaces": table(
                "space step",
                (-1, 0),
                (-1, 5),
                (0, 5),
                (4, 5),
                (5, 5),
                graph="grid",
                seed=3,
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
    assert rows(made["curves"], "step name") == [
        (5, "degenerate"),
        (5, "space 1"),
        (5, "space 5"),
    ]
    assert rows(made["shares"], "matrix step share", graph="grid") == [
        ("outside_c", 10, 0.5),
        ("outside_c", 30, 0.1),
        ("outside_s", 10, 0.6),
        ("outside_s", 30, 0.3),
        ("outside_v", 10, 0.7),
        ("outside_v", 30, 0.45),
        ("outside_random", 10, 0.8),
        ("outside_random", 30, 0.8),
    ]
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
                (fig9.TIED, False, 0, 0.9),
                (fig9.UNTIED, False, 0, 0.4),
                (NN, True, 4, 0.3),
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
            "recall": table(
                "model recall", (fig9.TIED, 0.1), (fig9.UNTIED, 0.9), (NN, 1.0)
            ),
        }
    )
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
    judged = "condition self_edges over margin"
    first = (BF16, False, "min", 0.2)
    assert rows(made["cycle_margins"], judged) == [first, (CODE, True, "max", -0.1)]
    assert rows(made["least"], f"loops {judged}") == [
        ("without", *first),
        ("without", BF16, False, "min", 0.0),
    ]
    assert rows(made["cycle_own"], "p") == [(0.05,)]
    assert rows(made["stored"], "model") == [(fig9.UNTIED,), (NN,)]


def test_what_makes_a_cycle_geometric() -> None:
    correlation = table(
        "setting seed spearman null_mean",
        ("a", 0, -0.6, 0.1),
        ("a", 1, -0.5, 0.2),
        ("b", 0, 0.3, 0.3),
    )
    margin = table(
        "setting over margin rivals",
        ("a", "max", 0.5, "nodes"),
        ("a", "min", 0.0, "nodes"),
        ("b", "min", -0.5, "nodes"),
        ("b", "min", 0.5, "vocabulary"),
    )
    zigzag = table("setting bottom bottom_null", ("a", 0.7, 0.1))
    energy = table("setting space energy", ("a", 0, 0.2), ("a", 1, 0.8))
    found = fig25_31.derive(
        {
            "correlation": correlation,
            "margin": margin,
            "zigzag": zigzag,
            "energy": energy,
        }
    )
    holds(found["correlation"], geometry=[0.6, 0.5, -0.3], size=[0.6, 0.5, 0.3])
    holds(
        found["correlations"],
        setting=["a", "a", "b", "random vectors", "random vectors"],
    )
    holds(
        found["correlations"], graph=["cycle"] * 5, spearman=[-0.6, -0.5, 0.3, 0.1, 0.2]
    )
    names = ["largest neighbour", "smallest neighbour", "smallest neighbour"]
    holds(found["margins"], neighbour=names, margin=[0.5, 0.0, -0.5])
    holds(found["zigzags"], bottom=[0.7])
    holds(found["spectra"], model=["TinyNN"] * 2, number=[1, 2], energy=[0.2, 0.8])
