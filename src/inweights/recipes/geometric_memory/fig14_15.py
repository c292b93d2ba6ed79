"""Figures 14 and 15 of Geometric Memory: the path-star with Mamba, and the geometry it makes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from inweights.config import Config
from inweights.models.mamba import MambaConfig
from inweights.probes.geometry import hop_correlation
from inweights.probes.navigation import navigation, stepwise
from inweights.probes.paths import arm_cosines, path_accuracy
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import PAPER, SOURCE
from inweights.recipes.geometric_memory.fig12 import learnt
from inweights.recipes.geometric_memory.paths import (
    ALONE,
    FIRST,
    FULL,
    GEOMETRY,
    INTERLEAVED,
    MINI,
    PAPER_STAR,
    Star,
    at_the_end,
    whole,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.worlds.path_star import PathStar

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig14-15"
#: Whether blocks add to their input, or replace it.
ADDS, REPLACES = "residual", "no residual"
#: Ways that are taught paths, with the loss on every token or on the hardest one alone.
TAUGHT = ((INTERLEAVED, FULL), (INTERLEAVED, FIRST), (GEOMETRY, FULL))
#: Nodes of the largest graph whose pairs are all compared.
PAIRED = 2000
KEYS = ["graph", "block", "condition", "taught", "seed"]


_SMALL = Star(model=MambaConfig(layers=2, width=32), paths=400, together=500)
_PAPER_MAMBA = MambaConfig(layers=12, width=384, state=16, kernel=4, expand=2)


class Settings(Config):
    """Settings of Figures 14 and 15.

    Attributes:
        stars: The graphs and how they are learnt; each with the blocks' residual and without.
        every: Steps between two points of the curves.
        arms: Held-out arms in a heat-map.
        draws: Random embeddings that the rank correlation is held against.
    """

    stars: tuple[Star, ...] = (_SMALL,)
    every: int = 25
    arms: int = 30
    draws: int = 20


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Three ways to teach paths, and edges alone, with both kinds of block."""
    trials: list[Trial] = []
    for star in settings.stars:
        for block in (ADDS, REPLACES):
            model = msgspec.structs.replace(star.model, residual=block == ADDS)
            used = msgspec.structs.replace(star, model=model)
            for how, loss in (*TAUGHT, (ALONE, FULL)):
                about = {"graph": star.name, "block": block, "condition": how, "taught": loss}
                trials.extend(used.trial(about, seed, how=how, loss=loss) for seed in seeds)
    measures = [
        Measure(name="paths", probe=path_accuracy, every=settings.every),
        Measure(name="cosines", probe=arm_cosines, options={"arms": settings.arms}),
        Measure(name="navigation", probe=navigation, where={"taught": FULL}),
        Measure(name="edges", probe=stepwise, options={"roles": ("edge", "reverse_edge")}),
        *(
            Measure(
                name="hops",
                probe=hop_correlation,
                where={"condition": ALONE, "graph": star.name},
                options={"draws": settings.draws},
            )
            for star in settings.stars
            if PathStar(arms=star.arms, nodes=star.nodes).size <= PAIRED
        ),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Curves and ends of every run, when each token is learnt, and what the embeddings show."""
    runs = whole(tables["paths"]).filter(pl.col("condition") != ALONE)
    line = pl.format("{}, {}", "condition", "taught")
    full = tables["paths"].filter(
        pl.col("part") == "queries", pl.col("taught") == FULL, pl.col("condition") != ALONE
    )
    tokens = full.with_columns(
        panel=pl.format("{}, {}", "condition", "block"),
        token=pl.col("place").replace_strict(
            {0: "root", 1: "hardest (1st node)"},
            default=pl.format("node {}", "place"),
            return_dtype=pl.String,
        ),
    )
    own = pl.col("own")
    near = tables["navigation"].filter(pl.col("depth") == 1)
    recall = tables["edges"].group_by(KEYS, maintain_order=True).agg(pl.col("recall").mean())
    geometry = (
        tables["cosines"]
        .group_by(KEYS, maintain_order=True)
        .agg(gap=pl.col("cosine").filter(own).mean() - pl.col("cosine").filter(~own).mean())
        .join(near.select(*KEYS, "nearest", "ridge"), on=KEYS)
        .join(recall, on=KEYS)
    )
    matrix = tables["cosines"].filter(
        pl.col("seed") == pl.col("seed").min(),
        pl.col("condition").is_in([INTERLEAVED, ALONE]),
        pl.col("taught") == FULL,
    )
    return {
        "curves": runs.with_columns(line=line, panel=pl.format("{}, {}", "graph", "block")),
        "final": at_the_end(runs, KEYS),
        "tokens": tokens,
        "order": learnt(full, KEYS).unique(subset=KEYS, maintain_order=True),
        "geometry": geometry,
        "matrix": matrix.with_columns(panel=pl.format("{}, {}", "condition", "block")),
        "correlation": tables["hops"].with_columns(
            excess=pl.col("spearman") - pl.col("null_low"),
        ),
    }


state = Statement(NAME, source=SOURCE, place="Fig. 14, C.1")
BOTH = ("graph", "block")
GRAPH = ("graph",)

CLAIMS = (
    *(
        state(
            f"{name}-token",
            f"Edges and paths interleaved, with the loss on {where}, Mamba is right at the hardest "
            "token of paths that it never saw (accuracy; blocks with a residual stream).",
            Target(least=0.85),
            table="final",
            column="hardest",
            where={"condition": INTERLEAVED, "taught": loss, "block": ADDS},
            each=GRAPH,
            published="up to 100%",
        )
        for name, where, loss in (
            ("hardest", "the full path", FULL),
            ("first", "that token alone", FIRST),
        )
    ),
    state(
        "full-path",
        "So is the whole path (exact match of greedy decoding; residual, interleaved).",
        Target(least=0.8),
        table="final",
        column="exact",
        where={"condition": INTERLEAVED, "taught": FULL, "block": ADDS},
        each=GRAPH,
        published="up to 100%",
    ),
    state(
        "geometry-first",
        "With edges first and the embeddings frozen before any path is trained it is, too "
        "(accuracy of the hardest token; residual).",
        Target(least=0.95),
        table="final",
        column="hardest",
        where={"condition": GEOMETRY, "block": ADDS},
        each=GRAPH,
        source="ours",
    ),
    state(
        "without-residual",
        "With the block that replaces its input, and has no residual stream, the same holds "
        "(accuracy of the hardest token, geometry first).",
        Target(least=0.95),
        table="final",
        column="hardest",
        where={"condition": GEOMETRY, "block": REPLACES},
        each=GRAPH,
        source="ours",
    ),
    state(
        "no-reverse-cascade",
        "Tokens are not learnt from the leaf backwards: the last token reaches half accuracy no "
        "earlier than 50 steps before the hardest one (steps, last minus hardest; residual).",
        Target(least=-50.0),
        table="order",
        column="lead",
        where={"block": ADDS},
        each=("graph", "condition"),
        place="Fig. 14, Obs. A.2",
    ),
    state(
        "edges-alone-closer",
        "Trained on edges alone, Mamba has a strong geometry: a leaf is closer to the first node "
        "of its path than to those of others (mean cosine, own minus others).",
        Target(least=0.3),
        table="geometry",
        column="gap",
        where={"condition": ALONE},
        each=BOTH,
        published="picture",
        place="Fig. 15(b), C.1",
    ),
    state(
        "edges-alone-nearest",
        "There its own first node is the nearest one among all arms (share of held-out leaves).",
        Target(least=0.95),
        table="geometry",
        column="nearest",
        where={"condition": ALONE},
        each=BOTH,
        source="ours",
        place="Fig. 15(b), C.1",
    ),
    state(
        "edges-alone-hops",
        "There the cosine of two nodes falls with their distance in hops (Spearman's ρ over all "
        "pairs; random embeddings: ρ near 0).",
        Target(most=-0.3),
        table="correlation",
        column="spearman",
        where={"condition": ALONE},
        each=BOTH,
        source="ours",
        place="Fig. 15(b), C.1",
    ),
)

FIGURES = (
    Figure(
        id="hardest",
        kind="lines",
        title="The hardest token, with Mamba",
        caption=(
            "Held-out leaves, the largest logit over the whole vocabulary. Dashed: chance, 1/d. "
            "Left: blocks that add to a residual stream; right: blocks that replace their input."
        ),
        sources=("curves",),
        options={
            "x": "step",
            "y": "hardest",
            "series": "line",
            "facet": "panel",
            "reference": {"column": "chance", "label": "1/d"},
            "y_limits": [0, 1],
            "y_label": "accuracy, hardest token",
        },
    ),
    Figure(
        id="tokens",
        kind="lines",
        title="Every token of a held-out path through Mamba's training",
        caption=(
            "Teacher-forced accuracy by place, loss on the full path. In a reverse cascade the "
            "last node would come first and the hardest token last."
        ),
        sources=("tokens",),
        options={
            "x": "step",
            "y": "accuracy",
            "series": "token",
            "facet": "panel",
            "y_limits": [0, 1],
            "columns": 2,
        },
    ),
    Figure(
        id="cosines",
        kind="heatmaps",
        title="Leaves against first nodes in Mamba's embeddings",
        caption=(
            "Cosine of token embeddings, minus their mean over the nodes; one seed, arms whose "
            "paths were never trained. A bright diagonal: a leaf is close to the first node of its "
            "own path. Edges alone make it."
        ),
        sources=("matrix",),
        options={
            "panel": "panel",
            "row": "leaf",
            "column": "first",
            "value": "cosine",
            "value_label": "cosine",
            "limit": 1.0,
            "columns": 2,
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Paths that were never told, found by Mamba",
    paper=PAPER,
    place="Figures 14 and 15, appendix C.1",
    summary=(
        "Trains Mamba on the edges of a path-star and three quarters of its paths, with blocks "
        "that add to a residual stream and with blocks that do not, and looks at the embeddings "
        "that edges alone leave."
    ),
    scales={
        "smoke": Settings(
            stars=(msgspec.structs.replace(MINI, model=MambaConfig(layers=1, width=8, state=4)),),
            every=6,
            arms=4,
            draws=4,
        ),
        "cpu": Settings(),
        # The small graph stays, since all pairs of the large one's nodes would not fit in memory.
        "paper": Settings(
            stars=(_SMALL, msgspec.structs.replace(PAPER_STAR, model=_PAPER_MAMBA)),
            every=500,
            arms=60,
        ),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "At cpu scale (200, 4), 601 nodes, 2 layers of width 32 and state 16, AdamW at 5e-3, "
        "weight decay .1; all edges and 32 training paths a step. Chosen on the seeds 0 to 7.",
        "Geometry first (edges, then paths with the embeddings frozen) is ours; the paper "
        "interleaves. Whether the paper's blocks have a residual stream is not said: both are run.",
        "Cosines of embeddings minus their mean over all nodes; Spearman's ρ over all pairs.",
    ),
)
