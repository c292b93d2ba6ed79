"""Reading paths: exact matches equal token-by-token decoding; leaves and first nodes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch

from inweights.errors import ConfigError, DataError
from inweights.models import GPTConfig
from inweights.probes import arm_cosines, navigation, path_accuracy, stepwise
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import PathStar, Statements, TwoHop, Vocabulary, World

WORLDS = [PathStar(arms=8, nodes=4).build(seed) for seed in (0, 1)]
OF_PATHS = (arm_cosines, navigation, path_accuracy, stepwise)


@pytest.fixture(scope="module")
def trained() -> object:
    model = GPTConfig(layers=1, width=16, context=8).build(
        vocabulary=len(WORLDS[0].vocabulary), seeds=[0, 1]
    )
    phase = Phase(
        roles={"path": 1.0}, steps=60, loss="answer", optimizer=Optimizer(rate=5e-3)
    )
    train(model, WORLDS, Curriculum(phases=(phase,)), seeds=[0, 1])
    return model


def test_exact_is_what_greedy_decoding_gets_right(trained) -> None:
    table = path_accuracy(trained, WORLDS)
    for part in ("facts", "queries"):
        for replica, world in enumerate(WORLDS):
            statements = getattr(world, part)
            prompts, answers = statements.matrix(statements.with_role("path"))
            said = torch.from_numpy(prompts)
            for _ in range(answers.shape[1]):
                step = trained(said)[replica, :, -1].argmax(-1, keepdim=True)
                said = torch.cat([said, step], dim=1)
            right = (said[:, prompts.shape[1] :].numpy() == answers).all(1).mean()
            found = table.filter(part=part, replica=replica)["exact"].unique().item()
            assert found == pytest.approx(right)
    exact = table.filter(part="facts")["exact"]
    assert exact.to_numpy().min() > 0  # so that the results are not trivial


def test_each_replica_has_the_chance_of_its_own_world() -> None:
    """Two worlds of the same shape; in the second, all answers of a path are equal."""
    words = Vocabulary({"node": [f"n{i}" for i in range(6)]})
    worlds = [
        World(
            name="paths",
            vocabulary=words,
            facts=Statements.build({"path": ([[0], [1], [2]], answers)}),
            queries=Statements.build({}),
        )
        for answers in ([[3, 0], [4, 0], [5, 1]], [[3, 0], [3, 1], [3, 2]])
    ]
    model = GPTConfig(layers=1, width=8).build(vocabulary=6, seeds=[0, 1])
    table = path_accuracy(model, worlds, parts=["facts"])
    assert table.filter(replica=0)["chance"].to_list() == pytest.approx([1 / 3, 1 / 2])
    assert table.filter(replica=1)["chance"].to_list() == pytest.approx([1.0, 1 / 3])


def test_cosines_of_leaves_and_first_nodes(trained) -> None:
    table = arm_cosines(trained, WORLDS, part="facts", arms=3).filter(replica=0)
    assert table.filter(pl.col("own"))["first"].to_list() == [1, 2, 3]
    vectors = trained.tokens.weight[0, :25].detach().double()
    vectors = vectors - vectors.mean(0)
    lines = WORLDS[0].facts.matrix(WORLDS[0].facts.with_role("path"))[1]
    expected = torch.cosine_similarity(
        vectors[lines[1, -1]], vectors[lines[2, 1]], dim=0
    )
    assert table.filter(leaf=2, first=3)["cosine"].item() == pytest.approx(
        expected.item()
    )


@pytest.mark.parametrize("probe", OF_PATHS, ids=lambda p: p.__name__)
def test_contract(probe) -> None:
    """Every replica has rows about its own world, which are the same alone and in a group."""
    config = GPTConfig(layers=1, width=16, context=8)
    model, alone = (
        config.build(vocabulary=len(WORLDS[0].vocabulary), seeds=seeds)
        for seeds in ([3, 4], [4])
    )
    before = [p.detach().clone() for p in model.parameters()]
    table = probe(model, WORLDS)
    assert table["replica"].unique().sort().to_list() == [0, 1]
    assert all(
        torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)
    )
    one = table.filter(pl.col("replica") == 1).drop("replica")
    single = probe(alone, WORLDS[1]).drop("replica")
    assert one.columns == single.columns
    for column in one.columns:
        if one[column].dtype == pl.Float64:
            np.testing.assert_allclose(one[column], single[column], atol=1e-5)
        else:
            assert one[column].to_list() == single[column].to_list()


@pytest.mark.parametrize(
    "probe", [arm_cosines, navigation, path_accuracy], ids=lambda p: p.__name__
)
def test_a_world_without_paths_is_refused(probe) -> None:
    world = TwoHop(n=4).build()
    model = GPTConfig(layers=1, width=16).build(
        vocabulary=len(world.vocabulary), seeds=[0]
    )
    with pytest.raises(DataError):
        probe(model, world)


@pytest.mark.parametrize(
    ("probe", "options"),
    [
        (path_accuracy, {"parts": ["trained"]}),
        (arm_cosines, {"part": "trained"}),
        (arm_cosines, {"arms": 0}),
    ],
)
def test_an_unknown_part_and_no_arms_are_refused(probe, options) -> None:
    model = GPTConfig(layers=1, width=8).build(
        vocabulary=len(WORLDS[0].vocabulary), seeds=[0]
    )
    with pytest.raises(ConfigError):
        probe(model, WORLDS[0], **options)
