"""Figure 32 of Geometric Memory: one direction of the edges is enough on tiny graphs."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import cosines, graph_recall, hop_correlation, spectral_energy
from inweights.probes.reference_graph import both_ways
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import (
    FROZEN,
    GPT,
    GRAPHS,
    OURS,
    OURS_SSM,
    PAPER,
    SOURCE,
    SSM,
    far_correlation,
    top_energy,
    training,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig32"
LABELS = ("graph", "architecture", "edges")
MODELS = (GPT, SSM, FROZEN)
BOTH, FORWARD, BACKWARD = "both", "forward", "backward"


class Settings(Config):
    """Settings of Figure 32.

    Attributes:
        graphs: Which of the four graphs.
        most: Trains no longer than so many steps; the paper's own if left out.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[str, ...] = GRAPHS
    most: int | None = None
    draws: int = 200


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Train on each edge as written, turned round, or both ways; all as the paper trains both."""
    trials = [
        Trial(
            labels={"graph": shape, "architecture": architecture, "edges": edges},
            world=Graph(shape=shape, edges=edges),  # type: ignore[arg-type]
            model=how.model,
            curriculum=how.curriculum,
            seed=seed,
        )
        for shape in settings.graphs
        for architecture in MODELS
        for edges in (BOTH, FORWARD, BACKWARD)
        for how in [training(architecture, shape, most=settings.most)]
        for seed in seeds
    ]
    draws = {"draws": settings.draws}
    # Recall is that of the edges that were taught; all else sees the graph both ways.
    measures = [
        Measure(name="recall", probe=graph_recall),
        Measure(name="cosines", probe=both_ways, options={"inner": cosines}),
        Measure(name="correlation", probe=both_ways, options={"inner": hop_correlation, **draws}),
        Measure(name="energy", probe=both_ways, options={"inner": spectral_energy, **draws}),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Distances from what chance gives, over all pairs and over those that no edge joins."""
    correlation = tables["correlation"].with_columns(
        beyond_chance=pl.col("spearman") - pl.col("null_low"),
        size=pl.col("spearman").abs(),
    )
    top = top_energy(tables["energy"], LABELS).with_columns(
        beyond_chance=pl.col("top") - pl.col("chance_high"),
    )
    one_way = pl.col("edges") != BOTH
    return {
        "correlation": correlation,
        "top": top,
        "one_way": correlation.filter(one_way),
        "one_way_top": top.filter(one_way),
        "far": far_correlation(tables["cosines"], LABELS).filter(one_way),
    }


state = Statement(NAME, source=SOURCE, place="Fig. 32, C.3.1")
EACH = ("graph", "edges")

CLAIMS = (
    state(
        "edges-are-stored",
        "Every model stores the edges that it was taught, in the directions that it was taught "
        "(top-degree recall).",
        Target(least=1.0),
        table="recall",
        column="recall",
        each=LABELS,
    ),
    *(
        claim
        for name, source in ((GPT, SOURCE), (SSM, "ours"))
        for claim in (
            state(
                f"{name.lower()}-one-direction",
                f"{name} that was taught one direction is geometric as well, on every graph: "
                "Spearman of cosine against hops minus the 2.5% quantile of random vectors.",
                Target(most=0.0),
                table="one_way",
                column="beyond_chance",
                where={"architecture": name},
                each=EACH,
                source=source,
            ),
            state(
                f"{name.lower()}-one-direction-far",
                f"So are {name}'s pairs that no edge joins: Spearman two hops apart and more.",
                Target(most=0.0),
                table="far",
                column="far",
                where={"architecture": name},
                each=EACH,
                source=source,
            ),
            state(
                f"{name.lower()}-one-direction-spectrum",
                f"And {name} has more energy in the top eigenspaces than chance, on every graph: "
                "share minus the 97.5% quantile of random vectors.",
                Target(least=0.0),
                table="one_way_top",
                column="beyond_chance",
                where={"architecture": name},
                each=EACH,
                source=source,
            ),
        )
    ),
    state(
        "as-geometric-as-both",
        "TinyGPT needs no second direction: its Spearman with edges as written is at most .1 above "
        "that with both, on every graph (difference).",
        Target(most=0.1),
        table="correlation",
        column="spearman",
        where={"architecture": GPT, "edges": FORWARD},
        minus={"architecture": GPT, "edges": BOTH},
        each=("graph",),
        source="ours",
    ),
    state(
        "frozen-are-not",
        "Frozen embeddings store the same edges without geometry: |Spearman|.",
        Target(most=0.2),
        table="correlation",
        column="size",
        where={"architecture": FROZEN},
        each=EACH,
        source="ours",
    ),
)

_BY_GRAPH = {"axis": "graph", "value": "edges", "series": "architecture", "columns": 4}

FIGURES = (
    Figure(
        id="correlation",
        kind="sweeps",
        title="Correlation of cosine with hop distance, by the edges that were taught",
        caption=(
            "Spearman over all pairs that a path joins; −1 where the farther node is always the "
            "less similar one. Distances are those of the graph without directions."
        ),
        sources=("correlation",),
        options={**_BY_GRAPH, "y": "spearman", "y_label": "Spearman ρ", "y_limits": [-1, 0.4]},
    ),
    Figure(
        id="energy",
        kind="sweeps",
        title="Share of the embeddings' energy in the top eigenspaces of the graph",
        caption=(
            "Whole eigenspaces of P + Pᵀ − 2I of the graph without directions, degenerate vectors "
            "left out."
        ),
        sources=("top",),
        options={**_BY_GRAPH, "y": "top", "y_label": "share of the energy", "y_limits": [0, 1]},
    ),
)

_MINI = Settings(graphs=("grid", "path-star"), most=3, draws=20)

RECIPE = Recipe(
    name=NAME,
    title="One direction of the edges is enough, on tiny graphs",
    paper=PAPER,
    place="Figure 32, appendix C.3.1",
    summary=(
        "Teaches TinyGPT, TinySSM and frozen embeddings the edges of four tiny graphs as they are "
        "written, turned round, and both ways, and asks whether the embeddings lie as the graph "
        "does, of which half of the edges were never seen."
    ),
    scales={"smoke": _MINI, "cpu": Settings(), "paper": Settings(draws=1000)},
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *OURS,
        OURS_SSM,
        "Edges are written away from the star's root, to the right and down, and around the ring.",
    ),
)
