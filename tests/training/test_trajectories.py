"""Short runs: their stored loss curves, the steps of records, and what they learn.

A change of numbers fails these tests, so it has to be intended:

``pytest tests/training/test_trajectories.py --update-trajectories`` rewrites the curves.
Afterwards describe in ``CHANGELOG.md``, under "Numbers that changed", what changed and why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.rounding import of_training
from tests.training.curricula import WORLD, build, curriculum

from inweights.models import EmbMLPConfig, GPTConfig
from inweights.probes import accuracy
from inweights.training import Curriculum, Observer, Optimizer, Phase, Schedule, train
from inweights.worlds import TwoHop

#: A decay so large that a different convention would exceed rounding errors.
ADAMW = Optimizer(weight_decay=3.0)
STORED = Path(__file__).parent / "trajectories"

RUNS = {
    "gpt-full-batch": (
        GPTConfig(layers=2, width=16, tied=False),
        Phase(
            steps=30,
            optimizer=ADAMW,
            random_offset=True,
            schedule=Schedule(kind="cosine"),
        ),
    ),
    "gpt-tied-minibatch": (
        GPTConfig(layers=1, width=16),
        Phase(steps=30, optimizer=ADAMW, batch=6),
    ),
    "emb-mlp-descent": (
        EmbMLPConfig(width=16),
        Phase(steps=60, optimizer=Optimizer(kind="sgd", rate=1.0, weight_decay=0.0)),
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_loss_curve_is_the_stored_one(
    name: str, request: pytest.FixtureRequest
) -> None:
    config: Any
    config, phase = RUNS[name]
    world = TwoHop(n=5, complexity=2).build(seed=0)
    model = config.build(
        vocabulary=len(world.vocabulary),
        seeds=[0, 1],
        candidates=world.outputs.tolist(),
    )
    result = train(model, world, Curriculum(phases=(phase,)), seeds=[0, 1], every=5)
    curves = [result.losses.filter(replica=r)["loss"].to_list() for r in (0, 1)]
    file = STORED / f"{name}.json"
    if request.config.getoption("--update-trajectories"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(
            json.dumps([[round(x, 6) for x in c] for c in curves], indent=1) + "\n"
        )
        pytest.skip(f"wrote {file.name}; run again without --update-trajectories")
    near = of_training(model, len(world.facts), phase.steps)
    stored = json.loads(file.read_text())
    for curve, expected in zip(curves, stored, strict=True):
        assert curve == pytest.approx(expected, rel=near)
        assert curve[-1] < curve[0]


def test_observers_see_start_cadence_and_end() -> None:
    observers = [Observer("recall", lambda m: accuracy(m, WORLD), every=5)]
    result = train(build(), WORLD, curriculum(), seeds=[0, 1, 2], observers=observers)
    assert result.observed["recall"]["step"].unique().sort().to_list() == [0, 5, 10, 12]


def test_losses_are_recorded_by_the_step_of_the_whole_training() -> None:
    """Records are at steps of the whole run, so an odd phase does not shift later ones."""
    phases = (Phase(name="first", steps=3), Phase(name="second", steps=4))
    result = train(build(), WORLD, Curriculum(phases=phases), seeds=[0, 1, 2], every=2)
    recorded = result.losses.filter(replica=1).select("phase", "step").rows()
    assert recorded == [("first", 0), ("first", 2), ("second", 4), ("second", 6)]


def test_emb_mlp_learns_the_bridge() -> None:
    """Identities decide whether Emb-MLP composes, as the theory predicts for the limit."""
    descent = Optimizer(kind="sgd", rate=1.0, weight_decay=0.0)
    for identity in (True, False):
        world = TwoHop(n=6, identity=identity).build()
        model = EmbMLPConfig().build(
            vocabulary=len(world.vocabulary),
            seeds=[0, 1, 2],
            candidates=world.outputs.tolist(),
        )
        train(model, world, curriculum(steps=1500, optimizer=descent), seeds=[0, 1, 2])
        answered = (
            accuracy(model, world).filter(role="composition")["accuracy"].to_list()
        )
        assert answered == [float(identity)] * 3
