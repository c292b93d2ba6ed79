"""Comparisons of two evaluations of a model, and their questions."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from inweights.errors import ConfigError, DataError
from inweights.lm import (
    Question,
    changes,
    compositionality,
    evaluation,
    exam,
    load_model,
    paired,
    read_exam,
    read_examples,
)
from inweights.lm.exams.kinds import groups


def rows(hits: list[bool], role: str = "composition", p: float = 0.1) -> pl.DataFrame:
    ids = [str(i) for i in range(len(hits))]
    return pl.DataFrame(
        {"id": [f"{i}.{role}" for i in ids], "chain": ids, "role": role, "hit": hits}
    ).with_columns(probability=pl.lit(p), share=pl.lit(2 * p))


def test_the_three_sets() -> None:
    before = pl.concat([rows([True, False, False, True]), rows([False] * 4, "skip")])
    after = pl.concat(
        [rows([True, True, False, False]), rows([False] * 4, "skip", 0.4)]
    )
    table = changes(before, after)
    assert table["set"].to_list() == [
        "D_correct",
        "D_partial",
        "D_incorrect",
        "D_incorrect",
    ]
    assert table["rise"].to_list() == pytest.approx([0.3] * 4)
    assert table["log_share_ratio"].to_list() == pytest.approx([np.log(4)] * 4)
    with pytest.raises(DataError, match="same questions"):
        changes(before, after.head(6))


def test_a_paired_test_counts_what_changed() -> None:
    before, after = (
        rows([False] * 10 + [True] * 2),
        rows([True] * 8 + [False] * 2 + [True] * 2),
    )
    found = paired(before, after)
    assert (found.gained, found.lost, found.questions) == (8, 0, 12)
    assert found.p == pytest.approx(2 * 0.5**8)
    assert found.mean == pytest.approx(8 / 12)
    assert found.low < found.mean < found.high
    same = paired(before, before)
    assert same.p == 1.0
    # Twelve questions do not suffice for a significant result.
    assert same.low < same.mean == 0.0 < same.high


def test_the_gap_is_of_chains_whose_hops_are_known() -> None:
    first, second = [True, True, False, True], [True, True, True, False]
    table = pl.concat(
        [
            rows([True, False, True, True]),
            rows(first, "first_hop"),
            rows(second, "second_hop"),
        ]
    )
    found = compositionality(table)
    assert found["both"] == 0.5
    assert found["known"] == 0.5
    assert found["composition"] == 0.75
    with pytest.raises(DataError, match="first_hop"):
        compositionality(rows([True]))


def test_a_gap_needs_a_chain_of_which_everything_was_asked() -> None:
    # A first hop with a single candidate is left out, and rows of users have ids of their own.
    hop = rows([True], "first_hop").with_columns(chain=pl.lit("another"))
    table = pl.concat([rows([True]), hop, rows([True], "second_hop")])
    with pytest.raises(DataError, match="no chain has them"):
        compositionality(table)
    lm = load_model("@tiny")
    ends = ("Italy", "Peru")
    steps = ("Ann lives in", "{bridge} is in")
    whole = Question("0", "composition", "Ann is in", ends, 0, chain="0", steps=steps)
    hops = [
        Question("1", "first_hop", "Bob lives in", ("Rome", "Lima"), 0, chain="1"),
        Question("0.2", "second_hop", "Rome is in", ends, 0, chain="0"),
    ]
    assert "gap" not in evaluation(lm, [whole, *hops], words=False)


@pytest.mark.parametrize("column", ["subject", "first", "bridge"])
def test_hops_are_not_asked_without_what_describes_them(column) -> None:
    row: dict[str, Any] = {"role": "composition", "prompt": "Ann is in"}
    row |= {"answer": "Italy", "candidates": ["Italy", "Peru"]}
    row |= {"facts": [0, 1], "subject": "Ann"}
    table = pl.DataFrame([row | {"first": "lives_in", "bridge": "Rome"}])
    texts = {"fact": [0, 1], "prompt": ["Ann lives in", "Rome is in"]}
    train = pl.DataFrame(texts).with_columns(role=pl.lit("fact"))
    assert len(exam(table, train)) == 3
    assert [q.role for q in exam(table.drop(column), train)] == ["composition"]
    with pytest.raises(ConfigError, match="most must be at least 1, got 0"):
        exam(table, train, most=0)


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
    assert {mine[r].answer for r in ("composition", "second_hop", "skip")} == {
        one.answer
    }
    # Hops are evaluated with the wordings of the facts.
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

    asked = [
        *chain("0", stated=True),
        *chain("1"),
        *chain("2"),
        *chain("3", itself=True),
    ]
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


CHAIN = {
    "role": "composition",
    "prompt": "The country of the birthplace of Ann is",
    "answer": "Italy",
    "candidates": ["Italy", "Peru"],
    "facts": [0, 3],
}
FIRST = CHAIN | {"role": "first_hop", "prompt": "Ann was born in", "facts": [0]}
SECOND = CHAIN | {
    "role": "second_hop",
    "prompt": "The country of Rome is",
    "facts": [3],
}


@pytest.mark.parametrize(
    ("own", "wrong", "group"),
    [
        ([FIRST, SECOND], (), "held out, both hops known"),
        ([FIRST, SECOND], (SECOND,), "held out, a hop unknown"),
        ([FIRST], (FIRST,), "held out, a hop unknown"),
        ([FIRST], (), "held out, hops not asked"),
        ([], (), "held out, hops not asked"),
        ([FIRST | {"facts": None}, SECOND], (), "held out, hops not asked"),
    ],
)
def test_hops_of_a_file_of_questions_are_asked_in_it_or_not_at_all(
    own, wrong, group, tmp_path
) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(
        "\n".join(json.dumps(row) for row in [CHAIN, *own]), encoding="utf-8"
    )
    asked = read_exam(file)
    missed = {row["prompt"] for row in wrong}
    table = pl.DataFrame(
        [(q.id, q.chain, q.role, q.prompt not in missed) for q in asked],
        ("id", "chain", "role", "hit"),
        orient="row",
    )
    assert groups(table, asked).filter(pl.col("group") != "facts")[
        "group"
    ].to_list() == [group]


def test_hops_that_belong_to_no_chain_make_no_gap(tmp_path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in (CHAIN, FIRST, SECOND)))
    made = evaluation(load_model("@tiny"), read_exam(file), words=False)
    assert made["groups"]["questions"].sum() == 3
    assert "gap" not in made


def test_a_role_of_ones_own_is_in_no_group(tmp_path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps(CHAIN | {"role": "riddle"}))
    made = evaluation(load_model("@tiny"), read_exam(file), words=False)
    assert made["groups"].height == 0
    assert made["summary"]["role"].to_list() == ["riddle"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"facts": 3}, "question 1 .*facts a list of numbers, got .*'facts': 3"),
        (
            {"candidates": "Italy, Peru"},
            "candidates a list of strings, .*'Italy, Peru'",
        ),
        ({"candidates": None}, "candidates a list of strings, .*'candidates': None"),
        (
            {"answer": 1984, "candidates": [1984, 1990]},
            "answer must be strings, .*'answer': 1984",
        ),
        ({"prompt": None}, "role, prompt and answer must be strings"),
        ({"answer": "Rome"}, "the answer 'Rome' is not among its candidates"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(changed, said, tmp_path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps(CHAIN | changed))
    with pytest.raises(DataError, match=said):
        read_exam(file)


def test_a_file_without_answers_is_no_file_of_questions(tmp_path) -> None:
    file = tmp_path / "train.jsonl"
    file.write_text('{"role": "fact", "prompt": "Rome is in", "completion": " Italy."}')
    with pytest.raises(
        DataError, match=r"'answer' is missing; .* got role, prompt, completion"
    ):
        read_exam(file)
