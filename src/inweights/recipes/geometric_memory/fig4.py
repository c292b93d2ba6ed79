"""Figure 4 of Geometric Memory: the leaf and the first node of a path are close."""

from __future__ import annotations

import polars as pl

import inweights as iw
from inweights.config import Config
from inweights.lab import Measure, Plan, number, share, sweeps
from inweights.recipes.derived import own_and_other_arms
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.geometric_memory.common import PAPER, stating

__all__ = ["RECIPE", "Settings"]

#: Arms in a picture, so that three of them fit side by side; numbers are over all that were asked.
SHOWN = 18
KEYS = ["graph", "condition", "seed"]


class Settings(Config):
    """Settings of Figure 4.

    Attributes:
        stars: The graphs and how they are learnt.
        arms: Held-out arms that are compared.
    """

    stars: tuple[ways.PathStarTraining, ...] = ways.STARS
    arms: int = 30


def plan(settings: Settings) -> Plan:
    """Edges and paths interleaved, edges alone, and random embeddings that never move."""
    trials = [
        star.trial({"graph": star.name, "condition": how}, how=how)
        for star in settings.stars
        for how in (ways.INTERLEAVED, ways.ALONE, ways.RANDOM)
    ]
    measures = [
        Measure(name="cosines", probe=iw.probes.arm_cosines, options={"arms": settings.arms}),
        Measure(name="navigation", probe=iw.probes.navigation),
        ways.curves(),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Cosine of own and other arms, whether the own first node is the nearest, one heat-map."""
    cosines = tables["cosines"]
    runs = own_and_other_arms(cosines, tables["navigation"], KEYS)
    first_seed = pl.col("seed") == pl.col("seed").min()
    shown = (pl.col("leaf") <= SHOWN) & (pl.col("first") <= SHOWN)
    return {
        "runs": runs,
        "matrix": cosines.filter(first_seed, shown).with_columns(
            panel=pl.format("{}, {}", "graph", "condition")
        ),
        "pairs": runs.unpivot(["own", "others"], index=KEYS, variable_name="arm").rename(
            {"value": "cosine"}
        ),
    }


state, ours = stating("fig4", "Fig. 4, §3.1")

gap = number("runs", "gap").over("graph")
nearest = share("runs", "nearest").over("graph")

CLAIMS = (
    *(
        state(
            f"{name}-closer",
            f"{words} a held-out leaf is closer to the first node of its path than to those of "
            "others (mean cosine, own minus others).",
            gap.at(condition=condition) >= 0.3,
            published="picture",
            place=place,
        )
        for name, words, condition, place in (
            ("interleaved", "With edges and paths interleaved", ways.INTERLEAVED, "Fig. 4"),
            ("edges-alone", "With edges alone", ways.ALONE, "§3.1"),
        )
    ),
    *(
        ours(
            f"{name}-nearest",
            f"{words} its own first node is the nearest one among all arms (share of held-out "
            "leaves).",
            nearest.at(condition=condition) >= 0.95,
        )
        for name, words, condition in (
            ("interleaved", "With edges and paths interleaved", ways.INTERLEAVED),
            ("edges-alone", "With edges alone, before any path was seen,", ways.ALONE),
        )
    ),
    ours(
        "random-is-not",
        "Random embeddings that never move show nothing of it (own minus others).",
        gap.at(condition=ways.RANDOM).within(-0.1, 0.1),
    ),
)

FIGURES = (
    ways.first_nodes(
        "cosines",
        "matrix",
        "Leaves against first nodes",
        "Cosine of token embeddings, minus their mean over the nodes; one seed, arms whose "
        "paths were never trained. A bright diagonal: a leaf is close to the first node of its "
        "own path, two or three edges away. Edges alone make it.",
        columns=3,
    ),
    sweeps(
        "own-and-others",
        "pairs",
        "Cosine of a leaf with the first node of its own path and of others",
        "Mean over held-out arms, then over seeds with 95% interval.",
        axis="graph",
        value="condition",
        y="cosine",
        series="arm",
        labels={"own": "own path", "others": "other paths"},
        y_label="cosine, leaf and first node",
    ),
)

RECIPE = PAPER.recipe(
    "fig4",
    title="Leaf and first node of a path stand together",
    place="Figure 4, §3.1",
    summary=(
        "Compares the embeddings of leaves and first nodes of a path-star, on arms whose paths "
        "were never trained: after training on edges and paths, on edges alone, and with random "
        "embeddings that never moved."
    ),
    scales={
        "smoke": Settings(stars=(ways.MINI,), arms=4),
        "cpu": Settings(),
        "paper": Settings(stars=(ways.PAPER_STAR,), arms=60),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *ways.unprinted("stars"),
        "arms",
        *ways.OURS,
        "Cosines of embeddings minus their mean over all nodes.",
        "The paper shows a trained model; edges alone and random embeddings are beside it.",
    ),
)
