"""Figure 3 of Geometric Memory: the hardest token of paths that were never trained."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from inweights.config import Config
from inweights.probes.navigation import stepwise
from inweights.probes.paths import path_accuracy
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import PAPER, SOURCE
from inweights.recipes.geometric_memory.paths import (
    FIRST,
    FULL,
    GEOMETRY,
    INTERLEAVED,
    MINI,
    OURS,
    PAPER_STAR,
    PERMUTED,
    RANDOM,
    Star,
    at_the_end,
    hardest,
    whole,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig3"
FORWARD, REVERSE = "forward edges only", "reverse path"
#: What is compared on the first graph.
CONDITIONS = (INTERLEAVED, GEOMETRY, RANDOM, PERMUTED, FORWARD, REVERSE)
EDGES = ("edge", "reverse_edge")


class Settings(Config):
    """Settings of Figure 3.

    Attributes:
        stars: The graphs and how they are learnt; controls are on the first.
        memorising: Steps with paths of the controls whose embeddings stand still, which take
            longer to memorise what they are told.
        every: Steps between two points of the curves.
    """

    stars: tuple[Star, ...] = (Star(nodes=4), Star(nodes=5))
    memorising: int = 900
    every: int = 25


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Both ways with both losses on every graph; the controls on the first graph."""
    trials: list[Trial] = []

    def add(star: Star, condition: str, loss: str) -> None:
        how = condition if condition in (GEOMETRY, RANDOM, PERMUTED) else INTERLEAVED
        if how in (RANDOM, PERMUTED):
            steps = settings.memorising
            star = msgspec.structs.replace(star, paths=steps, together=star.edges + steps)
        trials.extend(
            star.trial(
                {"graph": star.name, "condition": condition, "taught": loss},
                seed,
                how=how,
                loss=loss,
                edges="forward" if condition == FORWARD else "both",
                reverse=condition == REVERSE,
            )
            for seed in seeds
        )

    for star in settings.stars:
        for condition in (INTERLEAVED, GEOMETRY):
            for loss in (FULL, FIRST):
                add(star, condition, loss)
    for condition in (RANDOM, PERMUTED, FORWARD, REVERSE):
        add(settings.stars[0], condition, FULL)
    measures = [
        Measure(name="paths", probe=path_accuracy, every=settings.every),
        Measure(name="edges", probe=stepwise, options={"roles": EDGES}),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Where every run ends, the curves of the hardest token, and what was memorised."""
    keys = ["graph", "condition", "taught", "seed"]
    runs = whole(tables["paths"])
    curves = hardest(tables["paths"]).with_columns(
        line=pl.format("{}, {}", "condition", "taught"),
    )
    main = pl.col("condition").is_in([INTERLEAVED, GEOMETRY])
    edges = (
        tables["edges"]
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("recall").mean(),
            # Each node gives one answer, which is right for one of its edges at most. With edges
            # in both directions every node is asked; there is one more than edges in a direction.
            answered=pl.when(pl.len() == len(EDGES)).then(
                (pl.col("accuracy") * pl.col("statements")).sum() / (pl.col("statements").max() + 1)
            ),
        )
    )
    final = at_the_end(runs, keys).join(edges, on=keys)
    first = pl.col("graph") == pl.col("graph").first()
    conditions = (
        final.filter(first, pl.col("taught") == FULL)
        .unpivot(
            on=["hardest", "trained", "answered", "recall"],
            index=["condition", "seed"],
            variable_name="what",
            value_name="accuracy",
        )
        .drop_nulls("accuracy")
    )
    return {"final": final, "curves": curves.filter(main), "conditions": conditions}


state = Statement(NAME, source=SOURCE, place="Fig. 3, §2.2")

CLAIMS = (
    state(
        "hardest-token",
        "Edges and paths interleaved and everything trained, the hardest token of paths that were "
        "never seen is right, with the loss on the full path (accuracy, chance 1/d).",
        Target(least=0.85),
        table="final",
        column="hardest",
        where={"condition": INTERLEAVED, "taught": FULL},
        each=("graph",),
        published="up to 100%",
    ),
    state(
        "first-token-alone",
        "It is right where no other token of the path was ever trained (accuracy).",
        Target(least=0.85),
        table="final",
        column="hardest",
        where={"condition": INTERLEAVED, "taught": FIRST},
        each=("graph",),
        published="up to 100%",
    ),
    state(
        "geometry-first",
        "With edges first and the embeddings frozen before any path is trained, too, with either "
        "loss (accuracy of the hardest token).",
        Target(least=0.97),
        table="final",
        column="hardest",
        where={"condition": GEOMETRY},
        each=("graph", "taught"),
        source="ours",
    ),
    state(
        "random-embeddings-fail",
        "With random embeddings, frozen, it is not (accuracy of the hardest token).",
        Target(most=0.02),
        table="final",
        column="hardest",
        where={"condition": RANDOM},
        place="E.1",
    ),
    state(
        "permuted-embeddings-fail",
        "With embeddings that were learnt from the same graph over other nodes, frozen, it is not "
        "(accuracy of the hardest token).",
        Target(most=0.02),
        table="final",
        column="hardest",
        where={"condition": PERMUTED},
        source="ours",
    ),
    *(
        state(
            f"{name}-memorise-paths",
            f"With {name} embeddings the trained paths are memorised all the same (exact match).",
            Target(least=0.95),
            table="final",
            column="trained",
            where={"condition": condition},
            source="ours",
        )
        for name, condition in (("random", RANDOM), ("permuted", PERMUTED))
    ),
    *(
        state(
            f"{name}-answer-edges",
            f"And every node's most likely next one is a neighbour ({name} embeddings; share of "
            "nodes).",
            Target(least=0.95),
            table="final",
            column="answered",
            where={"condition": condition},
            source="ours",
        )
        for name, condition in (("random", RANDOM), ("permuted", PERMUTED))
    ),
    *(
        state(
            f"{name}-memorise-edges",
            f"All neighbours of a node, 200 of them at the root, outrank the others ({name} "
            "embeddings; recall of edges).",
            Target(least=0.95),
            table="final",
            column="recall",
            where={"condition": condition},
            source="ours",
        )
        for name, condition in (("random", RANDOM), ("permuted", PERMUTED))
    ),
    state(
        "forward-edges-fail",
        "With edges away from the root alone it is not (accuracy of the hardest token).",
        Target(most=0.05),
        table="final",
        column="hardest",
        where={"condition": FORWARD},
        place="D.1",
    ),
    state(
        "reverse-path",
        "The path from the leaf to the root, which follows edge by edge, is right (exact match).",
        Target(least=0.95),
        table="final",
        column="exact",
        where={"condition": REVERSE},
        place="D.1",
    ),
)

FIGURES = (
    Figure(
        id="hardest",
        kind="lines",
        title="The hardest token of paths that were never trained",
        caption=(
            "Held-out leaves, the largest logit over the whole vocabulary. Dashed: chance, 1/d. "
            "Geometry first trains edges alone at the start and then freezes the embeddings."
        ),
        sources=("curves",),
        options={
            "x": "step",
            "y": "accuracy",
            "series": "line",
            "facet": "graph",
            "reference": {"column": "chance", "label": "1/d"},
            "y_limits": [0, 1],
            "x_label": "step",
            "y_label": "accuracy, hardest token",
        },
    ),
    Figure(
        id="conditions",
        kind="sweeps",
        title="What it takes: a geometry, both directions of the edges, and its own nodes",
        caption=(
            "The first graph. Every condition memorises trained paths, and answers a node with "
            "a neighbour; the hardest token of other leaves is "
            "right only where embeddings could learn this graph. In the reverse path it is the "
            "leaf's neighbour. Recall asks that all 200 neighbours of the root outrank all others."
        ),
        sources=("conditions",),
        options={
            "axis": "what",
            "value": "condition",
            "y": "accuracy",
            "labels": {
                "hardest": "hardest token, held out",
                "trained": "exact match, trained paths",
                "answered": "nodes answered with a neighbour",
                "recall": "edges recalled",
                FORWARD: "forward edges",
                REVERSE: "reverse path",
            },
            "y_limits": [0, 1],
            "columns": 2,
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="A decision that needs the whole path, made on paths never seen",
    paper=PAPER,
    place="Figure 3, §2.2, D.1, E.1",
    summary=(
        "Trains a Transformer on the edges of a path-star and on three quarters of its paths, with "
        "the loss on all of a path or on its first decision alone, and asks for the paths of the "
        "other leaves. Edges first and embeddings frozen tells what the geometry alone gives; "
        "random and permuted embeddings, edges in one direction and the reverse path are controls."
    ),
    scales={
        "smoke": Settings(stars=(MINI,), memorising=6, every=6),
        "cpu": Settings(),
        "paper": Settings(stars=(PAPER_STAR,), memorising=30_000, every=1000),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *OURS,
        "Geometry first (edges, then paths with the embeddings frozen) and the permuted control "
        "are ours; the paper interleaves.",
        "Answers with a neighbour were added beside recall after recall had been seen to fail on "
        "the judged seeds; both stand.",
        "First-token loss: the trained answer ends after the hardest token, and its root is not "
        "asked for.",
    ),
)
