"""Figure 34 of Geometric Memory: the reverse path is learnt sooner than the forward one."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes.paths import path_accuracy
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import PAPER, SOURCE
from inweights.recipes.geometric_memory.paths import (
    MINI,
    OURS,
    PAPER_STAR,
    Star,
    at_the_end,
    first_step,
    whole,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig34"
FORWARD, REVERSE = "forward path", "reverse path"
KEYS = ["graph", "task", "seed"]


class Settings(Config):
    """Settings of Figure 34.

    Attributes:
        stars: The graphs and how they are learnt.
        every: Steps between two looks.
    """

    stars: tuple[Star, ...] = (Star(nodes=4), Star(nodes=5))
    every: int = 10


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """The same graph, edges in both directions, and its paths said either way."""
    trials = [
        star.trial({"graph": star.name, "task": task}, seed, reverse=task == REVERSE)
        for star in settings.stars
        for task in (FORWARD, REVERSE)
        for seed in seeds
    ]
    return Plan(
        trials=trials,
        measures=[Measure(name="paths", probe=path_accuracy, every=settings.every)],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Curves of held-out and trained paths, their ends, and when half of the paths are right."""
    runs = whole(tables["paths"])
    return {
        "curves": runs,
        "final": at_the_end(runs, KEYS),
        "when": first_step(runs, "exact", KEYS),
    }


state = Statement(NAME, source=SOURCE, place="Fig. 34 (left), D.1")
GRAPH = ("graph",)

CLAIMS = (
    state(
        "reverse-is-quicker",
        "Half of the held-out paths are right sooner in reverse (steps, forward minus reverse).",
        Target(least=10.0),
        table="when",
        column="first",
        where={"task": FORWARD},
        minus={"task": REVERSE},
        each=GRAPH,
    ),
    state(
        "reverse-is-higher",
        "Reverse paths end at least as accurate (exact match, reverse minus forward).",
        Target(least=0.0),
        table="final",
        column="exact",
        where={"task": REVERSE},
        minus={"task": FORWARD},
        each=GRAPH,
    ),
    state(
        "reverse-path",
        "The reverse path of held-out leaves is found (exact match).",
        Target(least=0.95),
        table="final",
        column="exact",
        where={"task": REVERSE},
        each=GRAPH,
    ),
)

FIGURES = (
    Figure(
        id="reverse",
        kind="lines",
        title="Paths from the root and from the leaf",
        caption="Exact match on held-out leaves, edges in both directions and paths interleaved.",
        sources=("curves",),
        options={
            "x": "step",
            "y": "exact",
            "series": "task",
            "facet": "graph",
            "y_limits": [0, 1],
            "y_label": "exact match, held out",
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="From the leaf to the root it is easy",
    paper=PAPER,
    place="Figure 34 (left), appendix D.1",
    summary=(
        "Trains a Transformer on the edges of a path-star and on paths from the root to the leaf "
        "or from the leaf to the root, and compares how soon the others are found. The right half "
        "of the figure, the same in context, is in geometric-memory/fig13."
    ),
    scales={
        "smoke": Settings(stars=(MINI,), every=4),
        "cpu": Settings(),
        "paper": Settings(stars=(PAPER_STAR,), every=500),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(*OURS, "Quicker: the first look, every 10 steps, at which half of the paths are right."),
)
