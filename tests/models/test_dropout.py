"""Dropout is applied only during training, and a resumed run drops the same entries."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import torch
from tests.model_case import ModelCase

from inweights.errors import ConfigError
from inweights.models import GPTConfig, Init, TinyNNConfig
from inweights.models.layers.dropout import Dropout, DropoutMasks
from inweights.probes import graph_recall
from inweights.training import Checkpoint, Curriculum, Observer, Optimizer, Phase, train
from inweights.worlds import Graph

RING = Graph(shape="cycle", n=6).build(seed=0)
CONFIGS: dict[str, GPTConfig | TinyNNConfig] = {
    "gpt": GPTConfig(layers=2, heads=1, width=8, dropout=0.4, embedding_std=1.0),
    "tiny-nn": TinyNNConfig(width=8, dropout=0.4, embedding_std=1.0),
}
#: Layers with dropout: the attention and MLP of each block, and the middle layer.
PLACES = {"gpt": 4, "tiny-nn": 1}
TWICE = Curriculum(
    phases=(Phase(steps=4), Phase(name="more", steps=4, optimizer=Optimizer()))
)


class TestGPTDropout(ModelCase):
    config = GPTConfig(layers=2, heads=2, width=8, dropout=0.3, init=Init(std=0.2))
    attends = True


class TestTinyNNDropout(ModelCase):
    config = TinyNNConfig(width=8, dropout=0.3, init=Init(std=0.3))


def test_a_mask_drops_its_share_and_keeps_the_mean() -> None:
    layer = Dropout(0.4)
    x = torch.ones(2, 50, 400)
    with DropoutMasks(torch.nn.Sequential(layer), seeds=[1, 2]).at(0, 0):
        dropped = layer(x)
    for one in dropped:
        assert (one == 0).float().mean().item() == pytest.approx(0.4, abs=0.01)
        assert one.mean().item() == pytest.approx(1.0, abs=0.02)
        assert sorted(one.unique().tolist()) == pytest.approx([0.0, 1 / 0.6])
    assert not torch.equal(*dropped)
    dropping = DropoutMasks(torch.nn.Sequential(layer), seeds=[1, 2])
    refused = pytest.raises(
        ConfigError,
        match=r"one seed for the dropout masks of each replica \(1\), got 2",
    )
    with refused, dropping.at(0, 0):
        layer(x[:1])
    assert layer.generators is None


@pytest.mark.parametrize("kind", CONFIGS)
@torch.no_grad()
def test_masks_are_a_function_of_seed_layer_phase_and_step(kind: str) -> None:
    model = CONFIGS[kind].build(vocabulary=6, seeds=[3, 4])
    layers = [m for m in model.modules() if isinstance(m, Dropout)]
    assert len(layers) == PLACES[kind]
    tokens = torch.arange(6).unsqueeze(1)
    whole = model(tokens)

    def said(seeds: list[int], phase: int, step: int) -> torch.Tensor:
        with DropoutMasks(model, seeds).at(phase, step):
            return model(tokens)

    first = said([3, 4], 0, 5)
    assert torch.equal(first, said([3, 4], 0, 5))
    for other in ([9, 8], 0, 5), ([3, 4], 1, 5), ([3, 4], 0, 6):
        assert not torch.equal(first, said(*other))
    assert torch.equal(
        first[1], said([9, 4], 0, 5)[1]
    )  # whichever runs are trained in the same group
    assert not torch.equal(first, whole)
    assert torch.equal(model(tokens), whole)  # after the block has ended
    x = torch.ones(2, 3, 8)
    with DropoutMasks(model, [3, 4]).at(0, 0):
        masks = [layer(x) for layer in layers]
    for i, one in enumerate(masks):
        assert all(not torch.equal(one, another) for another in masks[:i])


@pytest.mark.parametrize("kind", CONFIGS)
def test_training_drops_and_looking_does_not(kind: str) -> None:
    config = CONFIGS[kind]
    dry = msgspec.structs.replace(config, dropout=0.0)
    wet_model, dry_model = (c.build(vocabulary=6, seeds=[0]) for c in (config, dry))
    assert torch.equal(wet_model.tokens.weight, dry_model.tokens.weight)
    seen: list[torch.Tensor] = []
    tokens = torch.arange(6).unsqueeze(1)

    def look(model):
        seen.append(model(tokens).clone())
        return graph_recall(model, RING)

    train(
        wet_model, RING, TWICE, seeds=[0], observers=[Observer("look", look, every=8)]
    )
    with torch.no_grad():
        assert torch.equal(seen[-1], wet_model(tokens))
        torch.testing.assert_close(seen[0], dry_model(tokens))
    train(dry_model, RING, TWICE, seeds=[0])
    assert not torch.equal(wet_model.tokens.weight, dry_model.tokens.weight)


@pytest.mark.parametrize("at", [2, 6])
@pytest.mark.parametrize("kind", CONFIGS)
def test_resumed_equals_uninterrupted_and_alone_equals_among_others(
    kind: str, at: int, tmp_path: Path
) -> None:
    config = CONFIGS[kind]

    class InterruptedHereError(Exception):
        pass

    def stop(total: int) -> None:
        if total == at:
            raise InterruptedHereError

    def checkpoint() -> Checkpoint:
        return Checkpoint(tmp_path / "state", key="k", every_steps=1)

    whole, broken, resumed = (
        config.build(vocabulary=6, seeds=[0, 7]) for _ in range(3)
    )
    train(whole, RING, TWICE, seeds=[0, 7])
    with pytest.raises(InterruptedHereError):
        train(broken, RING, TWICE, seeds=[0, 7], checkpoint=checkpoint(), progress=stop)
    train(resumed, RING, TWICE, seeds=[0, 7], checkpoint=checkpoint())
    alone = config.build(vocabulary=6, seeds=[7])
    train(alone, RING, TWICE, seeds=[7])
    for name, parameter in whole.named_parameters():
        assert torch.equal(parameter, resumed.get_parameter(name)), name
        torch.testing.assert_close(
            parameter[1:], alone.get_parameter(name), atol=1e-5, rtol=1e-5
        )


@pytest.mark.parametrize("config", [GPTConfig, TinyNNConfig])
def test_unit_normal_start_is_of_the_embeddings_alone(config) -> None:
    small, unit = (
        config(embedding_std=s).build(vocabulary=40, seeds=[2]) for s in (None, 1.0)
    )
    torch.testing.assert_close(unit.tokens.weight, small.tokens.weight * 50)
    assert unit.tokens.weight.std().item() == pytest.approx(1.0, abs=0.1)
    rest = [n for n, _ in small.named_parameters() if n != "tokens.weight"]
    assert all(torch.equal(small.get_parameter(n), unit.get_parameter(n)) for n in rest)


@pytest.mark.parametrize("config", [GPTConfig, TinyNNConfig])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"dropout": -0.1}, "dropout must be at least 0 and below 1, got -0.1"),
        ({"dropout": float("nan")}, "dropout must be at least 0 and below 1, got nan"),
        (
            {"embedding_std": 0.0},
            "embedding_std must be above 0, got 0.0; leave it out",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    config, given: dict[str, float], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        config(**given)
