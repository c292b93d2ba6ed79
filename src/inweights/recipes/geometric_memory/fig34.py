"""Figure 34 of Geometric Memory: the reverse path is learnt sooner than the forward one."""

from __future__ import annotations

import polars as pl

from inweights.config import Config
from inweights.lab import Plan, number, share
from inweights.recipes.derived import at_the_end, first_step, whole
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.geometric_memory.common import PAPER
from inweights.worlds.path_star import PathStar

__all__ = ["RECIPE", "Settings"]

FORWARD, REVERSE = "forward path", "reverse path"
KEYS = ["graph", "task", "seed"]


class Settings(Config):
    """Settings of Figure 34.

    Attributes:
        stars: The graphs and how they are learnt.
        every: Steps between two looks.
    """

    stars: tuple[ways.PathStarTraining, ...] = ways.STARS
    every: int = 10


def plan(settings: Settings) -> Plan:
    """The same graph, edges in both directions, and its paths said either way."""
    trials = [
        star.trial({"graph": star.name, "task": task}, task=PathStar(reverse=task == REVERSE))
        for star in settings.stars
        for task in (FORWARD, REVERSE)
    ]
    return Plan(trials=trials, measures=[ways.curves(every=settings.every)])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Curves of held-out and trained paths, their ends, and when half of the paths are right."""
    runs = whole(tables["paths"])
    return {
        "curves": runs,
        "final": at_the_end(runs, KEYS),
        "when": first_step(runs, "exact", KEYS),
    }


state = PAPER.stating("fig34", "Fig. 34 (left), D.1", ways.INTERLEAVED)

exact = share("final", "exact").over("graph")
half = number("when", "first").over("graph")

CLAIMS = (
    state(
        "reverse-is-quicker",
        "Half of the held-out paths are right sooner in reverse (steps, forward minus reverse).",
        half.at(task=FORWARD) - half.at(task=REVERSE) >= 10.0,
    ),
    state(
        "reverse-is-higher",
        "Reverse paths end at least as accurate (exact match, reverse minus forward).",
        exact.at(task=REVERSE) - exact.at(task=FORWARD) >= 0.0,
    ),
    state(
        "reverse-path",
        "The reverse path of held-out leaves is found (exact match).",
        exact.at(task=REVERSE) >= 0.95,
    ),
)

FIGURES = (
    ways.held_out(
        "reverse",
        "curves",
        "Paths from the root and from the leaf",
        "Exact match on held-out leaves, edges in both directions and paths interleaved.",
        series="task",
        facet="graph",
    ),
)

RECIPE = PAPER.recipe(
    "fig34",
    title="From the leaf to the root it is easy",
    place="Figure 34 (left), appendix D.1",
    summary=(
        "Trains a Transformer on the edges of a path-star and on paths from the root to the leaf "
        "or from the leaf to the root, and compares how soon the others are found. The right half "
        "of the figure, the same in context, is in geometric-memory/fig13."
    ),
    scales={
        "smoke": Settings(stars=(ways.MINI,), every=4),
        "cpu": Settings(),
        "paper": Settings(stars=(ways.PAPER_STAR,), every=500),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *ways.unprinted("stars"),
        "every",
        *ways.OURS,
        "Quicker: the first look, every 10 steps, at which half of the paths are right.",
    ),
)
