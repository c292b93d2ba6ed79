"""Figure 5 of Geometric Memory: a geometry from edges alone, without any path or second hop."""

from __future__ import annotations

from functools import partial

import polars as pl

import inweights as iw
from inweights.config import Config
from inweights.lab import Measure, Plan, cosine, number, share
from inweights.recipes.derived import at_the_end, mean_by_hops
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import drawings
from inweights.recipes.geometric_memory.derived import beside_random, far_correlation, judged

__all__ = ["RECIPE", "Settings"]

LABELS = ("graph", "architecture")
MODELS = (gm.GPT, gm.SSM, gm.FROZEN)


class Settings(Config):
    """Settings of Figure 5.

    Attributes:
        graphs: Which of the four graphs.
        most: Trains no longer than so many steps; the paper's own if left out.
        looks: How often training is looked at, about; TinyGPT's every 20 steps or oftener.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    most: int | None = None
    looks: int = 25
    draws: int = 50


def plan(settings: Settings) -> Plan:
    """Train on edges, each a sequence of two tokens, and look on the way."""
    made = gm.trials(settings.graphs, MODELS, settings.most)
    measures, draws = [Measure(name="cosines", probe=iw.probes.cosines)], {"draws": settings.draws}
    for trial in made:
        every = max(1, trial.learner.steps // settings.looks)
        if trial.labels["architecture"] == gm.GPT:
            every = min(every, 20)  # of 2,500 steps on the irregular graph some thirty are the best
        on_the_way = partial(Measure, every=every, where=trial.labels)
        measures += [
            on_the_way(name="correlation", probe=iw.probes.hop_correlation, options=draws),
            on_the_way(name="recall", probe=iw.probes.graph_recall),
        ]
    return Plan(trials=made, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The end of training, the step when the geometry was best, and mean cosine by hops."""
    tables = judged(tables)
    keys = [*LABELS, "seed", "step"]
    curves = tables["correlation"].join(tables["recall"].select(*keys, "recall"), on=keys)
    by, rho = [*LABELS, "seed"], pl.col("spearman")
    far = far_correlation(tables["cosines"], LABELS)
    return tables | {
        "course": curves.filter(pl.col("step") > 0),
        "last": at_the_end(beside_random(curves), by),
        "lost": at_the_end(curves.with_columns(loss=rho - rho.min().over(by)), by),
        "far": far.with_columns(size=pl.col("far").abs()),
        "by_hops": mean_by_hops(tables["cosines"], LABELS),
    }


state = gm.PAPER.stating("fig5", "Fig. 5, §3.1", gm.CODE)

beyond_chance = number("last", "beyond_chance").over("graph")
of_far_pairs = cosine("far", "far").over("graph")

CLAIMS = [
    state(
        "edges-are-stored",
        "Every edge is stored (top-degree recall).",
        share("last", "recall").over(*LABELS) >= 1.0,
    )
]
for name in (gm.GPT, gm.SSM):
    CLAIMS += [
        state(
            f"{name.lower()}-from-edges-alone",
            f"{name}'s embeddings follow the distance though nothing but edges was taught: "
            "Spearman minus the 2.5% quantile of random vectors, every graph.",
            beyond_chance.at(architecture=name) <= 0.0,
        ),
        state(
            f"{name.lower()}-of-what-was-not-taught",
            f"So do {name}'s pairs that no edge joins, of which nothing was taught: Spearman "
            "two hops apart and more, every graph.",
            of_far_pairs.at(architecture=name) <= -0.2,
        ),
    ]
CLAIMS += [
    state(
        "a-list-knows-none",
        "An associative memory of the same edges has no such order: |Spearman| two hops apart "
        "and more.",
        share("far", "size", architecture=gm.FROZEN).over("graph") <= 0.2,
        check=True,
    ),
    state(
        "geometry-comes-early",
        "TinyGPT's geometry is clearest before all edges are stored, and decays: Spearman at the "
        "end minus that of the best step, every graph.",
        number("lost", "loss", architecture=gm.GPT).over("graph") >= 0.1,
        source="ours",
    ),
]

course = partial(drawings.course, series="architecture", order=MODELS)

FIGURES = (
    drawings.by_condition(),
    course(
        "course",
        "course",
        "A geometry forms while edges are learnt, and nothing else",
        "Spearman of cosine against hop distance through training, mean over seeds with 95% band. "
        "No sequence names more than one edge.",
        y="spearman",
        y_label="Spearman ρ",
    ),
    course(
        "recall",
        "course",
        "Edges that are stored, in the same runs",
        "Top-degree recall, the share of a node's neighbours that outrank all others.",
        y="recall",
        y_label="recall",
        y_limits=(0, 1.05),
    ),
    drawings.by_hops(
        "by-hops",
        "by_hops",
        "Mean cosine by distance, at the end",
        "Only pairs at one hop were taught. In TinyGPT and TinySSM those two hops apart are "
        "closest; beyond, cosine falls below 0, and at the far ends of the star it rises again. "
        "Associative storage stays near 0.",
        order=MODELS,
    ),
)

RECIPE = gm.PAPER.recipe(
    "fig5",
    title="A map from local facts alone",
    place="Figure 5, §3.1",
    summary=(
        "Trains TinyGPT, TinySSM and an associative memory on the edges of four tiny graphs, each "
        "a sequence of two tokens, without any path, and follows how cosine comes to go with the "
        "distance, also over pairs of which nothing was said. Figure 4 asks the same of large "
        "path-stars."
    ),
    scales={
        "smoke": Settings(graphs=("grid", "cycle"), most=4, looks=2, draws=20),
        "cpu": Settings(),
        "paper": Settings(looks=50, draws=500),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    version=gm.VERSION,
    ours=(
        "most",
        "looks",
        "draws",
        *gm.OURS,
        gm.OURS_SSM,
        "Spearman at most −.2 counts as an order of far pairs.",
    ),
)
