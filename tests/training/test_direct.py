"""Steps that call an optimizer's kernels directly equal PyTorch's own steps."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.training.curricula import build

from inweights.training import Optimizer
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.optimizers.fused import (
    build_optimizer,
    load_state,
    state_of,
)


def with_rates(settings: dict[str, Any]) -> list[Optimizer]:
    """Return three parameters, two adjacent ones with one rate and a third with another."""
    return [Optimizer(rate=rate, **settings) for rate in (1e-2, 1e-2, 3e-2)]


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "sgd"},
        {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.1},
        {"kind": "adam", "weight_decay": 0.1, "decayed": "all"},
        {"kind": "adamw", "weight_decay": 0.1},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_steps_have_the_bits_of_torch(settings: dict[str, Any]) -> None:
    """Also if rates change between steps, and after a state was loaded."""
    flat = FlatParameters(build([0, 1, 2]))
    moving = flat.moving(("*",))
    start = flat.values.clone()
    numbers = torch.Generator().manual_seed(0)
    drawn = [torch.randn(flat.values.shape, generator=numbers) for _ in range(6)]
    ends = []
    for direct in (True, False):
        flat.values.copy_(start)
        optimizer = build_optimizer(flat, with_rates(settings), moving)
        for index, gradients in enumerate(drawn):
            flat.gradients.copy_(gradients)
            if index == 4:
                stored = {
                    n: one.clone() for n, one in state_of(optimizer, flat).items()
                }
                optimizer = build_optimizer(flat, with_rates(settings), moving)
                load_state(optimizer, flat, stored)
            for group in optimizer.param_groups:
                group["lr"] *= 0.9
            if not direct:
                # Without the kernels, the next step is torch's own.
                optimizer._direct_kernels = None  # type: ignore[attr-defined]
            optimizer.step()
            assert optimizer._direct_kernels  # type: ignore[attr-defined]
        ends.append([flat.values.clone(), *state_of(optimizer, flat).values()])
    assert len(ends[0]) == len(ends[1])
    assert all(torch.equal(one, other) for one, other in zip(*ends, strict=True))
    assert not torch.equal(ends[0][0], start)
