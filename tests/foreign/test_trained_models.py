"""Models that were trained elsewhere: the wrapped one is the plain one, to the last bit."""

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
from torch import Tensor, nn

import inweights as iw
from inweights.errors import CautionWarning, ConfigError, DataError
from inweights.models import pack
from inweights.models.outside.fingerprints import content_hash
from inweights.training import Fixed

#: Three steps teach no fact.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

WORLD = iw.TwoHop(n=4).build(seed=0)
NAMES = WORLD.vocabulary.names
TOKENS = len(NAMES)
IDS = torch.tensor([[0, 9, 10], [1, 9, 10], [2, 10, 9]])
BRIEF = iw.Curriculum(phases=(iw.Phase(steps=3, optimizer=iw.Optimizer(rate=1e-2)),))


def own(seed: int = 0) -> GPT:
    """A GPT with as many tokens as the world."""
    return gpt(seed, vocab_size=TOKENS)


def make(vocabulary: int, heads: int = 2) -> GPT:
    return GPT(Settings(vocab_size=vocabulary, n_head=heads))


@torch.no_grad()
def test_logits_are_those_of_the_plain_module_to_the_last_bit() -> None:
    plain = own()
    model = iw.wrap(plain)
    assert model.replicas == 1
    assert torch.equal(model(IDS)[0, :, -1], plain(IDS)[0][:, 0])
    # Of each prefix its last.
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
    # Nor did what is kept for sweeps change.
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
        ConfigError, match="holds other weights than when it was wrapped"
    ):
        _forget(first).build(vocabulary=TOKENS, seeds=1)


def _forget(config: Any) -> Any:
    """The config as another process has it, which wrapped nothing."""
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
    model.load_replica(plain.state_dict(), replica=1)
    batch = pack([IDS])
    found = model(batch, at=batch.last)
    torch.testing.assert_close(found[1], plain(IDS)[0][:, 0], atol=1e-6, rtol=1e-5)
    assert torch.equal(found[[0, 2]], others[[0, 2]])
    with pytest.raises(ConfigError, match="there is no replica 3"):
        model.load_replica(plain.state_dict(), replica=3)
    with pytest.raises(DataError, match=r"unknown parameter 'lm_haed\.weight'"):
        model.load_replica({"lm_haed.weight": plain.lm_head.weight})
    with pytest.raises(
        DataError, match=r"the state has no '.*' \(\d+ parameters are missing\)"
    ):
        model.load_replica({"lm_head.weight": plain.lm_head.weight})
    with pytest.raises(DataError, match=r"has the shape \[2\], and"):
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
        ConfigError, match=r"uses 'mine', a GPT that is there .* iw.wrap\(mine\)"
    ):
        iw.wrap(lambda vocabulary: mine)


@torch.no_grad()
def test_tokens_of_the_module_by_the_names_of_the_world() -> None:
    plain = gpt()
    tokens = {name: 60 - 3 * place for place, name in enumerate(NAMES)}
    known = {**tokens, "elsewhere": 63}  # a tokenizer has more words than the world
    model = iw.wrap(plain, tokens=known, vocabulary=WORLD.vocabulary)
    theirs = torch.tensor([tokens[name] for name in NAMES])
    assert torch.equal(model(IDS)[0, :, -1], plain(theirs[IDS])[0][:, 0][:, theirs])
    assert torch.equal(iw.wrap(plain, tokens=theirs.tolist())(IDS), model(IDS))
    assert torch.equal(iw.wrap(plain, tokens=tokens)(IDS), model(IDS))
    assert model.token_table is not None
    assert torch.equal(model.token_table[0], plain.lm_head.weight[theirs])
    said = iw.ask(model, WORLD, "a1 r1", best=1)["answer"].item()
    assert (
        said
        == NAMES[int(model(torch.tensor([[0, NAMES.index("r1")]]))[0, 0, -1].argmax())]
    )


def test_tokens_that_do_not_fit_are_not_guessed() -> None:
    plain = gpt()
    with pytest.raises(
        DataError, match=r"reads 64 tokens and the world has 14; .* vocabulary="
    ):
        iw.probes.accuracy(iw.wrap(plain), WORLD)
    with pytest.raises(ConfigError, match="reads 64 tokens and the world has 14"):
        iw.wrap(plain).config.build(vocabulary=TOKENS, seeds=1)
    backwards = {name: place for place, name in enumerate(reversed(NAMES))}
    with pytest.raises(DataError, match="token 0 of the world is 'a1' and was "):
        iw.probes.accuracy(iw.wrap(plain, tokens=backwards), WORLD)
    with pytest.raises(DataError, match=r"tokens has no id of the world's token 'a1'"):
        iw.wrap(plain, tokens={"ann": 1}, vocabulary=WORLD.vocabulary)
    with pytest.raises(DataError, match=r"'a1' and 'a2' have the same ids \[1\]"):
        iw.wrap(plain, tokens={"a1": 1, "a2": 1})
    with pytest.raises(DataError, match=r"ids \[64\] are none of 'GPT', 0 to 63"):
        iw.wrap(plain, tokens={"a1": 64})
    with pytest.raises(ConfigError, match="unknown option of a trained module 'token'"):
        iw.wrap(plain, token={"a1": 1})
    with pytest.raises(
        DataError, match=r"the world has 65 tokens and 'GPT' gives logits of 64"
    ):
        iw.wrap(plain, vocabulary=65)


