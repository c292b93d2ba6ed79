"""Ours: where does the geometry of edges lead from a leaf to its arm, and where does it not?"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from msgspec import structs

from inweights.config import Config
from inweights.lab import Plan, cosine, heatmaps, share
from inweights.recipes.beyond import PAPER, recipe
from inweights.recipes.beyond.geometry_first import measures
from inweights.recipes.derived import correlation, path_ends
from inweights.recipes.geometric_memory.paths import GEOMETRY, MINI, PathStarTraining

__all__ = ["RECIPE", "Settings"]

KEYS = ["swept", "setting", "nodes", "seed"]
ARMS, WIDTH, STEPS = "arms", "width", "edge steps"
#: Nodes of a path that is short.
SHORT = 5


class Settings(Config):
    """Settings of the map: one setting is swept at a time, over all path lengths.

    Attributes:
        nodes: Nodes of a path, in place of the course's own.
        arms: Arms, at the course's width and edge steps.
        widths: Widths, at the course's arms and edge steps.
        steps: Steps of the edge phase, at the course's arms and width.
        course: The graph and how it is learnt.
    """

    nodes: tuple[int, ...] = (4, 5, 6, 7, 8, 10)
    arms: tuple[int, ...] = (50, 200, 400)
    widths: tuple[int, ...] = (16, 32, 64)
    steps: tuple[int, ...] = (150, 250, 600)
    course: PathStarTraining = PathStarTraining()

    def cells(self) -> Iterator[tuple[str, int, PathStarTraining]]:
        """Yield ``(swept setting, its value, course)`` of every row of the map."""
        for arms in self.arms:
            yield ARMS, arms, structs.replace(self.course, arms=arms)
        for width in self.widths:
            wide = structs.replace(self.course.model, width=width)
            yield WIDTH, width, structs.replace(self.course, model=wide)
        for steps in self.steps:
            yield STEPS, steps, structs.replace(self.course, edges=steps)


def plan(settings: Settings) -> Plan:
    """Every cell of the map, geometry first."""
    trials = [
        structs.replace(course, nodes=nodes).trial(
            {"swept": swept, "setting": value, "nodes": nodes}, how=GEOMETRY
        )
        for swept, value, course in settings.cells()
        for nodes in settings.nodes
    ]
    return Plan(trials=trials, measures=measures())


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """What is found, what a ridge map reaches, and how far they agree over the map."""
    table = path_ends(tables, KEYS).with_columns(row=pl.format("{} {}", "setting", "swept"))
    # The base row stands in the map three times, and is counted once.
    once = table.unique(["seed", "nodes", "hardest", "ridge"], maintain_order=True)
    shown = table.unpivot(
        ["hardest", "ridge", "nearest", "edges"], index=[*KEYS, "row"], variable_name="of"
    ).with_columns(length=pl.format("{} nodes", "nodes"))
    order = pl.col("swept").replace_strict({ARMS: 0, WIDTH: 1, STEPS: 2})
    shown = shown.sort(order, "setting", "nodes", maintain_order=True)
    return {
        "table": table,
        "short": table.filter(pl.col("nodes") <= SHORT),
        "agreement": correlation(once, "hardest", "ridge", ["seed"]),
        "shown": shown,
    }


state = PAPER.stating("when-does-geometry-navigate", "beyond the paper")

with_arms = share("table", "hardest", swept=ARMS)

CLAIMS = (
    state(
        "ridge-explains",
        "What the model finds is what one affine map from leaf to first node finds: correlation "
        "of the two accuracies over the whole map.",
        cosine("agreement", "correlation") >= 0.9,
    ),
    state(
        "short-paths",
        "With 200 arms and paths of 4 and 5 nodes it navigates (accuracy of the hardest token on "
        "held-out leaves).",
        share("short", "hardest", swept=ARMS, setting=200).over("nodes") >= 0.95,
    ),
    state(
        "edges-are-known",
        "Everywhere on the map the edges are memorised (top-degree recall): where it fails, it is "
        "not for lack of facts.",
        share("table", "edges").over("swept", "setting", "nodes") >= 0.95,
    ),
    state(
        "few-arms",
        "With 50 arms it does worse than with 400, at 6 nodes (difference of accuracies).",
        with_arms.at(setting=50, nodes=6) - with_arms.at(setting=400, nodes=6) <= -0.2,
    ),
    state(
        "long-paths",
        "With 400 arms and 10 nodes it does not find the first node (accuracy).",
        with_arms.at(setting=400, nodes=10) <= 0.2,
    ),
)

FIGURES = (
    heatmaps(
        "map",
        "shown",
        "Where the geometry of edges navigates",
        "Rows: number of arms, width and steps of the edge phase, one changed at a time; "
        "columns: nodes of a path. Accuracy of the first node on held-out leaves; of an affine "
        "map from leaf to first node, fitted on trained arms; of the nearest first node; and "
        "recall of the edges, which is high where the others fail.",
        row="row",
        column="length",
        value="value",
        panel="of",
        row_group="swept",
        value_label="accuracy",
        limit=1.0,
        columns=2,
    ),
)

RECIPE = recipe(
    "when-does-geometry-navigate",
    title="When does the geometry of edges navigate?",
    summary=(
        "Path-stars of many shapes, edges first, then paths with the embeddings frozen, beside "
        "what a linear reader could find in the embeddings at all."
    ),
    scales={
        "smoke": Settings(
            nodes=(3, 6, 10),
            widths=(32,),
            steps=(40,),
            course=structs.replace(
                MINI, arms=20, edges=20, paths=20, leaves=16, rate=2e-2, warmup=5
            ),
        ),
        "cpu": Settings(),
        "paper": Settings(
            nodes=(4, 5, 6, 7, 8, 9, 10),
            arms=(50, 100, 200, 400, 1000, 2000),
            widths=(16, 32, 64, 128, 384),
            steps=(75, 150, 250, 600, 1500),
            course=PathStarTraining(arms=400),
        ),
    },
    seeds={"smoke": 2, "cpu": 3, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("Everything; the course is that of beyond/geometry-first at (200, 5).",),
)
