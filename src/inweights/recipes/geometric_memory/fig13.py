"""Figure 13 of Geometric Memory: the path-star in context, where next-token training fails."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.models.gpt import GPTConfig
from inweights.models.layers import Init
from inweights.probes.paths import path_accuracy
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import PAPER, SOURCE
from inweights.recipes.geometric_memory.fig12 import learnt
from inweights.recipes.geometric_memory.paths import at_the_end
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.training.curriculum import Curriculum, Optimizer, Phase, Schedule
from inweights.worlds.in_context import InContextStar

__all__ = ["RECIPE", "Settings", "Star"]

NAME = "geometric-memory/fig13"
#: The path from the root, token after token; its hardest token alone; the path from the goal;
#: the path from the root with its own tokens hidden.
NEXT, FIRST, REVERSE, HIDDEN = "next token", "first token alone", "reverse path", "teacherless"
BLANK = "<blank>"
KEYS = ["graph", "condition", "seed"]


class Star(Config):
    """Graphs in context and how they are learnt.

    Attributes:
        world: The graphs; ``reverse`` is set by the condition.
        model: The architecture.
        steps: Steps of every condition but the one without a teacher.
        hidden_steps: Steps of that one; 0 leaves it out.
        batch: Prompts a step.
        optimizer: How the parameters move.
        schedule: The rate over time.
        precision: ``fp32`` or ``bf16``.
    """

    world: InContextStar = InContextStar(arms=2, nodes=4, labels=12, trained=50_000, asked=500)
    model: GPTConfig = GPTConfig(layers=3, width=64, heads=4, context=24, init=Init(std=0.05))
    steps: int = 1500
    hidden_steps: int = 1500
    batch: int = 64
    optimizer: Optimizer = Optimizer(rate=3e-3)
    schedule: Schedule = Schedule(kind="linear", warmup=50, hold=0.8)
    precision: str = "fp32"

    @property
    def name(self) -> str:
        """As the paper writes it: ``(arms, nodes)``."""
        return f"({self.world.arms}, {self.world.nodes})"
