"""Named learners have the recipes' settings and are the defaults of their families."""

from __future__ import annotations

import polars as pl
import pytest

import inweights as iw
from inweights.experiments.studies.sweep_object import Study
from inweights.models.configs import MambaConfig, Node2VecConfig, TinyNNConfig
from inweights.recipes.geometric_memory.common import training
from inweights.recipes.geometric_memory.paths import PathStarTraining
from inweights.recipes.identity_bridge.common import EmbMLPTraining, GPTTraining
from inweights.training import learners
from inweights.worlds import (
    AnalogicalTwoHop,
    Analogy,
    Graph,
    Hops,
    InContextStar,
    PathStar,
    Reversal,
)
from inweights.worlds.registry import Altered

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

GPT = iw.GPTConfig(layers=1, width=32)


def test_named_learners_are_those_of_the_recipes() -> None:
    assert learners.two_hop(128).phases == (GPTTraining().phase,)
    assert learners.two_hop_mlp() == EmbMLPTraining().curriculum
    assert learners.edges() == training("TinyGPT", "grid").learner
    assert learners.path_star() == PathStarTraining().curriculum("interleaved")


@pytest.mark.parametrize(
    ("world", "model", "named"),
    [
        (iw.TwoHop(n=3), GPT, learners.two_hop(32)),
        (Altered(of=iw.TwoHop(n=3), shuffled=True), GPT, learners.two_hop(32)),
        (
            iw.TwoHop(n=3),
            MambaConfig(width=16),
            learners.two_hop(16, random_offset=False),
        ),
        (iw.TwoHop(n=3), iw.EmbMLPConfig(), learners.two_hop_mlp()),
        (iw.TwoHop(n=3), TinyNNConfig(), iw.Curriculum()),
        (Graph(), GPT, learners.edges()),
        (Graph(), Node2VecConfig(), learners.edges(falls=False)),
        (Analogy(n=4), GPT, learners.analogy()),
        (InContextStar(trained=9, asked=3), GPT, learners.in_context_star()),
    ],
)
def test_the_default_is_that_of_the_family(world, model, named) -> None:
    assert learners.named_for(world, model) == named
    assert learners.named_for(world.build(0), model) == named


@pytest.mark.parametrize(
    ("world", "layers"),
    [(Hops(n=3), 4), (Reversal(n=3), 4), (Graph(), 2), (PathStar(arms=3), 2)],
)
def test_the_default_model_is_that_of_the_family(world, layers) -> None:
    """Facts of chains and pairs are also called edges, but are trained as facts."""
    (trial,) = Study(world).trials
    assert (trial.model.layers, trial.model.tied) == (layers, layers == 2)


@pytest.mark.parametrize(
    "world", [AnalogicalTwoHop(n=4, identity=False), PathStar(arms=3)]
)
def test_every_role_that_a_default_names_is_a_fact(world) -> None:
    (phase,) = learners.named_for(world, GPT).phases
    assert phase.roles
    assert set(phase.roles) == set(world.build(0).facts.role_names)


def test_the_rate_follows_the_width_and_over_changes_the_named_learner() -> None:
    steps = "learner.phases.0.steps"
    over = {"model.width": [16, 64], steps: [5, 9]}
    trials = Study(iw.TwoHop(n=3), iw.GPTConfig(layers=1), over=over).trials
    rates = [(t.labels["width"], t.learner.phases[0].optimizer.rate) for t in trials]
    assert rates == [(16, 0.004), (16, 0.004), (64, 0.001), (64, 0.001)]
    assert [t.learner.phases[0].steps for t in trials] == [5, 9, 5, 9]
    assert all(t.learner.phases[0].random_offset for t in trials)


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(iw.ConfigError, match="width must be at least 1, got 0"):
        learners.two_hop(width=0)
    with pytest.raises(iw.ConfigError, match=r"optimum\.gap must be .* below 1, got 1"):
        iw.Optimum(gap=1)


def test_training_takes_the_named_learner() -> None:
    world = iw.TwoHop(n=3).build()
    losses = []
    for given in ((), (learners.two_hop(32, steps=280),)):
        model = GPT.build(vocabulary=len(world.vocabulary), seeds=1)
        losses.append(iw.train(model, world, *given, seeds=1).losses)
    assert losses[0].equals(losses[1])


@pytest.mark.slow
def test_depth_decides_and_defaults_do_not_hide_it(tmp_path) -> None:
    """A sweep of depth and width without a learner shows the effect of depth."""
    table = iw.sweep(
        iw.TwoHop(n=10),
        iw.GPTConfig(tied=False),
        over={"model.layers": [1, 4], "model.width": [32, 64]},
        seeds=2,
        runs=tmp_path,
        progress=False,
    )
    composed = (
        table.filter(role="composition").group_by("layers").agg(pl.mean("accuracy"))
    )
    means = dict(composed.rows())
    assert means[4] > 0.75
    assert means[1] < 0.5
