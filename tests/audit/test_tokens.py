"""Lengths of texts, in words and in tokens of a model's own tokenizer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from inweights.audit import augment, token_counter
from inweights.audit.rows import words_of
from inweights.errors import ConfigError, DataError
from inweights.worlds import read_knowledge

pytest.importorskip("transformers", reason="pip install 'inweights[hf]' lifts this")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from inweights.lm.model.tiny import byte_tokenizer

    byte_tokenizer().save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_words_are_parts_between_spaces() -> None:
    assert words_of(["Rome", "Rome is in Italy.", "New York"]) == [1, 4, 2]
    assert words_of([]) == []


def test_tokens_of_bytes_are_bytes(folder: Path) -> None:
    count = token_counter(folder)
    texts = ["Rome", "né", "Rome is in Italy.", ""]
    assert count(texts) == [len(text.encode()) for text in texts]
    assert count(tuple(texts)) == count(texts)
    assert token_counter(str(folder))(["ab"]) == [2]
    assert count([]) == []


def test_special_tokens_do_not_count(folder: Path) -> None:
    from transformers import AutoTokenizer

    file = folder / "tokenizer.json"
    made = json.loads(file.read_text(encoding="utf-8"))
    end = {"SpecialToken": {"id": "<end>", "type_id": 0}}
    made["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [end, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [],
        "special_tokens": {"<end>": {"id": "<end>", "ids": [256], "tokens": ["<end>"]}},
    }
    file.write_text(json.dumps(made), encoding="utf-8")
    assert len(AutoTokenizer.from_pretrained(folder)("Rome")["input_ids"]) == 5
    assert token_counter(folder)(["Rome"]) == [4]


def test_a_control_has_as_many_tokens(folder: Path) -> None:
    """Control and training set have about the same length in the unit of counting."""
    count = token_counter(folder)
    made = augment(read_knowledge("@people"), tokens=count)
    assert made.tokens["train"] == sum(count(made.train["text"].to_list()))
    assert made.tokens["control"] == sum(count(made.control["text"].to_list()))
    longest = max(count(made.control["text"].to_list()))
    assert 0 <= made.tokens["train"] - made.tokens["control"] < longest


def test_what_holds_no_tokenizer_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"none, which should contain the tokenizer, does not exist"
    ):
        token_counter(tmp_path / "none")
    with pytest.raises(DataError, match="does not exist"):
        token_counter(folder / "tokenizer.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        DataError, match=r"contains no tokenizer .* expected tokenizer\.json"
    ):
        token_counter(tmp_path / "empty")
    file = folder / "tokenizer.json"
    made = json.loads(file.read_text(encoding="utf-8"))
    # The library raises a plain Exception for this.
    made["model"]["merges"] = [["R", "none"]]
    file.write_text(json.dumps(made), encoding="utf-8")
    with pytest.raises(DataError, match="contains no tokenizer"):
        token_counter(folder)


def test_without_transformers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ConfigError, match=r"pip install 'inweights\[hf\]'"):
        token_counter(tmp_path)
