"""The plans of the scale ``paper`` perform their first step on the simulated accelerator.

All settings are those of the paper except the numbers of steps, blocks and facts.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace
from tests.accelerator.shared import DEVICE, accelerator, both

import inweights as iw
from inweights.experiments import Trial
from inweights.experiments.studies.part_steps import part_of
from inweights.recipes import get_recipe
from inweights.training import Curriculum, train
from inweights.worlds.families.analogy import AnalogicalTwoHop, Analogy
from inweights.worlds.families.in_context import InContextStar
from inweights.worlds.families.path_star import PathStar

__all__ = ["accelerator"]

RECIPES = (
    *(
        f"geometric-memory/{name}"
        for name in ("fig3", "fig13", "fig14-15", "fig16", "fig33", "fig34", "fig35")
    ),
    "geometric-memory/fig36",
    *(f"feature-resemblance/{name}" for name in ("table1", "table3", "table4")),
    "identity-bridge/fig2",
    "identity-bridge/fig2-every",
)
#: Sizes that are reduced, by the kind of the world.
FEWER: dict[type, dict[str, int]] = {
    PathStar: {"arms": 12},
    InContextStar: {"trained": 24, "asked": 8},
    Analogy: {"n": 8},
    AnalogicalTwoHop: {"n": 8},
    iw.TwoHop: {"n": 8},
}


@cache
def trials() -> dict[str, Trial]:
    """Return the trial with the most phases for each recipe and kind of model."""
    found: dict[str, Trial] = {}
    for name in RECIPES:
        recipe = get_recipe(name)
        for trial in recipe.plan(recipe.scales["paper"]).trials:
            assert isinstance(trial.learner, Curriculum)
            kind = f"{name}, {type(trial.model).__name__}"
            if phases_of(trial) > phases_of(found.get(kind)):
                found[kind] = trial
    return found


def phases_of(trial: Trial | None) -> int:
    assert trial is None or isinstance(trial.learner, Curriculum)
    return len(trial.learner.phases) if trial else 0


def shrunk(trial: Trial) -> Trial:
    """Return the trial with one block, few facts and one step per phase."""
    whole: Any = trial.world
    world: Any = replace(whole, **FEWER[type(whole)])
    built = world.build(0)
    assert isinstance(trial.learner, Curriculum)
    phases = [
        replace(part_of(phase, built, 1.0), steps=1) for phase in trial.learner.phases
    ]
    model: Any = trial.model
    if hasattr(model, "layers"):
        model = replace(model, layers=1)
    learner = Curriculum(phases=tuple(phases))
    return dataclasses.replace(trial, world=world, model=model, learner=learner)


@pytest.mark.parametrize("name", trials())
def test_a_plan_of_a_paper_takes_its_first_step(name: str) -> None:
    trial = shrunk(trials()[name])
    assert isinstance(trial.learner, Curriculum)
    assert trial.model is not None
    world = trial.world.build(0)
    losses = []
    for device in ("cpu", DEVICE):
        model = trial.model.build(vocabulary=len(world.vocabulary), seeds=1)
        trained = train(model.to(device), [world], trial.learner, seeds=[0], every=1)
        losses.append(trained.losses)
    assert losses[0]["loss"].is_finite().all()
    low = any(phase.precision != "fp32" for phase in trial.learner.phases)
    here, there = (table.filter(step=0) for table in losses)
    both(here, there, 2**-6 if low else 1e-4)


def test_every_recipe_has_a_training() -> None:
    assert {name.partition(",")[0] for name in trials()} == set(RECIPES)