@torch.no_grad()
def test_names_of_several_tokens_are_read_whole_and_answer_by_their_first() -> None:
    plain = gpt()
    tokens = {
        name: [3 * place, 50] if place % 2 else [3 * place]
        for place, name in enumerate(NAMES)
    }
    with pytest.warns(
        CautionWarning, match=r"7 of 14 names are several tokens of 'GPT'.*by its f"
    ):
        model = iw.wrap(plain, tokens=tokens, vocabulary=WORLD.vocabulary)
    first = [tokens[name][0] for name in NAMES]
    for row, logits in zip(IDS.tolist(), model(IDS)[0, :, -1], strict=True):
        whole = [token for place in row for token in tokens[NAMES[place]]]
        torch.testing.assert_close(logits, plain(torch.tensor([whole]))[0][0, 0, first])
    with pytest.raises(ConfigError, match="every name of the world is one token"):
        iw.probes.activation_patching(model, WORLD)


@torch.no_grad()
@pytest.mark.parametrize("only_last", [True, False], ids=["last", "everywhere"])
def test_names_of_several_tokens_answer_by_the_sum_of_all(only_last: bool) -> None:
    """By hand: a loop over names and their ids, with the plain module."""
    plain = gpt() if only_last else Everywhere()
    tokens = {
        name: [3 * place, 50, 51][: 1 + place % 3] for place, name in enumerate(NAMES)
    }
    with pytest.warns(
        CautionWarning, match="an answer counts by the sum of the log-probabilities"
    ):
        model = iw.wrap(
            [plain, plain], tokens=tokens, vocabulary=WORLD.vocabulary, answers="sum"
        )
    found = model(IDS)
    for row, scores in zip(IDS.tolist(), found[1, :, -1], strict=True):
        whole = [token for place in row for token in tokens[NAMES[place]]]
        expected = []
        for name in NAMES:
            total, read = 0.0, list(whole)
            for token in tokens[name]:
                logits = plain(torch.tensor([read]))
                logits = logits[0] if isinstance(logits, tuple) else logits
                total += logits[0, -1].log_softmax(-1)[token].item()
                read.append(token)
            expected.append(total)
        torch.testing.assert_close(scores, torch.tensor(expected))
    batch = pack([IDS])
    # Single precision rounds otherwise for other numbers of prompts at once.
    torch.testing.assert_close(model(batch, at=batch.last), found[:, :, -1])
    torch.testing.assert_close(model.hidden(IDS)["logits"], found[:, :, -1])
    # One prompt by itself, and prompts of each replica, give the same.
    each = torch.stack([IDS, IDS.flip(0)])
    torch.testing.assert_close(model(each)[1], found[1].flip(0))
    assert iw.probes.accuracy(model, WORLD).height == 2 * 4
    with pytest.raises(ConfigError, match="every name of the world is one token"):
        iw.probes.activation_patching(model, WORLD)


def test_which_names_cannot_win_is_said() -> None:
    tokens: dict[str, list[int]] = {name: [place] for place, name in enumerate(NAMES)}
    tokens["a2"] = [*tokens["a1"], 40]
    with pytest.warns(
        CautionWarning, match="'a2' begins with all tokens of 'a1', which is therefore"
    ):
        iw.wrap(gpt(), tokens=tokens, answers="sum")
    with pytest.raises(ConfigError, match="unknown value of answers 'last'"):
        iw.wrap(gpt(), tokens=tokens, answers="last")


class Everywhere(torch.nn.Module):
    """A module of another's that gives logits at every position."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = gpt()

    def forward(self, ids: Tensor) -> Tensor:
        return self.inner(ids, ids)[0]


def test_what_a_plain_loop_taught_is_measured() -> None:
    """Facts of two lengths, taught outside; every number is counted once more."""
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
        ConfigError, match="one of the 2 trained modules, 0 to 1, got 2; write see"
    ):
        iw.sweep(iw.TwoHop(n=4), iw.wrap(plain), seeds=3, **how)
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
        vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
    )  # fmt: skip
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
    assert one.config.weights == other.config.weights  # where it lies does not matter
    half = deepcopy(plain).to(torch.bfloat16)
    model = iw.wrap(half, vocabulary=WORLD.vocabulary)
    assert torch.equal(model(IDS)[0], half(IDS).logits[..., :TOKENS].float())
    assert iw.probes.logit_lens(model, WORLD)["probability"].is_finite().all()
    with pytest.raises(DataError, match="there is no folder 'nowhere'"):
        iw.wrap("nowhere")


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
