"""Figure 33 of Geometric Memory: the directions of edges that are needed for a path."""

from itertools import product
from typing import Literal

import polars as pl
from msgspec.structs import replace

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Plan, share
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared.derived import at_the_end
from inweights.recipes.shared.derived_paths import whole
from inweights.worlds.families.path_star import PathStar

DIRECTIONS: tuple[Literal["both", "forward", "backward"], ...] = (
    "both",
    "forward",
    "backward",
)
FORWARD = "forward path"
REVERSE = "reverse path"
#: The reverse path beginning with the leaf, although the prompt already ends with it.
LEAF_FIRST = "reverse path, leaf first"
TASKS = {
    FORWARD: PathStar(),
    REVERSE: PathStar(reverse=True, after_leaf=True),
    LEAF_FIRST: PathStar(reverse=True),
}
KEYS = ["graph", "edges", "task", "seed"]


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig33.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        stars: Path-stars, each with its training settings.
        every: Number of steps between two points of the curves, at least 1.
    """

    stars: tuple[ways.PathStarTraining, ...] = (ways.PathStarTraining(nodes=4),)
    every: PositiveInt = 20


def plan(settings: Settings) -> Plan:
    """Plan training runs on each direction of edges, with forward and with reverse paths.

    Args:
        settings: The recipe's settings, such as ``stars`` and ``every``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (the string ``(arms, nodes per path)``: (200,
          4)), ``edges`` (direction of the training edges: ``forward`` for edges away
          from the root, ``backward`` for edges towards the root, or ``both``), and
          ``task`` (``forward path``: from the root to the leaf; ``reverse path``: from
          the node before the leaf to the root; ``reverse path, leaf first``: from the
          leaf to the root, only with backward edges).
        - Measure: ``paths`` (:func:`inweights.probes.path_accuracy`; during training).

    Raises:
        ConfigError: ``every`` is negative, or a value is out of range for a path-star
            (such as fewer than 2 arms or 3 nodes per path), the model or its training.
    """
    trials = []
    for star, task in product(settings.stars, TASKS):
        # Only if all edges point towards the root does it matter whether the answer has
        # to begin with the leaf, since then no edge leads to a leaf.
        directions = DIRECTIONS[2:] if task == LEAF_FIRST else DIRECTIONS
        for edges in directions:
            labels = {"graph": star.name, "edges": edges, "task": task}
            world = replace(TASKS[task], edges=edges)
            trials.append(star.trial(labels, task=world))
    return Plan(trials=trials, measures=[ways.curves(every=settings.every)])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the accuracies of every run, during training and at the end.

    If training uses only edges towards the root, no edge leads to a leaf. The leaf of a
    training path is then an answer only in training paths, and the leaf of a held-out
    path is never an answer.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``paths`` (:func:`inweights.probes.path_accuracy`) with the
            columns ``graph, edges, task, seed, part, place, hardest, accuracy, exact,
            statements, chance, step``. The labels are ``graph`` (the string ``(arms,
            nodes per path)``: (200, 4)), ``edges`` (direction of the training edges:
            ``forward`` for edges away from the root, ``backward`` for edges towards the
            root, or ``both``), and ``task`` (``forward path``: from the root to the
            leaf; ``reverse path``: from the node before the leaf to the root; ``reverse
            path, leaf first``: from the leaf to the root, only with backward edges).
            Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``curves``: a row per run and step: the accuracies ``hardest`` (on the hardest
          token of held-out paths, which is the first after the root), ``exact`` (share
          of held-out paths that are entirely correct), ``easiest_last`` (on the last
          token of held-out paths) and ``trained`` (share of training paths that are
          entirely correct); ``chance``, the accuracy of guessing the hardest token;
          ``but_leaf``, the smallest accuracy of any token except the leaf; and
          ``panel`` (graph and task). Columns: ``graph, edges, task, seed, step,
          hardest, exact, easiest_last, trained, chance, but_leaf, panel``.
        - ``final``: the rows of ``curves`` at the last step, without ``panel``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    told = tables["paths"]
    last = pl.col("place").max().over("graph", "edges", "task")
    leaf = (
        pl.when(pl.col("task") == LEAF_FIRST)
        .then(0)
        .when(pl.col("task") == FORWARD)
        .then(last)
    )
    rest = told.filter(
        pl.col("part") == "queries", pl.col("place") != leaf.otherwise(-1)
    )
    rest = rest.group_by([*KEYS, "step"]).agg(but_leaf=pl.col("accuracy").min())
    runs = whole(told).join(rest, on=[*KEYS, "step"], how="left")
    panel = pl.format("{}, {}", "graph", "task")
    return {"curves": runs.with_columns(panel=panel), "final": at_the_end(runs, KEYS)}


exact = share("final", "exact").over("graph")

SCORES = {
    "both-forward": exact.at(edges="both", task=FORWARD) >= 0.8,
    "both-reverse": exact.at(edges="both", task=REVERSE) >= 0.95,
    "forward-only-forward": exact.at(edges="forward", task=FORWARD) <= 0.05,
    "forward-only-reverse": exact.at(edges="forward", task=REVERSE) <= 0.05,
    "backward-only-reverse": exact.at(edges="backward", task=REVERSE) >= 0.2,
    "backward-only-leaf-first": exact.at(edges="backward", task=LEAF_FIRST) <= 0.05,
    "backward-only-reverse-but-leaf": exact.of("but_leaf").at(
        edges="backward", task=LEAF_FIRST
    )
    >= 0.95,
    "backward-only-forward": exact.at(edges="backward", task=FORWARD) <= 0.05,
    "backward-only-hardest": exact.of("hardest").at(edges="backward", task=FORWARD)
    <= 0.05,
    "all-memorise": exact.of("trained").over("graph", "edges", "task") >= 0.95,
}
