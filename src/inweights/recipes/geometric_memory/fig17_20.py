"""Figures 17 to 20 of Geometric Memory: every architecture on every tiny graph."""

from __future__ import annotations

from functools import partial

import polars as pl

import inweights as iw
from inweights.config import Config
from inweights.lab import Measure, Plan, cosine, number, share
from inweights.recipes.derived import beside_chance
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import drawings
from inweights.recipes.geometric_memory.derived import beside_random, judged, top_energy

__all__ = ["RECIPE", "Settings"]

LABELS = ("graph", "architecture")
CHANCE = "random vectors"


class Settings(Config):
    """Settings of Figures 17 to 20.

    Attributes:
        graphs: Which of the four graphs.
        architectures: Which of the five architectures.
        descent: How Node2Vec descends.
        most: Trains no longer than so many steps; the paper's own if left out.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    architectures: tuple[str, ...] = gm.ARCHITECTURES
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    most: int | None = None
    draws: int = 200


def plan(settings: Settings) -> Plan:
    """Train TinyGPT, TinySSM, TinyNN and its frozen variant; Node2Vec descends in closed form."""
    draws = {"draws": settings.draws}
    return Plan(
        trials=gm.trials(settings.graphs, settings.architectures, settings.most, settings.descent),
        measures=[
            Measure(name="recall", probe=iw.probes.graph_recall),
            Measure(name="correlation", probe=iw.probes.hop_correlation, options=draws),
            Measure(name="energy", probe=iw.probes.spectral_energy, options=draws),
        ],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Distances from null distributions, energy in the top eigenspaces, rows of random vectors."""
    tables = judged(tables)
    correlation = beside_random(tables["correlation"])
    recall = tables["recall"].with_columns(above_floor=pl.col("loss") - pl.col("floor"))
    top = top_energy(tables["energy"], LABELS)
    spectra = tables["energy"].with_columns(number=pl.col("space") + 1)
    with_chance = partial(beside_chance, label="architecture", name=CHANCE)
    return tables | {
        "correlation": correlation,
        "recall": recall,
        "top": top,
        "flat": correlation.filter(pl.col("graph").is_in(["grid", "cycle"])),
        "stored": recall.filter(pl.col("architecture") != gm.NODE2VEC),
        "correlations": with_chance(correlation, "spearman", "null_mean"),
        "energies": with_chance(top, "top", "by_chance"),
        "spectra": with_chance(spectra, "energy", "null_mean"),
    }


state = gm.PAPER.stating("fig17-20", "Figs. 17–20, C.3", gm.CODE)

spearman = cosine("correlation", "spearman").over("graph")
beyond_chance = number("correlation", "beyond_chance").over("graph")
top = share("top", "top").over("graph")
top_beyond_chance = cosine("top", "beyond_chance").over("graph")

