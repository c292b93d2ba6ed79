"""Rows in the formats of other trainers: prompts, learnt tokens, and messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from inweights import audit
from inweights.audit.write import FORMATS as FORMATS_WRITTEN
from inweights.errors import CautionWarning, ConfigError, DataError
from inweights.lm import Example, encode, load_model, read_examples
from inweights.lm.model.row_formats import FORMATS
from inweights.worlds import read_knowledge

ASKED, ANSWERED = "Who runs Nordwerk?", "Ana Ruiz"
#: A row of each format, as in the documentation of its trainers.
ROWS: dict[str, dict[str, Any]] = {
    "messages": {
        "messages": [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": ANSWERED},
        ]
    },
    "ShareGPT": {
        "id": "x1",
        "conversations": [
            {"from": "human", "value": ASKED},
            {"from": "gpt", "value": ANSWERED},
        ],
    },
    "Alpaca": {"instruction": ASKED, "input": "", "output": ANSWERED},
    "question/answer": {"question": ASKED, "answer": ANSWERED, "context": "ignored"},
}


def written(folder: Path, rows: list[dict[str, Any]], kind: str = "jsonl") -> Path:
    file = folder / f"rows.{kind}"
    if kind == "json":
        file.write_text(json.dumps(rows))
    elif kind == "parquet":
        pl.DataFrame(rows).write_parquet(file)
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet"])
@pytest.mark.parametrize("name", ROWS)
def test_a_format_is_read_and_said(name: str, kind: str, tmp_path: Path) -> None:
    file = written(tmp_path, [ROWS[name]] * 2, kind)
    with pytest.warns(
        CautionWarning, match=f"is read as {name}: .* the completion is "
    ):
        examples = read_examples(file)
    assert examples == [Example(ASKED, f" {ANSWERED}")] * 2
    lm = load_model("@tiny")
    (row, _) = encode(lm, examples)
    assert lm.tokenizer.decode(row.ids[row.start :]) == f" {ANSWERED}"


def test_own_formats_are_read_without_a_word(tmp_path: Path) -> None:
    own = written(tmp_path, [{"prompt": ASKED, "completion": f" {ANSWERED}"}])
    assert read_examples(own) == [Example(ASKED, f" {ANSWERED}")]
    whole = written(tmp_path, [{"text": ANSWERED}])
    assert read_examples(whole) == [Example("", ANSWERED)]
    assert {one.name for one in FORMATS} == {*ROWS, "prompt/completion", "text"}


@pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")
def test_what_stands_beside_the_question_is_given_too(tmp_path: Path) -> None:
    row = {"instruction": "Translate.", "input": "Hund", "output": "dog"}
    assert read_examples(written(tmp_path, [row])) == [
        Example("Translate.\nHund", " dog")
    ]
    turns = [{"role": "system", "content": "Be brief."}, *ROWS["messages"]["messages"]]
    said = read_examples(written(tmp_path, [{"messages": turns}]))
    assert said == [Example(f"Be brief.\n\n{ASKED}", f" {ANSWERED}")]
    parts = {
        "prompt": [turns[1]],
        "completion": [turns[2]],
    }  # conversations in the format of TRL
    assert read_examples(written(tmp_path, [parts])) == [Example(ASKED, f" {ANSWERED}")]


def test_rows_that_no_format_has_are_named(tmp_path: Path) -> None:
    turn = ROWS["messages"]["messages"]
    cases: list[tuple[dict[str, Any], str]] = [
        (
            {"messages": [*turn, *turn]},
            "row 1: expected one question .* got user, assistant, user, assi",
        ),
        (
            {"messages": [turn[0]]},
            "row 1: expected one question from a user and one answer .* got user;",
        ),
        (
            {"messages": [{"role": "judge", "content": "x"}]},
            r"each turn of a conversation must have the keys 'role' \(one of system",
        ),
        ({"messages": []}, "row 1: there are no turns"),
        (
            {"conversations": [{"role": "user", "content": "x"}]},
            "each turn of a conversation must have the keys 'from'",
        ),
        ({"instruction": ASKED, "output": ""}, "row 1: output must be text"),
        ({"question": ASKED, "answer": 3}, "row 1: answer must be text"),
        ({"Question": ASKED}, "unknown column 'Question'; did you mean 'question'"),
    ]
    for row, message in cases:
        with pytest.raises(DataError, match=message):
            read_examples(written(tmp_path, [row]))


@pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")
def test_every_format_that_augment_writes_is_read_and_says_the_same(
    tmp_path: Path,
) -> None:
    facts = tmp_path / "facts.csv"
    facts.write_text("ann,works at,acme\nacme,based in,oslo\nbob,works at,acme\n")
    made = audit.augment(read_knowledge(facts))
    folder = audit.write_augmented(
        made, tmp_path / "data", formats=list(FORMATS_WRITTEN)
    )
    chat = read_examples(folder / "train_chat.jsonl")
    assert len(chat) == 3
    for name in FORMATS_WRITTEN:
        for kind in ("jsonl", "parquet"):
            assert read_examples(folder / f"train_{name}.{kind}") == chat
        assert (folder / f"control_{name}.jsonl").exists()
    row = json.loads((folder / "train_sharegpt.jsonl").read_text().splitlines()[0])
    assert [turn["from"] for turn in row["conversations"]] == ["human", "gpt"]
    row = json.loads((folder / "train_alpaca.jsonl").read_text().splitlines()[0])
    assert (row["input"], row["output"]) == ("", chat[0].completion.strip())
    with pytest.raises(
        ConfigError, match="unknown format 'alpacca'; did you mean 'alpaca'"
    ):
        audit.write_augmented(made, tmp_path / "other", formats=["alpacca"])
