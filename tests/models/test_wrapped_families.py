"""Modules of other libraries and of users memorise facts and can be swept."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.models.own_modules import Encoder, Recurrent, nano

import inweights as iw

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

WORLD = iw.TwoHop(n=10)
SIZES: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2}
HEADS: dict[str, Any] = {**SIZES, "intermediate_size": 64, "num_attention_heads": 2}


def config_of(name: str) -> Any:
    """Return a small config of ``transformers``, imported only here, or a factory."""
    if name in OWN:
        return iw.wrap(OWN[name])
    import transformers

    settings = {
        "Llama": {**HEADS, "num_key_value_heads": 2, "max_position_embeddings": 8},
        "Qwen2": {**HEADS, "num_key_value_heads": 2, "max_position_embeddings": 8},
        "GPTNeoX": {**HEADS, "max_position_embeddings": 8},
        "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 8},
        "Mamba": {**SIZES, "state_size": 4},
        "Rwkv": {**SIZES, "attention_hidden_size": 32, "context_length": 8},
    }[name]
    return iw.wrap(getattr(transformers, f"{name}Config")(**settings))


def lucid(vocabulary: int) -> Any:
    """Return a transformer of the library x-transformers."""
    library = pytest.importorskip("x_transformers")
    layers = library.Decoder(dim=32, depth=2, heads=2, attn_dim_head=16)
    return library.TransformerWrapper(
        num_tokens=vocabulary, max_seq_len=8, attn_layers=layers
    )


OWN: dict[str, Any] = {
    "encoder": Encoder,
    "nano": nano,
    "recurrent": Recurrent,
    "lucid": lucid,
}
#: The fast tier tests one module of each kind; all of them take minutes.
QUICK = ("encoder",)
FAMILIES = ("Llama", "Qwen2", "GPTNeoX", "GPT2", "Mamba", "Rwkv", *OWN)


@pytest.mark.parametrize(
    "name",
    [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in FAMILIES],
)
def test_each_memorises_and_sweeps(name: str, tmp_path: Path) -> None:
    steps = iw.Phase(steps=200, optimizer=iw.Optimizer(rate=1e-2))
    learner = iw.Curriculum(phases=(steps,))
    # The warning that an LSTM is called for one replica after another.
    with warnings.catch_warnings(action="ignore"):
        table = iw.sweep(
            WORLD,
            config_of(name),
            learner,
            seeds=2,
            runs=tmp_path,
            jobs=1,
            progress=False,
        )
    facts = table.filter(part="facts")
    assert facts["seed"].n_unique() == 2
    assert min(facts["accuracy"].to_list()) >= 0.99
