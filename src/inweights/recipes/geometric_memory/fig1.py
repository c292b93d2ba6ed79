"""Figure 1 of Geometric Memory: four tiny graphs as every architecture stores them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import develop, graph_recall, hop_correlation, snapshot
from inweights.recipes.claim import Claim, Statement, Target
from inweights.recipes.geometric_memory.common import (
    FROZEN,
    GPT,
    GRAPHS,
    NN,
    NODE2VEC,
    OURS,
    OURS_SSM,
    PAPER,
    SOURCE,
    SSM,
    Descent,
    deduce,
    training,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.theory.layout import scene
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig1"
LABELS = ("graph", "architecture")
#: From arbitrary to most geometric.
ARCHITECTURES = (FROZEN, NN, GPT, SSM, NODE2VEC)
RANK = {name: place for place, name in enumerate(ARCHITECTURES)}
#: Those that are trained; Node2Vec descends in closed form.
TRAINED = (FROZEN, NN, GPT, SSM)


class Settings(Config):
    """Settings of Figure 1.

    Attributes:
        graphs: Which of the four graphs.
        descent: How Node2Vec descends.
        most: Trains no longer than so many steps; the paper's own if left out.
        looks: Frames that are taken of a training, about; 40 of them are kept.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[str, ...] = GRAPHS
    descent: Descent = Descent()
    most: int | None = None
    looks: int = 500
    draws: int = 50


def _world(shape: str) -> Graph:
    """Labels are in order, so that neighbours are side by side; every start is drawn anew."""
    return Graph(shape=shape, shuffled=False)  # type: ignore[arg-type]


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Train every architecture on every graph, and film the first seed of each."""
    trials: list[Trial] = []
    measures = [
        Measure(name="recall", probe=graph_recall),
        Measure(name="correlation", probe=hop_correlation, options={"draws": settings.draws}),
    ]
    deductions = []
    descent, looks = settings.descent, settings.looks
    for shape in settings.graphs:
        world = _world(shape)
        labels = {"graph": shape, "architecture": NODE2VEC}
        for place, seed in enumerate(seeds):
            if place == 0:
                every = max(1, descent.steps // looks)
                deductions += deduce({"film": snapshot}, world, descent, seed, labels, every=every)
            deductions += deduce({"recall": graph_recall}, world, descent, seed, labels)
            deductions += deduce(
                {"correlation": hop_correlation}, world, descent, seed, labels, draws=settings.draws
            )
        for architecture in TRAINED:
            how = training(architecture, shape, most=settings.most)
            labels = {"graph": shape, "architecture": architecture}
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


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Pictures of the films, the graphs that they are of, and what the claims judge."""
    film = tables["film"]
    worlds = {shape: _world(shape).build() for shape in film["graph"].unique(maintain_order=True)}
    parts = film.partition_by(LABELS, maintain_order=True, as_dict=True)
    films = pl.concat(
        develop(rows, worlds[str(shape)]).select(
            pl.lit(shape).alias("graph"),
            pl.lit(architecture).alias("architecture"),
            pl.lit(rows["seed"][0]).alias("seed"),
            pl.all(),
        )
        for (shape, architecture), rows in parts.items()
    )
    graphs = [
        scene(world).select(pl.lit(shape).alias("graph"), pl.all())
        for shape, world in worlds.items()
    ]
    node2vec = pl.col("architecture") == NODE2VEC
    return {
        # Of hundreds of frames only those of the pictures are kept.
        "film": film.join(films, on=[*LABELS, "step"], how="semi"),
        "films": films,
        "graphs": pl.concat(graphs),
        "correlation": tables["correlation"]
        .with_columns(size=pl.col("spearman").abs())
        .sort(pl.col("architecture").replace_strict(RANK), maintain_order=True),
        "curves": films.select("graph", "architecture", "seed", "step", "spearman").filter(
            pl.col("step") > 0
        ),
        "stored": tables["recall"].with_columns(
            edges=pl.when(node2vec).then("recall_others").otherwise("recall")
        ),
    }


