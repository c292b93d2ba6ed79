"""Every architecture: the contract of models, its settings, and a plain reference."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch
from tests.model_case import ModelCase
from tests.models import test_mamba as mamba
from tests.models import test_one_layer as one
from tests.models import test_tiny as tiny
from tests.models import test_wrapped as wrapped
from tests.models.own_modules import nano
from torch.nn import functional as F

import inweights as iw
from inweights import models
from inweights.errors import ConfigError, DataError
from inweights.models import (
    GPT,
    EmbMLP,
    EmbMLPConfig,
    GPTConfig,
    Init,
    LayerNorm,
    Model,
    pack,
)
from inweights.probes import patch


class TestGPT(ModelCase):
    config = GPTConfig(layers=2, width=16, heads=2)
    attends = True


class TestGPTUntiedSinusoidal(ModelCase):
    config = GPTConfig(layers=1, width=16, heads=4, tied=False, positions="sinusoidal")
    attends = True


class TestGPTUniformWithoutPositions(ModelCase):
    config = GPTConfig(
        layers=2, width=8, heads=1, attention="uniform", positions="none"
    )
    attends = True


class TestEmbMLP(ModelCase):
    config = EmbMLPConfig(width=8)
    candidates = [3, 4, 5, 9]


def test_every_model_has_a_case() -> None:
    known = {
        value
        for name in dir(models)
        if isinstance(value := getattr(models, name), type)
        and issubclass(value, Model)
        # Models trained elsewhere are not initialised from a seed; see
        # tests/foreign/test_trained_models.py.
        and value not in (Model, models.Trained)
    }
    cases: tuple[type[ModelCase], ...] = (
        TestGPT,
        TestGPTUntiedSinusoidal,
        TestGPTUniformWithoutPositions,
        TestEmbMLP,
    )
    cases += (tiny.TestTinyNN, tiny.TestNode2Vec)
    cases += (
        one.TestOneLayer,
        one.TestDeepLinear,
        mamba.TestMamba,
        wrapped.TestWrapped,
    )
    assert known == {type(case().build(0)) for case in cases}


# --- GPT


@torch.no_grad()
def reference(model: GPT, r: int, tokens: torch.Tensor) -> torch.Tensor:
    """Compute the same GPT for one replica with loops and without batched matrices."""
    config, length = model.config, tokens.shape[1]
    x = model.tokens.weight[r][tokens]
    if model.positions is not None:
        x = x + model.positions.weight[r][:length]
    block: Any
    for block in model.blocks:

        def norm(layer, y):
            return F.layer_norm(y, y.shape[-1:], layer.weight[r], layer.bias[r])

        qkv = norm(block.norm1, x) @ block.qkv.weight[r] + block.qkv.bias[r]
        q, k, v = qkv.split(config.width, dim=-1)
        heads, size = [], config.width // config.heads
        for h in range(config.heads):
            part = slice(h * size, (h + 1) * size)
            scores = q[..., part] @ k[..., part].transpose(-1, -2) / math.sqrt(size)
            mask = torch.ones(length, length).triu(1).bool()
            heads.append(scores.masked_fill(mask, -math.inf).softmax(-1) @ v[..., part])
        x = x + torch.cat(heads, -1) @ block.out.weight[r] + block.out.bias[r]
        up = F.gelu(norm(block.norm2, x) @ block.up.weight[r] + block.up.bias[r])
        x = x + up @ block.down.weight[r] + block.down.bias[r]
    assert isinstance(model.norm, LayerNorm)
    x = F.layer_norm(x, x.shape[-1:], model.norm.weight[r], model.norm.bias[r])
    head = model.tokens.weight[r].T if model.head is None else model.head.weight[r]
    return x @ head


@pytest.mark.parametrize("length", range(1, 8))
@pytest.mark.parametrize("tied", [True, False])
def test_gpt_is_the_plain_gpt(length: int, tied: bool) -> None:
    """Both implementations of attention, for short and long prompts, agree with loops."""
    config = GPTConfig(layers=2, width=12, heads=3, tied=tied, init=Init(std=0.4))
    model = config.build(vocabulary=9, seeds=[1, 2])
    tokens = torch.randint(9, (5, length), generator=torch.Generator().manual_seed(0))
    for r in (0, 1):
        torch.testing.assert_close(
            model(tokens)[r], reference(model, r, tokens), atol=1e-5, rtol=1e-4
        )


def gpt(**settings: Any) -> GPT:
    config = GPTConfig(layers=2, width=8, heads=2, init=Init(std=0.5), **settings)
    return config.build(vocabulary=9, seeds=[0])


TOKENS = torch.tensor([[1, 2, 3]])


@torch.no_grad()
def test_attention_can_be_switched_off() -> None:
    other = torch.tensor([[7, 8, 3]])
    same = gpt(attention="none")(TOKENS)[..., -1, :]
    torch.testing.assert_close(same, gpt(attention="none")(other)[..., -1, :])
    for mixing in ("causal", "uniform"):
        model = gpt(attention=mixing)
        assert not torch.allclose(model(TOKENS)[..., -1, :], model(other)[..., -1, :])


@torch.no_grad()
def test_uniform_attention_forgets_the_order_of_what_came_before() -> None:
    swapped = torch.tensor([[2, 1, 3]])
    one_block = GPTConfig(
        layers=1, width=8, heads=2, attention="uniform", positions="none"
    )
    model = one_block.build(vocabulary=9, seeds=[0])
    torch.testing.assert_close(model(TOKENS)[..., -1, :], model(swapped)[..., -1, :])


@torch.no_grad()
def test_residual_and_norm_can_be_switched_off() -> None:
    bare = gpt(norm=False)
    assert not any("norm" in name for name, _ in bare.named_parameters())
    states = gpt(residual=False).hidden(TOKENS)
    kept = gpt().hidden(TOKENS)
    torch.testing.assert_close(states["embedding"], kept["embedding"])
    assert not torch.allclose(states["block.0"], kept["block.0"])


@torch.no_grad()
def test_positions() -> None:
    twice = torch.tensor([[4, 4]])
    without = gpt(positions="none")(twice)
    torch.testing.assert_close(without[..., 0, :], without[..., 1, :])
    for scheme in ("learned", "sinusoidal"):
        model = gpt(positions=scheme)
        said = model(twice)
        assert not torch.allclose(said[..., 0, :], said[..., 1, :])
        shifted = model(pack([twice], offset=3)).unflatten(1, (1, 2))
        assert not torch.allclose(shifted, said)
        own = pack([twice.repeat(2, 1)], offset=torch.tensor([0, 3]))
        torch.testing.assert_close(model(own)[:, 2:].unsqueeze(1), shifted)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"9 tokens is longer than gpt\.context = 8"):
        gpt()(torch.zeros(1, 9, dtype=torch.long))
    with pytest.raises(ConfigError, match="3 does not divide 8"):
        GPTConfig(width=8, heads=3)
    with pytest.raises(ConfigError, match="layers must be at least 1"):
        GPTConfig(layers=0)
    with pytest.raises(ConfigError, match="width must be at least 1"):
        EmbMLPConfig(width=0)
    with pytest.raises(ConfigError, match="above 0"):
        Init(std=0.0)
    with pytest.raises(ConfigError, match="a number of at least 1"):
        GPTConfig().build(vocabulary=9, seeds=[])
    for wrong in (float("nan"), float("inf"), -1.0):
        with pytest.raises(ConfigError, match=r"above 0|at most"):
            Init(std=wrong)
        with pytest.raises(ConfigError, match=r"above 0|at most"):
            Init(gamma=wrong)
    with pytest.raises(ConfigError, match="candidates must be distinct"):
        EmbMLPConfig().build(vocabulary=9, seeds=[0], candidates=[1, 1])
    for token in (9, -1):
        with pytest.raises(ConfigError, match=rf"from 0 to 8, got {token}"):
            EmbMLPConfig().build(vocabulary=9, seeds=[0], candidates=[token])
    # The index must not read the first row of the next replica.
    with pytest.raises(DataError, match="from 0 to 8"):
        GPTConfig(layers=1, width=8).build(vocabulary=9, seeds=[0, 1])(
            torch.tensor([[[9]], [[1]]])
        )
    with pytest.raises(DataError, match="at least one group of sequences"):
        pack([])
    with pytest.raises(DataError, match="replica axis"):
        pack(
            [
                torch.zeros(1, 1, dtype=torch.long),
                torch.zeros(2, 1, 1, dtype=torch.long),
            ]
        )


@torch.no_grad()
def test_a_gpt_without_attention_has_no_patterns() -> None:
    with pytest.raises(
        ConfigError, match="attention = 'none' has no attention patterns"
    ):
        gpt(attention="none").attention_patterns(TOKENS)


class Deaf(EmbMLP):
    """A user's model that does not pass its states to its hooks."""

    def hook(self, name: str, state: torch.Tensor) -> torch.Tensor:
        return state


