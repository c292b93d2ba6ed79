"""Models trained elsewhere: the wrapped model is bitwise equal to the plain one."""

from __future__ import annotations

from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal
from safetensors.torch import save_model as save_plain
from tests.foreign.stranger import GPT, Settings, gpt, taught
from torch import nn

import inweights as iw
from inweights.errors import ConfigError, DataError
from inweights.models import pack
from inweights.models.outside.fingerprints import content_hash
from inweights.training import Fixed

#: Three steps are too few to learn a fact.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

WORLD = iw.TwoHop(n=4).build(seed=0)
NAMES = WORLD.vocabulary.names
TOKENS = len(NAMES)
IDS = torch.tensor([[0, 9, 10], [1, 9, 10], [2, 10, 9]])
BRIEF = iw.Curriculum(phases=(iw.Phase(steps=3, optimizer=iw.Optimizer(rate=1e-2)),))


def own(seed: int = 0) -> GPT:
    """Return a GPT with as many tokens as the world."""
    return gpt(seed, vocab_size=TOKENS)


def make(vocabulary: int, heads: int = 2) -> GPT:
    return GPT(Settings(vocab_size=vocabulary, n_head=heads))


@torch.no_grad()
def test_logits_are_those_of_the_plain_module_to_the_last_bit() -> None:
    plain = own()
    model = iw.wrap(plain)
    assert model.replicas == 1
    assert torch.equal(model(IDS)[0, :, -1], plain(IDS)[0][:, 0])
    # The last logits of each prefix.
    assert torch.equal(model(IDS)[0, :, 1], plain(IDS[:, :2])[0][:, 0])
    states = model.hidden(IDS, at="all")
    block = plain.transformer["h"][0]
    seen: list[torch.Tensor] = []
    handle = block.register_forward_hook(lambda *args: seen.append(args[2]))
    plain(IDS)
    handle.remove()
    assert torch.equal(states["transformer.h.0"][0], seen[0])


def test_the_module_is_copied_and_stays_as_it_was() -> None:
    plain = own()
    before = deepcopy(plain.state_dict())
    model = iw.wrap(plain)
    was = model(IDS)
    iw.train(model, WORLD, BRIEF, seeds=[0])
    assert not torch.equal(model(IDS), was)
    assert all(
        torch.equal(value, before[name]) for name, value in plain.state_dict().items()
    )
    # The copy that is stored for sweeps is also unchanged.
    assert torch.equal(iw.wrap(plain)(IDS), was)
    with torch.no_grad():
        plain.lm_head.weight.add_(1.0)
    again = model.build(vocabulary=TOKENS, seeds=1)
    assert torch.equal(again(IDS), was)


@torch.no_grad()
def test_several_modules_are_replicas() -> None:
    plain = [own(seed) for seed in range(3)]
    model = iw.wrap(plain)
    assert model.replicas == 3
    for replica, module in enumerate(plain):
        assert torch.equal(model(IDS)[replica, :, -1], module(IDS)[0][:, 0])
    part = model.select([2])
    assert torch.equal(part(IDS)[0], model(IDS)[2])


def test_modules_of_other_settings_are_no_replicas() -> None:
    with pytest.raises(
        ConfigError, match=r"modules 0 and 1 of 'GPT' differ in .*n_head"
    ):
        iw.wrap([own(), gpt(vocab_size=TOKENS, n_head=4)])


@torch.no_grad()
def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    model = iw.wrap([own(0), own(1)])
    file = iw.save_model(model, tmp_path / "both.safetensors")
    assert torch.equal(iw.load_model(file)(IDS), model(IDS))
    from_factory = iw.wrap(make).load(file)
    assert torch.equal(from_factory(IDS), model(IDS))


@torch.no_grad()
def test_a_file_of_weights_in_a_factory(tmp_path: Path) -> None:
    plain, file = own(3), tmp_path / "weights.safetensors"
    save_plain(plain, str(file))
    model = iw.wrap(make).load(file)
    assert (model.vocabulary, model.replicas) == (TOKENS, 1)
    assert torch.equal(model(IDS)[0, :, -1], plain(IDS)[0][:, 0])
    first = model.config
    save_plain(own(4), str(file))
    assert iw.wrap(make).load(file).config.weights != first.weights
    with pytest.raises(
        ConfigError, match=r"the weights in .* have changed since the model was wrapped"
    ):
        _forget(first).build(vocabulary=TOKENS, seeds=1)


