"""Recipes of many small tasks, in a module that worker processes import."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from inweights.config import Config
from inweights.experiments import SCALES, Computation, Measure, Plan, Recipe, Trial
from inweights.models import EmbMLPConfig
from inweights.models.base import Model
from inweights.probes import accuracy
from inweights.training import Curriculum, Optimizer, Phase
from inweights.worlds import TwoHop


class Draws(Config):
    """Settings of a recipe of many draws."""

    seconds: float = 0.0
    poison: int = -1


def draw(seconds: float, poison: int, seed: int) -> pl.DataFrame:
    if seed == poison:
        raise ArithmeticError("seed of trouble")
    time.sleep(seconds)
    return pl.DataFrame({"x": np.random.default_rng(seed).random(3)})


def draws(settings: Draws) -> Plan:
    options = {"seconds": settings.seconds, "poison": settings.poison}
    one = Computation(name="x", labels={}, compute=draw, options=options, seeded=True)
    return Plan(computations=[one])


class Trainings(Config):
    """Settings of a recipe of training runs."""

    steps: int = 20
    width: int = 32
    hungry: bool = False
    kinds: int = 1
    rate: float = 1.0
    phases: int = 1
    tickets: str = ""


def hungry(model: Model, worlds: object, limit: int = 1) -> pl.DataFrame:
    """Require more memory than any machine has if there are more replicas than the limit."""
    np.empty(max(0, model.replicas - limit) * 2**50, dtype=np.uint8)
    return pl.DataFrame({"replica": range(model.replicas)})


def patient(model: Model, worlds: object, tickets: str) -> pl.DataFrame:
    """Wait, as a probe, until one of the tickets in a folder is available.

    While it waits, there is a file ``waits-<its process>`` next to the folder.
    """
    here = Path(tickets)
    mark = here.with_name(f"waits-{os.getpid()}")
    mark.touch()
    while not any(map(_taken, here.iterdir())):
        time.sleep(0.02)
    mark.unlink()
    return pl.DataFrame({"replica": range(model.replicas)})


def _taken(ticket: Path) -> bool:
    try:
        ticket.unlink()
    except FileNotFoundError:
        return False
    return True


def trainings(settings: Trainings) -> Plan:
    descent = Optimizer(kind="sgd", rate=settings.rate, weight_decay=0.0)
    phases = (
        Phase(name=str(i), steps=settings.steps, optimizer=descent)
        for i in range(settings.phases)
    )
    curriculum = Curriculum(phases=tuple(phases))
    trials = [
        Trial(
            labels={"n": 4 + kind},
            world=TwoHop(n=4 + kind),
            model=EmbMLPConfig(width=settings.width),
            learner=curriculum,
        )
        for kind in range(settings.kinds)
    ]
    measures = [Measure(name="accuracy", probe=accuracy)]
    if settings.hungry:
        measures.append(Measure(name="hungry", probe=hungry))
    if settings.tickets:
        options = {"tickets": settings.tickets}
        measures.append(Measure(name="patient", probe=patient, options=options))
    return Plan(trials=trials, measures=measures)


def recipe(
    name: str, settings: Config, plan: Callable[[Any], Plan], seeds: int
) -> Recipe:
    return Recipe(
        name=name,
        title="Small tasks",
        paper="inweights",
        place="tests",
        summary="Small tasks.",
        scales=dict.fromkeys(SCALES, settings),
        seeds=dict.fromkeys(SCALES, seeds),
        plan=plan,
    )


DRAWS = recipe("tests/draws", Draws(), draws, 200)
TRAININGS = recipe("tests/trainings", Trainings(), trainings, 6)
