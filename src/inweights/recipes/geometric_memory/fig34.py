"""Figure 34 of Geometric Memory: the reverse path is learned sooner than the forward one."""

from itertools import product

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Plan, number, share
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared.derived import at_the_end, first_step
from inweights.recipes.shared.derived_paths import whole
from inweights.worlds.families.path_star import PathStar

FORWARD = "forward path"
REVERSE = "reverse path"
KEYS = ["graph", "task", "seed"]


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig34.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        stars: Path-stars, each with its training settings.
        every: Number of steps between two measurements, at least 1.
    """

    stars: tuple[ways.PathStarTraining, ...] = ways.STARS
    every: PositiveInt = 10


def plan(settings: Settings) -> Plan:
    """Plan training runs on edges in both directions, and on forward or reverse paths.

    Args:
        settings: The recipe's settings, such as ``stars`` and ``every``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (the string ``(arms, nodes per path)``: (200,
          4); (200, 5)) and ``task`` (``forward path``: written from the root to the
          leaf; ``reverse path``: from the leaf to the root; the leaf is the prompt of
          both).
        - Measure: ``paths`` (:func:`inweights.probes.path_accuracy`; during training).

    Raises:
        ConfigError: ``every`` is negative, or a value is out of range for a path-star
            (such as fewer than 2 arms or 3 nodes per path), the model or its training.
    """
    trials = [
        star.trial(
            {"graph": star.name, "task": task}, task=PathStar(reverse=task == REVERSE)
        )
        for star, task in product(settings.stars, (FORWARD, REVERSE))
    ]
    return Plan(trials=trials, measures=[ways.curves(every=settings.every)])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return curves and final accuracies on paths, and the step at which paths are learned.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``paths`` (:func:`inweights.probes.path_accuracy`) with the
            columns ``graph, task, seed, part, place, hardest, accuracy, exact,
            statements, chance, step``. The labels are ``graph`` (the string ``(arms,
            nodes per path)``: (200, 4); (200, 5)) and ``task`` (``forward path``:
            written from the root to the leaf; ``reverse path``: from the leaf to the
            root; the leaf is the prompt of both). Accuracies and recall are fractions
            from 0 to 1.

    Returns:
        - ``curves``: a row per run and step: the accuracies ``hardest`` (on the hardest
          token of held-out paths, which is the first after the root), ``exact`` (share
          of held-out paths that are entirely correct), ``easiest_last`` (on the last
          token of held-out paths) and ``trained`` (share of training paths that are
          entirely correct); ``chance``, the accuracy of guessing the hardest token
          (:func:`~inweights.recipes.shared.derived_paths.whole`). Columns: ``graph,
          task, seed, step, hardest, exact, easiest_last, trained, chance``.
        - ``final``: the rows of ``curves`` at the last step. Columns: as in ``curves``.
        - ``when``: a row per run: ``first``, the first step at which at least half of
          the held-out paths are entirely correct, or the last step plus 1 if there is
          no such step. Columns: ``graph, task, seed, first``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    runs = whole(tables["paths"])
    return {
        "curves": runs,
        "final": at_the_end(runs, KEYS),
        "when": first_step(runs, "exact", KEYS),
    }


exact = share("final", "exact").over("graph")
half = number("when", "first").over("graph")

SCORES = {
    "reverse-is-quicker": half.at(task=FORWARD) - half.at(task=REVERSE) >= 10.0,
    "reverse-is-higher": exact.at(task=REVERSE) - exact.at(task=FORWARD) >= 0.0,
    "reverse-path": exact.at(task=REVERSE) >= 0.95,
}
