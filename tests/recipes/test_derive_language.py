"""Derived tables of the recipes that fine-tune pretrained models, computed by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from inweights.recipes.beyond import does_the_bridge_help
from inweights.recipes.feature_resemblance import table2
from inweights.recipes.identity_bridge import fig1, fig8
from inweights.recipes.shared.language.tables import both_times

#: Default values of a row.
SAID = {
    "hit": False, "reciprocal": 0.5, "probability": 0.01, "share": 0.5, "others": 0.25,
    "cosine": 0.0, "other": 0.0, "contrast": 0.0,
}  # fmt: skip
ABOUT = {
    "seed": 0,
    "kind": "question",
    "id": "",
    "chain": "a",
    "role": "composition",
    "prompt": "p",
    "answer": "x",
    "chance": 0.25,
    "layer": None,
    "told": False,
}


def made(*rows: dict[str, Any], **labels: Any) -> pl.DataFrame:
    """Return measured rows; the default id consists of role and chain."""
    full = []
    for row in rows:
        one = {**ABOUT, **SAID, **labels, **row}
        one["id"] = one["id"] or f"{one['role']} {one['chain']}"
        if one["kind"] in ("layer", "training"):
            one |= {"id": None, "chain": None, "role": None, "told": None, "hit": None}
        full.append(one)
    return pl.DataFrame(
        full, schema_overrides={"layer": pl.Int64}, infer_schema_length=None
    )


def only(table: pl.DataFrame, **where: Any) -> dict[str, Any]:
    """Return the only row that matches."""
    found = table.filter(*(pl.col(column) == value for column, value in where.items()))
    assert found.height == 1, found
    return found.row(0, named=True)


# Both times in one row


def test_before_is_joined_by_question_seed_and_labels() -> None:
    before = pl.concat(
        [
            made({"seed": s, "probability": p}, world=w)
            for w, s, p in (("u", 0, 0.1), ("u", 1, 0.2), ("v", 0, 0.3))
        ]
    )
    after = pl.concat(
        [
            made({"seed": s, "probability": p}, world=w, condition="c")
            for w, s, p in (("u", 0, 0.5), ("u", 1, 0.6), ("v", 0, 0.7), ("v", 1, 0.8))
        ]
    )
    both = both_times(before, after, ["world"])
    # For v one seed was evaluated, which represents both.
    assert both.select(
        "world", "seed", "probability_before", "probability_after"
    ).rows() == [
        ("u", 0, 0.1, 0.5),
        ("u", 1, 0.2, 0.6),
        ("v", 0, 0.3, 0.7),
        ("v", 1, 0.3, 0.8),
    ]


def test_sets_are_those_of_the_direct_composition() -> None:
    """The set does not depend on step-by-step answers or on other conditions."""
    before = made(
        {"chain": "a", "hit": True}, {"chain": "b"}, {"chain": "c", "hit": True}, w=0
    )
    ends = {"a": True, "b": True, "c": False}
    rows = [{"chain": chain, "hit": hit} for chain, hit in ends.items()]
    rows += [
        {"chain": chain, "kind": "thought", "hit": not hit}
        for chain, hit in ends.items()
    ]
    rows += [{"chain": chain, "role": "skip", "told": chain == "b"} for chain in ends]
    rows += [{"kind": "layer", "layer": 0}]
    other = [{**row, "hit": False} for row in rows]
    after = pl.concat(
        [made(*rows, w=0, condition="k"), made(*other, w=0, condition="l")]
    )
    both = both_times(before, after, ["w"])
    skips = both.filter(pl.col("role") == "skip", pl.col("condition") == "k")
    assert skips.select("chain", "set", "distribution").rows() == [
        ("a", "D_correct", "out"),
        ("b", "D_partial", "in"),
        ("c", "D_incorrect", "out"),
    ]
    assert set(both.filter(pl.col("condition") == "l")["set"].drop_nulls()) == {
        "D_incorrect"
    }
    layer = both.filter(pl.col("kind") == "layer")
    assert layer["distribution"].null_count() == layer["set"].null_count() == 2
    assert (
        both.filter(pl.col("kind") == "thought")["probability_before"].null_count() == 6
    )


# Figure 1


def test_figure_1() -> None:
    invented = [
        {"seed": seed, "chain": chain} for seed in (0, 1) for chain in ("a", "b")
    ]
    before = pl.concat(
        [
            made(
                {"hit": False},
                {"kind": "thought", "hit": True},
                {"role": "skip", "hit": True},
                facts="real",
            ),
            made(*invented, facts="invented"),
        ]
    )
    after = pl.concat(
        [
            made(
                {"seed": seed, "hit": True, "told": True},
                {"seed": seed, "chain": "b", "hit": seed == 1},
                {"seed": seed, "chain": "b", "kind": "thought", "hit": seed == 0},
                facts="invented",
                condition="one hop",
            )
            for seed in (0, 1)
        ]
    )
    tables = fig1.derive({"before": before, "after": after})
    accuracy = tables["accuracy"]
    real = {
        "facts": "real",
        "condition": "pretrained",
        "seed": 0,
        "distribution": "out",
    }
    assert only(accuracy, **real, what="composition")["accuracy"] == 0.0
    assert only(accuracy, **real, what="thought")["accuracy"] == 1.0
    of = {"facts": "invented", "condition": "one hop", "seed": 1}
    row = only(accuracy, **of, what="composition", distribution="out")
    assert (row["accuracy"], row["before"], row["excess"]) == (1.0, 0.0, 0.75)
    assert only(accuracy, **of, what="thought", distribution="out")["accuracy"] == 0.0
    shown = tables["shown"]
    assert set(shown["what"]) == {"composition", "thought"} < set(accuracy["what"])
    assert sorted(shown.filter(pl.col("seed") == 1)["asked"]) == [
        "directly",
        "directly, trained",
        "step by step",
    ]
    assert only(shown, **of, asked="directly, trained")["accuracy"] == 1.0


# Figure 8

#: For each chain: right before and after; for (e1, r2): probability and share before and
#: after.
CHAINS = {
    "a": (True, True, (0.1, 0.5), (0.2, 0.5)),
    "b": (False, True, (0.1, 0.3), (0.2, 0.4)),
    "c": (False, False, (0.1, 0.2), (0.2, 0.1)),
}


def _figure_8(when: int, condition: str | None = None) -> pl.DataFrame:
    rows = []
    for chain, (*hits, probability, share) in CHAINS.items():
        hit = hits[when] and condition != "second hop only"
        rows.append({"chain": chain, "hit": hit, "probability": 0.9, "share": 0.9})
        said = {"probability": probability[when], "share": share[when]}
        rows.append({"chain": chain, "role": "skip", "hit": True, **said})
    return made(*rows, model="m", **({"condition": condition} if condition else {}))


def test_figure_8() -> None:
    after = [_figure_8(1, condition) for condition in ("one-hop", "second hop only")]
    tables = fig8.derive({"before": _figure_8(0), "after": pl.concat(after)})
    sets = tables["sets"].filter(pl.col("condition") == "one-hop")
    rises = {
        row["set"]: (row["rise"], row["share_rise"])
        for row in sets.iter_rows(named=True)
    }
    assert rises == {
        "D_correct": pytest.approx((0.4, 0.3)),
        "D_partial": pytest.approx((0.2, 0.2)),
        "D_incorrect": pytest.approx((0.1, -0.1)),
    }
    everything = only(tables["all"], condition="one-hop")
    assert everything["share_rise"] == pytest.approx(0.4 / 3)
    row = only(tables["accuracy"], condition="one-hop", what="composition")
    assert (row["accuracy"], row["gain"]) == pytest.approx((2 / 3, 1 / 3))
    row = only(tables["accuracy"], condition="second hop only", what="composition")
    assert (row["accuracy"], row["gain"]) == pytest.approx((0.0, -1 / 3))
    shown = tables["shown"].filter(pl.col("condition") == "one-hop")
    assert shown["set"].unique(maintain_order=True).to_list() == [
        "D_correct",
        "D_partial",
        "D_incorrect",
    ]
    assert only(shown, set="D_partial", what="probability")["value"] == pytest.approx(
        0.2
    )
    shares = shown.filter(pl.col("what") == "share among candidates")
    assert shares["value"].to_list() == pytest.approx([0.3, 0.2, -0.1])
    assert set(tables["kept"]["what"]) == {"two hops, directly", "(e1, r2) alone"}


# Does the bridge help?


def _told(
    second: str, condition: str | None, hit: bool, probability: float
) -> pl.DataFrame:
    contrast = 0.5 if condition else 0.1
    rows: list[dict[str, Any]] = [
        {"hit": hit, "probability": probability, "share": 0.8 if condition else 0.5},
        {"role": "skip", "hit": True, "probability": 1.0},
        {
            "kind": "layer",
            "layer": 0,
            "cosine": contrast + 0.2,
            "other": 0.2,
            "contrast": contrast,
        },
    ]
    labels = {"second": second} | ({"condition": condition} if condition else {})
    table = made(*rows, **labels)
    training = pl.DataFrame(
        {"kind": "training", "seed": 0, "steps": 7, "trained": 90, "loss": 0.5}
    )
    if condition is None:
        return table
    labelled = training.with_columns(second=pl.lit(second), condition=pl.lit(condition))
    return pl.concat([table, labelled], how="diagonal_relaxed")


def test_does_the_bridge_help() -> None:
    before = [_told(second, None, False, 0.001) for second in ("invented", "known")]
    after = [
        _told("invented", "control", False, 0.1),
        _told("invented", "identity", True, 0.01),
        _told("known", "control", True, 0.1),
        _told("known", "identity", False, 0.1),
    ]
    tables = does_the_bridge_help.derive(
        {"before": pl.concat(before), "after": pl.concat(after)}
    )
    row = only(
        tables["accuracy"], second="invented", condition="identity", what="composition"
    )
    assert (row["accuracy"], row["excess"]) == (1.0, 0.75)
    # Wrong answers: 1e-3 / .5 · .25 before, .1 / .8 · .25 after.
    row = only(tables["rises"], second="invented", condition="control")
    assert row["decades"] == pytest.approx(2.0)
    assert 10 ** row["own"] == pytest.approx(1.6)
    assert only(tables["rises"], second="invented", condition="identity")[
        "decades"
    ] == (pytest.approx(1.0))
    layer = only(tables["layers"], second="known", condition="identity")
    assert layer["contrast"] == 0.5
    assert set(tables["shown"]["second"]) == {"invented towns", "known cities"}
    assert set(tables["shown"]["what"]) == {"two hops, directly", "(e1, r2) alone"}


# Table 2


def test_table_2() -> None:
    rows = [
        {"role": "analogy", "id": "1", "hit": True, "reciprocal": 1.0, "share": 0.6},
        {"role": "analogy", "id": "2", "hit": False, "reciprocal": 0.5, "share": 0.2},
        {"role": "recall", "id": "3", "hit": True, "reciprocal": 1.0, "share": 0.9},
        {"role": "recall", "id": "4", "hit": True, "reciprocal": 1.0, "share": 0.9},
    ]
    # The layer before the last one is the penultimate layer.
    cosines = [
        (0.1, 0.0),
        (0.7, 0.3),
        (0.9, 0.8),
    ]
    for layer, (cosine, other) in enumerate(cosines):
        rows.append(
            {
                "kind": "layer",
                "layer": layer,
                "cosine": cosine,
                "other": other,
                "chance": None,
            }
        )
    training = pl.DataFrame({"kind": "training", "seed": 0, "loss": 0.25})
    trained = pl.concat([made(*rows), training], how="diagonal_relaxed")
    answers = pl.concat(
        [
            made(*rows).with_columns(condition=pl.lit("zero-shot"), hit=pl.lit(False)),
            trained.with_columns(condition=pl.lit("joint")),
        ],
        how="diagonal_relaxed",
    )
    tables = table2.derive({"answers": answers})
    row = only(tables["table"], condition="joint", seed=0)
    assert row == {
        "condition": "joint",
        "seed": 0,
        "success": 0.5,
        "recall": 1.0,
        "chance": 0.25,
        "similarity": 0.7,
        "other": 0.3,
        "contrast": pytest.approx(0.4),
        "gain": 0.25,
    }
    row = only(tables["table"], condition="zero-shot")
    assert (row["success"], row["gain"]) == (0.0, -0.25)
    shown = tables["shown"].filter(pl.col("condition") == "joint").sort("column")
    assert shown.select("column", "value").rows() == [
        ("analogy: right of all categories", 0.5),
        ("recall of what was trained", 1.0),
        ("similarity of a pair", 0.7),
        ("similarity, less that of others", pytest.approx(0.4)),
    ]
