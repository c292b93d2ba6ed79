"""Table 1 and Figure 1 of Geometric Memory: two ways to remember the same edges."""

from __future__ import annotations

import polars as pl

import inweights as iw
from inweights.config import Config
from inweights.lab import Measure, Plan, cosine, number, share, sweeps
from inweights.recipes.derived import mean_by_hops
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import drawings
from inweights.recipes.geometric_memory.derived import beside_random, far_correlation, judged

__all__ = ["RECIPE", "Settings"]

LABELS = ("graph", "architecture")
MEMORIES = (gm.FROZEN, gm.GPT, gm.NODE2VEC)


class Settings(Config):
    """Settings of Table 1.

    Attributes:
        graphs: Which of the four graphs.
        descent: How Node2Vec descends.
        most: Trains no longer than so many steps; the paper's own if left out.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    most: int | None = None
    draws: int = 200


def plan(settings: Settings) -> Plan:
    """Store every graph associatively, with a Transformer, and with Node2Vec."""
    return Plan(
        trials=gm.trials(settings.graphs, MEMORIES, settings.most, settings.descent),
        measures=[
            Measure(name="cosines", probe=iw.probes.cosines),
            Measure(
                name="correlation",
                probe=iw.probes.hop_correlation,
                options={"draws": settings.draws},
            ),
            Measure(name="recall", probe=iw.probes.graph_recall),
        ],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Correlations over all pairs and beyond neighbours; mean cosine by hops."""
    tables = judged(tables)
    far = far_correlation(tables["cosines"], LABELS).with_columns(
        all_size=pl.col("all").abs(), far_size=pl.col("far").abs()
    )
    pairs = far.unpivot(
        on=["all", "far"], index=[*LABELS, "seed"], variable_name="pairs", value_name="rho"
    ).sort(pl.col("architecture").cast(pl.Enum(MEMORIES)), maintain_order=True)
    others = pl.when(pl.col("architecture") == gm.NODE2VEC).then(pl.col("recall_others"))
    return tables | {
        "far": far,
        "pairs": pairs,
        "by_hops": mean_by_hops(tables["cosines"], LABELS),
        "chance": beside_random(tables["correlation"]),
        "stored": tables["recall"].with_columns(memory=others.otherwise(pl.col("recall"))),
    }


state = gm.PAPER.stating("table1", "Table 1, Fig. 1", gm.CODE)

every, far = cosine("far", "all").over("graph"), cosine("far", "far").over("graph")
size, far_size = share("far", "all_size").over("graph"), share("far", "far_size").over("graph")
beyond_chance = number("chance", "beyond_chance").over("graph")

CLAIMS = (
    state(
        "all-remember",
        "All three store every edge (top-degree recall; Node2Vec's own logit left out).",
        share("stored", "memory").over(*LABELS) >= 1.0,
    ),
    state(
        "associative-is-arbitrary",
        "Associative embeddings are arbitrary: |Spearman| of cosine against hops.",
        size.at(architecture=gm.FROZEN) <= 0.2,
        check=True,
    ),
    state(
        "transformer-is-geometric",
        "A Transformer's are geometric: Spearman minus the 2.5% quantile of random vectors.",
        beyond_chance.at(architecture=gm.GPT) <= 0.0,
    ),
    state(
        "node2vec-is-most",
        "Node2Vec's are the most geometric: its Spearman minus the Transformer's.",
        every.at(architecture=gm.NODE2VEC) - every.at(architecture=gm.GPT) <= -0.1,
        place="Fig. 1, §4.1",
    ),
    state(
        "associative-knows-neighbours-only",
        "Between nodes that no edge joins the associative ones say nothing: |Spearman| over pairs "
        "two or more hops apart.",
        far_size.at(architecture=gm.FROZEN) <= 0.2,
        check=True,
    ),
    state(
        "node2vec-knows-far-pairs",
        "Node2Vec's say how far apart they are (Spearman over such pairs).",
        far.at(architecture=gm.NODE2VEC) <= -0.8,
    ),
    state(
        "transformer-knows-far-pairs",
        "So do the Transformer's (Spearman over such pairs).",
        far.at(architecture=gm.GPT) <= -0.3,
    ),
)

FIGURES = (
    drawings.by_condition(),
    sweeps(
        "pairs",
        "pairs",
        "What embeddings know about pairs of nodes",
        "Spearman correlation of cosine with hop distance, over all pairs and over those two or "
        "more hops apart, which no fact names. A lookup knows nothing of either; a geometry knows "
        "both.",
        axis="graph",
        value="architecture",
        y="rho",
        series="pairs",
        labels={"all": "all pairs", "far": "two or more hops"},
        y_label="Spearman ρ",
        y_limits=(-1, 0.3),
    ),
    drawings.by_hops(
        "by-hops",
        "by_hops",
        "Mean cosine by distance",
        "A global geometry falls with every hop. TinyGPT's is greatest at two hops and lower "
        "beyond, in zigzags: neighbours of opposite sign bring nodes two hops apart together. At "
        "the far ends of the star it rises again.",
        order=MEMORIES,
    ),
)

RECIPE = gm.PAPER.recipe(
    "table1",
    title="Two ways to remember the same edges",
    place="Table 1, Figure 1, §2.3–2.4",
    summary=(
        "Stores the four tiny graphs with frozen embeddings, with a one-layer Transformer and "
        "with Node2Vec, and asks of each what its embeddings say about pairs of nodes that no "
        "trained fact joins."
    ),
    scales={
        "smoke": Settings(
            graphs=("cycle",), descent=gm.Node2VecDescent(steps=40), most=3, draws=20
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
    ours=("most", "draws", *gm.OURS),
)