@torch.no_grad()
def test_hooks_are_nested_and_never_without_effect() -> None:
    model = gpt()
    plain = model(TOKENS)

    def double(state: torch.Tensor) -> torch.Tensor:
        return 2 * state

    with model.hooks({"embedding": double}):
        outer = model(TOKENS)
        with model.hooks({"block.0": torch.zeros_like}):
            assert not model.hidden(TOKENS)["block.0"].any()
            model(TOKENS)
        assert torch.equal(model(TOKENS), outer)
        assert torch.equal(
            model.hidden(TOKENS)["embedding"], 2 * gpt().hidden(TOKENS)["embedding"]
        )
    assert torch.equal(model(TOKENS), plain)
    with pytest.raises(RuntimeError, match="mine"), model.hooks({"final": double}):
        raise RuntimeError("mine")
    assert torch.equal(model(TOKENS), plain)
    missed = "replacement at final was not applied. Run the model inside"
    with pytest.raises(ConfigError, match=missed), model.hooks({"final": double}):
        pass
    deaf = Deaf(EmbMLPConfig(), vocabulary=9, replicas=1)
    for parameter in deaf.parameters():
        parameter.zero_()
    with pytest.raises(
        ConfigError, match=r"Deaf.states does not pass each state through self.hook"
    ):
        patch(deaf, TOKENS, torch.zeros(1), layer="sum")


