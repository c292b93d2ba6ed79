"""Figure 32 of Geometric Memory: one direction of the edges is enough on tiny graphs."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Literal

import polars as pl

import inweights as iw
from inweights.config import Config
from inweights.lab import Claim, Measure, Plan, cosine, number, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import drawings
from inweights.recipes.geometric_memory.derived import (
    beside_random,
    far_correlation,
    judged,
    top_energy,
)
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

LABELS = ("graph", "architecture", "edges")
MODELS = (gm.GPT, gm.SSM, gm.FROZEN)
#: Which directions of the edges are taught.
TAUGHT: tuple[Literal["both", "forward", "backward"], ...] = ("both", "forward", "backward")


class Settings(Config):
    """Settings of Figure 32.

    Attributes:
        graphs: Which of the four graphs.
        most: Trains no longer than so many steps; the paper's own if left out.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    most: int | None = None
    draws: int = 200


def plan(settings: Settings) -> Plan:
    """Train on each edge as written, turned round, or both ways; all as the paper trains both."""
    from inweights.probes.reference_graph import both_ways

    trials = []
    for shape, name, edges in product(settings.graphs, MODELS, TAUGHT):
        how, world = gm.training(name, shape, most=settings.most), Graph(shape=shape, edges=edges)
        labels = {"graph": shape, "architecture": name, "edges": edges}
        trials += [gm.trial(how, world, condition, **labels) for condition in gm.CONDITIONS]
    # Recall is that of the edges that were taught; all else sees the graph both ways.
    draws, seen = {"draws": settings.draws}, partial(Measure, probe=both_ways)
    measures = [
        Measure(name="recall", probe=iw.probes.graph_recall),
        seen(name="cosines", options={"inner": iw.probes.cosines}),
        seen(name="correlation", options={"inner": iw.probes.hop_correlation, **draws}),
        seen(name="energy", options={"inner": iw.probes.spectral_energy, **draws}),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Distances from what chance gives, over all pairs and over those that no edge joins."""
    gpt = tables["correlation"].filter(pl.col("architecture") == gm.GPT)
    tables = judged(tables)
    correlation = beside_random(tables["correlation"])
    top = top_energy(tables["energy"], LABELS)
    one_way = pl.col("edges") != "both"
    return tables | {
        "conditions": gpt,
        "correlation": correlation,
        "top": top,
        "one_way": correlation.filter(one_way),
        "one_way_top": top.filter(one_way),
        "far": far_correlation(tables["cosines"], LABELS).filter(one_way),
    }


state, ours = gm.stating("fig32", "Fig. 32, C.3.1", gm.CODE)

beyond_chance = number("one_way", "beyond_chance").over("graph")
far = cosine("far", "far").over("graph")
top_beyond_chance = cosine("one_way_top", "beyond_chance").over("graph")
size = share("correlation", "size").over("graph", "edges")
gpt = cosine("correlation", "spearman", architecture=gm.GPT).over("graph")


def _one_direction(name: str, edges: str, source: str) -> tuple[Claim, Claim, Claim]:
    """An architecture that was taught one direction is geometric, by three measures."""
    way = "" if edges == "forward" else f"-{edges}"
    short, said = f"{name.lower()}-one-direction{way}", "as written" if not way else "turned round"
    return (
        state(
            short,
            f"{name} that was taught the edges {said} is geometric as well, on every graph: "
            "Spearman of cosine against hops minus the 2.5% quantile of random vectors.",
            beyond_chance.at(architecture=name, edges=edges) <= 0.0,
            source=source,
        ),
        state(
            f"{short}-far",
            f"So are {name}'s pairs that no edge joins: Spearman two hops apart and more.",
            far.at(architecture=name, edges=edges) <= 0.0,
            source=source,
        ),
        state(
            f"{short}-spectrum",
            f"And {name} has more energy in the top eigenspaces than chance, on every graph: share "
            "minus the 97.5% quantile of random vectors.",
            top_beyond_chance.at(architecture=name, edges=edges) >= 0.0,
            source=source,
        ),
    )


CLAIMS = (
    state(
        "edges-are-stored",
        "Every model stores the edges that it was taught, in the directions that it was taught "
        "(top-degree recall).",
        share("recall", "recall").over(*LABELS) >= 1.0,
    ),
    *_one_direction(gm.GPT, "forward", gm.PAPER.source),
    *_one_direction(gm.GPT, "backward", "ours"),
    *_one_direction(gm.SSM, "forward", "ours"),
    *_one_direction(gm.SSM, "backward", "ours"),
    ours(
        "as-geometric-as-both",
        "TinyGPT needs no second direction: its Spearman with edges as written is at most .1 above "
        "that with both, on every graph (difference).",
        gpt.at(edges="forward") - gpt.at(edges="both") <= 0.1,
    ),
    ours(
        "frozen-are-not",
        "Frozen embeddings store the same edges without geometry: |Spearman|.",
        size.at(architecture=gm.FROZEN) <= 0.2,
        check=True,
    ),
)

by_graph = partial(drawings.on_graphs, value="edges", series="architecture")

FIGURES = (
    drawings.by_condition(value="edges", y_label="Spearman ρ of TinyGPT"),
    by_graph(
        "correlation",
        "correlation",
        "Correlation of cosine with hop distance, by the edges that were taught",
        "Spearman over all pairs that a path joins; −1 where the farther node is always the less "
        "similar one. Distances are those of the graph without directions.",
        y="spearman",
        y_label="Spearman ρ",
        y_limits=(-1, 0.4),
    ),
    by_graph(
        "energy",
        "top",
        "Share of the embeddings' energy in the top eigenspaces of the graph",
        "Whole eigenspaces of P + Pᵀ − 2I of the graph without directions, degenerate vectors left "
        "out.",
        y="top",
        y_label="share of the energy",
        y_limits=(0, 1),
    ),
)

RECIPE = gm.PAPER.recipe(
    "fig32",
    title="One direction of the edges is enough, on tiny graphs",
    place="Figure 32, appendix C.3.1",
    summary=(
        "Teaches TinyGPT, TinySSM and frozen embeddings the edges of four tiny graphs as they are "
        "written, turned round, and both ways, and asks whether the embeddings lie as the graph "
        "does, of which half of the edges were never seen."
    ),
    scales={
        "smoke": Settings(graphs=("grid", "path-star"), most=3, draws=20),
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
        "most",
        "draws",
        *gm.OURS,
        gm.OURS_SSM,
        "The paper's code has no run with the edges turned round; what is said of it is ours.",
        "Edges are written away from the star's root, to the right and down, and around the ring.",
    ),
)
