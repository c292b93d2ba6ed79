"""Figure 35 of Geometric Memory: pause tokens between the leaf and its path."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
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

NAME = "geometric-memory/fig35"
KEYS = ["graph", "pauses", "seed"]
NONE, FEW, MANY = "0", "2", "5"


class Settings(Config):
    """Settings of Figure 35.

    Attributes:
        stars: The graphs and how they are learnt.
        pauses: Numbers of pauses; 0, 2 and 5 are judged.
        every: Steps between two looks.
    """

    stars: tuple[Star, ...] = (Star(nodes=5),)
    pauses: tuple[int, ...] = (0, 1, 2, 5)
    every: int = 10


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """The same graph with more and more pauses; a task token says what is asked in all of them."""
    trials = [
        msgspec.structs.replace(star, pauses=pauses).trial(
            {"graph": star.name, "pauses": str(pauses)}, seed, task_tokens=True
        )
        for star in settings.stars
        for pauses in settings.pauses
        for seed in seeds
    ]
    return Plan(
        trials=trials,
        measures=[Measure(name="paths", probe=path_accuracy, every=settings.every)],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Curves, their means and ends, and when half of the held-out paths are right."""
    runs = whole(tables["paths"])
    mean = runs.group_by(KEYS, maintain_order=True).agg(pl.col("exact").mean())
    return {
        "curves": runs,
        "final": at_the_end(runs, KEYS),
        "mean": mean,
        "when": first_step(runs, "exact", KEYS),
    }


state = Statement(NAME, source=SOURCE, place="Fig. 35, D.2")
GRAPH = ("graph",)

CLAIMS = (
    state(
        "pauses-help",
        "For a given amount of training pauses raise the exact match on held-out leaves (mean over "
        "the training, five pauses minus none).",
        Target(least=0.02),
        table="mean",
        column="exact",
        where={"pauses": MANY},
        minus={"pauses": NONE},
        each=GRAPH,
    ),
    state(
        "pauses-are-quicker",
        "With five pauses half of the held-out paths are right sooner than with none (steps, none "
        "minus five).",
        Target(least=10.0),
        table="when",
        column="first",
        where={"pauses": NONE},
        minus={"pauses": MANY},
        each=GRAPH,
    ),
    state(
        "more-are-quicker-still",
        "More pauses are quicker still (steps, two pauses minus five).",
        Target(least=10.0),
        table="when",
        column="first",
        where={"pauses": FEW},
        minus={"pauses": MANY},
        each=GRAPH,
    ),
    state(
        "better-at-the-end",
        "At the end of training, too, pauses are better (exact match, five minus none).",
        Target(least=0.02),
        table="final",
        column="exact",
        where={"pauses": MANY},
        minus={"pauses": NONE},
        each=GRAPH,
        source="ours",
    ),
)

FIGURES = (
    Figure(
        id="pauses",
        kind="lines",
        title="Whole paths of held-out leaves by the number of pauses",
        caption="Exact match, edges and paths interleaved; a task token comes first in all.",
        sources=("curves",),
        options={
            "x": "step",
            "y": "exact",
            "series": "pauses",
            "facet": "graph",
            "labels": {"0": "no pause", "1": "1 pause", "2": "2 pauses", "5": "5 pauses"},
            "y_limits": [0, 1],
            "y_label": "exact match, held out",
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Time to think: pause tokens",
    paper=PAPER,
    place="Figure 35, appendix D.2",
    summary=(
        "Trains a Transformer on edges and paths of a path-star with 0 to 5 pause tokens between a "
        "leaf and its path, and follows the paths of other leaves through training."
    ),
    scales={
        "smoke": Settings(stars=(MINI,), pauses=(0, 2, 5), every=6),
        "cpu": Settings(),
        "paper": Settings(stars=(PAPER_STAR,), every=500),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *OURS,
        "Without pauses a task token tells a path's prompt from an edge's.",
        "Quicker is by one look, 10 steps, or more.",
    ),
)
