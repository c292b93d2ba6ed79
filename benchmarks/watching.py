"""What looking at models costs beside the training that it watches, recipe by recipe.

``python benchmarks/watching.py [RECIPE …]`` plans each recipe at scale ``cpu`` and
tries every group of runs that trains as one program: some steps of each phase, and each
measure once or twice on the trained model. It prints the processor minutes of training
and of looking at the cadence of the recipe, and which measures they go to. Nothing is
stored. Trainings that stop early have fewer of both.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

from inweights.experiments.engine.attempts.blocks import blocks_of
from inweights.experiments.engine.attempts.measuring import measure_model
from inweights.experiments.engine.attempts.together import build_model, first_steps
from inweights.experiments.engine.judging import seeds_to_judge
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask
from inweights.experiments.studies.timed_runs import _seconds
from inweights.recipes import get_recipe
from inweights.runs import environment
from inweights.training import Curriculum, train
from inweights.training.steps.machine import use_threads

RECIPES = (
    "geometric-memory/fig6",
    "geometric-memory/fig23-24",
    "beyond/clearest-before-recall",
    "beyond/rounding",
    "beyond/geometry-disputed",
)
#: Steps of each phase that are tried: the first ones are computed in another way than
#: the others.
STEPS = 16


def tried(task: LearnTask) -> tuple[float, dict[str, float]]:
    """Processor seconds of a group's training, and of looking at it, by measure."""
    looking: dict[str, float] = {}
    training = 0.0
    assert isinstance(task.learner, Curriculum)
    phases = task.learner.phases
    for block in blocks_of(task):
        model, stamps = build_model(block, "cpu"), [time.process_time()]
        short = [first_steps(phase, min(phase.steps, STEPS)) for phase in phases]
        train(
            model,
            block.worlds,
            Curriculum(phases=tuple(short)),
            seeds=[run.seed for run in block.runs],
            every=STEPS * len(short),
            progress=partial(_stamp, stamps),
            keep_diverged=True,
        )
        steps = [later - earlier for earlier, later in pairwise(stamps)]
        for phase, one in zip(phases, short, strict=True):
            own, steps = steps[: one.steps], steps[one.steps :]
            training += phase.steps * median(own[len(own) // 2 :] or [0.0])
        for measure in block.measures:
            times = 1 + task.learner.steps // measure.every if measure.every else 1
            wanted = sum(measure.key in parts for parts in block.parts) / len(
                block.runs
            )
            once = _seconds(
                partial(measure_model, measure, block.worlds, model), time.process_time
            )
            looking[measure.name] = (
                looking.get(measure.name, 0.0) + wanted * times * once
            )
    return training, looking


def _stamp(stamps: list[float], _step: int) -> None:
    stamps.append(time.process_time())


def watched(name: str) -> dict[str, Any]:
    """Minutes of training and of looking in a recipe at its scale ``cpu``."""
    recipe = get_recipe(name)
    settings, seeds, _ = recipe.resolve("cpu", seeds_to_judge(recipe, "cpu"))
    work = expand_plan(recipe.plan(settings), seeds, recipe.version)
    training, looking = 0.0, dict[str, float]()
    for task in tasks_of(work, lambda *_: True):
        if isinstance(task, LearnTask) and isinstance(task.learner, Curriculum):
            own, looks = tried(task)
            training += own
            for measure, spent in looks.items():
                looking[measure] = looking.get(measure, 0.0) + spent
    return {
        "recipe": name,
        "training": training / 60,
        "looking": sum(looking.values()) / 60,
        "share": sum(looking.values()) / training,
        "measures": {measure: spent / 60 for measure, spent in looking.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = []
    with use_threads(1):
        for name in given.recipes:
            row = watched(name)
            rows.append(row)
            if not given.json:
                parts = ", ".join(
                    f"{m} {spent:.2f}" for m, spent in row["measures"].items()
                )
                times = f"training {row['training']:.2f} min, looking {row['looking']:.2f} min"
                print(
                    f"{name}: {times}, {row['share']:.0%} of it ({parts})", flush=True
                )
    if given.json:
        print(json.dumps({"environment": environment(), "recipes": rows}, indent=2))


if __name__ == "__main__":
    main()
