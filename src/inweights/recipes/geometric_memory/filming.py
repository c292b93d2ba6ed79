"""Five architectures learn the edges of graphs and are filmed: the plan, and the pictures of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from inweights.probes import graph_recall, hop_correlation, render_frames, snapshot
from inweights.recipes.claim import Claim, Statement, Target
from inweights.recipes.geometric_memory.common import (
    FROZEN,
    GPT,
    NN,
    NODE2VEC,
    SSM,
    Descent,
    Training,
    deduce,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Trial
from inweights.theory.layout import scene
from inweights.worlds.graph import Graph

__all__ = ["FIGURES", "ORDER", "filmed", "more_geometric", "pictures"]

#: From arbitrary to most geometric.
ORDER = (FROZEN, NN, GPT, SSM, NODE2VEC)
_RANK = {name: place for place, name in enumerate(ORDER)}
_LABELS = ("graph", "architecture")


def filmed(
    graphs: Mapping[str, Graph],
    training: Callable[[str, str], Training],
    descent: Descent,
    seeds: Sequence[int],
    *,
    looks: int,
    draws: int,
) -> Plan:
    """Train every architecture on every graph, and film the first seed of each.

    Args:
        graphs: By name.
        training: How an architecture is trained on a graph, by both names.
        descent: How Node2Vec descends; it is deduced, not trained.
        seeds: Root seeds.
        looks: Frames that are taken of a training, about.
        draws: Random embeddings in each null distribution.
    """
    trials: list[Trial] = []
    measures = [
        Measure(name="recall", probe=graph_recall),
        Measure(name="correlation", probe=hop_correlation, options={"draws": draws}),
    ]
    deductions = []
    for name, world in graphs.items():
        labels = {"graph": name, "architecture": NODE2VEC}
        for place, seed in enumerate(seeds):
            if place == 0:
                every = max(1, descent.steps // looks)
                deductions += deduce({"film": snapshot}, world, descent, seed, labels, every=every)
            deductions += deduce({"recall": graph_recall}, world, descent, seed, labels)
            deductions += deduce(
                {"correlation": hop_correlation}, world, descent, seed, labels, draws=draws
            )
        for architecture in ORDER:
            if architecture == NODE2VEC:
                continue
            how = training(architecture, name)
            labels = {"graph": name, "architecture": architecture}
            trials += [
                Trial(
                    labels=labels,
                    world=world,
                    model=how.model,
                    curriculum=how.curriculum,
                    seed=seed,
                )
                for seed in seeds
            ]
            every = max(1, how.steps // looks)
            measures.append(
                Measure(name="film", probe=snapshot, every=every, where=labels, first_seed=True)
            )
    return Plan(trials=trials, measures=measures, deductions=deductions)


def pictures(
    tables: Mapping[str, pl.DataFrame], graphs: Mapping[str, Graph]
) -> dict[str, pl.DataFrame]:
    """Pictures of the films, the graphs that they are of, and what claims judge."""
    film = tables["film"]
    worlds = {name: graphs[name].build() for name in film["graph"].unique(maintain_order=True)}
    parts = film.partition_by(_LABELS, maintain_order=True, as_dict=True)
    films = pl.concat(
        render_frames(rows, worlds[str(name)]).select(
            pl.lit(name).alias("graph"),
            pl.lit(architecture).alias("architecture"),
            pl.lit(rows["seed"][0]).alias("seed"),
            pl.all(),
        )
        for (name, architecture), rows in parts.items()
    )
    drawn = [
        scene(world).select(pl.lit(name).alias("graph"), pl.all()) for name, world in worlds.items()
    ]
    node2vec = pl.col("architecture") == NODE2VEC
    return {
        # Of hundreds of frames only those of the pictures are kept.
        "film": film.join(films, on=[*_LABELS, "step"], how="semi"),
        "films": films,
        "graphs": pl.concat(drawn),
        "correlation": tables["correlation"]
        .with_columns(size=pl.col("spearman").abs())
        .sort(pl.col("architecture").replace_strict(_RANK), maintain_order=True),
        "curves": films.select("graph", "architecture", "seed", "step", "spearman").filter(
            pl.col("step") > 0
        ),
        "stored": tables["recall"].with_columns(
            edges=pl.when(node2vec).then("recall_others").otherwise("recall")
        ),
    }


def more_geometric(state: Statement, more: str, less: str) -> Claim:
    """Return the claim that an architecture is more geometric than another on every graph."""
    return state(
        f"{more.lower()}-beyond-{less.lower()}",
        f"{more} is more geometric than {less} on every graph: difference of |Spearman|.",
        Target(least=0.0),
        table="correlation",
        column="size",
        where={"architecture": more},
        minus={"architecture": less},
        each=("graph",),
    )


FIGURES = (
    Figure(
        id="atlas",
        kind="atlas",
        title="The same edges, as five architectures come to store them",
        caption=(
            "Embeddings of the nodes in their three leading directions, one seed; the lines are "
            "the edges that were trained. Each frame is turned to lie on the next one, so that "
            "what moves has moved."
        ),
        sources=("films", "graphs"),
        options={"order": [*ORDER]},
    ),
    Figure(
        id="correlation",
        kind="sweeps",
        title="Correlation of cosine with hop distance, all seeds",
        caption=(
            "Spearman over all pairs that a path joins; −1 where the farther node is always the "
            "less similar one. Random vectors are near 0."
        ),
        sources=("correlation",),
        options={
            "axis": "graph",
            "value": "architecture",
            "columns": 4,
            "y": "spearman",
            "y_label": "Spearman",
            "y_limits": [-1, 1],
        },
    ),
    Figure(
        id="curves",
        kind="lines",
        title="When the geometry comes, and what becomes of it",
        caption=(
            "Spearman of cosine against hops through training, the first seed, as in the picture "
            "above."
        ),
        sources=("curves",),
        options={
            "x": "step",
            "y": "spearman",
            "series": "architecture",
            "facet": "graph",
            "x_log": True,
            "columns": 2,
            "order": [*ORDER],
            "x_label": "step",
            "y_label": "Spearman",
        },
    ),
)
