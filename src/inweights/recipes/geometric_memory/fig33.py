"""Figure 33 of Geometric Memory: which directions of the edges a path needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from inweights.config import Config
from inweights.probes.paths import path_accuracy
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import PAPER, SOURCE
from inweights.recipes.geometric_memory.paths import MINI, OURS, PAPER_STAR, Star, at_the_end, whole
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig33"
DIRECTIONS: tuple[Literal["both", "forward", "backward"], ...] = ("both", "forward", "backward")
FORWARD, REVERSE = "forward path", "reverse path"
KEYS = ["graph", "edges", "task", "seed"]


class Settings(Config):
    """Settings of Figure 33.

    Attributes:
        stars: The graphs and how they are learnt.
        every: Steps between two points of the curves.
    """

    stars: tuple[Star, ...] = (Star(nodes=4),)
    every: int = 20


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Edges away from the root, towards it, and both; paths from the root and from the leaf."""
    trials = [
        star.trial(
            {"graph": star.name, "edges": edges, "task": task},
            seed,
            edges=edges,
            reverse=task == REVERSE,
        )
        for star in settings.stars
        for task in (FORWARD, REVERSE)
        for edges in DIRECTIONS
        for seed in seeds
    ]
    return Plan(
        trials=trials,
        measures=[Measure(name="paths", probe=path_accuracy, every=settings.every)],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Every run through training and at its end; ``but_leaf`` leaves the leaf's own token out.

    With edges towards the root alone nothing leads to a leaf: it is a target in trained paths only,
    and those that are held out never are. ``but_leaf`` is the accuracy of the worst other token.
    """
    paths = tables["paths"]
    last = pl.col("place").max().over("graph", "edges", "task")
    leaf = pl.when(pl.col("task") == REVERSE).then(0).otherwise(last)
    rest = (
        paths.filter(pl.col("part") == "queries", pl.col("place") != leaf)
        .group_by([*KEYS, "step"], maintain_order=True)
        .agg(but_leaf=pl.col("accuracy").min())
    )
    runs = whole(paths).join(rest, on=[*KEYS, "step"])
    curves = runs.with_columns(panel=pl.format("{}, {}", "graph", "task"))
    final = at_the_end(runs, KEYS)
    return {"curves": curves, "final": final}


state = Statement(NAME, source=SOURCE, place="Fig. 33, D.1")
GRAPH = ("graph",)

CLAIMS = (
    *(
        state(
            f"both-{name}",
            f"With edges in both directions the {task} of held-out leaves is found (exact match).",
            Target(least=least),
            table="final",
            column="exact",
            where={"edges": "both", "task": task},
            each=GRAPH,
        )
        for name, task, least in (("forward", FORWARD, 0.8), ("reverse", REVERSE, 0.95))
    ),
    *(
        state(
            f"forward-only-{name}",
            f"With edges away from the root alone the {task} is not found (exact match).",
            Target(most=0.05),
            table="final",
            column="exact",
            where={"edges": "forward", "task": task},
            each=GRAPH,
        )
        for name, task in (("forward", FORWARD), ("reverse", REVERSE))
    ),
    state(
        "backward-only-reverse",
        "With edges towards the root alone the reverse path is found to some extent (exact match).",
        Target(least=0.2),
        table="final",
        column="exact",
        where={"edges": "backward", "task": REVERSE},
        each=GRAPH,
    ),
    state(
        "backward-only-reverse-but-leaf",
        "What is missing there is the leaf's own token, which no edge and no trained path ever "
        "asks for: all others are right (accuracy of the worst of them).",
        Target(least=0.95),
        table="final",
        column="but_leaf",
        where={"edges": "backward", "task": REVERSE},
        each=GRAPH,
        source="ours",
    ),
    state(
        "backward-only-forward",
        "With edges towards the root alone the forward path is not found (exact match).",
        Target(most=0.05),
        table="final",
        column="exact",
        where={"edges": "backward", "task": FORWARD},
        each=GRAPH,
    ),
    state(
        "backward-only-hardest",
        "Not even its hardest token is (accuracy on held-out leaves).",
        Target(most=0.05),
        table="final",
        column="hardest",
        where={"edges": "backward", "task": FORWARD},
        each=GRAPH,
        source="ours",
    ),
    state(
        "all-memorise",
        "Trained paths are memorised in every case (exact match).",
        Target(least=0.95),
        table="final",
        column="trained",
        each=("graph", "edges", "task"),
        source="ours",
    ),
)

FIGURES = (
    Figure(
        id="directions",
        kind="lines",
        title="Paths of held-out leaves by the directions of the edges that are trained",
        caption=(
            "Exact match, edges and paths interleaved. With edges towards the root alone no edge "
            "leads to a leaf, so that a held-out leaf is never said and no path is whole."
        ),
        sources=("curves",),
        options={
            "x": "step",
            "y": "exact",
            "series": "edges",
            "facet": "panel",
            "order": list(DIRECTIONS),
            "y_limits": [0, 1],
            "y_label": "exact match, held out",
            "columns": 2,
        },
    ),
    Figure(
        id="hardest",
        kind="lines",
        title="The second token alone",
        caption=(
            "Of the forward path it is the hardest one, the first node of the arm; of the reverse "
            "path it is the leaf's neighbour."
        ),
        sources=("curves",),
        options={
            "x": "step",
            "y": "hardest",
            "series": "edges",
            "facet": "panel",
            "order": list(DIRECTIONS),
            "y_limits": [0, 1],
            "y_label": "second token, held out",
            "columns": 2,
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Which directions of the edges a path needs",
    paper=PAPER,
    place="Figure 33, appendix D.1",
    summary=(
        "Trains a Transformer on the edges of a path-star in one direction or both, together with "
        "paths from the root or from the leaf, and asks for the paths of other leaves."
    ),
    scales={
        "smoke": Settings(stars=(MINI,), every=6),
        "cpu": Settings(),
        "paper": Settings(stars=(PAPER_STAR,), every=1000),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *OURS,
        "'Non-trivial' is an exact match of .2 or more.",
        "The leaf belongs to its path, forward and reverse, as §2.1 and B.2 have it. Accuracy "
        "without the leaf's token was added after exact match had been seen on the judged seeds.",
    ),
)
