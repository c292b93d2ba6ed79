"""A looped GPT equals an unrolled GPT with shared weights, however it is computed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import torch

from inweights.config import identity
from inweights.errors import ConfigError
from inweights.models import GPT, EmbMLPConfig, GPTConfig, load_model, save_model
from inweights.models.export import to_transformers
from inweights.models.packing import pack
from inweights.probes import by_loops, patch
from inweights.training import learners, train
from inweights.worlds import TwoHop

TOKENS = torch.tensor([[1, 2, 3], [4, 5, 6]])
LOOPED = GPTConfig(layers=2, loops=3, width=16)


def built(config: GPTConfig, seeds: tuple[int, ...] = (0, 1)) -> GPT:
    return config.build(vocabulary=9, seeds=seeds)


def test_it_equals_the_unrolled_model_with_copied_blocks() -> None:
    looped, long = built(LOOPED), built(GPTConfig(layers=6, width=16))
    own = looped.state_dict()
    for name in (unrolled := long.state_dict()):
        place = name.split(".")
        if place[0] == "blocks":
            place[1] = str(int(place[1]) % 2)
        unrolled[name] = own[".".join(place)]
    long.load_state_dict(unrolled)
    assert looped.layer_names == long.layer_names
    assert looped.part_names == long.part_names
    for name, state in looped.hidden(TOKENS, at="all").items():
        assert torch.equal(state, long.hidden(TOKENS, at="all")[name])
    assert torch.equal(looped(TOKENS), long(TOKENS))
    for name, pattern in looped.attention_patterns(TOKENS).items():
        assert torch.equal(pattern, long.attention_patterns(TOKENS)[name])


@pytest.mark.parametrize("inject", [False, True])
def test_answers_alone_are_those_of_all_positions(inject: bool) -> None:
    model = built(GPTConfig(layers=2, loops=3, inject=inject, width=16))
    batch = pack([TOKENS])
    torch.testing.assert_close(model(batch, at=batch.last), model(TOKENS)[:, :, -1])
    alone = built(model.config, seeds=(1,))
    assert torch.equal(alone(TOKENS)[0], model(TOKENS)[1])


def test_injection_adds_the_embedding_where_a_further_loop_begins() -> None:
    plain = built(GPTConfig(layers=1, loops=2, width=16))
    injected = built(GPTConfig(layers=1, loops=2, inject=True, width=16))
    states = plain.hidden(TOKENS, at="all")
    moved = states["block.0"] + states["embedding"]
    expected = patch(plain, TOKENS, moved, layer="block.0")
    torch.testing.assert_close(injected(TOKENS), expected)
    patterns = injected.attention_patterns(TOKENS)["block.1"]
    assert not torch.allclose(patterns, plain.attention_patterns(TOKENS)["block.1"])


def test_a_memory_adds_the_values_whose_keys_fit() -> None:
    config = GPTConfig(layers=1, loops=2, width=16, memory=5)
    model, plain = built(config), built(GPTConfig(layers=1, loops=2, width=16))
    batch = pack([TOKENS])
    torch.testing.assert_close(model(batch, at=batch.last), model(TOKENS)[:, :, -1])
    alone = built(config, seeds=(1,))
    assert torch.equal(alone(TOKENS)[0], model(TOKENS)[1])
    assert model.memory is not None
    value = torch.randn(2, 1, 16)
    with torch.no_grad():
        model.memory.values.weight.copy_(value.expand(-1, 5, -1))
        plain.load_state_dict(model.state_dict(), strict=False)
    seen = plain.hidden(TOKENS, layers=["block.0"])["block.0"] + value[:, 0, None]
    torch.testing.assert_close(
        model.hidden(TOKENS, layers=["block.0"])["block.0"], seen
    )


def test_runs_of_before_keep_their_identity_and_loops_have_another() -> None:
    assert {"loops", "inject", "memory"}.isdisjoint(identity(GPTConfig()))
    assert identity(LOOPED)["loops"] == 3
    with pytest.raises(
        ConfigError, match=r"gpt\.inject has no effect when gpt\.loops = 1"
    ):
        GPTConfig(inject=True)
    with pytest.raises(ConfigError, match=r"GPT-2 cannot express gpt\.loops = 3"):
        to_transformers(built(LOOPED))
    with pytest.raises(ConfigError, match=r"GPT-2 cannot express gpt\.memory = 4"):
        to_transformers(built(GPTConfig(memory=4)))


def test_a_changed_number_of_loops_is_saved(tmp_path: Path) -> None:
    model = built(msgspec.structs.replace(LOOPED, inject=True))
    model.loops = 2
    again = load_model(save_model(model, tmp_path / "model.safetensors"))
    assert again.config.loops == 2
    assert torch.equal(again(TOKENS), model(TOKENS))
    model.loops = 1
    with pytest.raises(
        ConfigError, match=r"gpt\.inject has no effect when gpt\.loops = 1"
    ):
        save_model(model, tmp_path / "model.safetensors")


def test_a_trained_model_is_evaluated_with_other_numbers_of_loops() -> None:
    world = TwoHop(n=4).build()
    model = GPTConfig(layers=1, loops=2, width=16).build(
        vocabulary=len(world.vocabulary), seeds=[0]
    )
    train(model, world, learners.two_hop(16, steps=60), seeds=[0])
    table = by_loops(model, world, counts=[1, 2, 5]).filter(role="first_hop")
    assert model.loops == 2
    assert table["loops"].to_list() == [1, 2, 5]
    assert table["loss"].arg_min() == 1
    with pytest.raises(ConfigError, match=r"counts of at least 1, got GPT and \[0\]"):
        by_loops(model, world, counts=[0])
    other = EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
    with pytest.raises(ConfigError, match=r"got EmbMLP and \[1\]"):
        by_loops(other, world, counts=[1])
