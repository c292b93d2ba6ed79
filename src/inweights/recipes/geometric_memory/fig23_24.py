"""Figures 23 and 24 of Geometric Memory: cosine heat-maps and the hops in them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import cosines
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import (
    ARCHITECTURES,
    FROZEN,
    GPT,
    GRAPHS,
    NN,
    NODE2VEC,
    OURS,
    PAPER,
    SOURCE,
    Descent,
    deduce,
    far_correlation,
    training,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig23-24"
LABELS = ("graph", "architecture")


class Settings(Config):
    """Settings of Figures 23 and 24.

    Attributes:
        graphs: Which of the four graphs.
        descent: How Node2Vec descends.
        most: Trains no longer than so many steps; the paper's own if left out.
    """

    graphs: tuple[str, ...] = GRAPHS
    descent: Descent = Descent()
    most: int | None = None


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """All architectures on graphs whose labels are in order, so that neighbours are side by side.

    Labels alone are not shuffled; every start is drawn anew.
    """
    deductions, trials = [], []
    for shape in settings.graphs:
        world = Graph(shape=shape, shuffled=False)  # type: ignore[arg-type]
        for seed in seeds:
            deductions += deduce(
                {"cosines": cosines},
                world,
                settings.descent,
                seed,
                {"graph": shape, "architecture": NODE2VEC},
            )
        for architecture in (GPT, NN, FROZEN):
            how = training(architecture, shape, most=settings.most)
            trials += [
                Trial(
                    labels={"graph": shape, "architecture": architecture},
                    world=world,
                    model=how.model,
                    curriculum=how.curriculum,
                    seed=seed,
                )
                for seed in seeds
            ]
    measures = [Measure(name="cosines", probe=cosines)]
    return Plan(deductions=deductions, trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The first seed's matrices, and how cosines go with hops in every seed."""
    table = tables["cosines"]
    far = far_correlation(table, LABELS).with_columns(
        drop=pl.col("two_hop_cosine") - pl.col("farther_cosine"),
        near=pl.col("near_cosine") - pl.col("two_hop_cosine"),
    )
    first = table.filter(pl.col("seed") == pl.col("seed").min())
    matrices = {f"matrix_{graph}": first.filter(pl.col("graph") == graph) for graph in GRAPHS}
    by_hops = (
        table.filter(pl.col("hops") >= 1)
        .group_by([*LABELS, "seed", "hops"], maintain_order=True)
        .agg(pl.col("cosine").mean())
    )
    return {"far": far, "by_hops": by_hops, **matrices}


state = Statement(NAME, source=SOURCE, place="Figs. 23–24, C.3")
GRAPH = ("graph",)

CLAIMS = (
    *(
        state(
            f"{name.lower()}-shows-hops",
            f"{name}'s cosines show multi-hop structure: mean at two hops minus mean beyond.",
            Target(least=0.2),
            table="far",
            column="drop",
            where={"architecture": name},
            each=GRAPH,
        )
        for name in (NODE2VEC, GPT, NN)
    ),
    state(
        "frozen-shows-none",
        "Associative embeddings show none: the same difference.",
        Target(least=-0.1, most=0.1),
        table="far",
        column="drop",
        where={"architecture": FROZEN},
        each=GRAPH,
    ),
    *(
        state(
            f"{name.lower()}-falls-from-the-first",
            f"{name}'s cosine falls from the first hop to the second (mean difference).",
            Target(least=0.0),
            table="far",
            column="near",
            where={"architecture": name},
            each=GRAPH,
        )
        for name in (NODE2VEC, GPT)
    ),
    state(
        "tiny-nn-zigzags",
        "TinyNN's rises instead: its neighbours are farther apart than nodes two hops apart.",
        Target(most=0.0),
        table="far",
        column="near",
        where={"architecture": NN},
        each=GRAPH,
        place="§4.4",
    ),
)

_SEEN = (
    (
        "path-star",
        "arm by arm from the root v1",
        "Node2Vec shows four arms and the way along each.",
    ),
    ("grid", "row by row", "TinyGPT and TinyNN alternate in sign, like a chessboard."),
    ("cycle", "around the ring", "TinyNN pushes neighbours apart and joins nodes two hops apart."),
    ("irregular", "around the ring, then the clique", "The two components stand apart."),
)

FIGURES = (
    *(
        Figure(
            id=f"cosines-{graph}",
            kind="heatmaps",
            title=f"Cosine of every two nodes: {graph}",
            caption=f"One seed. Nodes in the order of the graph, {order}. {seen}",
            sources=(f"matrix_{graph}",),
            options={
                "panel": "architecture",
                "row": "source",
                "column": "target",
                "value": "cosine",
                "order": list(ARCHITECTURES),
                "value_label": "cosine",
                "limit": 1.0,
                "columns": 2,
            },
        )
        for graph, order, seen in _SEEN
    ),
    Figure(
        id="by-hops",
        kind="lines",
        title="Mean cosine by distance",
        caption=(
            "Mean over pairs, then over seeds with 95% interval. Where cosine rises from one hop "
            "to two, neighbours are pushed apart."
        ),
        sources=("by_hops",),
        options={
            "x": "hops",
            "y": "cosine",
            "series": "architecture",
            "facet": "graph",
            "order": list(ARCHITECTURES),
            "x_label": "hops",
            "y_label": "mean cosine",
            "columns": 2,
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="What the cosine of two nodes says about their distance",
    paper=PAPER,
    place="Figures 23 and 24, appendix C.3",
    summary=(
        "Trains every architecture on the four tiny graphs with their labels in order, and draws "
        "the cosine of every two embeddings; then averages it over all pairs of equal distance."
    ),
    scales={
        "smoke": Settings(descent=Descent(steps=40), most=3),
        "cpu": Settings(),
        "paper": Settings(),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(*OURS, "Labels are in the order of the graph, so that the matrices can be read."),
)
