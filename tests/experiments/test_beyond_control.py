"""Differences between conditions and their controls."""

from __future__ import annotations

import polars as pl
import pytest

import inweights as iw
from inweights.errors import DataError
from inweights.experiments import beyond_control
from inweights.report.pages.sections import controls_section
from inweights.support.statistics.intervals import median_interval

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

VALUES = {
    "none": (0.9, 0.8, 0.7, 0.9, 1.0, 0.6),
    "untrained": (0.1, 0.2, 0.1, 0.0, 0.3, 0.1),
}


def table(columns: dict[str, object] | None = None) -> pl.DataFrame:
    rows = [
        {"n": n, "control": control, "seed": seed, **(columns or {}), "share": number}
        for n in (4, 8)
        for control, numbers in VALUES.items()
        for seed, number in enumerate(numbers)
    ]
    return pl.DataFrame(rows)


def test_differences_are_paired_by_seed() -> None:
    found = beyond_control(table(), "share")
    gaps = [a - b for a, b in zip(*VALUES.values(), strict=True)]
    assert found["n"].to_list() == [4, 8]
    assert found.select("beyond", "low", "high").row(0) == median_interval(gaps)
    few = beyond_control(table().filter(pl.col("seed") < 5), "share")
    assert few["low"].null_count() == 2  # five seeds give no 95% interval of a median


def test_places_are_compared_with_the_same_place() -> None:
    here, there = table({"layer": "block.0"}), table({"layer": "block.1"})
    found = beyond_control(pl.concat([here, there.with_columns(share=0.5)]), "share")
    assert found.filter(layer="block.1")["beyond"].to_list() == [0.0, 0.0]
    assert set(found["control"]) == {"untrained"}


def test_only_the_end_of_training_counts() -> None:
    early = table({"step": 0}).with_columns(share=0.0)
    found = beyond_control(pl.concat([early, table({"step": 5})]), "share")
    assert found.equals(beyond_control(table(), "share"))


def test_what_cannot_be_compared_says_so() -> None:
    with pytest.raises(DataError, match="sweep with controls"):
        beyond_control(table().drop("control"))
    with pytest.raises(DataError, match=r"value=NAME with one of the columns share"):
        beyond_control(table())


def test_a_page_states_what_exceeds_the_controls(tmp_path) -> None:
    rows = iw.sweep(
        iw.TwoHop(n=3),
        iw.GPTConfig(layers=1, width=16, context=8),
        iw.Curriculum(phases=(iw.Phase(steps=2),)),
        seeds=1,
        runs=tmp_path,
        progress=False,
        controls=["untrained"],
    )
    told = controls_section({"accuracy": rows})
    assert "Beyond control" in told
    assert "untrained" in told
    alone = controls_section({"accuracy": rows.drop("control")})
    assert "Run without controls" in alone
    assert "Controls that fit: untrained, shuffled" in alone
    assert not controls_section({"other": table().drop("control")})


def test_a_column_of_texts_cannot_be_compared() -> None:
    named = table({"role": "composition"})
    with pytest.raises(DataError, match="'role' contains String"):
        beyond_control(named, "role")
