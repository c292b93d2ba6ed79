"""Exported models compute the same outputs as the models of the library."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from inweights.errors import ConfigError
from inweights.models import GPT, GPTConfig
from inweights.models.export import from_transformers, to_transformers

transformers = pytest.importorskip("transformers", reason="needs inweights[hf]")

TOKENS = torch.tensor([[1, 5, 2, 8, 0, 3], [7, 7, 4, 1, 6, 2]])


def gpt(**settings: Any) -> GPT:
    config = GPTConfig(layers=2, width=12, heads=3, context=6, **settings)
    model = config.build(vocabulary=9, seeds=[3, 4])
    generator = torch.Generator().manual_seed(1)
    # No parameter keeps its initial value of 0 or 1, so that a missing copy is noticed.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
    return model


@torch.no_grad()
def assert_same(model: GPT, replica: int, exported: Any) -> None:
    said = exported(input_ids=TOKENS).logits
    torch.testing.assert_close(said, model(TOKENS)[replica], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
def test_logits_are_equal(tied: bool, positions: str) -> None:
    model = gpt(tied=tied, positions=positions)
    for replica in (0, 1, -1):
        exported = to_transformers(model, replica)
        assert not exported.training
        assert_same(model, replica, exported)


@torch.no_grad()
def test_starts_on_the_scales_of_gpt2() -> None:
    """Initial standard deviations equal those of a GPT-2 that transformers initialises."""
    config = GPTConfig(layers=3, width=96, heads=3, context=32, depth_scaled=True)
    ours = config.build(vocabulary=64, seeds=1)
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=64, n_positions=32, n_embd=96, n_layer=3, n_head=3
        )
    )
    exported = dict(to_transformers(ours, 0).named_parameters())
    for name, parameter in theirs.named_parameters():
        if parameter.dim() > 1:
            assert exported[name].std().item() == pytest.approx(
                parameter.std().item(), rel=0.12
            ), name
        else:
            torch.testing.assert_close(exported[name], parameter)


@torch.no_grad()
def test_states_and_patterns_are_equal() -> None:
    model = gpt()
    states, patterns = model.hidden(TOKENS, at="all"), model.attention_patterns(TOKENS)
    for replica in (0, 1):
        exported = to_transformers(model, replica)
        exported.set_attn_implementation("eager")
        said = exported(
            input_ids=TOKENS, output_hidden_states=True, output_attentions=True
        )
        # transformers returns the input of each block, then the output of the final norm.
        for layer, theirs in zip(
            ("embedding", "block.0", "final"), said.hidden_states, strict=True
        ):
            torch.testing.assert_close(
                states[layer][replica], theirs, atol=1e-5, rtol=1e-5
            )
        for pattern, theirs in zip(patterns.values(), said.attentions, strict=True):
            torch.testing.assert_close(pattern[replica], theirs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("tied", [True, False])
def test_saved_and_loaded(tied: bool, tmp_path: Path) -> None:
    model = gpt(tied=tied)
    to_transformers(model, 1).save_pretrained(tmp_path)
    assert (tmp_path / "model.safetensors").exists()
    loaded = transformers.GPT2LMHeadModel.from_pretrained(
        tmp_path, local_files_only=True
    )
    assert_same(model, 1, loaded.eval())


def test_settings_of_the_export() -> None:
    config = to_transformers(gpt(tied=False)).config
    assert config.activation_function == "gelu"
    assert (config.n_positions, config.vocab_size, config.n_head) == (6, 9, 3)
    assert config.resid_pdrop == config.embd_pdrop == config.attn_pdrop == 0.0
    assert config.layer_norm_epsilon == 1e-5
    assert config.tie_word_embeddings is False


def test_weights_are_copied_and_the_global_generator_is_left_alone() -> None:
    model = gpt()
    before, state = model.tokens.weight.detach().clone(), torch.get_rng_state()
    exported = to_transformers(model)
    assert torch.equal(torch.get_rng_state(), state)
    with torch.no_grad():
        exported.transformer.wte.weight.zero_()
    assert torch.equal(model.tokens.weight, before)


@pytest.mark.parametrize("tied", [True, False])
def test_there_and_back(tied: bool) -> None:
    model = gpt(tied=tied)
    back = from_transformers(to_transformers(model, 1))
    assert back.replicas == 1
    assert back.config == model.config
    ours, theirs = dict(model.named_parameters()), dict(back.named_parameters())
    assert list(ours) == list(theirs)
    for name, parameter in ours.items():
        assert torch.equal(parameter[1:], theirs[name]), name


def test_precision_is_kept() -> None:
    model = gpt().double()
    exported = to_transformers(model)
    assert exported.dtype == torch.float64
    assert_same(model, 0, exported)
    assert from_transformers(exported).tokens.weight.dtype == torch.float64


def test_it_generates() -> None:
    """Greedy decoding of the exported model gives the argmax of our logits at every token."""
    model = gpt()
    prompt = TOKENS[:, :2]
    said: Any = to_transformers(model, 1).generate(  # type: ignore[misc]
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=4,
        do_sample=False,
    )
    ours = prompt
    for _ in range(4):
        ours = torch.cat([ours, model(ours)[1, :, -1].argmax(-1, keepdim=True)], dim=1)
    assert torch.equal(said, ours)


@pytest.mark.parametrize(
    "settings",
    [
        {"attention": "uniform"},
        {"attention": "none"},
        {"residual": False},
        {"norm": False},
    ],
)
def test_what_gpt2_cannot_express_is_refused(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(ConfigError, match=rf"GPT-2 cannot express gpt\.{name}"):
        to_transformers(gpt(**settings))


def test_loops_that_were_changed_after_training_are_refused() -> None:
    model = gpt()
    model.loops = 2
    with pytest.raises(ConfigError, match=r"GPT-2 cannot express gpt\.loops = 2"):
        to_transformers(model)


@pytest.mark.parametrize("replica", [2, -3])
def test_there_is_no_such_replica(replica: int) -> None:
    with pytest.raises(
        ConfigError, match=f"'replica' must be from -2 to 1, got {replica}"
    ):
        to_transformers(gpt(), replica)


def test_without_transformers_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ConfigError, match=r"inweights\[hf\]"):
        to_transformers(gpt())


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("activation_function", "gelu_new"),
        ("layer_norm_epsilon", 1e-6),
        ("n_inner", 17),
        ("scale_attn_by_inverse_layer_idx", True),
    ],
)
def test_a_gpt2_that_is_no_gpt_is_refused(setting: str, value: object) -> None:
    model = to_transformers(gpt())
    setattr(model.config, setting, value)
    with pytest.raises(ConfigError, match=setting):
        from_transformers(model)
