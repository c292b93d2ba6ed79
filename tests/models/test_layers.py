"""Layers: initial scale, independence of the replicas' random draws, and plain arithmetic."""

from __future__ import annotations

import math
from typing import TypeVar

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from inweights.errors import ConfigError
from inweights.models import Embedding, Init, Layer, LayerNorm, Linear, initialise
from inweights.seeds import INITIALISATION, Streams

M = TypeVar("M", bound=nn.Module)


class Pair(nn.Module):
    def __init__(self, replicas: int) -> None:
        super().__init__()
        self.tokens = Embedding(replicas, 40, 24)
        self.out = Linear(replicas, 24, 50)


def started(module: M, seeds: list[int], inits: list[Init] | None = None) -> M:
    initialise(module, seeds, inits or [Init()] * len(seeds))
    return module


# Each with its input width, which differs from its output width.
LAYERS = [
    (lambda r: Linear(r, 30, 90), 30),
    (lambda r: Linear(r, 90, 30, bias=False), 90),
    (lambda r: Embedding(r, 120, 24), 24),
]


@pytest.mark.parametrize(("make", "fan_in"), LAYERS)
@pytest.mark.parametrize(
    "init", [Init(), Init(std=0.5), Init(gamma=0.8), Init(gamma=1.5)]
)
def test_scale(make, fan_in: int, init: Init) -> None:
    """§3.4: entries from N(0, σ²), σ = 0.02 or d_in^-γ, within five sampling errors."""
    layer = started(make(2), [1, 2], [init, init])
    sigma = init.std if init.gamma is None else fan_in**-init.gamma
    for row in layer.weight.detach():
        count = row.numel()
        assert row.std().item() == pytest.approx(sigma, rel=5 / math.sqrt(2 * count))
        assert abs(row.mean().item()) < 5 * sigma / math.sqrt(count)
        beyond = (row.abs() > 2 * sigma).float().mean().item()
        # This holds for 4.6% of a normal distribution and for none of a uniform one.
        assert 0.02 < beyond < 0.08
    if isinstance(layer, Linear) and layer.bias is not None:
        assert not layer.bias.any()


def test_gamma_decides_over_std() -> None:
    assert Init(std=9.0, gamma=1.0).sigma(50) == 1 / 50
    assert Init(std=9.0).sigma(50) == 9.0


def test_layer_norm_starts_as_the_identity() -> None:
    layer = started(LayerNorm(2, 5), [0, 1], [Init(std=3.0)] * 2)
    assert torch.equal(layer.weight, torch.ones(2, 5))
    assert not layer.bias.any()


def test_a_replica_draws_the_same_bits_in_any_company() -> None:
    inits = {4: Init(std=0.3), 5: Init(gamma=0.7), 6: Init()}
    alone = {s: started(Pair(1), [s], [i]) for s, i in inits.items()}
    for seeds in ([4, 5, 6], [6, 4], [5, 5]):
        together = started(Pair(len(seeds)), seeds, [inits[s] for s in seeds])
        for name, parameter in together.named_parameters():
            for r, seed in enumerate(seeds):
                assert torch.equal(parameter[r], alone[seed].get_parameter(name)[0]), (
                    name
                )


def test_every_parameter_has_a_stream_of_its_own() -> None:
    class Twins(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = Linear(1, 6, 6), Linear(1, 6, 6)

    twins = started(Twins(), [0])
    assert not torch.allclose(twins.one.weight, twins.other.weight)


def test_two_parameters_of_one_layer_differ() -> None:
    class Both(Layer):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = (nn.Parameter(torch.empty(1, 4, 4)) for _ in range(2))

        def initialise(self, draw) -> None:
            draw("a", self.a, 4)
            draw("b", self.b, 4)

    both = started(Both(), [0])
    assert not torch.allclose(both.a, both.b)


def test_the_stream_is_the_named_one() -> None:
    model = started(Pair(1), [8], [Init(std=2.0)])
    generator = Streams(8).torch(INITIALISATION, "tokens", "weight")
    assert torch.equal(
        model.tokens.weight[0], torch.randn(40, 24, generator=generator) * 2.0
    )


def test_a_start_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    started(Pair(2), [0, 1])
    assert torch.equal(torch.get_rng_state(), before)


def test_seeds_and_scales_have_to_match() -> None:
    with pytest.raises(ConfigError, match="one initial scale per seed"):
        initialise(Pair(2), [0, 1], [Init()])


@torch.no_grad()
def test_layers_are_plain_ones_side_by_side() -> None:
    x: Tensor = torch.randn(2, 7, 24, generator=torch.Generator().manual_seed(0))
    linear = started(Linear(2, 24, 5), [1, 2], [Init(std=1.0)] * 2)
    assert linear.bias is not None
    linear.bias.copy_(torch.arange(10.0).view(2, 5))
    norm = started(LayerNorm(2, 24), [1, 2])
    norm.weight.copy_(torch.arange(48.0).view(2, 24))
    norm.bias.copy_(torch.arange(48.0).view(2, 24).flip(1))
    table = started(Embedding(2, 40, 24), [1, 2])
    shared, own = torch.tensor([3, 39, 3]), torch.tensor([[3, 39, 3], [0, 1, 2]])
    for r in (0, 1):
        torch.testing.assert_close(
            linear(x)[r], F.linear(x[r], linear.weight[r].T, linear.bias[r])
        )
        plain = F.layer_norm(x[r], (24,), norm.weight[r], norm.bias[r])
        torch.testing.assert_close(norm(x)[r], plain)
        assert torch.equal(table(shared)[r], table.weight[r][shared])
        assert torch.equal(table(own)[r], table.weight[r][own[r]])


@pytest.mark.parametrize("outputs", [2, 9, 16, 31, 61])
@pytest.mark.parametrize("inputs", [1, 2, 9, 16, 31, 61])
@pytest.mark.parametrize("rows", [1, 3, 14, 36])
def test_products_have_the_same_bits_alone_and_in_company(
    rows, inputs, outputs
) -> None:
    """This holds for every shape, also if a replica's numbers begin at an unaligned address."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(5, rows, inputs, generator=generator)
    by_output = torch.randn(5, rows, outputs, generator=generator)
    start = [Init(std=1.0)] * 5
    together = started(Linear(5, inputs, outputs), [0, 1, 2, 3, 4], start)
    given = x.clone().requires_grad_()
    together(given).backward(by_output)
    for r in (1, 4):
        alone = started(Linear(1, inputs, outputs), [r], start[:1])
        one = x[r : r + 1].clone().requires_grad_()
        said = alone(one)
        said.backward(by_output[r : r + 1].clone())
        assert torch.equal(said[0], together(x)[r])
        for lone, joint in (
            (one, given),
            *zip(alone.parameters(), together.parameters(), strict=True),
        ):
            assert lone.grad is not None
            assert joint.grad is not None
            assert torch.equal(lone.grad[0], joint.grad[r])
