"""Figure 13 of Geometric Memory: the same task in context, where it fails."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.models.gpt import GPTConfig
from inweights.probes.paths import path_accuracy
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import PAPER, SOURCE
from inweights.recipes.geometric_memory.paths import at_the_end, first_step
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.training.curriculum import Curriculum, Optimizer, Phase, Schedule
from inweights.worlds.in_context import InContextStar

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig13"
NEXT, REVERSED, BLIND = "next token", "next token, path reversed", "teacherless"
BLANK = "<blank>"
KEYS = ["training", "seed"]


class Settings(Config):
    """Settings of Figure 13.

    Attributes:
        arms: Arms of every graph, ``d``.
        nodes: Nodes of a path, root and goal included.
        labels: Labels that nodes are named with.
        trained: Graphs to train on.
        asked: Graphs to ask about.
        model: The architecture.
        steps: Updates of next-token training.
        blind: Updates of teacherless training.
        batch: Graphs a step.
        rate: Peak rate of AdamW; it falls as a cosine.
        every: Steps between two points of the curves.
    """

    arms: int = 2
    nodes: int = 4
    labels: int = 20
    trained: int = 20_000
    asked: int = 500
    model: GPTConfig = GPTConfig(layers=3, width=64, heads=4, context=24)
    steps: int = 700
    blind: int = 700
    batch: int = 256
    rate: float = 1e-3
    every: int = 50

    def trial(self, training: str, seed: int) -> Trial:
        """Return a run with one of the three ways of training."""
        blind = training == BLIND
        phase = Phase(
            steps=self.blind if blind else self.steps,
            batch=self.batch,
            loss="answer",
            teacherless=BLANK if blind else "",
            optimizer=Optimizer(rate=self.rate, weight_decay=0.01),
            schedule=Schedule(kind="cosine", warmup=min(100, self.steps // 4)),
        )
        world = InContextStar(
            arms=self.arms,
            nodes=self.nodes,
            labels=self.labels,
            trained=self.trained,
            asked=self.asked,
            reverse=training == REVERSED,
        )
        return Trial(
            labels={"training": training},
            world=world,
            model=self.model,
            curriculum=Curriculum(phases=(phase,)),
            seed=seed,
        )


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Next-token training on the path and on its reverse, and teacherless training."""
    trials = [settings.trial(way, seed) for way in (NEXT, REVERSED, BLIND) for seed in seeds]
    measures = [
        Measure(
            name="paths",
            probe=path_accuracy,
            options={"parts": ["queries"], "teacherless": BLANK if way == BLIND else ""},
            every=settings.every,
            where={"training": way},
        )
        for way in (NEXT, REVERSED, BLIND)
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Accuracy by place through training and at its end; when each place is learnt."""
    paths = tables["paths"].with_columns(token=pl.format("token {}", pl.col("place") + 1))
    final = at_the_end(paths, KEYS)
    last = pl.col("place").max()
    by_run = final.group_by(KEYS, maintain_order=True).agg(
        hardest=pl.col("accuracy").filter(pl.col("place") == 1).first(),
        later=pl.col("accuracy").filter(pl.col("place") > 1).min(),
        exact=pl.col("exact").first(),
    )
    learnt = first_step(
        paths.filter(pl.col("training") == BLIND), "accuracy", [*KEYS, "place"], least=0.9
    )
    cascade = learnt.group_by("seed", maintain_order=True).agg(
        ahead=pl.col("first").filter(pl.col("place") == 1).first()
        - pl.col("first").filter(pl.col("place") == last - 1).first(),
    )
    return {"curves": paths, "final": by_run, "learnt": learnt, "cascade": cascade}


state = Statement(NAME, source=SOURCE, place="Fig. 13, App. A")

CLAIMS = (
    state(
        "hardest-at-chance",
        "Trained on the next token the hardest token stays at chance, 1/2 for two arms (accuracy "
        "on fresh graphs).",
        Target(least=0.4, most=0.6),
        table="final",
        column="hardest",
        where={"training": NEXT},
        published="chance 1/d",
    ),
    state(
        "later-tokens-follow",
        "While every later token is right: it follows an edge from the token before (accuracy of "
        "the worst of them).",
        Target(least=0.95),
        table="final",
        column="later",
        where={"training": NEXT},
    ),
    state(
        "reverse-succeeds",
        "The path from the goal to the root, which needs no planning, is learnt in context "
        "(exact match).",
        Target(least=0.95),
        table="final",
        column="exact",
        where={"training": REVERSED},
        place="Fig. 34, D.1",
    ),
    state(
        "teacherless-solves",
        "Teacherless training finds the hardest token (accuracy).",
        Target(least=0.95),
        table="final",
        column="hardest",
        where={"training": BLIND},
    ),
    state(
        "reverse-cascade",
        "Teacherless, a token near the goal is learnt before the hardest one (steps between the "
        "first times that 90% are right).",
        Target(least=1.0),
        table="cascade",
        column="ahead",
    ),
)

FIGURES = (
    Figure(
        id="places",
        kind="lines",
        title="In context: every token of the path, through training",
        caption=(
            "Accuracy on fresh graphs, by the place of the token in the answer; token 1 is the "
            "first that is said, and tokens before each are given, except in teacherless training. "
            "Next-token training learns to follow edges and guesses at the one token that takes "
            "planning."
        ),
        sources=("curves",),
        options={
            "x": "step",
            "y": "accuracy",
            "series": "token",
            "facet": "training",
            "y_limits": [0, 1],
            "x_label": "step",
            "y_label": "accuracy",
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="The same task in context fails, and how",
    paper=PAPER,
    place="Figure 13, appendix A",
    summary=(
        "Puts a fresh path-star graph into every prompt, as Bachmann and Nagarajan do, and trains "
        "on the next token, on the next token of the reversed path, and teacherless."
    ),
    scales={
        "smoke": Settings(
            nodes=3,
            labels=8,
            trained=50,
            asked=10,
            model=GPTConfig(layers=1, width=8, heads=1, context=24),
            steps=6,
            blind=6,
            batch=8,
            every=3,
        ),
        "cpu": Settings(),
        "paper": Settings(
            nodes=5,
            labels=50,
            trained=200_000,
            asked=5000,
            model=GPTConfig(layers=12, width=384, heads=8, context=32),
            steps=50_000,
            blind=200_000,
            batch=256,
            rate=5e-4,
            every=1000,
        ),
    },
    seeds={"smoke": 2, "cpu": 3, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "Two arms of four nodes over 20 labels, 20,000 graphs, a GPT of 3 layers and width 64; "
        "edges away from the root, two tokens each, without separators.",
        "Three replicates.",
    ),
)
