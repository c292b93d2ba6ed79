"""``make records``: what the catalogue of recipes keeps.

That is ``index.jsonl``, ``protocols.json`` and ``minutes.json``.

``python -m tests.house.catalogue`` writes the index; with names of recipes, or ``all``,
it also estimates their minutes. A few steps of each training and a few of the other
tasks are tried out, so that the whole takes minutes and not days; processor time, so
that what else the machine does is not counted. Of recipes with a pretrained model it
takes the seconds of a run that is stored here, which should be one with ``--jobs 1`` on
a quiet machine.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from inweights.actions import find
from inweights.experiments.engine.attempts.task import run_task
from inweights.experiments.engine.judging import seeds_to_judge
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask
from inweights.experiments.grammar.recipe import Recipe
from inweights.experiments.studies.cost import forecast
from inweights.recipes import get_recipe, is_built_in, recipe_names
from inweights.recipes.catalogue import index, protocols
from inweights.recipes.catalogue.minutes import FILE, Timing, pace, timings
from inweights.recipes.catalogue.settings import extras
from inweights.runs.tables.store import Store
from inweights.support.progress import shown
from inweights.training.learners.kinds import Curriculum
from inweights.training.steps.machine import use_threads

HERE = Path(index.__file__).parent
#: Processor seconds that are spent on trying trainings of a recipe, and on its other
#: tasks.
SPENT = 20.0


def built_in() -> list[str]:
    return [name for name in recipe_names() if is_built_in(name)]


def current() -> bytes:
    """What the index has to hold, by the recipes as they are."""
    return b"".join(
        msgspec.json.encode(index.read_entry(name)) + b"\n" for name in built_in()
    )


def current_protocols() -> bytes:
    """What is stored of how near recipes are to their papers, as it is computed now."""
    found = {name: protocols.beside_paper(get_recipe(name)) for name in built_in()}
    kept = {name: one for name, one in found.items() if one}
    return msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n"


def estimate(recipe: Recipe) -> Timing:
    """Return about how many processor minutes a recipe takes at scale ``cpu``."""
    settings, seeds, _ = recipe.resolve("cpu", seeds_to_judge(recipe, "cpu"))
    plan = recipe.plan(settings)
    before = pace()
    with TemporaryDirectory() as folder, use_threads(1):
        store = Store(folder)
        ahead = forecast(plan, seeds, store, version=recipe.version, budget=SPENT)
        tasks = tasks_of(
            expand_plan(plan, seeds, recipe.version), lambda *_: True, "cpu"
        )
        others = [
            task
            for task in tasks
            if not (
                isinstance(task, LearnTask) and isinstance(task.learner, Curriculum)
            )
        ]
        took = done = 0.0
        for place in np.random.default_rng(0).permutation(len(others)):
            task = others[place]
            if took > SPENT:
                break
            began = time.process_time()
            run_task(task, store, "cpu", lambda _: None)
            took += time.process_time() - began
            done += max(1, task.steps)
    share = sum(max(1, task.steps) for task in others) / max(1, done)
    minutes = (ahead.minutes or 0.0) + took * share / 60
    around = round((before + pace()) / 2, 3)
    return Timing(recipe.version, round(minutes, 3), ahead.stops, around)


def write_minutes(names: list[str]) -> None:
    file = HERE / FILE
    known = timings() if file.exists() else {}
    chosen = [get_recipe(name) for name in (built_in() if names == ["all"] else names)]
    with shown(True) as progress:
        for done, recipe in enumerate(chosen):
            if progress:
                progress(done, len(chosen), recipe.name)
            if not extras(recipe.scales["cpu"]):
                known[recipe.name] = estimate(recipe)
            # A pretrained model's cannot be guessed from a piece.
            elif ran := find(recipe.name):
                known[recipe.name] = Timing(
                    recipe.version, round(ran.seconds / 60, 3), False, round(pace(), 3)
                )
            kept = {name: known[name] for name in built_in() if name in known}
            file.write_bytes(
                msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n"
            )


if __name__ == "__main__":
    (HERE / index.FILE).write_bytes(current())
    (HERE / protocols.FILE).write_bytes(current_protocols())
    write_minutes(sys.argv[1:])
