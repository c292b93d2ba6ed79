"""Ours: edges first, then paths with the embeddings frozen: the headline without a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec import structs

from inweights.config import Config
from inweights.models.gpt import GPTConfig
from inweights.models.layers import Init
from inweights.probes.navigation import navigation, stepwise
from inweights.recipes.claim import Statement, Target
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.training.curriculum import Curriculum, Optimizer, Phase, Schedule
from inweights.worlds.path_star import PathStar

__all__ = ["CONTROLS", "FIRST", "RECIPE", "Course", "Settings", "Size", "ends"]

NAME = "beyond/geometry-first"
FIRST, PERMUTED, RANDOM = "geometry first", "permuted", "random"
CONTROLS = (PERMUTED, RANDOM)
EDGES, PATHS = ("edge", "reverse_edge"), ("edge", "reverse_edge", "path")


class Course(Config):
    """How a graph is learnt: edges alone, then edges and paths with the embeddings frozen.

    Attributes:
        model: The architecture.
        edges: Steps of the first phase.
        paths: Steps of the second.
        sources: Nodes a step of the first phase, each with all its edges; 0 for all.
        rehearsed: Nodes a step of the second phase, so that its edges are not forgotten.
        leaves: Trained paths a step.
        rate: Peak rate of both phases, flat after the warm-up, in a line to 0 over the last fifth.
        weight_decay: Of AdamW.
        warmup: Steps over which the rate rises; at most a quarter of a phase.
    """

    model: GPTConfig = GPTConfig(layers=4, width=32, heads=2, context=16)
    edges: int = 250
    paths: int = 150
    sources: int = 0
    rehearsed: int = 0
    leaves: int = 32
    rate: float = 5e-3
    weight_decay: float = 0.1
    warmup: int = 100

    def curriculum(self, start: str = FIRST, *, paths: int = 0) -> Curriculum:
        """Return the curriculum.

        Args:
            start: What the embeddings know when they are frozen: the graph, the same graph over
                other nodes (``permuted``), or nothing (``random``).
            paths: Steps of the second phase, where they are not the course's own.
        """
        told = EDGES if start == FIRST else tuple(f"moved_{role}" for role in EDGES)
        first = Phase(
            name="edges",
            roles=dict.fromkeys(told, 1.0),
            batch={"+".join(told): self.sources},
            steps=self.edges,
            schedule=self._schedule(self.edges),
            optimizer=self._optimizer,
            pooled=True,
        )
        steps = paths or self.paths
        second = Phase(
            name="paths",
            roles=dict.fromkeys(PATHS, 1.0),
            batch={"+".join(EDGES): self.rehearsed, "path": self.leaves},
            steps=steps,
            schedule=self._schedule(steps),
            optimizer=self._optimizer,
            pooled=True,
            loss="answer",
            moves=("positions.*", "blocks.*", "norm.*"),
        )
        return Curriculum(phases=(second,) if start == RANDOM else (first, second))

    @property
    def _optimizer(self) -> Optimizer:
        return Optimizer(rate=self.rate, weight_decay=self.weight_decay)

    def _schedule(self, steps: int) -> Schedule:
        return Schedule(kind="linear", warmup=min(self.warmup, steps // 4), hold=0.8)


class Size(Config):
    """A graph and how it is learnt.

    Attributes:
        arms: Number of arms.
        nodes: Nodes of a path.
        course: Phases.
        controls: Steps of the second phase of the controls, which have to memorise without a
            geometry; 0 for no controls.
        scatter: Standard deviation of the random embeddings, at which they can be memorised.
    """

    arms: int
    nodes: int = 5
    course: Course = Course()
    controls: int = 0
    scatter: float = 0.2

    def model(self, start: str) -> GPTConfig:
        """The model; one that keeps its random embeddings starts with larger ones."""
        model = self.course.model
        return structs.replace(model, init=Init(std=self.scatter)) if start == RANDOM else model

    @property
    def name(self) -> str:
        """As the paper writes it."""
        return f"({self.arms}, {self.nodes})"

    def world(self, *, moved: bool = False) -> PathStar:
        """The world, with the edges of the same graph over other nodes if ``moved``."""
        return PathStar(arms=self.arms, nodes=self.nodes, pauses=2, moved=moved)


class Settings(Config):
    """Settings of the recipe: the graphs, from small to large."""

    sizes: tuple[Size, ...]


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Every graph geometry first, and the controls where they are asked for."""
    trials = []
    for size in settings.sizes:
        for start in (FIRST, *CONTROLS) if size.controls else (FIRST,):
            steps = 0 if start == FIRST else size.controls
            trials += [
                Trial(
                    labels={"graph": size.name, "embeddings": start},
                    world=size.world(moved=start == PERMUTED),
                    model=size.model(start),
                    curriculum=size.course.curriculum(start, paths=steps),
                    seed=seed,
                )
                for seed in seeds
            ]
    measures = [
        Measure(name="places", probe=stepwise, options={"roles": PATHS}),
        Measure(name="navigation", probe=navigation),
    ]
    return Plan(trials=trials, measures=measures)


