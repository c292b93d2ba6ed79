"""Shared parts of the path-star recipes: which parameters are trained in which phase."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from torch import Tensor

from inweights.config import apply_overrides, identity
from inweights.experiments import Curriculum, Trial
from inweights.models import GPTConfig, MambaConfig
from inweights.probes.paths.path_accuracy import path_accuracy
from inweights.recipes.beyond import geometry_first
from inweights.recipes.geometric_memory import paths
from inweights.recipes.geometric_memory.paths import MINI, PathStarTraining, Way
from inweights.recipes.shared.derived_paths import whole
from inweights.training import train
from inweights.training.steps.flat_parameters import FlatParameters

FROZEN = {paths.GEOMETRY, paths.PERMUTED, paths.RANDOM}
WAYS = get_args(Way)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    "architecture",
    [
        MINI.model,
        GPTConfig(layers=1, width=8, heads=1, positions="sinusoidal", tied=False),
        MambaConfig(layers=1, width=8),
    ],
    ids=["gpt", "untied", "mamba"],
)
def test_what_moves_and_what_is_told(
    how: Way, architecture: GPTConfig | MambaConfig
) -> None:
    trial = msgspec.structs.replace(MINI, model=architecture).trial({}, how=how)
    world, phases = trial.world.build(3), trial.learner.phases
    told = [set(phase.roles) for phase in phases]
    assert all(roles <= set(world.facts.role_names) for roles in told)
    # Held-out paths are in no phase; trained ones are in the last, unless there are only
    # edges.
    assert ("path" in told[-1]) is (how != paths.ALONE)
    assert all("path" not in roles for roles in told[:-1])
    moved = {role for roles in told for role in roles if role.startswith("moved")}
    assert bool(moved) is (how == paths.PERMUTED)
    flat = FlatParameters(architecture.build(vocabulary=9, seeds=[0]))
    last = {
        flat.names[place] for place in flat.moving(phases[-1].moves, phases[-1].freezes)
    }
    assert set(flat.names) - last == ({"tokens.weight"} if how in FROZEN else set())


def test_the_first_token_alone_is_asked_for() -> None:
    trial = MINI.trial({}, how=paths.INTERLEAVED, loss=paths.FIRST)
    world = trial.world.build(0)
    _, answers = world.facts.matrix(world.facts.with_role("path"))
    assert answers.shape[1] == 2
    assert trial.learner.phases[0].loss == "last"


def test_edges_are_rehearsed_beside_paths() -> None:
    star = msgspec.structs.replace(MINI, sources=5, rehearsed=3)
    batches = [phase.batch for phase in star.curriculum(paths.GEOMETRY).phases]
    assert batches == [{"edge+reverse_edge": 5}, {"edge+reverse_edge": 3, "path": 4}]
    as_many = msgspec.structs.replace(star, rehearsed=0).curriculum(paths.HEAD_START)
    assert as_many.phases[1].batch == {"edge+reverse_edge": 5, "path": 4}
    (together,) = star.curriculum(paths.INTERLEAVED).phases
    assert together.batch == {"edge+reverse_edge": 5, "path": 4}
    assert "rehearsed" not in identity(MINI)


def test_controls_have_to_memorise_without_a_geometry() -> None:
    size = geometry_first.Size(course=MINI, controls=20, scatter=0.3)
    trials: Any = geometry_first.plan(geometry_first.Settings(sizes=(size,))).trials
    about = {
        trial.labels["embeddings"]: (
            [phase.steps for phase in trial.learner.phases],
            trial.model.init.std,
            trial.world.moved,
        )
        for trial in trials
    }
    assert about == {
        paths.GEOMETRY: ([MINI.edges, MINI.paths], 0.02, False),
        paths.PERMUTED: ([MINI.edges, 20], 0.02, True),
        paths.RANDOM: ([20], 0.3, False),
    }


def test_pressure_is_on_edges_that_are_learnt_alone() -> None:
    star = msgspec.structs.replace(MINI, pressure=3.0, settle=7, task_tokens=False)
    told = {
        how: [
            (phase.optimizer.weight_decay, phase.steps)
            for phase in star.curriculum(how).phases
        ]
        for how in (paths.GEOMETRY, paths.ALONE, paths.INTERLEAVED)
    }
    assert told == {
        paths.GEOMETRY: [(3.0, MINI.edges), (0.1, 7), (0.1, MINI.paths)],
        paths.ALONE: [(3.0, MINI.edges), (0.1, 7)],
        paths.INTERLEAVED: [(0.1, MINI.together)],
    }
    assert {"pressure", "settle"} <= set(identity(star))
    assert not {"pressure", "settle", "task_tokens"} & set(
        identity(msgspec.structs.replace(MINI, task_tokens=False))
    )


def test_the_papers_recipes_say_which_task_it_is() -> None:
    for how in WAYS:
        world = MINI.trial({}, how=how).world.build(0)
        assert world.vocabulary.text(world.queries.prompt(0)).split()[0] == "<path>"
        assert all(
            world.vocabulary.text(world.facts.prompt(int(i))).split()[0] == "<edge>"
            for i in world.facts.with_role("edge")
        )


def test_the_embeddings_stand_still() -> None:
    trial = MINI.trial({}, how=paths.GEOMETRY)
    worlds = [trial.world.build(seed) for seed in (0, 1)]
    model = MINI.model.build(vocabulary=len(worlds[0].vocabulary), seeds=[0, 1])
    seen = []
    phases = trial.learner.phases

    def look(done: int) -> None:
        seen.append((done, model.tokens.weight.detach().clone()))

    assert isinstance(trial.learner, Curriculum)
    train(model, worlds, trial.learner, seeds=[0, 1], progress=look)
    after = dict(seen)
    assert not after[1].equal(after[phases[0].steps])
    assert after[phases[0].steps].equal(seen[-1][1])


@pytest.mark.parametrize("change", ["tied=false", 'positions="sinusoidal"'])
def test_other_models_can_be_frozen(change: str) -> None:
    """An untied head is trained in the last phase; positions need not be parameters."""
    star = apply_overrides(MINI, [f"model.{change}"])
    trial = msgspec.structs.replace(star, settle=4).trial({}, how=paths.GEOMETRY)
    phases, (before, after) = trial.learner.phases, ends(trial)
    assert [phase.freezes for phase in phases] == [(), (), ("tokens.*",)]
    moved = {name for name in before if not before[name].equal(after[name])}
    assert set(before) - moved == {"tokens.weight"}
    assert ("head.weight" in moved) == ("tied" in change)


def ends(trial: Trial) -> list[dict[str, Tensor]]:
    """Return the parameters before and after the last phase of a trial."""
    assert trial.model is not None
    assert isinstance(trial.learner, Curriculum)
    world = trial.world.build(0)
    found = []
    for phases in (trial.learner.phases[:-1], trial.learner.phases):
        model = trial.model.build(vocabulary=len(world.vocabulary), seeds=[0])
        train(model, world, Curriculum(phases=phases), seeds=[0])
        found.append({name: p.detach().clone() for name, p in model.named_parameters()})
    return found


@pytest.mark.slow
def test_a_geometry_finds_paths_that_a_foreign_one_does_not() -> None:
    """The path-star (200, 4) at the size of the recipes, with one seed; takes seconds."""
    star = PathStarTraining(nodes=4)
    found = {}
    for how in (paths.GEOMETRY, paths.PERMUTED):
        trial = star.trial({}, how=how)
        world = trial.world.build(5)
        model = star.model.build(vocabulary=len(world.vocabulary), seeds=[5])
        assert isinstance(trial.learner, Curriculum)
        train(model, world, trial.learner, seeds=[5])
        found[how] = whole(path_accuracy(model, world))["hardest"].item()
    assert found[paths.GEOMETRY] >= 0.9
    assert found[paths.PERMUTED] <= 0.06
