"""Figure 33 of Geometric Memory: which directions of the edges a path needs."""

from __future__ import annotations

from functools import partial
from typing import Literal

import polars as pl

from inweights.config import Config
from inweights.lab import Plan, share
from inweights.recipes.derived import at_the_end, whole
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.geometric_memory.common import PAPER, stating
from inweights.worlds.path_star import PathStar

__all__ = ["RECIPE", "Settings"]

DIRECTIONS: tuple[Literal["both", "forward", "backward"], ...] = ("both", "forward", "backward")
FORWARD, REVERSE = "forward path", "reverse path"
KEYS = ["graph", "edges", "task", "seed"]


class Settings(Config):
    """Settings of Figure 33.

    Attributes:
        stars: The graphs and how they are learnt.
        every: Steps between two points of the curves.
    """

    stars: tuple[ways.PathStarTraining, ...] = (ways.PathStarTraining(nodes=4),)
    every: int = 20


def plan(settings: Settings) -> Plan:
    """Edges away from the root, towards it, and both; paths from the root and from the leaf."""
    trials = [
        star.trial(
            {"graph": star.name, "edges": edges, "task": task},
            task=PathStar(edges=edges, reverse=task == REVERSE),
        )
        for star in settings.stars
        for task in (FORWARD, REVERSE)
        for edges in DIRECTIONS
    ]
    return Plan(trials=trials, measures=[ways.curves(every=settings.every)])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Every run through training and at its end; ``but_leaf`` leaves the leaf's own token out.

    With edges towards the root alone nothing leads to a leaf: it is a target in trained paths only,
    and those that are held out never are. ``but_leaf`` is the accuracy of the worst other token.
    """
    told = tables["paths"]
    last = pl.col("place").max().over("graph", "edges", "task")
    leaf = pl.when(pl.col("task") == REVERSE).then(0).otherwise(last)
    rest = told.filter(pl.col("part") == "queries", pl.col("place") != leaf)
    rest = rest.group_by([*KEYS, "step"]).agg(but_leaf=pl.col("accuracy").min())
    runs = whole(told).join(rest, on=[*KEYS, "step"], how="left")
    panel = pl.format("{}, {}", "graph", "task")
    return {"curves": runs.with_columns(panel=panel), "final": at_the_end(runs, KEYS)}


state, ours = stating("fig33", "Fig. 33, D.1", ways.INTERLEAVED)

exact = share("final", "exact").over("graph")

CLAIMS = (
    *(
        state(
            f"both-{name}",
            f"With edges in both directions the {task} of held-out leaves is found (exact match).",
            exact.at(edges="both", task=task) >= least,
        )
        for name, task, least in (("forward", FORWARD, 0.8), ("reverse", REVERSE, 0.95))
    ),
    *(
        state(
            f"forward-only-{name}",
            f"With edges away from the root alone the {task} is not found (exact match).",
            exact.at(edges="forward", task=task) <= 0.05,
        )
        for name, task in (("forward", FORWARD), ("reverse", REVERSE))
    ),
    state(
        "backward-only-reverse",
        "With edges towards the root alone the reverse path is found to some extent (exact match).",
        exact.at(edges="backward", task=REVERSE) >= 0.2,
    ),
    ours(
        "backward-only-reverse-but-leaf",
        "What is missing there is the leaf's own token, which no edge and no trained path ever "
        "asks for: all others are right (accuracy of the worst of them).",
        exact.of("but_leaf").at(edges="backward", task=REVERSE) >= 0.95,
    ),
    state(
        "backward-only-forward",
        "With edges towards the root alone the forward path is not found (exact match).",
        exact.at(edges="backward", task=FORWARD) <= 0.05,
    ),
    ours(
        "backward-only-hardest",
        "Not even its hardest token is (accuracy on held-out leaves).",
        exact.of("hardest").at(edges="backward", task=FORWARD) <= 0.05,
    ),
    ours(
        "all-memorise",
        "Trained paths are memorised in every case (exact match).",
        exact.of("trained").over("graph", "edges", "task") >= 0.95,
    ),
)

by_directions = partial(
    ways.through_training, series="edges", facet="panel", order=DIRECTIONS, columns=2
)

FIGURES = (
    by_directions(
        "directions",
        "curves",
        "Paths of held-out leaves by the directions of the edges that are trained",
        "Exact match, edges and paths interleaved. With edges towards the root alone no edge "
        "leads to a leaf, so that a held-out leaf is never said and no path is whole.",
        y="exact",
        y_label="exact match, held out",
    ),
    by_directions(
        "hardest",
        "curves",
        "The second token alone",
        "Of the forward path it is the hardest one, the first node of the arm; of the reverse "
        "path it is the leaf's neighbour.",
        y="hardest",
        y_label="second token, held out",
    ),
)

RECIPE = PAPER.recipe(
    "fig33",
    title="Which directions of the edges a path needs",
    place="Figure 33, appendix D.1",
    summary=(
        "Trains a Transformer on the edges of a path-star in one direction or both, together with "
        "paths from the root or from the leaf, and asks for the paths of other leaves."
    ),
    scales={
        "smoke": Settings(stars=(ways.MINI,), every=6),
        "cpu": Settings(),
        "paper": Settings(stars=(ways.PAPER_STAR,), every=1000),
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
        "'Non-trivial' is an exact match of .2 or more.",
        "The leaf belongs to its path, forward and reverse, as §2.1 and B.2 have it. Accuracy "
        "without the leaf's token was added after exact match had been seen on the judged seeds.",
    ),
)
