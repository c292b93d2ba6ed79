"""Write the records of the catalogue of recipes, as a part of ``make records``.

The records are ``index.jsonl``, ``protocols.json`` and ``minutes.json``.

``python -m tests.house.catalogue`` writes the first two; with names of recipes, or
``all``, it also estimates their minutes. It runs a few steps of each training and a few
of the other tasks, so that this takes minutes and not days, and measures processor time,
so that other programs do not count. For recipes with a pretrained model it takes the
seconds of a stored run, which should be one with ``--jobs 1`` on an idle machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from inweights.actions import find
from inweights.actions.making import recipe_for
from inweights.experiments.engine.attempts.task import run_task
from inweights.experiments.engine.judging import seeds_to_judge
from inweights.experiments.engine.plan import Work, expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask
from inweights.experiments.grammar.recipe import Recipe
from inweights.experiments.studies.cost import may_stop
from inweights.experiments.studies.timed_runs import time_runs
from inweights.recipes import get_recipe, is_built_in, recipe_names
from inweights.recipes.catalogue import index, protocols
from inweights.recipes.catalogue.minutes import FILE, Timing, pace, timings
from inweights.recipes.catalogue.settings import extras
from inweights.runs.tables.store import Store
from inweights.support.progress import shown
from inweights.training.learners.kinds import Curriculum
from inweights.training.steps.machine import use_threads

HERE = Path(index.__file__).parent
#: Processor seconds that are spent on timing the trainings of a recipe, and as many on
#: its other tasks.
SPENT = 20.0


def built_in() -> list[str]:
    return [name for name in recipe_names() if is_built_in(name)]


def current() -> bytes:
    """Return the content of the index, computed from the recipes."""
    return b"".join(
        msgspec.json.encode(index.read_entry(name)) + b"\n" for name in built_in()
    )


def current_protocols() -> bytes:
    """Return the content of ``protocols.json``, computed from recipes and their papers."""
    found = {name: protocols.beside_paper(get_recipe(name)) for name in built_in()}
    kept = {name: one for name, one in found.items() if one}
    return msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n"


def plan_of(recipe: Recipe) -> Work:
    """Return the runs of a recipe at scale ``cpu``, with the seeds of its verdicts."""
    stated = recipe_for(recipe, "cpu")
    settings, seeds, _ = stated.resolve("cpu", seeds_to_judge(stated, "cpu"))
    return expand_plan(stated.plan(settings), seeds, stated.version)


def shared_runs(before: Sequence[Work], own: Work) -> set[str]:
    """Return keys of runs that need no training if earlier recipes stored their weights."""
    trained: dict[str, set[str]] = {}
    for work in before:
        for key, parts in work.parts.items():
            trained.setdefault(key, set()).update(parts)
    shared = set()
    for key in own.runs.keys() & trained.keys():
        left = [one for part, one in own.parts[key].items() if part not in trained[key]]
        if all(measure and not measure.every for measure in left):
            shared.add(key)
    return shared


def estimate(recipe: Recipe, before: Sequence[Work] = ()) -> Timing:
    """Return an estimate of the processor minutes of a recipe at scale ``cpu``.

    Args:
        recipe: The recipe.
        before: Runs of the recipes that come before it in the list.
    """
    slow = pace()
    work = plan_of(recipe)
    shared = shared_runs(before, work)
    with TemporaryDirectory() as folder, use_threads(1):
        store = Store(folder)
        tasks = tasks_of(work, lambda *_: True, "cpu")
        descents = []
        others = []
        for task in tasks:
            if isinstance(task, LearnTask) and isinstance(task.learner, Curriculum):
                descents.append(task)
            else:
                others.append(task)
        timed = time_runs([one for one in descents if one.steps], "cpu", budget=SPENT)
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
    minutes = (timed.seconds + took * share) / 60
    again = 0.0
    for task, seconds in zip(timed.tasks, timed.each, strict=True):
        again += seconds * sum(run.key in shared for run in task.runs) / len(task.runs)
    return Timing(
        recipe.version,
        round(minutes, 3),
        any(map(may_stop, descents)),
        round((slow + pace()) / 2, 3),
        round(again / 60, 3),
    )


def write_minutes(names: list[str]) -> None:
    file = HERE / FILE
    known = timings() if file.exists() else {}
    chosen = [get_recipe(name) for name in (built_in() if names == ["all"] else names)]
    works = {name: plan_of(get_recipe(name)) for name in built_in()} if names else {}
    with shown(True) as progress:
        for done, recipe in enumerate(chosen):
            if progress:
                progress(done, len(chosen), recipe.name)
            if not extras(recipe.scales["cpu"]):
                before = [*works.values()][: [*works].index(recipe.name)]
                known[recipe.name] = estimate(recipe, before)
            # Minutes with a pretrained model cannot be estimated from a few tasks.
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
