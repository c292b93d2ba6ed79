"""TinyNN and Node2Vec: the contract, their formulas, and their frozen parameters."""

from __future__ import annotations

import pytest
import torch
from tests.model_case import ModelCase

from inweights.errors import ConfigError
from inweights.models import Init, Node2VecConfig, TinyNNConfig
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import Graph


class TestTinyNN(ModelCase):
    config = TinyNNConfig(width=8, init=Init(std=0.3))


class TestTinyNNFrozen(ModelCase):
    config = TinyNNConfig(width=8, frozen=True, embedding_std=1.0)


class TestNode2Vec(ModelCase):
    config = Node2VecConfig(width=8, init=Init(std=0.3))


class TestNode2VecUntied(ModelCase):
    config = Node2VecConfig(width=8, tied=False, init=Init(std=0.3))


TOKENS = torch.arange(5).unsqueeze(1)


@torch.no_grad()
def test_tiny_nn_is_its_formula() -> None:
    model = TinyNNConfig(width=6, init=Init(std=0.5)).build(vocabulary=5, seeds=[0, 1])
    assert model.middle.bias is not None
    model.middle.bias.normal_(generator=torch.Generator().manual_seed(0))
    for r in (0, 1):
        e, w, b = model.tokens.weight[r], model.middle.weight[r].T, model.middle.bias[r]
        torch.testing.assert_close(model(TOKENS)[r, :, 0], (e @ w.T + b) @ e.T)


@torch.no_grad()
def test_node2vec_is_its_formula() -> None:
    tied = Node2VecConfig(width=6).build(vocabulary=5, seeds=[3])
    v = tied.tokens.weight[0]
    torch.testing.assert_close(tied(TOKENS)[0, :, 0], v @ v.T)
    untied = Node2VecConfig(width=6, tied=False).build(vocabulary=5, seeds=[3])
    assert torch.equal(untied.tokens.weight, tied.tokens.weight)
    assert untied.head is not None
    torch.testing.assert_close(untied(TOKENS)[0, :, 0], v @ untied.head.weight[0].T)


def test_frozen_embeddings_start_alike_and_never_move() -> None:
    world = Graph(shape="cycle", n=6).build()
    free, frozen = (
        TinyNNConfig(width=32, frozen=f).build(vocabulary=6, seeds=[4, 5])
        for f in (False, True)
    )
    start = frozen.tokens.weight.clone()
    assert torch.equal(start, free.tokens.weight)
    assert not start.requires_grad
    descent = Optimizer(rate=0.2, weight_decay=0.1)
    plan = Curriculum(phases=(Phase(steps=60, optimizer=descent),))
    for model in (free, frozen):
        losses = train(model, world, plan, seeds=[4, 5]).losses
        assert losses["loss"].to_list()[-1] < losses["loss"].to_list()[0] - 0.2
    assert torch.equal(frozen.tokens.weight, start)
    assert not torch.allclose(free.tokens.weight, start)
    assert "tokens.weight" in frozen.state_dict()


def test_initial_scales() -> None:
    config = TinyNNConfig(width=64, embedding_std=1.0)
    model = config.build(vocabulary=200, seeds=[0, 1], inits=[Init(), Init(std=0.1)])
    for r, sigma in ((0, 0.02), (1, 0.1)):
        assert model.tokens.weight[r].std().item() == pytest.approx(1.0, rel=0.05)
        assert model.middle.weight[r].std().item() == pytest.approx(sigma, rel=0.05)
    assert not model.middle.bias.any()
    node = Node2VecConfig().build(vocabulary=200, seeds=[0])
    assert node.tokens.weight.std().item() == pytest.approx(1.0, rel=0.05)


def test_what_does_not_fit_is_refused() -> None:
    for kind in (TinyNNConfig, Node2VecConfig):
        with pytest.raises(ConfigError, match="width must be at least 1, got 0"):
            kind(width=0)
    for wrong in (0.0, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match="embedding_std must be above 0"):
            TinyNNConfig(embedding_std=wrong)
