"""Figures 2, 10 and 11 of Geometric Memory: the path-star task, in weights and in context."""

from __future__ import annotations

import polars as pl

from inweights.config import Config
from inweights.lab import Computation, Plan, computed, states
from inweights.recipes.geometric_memory.common import PAPER
from inweights.theory.star_picture import star_design, star_picture
from inweights.worlds.in_context import InContextStar
from inweights.worlds.path_star import PathStar

__all__ = ["RECIPE", "Settings"]

IN_WEIGHTS, IN_CONTEXT = "in weights", "in context"


class Settings(Config):
    """Settings of Figures 2, 10 and 11.

    Attributes:
        star: The in-weights task: one graph for all examples.
        context: The in-context task: a graph in each prompt.
        examples: Trained examples of the in-context task that are drawn.
    """

    star: PathStar = PathStar(arms=5, nodes=5, pauses=1, task_tokens=True)
    context: InContextStar = InContextStar(arms=3, nodes=4, labels=20, trained=1000, asked=200)
    examples: int = 2


def plan(settings: Settings) -> Plan:
    """Read both tasks off their own statements; nothing is trained."""
    worlds: dict[str, PathStar | InContextStar] = {
        IN_WEIGHTS: settings.star,
        IN_CONTEXT: settings.context,
    }
    pictures = [
        Computation(
            name="stars",
            labels={"task": task},
            compute=star_picture,
            options={"world": world, "examples": settings.examples},
            effort=10,
        )
        for task, world in worlds.items()
    ]
    designs = [
        Computation(
            name="design",
            labels={"task": task, "arms": world.arms},
            compute=star_design,
            options={"world": world},
            effort=10,
        )
        for task, world in worlds.items()
    ]
    return Plan(computations=[*pictures, *designs])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """How many first nodes there are for each arm."""
    choices = pl.col("first") / pl.col("arms")
    return {"task": tables["design"].with_columns(choices=choices)}


state = PAPER.stating("fig2-10-11", "Fig. 2, §2.1")

CLAIMS = tuple(
    state(name, text, judged, check=True, place=place)
    for name, text, judged, place in (
        (
            "no-asked-path-is-told",
            "No path that is asked is among the facts; in context no graph is.",
            computed("task", "told").over("task") <= 0.0,
            "§2.1, Fig. 10",
        ),
        (
            "every-edge-is-told",
            "Every edge of a path that is asked is told: in weights as a fact, in context in the "
            "prompt (share).",
            computed("task", "edges").over("task") >= 1.0,
            "§2.1, Figs. 10, 11",
        ),
        (
            "first-is-a-guess-of-arms",
            "At the first node an edge allows as many nodes as there are arms, so that a guess "
            "gets 1/d (choices over arms).",
            computed("task", "choices").over("task").within(1.0, 1.0),
            "§2.1, A.1",
        ),
        (
            "later-follow",
            "Every later node is the one child of the token before it (the Clever Hans cheat).",
            computed("task", "later").over("task") <= 1.0,
            "A.1",
        ),
    )
)

FIGURES = (
    states(
        "stars",
        "stars",
        "One graph in the weights, or one in each prompt",
        "Each arm has a colour, which darkens from the root to the leaf. In weights (Figs. 2, 10) "
        "edges and some paths of one graph are facts, and paths to other leaves are asked; no "
        "prompt names an edge. In context (Fig. 11) a prompt lists the edges of a graph of its "
        "own, with root and goal. The statements below the graphs are those of the worlds.",
        x="x",
        y="y",
        layer="depth",
        pair="arm",
        kind="kind",
        panel="panel",
        kinds=("asked path", "trained path", "edges alone"),
        note="note",
        text="node",
        columns=2,
    ),
)

RECIPE = PAPER.recipe(
    "fig2-10-11",
    title="The path-star task, in weights and in context",
    place="Figures 2, 10 and 11, §2.1, appendix A",
    summary=(
        "Draws the two tasks from their own statements: the in-weights path-star, whose edges and "
        "trained paths are facts, and the in-context one with a fresh graph in every prompt. "
        "Checks what the argument rests on: nothing that is asked is told, every edge is, only "
        "the first node takes planning. Nothing is trained."
    ),
    scales={"smoke": Settings(), "cpu": Settings(), "paper": Settings()},
    seeds=1,
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "star.arms",
        "star.nodes",
        "star.pauses",
        "context",
        "examples",
        "The drawn sizes are ours; the paper's are 10,000 arms of 6 and 10 nodes.",
    ),
)