def _forget(config: Any) -> Any:
    """Return the config as in another process, in which nothing was wrapped."""
    from inweights.models.outside import instances

    for name in config.weights:
        instances._KEPT.pop(name, None)
    return config


def test_files_that_are_no_weights(tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    save_plain(nn.Linear(2, 2), str(file))
    with pytest.raises(ConfigError, match="none fits"):
        iw.wrap(make).load(file)
    with pytest.raises(
        DataError, match=r"unknown parameter of .*weights.safetensors '(weight|bias)'"
    ):
        iw.wrap(make).load(file, vocabulary=TOKENS)
    with pytest.raises(DataError, match=r"is a pickle.* safetensors.torch.save_model"):
        iw.wrap(make).load("checkpoint.pt")
    with pytest.raises(DataError, match="cannot read the weights"):
        iw.wrap(make).load(tmp_path / "none.safetensors")


def test_a_state_dict_loads_into_one_replica() -> None:
    model = iw.wrap(make).build(vocabulary=TOKENS, seeds=3)
    plain = own(7)
    others = model(pack([IDS]), at=pack([IDS]).last)
    compiled = {
        f"_orig_mod.{name}": value for name, value in plain.state_dict().items()
    }
    model.load_replica(compiled, replica=1)
    batch = pack([IDS])
    found = model(batch, at=batch.last)
    torch.testing.assert_close(found[1], plain(IDS)[0][:, 0], atol=1e-6, rtol=1e-5)
    assert torch.equal(found[[0, 2]], others[[0, 2]])
    with pytest.raises(ConfigError, match="'replica' must be from 0 to 2, got 3"):
        model.load_replica(plain.state_dict(), replica=3)
    with pytest.raises(DataError, match=r"unknown parameter 'lm_haed\.weight'"):
        model.load_replica({"lm_haed.weight": plain.lm_head.weight})
    with pytest.raises(
        DataError, match=r"the state has no '.*' \(\d+ parameters are missing\)"
    ):
        model.load_replica({"lm_head.weight": plain.lm_head.weight})
    with pytest.raises(DataError, match=r"must have the shape .*, got \[2\]"):
        model.load_replica({**plain.state_dict(), "lm_head.weight": torch.zeros(2)})


def test_weights_of_a_compiled_module_have_a_prefix(tmp_path: Path) -> None:
    plain, file = own(), tmp_path / "weights.safetensors"
    holder = nn.Module()
    holder._orig_mod = plain
    save_plain(holder, str(file))
    assert torch.equal(iw.wrap(make).load(file)(IDS), iw.wrap(plain)(IDS))


def test_a_factory_of_a_module_that_is_there_is_told_what_to_write() -> None:
    mine = own()
    with pytest.raises(
        ConfigError, match=r"uses 'mine', an existing GPT, .* iw.wrap\(mine\)"
    ):
        iw.wrap(lambda vocabulary: mine)


def test_what_a_plain_loop_taught_is_measured() -> None:
    """A model trained elsewhere on facts of two lengths; every number is recounted."""
    hops = [s for s in WORLD.facts if len(s.prompt) == 2]
    prompts = torch.tensor([list(s.prompt) for s in hops])
    answers = torch.tensor([s.answer[0] for s in hops])
    plain = taught(60, prompts, answers, vocab_size=TOKENS)
    with torch.no_grad():
        right = (plain(prompts)[0][:, 0].argmax(-1) == answers).float().mean().item()
    assert right > 0.9
    table = iw.probes.accuracy(iw.wrap(plain), WORLD).filter(
        pl.col("role").str.ends_with("_hop")
    )
    hits = (table["accuracy"] * table["statements"]).sum()
    assert hits == pytest.approx(right * len(hops))


def test_in_a_sweep_it_is_fixed_or_a_starting_point(tmp_path: Path) -> None:
    plain = [own(0), own(1)]
    several: Any = {"mine": iw.wrap(plain), "gpt": iw.GPTConfig(layers=1, width=16)}
    how: dict[str, Any] = {"runs": tmp_path, "progress": False}
    fixed = iw.sweep(iw.TwoHop(n=4), iw.wrap(plain), seeds=2, **how)
    direct = iw.probes.accuracy(iw.wrap(plain), WORLD)
    assert_frame_equal(
        fixed.sort("seed", "role").drop("seed"),
        direct.sort("replica", "role").drop("replica"),
    )
    start = iw.sweep(iw.TwoHop(n=4), several, BRIEF, seeds=2, **how).filter(
        model="mine"
    )
    for seed, module in enumerate(plain):
        model = iw.wrap(module)
        iw.train(model, WORLD, BRIEF, seeds=[seed])
        alone = iw.probes.accuracy(model, WORLD).drop("replica")
        assert_frame_equal(start.filter(seed=seed).drop("model", "seed"), alone)
    with pytest.raises(
        ConfigError, match="index of a module and must be from 0 to 1, got 2; use see"
    ):
        iw.sweep(iw.TwoHop(n=4), iw.wrap(plain), seeds=3, **how)
    config = iw.Study(iw.TwoHop(n=4), iw.wrap(plain)).trials[0].model
    with pytest.raises(ConfigError, match="from 0 to 1, got -1"):
        config.places([-1])
    assert iw.Study(iw.TwoHop(n=4), iw.wrap(plain)).trials[0].learner == Fixed()
    assert (
        iw.sweep(iw.TwoHop(n=4), iw.wrap(plain[0]), seeds=2, jobs=2, **how).height == 8
    )


def test_numbers_settings_and_source_make_the_key() -> None:
    hashes = [
        content_hash(own(0)),
        content_hash(own(1)),
        content_hash(make(TOKENS, heads=4)),
    ]
    again = own(0)
    assert content_hash(again) == hashes[0]
    assert content_hash(again.train()) == hashes[0]
    assert len(set(hashes)) == 3
    with torch.no_grad():
        again.transformer["h"][1].mlp[0].weight[3, 2] += 1e-6
    assert content_hash(again) != hashes[0]


@pytest.mark.skipif(find_spec("transformers") is None, reason="needs inweights[hf]")
@torch.no_grad()
def test_a_folder_of_transformers(tmp_path: Path) -> None:
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=40,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
    )
    with torch.random.fork_rng(devices=[]):
        plain = transformers.LlamaForCausalLM(config).eval()
    for folder in ("here", "there"):
        plain.save_pretrained(tmp_path / folder)
    one, other = (
        iw.wrap(tmp_path / folder, vocabulary=WORLD.vocabulary)
        for folder in ("here", "there")
    )
    output = plain(IDS, output_hidden_states=True)
    assert torch.equal(one(IDS)[0], output.logits[..., :TOKENS])
    states = one.hidden(IDS, at="all")
    assert torch.equal(states["model.layers.0"][0], output.hidden_states[1])
    assert one.config.weights == other.config.weights  # its path has no effect
    half = deepcopy(plain).to(torch.bfloat16)
    model = iw.wrap(half, vocabulary=WORLD.vocabulary)
    assert torch.equal(model(IDS)[0], half(IDS).logits[..., :TOKENS].float())
    assert iw.probes.logit_lens(model, WORLD)["probability"].is_finite().all()
    with pytest.raises(DataError, match="there is no folder 'nowhere'"):
        iw.wrap("nowhere")
    weights = tmp_path / "there" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])  # a truncated copy
    with pytest.raises(DataError, match=r"cannot read the model in .*there: "):
        iw.wrap(tmp_path / "there")


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("transformer_lens") is None, reason="needs inweights[lens]"
)
@torch.no_grad()
def test_a_model_of_transformer_lens() -> None:
    ours = iw.GPTConfig(layers=1, width=16).build(vocabulary=TOKENS, seeds=[3])
    bridge = iw.models.to_transformer_lens(ours)
    model = iw.wrap(bridge)
    assert torch.equal(model(IDS)[0], bridge(IDS))
    theirs, mine = model.hidden(IDS)["blocks.0.hook_out"], ours.hidden(IDS)["block.0"]
    torch.testing.assert_close(theirs, mine, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(model(IDS), ours(IDS), atol=1e-5, rtol=1e-5)
