"""Figures 17 to 20 of Geometric Memory: every architecture on every tiny graph."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import graph_recall, hop_correlation, spectral_energy
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import (
    ARCHITECTURES,
    FROZEN,
    GRAPHS,
    NODE2VEC,
    OURS,
    OURS_SSM,
    PAPER,
    SOURCE,
    SSM,
    Descent,
    deduce,
    top_energy,
    trials,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig17-20"
LABELS = ("graph", "architecture")
CHANCE = "random vectors"
PROBES = {"recall": graph_recall, "correlation": hop_correlation, "energy": spectral_energy}


class Settings(Config):
    """Settings of Figures 17 to 20.

    Attributes:
        graphs: Which of the four graphs.
        architectures: Which of the five architectures.
        descent: How Node2Vec descends.
        most: Trains no longer than so many steps; the paper's own if left out.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[str, ...] = GRAPHS
    architectures: tuple[str, ...] = ARCHITECTURES
    descent: Descent = Descent()
    most: int | None = None
    draws: int = 200


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Train TinyGPT, TinySSM, TinyNN and its frozen variant; Node2Vec descends in closed form."""
    options = {"draws": settings.draws}
    deductions = []
    for shape in settings.graphs if NODE2VEC in settings.architectures else ():
        world = Graph(shape=shape)  # type: ignore[arg-type]
        labels = {"graph": shape, "architecture": NODE2VEC}
        for seed in seeds:
            for name, probe in PROBES.items():
                chosen = {} if probe is graph_recall else options
                deductions += deduce({name: probe}, world, settings.descent, seed, labels, **chosen)
    return Plan(
        trials=trials(settings.graphs, settings.architectures, seeds, settings.most),
        measures=[
            Measure(name=name, probe=probe, options={} if probe is graph_recall else options)
            for name, probe in PROBES.items()
        ],
        deductions=deductions,
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Distances from null distributions, energy in the top eigenspaces, rows of random vectors."""
    node2vec = pl.col("architecture") == NODE2VEC
    correlation = tables["correlation"].with_columns(
        size=pl.col("spearman").abs(),
        beyond_chance=pl.col("spearman") - pl.col("null_low"),
    )
    recall = tables["recall"].with_columns(
        of_ceiling=pl.col("accuracy") / pl.col("ceiling"),
        above_floor=pl.col("loss") - pl.col("floor"),
    )
    top = top_energy(tables["energy"], LABELS).with_columns(
        beyond_chance=pl.col("top") - pl.col("chance_high")
    )
    spectra = tables["energy"].with_columns(number=pl.col("space") + 1)
    return {
        "correlation": correlation,
        "recall": recall,
        "top": top,
        "flat": correlation.filter(pl.col("graph").is_in(["grid", "cycle"])),
        "stored": recall.filter(~node2vec),
        "correlations": _beside_chance(correlation, "spearman", "null_mean"),
        "energies": _beside_chance(top, "top", "by_chance"),
        "spectra": _beside_chance(spectra, "energy", "null_mean"),
    }


def _beside_chance(table: pl.DataFrame, column: str, null: str) -> pl.DataFrame:
    """Add rows of random vectors, whose value is the mean of one null distribution."""
    one = table.filter(pl.col("architecture") == table["architecture"].first())
    drawn = one.with_columns(pl.col(null).alias(column), architecture=pl.lit(CHANCE))
    return pl.concat([table, drawn])


state = Statement(NAME, source=SOURCE, place="Figs. 17–20, C.3")

