"""Kill runs at random times, alone and two with one config, and resume them.

``python tests/runs/random_kills.py FOLDER RECIPE KILLS [SEED] [JOBS] [MOMENT…]``
checks that the tables of each resumed run are bitwise equal to those of an undisturbed
run, and prints how many processes it killed, in how many trials, and at which stage.
Moments are drawn in three ways, or in the given ones: in the ``first`` second, at ``any``
time of a whole run, and in the ``sealing``, before one of the operations on files that
publish the run. ``tests/trainings`` is a recipe that trains, with a checkpoint twenty
times a second. ``fine-tuning`` also trains, but is not a recipe.
"""

from __future__ import annotations

import importlib
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import msgspec
from tests.experiments.small import Trainings, recipe, trainings
from tests.forks import end, forked, start
from tests.runs.edits import EXAMPLES, TUNE
from tests.runs.kills import STOPPED, arm, publish, resumed
from tests.runs.tiny import RECIPE

from inweights.errors import DataError
from inweights.experiments import Recipe
from inweights.experiments.engine.engine import execute
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.outcome import Outcome
from inweights.lm.tuning.job import finetune_to
from inweights.lm.tuning.tuning import finetune
from inweights.recipes import get_recipe
from inweights.runs import RunStore
from inweights.training.checkpoint import StateFile

TRAINED = recipe("tests/trainings", Trainings(kinds=3, steps=600), trainings, 4)
OURS = {one.name: one for one in (RECIPE, TRAINED)}
MOMENTS = ("first", "any", "sealing")
#: Number of operations on files that publish a run.
OPERATIONS = 5
#: The second one is this module, so that training processes write as many checkpoints.
PLUGINS = ("tests.experiments.small", "tests.runs.random_kills")
assert StateFile.__init__.__kwdefaults__
StateFile.__init__.__kwdefaults__["every_seconds"] = 0.05
assert finetune.__kwdefaults__
finetune.__kwdefaults__["every_seconds"] = 0.05
TUNED = msgspec.structs.replace(TUNE, epochs=20)
#: Modules that fine-tuning imports late, imported here so that forks need not do so.
LATE = ("accelerate", "torch._dynamo", "transformers.models.llama.modeling_llama")


class Trial:
    """Runs of one recipe in one folder, and the moments at which they are killed.

    Args:
        recipe: Name of the recipe.
        here: The folder.
        jobs: Number of parallel processes.
    """

    def __init__(self, recipe: Recipe, here: Path, jobs: int) -> None:
        self.recipe, self.here = recipe, here
        self.effort = ExecutionOptions(jobs=jobs, plugins=PLUGINS)
        self.sealing = here.with_name(f"{here.name}.sealing")

    def begin(self, operation: int = 0) -> int:
        """Start a run, which is killed before an operation of its sealing if one is given."""
        return start(partial(self.run, operation))

    def run(self, operation: int = 0) -> None:
        def last(outcome: Outcome, work: Path) -> None:
            publish(outcome, work)
            self.sealing.touch()
            if operation:
                arm(operation, "kill")

        execute(
            self.recipe,
            "smoke",
            store=RunStore(self.here),
            execution=self.effort,
            publish=last,
        )

    def again(self, reference: Path) -> None:
        """Resume the run, and compare its results with those of an undisturbed run."""
        resumed(self.recipe, self.here, "run", "start", reference)

    def where(self) -> str:
        """Return how far the run is according to the files on the disk."""
        folders = list((self.here / self.recipe.name).glob("*"))
        if any(
            (place / "manifest.json").exists() for place in folders if not place.suffix
        ):
            return "after it was published"
        if self.sealing.exists():
            return "while it was sealed"
        return "at work" if folders else "before it began"


class Tuning(Trial):
    """Fine-tuning runs of a tiny model; a second one in the same folder is refused."""

    def run(self, operation: int = 0) -> None:
        def told(step: int, total: int, _what: str) -> None:
            if step == total:
                self.sealing.touch()
                if operation:
                    arm(operation, "kill")

        try:
            finetune_to(self.here / "model", "@tiny", EXAMPLES, TUNED, progress=told)
        except DataError:
            os._exit(STOPPED)

    def again(self, reference: Path) -> None:
        if not (self.here / "model").exists():
            finetune_to(self.here / "model", "@tiny", EXAMPLES, TUNED)
        mine, other = (
            place / "model" / "model.safetensors" for place in (self.here, reference)
        )
        assert mine.read_bytes() == other.read_bytes()
        assert [path.name for path in self.here.iterdir()] == ["model"], list(
            self.here.iterdir()
        )

    def where(self) -> str:
        if (self.here / "model").exists():
            return "after it was published"
        return (
            "at work"
            if (self.here / "model.state").exists()
            else "before it had a state"
        )


def main(
    root: str, name: str, kills: str, seed: str = "0", jobs: str = "1", *moments: str
) -> None:
    kind = Tuning if name == "fine-tuning" else Trial
    for module in LATE if kind is Tuning else ():
        importlib.import_module(module)
    recipe = RECIPE if kind is Tuning else OURS.get(name) or get_recipe(name)
    reference = Path(root) / "reference"
    began = time.monotonic()
    assert forked(kind(recipe, reference, int(jobs)).run) == 0
    whole = time.monotonic() - began
    rng = random.Random(seed)
    killed = trial = 0
    places: Counter[str] = Counter()
    while killed < int(kills):
        trial += 1
        one = kind(recipe, Path(root) / str(trial), int(jobs))
        for _ in range(rng.choice((1, 2, 3))):  # a resumed run may be killed again
            one.sealing.unlink(missing_ok=True)
            moment = rng.choice(moments or MOMENTS)
            before = rng.randint(1, OPERATIONS) if moment == "sealing" else 0
            living = [one.begin(before)]
            if trial % 2 == 0:
                time.sleep(rng.uniform(0, whole / 4))
                living.append(one.begin(before and rng.randint(1, OPERATIONS)))
            for child in rng.sample(living, len(living)):
                if not before:
                    time.sleep(
                        rng.uniform(0, min(1.0, whole) if moment == "first" else whole)
                    )
                    os.kill(child, signal.SIGKILL)
                code = end(child)
                where = "before an operation of its sealing" if before else one.where()
                where = (
                    f"{'two on one config' if len(living) > 1 else 'alone'}, {where}"
                )
                ends = (0, -signal.SIGKILL, *((STOPPED,) if kind is Tuning else ()))
                assert code in ends, f"a run failed with {code} (trial {trial})"
                killed += code == -signal.SIGKILL
                places[where] += code == -signal.SIGKILL
        assert forked(partial(one.again, reference)) == 0, (
            f"after kills at random the run does not end as it should ({trial})"
        )
        shutil.rmtree(one.here)
        sys.stderr.write(f"{killed} processes killed in {trial} trials\n")
    sys.stdout.write(f"{killed} {trial}\n")
    for where, count in sorted(places.items()):
        sys.stdout.write(f"{count:4} {where}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
