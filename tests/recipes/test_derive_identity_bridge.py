"""Tables that the recipes of Identity Bridge derive, compared with results by hand.

Most have rows of two seeds, sizes or models, and rows that have to be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from tests.recipes.tables import table

from inweights.recipes.demo import two_hop as demo
from inweights.recipes.identity_bridge import (
    fig1b,
    fig2,
    fig2_tied,
    fig3,
    fig6,
    fig7,
    optimum,
    theory,
)

GROUPS = {
    "r1": "first_relation",
    "r2": "second_relation",
    "a": "subject",
    "b": "bridge",
}


def templates(rows: Mapping[str, tuple[float, ...]], **labels: Any) -> pl.DataFrame:
    """Return a table of logits over the bridges ``b1``, ``b2`` and objects ``c1``, ``c2``."""
    outputs = {"b1": "bridge", "b2": "bridge", "c1": "object", "c2": "object"}
    columns = " ".join([*labels, "row row_group column column_group value"])
    return table(
        columns,
        *(
            (
                *labels.values(),
                row,
                GROUPS.get(row) or GROUPS[row[0]],
                column,
                group,
                value,
            )
            for row, values in rows.items()
            for (column, group), value in zip(outputs.items(), values, strict=True)
        ),
    )


def values(found: pl.DataFrame, key: str, value: str = "value") -> dict[Any, list[Any]]:
    """Return the values of each key, in order."""
    return dict(found.group_by(key, maintain_order=True).agg(pl.col(value)).iter_rows())


ROLES = "part distribution role accuracy"


def accuracies(out: float, first: float, second: float, **labels: Any) -> pl.DataFrame:
    """Return accuracies on queries out of distribution and on hops, and a different one within."""
    rows = (
        ("facts", "in", "first_hop", first),
        ("facts", "in", "second_hop", second),
        ("queries", "in", "composition", 0.123),
        ("queries", "out", "composition", out),
    )
    columns = " ".join([*labels, ROLES])
    return table(columns, *((*labels.values(), *row) for row in rows))


def test_figure_1b() -> None:
    """Both distributions are drawn and distinguished; facts are not among the questions."""
    at = {"model": "gpt", "relations": 2, "told": 0.5, "identity": False, "seed": 7}
    found = fig1b.derive({"accuracy": accuracies(0.2, 1.0, 0.8, **at)})
    assert found["queries"].select("distribution", "accuracy").rows() == [
        ("in", 0.123),
        ("out", 0.2),
    ]
    assert found["shown"].select("world", "given").rows() == [
        ("|R2| = 2, half told, in distribution", "without"),
        ("|R2| = 2, half told, out of distribution", "without"),
    ]
    assert found["memorised"]["accuracy"].to_list() == [0.8]


def test_figure_2() -> None:
    """Controls are runs without identities, by their head; complexity 1 has no excess."""
    conditions = (
        ("gpt", True, 1),
        ("gpt", True, 2),
        ("gpt", False, 1),
        ("gpt-tied", False, 1),
    )
    tables = {
        "accuracy": pl.concat(
            accuracies(
                0.1 * k, 1.0, 0.8, model=model, identity=identity, complexity=c, seed=7
            )
            for k, (model, identity, c) in enumerate(conditions)
        )
    }
    found = fig2.derive(tables)
    assert found["controls"].select("model", "head").rows() == [
        ("gpt", "untied"),
        ("gpt-tied", "tied"),
    ]
    assert found["controls"]["accuracy"].to_list() == pytest.approx([0.2, 0.3])
    assert found["known"]["accuracy"].is_nan().all()
    assert found["excess"]["excess"].to_list() == pytest.approx([0.1 - 0.5])


def test_figure_2_with_a_tied_head() -> None:
    """One row per initialisation, with and without identities; recall is the lowest over roles."""
    about = {"model": "gpt-tied", "complexity": 1, "seed": 7}
    arms = (("GPT-2's", True), ("GPT-2's", False), ("uniform", False))
    tables = {
        "accuracy": pl.concat(
            accuracies(0.1 * k, 1.0, 0.8, start=start, identity=identity, **about)
            for k, (start, identity) in enumerate(arms)
        )
    }
    found = fig2_tied.derive(tables)
    assert found["compositions"].select("arm", "accuracy", "one_over_c").rows() == [
        ("with identity, start GPT-2's", 0.0, 1.0),
        ("without identity, start GPT-2's", pytest.approx(0.1), 1.0),
        ("without identity, start uniform", pytest.approx(0.2), 1.0),
    ]
    assert found["memorised"]["accuracy"].to_list() == [0.8] * 3


def test_figure_3() -> None:
    """Seed 9 is first, but seed 7 is drawn; its ``a1`` peaks on ``c2``, which is not its own."""
    here, without = (
        {"n": 2, "identity": identity, "seed": 7} for identity in (True, False)
    )
    shown = {
        "r1": (3.0, 1.0, -1.0, -2.0),
        "r2": (0.0, -2.0, 5.0, 1.0),
        "a1": (4.0, 0.0, 1.0, 2.0),
    }
    alone = {"r2": (0.0, 8.0, 2.0, 0.0), "a1": (0.0, 4.0, 2.0, 1.0)}
    other = templates({"r1": (6.0, 6.0, 6.0, 0.0)}, n=2, identity=True, seed=9)
    both = ((here, 0.0), (without, 10.0))
    tables = {
        "tokens": pl.concat(
            [other, templates(shown, **here), templates(alone, **without)]
        ),
        "one_hop": pl.concat(
            templates({"a1": (11.0 + k, 12, 13, 14)}, **at) for at, k in both
        ),
        "two_hop": pl.concat(
            templates({"a1": (31.0 + k, 32, 33, 34)}, **at) for at, k in both
        ),
        "accuracy": pl.concat(
            [accuracies(0.9, 1.0, 0.8, **here), accuracies(0.1, 0.6, 0.7, **without)]
        ),
    }
    found = fig3.derive(tables)
    assert values(found["panels"], "panel") == {
        "(a) single tokens, with identity": [3, 1, -1, -2, 0, -2, 5, 1, 4, 0, 1, 2],
        "(b) one hop (a, r1), with identity": [11, 12, 13, 14],
        "(c) two hops (a, r1, r2), with identity": [31, 32, 33, 34],
        "(a′) single tokens, without": [0, 8, 2, 0, 0, 4, 2, 1],
        "(b′) one hop, without": [21, 12, 13, 14],
        "(d) two hops, without": [41, 32, 33, 34],
    }
    # Mean on bridges minus mean on objects: 2 + 1.5, -1 - 3, 4 - 1 and 6 - 3, without
    # subjects.
    selectors = found["selectors"].select(
        "identity", "seed", "row_group", "toward_bridges"
    )
    assert set(selectors.rows()) == {
        (True, 7, "first_relation", 3.5),
        (True, 7, "second_relation", -4.0),
        (False, 7, "second_relation", 3.0),
        (True, 9, "first_relation", 3.0),
    }
    peaks = found["peaks"].select(
        "n", "identity", "seed", "row_group", "column_group", "own"
    )
    assert set(peaks.rows()) == {
        (2, True, 7, "subject", "bridge", 1.0),
        (2, True, 7, "subject", "object", 0.0),
        (2, False, 7, "subject", "bridge", 0.0),
        (2, False, 7, "subject", "object", 1.0),
    }
    assert found["compositions"]["accuracy"].to_list() == [0.9, 0.1]
    assert found["memorised"].select("identity", "accuracy").rows() == [
        (True, 0.8),
        (False, 0.6),
    ]


def test_figures_4_and_5() -> None:
    """The world of 9 is drawn, although the world of 4 is smaller."""
    small = templates({"a1": (9.0, 9.0, 9.0, 9.0)}, n=4, seed=7)
    shown = templates(
        {"a1": (4.0, 1.0, 0.0, 2.0), "b2": (1.0, 3.0, 5.0, 6.0)}, n=9, seed=7
    )
    tables = {
        "tokens": pl.concat([small, shown]),
        "first_hop": templates({"a1": (1.0, 2.0, 3.0, 4.0)}, n=9, seed=7),
        "composition": templates({"a1": (5.0, 6.0, 7.0, 8.0)}, n=9, seed=7),
        "margins": table(
            "n seed part distribution margin",
            *((9, 7, "queries", "out", 0.7), (9, 7, "facts", "in", 1.0)),
            *((4, 7, "queries", "out", 0.6), (4, 7, "queries", "out", 0.8)),
        ),
        "norms": table("n seed norm", (9, 7, 4.0), (4, 7, 2.0)),
        "bounds": table("n value", (9, 3.0), (4, 2.0)),
    }
    found = optimum.derive(tables)
    assert values(found["panels"], "panel") == {
        "(a) single tokens: the rows of W": [4, 1, 0, 2, 1, 3, 5, 6],
        "(b) one hop (a, r1)": [1, 2, 3, 4],
        "(c) two hops (a, r1, r2)": [5, 6, 7, 8],
    }
    by_block = found["blocks"].join(
        found["peaks"], on=["n", "seed", "row_group", "column_group"]
    )
    by_block = by_block.filter(n=9).select(
        "row_group", "column_group", "contrast", "own"
    )
    assert set(by_block.rows()) == {
        ("subject", "bridge", 3.0, 1.0),
        ("subject", "object", -2.0, 0.0),
        ("bridge", "bridge", 2.0, 1.0),
        ("bridge", "object", 1.0, 1.0),
    }
    extremes = found["extremes"].select("n", "least", "largest").rows()
    assert extremes == [(9, 0.7, 0.7), (4, 0.6, 0.8)]
    assert found["norms"].select("n", "gap").rows() == [(9, 0.25), (4, 0.0)]


def test_figure_6() -> None:
    """The embedding and the layers after the blocks are ignored."""
    at = "model seed place layer cosine contrast nearest"
    tables = {
        "accuracy": accuracies(0.9, 1.0, 0.8, model="gpt", seed=7),
        "alignment": table(
            at,
            ("gpt", 7, "first_hop", "embedding", 1.0, 1.0, 1.0),
            ("gpt", 7, "first_hop", "block1", 0.2, 0.4, 0.6),
            ("gpt", 7, "first_hop", "block2", 0.4, 0.5, 1.0),
            ("gpt", 7, "query", "block1", -0.2, 0.1, 0.0),
            ("gpt", 9, "query", "block2", 0.5, 0.3, 0.1),
            ("gpt", 9, "query", "final", 1.0, 1.0, 1.0),
        ),
        "states": table("model trustworthiness", ("gpt", 0.8765), ("gpt-small", 0.5)),
    }
    found = fig6.derive(tables)
    expected = {
        (7, "first_hop"): (0.3, 0.45, 0.8),
        (7, "query"): (-0.2, 0.1, 0.0),
        (9, "query"): (0.5, 0.3, 0.1),
    }
    by_model = found["by_model"].select(at.replace("layer ", "").split())
    assert {row[1:3]: pytest.approx(row[3:]) for row in by_model.rows()} == expected
    assert found["alignment"]["compared"].to_list() == (
        ["(e1, r1) and (e2)"] * 3 + ["(e1, r1, r2) and (e2, r2)"] * 3
    )
    assert found["states"]["note"].to_list() == [
        "trustworthiness 0.88",
        "trustworthiness 0.5",
    ]
    assert found["known"]["accuracy"].is_nan().to_list() == [True]
    assert found["memorised"].rows() == [("gpt", 7, 0.8)]
    tables["accuracy"] = accuracies(0.9, 1.0, 0.99, model="gpt", seed=7)
    assert fig6.derive(tables)["known"]["accuracy"].to_list() == [0.9]


STEPS = (0, 10, 20, 30, 40)
#: Steps at which half of the peak is reached: accuracy 40, recall 30, r2 20, memory 10,
#: r1 0.
CURVES = {
    "accuracy": [0.0, 0.1, 0.1, 0.2, 1.0],
    "recall": [0.0, 0.1, 0.3, 0.6, 0.99],
    "alignment at r1": [0.4, 0.4, 0.4, 0.4, 0.4],
    "alignment at r2": [0.1, 0.1, 0.6, 0.8, 0.9],
    "memory a → c": [0.1, 0.8, 0.8, 0.9, 1.0],
}


def film(model: str, curves: dict[str, list[float]]) -> dict[str, pl.DataFrame]:
    """Return tables whose means, minima and filters give these curves."""
    accuracy, alignment, memory = [], [], []
    for i, step in enumerate(STEPS):
        answered, recall, r1, r2, reached = (curve[i] for curve in curves.values())
        at = (model, 7, step)
        accuracy.append(
            accuracies(answered, recall, recall + 0.2, model=model, seed=7, step=step)
        )
        for place, cosine, nearest in (
            ("first_hop", 0.1 + 0.5 * answered, r1),
            ("query", 0.9 - 0.3 * answered, r2),
        ):
            alignment += [
                (*at, place, "embedding", i % 2, 0.5, 1.0),
                (*at, place, "block1", cosine + 0.1, 0.3 - cosine, nearest + 0.1),
                (*at, place, "block2", cosine - 0.1, 0.1 - cosine, nearest - 0.1),
            ]
        memory += [(*at, "subject", 5.0, 0.5), (*at, "subject_relation", 6.0, reached)]
    return {
        "accuracy": pl.concat(accuracy),
        "alignment": table(
            "model seed step place layer cosine contrast nearest", *alignment
        ),
        "memory": table("model seed step prompt contrast reached", *memory),
    }


def test_figure_7() -> None:
    """The filmed model has the curves; the other model, which is first, is constant."""
    still = {name: [0.3] * len(STEPS) for name in CURVES}
    two = [film("gpt", still), film("gpt-small", CURVES)]
    tables = {name: pl.concat(one[name] for one in two) for name in two[0]}
    # A square, and the same square rotated by a right angle, scaled by two and translated.
    square = ((0, 0), (1, 0), (1, 1), (0, 1))
    tables["states"] = table(
        "model seed step x y",
        *(("gpt-small", 7, 0, float(x), float(y)) for x, y in square),
        *(("gpt-small", 7, 10, 5.0 - 2 * y, 2.0 * x) for x, y in square),
    )
    found = fig7.derive(tables)

    assert set(found["curves"]["model"]) == {"gpt", "gpt-small"}
    assert set(found["film_curves"]["model"]) == {"gpt-small"}
    curves = values(found["film_curves"].sort("step", maintain_order=True), "series")
    assert {name: pytest.approx(curve) for name, curve in CURVES.items()} == curves

    leads = found["leads"].filter(model="gpt-small").row(0, named=True)
    assert [leads[f"{name}_leads"] for name in ("memory", "alignment_r1")] == [
        30.0,
        40.0,
    ]
    # The lowest recall over roles is .99 only at step 40, and never for the constant
    # model.
    at_recall = found["at_recall"].sort("model")
    assert at_recall["accuracy"].is_nan().to_list() == [True, False]
    assert at_recall.select("model", "step", "accuracy").rows()[1] == (
        "gpt-small",
        40,
        1.0,
    )

    in_step = (
        found["in_step"].filter(model="gpt-small").select("by", "place", "correlation")
    )
    assert {row[:2]: row[2] for row in in_step.iter_rows()} == pytest.approx(
        {
            ("cosine", "first_hop"): 1.0,
            ("cosine", "query"): -1.0,
            ("contrast", "first_hop"): -1.0,
            ("contrast", "query"): 1.0,
        }
    )

    first, second = found["states"].partition_by("step")
    assert second["x"].to_list() == pytest.approx(first["x"].to_list())
    assert second["y"].to_list() == pytest.approx(first["y"].to_list())


def test_theory() -> None:
    """The expected accuracy of ties is judged only with identities and above complexity one."""
    full = "check complexity identity value"
    nan = float("nan")
    tables = {
        "with": table(
            "n check value", (5, "gap", 9.0), (5, "thm 1", 0.7), (10, "thm 1", 0.6)
        ),
        "without": table("n check value", (5, "thm 2", -0.8), (5, "(38)", 9.0)),
        "full": table(
            full,
            ("expected", 1, True, 1.0),
            ("expected", 2, True, 0.75),
            ("expected", 4, True, 0.125),
            ("expected", 2, False, 0.0),
            ("margin", 2, True, 0.3),
        ),
        "ends": table(
            "query_margin expected",
            *((0.5, 0.7), (-0.5, 0.7), (-0.5, -0.8), (0.5, -0.8), (0.0, 0.7)),
            *((nan, 0.7), (nan, -0.8)),
        ),
        "directions": table("identity cosine", (True, 0.9), (False, 0.8)),
    }
    found = theory.derive(tables)
    assert found["margins"].select("n", "identity", "value").rows() == [
        (5, "with identity", 0.7),
        (10, "with identity", 0.6),
        (5, "without", -0.8),
    ]
    assert found["expected"].select("complexity", "excess").rows() == [
        (2, 0.25),
        (4, -0.125),
    ]
    assert found["ends"]["agrees"].to_list() == [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert found["curves"]["condition"].to_list() == ["with identity", "without"]


def test_demonstration() -> None:
    tables = {
        "accuracy": accuracies(0.9, 1.0, 0.8, model="emb-mlp", identity=True, seed=7),
        "curves": pl.concat(
            [
                accuracies(0.9, 1.0, 0.8, identity=True).filter(distribution="out"),
                accuracies(0.1, 0.6, 0.7, identity=False).filter(part="facts"),
                table(f"identity {ROLES}", (True, "facts", "in", "identity", 0.5)),
            ]
        ),
        "two_hop": pl.concat(
            [
                templates({"a1": (1.0, 2.0, 3.0, 4.0)}, identity=True),
                templates({"a1": (5.0, 6.0, 7.0, 8.0)}, identity=False),
            ]
        ),
    }
    found = demo.derive(tables)
    assert found["compositions"]["accuracy"].to_list() == [0.9]
    assert found["learning"].select("bridge", "asked", "accuracy").rows() == [
        ("with b → b", "(a, r1, r2) → c, never trained", 0.9),
        ("without", "(a, r1) → b", 0.6),
        ("without", "(b, r2) → c", 0.7),
    ]
    assert values(found["panels"], "panel") == {
        "with b → b": [1, 2, 3, 4],
        "without": [5, 6, 7, 8],
    }
