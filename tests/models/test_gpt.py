"""Every setting of the GPT is compared with a plain implementation for single tokens."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
import torch
from tests.rounding import assert_same, of_forward
from torch import Tensor
from torch.nn import functional as F

from inweights.errors import ConfigError
from inweights.models import GPT, GPTConfig, Init, pack

CONTEXT = 7


def gpt(**settings: Any) -> GPT:
    """Return a GPT in double precision with random gains and biases instead of ones and zeros."""
    chosen: dict[str, Any] = {"layers": 2, "width": 6, "heads": 3, "context": CONTEXT}
    config = GPTConfig(**chosen | {"init": Init(std=0.5)} | settings)
    model = config.build(vocabulary=9, seeds=[1, 2]).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(
                parameter.shape, generator=generator, dtype=torch.float64
            )
            parameter.add_(noise, alpha=0.1)
    return model


def test_positions_may_start_on_a_scale_of_their_own() -> None:
    config = GPTConfig(layers=1, width=8)
    one, other = (
        c.build(vocabulary=9, seeds=[0, 1], inits=[Init(), Init(std=0.5)])
        for c in (config, GPTConfig(layers=1, width=8, position_std=1.0))
    )
    assert torch.equal(one.tokens.weight, other.tokens.weight)
    scaled = one.positions.weight * torch.tensor([50.0, 2.0]).view(2, 1, 1)
    torch.testing.assert_close(other.positions.weight, scaled)
    with pytest.raises(ConfigError, match="no effect when positions = 'none'"):
        GPTConfig(positions="none", position_std=1.0)


def test_what_writes_into_the_stream_may_start_smaller_by_depth() -> None:
    inits = [Init(), Init(std=0.5)]
    settings: dict[str, Any] = {"layers": 3, "width": 8, "tied": False}
    plain, scaled = (
        GPTConfig(**settings, depth_scaled=scaled).build(
            vocabulary=9, seeds=[0, 1], inits=inits
        )
        for scaled in (False, True)
    )
    others = dict(scaled.named_parameters())
    written = {
        f"blocks.{i}.{name}.weight" for i in range(3) for name in ("out", "down")
    }
    for name, parameter in plain.named_parameters():
        shrunk = parameter / math.sqrt(6) if name in written else parameter
        assert torch.equal(others[name], shrunk), name
    bare = GPTConfig(**settings, attention="none", depth_scaled=True)
    assert "blocks.0.out.weight" not in dict(
        bare.build(vocabulary=9, seeds=1).named_parameters()
    )


def plain(model: GPT, r: int, tokens: list[int], offset: int = 0) -> Tensor:
    """Return the logits ``[T, V]`` of replica ``r`` for one sequence."""
    config, weights = model.config, {n: p[r] for n, p in model.named_parameters()}

    def linear(name: str, x: Tensor) -> Tensor:
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def norm(name: str, x: Tensor) -> Tensor:
        if not config.norm:
            return x
        centred = x - x.mean()
        scaled = centred / (x.var(correction=0) + 1e-5).sqrt()
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def place(t: int) -> Tensor | float:
        if config.positions == "learned":
            return weights["positions.weight"][t]
        if config.positions == "none":
            return 0.0
        wave = [
            (math.cos if i % 2 else math.sin)(
                t / 10_000 ** (2 * (i // 2) / config.width)
            )
            for i in range(config.width)
        ]
        return torch.tensor(wave, dtype=torch.float64)

    def attend(name: str, seen: list[Tensor]) -> Tensor:
        """Return the attention output of the last of the states ``seen``."""
        projected = torch.stack(
            [linear(f"{name}.qkv", norm(f"{name}.norm1", x)) for x in seen]
        )
        if config.attention == "uniform":
            return projected.mean(0)
        q, k, v = (part.chunk(config.heads, -1) for part in projected.chunk(3, -1))
        return torch.cat(
            [
                (kh @ qh[-1] / math.sqrt(config.width // config.heads)).softmax(0) @ vh
                for qh, kh, vh in zip(q, k, v, strict=True)
            ]
        )

    keep = 1.0 if config.residual else 0.0
    states = [
        weights["tokens.weight"][s] + place(offset + t) for t, s in enumerate(tokens)
    ]
    for i in range(config.layers):
        name = f"blocks.{i}"
        if config.attention != "none":
            mixed = [attend(name, states[: t + 1]) for t in range(len(states))]
            states = [
                keep * x + linear(f"{name}.out", y)
                for x, y in zip(states, mixed, strict=True)
            ]
        states = [
            keep * x
            + linear(
                f"{name}.down", F.gelu(linear(f"{name}.up", norm(f"{name}.norm2", x)))
            )
            for x in states
        ]
    final = torch.stack([norm("norm", x) for x in states])
    return final @ (
        weights["tokens.weight"].T if config.tied else weights["head.weight"]
    )


def sequences(length: int) -> Tensor:
    return torch.randint(
        9, (3, length), generator=torch.Generator().manual_seed(length)
    )


def assert_plain(model: GPT, tokens: Tensor) -> None:
    said = model(tokens)
    for r in range(model.replicas):
        expected = torch.stack([plain(model, r, row) for row in tokens.tolist()])
        assert_same(said[r], expected, of_forward(model))


@torch.no_grad()
@pytest.mark.parametrize("attention", ["causal", "uniform", "none"])
@pytest.mark.parametrize("length", range(1, CONTEXT + 1))
def test_attention_at_every_length(attention: str, length: int) -> None:
    assert_plain(gpt(attention=attention), sequences(length))


@torch.no_grad()
@pytest.mark.parametrize(
    ("residual", "norm", "positions", "tied"),
    list(
        product(
            [True, False],
            [True, False],
            ["learned", "sinusoidal", "none"],
            [True, False],
        )
    ),
)
def test_switches(residual: bool, norm: bool, positions: str, tied: bool) -> None:
    model = gpt(residual=residual, norm=norm, positions=positions, tied=tied)
    assert_plain(model, sequences(3))
    assert_plain(model, sequences(6))


@torch.no_grad()
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_offsets_differ_by_sequence_and_replica(positions: str) -> None:
    model, tokens = gpt(positions=positions), sequences(3)
    offsets = torch.tensor([[0, 2, 4], [3, 1, 0]])
    said = model(pack([tokens], offset=offsets)).unflatten(1, (3, 3))
    for r, b in product(range(2), range(3)):
        expected = plain(model, r, tokens[b].tolist(), int(offsets[r, b]))
        assert_same(said[r, b], expected, of_forward(model))


@torch.no_grad()
def test_an_odd_width_has_waves_too() -> None:
    assert_plain(gpt(width=5, heads=1, positions="sinusoidal"), sequences(4))


@pytest.mark.parametrize("length", [2, 3, 4])
def test_short_attention_is_the_general_one(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both implementations of attention agree in their results and gradients."""
    gradients = []
    for longest in (4, 0):
        monkeypatch.setattr("inweights.models.layers.attention._SHORT", longest)
        model = gpt()
        model(sequences(length)).square().mean().backward()
        gradients.append([p.grad for p in model.parameters()])
    assert any(g.any() for g in gradients[0])
    for short, general in zip(*gradients, strict=True):
        torch.testing.assert_close(short, general, atol=1e-8, rtol=1e-6)


