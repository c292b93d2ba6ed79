"""nnsight reads and changes models of this library directly, for all replicas at once."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
import torch

import inweights as iw

if find_spec("nnsight") is None:
    pytest.skip("pip install nnsight lifts this", allow_module_level=True)
pytestmark = pytest.mark.slow

WORLD = iw.TwoHop(n=6).build()
PROMPTS = torch.stack([torch.as_tensor(WORLD.queries.prompt(i)) for i in range(4)])


def build() -> iw.models.Model:
    config = iw.GPTConfig(layers=2, width=16)
    return config.build(vocabulary=len(WORLD.vocabulary), seeds=[0, 1])


def unpacked(states: torch.Tensor) -> torch.Tensor:
    """Return states of packed prompts ``[R, B·T, D]`` as ``[R, B, T, D]``."""
    return states.unflatten(1, tuple(PROMPTS.shape))


@torch.no_grad()
def test_what_it_reads_is_what_the_library_reads() -> None:
    from nnsight import NNsight

    model = build()
    seen: Any = NNsight(model)
    with seen.trace(PROMPTS):
        state = seen.blocks[0].output.save()
        logits = seen.output.save()
    torch.testing.assert_close(
        unpacked(state), model.hidden(PROMPTS, at="all")["block.0"], rtol=0, atol=0
    )
    torch.testing.assert_close(logits.view(model(PROMPTS).shape), model(PROMPTS))


@torch.no_grad()
def test_what_it_changes_is_what_steering_changes() -> None:
    from nnsight import NNsight

    model = build()
    seen: Any = NNsight(model)
    with seen.trace(PROMPTS):
        seen.blocks[0].output[:] = 2 * seen.blocks[0].output
        changed = seen.output.save()
    with iw.steered(model, WORLD, at="block.0", scale=2.0):
        ours = model(PROMPTS)
    torch.testing.assert_close(changed.view(ours.shape), ours)
    assert not torch.allclose(ours, model(PROMPTS))
