"""Emulated products in bfloat16: rounding, and equality alone and in a group."""

from __future__ import annotations

import pytest
import torch
from tests.training.curricula import curriculum

from inweights.models import MambaConfig, Model, TinyNNConfig
from inweights.training import Optimizer, train
from inweights.training.steps.losses.rounding import RoundedProducts
from inweights.worlds import Graph


@pytest.mark.parametrize(
    "config", [TinyNNConfig(width=512), MambaConfig(layers=1, width=32)]
)
def test_emulated_bf16_has_the_same_bits_alone_and_is_near_autocast(config) -> None:
    """Kernels for bfloat16 would give different bits, for example for these models."""
    world = Graph(shape="cycle").build()

    def trained(precision: str, seeds: list[int]) -> Model:
        model = config.build(vocabulary=15, seeds=seeds)
        plan = curriculum(steps=8, precision=precision, optimizer=Optimizer(rate=1e-2))
        train(model, world, plan, seeds=seeds)
        return model

    together, alone = trained("bf16-emulated", [0, 1, 2]), trained("bf16-emulated", [1])
    for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
        assert torch.equal(joint[1], lone[0])
    tokens = torch.arange(15).unsqueeze(1)
    whole, half, found = (
        trained(p, [1])(tokens) for p in ("fp32", "bf16", "bf16-emulated")
    )
    assert (found - half).abs().mean() < 0.5 * (found - whole).abs().mean()


def test_emulated_bf16_rounds_products_and_nothing_else() -> None:
    a, b, c = (torch.randn(2, *s, requires_grad=True) for s in ((3, 4), (4, 5), (1, 5)))
    short = [x.detach().bfloat16().float().requires_grad_() for x in (a, b, c)]
    with RoundedProducts():
        found = torch.baddbmm(c, a, b)
        assert torch.equal(
            torch.bmm(a, b), torch.bmm(short[0], short[1]).bfloat16().float()
        )
        assert torch.equal(a + 0.01, torch.add(a, 0.01))
    expected = torch.baddbmm(short[2], short[0], short[1])
    assert torch.equal(found, expected.bfloat16().float())
    weights = torch.randn(found.shape).bfloat16().float()
    for own, theirs in zip(
        torch.autograd.grad((found * weights).sum(), (a, b, c)),
        torch.autograd.grad((expected * weights).sum(), short),
        strict=True,
    ):
        torch.testing.assert_close(own, theirs.bfloat16().float())