def ends(tables: dict[str, pl.DataFrame], keys: Sequence[str]) -> pl.DataFrame:
    """What each run ends with, of the tables ``places`` (stepwise) and ``navigation``.

    A row a run: ``hardest`` and ``exact`` (held-out leaves), ``trained`` (the hardest token on
    trained leaves), ``edges`` (recall), ``nearest``, ``ridge`` and ``chance`` (of the first node).
    """
    places = tables["places"]
    paths = places.filter(pl.col("role") == "path", pl.col("place") == 1)
    asked = paths.filter(pl.col("part") == "queries").select(*keys, "exact", hardest="accuracy")
    told = paths.filter(pl.col("part") == "facts").select(*keys, trained="accuracy")
    edges = places.filter(pl.col("role") != "path").group_by(keys, maintain_order=True)
    first = tables["navigation"].filter(pl.col("depth") == 1)
    return (
        asked.join(told, on=keys)
        .join(edges.agg(edges=pl.col("recall").min()), on=keys)
        .join(first.select(*keys, "nearest", "ridge", "chance"), on=keys)
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The hardest token on held-out leaves, what is memorised, and what the embeddings say."""
    keys = ["graph", "embeddings", "seed"]
    table = ends(tables, keys)
    shown = table.unpivot(["hardest", "trained", "edges", "ridge"], index=keys, variable_name="of")
    return {"table": table, "shown": shown}


state = Statement(NAME, source="ours", place="beyond the paper")

CLAIMS = (
    state(
        "hardest-token",
        "Edges first, then paths with the embeddings frozen: the first node of the arm of leaves "
        "whose path was never seen, by argmax over the whole vocabulary, on every graph "
        "(accuracy).",
        Target(least=0.95),
        table="table",
        column="hardest",
        where={"embeddings": FIRST},
        each=("graph",),
    ),
    state(
        "thousand-arms",
        "The same at (1000, 5), 4,001 nodes.",
        Target(least=0.98),
        table="table",
        column="hardest",
        where={"embeddings": FIRST, "graph": "(1000, 5)"},
    ),
    state(
        "paper-size",
        "The same at the paper's (5000, 5), 20,001 nodes, with 0.7 million parameters.",
        Target(least=0.95),
        table="table",
        column="hardest",
        where={"embeddings": FIRST, "graph": "(5000, 5)"},
    ),
    state(
        "exact-match",
        "And the whole path, greedily decoded, at (5000, 5).",
        Target(least=0.95),
        table="table",
        column="exact",
        where={"embeddings": FIRST, "graph": "(5000, 5)"},
    ),
    state(
        "edges-kept",
        "The edges are still known at the end (top-degree recall).",
        Target(least=0.95),
        table="table",
        column="edges",
        where={"embeddings": FIRST},
        each=("graph",),
    ),
    *(
        state(
            f"{control}-fails",
            f"{text}: no path to a leaf that was not trained (accuracy of the hardest token).",
            Target(most=0.02),
            table="table",
            column="hardest",
            where={"embeddings": control},
        )
        for control, text in (
            (PERMUTED, "The same frozen vectors on other nodes"),
            (RANDOM, "Random frozen vectors"),
        )
    ),
    state(
        "controls-memorise",
        "The controls know their training paths all the same (accuracy of the hardest token on "
        "trained leaves).",
        Target(least=0.99),
        table="table",
        column="trained",
        where={"graph": "(200, 5)"},
        each=("embeddings",),
    ),
)

FIGURES = (
    Figure(
        id="hardest",
        kind="sweeps",
        title="Edges first, then paths with the embeddings frozen",
        caption=(
            "Accuracy of the hardest token on leaves whose path was never trained and on trained "
            "ones, recall of the edges, and how often a ridge map from leaf to first node, fitted "
            "on trained arms, finds the node of a held-out one. The same vectors on other nodes, "
            "and random ones, memorise as well and find nothing."
        ),
        sources=("shown",),
        options={
            "axis": "embeddings",
            "value": "graph",
            "y": "value",
            "series": "of",
            "y_label": "accuracy",
            "y_limits": [0.0, 1.0],
            "columns": 3,
            "order": [FIRST, *CONTROLS],
            "labels": {
                "hardest": "held-out leaves",
                "trained": "trained leaves",
                "edges": "edges",
                "ridge": "held out, ridge map",
            },
        },
    ),
)

LARGE = Course(edges=700, paths=200, sources=2500, rehearsed=500)

RECIPE = Recipe(
    name=NAME,
    title="Geometry first: path-star at the paper's size on a processor",
    paper="inweights",
    place="ours",
    summary=(
        "Trains the edges of a path-star alone, freezes the embeddings, then trains three quarters "
        "of the paths: what the second phase finds on the other leaves is read off the geometry "
        "of the first. The paper interleaves both and trains everything."
    ),
    scales={
        "smoke": Settings(
            sizes=(
                Size(
                    arms=8,
                    nodes=4,
                    course=Course(
                        model=GPTConfig(layers=1, width=16, heads=2, context=12),
                        edges=20,
                        paths=10,
                    ),
                    controls=10,
                ),
            )
        ),
        "cpu": Settings(
            sizes=(
                Size(arms=200, controls=1000),
                Size(arms=1000, course=Course(edges=400, paths=200, sources=1000, rehearsed=300)),
                Size(arms=5000, course=LARGE),
            )
        ),
        "paper": Settings(
            sizes=(
                Size(arms=200, controls=1000),
                Size(arms=1000, course=Course(edges=400, paths=200, sources=1000, rehearsed=300)),
                Size(arms=5000, course=LARGE),
                Size(
                    arms=10_000,
                    nodes=6,
                    course=Course(edges=320, paths=3000, sources=3000, rehearsed=500, leaves=128),
                ),
            )
        ),
    },
    seeds={"smoke": 2, "cpu": 3, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "Everything: the paper interleaves edges and paths, trains all parameters, and takes 12 "
        "layers of width 384. 4 layers of width 32, 2 pauses, no task tokens.",
        "Batches of the first phase are nodes with all their edges, one sequence each.",
    ),
)
