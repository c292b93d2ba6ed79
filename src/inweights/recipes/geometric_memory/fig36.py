"""Figure 36 of Geometric Memory: edges first, then paths alone: a peak, and then it is lost."""

from __future__ import annotations

import polars as pl
from msgspec import structs

from inweights.config import Config
from inweights.lab import Plan, share
from inweights.recipes.derived import at_the_end, mean_recall, whole
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.geometric_memory.common import PAPER, stating

__all__ = ["RECIPE", "Settings"]

KEYS = ["graph", "condition", "seed"]
CONDITIONS = (ways.TWO_PHASE, ways.HEAD_START, ways.GEOMETRY)


class Settings(Config):
    """Settings of Figure 36.

    Attributes:
        stars: The graphs and how they are learnt.
        paths: Steps on paths, longer than elsewhere, so that one sees what comes after.
        every: Steps between two looks.
    """

    stars: tuple[ways.PathStarTraining, ...] = (ways.PathStarTraining(nodes=4),)
    paths: int = 400
    every: int = 10


def plan(settings: Settings) -> Plan:
    """Paths alone after edges alone; with edges rehearsed; with the embeddings frozen as well."""
    trials = [
        structs.replace(star, paths=settings.paths).trial(
            {"graph": star.name, "condition": how}, how=how
        )
        for star in settings.stars
        for how in CONDITIONS
    ]
    recall = ways.recall(every=5 * settings.every)
    return Plan(trials=trials, measures=[ways.curves(every=settings.every), recall])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Curves of paths and edges, the peak and what is left of it."""
    runs = whole(tables["paths"])
    edges = mean_recall(tables["edges"], [*KEYS, "step"])
    curves = pl.concat(
        table.select(*KEYS, "step", series=pl.lit(text), value=name)
        for table, name, text in (
            (runs, "exact", "exact match, held out"),
            (runs, "hardest", "hardest token, held out"),
            (runs, "trained", "exact match, trained"),
            (edges, "recall", "edges recalled"),
        )
    )
    peak, hardest = (pl.col(name).max().over(KEYS) for name in ("exact", "hardest"))
    lost = {"lost": peak - pl.col("exact"), "lost_hardest": hardest - pl.col("hardest")}
    return {"curves": curves, "final": at_the_end(runs.with_columns(peak=peak, **lost), KEYS)}


state, ours = stating("fig36", "Fig. 36, D.3")

peak, lost, lost_hardest = (
    share("final", column).over("graph") for column in ("peak", "lost", "lost_hardest")
)

CLAIMS = (
    state(
        "high-peak",
        "After edges alone, training on paths alone reaches a high peak (largest exact match on "
        "held-out leaves).",
        peak.at(condition=ways.TWO_PHASE) >= 0.8,
        published="high peak",
    ),
    state(
        "then-it-deteriorates",
        "It then deteriorates dramatically (peak minus end, exact match).",
        lost.at(condition=ways.TWO_PHASE) >= 0.3,
    ),
    ours(
        "the-decision-too",
        "The hardest token, too, is lost (peak minus end).",
        lost_hardest.at(condition=ways.TWO_PHASE) >= 0.2,
    ),
    ours(
        "edges-rehearsed",
        "With the edges rehearsed along with the paths nothing is lost (peak minus end).",
        lost.at(condition=ways.HEAD_START) <= 0.05,
    ),
    ours(
        "embeddings-frozen",
        "With the embeddings frozen as well nothing is lost either (peak minus end).",
        lost.at(condition=ways.GEOMETRY) <= 0.02,
    ),
)

FIGURES = (
    ways.through_training(
        "two-phases",
        "curves",
        "Edges first, then paths: what is found and what is forgotten",
        "Paths begin at the step where the trained ones rise. In two phases, paths alone and "
        "everything moving, held-out paths come at once and are lost again as the edges are "
        "forgotten; rehearsed edges keep them.",
        y="value",
        series="series",
        facet="condition",
        y_label="share",
        columns=3,
    ),
)

RECIPE = PAPER.recipe(
    "fig36",
    title="Paths after edges: found at once, then lost",
    place="Figure 36, appendix D.3",
    summary=(
        "Trains a Transformer on the edges of a path-star and then on paths alone, everything "
        "moving, and follows held-out paths and edges; beside it the same with the edges rehearsed "
        "and with the embeddings frozen."
    ),
    scales={
        "smoke": Settings(stars=(ways.MINI,), paths=6, every=4),
        "cpu": Settings(),
        "paper": Settings(stars=(ways.PAPER_STAR,), paths=20_000, every=500),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *ways.unprinted("stars"),
        "paths",
        "every",
        *ways.OURS,
        "Rehearsed edges and frozen embeddings are ours, and so is what counts as dramatic: .3.",
    ),
)
