"""A wrapped module computes and trains like the plain module, alone and in a group."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.model_case import ModelCase
from tests.models.own_modules import Encoder, Recurrent, Sums, as_native, nano
from torch import Tensor, nn
from torch.nn import functional as F

import inweights as iw
from inweights.errors import ConfigError
from inweights.models import Wrapped, load_model, pack, save_model
from inweights.models.building import join_replicas
from inweights.models.save import decode_model, encode_model
from inweights.probes import accuracy, patch

WORLD = iw.TwoHop(n=4).build(seed=0)
TOKENS = len(WORLD.vocabulary)
SEEDS = (3, 0, 8)
IDS = torch.tensor([[0, 9], [1, 9], [2, 10], [5, 6], [7, 8]])

FACTORIES: dict[str, Callable[..., nn.Module]] = {
    "sums": Sums,
    "encoder": Encoder,
    "nano": nano,
}


def build(factory: Any, *seeds: int, **options: Any) -> Wrapped:
    return iw.wrap(factory, **options).build(vocabulary=TOKENS, seeds=seeds or SEEDS)


def plain(factory: Callable[..., nn.Module], model: Wrapped, replica: int) -> nn.Module:
    """Return a plain module with the parameters of a replica."""
    module = factory(TOKENS)
    own = {n: value[replica] for n, value in model.named_parameters()}
    module.load_state_dict(own, strict=False)
    assert {n for n, _ in module.named_parameters()} == set(own)
    return module


def logits(module: nn.Module, ids: Tensor) -> Tensor:
    out = module(ids)
    return (out[0] if isinstance(out, tuple) else out)[..., :TOKENS]


class TestWrapped(ModelCase):
    config = iw.wrap(nano)
    decisive = ("transformer.h.1", "transformer.ln_f", "logits")

    @torch.no_grad()
    def test_the_logit_lens_ends_in_the_logits(self) -> None:
        model, tokens = self.build(), self.tokens(4, 3)
        lens = model.logit_lens(tokens, at="all")
        assert torch.equal(lens["logits"], model(tokens))
        torch.testing.assert_close(lens["transformer.ln_f"], lens["logits"])
        # By the norm and the head.
        torch.testing.assert_close(lens["transformer.h.1"], lens["logits"])
        with pytest.raises(
            ConfigError, match=r"head 'lm_head' cannot read states of .*c_fc"
        ):
            model.logit_lens(tokens, layers=["transformer.h.0.mlp.c_fc"])


def curriculum(steps: int = 6, **settings: Any) -> iw.Curriculum:
    optimizer = iw.Optimizer(rate=3e-3, weight_decay=0.1, decayed="all")
    return iw.Curriculum(
        phases=(iw.Phase(steps=steps, optimizer=optimizer, **settings),)
    )


@pytest.mark.parametrize("name", FACTORIES)
def test_replicas_train_as_modules_do_one_by_one(name: str) -> None:
    """With AdamW and an explicit loss, steps agree to 1e-6 and accuracies are equal."""
    factory = FACTORIES[name]
    model = build(factory)
    modules = [plain(factory, model, r) for r in range(len(SEEDS))]
    together = iw.train(model, WORLD, curriculum(), seeds=SEEDS, every=1).losses
    groups = [
        (torch.from_numpy(p), torch.from_numpy(a)) for _, p, a in WORLD.facts.by_shape()
    ]
    count = len(WORLD.facts)
    for r, module in enumerate(modules):
        optimizer = torch.optim.AdamW(module.parameters(), lr=3e-3, weight_decay=0.1)
        losses = []
        for _ in range(6):
            loss = sum(
                F.cross_entropy(
                    logits(module, prompts)[:, -1], answers[:, 0], reduction="sum"
                )
                for prompts, answers in groups
            )
            assert isinstance(loss, Tensor)
            optimizer.zero_grad()
            (loss / count).backward()
            optimizer.step()
            losses.append(loss.item() / count)
        assert together.filter(replica=r)["loss"].to_list() == pytest.approx(
            losses, rel=1e-6
        )
        own = decode_model(encode_model(model, r))
        with torch.no_grad():
            torch.testing.assert_close(
                own(IDS)[0], logits(module, IDS), rtol=1e-4, atol=1e-4
            )


def test_a_wrapped_copy_of_a_native_model_is_that_model() -> None:
    native = iw.GPTConfig(layers=2, width=16, heads=2, context=8).build(
        vocabulary=64, seeds=SEEDS
    )
    copy = build(nano)
    with torch.no_grad():
        for r in range(len(SEEDS)):
            for name, value in as_native(native, r).items():
                copy.get_parameter(name)[r] = value
    with torch.no_grad():
        torch.testing.assert_close(
            copy(IDS), native(IDS)[..., :TOKENS], rtol=1e-5, atol=1e-6
        )
    small = iw.EmbMLPConfig(width=16).build(vocabulary=TOKENS, seeds=SEEDS)
    sums = build(Sums)
    with torch.no_grad():
        sums.get_parameter("tokens.weight").copy_(small.tokens.weight)
        sums.get_parameter("projection.weight").copy_(small.projection.weight.mT)
    one, other = (
        iw.train(m, WORLD, curriculum(), seeds=SEEDS, every=1) for m in (small, sums)
    )
    assert one.losses["loss"].to_list() == pytest.approx(
        other.losses["loss"].to_list(), rel=1e-6
    )
    assert accuracy(small, WORLD)["accuracy"].equals(accuracy(sums, WORLD)["accuracy"])


@pytest.mark.parametrize(
    ("factory", "options"),
    [
        (Sums, {}),
        (Encoder, {"dropout": 0.2}),
        (nano, {"dropout": 0.2}),
        (Recurrent, {}),
    ],
)
def test_a_replica_is_the_same_to_the_last_bit_alone_and_in_company(
    factory: Any, options: dict[str, float]
) -> None:
    with warnings.catch_warnings(action="ignore"):
        model, alone = build(factory, **options), build(factory, SEEDS[1], **options)
        iw.train(model, WORLD, curriculum(batch=8), seeds=SEEDS)
        iw.train(alone, WORLD, curriculum(batch=8), seeds=SEEDS[1:2])
    for name, parameter in alone.named_parameters():
        assert torch.equal(parameter[0], model.get_parameter(name)[1]), name


def test_dropout_drops_while_it_trains_alone_and_by_step() -> None:
    model = build(nano, dropout=0.5)
    whole = model(IDS)
    assert torch.equal(model(IDS), whole)
    dropped = build(nano)
    one, other = (
        iw.train(m, WORLD, curriculum(), seeds=SEEDS, every=1) for m in (model, dropped)
    )
    assert not one.losses["loss"].equals(other.losses["loss"])


def test_what_cannot_be_batched_is_called_one_by_one_and_said_once() -> None:
    with pytest.warns(
        UserWarning, match=r"'Recurrent' are called one after another: aten::lstm"
    ):
        model = build(Recurrent)
    with warnings.catch_warnings(action="error"):
        said = model(pack([IDS]), at=torch.tensor([1, 9]))
    with torch.no_grad():
        for r in range(len(SEEDS)):
            module = plain(Recurrent, model, r)
            torch.testing.assert_close(said[r], module(IDS)[[0, 4]])
    with pytest.raises(ConfigError, match="logits only for the last position"):
        iw.train(model, WORLD, curriculum(loss="every"), seeds=SEEDS)


def test_states_and_hooks_go_by_the_names_of_modules() -> None:
    model, other = build(nano), IDS.flip(0)
    seen: dict[str, Tensor] = {}
    module = plain(nano, model, 1)
    for name, part in module.named_modules():
        part.register_forward_hook(
            lambda _, __, out, name=name: seen.update({name: out})
        )
    with torch.no_grad():
        module(IDS)
        hidden = model.hidden(IDS, at="all")
        assert {"transformer.h.0.attn.c_proj", "transformer.ln_f"} < set(hidden)
        for name, state in hidden.items():
            if name != "logits":
                torch.testing.assert_close(state[1], seen[name], rtol=1e-5, atol=1e-6)
        layer = "transformer.h.1"
        mine, theirs = model(IDS), model(other)
        own, new = hidden[layer], model.hidden(other, at="all")[layer]
        torch.testing.assert_close(patch(model, IDS, own, layer=layer), mine)
        torch.testing.assert_close(patch(model, IDS, new, layer=layer), theirs)
        # A hook receives all replicas; this one changes the first.
        only = torch.cat([new[:1], own[1:]])
        mixed = patch(model, IDS, only, layer=layer)
        torch.testing.assert_close(mixed[0], theirs[0])
        torch.testing.assert_close(mixed[1:], mine[1:])
    with pytest.raises(
        ConfigError, match=r"'transformer.h.2'; did you mean 'transformer.h.1'"
    ):
        model.hidden(IDS, layers=["transformer.h.2"])
    assert model.token_table is not None
    assert model.token_table.shape == (3, TOKENS, 16)


def test_replicas_with_tokens_of_their_own_and_in_packed_batches() -> None:
    model = build(Encoder)
    own = torch.stack([IDS, IDS.flip(0), IDS.roll(1, 0)])
    with torch.no_grad():
        said = model(own)
        for r in range(3):
            torch.testing.assert_close(said[r], model(own[r])[r])
        batch = pack([IDS[:, :1], IDS])
        both = model(batch, at=batch.last)
        torch.testing.assert_close(both[:, :5], model(IDS[:, :1])[:, :, -1])
        torch.testing.assert_close(both[:, 5:], model(IDS)[:, :, -1])


class Kept(nn.Module):
    """A module with a frozen table, a shared buffer, a tied head and a scalar parameter."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, 8)
        self.mix, self.head = nn.Linear(8, 8), nn.Linear(8, vocabulary, bias=False)
        self.head.weight = self.table.weight
        self.fixed = nn.Linear(8, 8).requires_grad_(False)
        self.register_buffer("noise", torch.randn(8))
        self.register_buffer("scale", torch.ones(8))
        self.gain = nn.Parameter(torch.ones(()))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.table(ids) * self.scale + self.noise
        return self.gain * self.head(self.fixed(self.mix(x)))


