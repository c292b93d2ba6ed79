"""Figure 36 of Geometric Memory: edges first, then paths alone: a peak, and then it is lost."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from inweights.config import Config
from inweights.probes.navigation import stepwise
from inweights.probes.paths import path_accuracy
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import PAPER, SOURCE
from inweights.recipes.geometric_memory.paths import (
    GEOMETRY,
    HEAD_START,
    MINI,
    OURS,
    PAPER_STAR,
    TWO_PHASE,
    Star,
    at_the_end,
    whole,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig36"
KEYS = ["graph", "condition", "seed"]
CONDITIONS = (TWO_PHASE, HEAD_START, GEOMETRY)


class Settings(Config):
    """Settings of Figure 36.

    Attributes:
        stars: The graphs and how they are learnt.
        paths: Steps on paths, longer than elsewhere, so that one sees what comes after.
        every: Steps between two looks.
    """

    stars: tuple[Star, ...] = (Star(nodes=4),)
    paths: int = 400
    every: int = 10


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Paths alone after edges alone; with edges rehearsed; with the embeddings frozen as well."""
    trials = [
        msgspec.structs.replace(star, paths=settings.paths).trial(
            {"graph": star.name, "condition": how}, seed, how=how
        )
        for star in settings.stars
        for how in CONDITIONS
        for seed in seeds
    ]
    measures = [
        Measure(name="paths", probe=path_accuracy, every=settings.every),
        Measure(
            name="edges",
            probe=stepwise,
            options={"roles": ("edge", "reverse_edge")},
            every=5 * settings.every,
        ),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Curves of paths and edges, the peak and what is left of it."""
    runs = whole(tables["paths"])
    edges = (
        tables["edges"]
        .group_by([*KEYS, "step"], maintain_order=True)
        .agg(value=pl.col("recall").mean())
    )
    marks = [*KEYS, "step", "series", "value"]
    parts = [
        runs.with_columns(series=pl.lit(text), value=pl.col(name)).select(marks)
        for name, text in (
            ("exact", "exact match, held out"),
            ("hardest", "hardest token, held out"),
            ("trained", "exact match, trained"),
        )
    ]
    curves = pl.concat([*parts, edges.with_columns(series=pl.lit("edges recalled")).select(marks)])
    peak = runs.group_by(KEYS, maintain_order=True).agg(
        peak=pl.col("exact").max(), peak_hardest=pl.col("hardest").max()
    )
    final = (
        at_the_end(runs, KEYS)
        .join(peak, on=KEYS)
        .join(at_the_end(edges, KEYS).select(*KEYS, recall="value"), on=KEYS)
        .with_columns(
            lost=pl.col("peak") - pl.col("exact"),
            lost_hardest=pl.col("peak_hardest") - pl.col("hardest"),
        )
    )
    return {"curves": curves, "final": final}


state = Statement(NAME, source=SOURCE, place="Fig. 36, D.3")
GRAPH = ("graph",)

CLAIMS = (
    state(
        "high-peak",
        "After edges alone, training on paths alone reaches a high peak (largest exact match on "
        "held-out leaves).",
        Target(least=0.8),
        table="final",
        column="peak",
        where={"condition": TWO_PHASE},
        each=GRAPH,
        published="high peak",
    ),
    state(
        "then-it-deteriorates",
        "It then deteriorates dramatically (peak minus end, exact match).",
        Target(least=0.3),
        table="final",
        column="lost",
        where={"condition": TWO_PHASE},
        each=GRAPH,
    ),
    state(
        "the-decision-too",
        "The hardest token, too, is lost (peak minus end).",
        Target(least=0.2),
        table="final",
        column="lost_hardest",
        where={"condition": TWO_PHASE},
        each=GRAPH,
        source="ours",
    ),
    state(
        "edges-rehearsed",
        "With the edges rehearsed along with the paths nothing is lost (peak minus end).",
        Target(most=0.05),
        table="final",
        column="lost",
        where={"condition": HEAD_START},
        each=GRAPH,
        source="ours",
    ),
    state(
        "embeddings-frozen",
        "With the embeddings frozen as well nothing is lost either (peak minus end).",
        Target(most=0.02),
        table="final",
        column="lost",
        where={"condition": GEOMETRY},
        each=GRAPH,
        source="ours",
    ),
)

FIGURES = (
    Figure(
        id="two-phases",
        kind="lines",
        title="Edges first, then paths: what is found and what is forgotten",
        caption=(
            "Paths begin at the step where the trained ones rise. In two phases, paths alone and "
            "everything moving, held-out paths come at once and are lost again as the edges are "
            "forgotten; rehearsed edges keep them."
        ),
        sources=("curves",),
        options={
            "x": "step",
            "y": "value",
            "series": "series",
            "facet": "condition",
            "y_limits": [0, 1],
            "y_label": "share",
            "columns": 3,
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Paths after edges: found at once, then lost",
    paper=PAPER,
    place="Figure 36, appendix D.3",
    summary=(
        "Trains a Transformer on the edges of a path-star and then on paths alone, everything "
        "moving, and follows held-out paths and edges; beside it the same with the edges rehearsed "
        "and with the embeddings frozen."
    ),
    scales={
        "smoke": Settings(stars=(MINI,), paths=6, every=4),
        "cpu": Settings(),
        "paper": Settings(stars=(PAPER_STAR,), paths=20_000, every=500),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *OURS,
        "Rehearsed edges and frozen embeddings are ours, and so is what counts as dramatic: .3.",
    ),
)
