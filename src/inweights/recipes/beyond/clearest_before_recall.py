"""Ours: the clearest geometry precedes full recall, and fades after it."""

from __future__ import annotations

import polars as pl

import inweights as iw
from inweights.config import Config
from inweights.lab import Measure, Plan, cosine, number, share, sweeps
from inweights.recipes.beyond import PAPER, recipe
from inweights.recipes.derived import at_the_end, first_step
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import drawings
from inweights.recipes.geometric_memory.derived import judged

__all__ = ["RECIPE", "Settings"]

RUN = ["graph", "architecture", "seed"]
MODELS = (gm.GPT, gm.SSM, gm.NN)
CLEAREST, STORED = "clearest geometry", "full recall"


class Settings(Config):
    """Settings of the experiment.

    Attributes:
        graphs: Which of the four graphs.
        architectures: Which architectures.
        most: Trains no longer than so many steps.
        every: Steps between two looks.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    architectures: tuple[str, ...] = MODELS
    most: int = 1000
    every: int = 5


def plan(settings: Settings) -> Plan:
    """Train on edges as the paper's code does, and look often."""
    made = gm.trials(settings.graphs, settings.architectures, settings.most, conditions=(gm.CODE,))
    return Plan(
        trials=made,
        measures=[
            Measure(
                name="correlation",
                probe=iw.probes.hop_correlation,
                options={"draws": 1},
                every=settings.every,
            ),
            Measure(name="recall", probe=iw.probes.graph_recall, every=settings.every),
        ],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """When each run's geometry is clearest, when it first recalls all, and what is left of it."""
    tables = judged(tables)
    keys = [*RUN, "step"]
    course = tables["correlation"].join(tables["recall"].select(*keys, "recall"), on=keys)
    course = course.filter(pl.col("step") > 0)
    best = pl.col("spearman").arg_min()
    clearest = course.group_by(RUN, maintain_order=True).agg(
        best=pl.col("spearman").min(),
        when=pl.col("step").gather(best).first().cast(pl.Float64),
        recall=pl.col("recall").gather(best).first(),
    )
    ends = at_the_end(course, RUN).select(*RUN, last="spearman")
    times = (
        clearest.join(first_step(course, "recall", RUN, least=1.0), on=RUN)
        .join(ends, on=RUN)
        .with_columns(ahead=pl.col("when") - pl.col("first"), faded=pl.col("last") - pl.col("best"))
    )
    steps = times.select(*RUN, pl.col("when").alias(CLEAREST), pl.col("first").alias(STORED))
    return {
        "times": times,
        "steps": steps.unpivot(index=RUN, variable_name="what", value_name="step").with_columns(
            log=pl.col("step").log10()
        ),
        "course": course.with_columns(panel=pl.format("{}, {}", "architecture", "graph")),
    }


state = PAPER.stating("clearest-before-recall", "beyond the paper")

ahead = number("times", "ahead").over("graph")
known, faded = share("times", "recall").over("graph"), cosine("times", "faded").over("graph")
best = cosine("times", "best").over("graph")

CLAIMS = [
    claim
    for name, clear in ((gm.GPT, -0.75), (gm.SSM, -0.55))
    for claim in (
        state(
            f"{name.lower()}-clearest-first",
            f"{name}'s geometry is clearest before it recalls every edge, on every graph (step of "
            "the lowest Spearman minus first step of recall 1).",
            ahead.at(architecture=name) <= 0.0,
        ),
        state(
            f"{name.lower()}-not-all-known",
            f"When it is clearest {name} knows no more than four edges of five (recall).",
            known.at(architecture=name) <= 0.8,
        ),
        state(
            f"{name.lower()}-is-clear",
            f"It is clear then, on every graph ({name}'s lowest Spearman).",
            best.at(architecture=name) <= clear,
        ),
        state(
            f"{name.lower()}-fades",
            f"After it {name}'s geometry fades: Spearman at the end minus the lowest.",
            faded.at(architecture=name) >= 0.05,
        ),
    )
]
CLAIMS += [
    state(
        "tinynn-clearest-first-on-the-star",
        "On the star TinyNN's is clearest first as well (steps).",
        number("times", "ahead", architecture=gm.NN, graph="path-star") <= 0.0,
    ),
    state(
        "tinynn-wide-is-the-exception",
        "On the cycle, where it is 512 wide, TinyNN knows every edge before it is clearest "
        "(recall when it is clearest).",
        share("times", "recall", architecture=gm.NN, graph="cycle") >= 0.99,
    ),
]

FIGURES = (
    sweeps(
        "steps",
        "steps",
        "When the geometry is clearest, and when every edge is known",
        "log₁₀ of the step at which Spearman of cosine against hops is lowest, beside the first "
        "step of recall 1. Mean over seeds with 95% interval.",
        axis="graph",
        value="architecture",
        y="log",
        series="what",
        y_label="log₁₀ step",
        columns=4,
    ),
    drawings.course(
        "course",
        "course",
        "Order of the embeddings through training",
        "Spearman of cosine against hop distance, as the paper's code trains.",
        y="spearman",
        facet="panel",
        y_label="Spearman ρ",
        columns=4,
    ),
)

RECIPE = recipe(
    "clearest-before-recall",
    title="The clearest geometry precedes full recall",
    summary=(
        "Trains TinyGPT, TinySSM and TinyNN on the edges of the four tiny graphs as the paper's "
        "code does, looks every fifth step, and compares when the embeddings lie most as the graph "
        "does with when all of its edges are known."
    ),
    scales={
        "smoke": Settings(graphs=("path-star", "cycle"), most=4, every=2),
        "cpu": Settings(),
        "paper": Settings(most=10_000),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "Everything: the paper draws some steps of training and says nothing of this.",
        "The condition of the paper's code; at most 1,000 steps at cpu scale.",
        gm.OURS_SSM,
    ),
)
