"""What the path-star recipes share: who trains what, when, and how their tables are read."""

from __future__ import annotations

import msgspec
import polars as pl
import pytest

from inweights.models import GPTConfig, MambaConfig
from inweights.probes.paths import path_accuracy
from inweights.recipes.geometric_memory import paths
from inweights.recipes.geometric_memory.fig12 import learnt
from inweights.recipes.geometric_memory.paths import MINI, Star, at_the_end, first_step, whole
from inweights.training import train
from inweights.training.flat_parameters import FlatParameters

FROZEN = {paths.GEOMETRY, paths.PERMUTED, paths.RANDOM}
WAYS = (
    paths.INTERLEAVED,
    paths.HEAD_START,
    paths.GEOMETRY,
    paths.PERMUTED,
    paths.RANDOM,
    paths.TWO_PHASE,
    paths.ALONE,
)


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
def test_what_moves_and_what_is_told(how: str, architecture: GPTConfig | MambaConfig) -> None:
    trial = msgspec.structs.replace(MINI, model=architecture).trial({}, 3, how=how)
    world, phases = trial.world.build(3), trial.curriculum.phases
    told = [set(phase.roles) for phase in phases]
    assert all(roles <= set(world.facts.role_names) for roles in told)
    # Held-out paths are in no phase; trained ones in the last, but where there are only edges.
    assert ("path" in told[-1]) is (how != paths.ALONE)
    assert all("path" not in roles for roles in told[:-1])
    moved = {role for roles in told for role in roles if role.startswith("moved")}
    assert bool(moved) is (how == paths.PERMUTED)
    flat = FlatParameters(architecture.build(vocabulary=9, seeds=[0]))
    last = {flat.names[place] for place in flat.moving(phases[-1].moves)}
    assert set(flat.names) - last == ({"tokens.weight"} if how in FROZEN else set())


def test_the_first_token_alone_is_asked_for() -> None:
    trial = MINI.trial({}, 0, how=paths.INTERLEAVED, loss=paths.FIRST)
    world = trial.world.build(0)
    _, answers = world.facts.matrix(world.facts.with_role("path"))
    assert answers.shape[1] == 2
    assert trial.curriculum.phases[0].loss == "last"


def test_the_embeddings_stand_still() -> None:
    trials = [MINI.trial({}, seed, how=paths.GEOMETRY) for seed in (0, 1)]
    worlds = [trial.world.build(trial.seed) for trial in trials]
    model = MINI.model.build(vocabulary=len(worlds[0].vocabulary), seeds=[0, 1])
    seen = []
    phases = trials[0].curriculum.phases

    def look(done: int) -> None:
        seen.append((done, model.tokens.weight.detach().clone()))

    train(model, worlds, trials[0].curriculum, seeds=[0, 1], progress=look)
    after = dict(seen)
    assert not after[1].equal(after[phases[0].steps])
    assert after[phases[0].steps].equal(seen[-1][1])


def curve(rows: dict[int, list[float]]) -> pl.DataFrame:
    """Held-out accuracy by place at steps 0, 10, 20."""
    return pl.DataFrame(
        [
            {
                "seed": 0,
                "step": 10 * at,
                "part": "queries",
                "place": place,
                "hardest": place == 1,
                "accuracy": value,
                "exact": 0.25 * at,
                "chance": 0.1,
            }
            for place, values in rows.items()
            for at, value in enumerate(values)
        ]
    )


def test_a_reverse_cascade_is_told_from_its_absence() -> None:
    reverse = {0: [1.0] * 3, 1: [0.0, 0.0, 0.9], 2: [0.0, 0.7, 1.0], 3: [0.6, 1.0, 1.0]}
    table = learnt(curve(reverse), ["seed"])
    assert table["step"].to_list() == [20.0, 10.0, 0.0]
    assert table["order"].unique().to_list() == pytest.approx([-1.0])
    assert table["lead"].unique().to_list() == [-20.0]
    never = learnt(curve({0: [1.0] * 3, 1: [0.0] * 3, 2: [0.0, 0.5, 0.5]}), ["seed"])
    assert never["step"].to_list() == [21.0, 10.0]


def test_how_a_run_ends_and_when_it_succeeds() -> None:
    table = whole(curve({0: [1.0] * 3, 1: [0.0, 0.2, 0.9], 2: [0.0, 0.7, 0.8]}))
    end = at_the_end(table, ["seed"])
    assert end.select("step", "hardest", "exact", "chance").rows() == [(20, 0.9, 0.5, 0.1)]
    assert first_step(table, "hardest", ["seed"])["first"].item() == 20.0
    assert first_step(table, "exact", ["seed"], 0.8)["first"].item() == 21.0


@pytest.mark.slow
def test_a_geometry_finds_paths_that_a_foreign_one_does_not() -> None:
    """(200, 4) at the size of the recipes, one seed: seconds on a quiet core."""
    star = Star(nodes=4)
    found = {}
    for how in (paths.GEOMETRY, paths.PERMUTED):
        trial = star.trial({}, 5, how=how)
        world = trial.world.build(5)
        model = star.model.build(vocabulary=len(world.vocabulary), seeds=[5])
        train(model, world, trial.curriculum, seeds=[5])
        found[how] = whole(path_accuracy(model, world))["hardest"].item()
    assert found[paths.GEOMETRY] >= 0.9
    assert found[paths.PERMUTED] <= 0.06
