"""Figure 13 of Geometric Memory: the path-star in context, where next-token training fails."""

from __future__ import annotations

from typing import Literal

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config import Config
from inweights.lab import Curriculum, Measure, Plan, Trial, cosine, share
from inweights.models.configs import GPTConfig, Init
from inweights.recipes.derived import at_the_end, learnt, token_names
from inweights.recipes.geometric_memory.common import PAPER
from inweights.recipes.geometric_memory.paths import through_training
from inweights.training.curriculum import Optimizer, Phase, Schedule
from inweights.worlds.in_context import InContextStar

__all__ = ["RECIPE", "InContextTraining", "Settings"]

#: The path from the root, token after token; its hardest token alone; the path from the goal;
#: the path from the root with its own tokens hidden.
NEXT, FIRST, REVERSE, HIDDEN = "next token", "first token alone", "reverse path", "teacherless"
BLANK = "<blank>"
KEYS = ["graph", "condition", "seed"]
#: Accuracy at which a token counts as learnt: well above 1/d, what a guess gets.
LEARNT = 0.9


class InContextTraining(Config):
    """Graphs in context and how they are learnt.

    Attributes:
        world: The graphs; ``reverse`` is set by the condition.
        model: The architecture.
        steps: Number of updates.
        batch: Prompts a step.
        optimizer: How the parameters move.
        schedule: The rate over time.
        precision: ``fp32`` or ``bf16``.
    """

    world: InContextStar = InContextStar(arms=2, nodes=5, labels=12, trained=50_000, asked=500)
    model: GPTConfig = GPTConfig(layers=2, width=64, heads=4, context=32, init=Init(std=0.05))
    steps: int = 2000
    batch: int = 64
    optimizer: Optimizer = Optimizer(rate=3e-3, decayed="all")
    schedule: Schedule = Schedule(kind="linear", warmup=50, hold=0.8)
    precision: Literal["fp32", "bf16"] = "fp32"

    @property
    def name(self) -> str:
        """As the paper writes it: ``(arms, nodes)``."""
        return f"({self.world.arms}, {self.world.nodes})"

    def trial(self, condition: str) -> Trial:
        """Return a trial under one of the conditions."""
        hidden = condition == HIDDEN
        phase = Phase(
            name=condition,
            steps=self.steps,
            batch=self.batch,
            loss=(1,) if condition == FIRST else "answer",
            teacherless=BLANK if hidden else "",
            optimizer=self.optimizer,
            schedule=self.schedule,
            precision=self.precision,
        )
        return Trial(
            labels={"graph": self.name, "arms": self.world.arms, "condition": condition},
            world=structs.replace(self.world, reverse=condition == REVERSE),
            model=self.model,
            learner=Curriculum(phases=(phase,)),
        )


#: Another degree; a prompt has its 9 edges, and all of the labels.
_THREE = InContextTraining(
    world=InContextStar(arms=3, nodes=4, labels=10, trained=50_000, asked=500),
    model=GPTConfig(layers=2, width=64, heads=4, context=40, init=Init(std=0.05)),
    steps=3000,
    optimizer=Optimizer(rate=1e-3, decayed="all"),
)
#: Without a teacher the whole arm is found in one go, a layer for each edge: a shorter one.
_HIDDEN = InContextTraining(
    world=InContextStar(arms=2, nodes=3, labels=12, trained=50_000, asked=500),
    model=GPTConfig(layers=4, width=64, heads=4, context=24, init=Init(std=0.05)),
    steps=4500,
    optimizer=Optimizer(rate=5e-4, decayed="all"),
)


class Settings(Config):
    """Settings of Figure 13.

    Attributes:
        stars: Graphs for the conditions with a teacher.
        hidden: Graphs for the condition without one.
        every: Steps between two points of the curves.
    """

    stars: tuple[InContextTraining, ...] = (InContextTraining(), _THREE)
    hidden: tuple[InContextTraining, ...] = (_HIDDEN,)
    every: int = 50


