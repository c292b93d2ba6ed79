"""The share of a state that identifies the token, compared with tables and autograd."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from inweights.errors import ConfigError, DataError
from inweights.models import GPTConfig, MambaConfig, OneLayerConfig
from inweights.probes.token_share import token_share
from inweights.worlds import Graph, PathStar

STAR = PathStar(arms=12, nodes=4)


def model_of(world: Any, config: Any, seeds: int = 2) -> Any:
    return config.build(vocabulary=len(world.vocabulary), seeds=seeds)


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
@pytest.mark.parametrize("tied", [True, False])
def test_is_what_tables_and_autograd_say(positions: Any, tied: bool) -> None:
    """It equals the share from the tables, and from the gradient of a uniform head."""
    world = STAR.build()
    config = GPTConfig(
        layers=1, width=16, heads=1, context=16, positions=positions, tied=tied
    )
    model = model_of(world, config)
    found = token_share(model, world)
    prompts, answers = world.facts.matrix(world.facts.with_role("edge"))
    for r in range(2):
        tokens = model.tokens.weight[r, prompts[:, -1]].detach().double()
        added = torch.zeros(16, dtype=torch.float64)
        if positions == "learned":
            added = model.positions.weight[r, prompts.shape[1] - 1].detach().double()
        elif positions == "sinusoidal":
            added = model.waves[prompts.shape[1] - 1].double()
        states = F.layer_norm(tokens + added, (16,))
        numbers = found.row(r, named=True)
        assert numbers["token"] == pytest.approx(
            float(tokens.square().sum(-1).mean().sqrt())
        )
        assert numbers["added"] == pytest.approx(float(added.norm()), rel=1e-4)
        apart = states - states.mean(0)
        assert numbers["share"] == pytest.approx(
            float(apart.square().sum() / states.square().sum()), rel=1e-4
        )

        def of_a_flat_head(seen: torch.Tensor) -> torch.Tensor:
            head = torch.zeros(
                len(world.vocabulary), 16, dtype=seen.dtype, requires_grad=True
            )
            loss = F.cross_entropy(seen @ head.T, torch.from_numpy(answers[:, 0]))
            (gradient,) = torch.autograd.grad(loss, head)
            return gradient.square().sum()

        shared = of_a_flat_head(states.mean(0).expand_as(states))
        own = of_a_flat_head(apart)
        assert numbers["gradient"] == pytest.approx(
            float(own / (own + shared)), rel=1e-4
        )


def test_a_model_without_positions_sees_tokens_alone() -> None:
    world = STAR.build()
    found = token_share(model_of(world, MambaConfig(layers=1, width=16)), world)
    assert found["added"].to_list() == found["ratio"].to_list() == [0.0, 0.0]
    # Vectors are nearly orthogonal, so that only the root, which every arm shares, is common.
    prompts, _ = world.facts.matrix(world.facts.with_role("edge"))
    asked = torch.bincount(torch.from_numpy(prompts[:, -1])).double() / len(prompts)
    apart = 1 - float(asked.square().sum())
    assert found["share"].to_list() == pytest.approx([apart, apart], abs=0.1)


def test_worlds_of_their_own() -> None:
    worlds = [Graph(shape="grid").build(seed) for seed in (1, 2)]
    model = model_of(worlds[0], GPTConfig(layers=1, width=16))
    both = token_share(model, worlds)
    for r in range(2):
        alone = token_share(model, worlds[r]).row(r, named=True)
        assert both.row(r, named=True) == pytest.approx(alone, rel=1e-5)


def test_says_what_it_cannot_read() -> None:
    world = STAR.build()
    with pytest.raises(DataError, match="unknown role 'leap'"):
        token_share(
            model_of(world, GPTConfig(layers=1, context=16)), world, role="leap"
        )
    bare = OneLayerConfig(width=64).build(vocabulary=len(world.vocabulary), seeds=1)
    with pytest.raises(
        ConfigError, match="needs a model with a table of token embeddings"
    ):
        token_share(bare, world)
