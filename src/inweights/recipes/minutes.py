"""How long recipes take: processor minutes at their scale ``cpu``, all seeds, nothing stored.

``minutes.json`` is written by ``python -m inweights.recipes.minutes``, or, for some recipes alone,
by the same with their names. A few steps of each training and a few of the other tasks are tried
out, so that the whole takes minutes and not days; processor time, so that what else the machine
does is not counted. A test holds its versions to those of the recipes. What a run takes on one's
own machine is said by ``inweights run RECIPE --dry-run``.
"""

from __future__ import annotations

import sys
import time
from functools import lru_cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from inweights.lab.recipe import Recipe
from inweights.progress import shown

__all__ = ["Timing", "estimate", "minutes_of", "timings"]

_FILE = "minutes.json"
#: Tasks that are no training by gradients of which each recipe's are judged.
_TRIED = 3


class Timing(msgspec.Struct, frozen=True):
    """How long a recipe takes.

    Attributes:
        version: That of the recipe that was tried.
        minutes: Of one processor, at scale ``cpu``.
    """

    version: int
    minutes: float


@lru_cache(maxsize=1)
def timings() -> dict[str, Timing]:
    """Return what is known of the built-in recipes, by name."""
    text = resources.files("inweights.recipes").joinpath(_FILE).read_bytes()
    return msgspec.json.decode(text, type=dict[str, Timing])


def minutes_of(name: str) -> float | None:
    """Return the processor minutes of a recipe; ``None`` where they are not known.

    Example:
        >>> minutes_of("mine/rings") is None
        True
    """
    known = timings().get(name)
    return known.minutes if known else None


def estimate(recipe: Recipe) -> float:
    """Return about how many processor minutes a recipe takes at scale ``cpu``."""
    from inweights.lab.forecast import forecast
    from inweights.lab.plan import LearnTask, asked_of, tasks_of
    from inweights.lab.store import Store
    from inweights.lab.task import use_threads, work_on
    from inweights.training.learner import Curriculum

    settings, seeds, _ = recipe.resolve("cpu")
    plan = recipe.plan(settings)
    with TemporaryDirectory() as folder, use_threads(1):
        store = Store(folder)
        ahead = forecast(plan, seeds, store, version=recipe.version)
        tasks = tasks_of(asked_of(plan, seeds, recipe.version), lambda *_: True, "cpu")
        others = [
            task
            for task in tasks
            if not (isinstance(task, LearnTask) and isinstance(task.learner, Curriculum))
        ]
        tried = others[:: -(-len(others) // _TRIED)] if others else []
        began = time.process_time()
        for task in tried:
            work_on(task, store, "cpu", lambda _: None)
        took = time.process_time() - began
    share = sum(max(1, task.steps) for task in others) / max(1, sum(max(1, t.steps) for t in tried))
    return (ahead.minutes or 0.0) + took * share / 60


def _write(names: list[str]) -> None:
    from inweights.lab.describe import extras
    from inweights.recipes import get_recipe, is_built_in, recipe_names

    file = Path(__file__).with_name(_FILE)
    known = timings() if file.exists() else {}
    built_in = [name for name in recipe_names() if is_built_in(name)]
    chosen = [get_recipe(name) for name in names or built_in]
    with shown(True) as progress:
        for done, recipe in enumerate(chosen):
            if progress:
                progress(done, len(chosen), recipe.name)
            if extras(recipe.scales["cpu"]):
                continue  # what a pretrained model takes cannot be guessed from a piece of it
            known[recipe.name] = Timing(recipe.version, round(estimate(recipe), 3))
            kept = {name: known[name] for name in built_in if name in known}
            file.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")


if __name__ == "__main__":
    _write(sys.argv[1:])
