"""Probes of the theoretical optimum, and of the distance of trained models from it."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
import pytest
import torch

from inweights.errors import ConfigError
from inweights.models import DeepLinearConfig, EmbMLP, EmbMLPConfig, GPTConfig
from inweights.models.deep_linear import DeepLinear
from inweights.probes import accuracy, direction, margins, nuclear_norm, templates
from inweights.theory import solve
from inweights.theory.programs.to_model import to_model
from inweights.training import Curriculum, Observer, Optimizer, Optimum, Phase, train
from inweights.worlds import TwoHop

WORLD = TwoHop(n=5, identity=True).build(seed=0)


def test_the_model_has_the_templates_of_the_solution() -> None:
    solution = solve(WORLD)
    model = to_model(solution)
    written = model.templates()[0].double().numpy()[WORLD.inputs]
    np.testing.assert_allclose(written, solution.templates, atol=1e-6)
    seen = margins(model, WORLD)["margin"].to_numpy()
    np.testing.assert_allclose(seen, solution.margins(WORLD.queries), atol=1e-5)


@pytest.mark.parametrize("probe", [accuracy, margins, templates])
def test_any_probe_sees_the_optimum(probe) -> None:
    world = TwoHop(n=4, identity=False).build()
    table = probe(Optimum().learn(world), world)
    assert table["replica"].unique().to_list() == [0]
    assert len(table) > 0
    if probe is accuracy:
        queries = table.filter(pl.col("part") == "queries")
        assert queries["accuracy"].to_list() == [0.0]


def scaled(*factors: float) -> EmbMLP:
    """Return replicas whose templates are those of the optimum, times a factor."""
    one = to_model(solve(WORLD, gap=1e-4))
    width = one.config.width
    model = EmbMLPConfig(width=width).build(
        vocabulary=len(WORLD.vocabulary),
        seeds=range(len(factors)),
        candidates=WORLD.outputs.tolist(),
    )
    with torch.no_grad():
        for replica, factor in enumerate(factors):
            model.tokens.weight[replica] = one.tokens.weight[0] * factor
            model.projection.weight[replica] = one.projection.weight[0]
    return model


def test_direction_ignores_the_scale_and_sees_the_sign() -> None:
    table = direction(scaled(1.0, 7.0, -1.0), WORLD)
    assert table["cosine"].to_list() == pytest.approx([1.0, 1.0, -1.0], abs=1e-5)
    assert table["least_margin"].to_list()[:2] == pytest.approx([1.0, 7.0], abs=1e-4)
    assert table["excess"].to_list()[:2] == pytest.approx([0.0, 0.0], abs=1e-4)
    assert table["query_margin"].to_list()[:2] == pytest.approx(
        table["expected"].to_list()[:2], abs=1e-4
    )
    assert np.isnan(table["excess"][2])  # it has memorised no fact


def test_the_norm_is_that_at_a_least_margin_of_1() -> None:
    table = nuclear_norm(scaled(1.0, 7.0, -1.0), WORLD)
    least = solve(WORLD, gap=1e-4).optimum
    assert table["norm"].to_list()[:2] == pytest.approx([least, least], rel=1e-5)
    assert table["least_margin"].to_list()[:2] == pytest.approx([1.0, 7.0], abs=1e-4)
    assert np.isnan(table["norm"][2])
    gpt = GPTConfig(layers=1, width=8, heads=2).build(
        vocabulary=len(WORLD.vocabulary), seeds=[0]
    )
    with pytest.raises(ConfigError, match="Emb-MLP"):
        nuclear_norm(gpt, WORLD)


@pytest.mark.parametrize(("layers", "readout"), [(1, False), (3, True)])
def test_templates_of_a_linear_network_add_up(layers: int, readout: bool) -> None:
    """The logits are sums of the tokens' rows, so the norms are those of the templates."""
    config = DeepLinearConfig(width=20, layers=layers, readout=readout)
    model = config.build(
        vocabulary=len(WORLD.vocabulary),
        seeds=[0, 1],
        candidates=WORLD.outputs.tolist(),
    )
    prompts = torch.tensor([[0, 4], [3, 3]])
    assert isinstance(model, DeepLinear)
    rows = model.templates()
    assert torch.allclose(model(prompts)[:, :, -1], rows[:, prompts].sum(2), atol=1e-6)
    if layers == 1:
        with torch.no_grad():  # the optimum itself, as one matrix
            optimum = torch.from_numpy(solve(WORLD, gap=1e-4).templates)
            weight = model.get_parameter("layers.0.weight")
            weight[:, WORLD.inputs, : len(WORLD.outputs)] = optimum.float()
        for order in ("nuc", "fro"):
            wanted = float(torch.linalg.matrix_norm(optimum, ord=order))
            norms = nuclear_norm(model, WORLD, order=order)["norm"].to_list()
            assert norms == pytest.approx([wanted, wanted], rel=1e-4)


@pytest.mark.slow
def test_training_turns_towards_the_optimum() -> None:
    """Training approaches the optimum, so identities determine the margins' signs."""
    optimizer = Optimizer(kind="sgd", rate=1.0, weight_decay=0.0)
    for identity, sign in ((True, 1), (False, -1)):
        world = TwoHop(n=5, identity=identity).build(seed=0)
        model = EmbMLPConfig(width=24).build(
            vocabulary=len(world.vocabulary),
            seeds=[0, 1],
            candidates=world.outputs.tolist(),
        )
        watch = Observer("direction", partial(direction, worlds=world), every=1000)
        plan = Curriculum(phases=(Phase(steps=3000, optimizer=optimizer),))
        seen = train(model, world, plan, seeds=[0, 1], observers=[watch]).observed[
            "direction"
        ]
        path = seen.filter(pl.col("replica") == 0).sort("step")["cosine"].to_list()
        assert path[0] < 0.5
        assert path[-1] > 0.9
        last = direction(model, world)
        assert (np.sign(last["query_margin"].to_numpy()) == sign).all()
        assert (last["excess"].to_numpy() > 0).all()


def test_only_sums_have_a_direction() -> None:
    model = GPTConfig(layers=1, width=8, heads=1).build(
        vocabulary=len(WORLD.vocabulary), seeds=[0]
    )
    with pytest.raises(ConfigError, match="additive, got GPT"):
        direction(model, WORLD)
