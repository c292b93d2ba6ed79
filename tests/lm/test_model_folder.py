"""A model in a folder: writing, reading, and errors."""

from __future__ import annotations

import json

import pytest
import torch
from tests.lm.four_facts import weights

from inweights.errors import DataError
from inweights.lm import load_model


def test_a_saved_model_comes_back(lm, tmp_path) -> None:
    folder = lm.save(tmp_path / "model")
    again = load_model(folder)
    assert torch.equal(weights(again), weights(lm))
    assert again.tokens("né", start=True) == lm.tokens("né", start=True)
    with pytest.raises(DataError, match="already exists"):
        lm.save(folder)


def test_a_folder_without_tokenizer_is_refused(lm, tmp_path) -> None:
    lm.model.save_pretrained(tmp_path / "model")
    with pytest.raises(DataError, match="contains no tokenizer"):
        load_model(tmp_path / "model")


def test_a_pickle_is_refused(lm, tmp_path) -> None:
    folder = lm.save(tmp_path / "model")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(DataError, match=r"as a pickle \(pytorch_model.bin\)"):
        load_model(folder)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p / "missing", "neither a folder"),
        (lambda p: (p / "empty").mkdir() or p / "empty", "contains no weights"),
        (lambda p: (p / "a.txt").write_text("a") and p / "a.txt", "is not a model"),
        (lambda p: "@smollm", "did you mean '@smollm2'"),
    ],
)
def test_what_is_no_model_is_refused(make, message, tmp_path) -> None:
    with pytest.raises(DataError, match=message):
        load_model(make(tmp_path))


def test_broken_weights_are_one_line(lm, tmp_path) -> None:
    folder = lm.save(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"not safetensors")
    with pytest.raises(DataError, match="cannot read the model") as found:
        load_model(folder)
    assert "\n" not in str(found.value)


def test_code_of_a_checkpoint_is_never_run(lm, tmp_path) -> None:
    folder = lm.save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {
        "AutoModelForCausalLM": "evil.Model",
        "AutoConfig": "evil.Config",
    }
    config["model_type"] = "evil"
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    with pytest.raises(DataError):
        load_model(folder)
    assert not (tmp_path / "run").exists()