def plan(settings: Settings) -> Plan:
    """Every condition on its graphs, looked at token by token."""
    pairs = [(star, how) for star in settings.stars for how in (NEXT, FIRST, REVERSE)]
    pairs += [(star, HIDDEN) for star in settings.hidden]
    trials = [star.trial(how) for star, how in pairs]
    measures = [
        Measure(
            name="paths",
            probe=iw.probes.path_accuracy,
            every=settings.every,
            where={"condition": how},
            options={"most": 500, "teacherless": BLANK if how == HIDDEN else ""},
        )
        for how in (NEXT, FIRST, REVERSE, HIDDEN)
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Curves of every token, what each run ends with, and when each token is learnt."""
    place, chance = pl.col("place"), pl.col("chance").first()
    held = tables["paths"].filter(pl.col("part") == "queries")
    held = held.with_columns(chance=1.0 / pl.col("arms"))
    final = at_the_end(held, KEYS).group_by(KEYS, maintain_order=True)
    reverse = pl.when(pl.col("condition") == REVERSE).then(pl.format("token {}", place + 1))
    # Of the loss on the hardest token alone the other tokens were never taught.
    shown = held.filter((pl.col("condition") != FIRST) | (place == 1))
    when = learnt(held.filter(pl.col("condition") == HIDDEN), KEYS, LEARNT)
    return {
        "final": final.agg(
            above=pl.col("accuracy").filter(place == 1).mean() - chance,
            later=pl.col("accuracy").filter(place > 1).min(),
            exact=pl.col("exact").mean(),
            above_whole=pl.col("exact").mean() - chance,
        ),
        "tokens": shown.with_columns(
            token=reverse.otherwise(token_names()), panel=pl.format("{}, {}", "graph", "condition")
        ),
        "order": when.unique(subset=KEYS, maintain_order=True),
    }


state = PAPER.stating("fig13", "Fig. 13, App. A.1")

exact = share("final", "exact").over("graph")
above = cosine("final", "above").over("graph")

CLAIMS = (
    state(
        "first-token-at-chance",
        "Trained to say the next token, a model is at chance at the first node of the path, on "
        "graphs that it never saw (accuracy minus 1/d).",
        above.at(condition=NEXT).within(-0.1, 0.1),
        published="1/d",
    ),
    state(
        "clever-hans",
        "It is right at every later token, which is one edge from the one that it was just given "
        "(accuracy, the worst place).",
        exact.of("later").at(condition=NEXT) >= 0.95,
    ),
    state(
        "whole-path-at-chance",
        "So that one whole path in d is right (exact match minus 1/d).",
        above.of("above_whole").at(condition=NEXT).within(-0.1, 0.1),
        published="1/d",
    ),
    state(
        "first-token-in-isolation",
        "With the loss on that first node alone it is not learnt either: at chance or below it "
        "(accuracy minus 1/d).",
        above.at(condition=FIRST) <= 0.1,
        published="1/d",
    ),
    state(
        "reverse-succeeds",
        "The path from the goal to the root is found in context (exact match).",
        exact.at(condition=REVERSE) >= 0.95,
        place="Fig. 34 (right), D.1",
    ),
    state(
        "teacherless-succeeds",
        "Where its own tokens are hidden from it, the path from the root is found as well (exact "
        "match).",
        exact.at(condition=HIDDEN) >= 0.95,
    ),
    state(
        "teacherless-cascade",
        "Its tokens are then learnt from the goal backwards (rank correlation of a token's place "
        "with the step at which it is right 9 times in 10; −1 for the last token first).",
        cosine("order", "order").over("graph") <= -0.9,
        published="reverse cascade",
        condition=HIDDEN,
    ),
)

FIGURES = (
    through_training(
        "tokens",
        "tokens",
        "Every token of the path through a graph in the prompt",
        "Teacher-forced accuracy on graphs never seen, without a teacher where it says so. "
        "Dashed: chance at the first node, 1/d. Next-token training learns to follow an edge "
        "and never which arm to take; from the goal backwards there is nothing to choose.",
        y="accuracy",
        series="token",
        facet="panel",
        reference=("chance", "1/d"),
        y_label="accuracy, new graphs",
        columns=2,
    ),
)

_MINI = InContextTraining(
    world=InContextStar(arms=2, nodes=3, labels=8, trained=30, asked=10),
    model=GPTConfig(layers=1, width=8, heads=1, context=16),
    steps=6,
    batch=8,
)
_PAPER = tuple(
    InContextTraining(
        world=InContextStar(arms=arms, nodes=5, labels=100, trained=200_000, asked=2000),
        model=GPTConfig(layers=12, width=width, heads=8, context=128, positions="sinusoidal"),
        steps=40_000,
        batch=512,
        optimizer=Optimizer(rate=5e-4, decayed="all"),
        schedule=Schedule(kind="cosine", warmup=1000, final=0.1),
        precision="bf16",
    )
    for arms, width in ((2, 384), (5, 384), (10, 784))
)

RECIPE = PAPER.recipe(
    "fig13",
    title="In context the same task defeats next-token training",
    place="Figures 13 and 34 (right), appendix A.1",
    summary=(
        "Trains a Transformer on path-stars that are listed in the prompt, a fresh one each time: "
        "to say the path token by token, its first node alone, the path in reverse, and the path "
        "with its own tokens hidden (teacherless)."
    ),
    scales={
        "smoke": Settings(stars=(_MINI,), hidden=(_MINI,), every=3),
        "cpu": Settings(),
        "paper": Settings(stars=_PAPER, hidden=_PAPER, every=1000),
    },
    seeds={"smoke": 2, "cpu": 3, "paper": 3},
    version=3,  # graphs and rates at which every condition is learnt, or has long stood still
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "stars.world",
        "stars.steps",
        "stars.batch",
        "hidden.world",
        "hidden.steps",
        "hidden.batch",
        "every",
        "stars.optimizer",
        "hidden.optimizer",
        "The paper's degrees, lengths and number of labels could not be read. At cpu scale the "
        "smallest graphs that show it, two degrees, few labels, and a small Transformer. Graphs, "
        "rates and steps were chosen on seeds 0 to 7, of which four each were tried: later tokens "
        "are known after 500 steps at (2, 5) and 1,500 at (3, 4), and the first one stands at "
        "chance for another 1,500; without a teacher all is known after 1,750 to 3,000 of the "
        "4,500 steps. Larger graphs were not learnt to an end: (3, 5) in 3,500 steps on one seed "
        "of three, (4, 5) in 2,000 and, without a teacher, (2, 4) in 3,000 steps on none.",
        "A token counts as learnt where 9 in 10 are right: half would be what a guess gets.",
    ),
)
