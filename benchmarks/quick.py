"""Ratios that should not change: ``make bench-quick`` compares them with stored ones.

Both sides of a ratio are measured in turns in this process, so that a slow or busy machine
affects both, and each ratio is the median of its rounds. Ratios that changed by more than
the noise (three times the spread of both, and at least a fifth) are marked. ``--write``
stores the new ratios for later comparisons, in ``results/benchmarks/quick.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from unittest.mock import patch

import polars as pl

import inweights as iw
from inweights.experiments import Measure, Plan
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.grammar.variation.axes import grid
from inweights.models.base import Model
from inweights.runs import environment
from inweights.training import Observer, records
from inweights.training import loop as training_loop
from inweights.training.steps.machine import use_threads

STORED = Path(__file__).parents[1] / "results" / "benchmarks" / "quick.json"
ROUNDS, REPLICAS, STEPS = 7, 16, 40
Pair = tuple[Callable[[], object], Callable[[], object]]


def training(replicas: int, *, watched: bool = False) -> Callable[[], object]:
    """Train a small GPT briefly, measuring its accuracy every ten steps or never."""
    world, learner = (
        iw.TwoHop(n=8).build(),
        iw.Curriculum(phases=(iw.Phase(steps=STEPS),)),
    )
    config = iw.GPTConfig(layers=2, width=32, heads=1)

    def accuracy(model: Model) -> pl.DataFrame:
        return iw.probes.accuracy(model, world)

    observers = [Observer("accuracy", accuracy, 10)] if watched else []

    def run() -> object:
        model = config.build(vocabulary=len(world.vocabulary), seeds=range(replicas))
        return iw.train(
            model, world, learner, seeds=range(replicas), observers=observers
        )

    return run


def without_observers() -> object:
    """Train in the same way with all code for observers removed."""
    with (
        patch.object(training_loop, "telling", lambda *_: nullcontext({})),
        patch.multiple(
            records, notify_step=lambda *_: None, measure_due=lambda *_, **__: None
        ),
    ):
        return training(REPLICAS)()


def alone() -> object:
    one = training(1)
    return [one() for _ in range(REPLICAS)]


def planning() -> object:
    axes = {
        "model.width": range(8, 40),
        "learner.phases.0.optimizer.rate": [0.1, 0.2, 0.3, 0.4],
    }
    trials = grid(iw.TwoHop(n=6), iw.EmbMLPConfig(), iw.Curriculum(), axes)
    plan = Plan(
        trials=trials, measures=[Measure(name="accuracy", probe=iw.probes.accuracy)]
    )
    return tasks_of(expand_plan(plan, range(8)), lambda *_: True)


def loop() -> object:
    """Run a fixed amount of work in the interpreter."""
    return sum(hash((i, str(i))) & 7 for i in range(100_000))


#: Each ratio is the time of the first divided by that of the second; smaller is better.
PAIRS: dict[str, Callable[[], Pair]] = {
    "runs together / one at a time": lambda: (training(REPLICAS), alone),
    "training watched / unwatched": lambda: (
        training(REPLICAS, watched=True),
        training(REPLICAS),
    ),
    "no observers / none of their code": lambda: (
        training(REPLICAS),
        without_observers,
    ),
    "planning 1,024 runs / a fixed loop": lambda: (planning, loop),
}


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def measured(pair: Pair) -> tuple[float, float]:
    """Return the median of the ratio, and half the distance between its quartiles."""
    first, second = pair
    first(), second()  # imports at first use are not measured
    ratios = sorted(seconds(first) / seconds(second) for _ in range(ROUNDS))
    return median(ratios), (ratios[-2] - ratios[1]) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    before = json.loads(STORED.read_text())["ratios"] if STORED.exists() else {}
    found: dict[str, list[float]] = {}
    with use_threads(1):
        for name, pair in PAIRS.items():
            ratio, spread = found[name] = [
                round(value, 4) for value in measured(pair())
            ]
            was, noise = before.get(name, found[name])
            moved = abs(ratio - was) > max(3 * (spread + noise), 0.2 * was)
            mark = ("  WORSE" if ratio > was else "  better") * moved
            print(
                f"{name:36} {ratio:8.3f} ± {spread:.3f}  stored {was:8.3f} ± {noise:.3f}{mark}"
            )
    if given.write:
        content = {"environment": environment(), "ratios": found}
        STORED.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
