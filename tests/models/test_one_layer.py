"""OneLayer and DeepLinear: the contract, their formulas, and training of single layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.model_case import ModelCase

from inweights.errors import ConfigError, DataError
from inweights.models import DeepLinearConfig, Init, OneLayer, OneLayerConfig
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import Analogy

SMALL: dict[str, Any] = {"width": 16, "hidden": 3, "kappa": 2.0, "init": Init(std=0.4)}


class TestOneLayer(ModelCase):
    config = OneLayerConfig(**SMALL)
    attends, decisive = True, ("attention",)  # weights look at the tokens


class TestOneLayerReLU(ModelCase):
    config = OneLayerConfig(mlp="relu", **SMALL)
    attends, decisive = True, ("attention",)  # weights look at the tokens


class TestOneLayerFoldedGaussian(ModelCase):
    config = OneLayerConfig(mlp="folded", embedding="gaussian", **SMALL)
    attends, decisive = True, ("attention",)  # weights look at the tokens


class TestDeepLinear(ModelCase):
    config = DeepLinearConfig(width=16, layers=3)


class TestDeepLinearWithoutReadout(ModelCase):
    config = DeepLinearConfig(width=16, layers=2, readout=False)


def embeddings(model: OneLayer, r: int) -> torch.Tensor:
    return model.tokens.weight[r] if model.tokens else torch.eye(model.vocabulary)


@torch.no_grad()
@pytest.mark.parametrize("mlp", ["linear", "relu", "folded"])
@pytest.mark.parametrize("embedding", ["orthonormal", "gaussian"])
def test_one_layer_is_equations_1_to_3(mlp: Any, embedding: Any) -> None:
    config = OneLayerConfig(mlp=mlp, embedding=embedding, **SMALL)
    model = config.build(vocabulary=11, seeds=[0, 1], candidates=[3, 5, 9])
    prompts = torch.tensor([[2, 7, 4], [1, 1, 8]])
    said, scores = model(prompts)[:, :, -1], model.scores(prompts)
    value = model.hidden(prompts, layers=["value"])["value"]
    for r in (0, 1):
        w_kq, w_v = model.attention.key_query[r], model.attention.value[r].T
        e = embeddings(model, r)
        for b, prompt in enumerate(prompts):
            x = e[prompt].T  # [D, T]
            s = torch.softmax(x.T @ w_kq @ x[:, -1], 0)
            torch.testing.assert_close(scores[r, b], s)
            torch.testing.assert_close(value[r, b], w_v @ x[:, -1])
            h = w_v @ x @ s
            inner = model.mlp.weight[r] @ h  # [K, M]
            if mlp == "folded":
                expected = 2.0 / 3**0.5 * inner[:, 0]
            else:
                expected = 2.0 / 3 * (inner.relu() if mlp == "relu" else inner).sum(1)
            torch.testing.assert_close(said[r, b], expected)


@torch.no_grad()
def test_the_pattern_mixes_the_values() -> None:
    model = OneLayerConfig(**SMALL).build(vocabulary=9, seeds=[0, 1])
    tokens = torch.tensor([[1, 2, 3], [4, 4, 0]])
    states, pattern = (
        model.hidden(tokens, at="all"),
        model.attention_patterns(tokens)["attention"],
    )
    torch.testing.assert_close(pattern[:, :, 0] @ states["value"], states["attention"])


def plan(*moves: str, steps: int = 8, **optimizer: Any) -> Curriculum:
    settings = Optimizer(
        **{"kind": "sgd", "rate": 0.5, "weight_decay": 0.0, **optimizer}
    )
    return Curriculum(
        phases=tuple(Phase(steps=steps, moves=(m,), optimizer=settings) for m in moves)
    )


@pytest.mark.parametrize("optimizer", [{}, {"weight_decay": 0.05, "momentum": 0.5}])
def test_folding_is_exact_under_gradient_descent(optimizer: dict[str, Any]) -> None:
    world = Analogy(n=3).build()
    build: dict[str, Any] = {
        "vocabulary": len(world.vocabulary),
        "seeds": [0, 1],
        "candidates": world.outputs,
    }
    whole = OneLayerConfig(**SMALL).build(**build)
    folded = OneLayerConfig(mlp="folded", **SMALL).build(**build)
    with torch.no_grad():
        for ours, theirs in zip(
            folded.attention.parameters(), whole.attention.parameters(), strict=True
        ):
            ours.copy_(theirs)
        folded.mlp.weight.copy_(whole.mlp.weight.sum(2, keepdim=True) / 3**0.5)
    stages = plan("attention.*", "mlp.*", "*", **optimizer)
    losses = [
        train(m, world, stages, seeds=[0, 1], every=1).losses for m in (whole, folded)
    ]
    one, other = (torch.tensor(table["loss"].to_list()) for table in losses)
    assert one[-1] < one[0] - 0.1
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    mean = whole.mlp.weight.sum(2) / 3**0.5
    torch.testing.assert_close(folded.mlp.weight[:, :, 0], mean, atol=1e-5, rtol=1e-5)


def test_stages_move_one_group_each() -> None:
    world = Analogy(n=3).build()
    model = OneLayerConfig(**SMALL).build(vocabulary=len(world.vocabulary), seeds=[0])
    for moves in ("attention.*", "mlp.*"):
        before = {name: p.detach().clone() for name, p in model.named_parameters()}
        train(model, world, plan(moves), seeds=[0])
        moved = {
            n for n, p in model.named_parameters() if not torch.equal(p, before[n])
        }
        assert moved == {n for n in before if n.startswith(moves[:-1])}


@torch.no_grad()
def test_initial_scales_reach_what_is_trained_alone() -> None:
    config = OneLayerConfig(width=256, hidden=2, embedding="gaussian")
    model = config.build(
        vocabulary=300, seeds=[0, 0], inits=[Init(std=1e-3), Init(std=0.1)]
    )
    for r, sigma in enumerate((1e-3, 0.1)):
        for name, parameter in model.named_parameters():
            assert parameter[r].std().item() == pytest.approx(sigma, rel=0.05), name
        assert model.tokens is not None
        assert model.tokens.weight[r].norm(dim=1).mean().item() == pytest.approx(
            1.0, abs=0.02
        )


@torch.no_grad()
@pytest.mark.parametrize("readout", [True, False])
def test_deep_linear_is_a_product(readout: bool) -> None:
    config = DeepLinearConfig(width=12, layers=3, readout=readout)
    model = config.build(vocabulary=9, seeds=[0, 1], candidates=[4, 5])
    prompts = torch.tensor([[2, 7], [1, 1]])
    said, states = model(prompts)[:, :, -1], model.hidden(prompts)
    for r in (0, 1):
        for b, prompt in enumerate(prompts):
            x = torch.eye(12)[prompt].sum(0)
            layer: Any
            for layer, name in zip(model.layers, model.layer_names, strict=True):
                x = layer.weight[r].T @ x
                torch.testing.assert_close(states[name][r, b], x)
            x = model.readout.weight[r].T @ x if model.readout else x[:2]
            torch.testing.assert_close(said[r, b], x)
    spread = DeepLinearConfig(width=400, layers=1).build(vocabulary=9, seeds=[0])
    assert spread.get_parameter("layers.0.weight").std().item() == pytest.approx(
        0.05, rel=0.02
    )


@pytest.mark.parametrize("config", [OneLayerConfig(width=8), DeepLinearConfig(width=8)])
def test_a_token_too_far_is_refused(config: Any) -> None:
    """Such an index could read a row of another replica without an error."""
    model = config.build(vocabulary=6, seeds=[0, 1])
    for tokens in (
        torch.tensor([[0, 6]]),
        torch.tensor([[-1]]),
        torch.full((2, 1, 2), 7),
    ):
        with pytest.raises(DataError, match="from 0 to 5"):
            model(tokens)
        if isinstance(model, OneLayer):
            for attention in (model.attention_patterns, model.scores):
                with pytest.raises(DataError, match="from 0 to 5"):
                    attention(tokens)


def test_what_does_not_fit_is_refused() -> None:
    for kappa in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match=r"kappa must be (above 0|at most)"):
            OneLayerConfig(kappa=kappa)
    for kind, key in (
        (OneLayerConfig, "width"),
        (OneLayerConfig, "hidden"),
        (DeepLinearConfig, "width"),
        (DeepLinearConfig, "layers"),
    ):
        with pytest.raises(ConfigError, match=f"{key} must be at least 1, got 0"):
            kind(**{key: 0})  # type: ignore[arg-type]
    with pytest.raises(
        ConfigError, match="9 tokens cannot have orthonormal embeddings in a width of 8"
    ):
        OneLayerConfig(width=8).build(vocabulary=9, seeds=[0])
    OneLayerConfig(width=8, embedding="gaussian").build(vocabulary=9, seeds=[0])
    with pytest.raises(ConfigError, match="do not fit a width of 8"):
        DeepLinearConfig(width=8).build(vocabulary=9, seeds=[0])
