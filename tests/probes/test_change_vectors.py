"""States that a change adds or replaces, compared with a plain hook of PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.foreign.stranger import gpt
from torch import Tensor

import inweights as iw
from inweights.probes.interventions.changes import vector_of

WORLD = iw.TwoHop(n=4).build(seed=0)
BLOCK = "transformer.h.0"


@torch.no_grad()
@pytest.mark.parametrize(
    ("position", "place"),
    [
        (["a2", "a4"], 0),
        ("r1", 1),
        ("r2", 2),
        (0, 0),
        (-2, 1),
        # Positions that the prompt lacks, and all positions, are read at its last token.
        ("a3", 2),
        (["a1", "a3"], 2),
        (7, 2),
        (None, 2),
    ],
)
def test_the_state_of_a_prompt_is_read_where_it_is_changed(
    position: Any, place: int
) -> None:
    plain = gpt(vocab_size=len(WORLD.vocabulary))
    states: list[Tensor] = []
    hook = plain.transformer["h"][0].register_forward_hook(
        lambda *given: states.append(given[2][0, place])
    )
    prompts = ("a2 r1 r2", "a4 r1 r2")
    for prompt in prompts:
        plain(torch.tensor([[WORLD.vocabulary.id(name) for name in prompt.split()]]))
    hook.remove()
    one, other = states
    model = iw.wrap(plain)
    found = vector_of(prompts[0], model, [WORLD], BLOCK, position)
    assert found.shape == (1, 1, 1, len(one))
    torch.testing.assert_close(found.flatten(), one)
    found = vector_of(prompts, model, [WORLD], BLOCK, position)
    torch.testing.assert_close(found.flatten(), one - other)