@pytest.mark.parametrize("attention", ["causal", "uniform", "none"])
@pytest.mark.parametrize("length", [3, 6])
def test_no_gradient_comes_from_the_future(attention: str, length: int) -> None:
    model = gpt(attention=attention)
    # Each token occurs once, so its gradient row shows whether it was attended to.
    tokens = torch.arange(length).unsqueeze(0)
    for t in range(length):
        model.zero_grad()
        model.hidden(tokens, layers=["final"], at=torch.tensor([t]))[
            "final"
        ].sum().backward()
        grad = model.tokens.weight.grad
        assert grad is not None
        looked_at = grad[:, :length].abs().sum(-1) > 1e-12
        past = (
            torch.arange(length) == t
            if attention == "none"
            else torch.arange(length) <= t
        )
        assert torch.equal(looked_at, past.expand(2, -1)), t


@torch.no_grad()
def test_all_of_the_context_can_be_used_and_not_more() -> None:
    model = gpt()
    assert model(sequences(CONTEXT)).shape == (2, 3, CONTEXT, 9)
    longer = sequences(CONTEXT + 1)
    with pytest.raises(ConfigError, match=r"8 tokens is longer than gpt\.context = 7"):
        model(longer)
    with pytest.raises(ConfigError, match="is longer than"):
        model.hidden(pack([sequences(1), longer]))
