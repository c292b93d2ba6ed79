"""A program that kills runs at random moments, alone and two on one config, and lets them go on.

``python tests/runs/random_kills.py FOLDER RECIPE KILLS [SEED] [JOBS]`` compares the tables of each
run that went on with those of one that nothing disturbed, bit for bit, and prints how many
processes it killed, in how many trials, and where they were. Moments are drawn in three ways: in
the first second, up to the time that a whole run takes, and while the run is sealed.
``tests/trainings`` is a recipe that trains, with a checkpoint twenty times a second.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

from tests.forks import end, forked, lives, start
from tests.lab.small import Trainings, recipe, trainings
from tests.runs.kills import publish, resumed
from tests.runs.tiny import RECIPE

from inweights.lab import Recipe
from inweights.lab.collect import Effort
from inweights.lab.engine import Outcome, execute
from inweights.recipes import get_recipe
from inweights.runs import RunStore
from inweights.training.checkpoint import StateFile

TRAINED = recipe("tests/trainings", Trainings(kinds=3, steps=600), trainings, 4)
OURS = {one.name: one for one in (RECIPE, TRAINED)}
#: The second one is this module, so that processes that train keep as many checkpoints.
PLUGINS = ("tests.lab.small", "tests.runs.random_kills")
assert StateFile.__init__.__kwdefaults__
StateFile.__init__.__kwdefaults__["every_seconds"] = 0.05


class Trial:
    """Runs of one recipe in one place, and when they are killed.

    Args:
        recipe: What runs.
        here: The place.
        jobs: Processes that train side by side.
        times: Seconds that a run takes that nothing disturbs, and of these the sealing.
    """

    def __init__(self, recipe: Recipe, here: Path, jobs: int, times: tuple[float, float]) -> None:
        self.recipe, self.here, self.times = recipe, here, times
        self.effort = Effort(jobs=jobs, plugins=PLUGINS)
        self.sealing = here.with_name(f"{here.name}.sealing")

    def begin(self) -> int:
        return start(self.run)

    def run(self) -> None:
        execute(
            self.recipe, "smoke", store=RunStore(self.here), effort=self.effort, publish=self.last
        )

    def last(self, outcome: Outcome, work: Path) -> None:
        """Say that the sealing begins."""
        publish(outcome, work)
        self.sealing.touch()

    def wait(self, rng: random.Random, whose: int) -> None:
        """Wait for a moment to kill in."""
        whole, sealing = self.times
        how = rng.choice(("first second", "any", "sealing"))
        if how == "sealing":
            until = time.monotonic() + 2 * whole
            while not self.sealing.exists() and time.monotonic() < until and lives(whose):
                time.sleep(0.0005)
            time.sleep(rng.uniform(0, sealing))
        else:
            time.sleep(rng.uniform(0, min(1.0, whole) if how == "first second" else whole))

    def where(self) -> str:
        """How far the run is, by what is on the disk."""
        folders = list((self.here / self.recipe.name).glob("*"))
        if any((place / "manifest.json").exists() for place in folders if not place.suffix):
            return "after it was published"
        if self.sealing.exists():
            return "while it was sealed"
        return "at work" if folders else "before it began"


def main(root: str, name: str, kills: str, seed: str = "0", jobs: str = "1") -> None:
    recipe = OURS.get(name) or get_recipe(name)
    reference = Path(root) / "reference"
    began = time.monotonic()
    undisturbed = Trial(recipe, reference, int(jobs), (0.0, 0.0))
    assert forked(undisturbed.run) == 0
    sealing = time.time() - undisturbed.sealing.stat().st_mtime
    times = time.monotonic() - began, sealing
    rng = random.Random(seed)
    killed = trial = 0
    places: Counter[str] = Counter()
    while killed < int(kills):
        trial += 1
        one = Trial(recipe, Path(root) / str(trial), int(jobs), times)
        for _ in range(rng.choice((1, 2, 3))):  # a run that goes on may be killed again
            one.sealing.unlink(missing_ok=True)
            living = [one.begin()]
            if trial % 2 == 0:
                time.sleep(rng.uniform(0, times[0] / 4))
                living.append(one.begin())
            for child in rng.sample(living, len(living)):
                one.wait(rng, child)
                os.kill(child, signal.SIGKILL)
                where = f"{'two on one config' if len(living) > 1 else 'alone'}, {one.where()}"
                code = end(child)
                assert code in (0, -signal.SIGKILL), f"a run failed with {code} (trial {trial})"
                killed += code != 0
                places[where] += code != 0
        again = forked(partial(resumed, recipe, one.here, "run", "start", reference))
        assert again == 0, f"after kills at random the run does not end as it should ({trial})"
        shutil.rmtree(one.here)
        sys.stderr.write(f"{killed} processes killed in {trial} trials\n")
    sys.stdout.write(f"{killed} {trial}\n")
    for where, count in sorted(places.items()):
        sys.stdout.write(f"{count:4} {where}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
