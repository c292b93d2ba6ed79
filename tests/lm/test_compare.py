"""What two exams of a model are held against each other for, and the questions of an exam."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from inweights.errors import DataError
from inweights.lm import Question, changes, compositionality, paired, read_exam, read_examples
from inweights.lm.exams.compare import groups


def rows(hits: list[bool], role: str = "composition", p: float = 0.1) -> pl.DataFrame:
    ids = [str(i) for i in range(len(hits))]
    return pl.DataFrame(
        {"id": [f"{i}.{role}" for i in ids], "chain": ids, "role": role, "hit": hits}
    ).with_columns(probability=pl.lit(p), share=pl.lit(2 * p))


def test_the_three_sets() -> None:
    before = pl.concat([rows([True, False, False, True]), rows([False] * 4, "skip")])
    after = pl.concat([rows([True, True, False, False]), rows([False] * 4, "skip", 0.4)])
    table = changes(before, after)
    assert table["set"].to_list() == ["D_correct", "D_partial", "D_incorrect", "D_incorrect"]
    assert table["rise"].to_list() == pytest.approx([0.3] * 4)
    assert table["log_share_ratio"].to_list() == pytest.approx([np.log(4)] * 4)
    with pytest.raises(DataError, match="same questions"):
        changes(before, after.head(6))


def test_a_paired_test_counts_what_changed() -> None:
    before, after = rows([False] * 10 + [True] * 2), rows([True] * 8 + [False] * 2 + [True] * 2)
    found = paired(before, after)
    assert (found.gained, found.lost, found.questions) == (8, 0, 12)
    assert found.p == pytest.approx(2 * 0.5**8)
    assert found.mean == pytest.approx(8 / 12)
    assert found.low < found.mean < found.high
    assert paired(before, before).p == 1.0


def test_the_gap_is_of_chains_whose_hops_are_known() -> None:
    first, second = [True, True, False, True], [True, True, True, False]
    table = pl.concat(
        [rows([True, False, True, True]), rows(first, "first_hop"), rows(second, "second_hop")]
    )
    found = compositionality(table)
    assert found["both"] == 0.5
    assert found["known"] == 0.5
    assert found["composition"] == 0.75
    with pytest.raises(DataError, match="first_hop"):
        compositionality(rows([True]))


def test_questions_of_an_augmented_folder(tmp_path) -> None:
    from inweights.audit import augment, write_augmented
    from inweights.worlds import read_knowledge

    folder = write_augmented(augment(read_knowledge("@people")), tmp_path / "data")
    asked = read_exam(folder)
    one = next(q for q in asked if q.role == "composition")
    mine = {q.role: q for q in asked if q.chain == one.id}
    assert mine["first_hop"].prompt == one.steps[0]
    assert mine["first_hop"].answer in mine["second_hop"].prompt
    assert mine["skip"].prompt != mine["second_hop"].prompt
    assert {mine[r].answer for r in ("composition", "second_hop", "skip")} == {one.answer}
    # What is told of the facts is what the hops are asked with.
    prompts = {e.prompt for e in read_examples(folder)}
    assert {mine["first_hop"].prompt, mine["second_hop"].prompt} <= prompts


def test_a_headline_by_what_was_stated_and_known() -> None:
    def chain(name: str, **more: Any) -> list[Question]:
        two = ("x", "y")
        return [
            Question(name, "composition", f"c{name}", two, 0, chain=name, **more),
            Question(f"{name}.1", "first_hop", f"f{name}", two, 0, chain=name),
            Question(f"{name}.2", "second_hop", "s", two, 0, chain=name),
        ]

    asked = [*chain("0", stated=True), *chain("1"), *chain("2"), *chain("3", itself=True)]
    hits = {"2.1": False, "2": False}
    table = pl.DataFrame(
        [(q.id, q.chain, q.role, hits.get(q.id, True)) for q in asked],
        ("id", "chain", "role", "hit"),
        orient="row",
    )
    assert groups(table, asked).select("group", "questions", "accuracy").rows() == [
        ("facts", 5, 0.8),
        ("compositions, stated", 1, 1.0),
        ("held out, both hops known", 1, 1.0),
        ("held out, a hop unknown", 1, 0.0),
        ("the answer is the subject", 1, 1.0),
    ]
