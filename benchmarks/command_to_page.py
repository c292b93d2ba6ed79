"""Measure the parts of a command's time: planning, training, measuring, storing, drawing.

``python benchmarks/command_to_page.py [RECIPE …]`` runs each recipe
(``identity-bridge/fig3`` and ``identity-bridge/fig2`` at scale ``cpu``, if none is
named) in a separate process with an empty folder, one task after another. It prints the processor
seconds of each part, and the share of time that is not training. A part is the time within
one of the functions in ``PARTS``, without the time in inner ones.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from inweights.runs import environment

RECIPES = ("identity-bridge/fig3", "identity-bridge/fig2")
#: Parts of the time: module, and a function or method in it, by the name of the call.
PARTS = {
    "planning": (
        "experiments.engine.collect:expand_plan",
        "experiments.engine.collect:tasks_of",
    ),
    "training": ("experiments.engine.attempts.task:train_block",),
    "measuring": (
        "experiments.engine.attempts.measuring:measure_wanted",
        "experiments.engine.attempts.task:_derive",
    ),
    "storing": (
        "experiments.engine.attempts.measuring:store_by_run",
        "experiments.engine.collect:_assemble",
    ),
    "judging": ("experiments.engine.engine:judge_all",),
    "drawing": ("report.pages.page:publish",),
}


class Clock:
    """Clock of processor seconds by part; time is assigned to the innermost part."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {"start": time.process_time()}
        self._inside, self._since = ["other"], time.process_time()

    def turn(self) -> None:
        """Assign the elapsed time to the current part."""
        now = time.process_time()
        part = self._inside[-1]
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now

    def of(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(*given: Any, **named: Any) -> Any:
            self.turn()
            self._inside.append(part)
            try:
                return function(*given, **named)
            finally:
                self.turn()
                self._inside.pop()

        return timed

    def watch(self) -> None:
        for part, places in PARTS.items():
            for place in places:
                module, name = place.split(":")
                home = importlib.import_module(f"inweights.{module}")
                setattr(home, name, self.of(part, getattr(home, name)))


def profile(recipe: str, scale: str) -> dict[str, Any]:
    """Run a recipe in this process, and return the processor seconds of each part."""
    from inweights.cli import main

    clock = Clock()
    clock.watch()
    clock.turn()
    clock.seconds["imports"] = clock.seconds.pop("other")
    with tempfile.TemporaryDirectory() as folder:
        words = [
            "run",
            recipe,
            "--scale",
            scale,
            "--jobs",
            "1",
            "--runs",
            folder,
            "--json",
        ]
        main(words)
        clock.turn()
        began = time.process_time()
        main(words)
        again = time.process_time() - began
    whole = sum(clock.seconds.values())
    return {
        "recipe": recipe,
        "scale": scale,
        "seconds": {part: round(spent, 3) for part, spent in clock.seconds.items()},
        "whole": round(whole, 3),
        "not training": round(1 - clock.seconds.get("training", 0.0) / whole, 4),
        "watching by training": round(
            clock.seconds.get("measuring", 0.0)
            / max(1e-9, clock.seconds.get("training", 0.0)),
            4,
        ),
        "read back": round(again, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--scale", default="cpu")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--one", action="store_true", help="the last line is JSON of one recipe"
    )
    given = parser.parse_args()
    if given.one:
        print(json.dumps(profile(given.recipes[0], given.scale)))
        return
    results = []
    for recipe in given.recipes:
        command = [sys.executable, __file__, recipe, "--scale", given.scale, "--one"]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
        results.append(json.loads(said.stdout.splitlines()[-1]))
    if given.json:
        print(json.dumps({"environment": environment(), "recipes": results}, indent=2))
        return
    for one in results:
        parts = ", ".join(
            f"{part} {spent:.2f}" for part, spent in one["seconds"].items()
        )
        print(
            f"{one['recipe']} at {one['scale']}: {one['whole']:.1f} s of the processor: {parts}"
        )
        print(
            f"  not training {one['not training']:.1%}; measures take "
            f"{one['watching by training']:.1%} of training; read back in {one['read back']:.2f} s"
        )


if __name__ == "__main__":
    main()