# --- Emb-MLP and initialisation


@torch.no_grad()
def test_emb_mlp_is_a_sum_of_templates() -> None:
    """Definition 1: f(X) = (Σ e) W_proj = Σ rows of W."""
    model: EmbMLP = EmbMLPConfig(width=6).build(
        vocabulary=9, seeds=[0, 1], candidates=[2, 5, 7]
    )
    w = model.templates()
    expected = w[:, [1]] + w[:, [2]] + w[:, [3]]
    torch.testing.assert_close(model(TOKENS)[:, :, -1], expected, atol=1e-7, rtol=1e-4)
    assert model.column.tolist() == [-1, -1, 0, -1, -1, 1, -1, 2, -1]


def test_initial_scale_is_the_papers() -> None:
    """§3.4: N(0, 0.02²), or σ = d_in^-γ."""
    model = GPTConfig(layers=1, width=64, tied=False).build(
        vocabulary=300, seeds=[0, 1], inits=[Init(), Init(gamma=1.25)]
    )
    for name, parameter in model.named_parameters():
        for r, gamma in ((0, None), (1, 1.25)):
            row = parameter[r]
            if row.dim() == 1:
                expected = 1.0 if "norm" in name and "weight" in name else 0.0
                assert (row == expected).all(), name
                continue
            fan_in = (
                64 if name in ("tokens.weight", "positions.weight") else row.shape[0]
            )
            sigma = 0.02 if gamma is None else fan_in**-gamma
            spread = 5 / math.sqrt(2 * row.numel())
            assert row.std().item() == pytest.approx(sigma, rel=spread), name


def test_a_layer_more_changes_no_other_start() -> None:
    short, long = (
        GPTConfig(layers=n, width=8).build(vocabulary=9, seeds=[4]) for n in (1, 2)
    )
    deeper = dict(long.named_parameters())
    for name, parameter in short.named_parameters():
        assert torch.equal(parameter, deeper[name]), name


def shrunk(state: torch.Tensor) -> torch.Tensor:
    return state[:, :1]


def in_place(state: torch.Tensor) -> None:
    state.zero_()


@pytest.mark.parametrize(
    "config", [iw.EmbMLPConfig(width=4), iw.GPTConfig(width=4, heads=1), iw.wrap(nano)]
)
def test_a_hook_that_returns_no_state_is_named(config: Any) -> None:
    model = config.build(vocabulary=7, seeds=[0, 1])
    tokens, layer = torch.tensor([[1, 2], [3, 4], [5, 6]]), model.layer_names[0]
    cases = (
        (in_place, "returned nothing; it must return the new state"),
        (shrunk, "must return a tensor"),
    )
    for hook, message in cases:
        wanted = pytest.raises(
            DataError, match=f"replaces '{re.escape(layer)}' {message}"
        )
        with wanted, model.hooks({layer: hook}):
            model(tokens)


def test_token_ids_of_another_shape_or_type_are_refused() -> None:
    model = iw.EmbMLPConfig(width=4).build(vocabulary=7, seeds=[0])
    prompts = torch.tensor([[1, 2], [3, 4]])
    assert model.hidden(prompts[:1])["sum"].shape == (1, 1, 4)
    for read in (model.hidden, model.logit_lens):
        with pytest.raises(
            DataError, match=r"got the shape \[2\]; write prompts\[:1\]"
        ):
            read(prompts[0])
        with pytest.raises(DataError, match="as a tensor of integers"):
            read(prompts.tolist())  # type: ignore[arg-type]
