"""Ours: where does the geometry of edges lead from a leaf to its arm, and where does it not?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
from msgspec import structs

from inweights.config import Config
from inweights.models.gpt import GPTConfig
from inweights.probes.navigation import navigation, stepwise
from inweights.recipes.beyond.geometry_first import Course, Size, ends
from inweights.recipes.claim import Statement, Target
from inweights.recipes.derived import correlation
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial

__all__ = ["RECIPE", "Settings"]

NAME = "beyond/when-does-geometry-navigate"
KEYS = ("swept", "setting", "nodes", "seed")
ARMS, WIDTH, STEPS = "arms", "width", "edge steps"
#: Nodes of a path that is short.
SHORT = 5


class Settings(Config):
    """Settings of the map: one setting is swept at a time, over all path lengths.

    Attributes:
        nodes: Nodes of a path.
        arms: Arms, at the base width and edge steps.
        widths: Widths, at the base arms.
        steps: Steps of the edge phase, at the base arms.
        base: Arms that the sweeps over width and steps have.
        course: How a graph is learnt.
    """

    nodes: tuple[int, ...] = (4, 5, 6, 7, 8, 10)
    arms: tuple[int, ...] = (50, 200, 400)
    widths: tuple[int, ...] = (16, 32, 64)
    steps: tuple[int, ...] = (150, 250, 600)
    base: int = 200
    course: Course = Course()

    def cells(self) -> Iterator[tuple[str, int, int, Course]]:
        """Yield ``(swept setting, its value, arms, course)`` of every row of the map."""
        model = self.course.model
        for arms in self.arms:
            yield ARMS, arms, arms, self.course
        for width in self.widths:
            wide = structs.replace(model, width=width)
            yield WIDTH, width, self.base, structs.replace(self.course, model=wide)
        for steps in self.steps:
            yield STEPS, steps, self.base, structs.replace(self.course, edges=steps)


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Every cell of the map, geometry first."""
    trials = [
        Trial(
            labels={"swept": swept, "setting": value, "nodes": nodes},
            world=Size(arms=arms, nodes=nodes).world(),
            model=course.model,
            curriculum=course.curriculum(),
            seed=seed,
        )
        for swept, value, arms, course in settings.cells()
        for nodes in settings.nodes
        for seed in seeds
    ]
    measures = [
        Measure(name="places", probe=stepwise, options={"roles": ("edge", "reverse_edge", "path")}),
        Measure(name="navigation", probe=navigation),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """What is found, what a ridge map reaches, and how far they agree over the map."""
    keys = list(KEYS)
    table = ends(tables, keys).with_columns(
        row=pl.format("{} {}", "setting", "swept"), over=pl.col("ridge") - pl.col("hardest")
    )
    # The base row stands in the map three times, and is counted once.
    once = table.unique(["seed", "nodes", "hardest", "ridge"], maintain_order=True)
    shown = table.unpivot(
        ["hardest", "ridge", "nearest", "edges"], index=[*keys, "row"], variable_name="of"
    ).with_columns(length=pl.format("{} nodes", "nodes"))
    order = pl.col("swept").replace_strict({ARMS: 0, WIDTH: 1, STEPS: 2})
    shown = shown.sort(order, "setting", "nodes", maintain_order=True)
    return {
        "table": table,
        "short": table.filter(pl.col("nodes") <= SHORT),
        "agreement": correlation(once, "hardest", "ridge", ["seed"]),
        "shown": shown,
    }


state = Statement(NAME, source="ours", place="beyond the paper")

CLAIMS = (
    state(
        "ridge-explains",
        "What the model finds is what one affine map from leaf to first node finds: correlation "
        "of the two accuracies over the whole map.",
        Target(least=0.9),
        table="agreement",
        column="correlation",
    ),
    state(
        "short-paths",
        "With 200 arms and paths of 4 and 5 nodes it navigates (accuracy of the hardest token on "
        "held-out leaves).",
        Target(least=0.95),
        table="short",
        column="hardest",
        where={"swept": ARMS, "setting": 200.0},
        each=("nodes",),
    ),
    state(
        "edges-are-known",
        "Everywhere on the map the edges are memorised (top-degree recall): where it fails, it is "
        "not for lack of facts.",
        Target(least=0.95),
        table="table",
        column="edges",
        each=("swept", "setting", "nodes"),
    ),
    state(
        "few-arms",
        "With 50 arms it does worse than with 400, at 6 nodes (difference of accuracies).",
        Target(most=-0.2),
        table="table",
        column="hardest",
        where={"swept": ARMS, "setting": 50.0, "nodes": 6.0},
        minus={"swept": ARMS, "setting": 400.0, "nodes": 6.0},
    ),
    state(
        "long-paths",
        "With 400 arms and 10 nodes it does not find the first node (accuracy).",
        Target(most=0.2),
        table="table",
        column="hardest",
        where={"swept": ARMS, "setting": 400.0, "nodes": 10.0},
    ),
)

FIGURES = (
    Figure(
        id="map",
        kind="heatmaps",
        title="Where the geometry of edges navigates",
        caption=(
            "Rows: number of arms, width and steps of the edge phase, one changed at a time; "
            "columns: nodes of a path. Accuracy of the first node on held-out leaves; of an affine "
            "map from leaf to first node, fitted on trained arms; of the nearest first node; and "
            "recall of the edges, which is high where the others fail."
        ),
        sources=("shown",),
        options={
            "row": "row",
            "column": "length",
            "value": "value",
            "panel": "of",
            "row_group": "swept",
            "value_label": "accuracy",
            "limit": 1.0,
            "columns": 2,
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="When does the geometry of edges navigate?",
    paper="inweights",
    place="ours",
    summary=(
        "Path-stars of many shapes, edges first, then paths with the embeddings frozen, beside "
        "what a linear reader could find in the embeddings at all."
    ),
    scales={
        "smoke": Settings(
            nodes=(3, 4),
            arms=(6,),
            widths=(8,),
            steps=(10,),
            base=6,
            course=Course(
                model=GPTConfig(layers=1, width=16, heads=2, context=12), edges=20, paths=10
            ),
        ),
        "cpu": Settings(),
        "paper": Settings(
            nodes=(4, 5, 6, 7, 8, 9, 10),
            arms=(50, 100, 200, 400, 1000, 2000),
            widths=(16, 32, 64, 128, 384),
            steps=(75, 150, 250, 600, 1500),
            base=400,
        ),
    },
    seeds={"smoke": 2, "cpu": 3, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("Everything; the course is that of beyond/geometry-first at (200, 5).",),
)
