"""Figure 1 of Geometric Memory: four tiny graphs as every architecture stores them."""

from __future__ import annotations

import polars as pl

from inweights.config import Config
from inweights.lab import Plan, cosine, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import drawings, filming
from inweights.recipes.geometric_memory.derived import judged
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]


class Settings(Config):
    """Settings of Figure 1.

    Attributes:
        graphs: Which of the four graphs.
        descent: How Node2Vec descends.
        most: Trains no longer than so many steps; the paper's own if left out.
        looks: Frames that are taken of a training, about; 40 of them are kept.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    most: int | None = None
    looks: int = 500
    draws: int = 50


def _world(shape: gm.Shape) -> Graph:
    """Labels are in order, so that neighbours are side by side; every start is drawn anew."""
    return Graph(shape=shape, shuffled=False)


def plan(settings: Settings) -> Plan:
    """Train every architecture on every graph, and film the first seed of each."""
    return filming.filmed(
        {shape: _world(shape) for shape in settings.graphs},
        lambda architecture, shape: gm.training(architecture, shape, most=settings.most),
        settings.descent,
        looks=settings.looks,
        draws=settings.draws,
        conditions=gm.CONDITIONS,
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Pictures of the films, the graphs that they are of, and what the claims judge."""
    tables = judged(tables)
    return tables | filming.pictures(tables, {shape: _world(shape) for shape in gm.GRAPHS})


state = gm.PAPER.stating("fig1", "Fig. 1, §1", gm.CODE)

CLAIMS = (
    filming.arbitrary(state),
    *(filming.more_geometric(state, more, gm.FROZEN) for more in (gm.GPT, gm.SSM, gm.NN)),
    *(filming.more_geometric(state, gm.NODE2VEC, less) for less in (gm.GPT, gm.SSM, gm.NN)),
    state(
        "node2vec-is-the-graph",
        "Node2Vec lays every graph out by its hops: Spearman of cosine against hops.",
        cosine("correlation", "spearman", architecture=gm.NODE2VEC).over("graph") <= -0.95,
    ),
    state(
        "all-store-the-edges",
        "All of them store every edge, so that the difference is in how (recall; of Node2Vec "
        "without a node's own logit).",
        share("stored", "edges").over("graph", "architecture") >= 1.0,
    ),
)

FIGURES = (
    *filming.figures(
        seen="All are taught the same edges. Associative storage keeps the vectors as they were "
        "drawn, Node2Vec lays them out as the graph lies; TinyGPT and TinySSM come closest to "
        "that early on, and then let neighbours zigzag.",
        course="TinyGPT and TinySSM come closest to the graph early, within some tens of steps, "
        "and lose some of it as they go on; Node2Vec keeps it.",
    ),
    drawings.by_condition(),
)

RECIPE = gm.PAPER.recipe(
    "fig1",
    title="The same edges, stored as a list or as a map",
    place="Figure 1, §1",
    summary=(
        "Memorises the edges of four tiny graphs with five architectures, from associative storage "
        "(embeddings frozen) to Node2Vec, and shows how the embeddings come to lie through "
        "training: arbitrary, geometric, most geometric."
    ),
    scales={
        "smoke": Settings(
            graphs=("grid", "cycle"), descent=gm.Node2VecDescent(steps=40), most=4, draws=20
        ),
        "cpu": Settings(),
        "paper": Settings(draws=1000),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    version=gm.VERSION,
    ours=(
        "looks",
        "draws",
        "most",
        *gm.OURS,
        gm.OURS_SSM,
        "The picture shows the first seed; the claims are over all of them.",
    ),
)
