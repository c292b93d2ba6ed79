"""A program that kills runs at random moments, alone and two on one config, and lets them go on.

``python tests/runs/random_kills.py FOLDER RECIPE KILLS [SEED] [JOBS]`` compares the tables of each
run that went on with those of one that nothing disturbed, bit for bit, and prints how many
processes it killed, and in how many trials. Moments are drawn from the first on, beyond the time
that a whole run takes. ``tests/trainings`` is a recipe that trains, with a checkpoint twenty times
a second.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from functools import partial
from pathlib import Path

from tests.forks import end, forked, start
from tests.lab.small import Trainings, recipe, trainings
from tests.runs.kills import publish, resumed
from tests.runs.tiny import RECIPE

from inweights.lab.collect import Effort
from inweights.lab.engine import execute
from inweights.recipes import get_recipe
from inweights.runs import RunStore
from inweights.training.checkpoint import StateFile

TRAINED = recipe("tests/trainings", Trainings(kinds=3, steps=600), trainings, 4)
OURS = {one.name: one for one in (RECIPE, TRAINED)}
#: The second one is this module, so that processes that train keep as many checkpoints.
PLUGINS = ("tests.lab.small", "tests.runs.random_kills")
assert StateFile.__init__.__kwdefaults__
StateFile.__init__.__kwdefaults__["every_seconds"] = 0.05


def main(root: str, name: str, kills: str, seed: str = "0", jobs: str = "1") -> None:
    recipe = OURS.get(name) or get_recipe(name)
    reference = Path(root) / "reference"
    began = time.monotonic()
    effort = Effort(jobs=int(jobs), plugins=PLUGINS)
    whole = partial(execute, recipe, "smoke", publish=publish, effort=effort)
    assert forked(lambda: whole(store=RunStore(reference))) == 0
    usual = time.monotonic() - began
    rng = random.Random(seed)
    killed = trial = 0
    while killed < int(kills):
        trial += 1
        here = Path(root) / str(trial)
        for _ in range(rng.choice((1, 2, 3))):  # a run that goes on may be killed again
            living = [start(partial(whole, store=RunStore(here)))]
            if trial % 2 == 0:
                time.sleep(rng.uniform(0, usual / 4))
                living.append(start(partial(whole, store=RunStore(here))))
            for child in rng.sample(living, len(living)):
                time.sleep(rng.uniform(0, usual))
                os.kill(child, signal.SIGKILL)
            for child in living:
                code = end(child)
                assert code in (0, -signal.SIGKILL), f"a run failed with {code} (trial {trial})"
                killed += code != 0
        again = forked(partial(resumed, recipe, here, "run", "start", reference))
        assert again == 0, f"after kills at random the run does not end as it should ({trial})"
        shutil.rmtree(here)
        sys.stderr.write(f"{killed} processes killed in {trial} trials\n")
    sys.stdout.write(f"{killed} {trial}")


if __name__ == "__main__":
    main(*sys.argv[1:])