state = Statement(NAME, source=SOURCE, place="Fig. 1, §1")
GRAPH = ("graph",)


def _beyond(more: str, less: str, source: str | None = None) -> Claim:
    return state(
        f"{more.lower()}-beyond-{less.lower()}",
        f"{more} is more geometric than {less} on every graph: difference of |Spearman|.",
        Target(least=0.0),
        table="correlation",
        column="size",
        where={"architecture": more},
        minus={"architecture": less},
        each=GRAPH,
        source=source,
    )


CLAIMS = (
    state(
        "associative-is-arbitrary",
        "Associative storage leaves the embeddings as they were drawn: |Spearman|, every graph.",
        Target(most=0.2),
        table="correlation",
        column="size",
        where={"architecture": FROZEN},
        each=GRAPH,
    ),
    _beyond(GPT, FROZEN),
    _beyond(SSM, FROZEN),
    _beyond(NN, FROZEN),
    _beyond(NODE2VEC, GPT),
    _beyond(NODE2VEC, SSM),
    _beyond(NODE2VEC, NN),
    state(
        "node2vec-is-the-graph",
        "Node2Vec lays every graph out by its hops: Spearman of cosine against hops.",
        Target(most=-0.95),
        table="correlation",
        column="spearman",
        where={"architecture": NODE2VEC},
        each=GRAPH,
    ),
    state(
        "all-store-the-edges",
        "All of them store every edge, so that the difference is in how (recall; of Node2Vec "
        "without a node's own logit).",
        Target(least=1.0),
        table="stored",
        column="edges",
        each=LABELS,
    ),
)

FIGURES = (
    Figure(
        id="atlas",
        kind="atlas",
        title="Four graphs, as five architectures come to store them",
        caption=(
            "Embeddings of the nodes in their three leading directions, one seed; the lines are "
            "the edges that were trained. Each frame is turned to lie on the next one, so that "
            "what moves has moved. All store the same edges. Associative storage keeps the "
            "vectors as they were drawn, Node2Vec lays them out as the graph lies; TinyGPT and "
            "TinySSM come closest to that early on, and then let neighbours zigzag."
        ),
        sources=("films", "graphs"),
        options={"order": [*ARCHITECTURES]},
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
            "y_limits": [-1, 0.3],
        },
    ),
    Figure(
        id="curves",
        kind="lines",
        title="When the geometry comes, and what becomes of it",
        caption=(
            "Spearman of cosine against hops through training, the first seed, as in the picture "
            "above. TinyGPT and TinySSM come closest to the graph early, within some tens of "
            "steps, and lose some of it as they go on; Node2Vec keeps it."
        ),
        sources=("curves",),
        options={
            "x": "step",
            "y": "spearman",
            "series": "architecture",
            "facet": "graph",
            "x_log": True,
            "columns": 2,
            "order": [*ARCHITECTURES],
            "x_label": "step",
            "y_label": "Spearman",
        },
    ),
)

_MINI = {"descent": Descent(steps=40), "most": 4, "draws": 20, "graphs": ("grid", "cycle")}

RECIPE = Recipe(
    name=NAME,
    title="The same edges, stored as a list or as a map",
    paper=PAPER,
    place="Figure 1, §1",
    summary=(
        "Memorises the edges of four tiny graphs with five architectures, from associative storage "
        "(embeddings frozen) to Node2Vec, and shows how the embeddings come to lie through "
        "training: arbitrary, geometric, most geometric."
    ),
    scales={
        "smoke": Settings(**_MINI),  # type: ignore[arg-type]
        "cpu": Settings(),
        "paper": Settings(draws=1000),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *OURS,
        OURS_SSM,
        "The picture shows the first seed; the claims are over all of them.",
    ),
)
