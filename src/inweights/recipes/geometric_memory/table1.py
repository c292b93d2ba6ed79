"""Table 1 and Figure 1 of Geometric Memory: two ways to remember the same edges."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import cosines, graph_recall, hop_correlation
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import (
    FROZEN,
    GPT,
    GRAPHS,
    NODE2VEC,
    OURS,
    PAPER,
    SOURCE,
    Descent,
    deduce,
    far_correlation,
    trials,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/table1"
LABELS = ("graph", "architecture")
MEMORIES = (FROZEN, GPT, NODE2VEC)


class Settings(Config):
    """Settings of Table 1.

    Attributes:
        graphs: Which of the four graphs.
        descent: How Node2Vec descends.
        most: Trains no longer than so many steps; the paper's own if left out.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[str, ...] = GRAPHS
    descent: Descent = Descent()
    most: int | None = None
    draws: int = 200


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Store every graph associatively, with a Transformer, and with Node2Vec."""
    draws = {"draws": settings.draws}
    probes = {
        "cosines": (cosines, {}),
        "correlation": (hop_correlation, draws),
        "recall": (graph_recall, {}),
    }
    deductions = [
        deduction
        for shape in settings.graphs
        for seed in seeds
        for name, (probe, options) in probes.items()
        for deduction in deduce(
            {name: probe},
            Graph(shape=shape),  # type: ignore[arg-type]
            settings.descent,
            seed,
            {"graph": shape, "architecture": NODE2VEC},
            **options,
        )
    ]
    return Plan(
        trials=trials(settings.graphs, MEMORIES, seeds, settings.most),
        measures=[Measure(name=n, probe=probe, options=o) for n, (probe, o) in probes.items()],
        deductions=deductions,
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Correlations over all pairs and beyond neighbours; mean cosine by hops."""
    far = far_correlation(tables["cosines"], LABELS).with_columns(
        all_size=pl.col("all").abs(), far_size=pl.col("far").abs()
    )
    pairs = far.unpivot(
        on=["all", "far"], index=[*LABELS, "seed"], variable_name="pairs", value_name="rho"
    ).sort(pl.col("architecture").cast(pl.Enum(MEMORIES)), maintain_order=True)
    by_hops = (
        tables["cosines"]
        .filter(pl.col("hops") >= 1)
        .group_by([*LABELS, "seed", "hops"], maintain_order=True)
        .agg(pl.col("cosine").mean())
    )
    chance = tables["correlation"].with_columns(
        beyond_chance=pl.col("spearman") - pl.col("null_low")
    )
    named = pl.when(pl.col("architecture") == NODE2VEC).then(pl.col("recall_others"))
    stored = tables["recall"].with_columns(memory=named.otherwise(pl.col("recall")))
    return {"far": far, "pairs": pairs, "by_hops": by_hops, "chance": chance, "stored": stored}


state = Statement(NAME, source=SOURCE, place="Table 1, Fig. 1")
GRAPH = ("graph",)

CLAIMS = (
    state(
        "all-remember",
        "All three store every edge (top-degree recall; Node2Vec's own logit left out).",
        Target(least=1.0),
        table="stored",
        column="memory",
        each=LABELS,
    ),
    state(
        "associative-is-arbitrary",
        "Associative embeddings are arbitrary: |Spearman| of cosine against hops.",
        Target(most=0.2),
        table="far",
        column="all_size",
        where={"architecture": FROZEN},
        each=GRAPH,
    ),
    state(
        "transformer-is-geometric",
        "A Transformer's are geometric: Spearman minus the 2.5% quantile of random vectors.",
        Target(most=0.0),
        table="chance",
        column="beyond_chance",
        where={"architecture": GPT},
        each=GRAPH,
    ),
    state(
        "node2vec-is-most",
        "Node2Vec's are the most geometric: its Spearman minus the Transformer's.",
        Target(most=-0.1),
        table="far",
        column="all",
        where={"architecture": NODE2VEC},
        minus={"architecture": GPT},
        each=GRAPH,
        place="Fig. 1, §4.1",
    ),
    state(
        "associative-knows-neighbours-only",
        "Between nodes that no edge joins the associative ones say nothing: |Spearman| over pairs "
        "two or more hops apart.",
        Target(most=0.2),
        table="far",
        column="far_size",
        where={"architecture": FROZEN},
        each=GRAPH,
    ),
    state(
        "node2vec-knows-far-pairs",
        "Node2Vec's say how far apart they are (Spearman over such pairs).",
        Target(most=-0.8),
        table="far",
        column="far",
        where={"architecture": NODE2VEC},
        each=GRAPH,
    ),
    state(
        "transformer-knows-far-pairs",
        "So do the Transformer's (Spearman over such pairs).",
        Target(most=-0.3),
        table="far",
        column="far",
        where={"architecture": GPT},
        each=GRAPH,
    ),
)

FIGURES = (
    Figure(
        id="pairs",
        kind="sweeps",
        title="What embeddings know about pairs of nodes",
        caption=(
            "Spearman correlation of cosine with hop distance, over all pairs and over those two "
            "or more hops apart, which no fact names. A lookup knows nothing of either; a "
            "geometry knows both."
        ),
        sources=("pairs",),
        options={
            "axis": "graph",
            "value": "architecture",
            "y": "rho",
            "series": "pairs",
            "labels": {"all": "all pairs", "far": "two or more hops"},
            "y_label": "Spearman ρ",
            "y_limits": [-1, 0.3],
        },
    ),
    Figure(
        id="by-hops",
        kind="lines",
        title="Mean cosine by distance",
        caption=(
            "A global geometry falls with every hop. TinyGPT's is greatest at two hops and lower "
            "beyond, in zigzags: neighbours of opposite sign bring nodes two hops apart together. "
            "At the far ends of the star it rises again."
        ),
        sources=("by_hops",),
        options={
            "x": "hops",
            "y": "cosine",
            "series": "architecture",
            "facet": "graph",
            "order": list(MEMORIES),
            "x_label": "hops",
            "y_label": "mean cosine",
            "columns": 2,
        },
    ),
)

_MINI = Settings(graphs=("cycle",), descent=Descent(steps=40), most=3, draws=20)

RECIPE = Recipe(
    name=NAME,
    title="Two ways to remember the same edges",
    paper=PAPER,
    place="Table 1, Figure 1, §2.3–2.4",
    summary=(
        "Stores the four tiny graphs with frozen embeddings, with a one-layer Transformer and "
        "with Node2Vec, and asks of each what its embeddings say about pairs of nodes that no "
        "trained fact joins."
    ),
    scales={"smoke": _MINI, "cpu": Settings(), "paper": Settings(draws=1000)},
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=OURS,
)
