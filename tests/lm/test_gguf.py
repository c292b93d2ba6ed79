"""Models written as GGUF give the same results in other programs; others are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tests.lm.test_load import written
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from inweights.cli import main
from inweights.errors import ConfigError, DataError
from inweights.lm import LanguageModel, load_model, write_gguf
from inweights.lm.model.gguf_tokens import splitting

gguf = pytest.importorskip("gguf", reason="pip install gguf lifts this")

TEXTS = [
    "The capital of France is Paris, it's 1234 years old.",
    "Rome is in Italy and Oslo is in Norway; don't ask 99 times.",
]
#: The pattern of Qwen2's tokenizer.json; Llama 3's keeps up to three digits together.
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def of_bytes(*, whole: bool) -> Any:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=whole)


def split(expression: str) -> Any:
    first = pre_tokenizers.Split(Regex(expression), "isolated")
    return pre_tokenizers.Sequence([first, of_bytes(whole=False)])


def digits() -> Any:
    first = pre_tokenizers.Digits(individual_digits=True)
    return pre_tokenizers.Sequence([first, of_bytes(whole=True)])


SPLITTING = {
    "gpt-2": of_bytes(whole=True),
    "smollm": digits(),
    "qwen2": split(QWEN),
    "dbrx": split(QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")),
}


def tokenizer(rule: Any = SPLITTING["gpt-2"]) -> Any:
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = rule
    inner.decoder = decoders.ByteLevel()
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner.train_from_iterator(
        TEXTS * 4,
        trainers.BpeTrainer(
            vocab_size=330,
            initial_alphabet=letters,
            special_tokens=["<end>"],
            show_progress=False,
        ),
    )
    kind: Any = transformers.PreTrainedTokenizerFast
    return kind(tokenizer_object=inner, eos_token="<end>", pad_token="<end>")


def model(kind: str, **options: Any) -> LanguageModel:
    """Return a random model with four unused rows of embeddings."""
    tokens = tokenizer()
    sizes: dict[str, Any] = {
        "vocab_size": len(tokens) + 4,
        "max_position_embeddings": 64,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    if kind != "gpt2":
        sizes |= {"intermediate_size": 96, "num_key_value_heads": 2}
    config: Any = transformers.AutoConfig.for_model(kind, **sizes | options)
    with torch.random.fork_rng(devices=[]):
        made = transformers.AutoModelForCausalLM.from_config(config).eval()
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in made.parameters():
            weight.normal_(0.0, 0.2, generator=draws)
    return LanguageModel(kind, made, tokens)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("llama", {}),
        ("qwen2", {"tie_word_embeddings": False}),
        ("qwen3", {"head_dim": 128}),
        (
            "gpt2",
            {"max_position_embeddings": 1024},
        ),  # everything that the reader accepts
    ],
)
@torch.no_grad()
def test_what_is_read_back_says_the_same(
    kind: str, options: dict[str, Any], tmp_path: Path
) -> None:
    """The reader of transformers gives bitwise equal logits, and close ones with fewer bits."""
    lm = model(kind, **options)
    ids = torch.tensor([lm.tokens(TEXTS[0])])
    said = lm.model(ids).logits
    errors = []
    for bits in (32, 16, 8, 4):
        read = load_model(write_gguf(lm, tmp_path / f"{bits}.gguf", bits=bits))
        assert read.tokens(TEXTS[0]) == lm.tokens(TEXTS[0])
        errors.append(float((read.model(ids).logits - said).abs().max()))
    assert errors[0] <= 1e-5
    assert errors == sorted(errors)
    assert errors[2] < 0.05 * float(said.abs().max())


def test_file_is_what_another_writer_makes(tmp_path: Path) -> None:
    """Tensors and sizes equal those of the writer in the test of reading."""
    written(tmp_path / "other.gguf")
    other = load_model(tmp_path / "other.gguf")
    ours = gguf.GGUFReader(write_gguf(other, tmp_path / "ours.gguf", bits=32))
    theirs = gguf.GGUFReader(tmp_path / "other.gguf")
    tensors = {one.name: one for one in ours.tensors}
    assert set(tensors) == {one.name for one in theirs.tensors}
    for tensor in theirs.tensors:
        assert (tensors[tensor.name].data == tensor.data).all()
    common = set(theirs.fields) & set(ours.fields)
    assert {"llama.block_count", "tokenizer.ggml.merges"} <= common
    assert set(theirs.fields) - common <= {"GGUF.kv_count"}
    for name in common - {"GGUF.kv_count"}:
        assert ours.fields[name].contents() == theirs.fields[name].contents(), name


@pytest.mark.parametrize("name", SPLITTING)
def test_how_text_is_split_has_a_name(name: str, tmp_path: Path) -> None:
    lm = LanguageModel("small", model("llama").model, tokenizer(SPLITTING[name]))
    read = gguf.GGUFReader(write_gguf(lm, tmp_path / "a.gguf"))
    assert read.fields["tokenizer.ggml.pre"].contents() == name


def test_whole_words_of_llama_3_are_not_merged() -> None:
    expression = {"Regex": QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")}
    steps = [
        {"type": "Split", "pattern": expression, "behavior": "Isolated"},
        {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
    ]
    rule = {"type": "Sequence", "pretokenizers": steps}
    whole = {"model": {"ignore_merges": True}, "pre_tokenizer": rule}
    assert splitting(whole) == "llama-bpe"


def test_slower_rotations_of_llama_3_are_written(tmp_path: Path) -> None:
    """As in llama.cpp, low frequencies are scaled and high ones are not."""
    rope = {
        "rope_type": "llama3",
        "rope_theta": 10_000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }
    lm = model("llama", rope_parameters=rope)
    tensors = gguf.GGUFReader(write_gguf(lm, tmp_path / "a.gguf")).tensors
    (found,) = (one.data for one in tensors if one.name == "rope_freqs.weight")
    expected = []
    for pair in range(8):
        wave = 2 * torch.pi * 10_000.0 ** (pair / 8)
        smooth = (32 / wave - 1.0) / (4.0 - 1.0)
        between = 1 / ((1 - smooth) / 8.0 + smooth)
        expected.append(1.0 if wave < 32 / 4 else 8.0 if wave > 32 else between)
    assert found.tolist() == pytest.approx(expected, rel=1e-4)
    assert len(set(expected)) >= 3


def test_what_follows_other_rules_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.gguf"
    lm = model("llama")
    for other, message in (
        (model("qwen2", use_sliding_window=True), "sliding-window attention"),
        (model("llama", attention_bias=True), "biases in attention"),
        (
            model(
                "qwen2",
                rope_parameters={
                    "rope_type": "linear",
                    "factor": 2.0,
                    "rope_theta": 1e4,
                },
            ),
            "positions of the type 'linear'",
        ),
        (model("llama", hidden_act="relu"), "the activation 'relu'"),
        (
            model("gpt2", scale_attn_by_inverse_layer_idx=True),
            "attention scores scaled by layer index",
        ),
        (model("mistral"), "type 'mistral' .* are llama, qwen2, qwen3, gpt2; for"),
        (load_model("@tiny"), "single bytes, without merges"),
        (
            LanguageModel("x", lm.model, tokenizer(split(r"\s+|\S+"))),
            "GGUF has no known name",
        ),
    ):
        with pytest.raises(DataError, match=message):
            write_gguf(other, file)
    with pytest.raises(DataError, match=r"must end in \.gguf"):
        write_gguf(lm, tmp_path / "a.bin")
    with pytest.raises(ConfigError, match="unknown bits '5'"):
        write_gguf(lm, file, bits=5)
    with pytest.raises(DataError, match="No such file"):
        write_gguf(lm, tmp_path / "none" / "a.gguf")
    file.touch()
    with pytest.raises(DataError, match="exists"):
        write_gguf(lm, file)
    assert list(tmp_path.iterdir()) == [file]


def test_the_command_writes_a_folder_as_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = model("llama").save(tmp_path / "tuned")
    file = tmp_path / "tuned.gguf"
    assert main(["gguf", str(folder), "--out", str(file), "--bits", "8"]) == 0
    assert f"llama-cli -m {file}" in capsys.readouterr().out
    assert load_model(file).model.config.model_type == "llama"
