"""Figure 1 of Geometric Memory: four tiny graphs as every architecture stores them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec import structs

from inweights.config import Config
from inweights.recipes.claim import Statement, Target
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
    training,
)
from inweights.recipes.geometric_memory.filming import FIGURES, filmed, more_geometric, pictures
from inweights.recipes.recipe import Plan, Recipe
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig1"
LABELS = ("graph", "architecture")


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
    return filmed(
        {shape: _world(shape) for shape in settings.graphs},
        lambda architecture, shape: training(architecture, shape, most=settings.most),
        settings.descent,
        seeds,
        looks=settings.looks,
        draws=settings.draws,
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Pictures of the films, the graphs that they are of, and what the claims judge."""
    return pictures(tables, {shape: _world(shape) for shape in GRAPHS})


state = Statement(NAME, source=SOURCE, place="Fig. 1, §1")
GRAPH = ("graph",)


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
    more_geometric(state, GPT, FROZEN),
    more_geometric(state, SSM, FROZEN),
    more_geometric(state, NN, FROZEN),
    more_geometric(state, NODE2VEC, GPT),
    more_geometric(state, NODE2VEC, SSM),
    more_geometric(state, NODE2VEC, NN),
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

_ATLAS, _CORRELATION, _CURVES = FIGURES
#: What is seen on these four graphs, below what is seen on any.
FILMED = (
    structs.replace(
        _ATLAS,
        caption=f"{_ATLAS.caption} All store the same edges. Associative storage keeps the vectors "
        "as they were drawn, Node2Vec lays them out as the graph lies; TinyGPT and TinySSM come "
        "closest to that early on, and then let neighbours zigzag.",
    ),
    _CORRELATION,
    structs.replace(
        _CURVES,
        caption=f"{_CURVES.caption} TinyGPT and TinySSM come closest to the graph early, within "
        "some tens of steps, and lose some of it as they go on; Node2Vec keeps it.",
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
    figures=FILMED,
    ours=(
        *OURS,
        OURS_SSM,
        "The picture shows the first seed; the claims are over all of them.",
    ),
)
