"""Packed examples have the losses and gradients of plain transformers for single examples."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from msgspec import structs
from tests.lm.four_facts import FACTS, weights
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    MambaConfig,
    MistralConfig,
    PreTrainedConfig,
    Qwen2Config,
)

from inweights.errors import CautionWarning
from inweights.lm import Example, FineTune, LanguageModel, encode, finetune, load_model
from inweights.lm.tuning.updates.low_rank import adapted_linear
from inweights.lm.tuning.updates.packing import PackedReader, pack, why_padded
from inweights.lm.tuning.updates.reading import read_padded

#: Some have a common prefix, one occurs twice, and lengths differ.
MIXED = [
    *FACTS,
    Example("Rome is in", " Europe."),
    Example("", "Rome is in Italy, as is Salzburg not."),
    FACTS[0],
]
_SMALL: dict[str, Any] = {"vocab_size": 257, "hidden_size": 32, "num_hidden_layers": 2}
_HEADS: dict[str, Any] = {**_SMALL, "num_attention_heads": 4, "intermediate_size": 48}
CONFIGS = [
    Qwen2Config(**_HEADS, num_key_value_heads=2),
    GPT2Config(vocab_size=257, n_embd=32, n_layer=2, n_head=2),
    MistralConfig(**_HEADS, num_key_value_heads=2, sliding_window=4),
]


def with_model(config: PreTrainedConfig) -> LanguageModel:
    """Return the tiny tokenizer with a random model of a different kind."""
    with torch.random.fork_rng():
        model = AutoModelForCausalLM.from_config(config).eval()
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        # Large enough that attention and positions affect the result.
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.1, generator=draws)
    return LanguageModel("random", model, load_model("@tiny").tokenizer)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.model_type)
def test_losses_and_gradients_are_those_of_plain_transformers(config) -> None:
    lm = with_model(config)
    rows = encode(lm, MIXED, end=True)
    assert why_padded(lm, rows) == ""
    found = PackedReader()(lm, lm.model, rows, torch.device("cpu"))
    loss = torch.nn.functional.cross_entropy(found.logits, found.targets)
    mine = torch.autograd.grad(loss, list(lm.model.parameters()))
    total, count = 0.0, 0
    lm.model.zero_grad()
    for row in rows:
        labels = torch.tensor([row.ids])
        labels[:, : row.start] = -100
        learnt = len(row.ids) - row.start
        alone = lm.model(torch.tensor([row.ids]), labels=labels).loss * learnt
        alone.backward()
        total, count = total + float(alone.detach()), count + learnt
    assert float(loss.detach()) == pytest.approx(total / count, rel=1e-5)
    for gradient, weight in zip(mine, lm.model.parameters(), strict=True):
        theirs = weight.grad / count
        assert float((gradient - theirs).abs().max()) <= 1e-4 * float(
            theirs.abs().max()
        )
    # The model itself is unchanged.
    assert lm.model.config._attn_implementation == "sdpa"


def test_models_that_read_what_stands_before_are_padded_and_this_is_said() -> None:
    lm = with_model(MambaConfig(**_SMALL, state_size=4))
    with pytest.warns(CautionWarning, match=r"padded: the model 'random' cannot"):
        done = finetune(lm, MIXED, FineTune(method="full", epochs=1, layout="packed"))
    assert done.positions > done.tokens


def test_a_model_whose_layers_mix_examples_is_found_by_trial(lm) -> None:
    rows = encode(lm, MIXED, end=True)
    attention = lm.model.model.layers[0].self_attn

    def blur(_module: object, _given: object, made: tuple[torch.Tensor, object]):
        return made[0].cumsum(1), made[1]

    with warnings.catch_warnings():
        hook = attention.register_forward_hook(blur)
        assert "depend on the preceding example" in why_padded(lm, rows)
        hook.remove()
    assert why_padded(lm, rows) == ""


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "given",
    [
        {"method": "lora"},
        {"method": "full"},
        {"method": "lora", "variant": "dora"},
        {"method": "lora", "precision": "bf16"},
    ],
    ids=str,
)
def test_training_packed_is_training_padded(given) -> None:
    config = FineTune(rate=1e-2, epochs=3, batch_tokens=60, until=1.0, **given)
    runs = []
    for layout in ("padded", "packed"):
        lm = load_model("@tiny")
        own = Example("", "The weather is fine.", old=True)
        done = finetune(lm, [*MIXED, own], structs.replace(config, layout=layout))
        runs.append((done, weights(lm)))
    (padded, one), (packed, other) = runs
    is_half = config.precision == "bf16"
    assert packed.losses["loss"].to_list() == pytest.approx(
        padded.losses["loss"].to_list(), rel=2e-2 if is_half else 1e-5
    )
    assert torch.allclose(one, other, atol=2e-2 if is_half else 1e-5)
    assert not torch.equal(one, weights(load_model("@tiny")))
    assert packed.tokens == padded.tokens < padded.positions
    assert packed.positions < packed.tokens
    assert packed.padding == 0 < padded.padding


def test_shared_beginnings_are_read_once(lm) -> None:
    rows = encode(lm, [Example("Rome is in", " Italy."), Example("Rome is in", " it.")])
    assert pack(rows).ids.numel() == len("Rome is in Italy") + len("it")
    device = torch.device("cpu")
    packed = PackedReader()(lm, lm.model, rows, device)
    padded = read_padded(lm, lm.model, rows, device)
    assert packed.targets.equal(padded.targets)
    assert packed.example.equal(padded.example)
    torch.testing.assert_close(packed.logits, padded.logits)


def test_a_layer_with_its_adapter_has_the_gradients_of_its_formula() -> None:
    draws = torch.Generator().manual_seed(0)
    sizes = {
        "x": (2, 5, 3),
        "weight": (4, 3),
        "bias": (4,),
        "down": (2, 3),
        "up": (4, 2),
    }
    given = {
        name: torch.randn(size, generator=draws, dtype=torch.double)
        for name, size in sizes.items()
    }
    moving = {name: given[name].requires_grad_() for name in ("x", "down", "up")}
    assert torch.autograd.gradcheck(
        lambda x, down, up: adapted_linear(
            x, given["weight"], given["bias"], down, up, 0.3
        ),
        tuple(moving.values()),
    )
    by_hand = given["x"] @ given["weight"].T + given["bias"]
    by_hand = by_hand + 0.3 * given["x"] @ given["down"].T @ given["up"].T
    torch.testing.assert_close(adapted_linear(**given, scale=0.3), by_hand)
