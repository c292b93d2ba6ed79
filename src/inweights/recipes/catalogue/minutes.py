"""How long recipes take: processor minutes at their scale ``cpu``, all seeds, nothing stored.

``minutes.json`` is written by ``python -m inweights.recipes.catalogue.minutes``, or, for some
recipes alone, by the same with their names. A few steps of each training and a few of the other
tasks are tried out, so that the whole takes minutes and not days; processor time, so that what else
the machine does is not counted. A test holds its versions to those of the recipes. What a run takes
on one's own machine is said by ``inweights run RECIPE --dry-run``.
"""

from __future__ import annotations

import sys
import time
from functools import lru_cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from inweights.support.progress import roughly, shown

if TYPE_CHECKING:
    from inweights.lab.grammar.recipe import Recipe

_FILE = "minutes.json"
#: Processor seconds that are spent on trying trainings of a recipe, and on its other tasks.
_SPENT = 20.0
#: How often the pace is tried, and how often a try does its work: some hundredths of a second.
_PACES, _CALLS = 8, 20
#: Pace of the machine of timings that do not say theirs: 43 recipes were timed again on another
#: one, and this is the median.
_PACE = 16.2


class Timing(msgspec.Struct, frozen=True):
    """How long a recipe takes.

    Attributes:
        version: That of the recipe that was tried.
        minutes: Of one processor, at scale ``cpu``.
        most: Whether it may be less, as trainings end when they have learnt.
        pace: :func:`pace` of the machine at that time.
    """

    version: int
    minutes: float
    most: bool = False
    pace: float = _PACE

    def here(self, pace: float) -> float:
        """Return the minutes on a machine of another pace.

        Example:
            >>> Timing(version=1, minutes=10.0, pace=2.0).here(3.0)
            15.0
        """
        return self.minutes * pace / self.pace


@lru_cache(maxsize=1)
def timings() -> dict[str, Timing]:
    """Return what is known of the built-in recipes, by name."""
    text = resources.files("inweights.recipes.catalogue").joinpath(_FILE).read_bytes()
    return msgspec.json.decode(text, type=dict[str, Timing])


def minutes_of(name: str) -> float | None:
    """Return the processor minutes of a recipe; ``None`` where they are not known.

    Example:
        >>> minutes_of("mine/rings") is None
        True
    """
    known = timings().get(name)
    return known.minutes if known else None


def cost_of(name: str) -> str:
    """Return what a recipe takes at scale ``cpu``, in words; "" where it is not known.

    Example:
        >>> cost_of("mine/rings")
        ''
    """
    known = timings().get(name)
    if known is None:
        return ""
    return f"{'at most' if known.most else 'about'} {roughly(60 * known.minutes)} on one core"


def pace() -> float:
    """Return how slow this machine is: processor milliseconds of fixed work, one thread.

    The work is that of a small block in plain tensor operations, so that it changes with the
    machine and not with this library; the least of some tries, as other work here only adds.
    """
    import torch

    from inweights.lab.engine.task import use_threads

    x, up = torch.full((24, 32, 64), 0.01), torch.full((24, 64, 256), 0.01)
    down = up.mT.contiguous()
    spent = []
    with use_threads(1), torch.no_grad():
        for _ in range(_PACES):
            began = time.process_time()
            for _ in range(_CALLS):
                torch.nn.functional.gelu(x @ up) @ down + x
            spent.append(time.process_time() - began)
    return round(1000 * min(spent), 3)


def estimate(recipe: Recipe) -> Timing:
    """Return about how many processor minutes a recipe takes at scale ``cpu``."""
    import numpy as np

    from inweights.lab.engine.outcome import seeds_to_judge
    from inweights.lab.engine.plan import LearnTask, asked_of, tasks_of
    from inweights.lab.engine.task import use_threads, work_on
    from inweights.lab.studies.cost import forecast
    from inweights.runs.tables.store import Store
    from inweights.training.learner import Curriculum

    settings, seeds, _ = recipe.resolve("cpu", seeds_to_judge(recipe, "cpu"))
    plan = recipe.plan(settings)
    before = pace()
    with TemporaryDirectory() as folder, use_threads(1):
        store = Store(folder)
        ahead = forecast(plan, seeds, store, version=recipe.version, budget=_SPENT)
        tasks = tasks_of(asked_of(plan, seeds, recipe.version), lambda *_: True, "cpu")
        others = [
            task
            for task in tasks
            if not (isinstance(task, LearnTask) and isinstance(task.learner, Curriculum))
        ]
        took = done = 0.0
        for place in np.random.default_rng(0).permutation(len(others)):
            task = others[place]
            if took > _SPENT:
                break
            began = time.process_time()
            work_on(task, store, "cpu", lambda _: None)
            took += time.process_time() - began
            done += max(1, task.steps)
    share = sum(max(1, task.steps) for task in others) / max(1, done)
    minutes = (ahead.minutes or 0.0) + took * share / 60
    around = round((before + pace()) / 2, 3)
    return Timing(recipe.version, round(minutes, 3), ahead.stops, around)


def _write(names: list[str]) -> None:
    from inweights.recipes import get_recipe, is_built_in, recipe_names
    from inweights.recipes.catalogue.settings import extras

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
            known[recipe.name] = estimate(recipe)
            kept = {name: known[name] for name in built_in if name in known}
            file.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")


if __name__ == "__main__":
    _write(sys.argv[1:])
