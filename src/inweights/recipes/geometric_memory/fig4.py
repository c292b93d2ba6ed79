"""Figure 4 of Geometric Memory: the leaf and the first node of a path are close."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes.navigation import navigation
from inweights.probes.paths import arm_cosines, path_accuracy
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import PAPER, SOURCE
from inweights.recipes.geometric_memory.paths import (
    ALONE,
    INTERLEAVED,
    MINI,
    OURS,
    PAPER_STAR,
    RANDOM,
    Star,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig4"
CONDITIONS = (INTERLEAVED, ALONE, RANDOM)
#: Arms in a picture, so that three of them fit side by side; numbers are over all that were asked.
SHOWN = 18
KEYS = ["graph", "condition", "seed"]


class Settings(Config):
    """Settings of Figure 4.

    Attributes:
        stars: The graphs and how they are learnt.
        arms: Held-out arms that are compared.
    """

    stars: tuple[Star, ...] = (Star(nodes=4), Star(nodes=5))
    arms: int = 30


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Edges and paths interleaved, edges alone, and random embeddings that never move."""
    trials = [
        star.trial({"graph": star.name, "condition": how}, seed, how=how)
        for star in settings.stars
        for how in CONDITIONS
        for seed in seeds
    ]
    measures = [
        Measure(name="cosines", probe=arm_cosines, options={"arms": settings.arms}),
        Measure(name="navigation", probe=navigation),
        Measure(name="paths", probe=path_accuracy),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Cosine of own and other arms, whether the own first node is the nearest, one heat-map."""
    table = tables["cosines"]
    own = pl.col("own")
    near = tables["navigation"].filter(pl.col("depth") == 1)
    runs = (
        table.group_by(KEYS, maintain_order=True)
        .agg(
            own=pl.col("cosine").filter(own).mean(),
            others=pl.col("cosine").filter(~own).mean(),
        )
        .with_columns(gap=pl.col("own") - pl.col("others"))
        .join(near.select(*KEYS, "nearest", "ridge"), on=KEYS)
    )
    shown = (pl.col("leaf") <= SHOWN) & (pl.col("first") <= SHOWN)
    first = table.filter(pl.col("seed") == pl.col("seed").min(), shown).with_columns(
        panel=pl.format("{}, {}", "graph", "condition")
    )
    pairs = runs.unpivot(on=["own", "others"], index=KEYS, variable_name="arm", value_name="cosine")
    return {"runs": runs, "matrix": first, "pairs": pairs}


state = Statement(NAME, source=SOURCE, place="Fig. 4, §3.1")
GRAPH = ("graph",)

CLAIMS = (
    *(
        state(
            f"{name}-closer",
            f"{words} a held-out leaf is closer to the first node of its path than to those of "
            "others (mean cosine, own minus others).",
            Target(least=0.3),
            table="runs",
            column="gap",
            where={"condition": condition},
            each=GRAPH,
            published="picture",
            place=place,
        )
        for name, words, condition, place in (
            ("interleaved", "With edges and paths interleaved", INTERLEAVED, "Fig. 4"),
            ("edges-alone", "With edges alone", ALONE, "§3.1"),
        )
    ),
    *(
        state(
            f"{name}-nearest",
            f"{words} its own first node is the nearest one among all arms (share of held-out "
            "leaves).",
            Target(least=0.95),
            table="runs",
            column="nearest",
            where={"condition": condition},
            each=GRAPH,
            source="ours",
        )
        for name, words, condition in (
            ("interleaved", "With edges and paths interleaved", INTERLEAVED),
            ("edges-alone", "With edges alone, before any path was seen,", ALONE),
        )
    ),
    state(
        "random-is-not",
        "Random embeddings that never move show nothing of it (own minus others).",
        Target(least=-0.1, most=0.1),
        table="runs",
        column="gap",
        where={"condition": RANDOM},
        each=GRAPH,
        source="ours",
    ),
)

FIGURES = (
    Figure(
        id="cosines",
        kind="heatmaps",
        title="Leaves against first nodes",
        caption=(
            "Cosine of token embeddings, minus their mean over the nodes; one seed, arms whose "
            "paths were never trained. A bright diagonal: a leaf is close to the first node of its "
            "own path, two or three edges away. Edges alone make it."
        ),
        sources=("matrix",),
        options={
            "panel": "panel",
            "row": "leaf",
            "column": "first",
            "value": "cosine",
            "value_label": "cosine",
            "limit": 1.0,
            "columns": 3,
        },
    ),
    Figure(
        id="own-and-others",
        kind="sweeps",
        title="Cosine of a leaf with the first node of its own path and of others",
        caption="Mean over held-out arms, then over seeds with 95% interval.",
        sources=("pairs",),
        options={
            "axis": "graph",
            "value": "condition",
            "y": "cosine",
            "series": "arm",
            "labels": {"own": "own path", "others": "other paths"},
            "y_label": "cosine, leaf and first node",
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Leaf and first node of a path stand together",
    paper=PAPER,
    place="Figure 4, §3.1",
    summary=(
        "Compares the embeddings of leaves and first nodes of a path-star, on arms whose paths "
        "were never trained: after training on edges and paths, on edges alone, and with random "
        "embeddings that never moved."
    ),
    scales={
        "smoke": Settings(stars=(MINI,), arms=4),
        "cpu": Settings(),
        "paper": Settings(stars=(PAPER_STAR,), arms=60),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *OURS,
        "Cosines of embeddings minus their mean over all nodes.",
        "The paper shows a trained model; edges alone and random embeddings are beside it.",
    ),
)
