"""Probes of descents in closed form, and of models without their self-edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from inweights.errors import ConfigError, DataError
from inweights.models import EmbMLPConfig, Node2VecConfig
from inweights.models.configs.model_config import Init
from inweights.probes import graph_recall, hop_correlation, zigzag
from inweights.probes.dynamics import along_descent, off_descent
from inweights.probes.geometry.reference_graph import without_self_edges
from inweights.theory.feature_resemblance.stabilisation import propositions
from inweights.theory.geometric_memory.graph import adjacency
from inweights.theory.geometric_memory.node2vec import descend
from inweights.training import Descent, train
from inweights.training.curriculum import Curriculum, Optimizer, Phase
from inweights.worlds import Graph, TwoHop

STAR = Graph(shape="path-star")
SMALL = Node2VecConfig(width=20)


def of_descent(
    config: Graph, probe, *, seed: int, model, every: int = 0, **options
) -> pl.DataFrame:
    how: dict[str, Any] = {
        key: options.pop(key) for key in ("rate", "steps") if key in options
    }
    world = config.build(seed)
    return Descent(**how).observe(probe, world, model, seed, every=every, **options)


@pytest.mark.parametrize("tied", [True, False])
def test_a_descent_starts_from_the_model_of_its_seed(tied: bool) -> None:
    config = Node2VecConfig(width=20, tied=tied, init=Init(std=0.3))
    world = STAR.build(3)
    model = config.build(vocabulary=17, seeds=[3])
    start = model.tokens.weight.detach().double().numpy()
    head = None if model.head is None else model.head.weight.detach().double().numpy()
    expected = descend(start, adjacency(world), rate=0.02, steps=30, targets=head)
    found = Descent(rate=0.02, steps=30).trajectory(world, config, 3)
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    assert found.losses == pytest.approx(expected.losses)
    other = Descent(rate=0.02, steps=30).trajectory(STAR.build(4), config, 4)
    assert np.abs(other.vectors - found.vectors).max() > 0.01


@pytest.mark.parametrize("tied", [True, False])
def test_a_probe_sees_the_end_of_the_descent(tied: bool) -> None:
    """Recall also uses the targets; its loss equals the closed form for every node."""
    config = Node2VecConfig(width=20, tied=tied)
    ring = Graph(shape="cycle")
    seen = of_descent(ring, graph_recall, seed=1, model=config, steps=400)
    run = Descent(steps=400).trajectory(ring.build(1), config, 1)
    assert seen["loss"].item() == pytest.approx(run.losses[-1].item() / 15, abs=1e-5)
    assert "replica" not in seen.columns


def test_a_probe_on_the_way_sees_each_moment() -> None:
    options: dict[str, Any] = {"seed": 0, "model": SMALL, "draws": 5}
    table = of_descent(STAR, hop_correlation, steps=90, every=30, **options)
    assert table["step"].to_list() == [0, 30, 60, 90]
    for step in (30, 90):
        alone = of_descent(STAR, hop_correlation, steps=step, **options)
        assert table.filter(step=step)["spearman"].item() == alone["spearman"].item()
    assert table["spearman"].n_unique() == 4
    uneven = of_descent(STAR, hop_correlation, steps=70, every=30, **options)
    assert uneven["step"].to_list() == [0, 30, 60, 70]
    untied = Node2VecConfig(tied=False)
    with pytest.raises(ConfigError, match="only at the end of the descent"):
        of_descent(STAR, hop_correlation, seed=0, model=untied, steps=90, every=30)


def test_what_a_trajectory_tells_goes_with_its_graph() -> None:
    how: dict[str, Any] = {
        "descent": Descent(steps=20),
        "seed": 0,
        "model": SMALL,
        "record": [0, 5],
    }
    table = along_descent(world=STAR, look=propositions, **how)
    assert table["step"].to_list() == [0, 5, 20]


def test_autograd_is_the_closed_form() -> None:
    worlds = [Graph(shape="cycle", n=7).build(seed) for seed in (0, 1)]
    model = SMALL.build(vocabulary=7, seeds=[0, 1])
    optimizer = Optimizer(kind="sgd", rate=0.02 * 7, weight_decay=0.0)
    curriculum = Curriculum(phases=(Phase(steps=100, optimizer=optimizer),))
    before = off_descent(model, worlds, rate=0.02, steps=100)
    train(model, worlds, [curriculum] * 2, seeds=[0, 1])
    after = off_descent(model, worlds, rate=0.02, steps=100)
    assert after["distance"].to_numpy().max() < 1e-4
    assert before["distance"].to_list() == pytest.approx(
        before["travelled"].to_list(), rel=1e-5
    )
    assert before["distance"].to_numpy().min() > 0.1
    assert (
        off_descent(model, worlds, rate=0.04, steps=100)["distance"].to_numpy().min()
        > 1e-3
    )


def test_replicas_of_equal_graphs_have_initial_embeddings_of_their_own() -> None:
    worlds = [Graph(shape="cycle", n=7, shuffled=False).build(seed) for seed in (0, 1)]
    model = SMALL.build(vocabulary=7, seeds=[0, 1])
    found = off_descent(model, worlds, rate=0.02, steps=5)
    assert found["replica"].to_list() == [0, 1]
    # Without training, each replica has the initial values of its own descent.
    assert found["distance"].to_list() == pytest.approx(
        found["travelled"].to_list(), rel=1e-5
    )


def test_the_closed_form_is_compared_where_it_holds() -> None:
    world = STAR.build(0)
    with pytest.raises(DataError, match="whose nodes all have the same degree"):
        off_descent(SMALL.build(vocabulary=17, seeds=[0]), world, rate=0.01, steps=1)
    untied = Node2VecConfig(tied=False).build(vocabulary=17, seeds=[0])
    with pytest.raises(ConfigError, match="tied Node2Vec"):
        off_descent(untied, world, rate=0.01, steps=1)


def test_self_edges_are_left_out_and_nothing_else() -> None:
    seeds = [0, 1]
    model = SMALL.build(vocabulary=17, seeds=seeds)
    plain = [STAR.build(seed) for seed in seeds]
    looped = [Graph(shape="path-star", self_edges=True).build(seed) for seed in seeds]
    expected = zigzag(model, plain)
    assert without_self_edges(model, looped, inner=zigzag).equals(expected)
    assert without_self_edges(model, plain, inner=zigzag).equals(expected)
    assert not zigzag(model, looped).equals(expected)
    assert isinstance(expected, pl.DataFrame)
    world = TwoHop(n=3).build()
    other = EmbMLPConfig().build(
        vocabulary=11, seeds=[0], candidates=world.outputs.tolist()
    )
    with pytest.raises(DataError, match="is not a graph"):
        without_self_edges(other, world, inner=zigzag)