def test_frozen_and_tied_parameters_and_buffers_are_kept(tmp_path: Path) -> None:
    model = build(Kept)
    learnt = {"table.weight", "mix.weight", "mix.bias", "gain"}
    assert {n for n, _ in model.named_parameters()} == learnt
    before = {n: b.clone() for n, b in model.named_buffers()}
    assert before["noise"].shape == (3, 8)
    assert before["scale"].shape == (8,)
    assert before["fixed.weight"].shape == (3, 8, 8)
    iw.train(model, WORLD, curriculum(), seeds=SEEDS)
    assert all(torch.equal(b, before[n]) for n, b in model.named_buffers())
    again = load_model(save_model(model, tmp_path / "kept.safetensors"))
    assert torch.equal(again(IDS), model(IDS))
    parts = [decode_model(encode_model(model, r)) for r in range(3)]
    assert torch.equal(join_replicas(parts)(IDS), model(IDS))


def test_a_training_goes_on_from_its_checkpoint_to_the_same_bits(
    tmp_path: Path,
) -> None:
    class HereError(Exception):
        pass

    def stop(step: int) -> None:
        if step == 4:
            raise HereError

    def checkpoint() -> iw.Checkpoint:
        return iw.Checkpoint(tmp_path / "state", key="k", every_steps=1)

    whole, resumed = build(nano, dropout=0.1), build(nano, dropout=0.1)
    iw.train(whole, WORLD, curriculum(batch=6), seeds=SEEDS)
    plan: dict[str, Any] = {"curriculum": curriculum(batch=6), "seeds": SEEDS}
    with pytest.raises(HereError):
        iw.train(resumed, WORLD, progress=stop, checkpoint=checkpoint(), **plan)
    resumed = build(nano, dropout=0.1)
    iw.train(resumed, WORLD, checkpoint=checkpoint(), **plan)
    assert all(
        torch.equal(a, b)
        for a, b in zip(whole.parameters(), resumed.parameters(), strict=True)
    )


class HeadFirst(nn.Module):
    """A module whose tied table has the head's name, or is a shared fixed tensor."""

    def __init__(self, vocabulary: int, given: bool = False) -> None:
        super().__init__()
        self.head, self.embed = (
            nn.Linear(4, vocabulary, bias=False),
            nn.Embedding(vocabulary, 4),
        )
        if given:
            start = torch.arange(4.0 * vocabulary).view(vocabulary, 4)
            self.embed = nn.Embedding.from_pretrained(start)
        else:
            self.embed.weight = self.head.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.embed(ids))


@pytest.mark.parametrize("given", [False, True])
def test_the_table_of_tokens_has_a_row_a_replica(given: bool) -> None:
    model = iw.wrap(HeadFirst, given=given).build(vocabulary=7, seeds=3)
    table = model.token_table
    assert table is not None
    assert table.shape == (3, 7, 4)
    states = model.hidden(torch.tensor([[2], [5]]), layers=["embed"])["embed"]
    assert torch.equal(table[:, [2, 5]], states)