CLAIMS = (
    state(
        "node2vec-is-geometric",
        "Node2Vec lays nodes out by their distance: Spearman of cosine against hops, every graph.",
        spearman.at(architecture=gm.NODE2VEC) <= -0.95,
    ),
    state(
        "node2vec-top-spaces",
        "Node2Vec's energy lies in the top eigenspaces (the first that hold two dimensions).",
        top.at(architecture=gm.NODE2VEC) >= 0.85,
    ),
    state(
        "node2vec-first-space",
        "On every graph it lies in the first of them alone (the paper says 'Fiedler-like').",
        top.of("first").at(architecture=gm.NODE2VEC) >= 0.85,
        source="ours",
    ),
    *(
        state(
            f"{short}-is-geometric",
            f"{name}'s embeddings follow the distance on grid and cycle (Spearman).",
            cosine("flat", "spearman", architecture=name).over("graph") <= -0.5,
        )
        for name, short in ((gm.GPT, "tiny-gpt"), (gm.SSM, "tiny-ssm"))
    ),
    *(
        state(
            f"{name.lower()}-beats-chance",
            f"{name}'s embeddings are more geometric than random ones on every graph: Spearman "
            "minus the 2.5% quantile of random vectors.",
            beyond_chance.at(architecture=name) <= 0.0,
        )
        for name in (gm.GPT, gm.SSM, gm.NN)
    ),
    *(
        state(
            f"{name.lower()}-top-spaces",
            f"{name} puts more energy into the top eigenspaces than chance, on every graph: share "
            "minus the 97.5% quantile of random vectors.",
            top_beyond_chance.at(architecture=name) >= 0.0,
        )
        for name in (gm.GPT, gm.SSM, gm.NN)
    ),
    state(
        "frozen-are-not",
        "Frozen embeddings store the same edges without geometry: |Spearman|.",
        share("correlation", "size", architecture=gm.FROZEN).over("graph") <= 0.2,
        check=True,
    ),
    state(
        "edges-are-stored",
        "TinyGPT, TinySSM, TinyNN and the frozen variant store every edge (top-degree recall).",
        share("stored", "recall").over(*LABELS) >= 1.0,
    ),
    state(
        "node2vec-stores-edges",
        "Node2Vec stores every edge as well, once a node's own logit is left out (recall).",
        share("recall", "recall_others", architecture=gm.NODE2VEC).over("graph") >= 1.0,
        source="ours",
    ),
)

FIGURES = (
    drawings.by_condition(),
    drawings.on_graphs(
        "correlation",
        "correlations",
        "Does the angle between two nodes say how far apart they are?",
        "Spearman correlation of cosine with hop distance over all pairs that a path joins; -1 is "
        "a perfect global geometry. Mean over seeds with 95% interval, beside the mean of random "
        "vectors. Frozen embeddings stay near these; TinyNN, which uses the rough end of the "
        "spectrum most, lies between them and TinyGPT on every graph.",
        y="spearman",
        y_label="Spearman ρ",
        y_limits=(-1, 0.3),
    ),
    drawings.on_graphs(
        "energy",
        "energies",
        "Share of the embeddings' energy in the top eigenspaces of the graph",
        "Whole eigenspaces of P + Pᵀ − 2I, degenerate vectors left out: one threefold space of the "
        "star, one twofold of grid and cycle, two simple ones of the irregular graph.",
        y="top",
        y_label="share of the energy",
        y_limits=(0, 1),
    ),
    drawings.spectra(
        "spectra",
        "spectra",
        "Energy by eigenspace, from the smoothest to the roughest",
        "Space 1 is the Fiedler space; neighbours differ in sign in the last ones. Random vectors "
        "have energy in proportion to a space's dimension.",
        series="architecture",
        facet="graph",
        order=(*gm.ARCHITECTURES, CHANCE),
        y_limits=(0, 1),
        columns=2,
    ),
    drawings.on_graphs(
        "memory",
        "recall",
        "Loss above the least that is possible",
        "A node with several neighbours cannot name them all: the floor is the mean of ln degree "
        "(.693, 1.127, .693, .936 nats). Node2Vec stays above it because a vector's largest inner "
        "product is with itself. Frozen embeddings stay above it as well, but on the cycle, where "
        "they train ten times as long and at a higher rate.",
        y="above_floor",
        y_label="loss above its floor (nats)",
    ),
)

RECIPE = gm.PAPER.recipe(
    "fig17-20",
    title="Geometry in every architecture, on every tiny graph",
    place="Figures 17–20, appendix C.3",
    summary=(
        "Memorises the edges of four tiny graphs with Node2Vec, TinyGPT, TinySSM (Mamba), TinyNN, "
        "and TinyNN with frozen embeddings, and asks whether the embeddings lie as the graph does: "
        "correlation of angle and hop distance, energy by eigenspace, and recall, each beside what "
        "chance gives."
    ),
    scales={
        "smoke": Settings(
            graphs=("grid", "irregular"), descent=gm.Node2VecDescent(steps=40), most=3, draws=20
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
    ours=("most", "draws", *gm.OURS, gm.OURS_SSM),
)