CLAIMS = (
    state(
        "node2vec-is-geometric",
        "Node2Vec lays nodes out by their distance: Spearman of cosine against hops, every graph.",
        Target(most=-0.95),
        table="correlation",
        column="spearman",
        where={"architecture": NODE2VEC},
        each=("graph",),
    ),
    state(
        "node2vec-top-spaces",
        "Node2Vec's energy lies in the top eigenspaces (the first that hold two dimensions).",
        Target(least=0.85),
        table="top",
        column="top",
        where={"architecture": NODE2VEC},
        each=("graph",),
    ),
    state(
        "node2vec-first-space",
        "It lies in the Fiedler space alone, on every graph.",
        Target(least=0.85),
        table="top",
        column="first",
        where={"architecture": NODE2VEC},
        each=("graph",),
    ),
    state(
        "tiny-gpt-is-geometric",
        "TinyGPT's embeddings follow the distance on grid and cycle (Spearman).",
        Target(most=-0.5),
        table="flat",
        column="spearman",
        where={"architecture": "TinyGPT"},
        each=("graph",),
    ),
    state(
        "tiny-ssm-is-geometric",
        "TinySSM's embeddings follow the distance on grid and cycle (Spearman).",
        Target(most=-0.5),
        table="flat",
        column="spearman",
        where={"architecture": SSM},
        each=("graph",),
    ),
    *(
        state(
            f"{name.lower()}-beats-chance",
            f"{name}'s embeddings are more geometric than random ones on every graph: Spearman "
            "minus the 2.5% quantile of random vectors.",
            Target(most=0.0),
            table="correlation",
            column="beyond_chance",
            where={"architecture": name},
            each=("graph",),
        )
        for name in ("TinyGPT", "TinySSM", "TinyNN")
    ),
    *(
        state(
            f"{name.lower()}-top-spaces",
            f"{name} puts more energy into the top eigenspaces than chance, on every graph: share "
            "minus the 97.5% quantile of random vectors.",
            Target(least=0.0),
            table="top",
            column="beyond_chance",
            where={"architecture": name},
            each=("graph",),
        )
        for name in ("TinyGPT", "TinySSM", "TinyNN")
    ),
    state(
        "frozen-are-not",
        "Frozen embeddings store the same edges without geometry: |Spearman|.",
        Target(most=0.2),
        table="correlation",
        column="size",
        where={"architecture": FROZEN},
        each=("graph",),
    ),
    state(
        "edges-are-stored",
        "TinyGPT, TinySSM, TinyNN and the frozen variant store every edge (top-degree recall).",
        Target(least=1.0),
        table="stored",
        column="recall",
        each=LABELS,
    ),
    state(
        "node2vec-stores-edges",
        "Node2Vec stores every edge as well, once a node's own logit is left out (recall).",
        Target(least=1.0),
        table="recall",
        column="recall_others",
        where={"architecture": NODE2VEC},
        each=("graph",),
        source="ours",
    ),
)

_BY_GRAPH = {"axis": "graph", "value": "architecture", "columns": 4}

FIGURES = (
    Figure(
        id="correlation",
        kind="sweeps",
        title="Does the angle between two nodes say how far apart they are?",
        caption=(
            "Spearman correlation of cosine with hop distance over all pairs that a path joins; "
            "-1 is a perfect global geometry. Mean over seeds with 95% interval, beside the mean "
            "of random vectors. Frozen embeddings store the same edges without geometry; TinyNN, "
            "which also uses the rough end of the spectrum, comes close to them on the star."
        ),
        sources=("correlations",),
        options={**_BY_GRAPH, "y": "spearman", "y_label": "Spearman ρ", "y_limits": [-1, 0.3]},
    ),
    Figure(
        id="energy",
        kind="sweeps",
        title="Share of the embeddings' energy in the top eigenspaces of the graph",
        caption=(
            "Whole eigenspaces of P + Pᵀ − 2I, degenerate vectors left out: one threefold space of "
            "the star, one twofold of grid and cycle, two simple ones of the irregular graph."
        ),
        sources=("energies",),
        options={**_BY_GRAPH, "y": "top", "y_label": "share of the energy", "y_limits": [0, 1]},
    ),
    Figure(
        id="spectra",
        kind="lines",
        title="Energy by eigenspace, from the smoothest to the roughest",
        caption=(
            "Space 1 is the Fiedler space; neighbours differ in sign in the last ones. Random "
            "vectors have energy in proportion to a space's dimension."
        ),
        sources=("spectra",),
        options={
            "x": "number",
            "y": "energy",
            "series": "architecture",
            "facet": "graph",
            "order": [*ARCHITECTURES, CHANCE],
            "x_label": "eigenspace",
            "y_label": "share of the energy",
            "y_limits": [0, 1],
            "columns": 2,
        },
    ),
    Figure(
        id="memory",
        kind="sweeps",
        title="Loss above the least that is possible",
        caption=(
            "A node with several neighbours cannot name them all: the floor is the mean of ln "
            "degree (.693, 1.127, .693, .936 nats). Node2Vec stays above it because a vector's "
            "largest inner product is with itself."
        ),
        sources=("recall",),
        options={**_BY_GRAPH, "y": "above_floor", "y_label": "loss above its floor (nats)"},
    ),
)

_MINI = {"descent": Descent(steps=40), "most": 3, "draws": 20, "graphs": ("grid", "irregular")}

RECIPE = Recipe(
    name=NAME,
    title="Geometry in every architecture, on every tiny graph",
    paper=PAPER,
    place="Figures 17–20, appendix C.3",
    summary=(
        "Memorises the edges of four tiny graphs with Node2Vec, TinyGPT, TinySSM (Mamba), TinyNN, "
        "and TinyNN with frozen embeddings, and asks whether the embeddings lie as the graph does: "
        "correlation of angle and hop distance, energy by eigenspace, and recall, each beside what "
        "chance gives."
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
    ours=(*OURS, OURS_SSM),
)
