"""Figure 5 of Geometric Memory: a geometry from edges alone, without any path or second hop."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import cosines, graph_recall, hop_correlation
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import (
    FROZEN,
    GPT,
    GRAPHS,
    OURS,
    OURS_SSM,
    PAPER,
    SOURCE,
    SSM,
    far_correlation,
    training,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig5"
LABELS = ("graph", "architecture")
MODELS = (GPT, SSM, FROZEN)


class Settings(Config):
    """Settings of Figure 5.

    Attributes:
        graphs: Which of the four graphs.
        most: Trains no longer than so many steps; the paper's own if left out.
        looks: How often training is looked at, about.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[str, ...] = GRAPHS
    most: int | None = None
    looks: int = 25
    draws: int = 50


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Train on edges, each a sequence of two tokens, and look on the way."""
    trials, measures = [], [Measure(name="cosines", probe=cosines)]
    draws = {"draws": settings.draws}
    for shape in settings.graphs:
        for architecture in MODELS:
            how = training(architecture, shape, most=settings.most)
            labels = {"graph": shape, "architecture": architecture}
            trials += [
                Trial(
                    labels=labels,
                    world=Graph(shape=shape),  # type: ignore[arg-type]
                    model=how.model,
                    curriculum=how.curriculum,
                    seed=seed,
                )
                for seed in seeds
            ]
            every = max(1, how.steps // settings.looks)
            measures += [
                Measure(
                    name="correlation",
                    probe=hop_correlation,
                    options=draws,
                    every=every,
                    where=labels,
                ),
                Measure(name="recall", probe=graph_recall, every=every, where=labels),
            ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The end of training, the step when the geometry was best, and mean cosine by hops."""
    keys = [*LABELS, "seed", "step"]
    curves = tables["correlation"].join(tables["recall"].select(*keys, "recall"), on=keys)
    curves = curves.with_columns(
        beyond_chance=pl.col("spearman") - pl.col("null_low"), size=pl.col("spearman").abs()
    )
    by = [*LABELS, "seed"]
    last = curves.filter(pl.col("step") == pl.col("step").max().over(by))
    best = curves.sort("spearman", maintain_order=True).group_by(by, maintain_order=True).first()
    lost = last.join(best.select(*by, best="spearman"), on=by)
    far = far_correlation(tables["cosines"], LABELS).with_columns(
        size=pl.col("far").abs(), drop=pl.col("two_hop_cosine") - pl.col("farther_cosine")
    )
    by_hops = (
        tables["cosines"]
        .filter(pl.col("hops") >= 1)
        .group_by([*LABELS, "seed", "hops"], maintain_order=True)
        .agg(pl.col("cosine").mean())
    )
    return {
        "course": curves.filter(pl.col("step") > 0),
        "last": last,
        "lost": lost.with_columns(loss=pl.col("spearman") - pl.col("best")),
        "far": far,
        "by_hops": by_hops,
    }


state = Statement(NAME, source=SOURCE, place="Fig. 5, §3.1")
GRAPH = ("graph",)

CLAIMS = (
    state(
        "edges-are-stored",
        "Every edge is stored (top-degree recall).",
        Target(least=1.0),
        table="last",
        column="recall",
        each=LABELS,
    ),
    *(
        claim
        for name in (GPT, SSM)
        for claim in (
            state(
                f"{name.lower()}-from-edges-alone",
                f"{name}'s embeddings follow the distance though nothing but edges was taught: "
                "Spearman minus the 2.5% quantile of random vectors, every graph.",
                Target(most=0.0),
                table="last",
                column="beyond_chance",
                where={"architecture": name},
                each=GRAPH,
            ),
            state(
                f"{name.lower()}-of-what-was-not-taught",
                f"So do {name}'s pairs that no edge joins, of which nothing was taught: Spearman "
                "two hops apart and more, every graph.",
                Target(most=-0.2),
                table="far",
                column="far",
                where={"architecture": name},
                each=GRAPH,
            ),
        )
    ),
    state(
        "a-list-knows-none",
        "An associative memory of the same edges has no such order: |Spearman| two hops apart "
        "and more.",
        Target(most=0.2),
        table="far",
        column="size",
        where={"architecture": FROZEN},
        each=GRAPH,
    ),
    state(
        "geometry-comes-early",
        "TinyGPT's geometry is clearest before all edges are stored, and decays: Spearman at the "
        "end minus that of the best step, every graph.",
        Target(least=0.1),
        table="lost",
        column="loss",
        where={"architecture": GPT},
        each=GRAPH,
        source="ours",
    ),
)

FIGURES = (
    Figure(
        id="course",
        kind="lines",
        title="A geometry forms while edges are learnt, and nothing else",
        caption=(
            "Spearman of cosine against hop distance through training, mean over seeds with 95% "
            "band. No sequence names more than one edge."
        ),
        sources=("course",),
        options={
            "x": "step",
            "y": "spearman",
            "series": "architecture",
            "facet": "graph",
            "order": list(MODELS),
            "x_log": True,
            "x_label": "step",
            "y_label": "Spearman ρ",
            "columns": 2,
        },
    ),
    Figure(
        id="recall",
        kind="lines",
        title="Edges that are stored, in the same runs",
        caption="Top-degree recall; all models store all edges.",
        sources=("course",),
        options={
            "x": "step",
            "y": "recall",
            "series": "architecture",
            "facet": "graph",
            "order": list(MODELS),
            "x_log": True,
            "x_label": "step",
            "y_label": "recall",
            "y_limits": [0, 1.05],
            "columns": 2,
        },
    ),
    Figure(
        id="by-hops",
        kind="lines",
        title="Mean cosine by distance, at the end",
        caption=(
            "Only pairs at one hop were taught. The further ones fall into order all the same, "
            "but for associative storage."
        ),
        sources=("by_hops",),
        options={
            "x": "hops",
            "y": "cosine",
            "series": "architecture",
            "facet": "graph",
            "order": list(MODELS),
            "x_label": "hops",
            "y_label": "mean cosine",
            "columns": 2,
        },
    ),
)

_MINI = Settings(graphs=("grid", "cycle"), most=4, looks=2, draws=20)

RECIPE = Recipe(
    name=NAME,
    title="A map from local facts alone",
    paper=PAPER,
    place="Figure 5, §3.1",
    summary=(
        "Trains TinyGPT, TinySSM and an associative memory on the edges of four tiny graphs, each "
        "a sequence of two tokens, without any path, and follows how cosine comes to go with the "
        "distance, also over pairs of which nothing was said. Figure 4 asks the same of large "
        "path-stars."
    ),
    scales={"smoke": _MINI, "cpu": Settings(), "paper": Settings(looks=50, draws=500)},
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(*OURS, OURS_SSM, "Spearman at most −.2 counts as an order of far pairs."),
)
