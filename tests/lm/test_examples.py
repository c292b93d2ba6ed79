"""Training examples: files, tokens, learnt tokens, and batches."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from tests.lm.four_facts import FACTS

from inweights.errors import ConfigError, DataError
from inweights.lm import Example, encode, log_likelihoods, preview, read_examples
from inweights.lm.model.data import Encoded, batches
from inweights.lm.model.load import _check_chat


def test_the_mask_is_the_completion(lm) -> None:
    (row,) = encode(lm, FACTS[:1])
    assert lm.tokenizer.decode(row.ids[row.start :]) == " Italy."
    assert preview(lm, [row]) == "Rome is in[ ][I][t][a][l][y][.]"
    (row,) = encode(lm, FACTS[:1], end=True)
    assert row.ids[-1] == lm.tokenizer.eos_token_id


def test_a_text_without_prompt_is_learnt_whole(lm) -> None:
    (row,) = encode(lm, [Example("", "Rome")])
    assert (len(row.ids), row.start) == (4, 1)


def test_in_chat_prompts_are_turns(lm) -> None:
    chat = replace(lm, chat=True)
    (row,) = encode(chat, [Example("Rome is in", " Italy.")], end=True)
    assert (
        chat.tokenizer.decode(row.ids[: row.start]) == "user: Rome is in\nassistant: "
    )
    assert chat.tokenizer.decode(row.ids[row.start :]) == "Italy.<end>"
    # Text without a speaker, such as replayed text, is not a turn of a chat.
    (row,) = encode(chat, [Example("", "Rome lies in Italy.")])
    assert chat.tokenizer.decode(row.ids) == "Rome lies in Italy."
    with pytest.raises(ConfigError, match="no chat template"):
        _check_chat("a base model", SimpleNamespace(chat_template=None), True)


def test_what_has_no_tokens_is_refused(lm) -> None:
    with pytest.raises(DataError, match=r"example 2 .* no tokens"):
        encode(lm, [FACTS[0], Example("Rome is in", "")])
    with pytest.raises(DataError, match="candidate '' has no tokens"):
        log_likelihoods(lm, ["Rome"], [["a", ""]])
    with pytest.raises(DataError, match="no examples"):
        encode(lm, [])


def test_each_example_is_there_once_and_little_is_padding() -> None:
    lengths = np.random.default_rng(0).integers(5, 60, size=500).tolist()
    rows = [Encoded((0,) * n, 1) for n in lengths]
    one = list(batches(rows, 256, 0, 0))
    assert sorted(i for batch in one for i in batch) == list(range(500))
    cost = [len(batch) * max(lengths[i] for i in batch) for batch in one]
    assert max(cost) <= 256
    assert 1 - sum(lengths) / sum(cost) < 0.05
    assert one == list(batches(rows, 256, 0, 0))
    assert one != list(batches(rows, 256, 0, 1))
    assert one != list(batches(rows, 256, 1, 0))


def test_files_of_examples(tmp_path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"prompt": "a", "completion": " b", "stage": 2}\n')
    assert read_examples(file) == [Example("a", " b", 2)]
    pl.DataFrame({"text": ["a b"]}).write_parquet(tmp_path / "a.parquet")
    assert read_examples(tmp_path / "a.parquet") == [Example("", "a b")]
    file.write_text('{"prompt": "a", "completion": " "}\n')
    with pytest.raises(DataError, match="row 1"):
        read_examples(file)
    file.write_text('{"promt": "a"}\n')
    with pytest.raises(
        DataError, match="unknown column 'promt'; did you mean 'prompt'"
    ):
        read_examples(file)
    file.write_text("{")
    with pytest.raises(DataError, match="cannot read"):
        read_examples(file)
    with pytest.raises(DataError, match=r"contains no train\.parquet"):
        read_examples(tmp_path / "..")


def test_two_files_of_a_part_that_differ_are_refused(tmp_path) -> None:
    rows = pl.DataFrame({"prompt": ["a", "c"], "completion": [" b", " d"]})
    rows.write_parquet(tmp_path / "train.parquet")
    rows.write_ndjson(tmp_path / "train.jsonl")
    assert len(read_examples(tmp_path)) == 2
    rows.with_columns(completion=pl.Series([" b", " e"])).write_ndjson(
        tmp_path / "train.jsonl"
    )
    with pytest.raises(
        DataError, match=r"train\.jsonl differ in 1 rows, the first is row 2"
    ):
        read_examples(tmp_path)
    (tmp_path / "train.parquet").unlink()
    assert read_examples(tmp_path)[1].completion == " e"


def test_rows_without_columns_are_refused(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"there are no columns\. .* one of these formats: prompt"
    ):
        read_examples(path)
