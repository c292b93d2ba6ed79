"""Figure 35 of Geometric Memory: pause tokens between the leaf and its path."""

from itertools import product

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Plan, number, share
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared.derived import at_the_end, first_step
from inweights.recipes.shared.derived_paths import whole

KEYS = ["graph", "pauses", "seed"]
NONE = "0"
FEW = "2"
MANY = "5"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig35.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        stars: Path-stars, each with its training settings.
        pauses: Numbers of pause tokens, at least 0. Claims are made for 0, 2 and 5
            pause tokens.
        every: Number of steps between two measurements, at least 1.
    """

    stars: tuple[ways.PathStarTraining, ...] = (
        ways.PathStarTraining(
            arms=600,
            nodes=5,
            leaves=64,
            sources=400,
            together=400,
        ),
    )
    pauses: tuple[int, ...] = (0, 1, 2, 5)
    every: PositiveInt = 10


def plan(settings: Settings) -> Plan:
    """Plan training runs on one graph with different numbers of pause tokens.

    Pause tokens are placed between the leaf and the path. All runs have a task token,
    so that they differ only in the pauses.

    Args:
        settings: The recipe's settings, such as ``stars``, ``pauses`` and ``every``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (the string ``(arms, nodes per path)``: (600,
          5)) and ``pauses`` (number of pause tokens, as a string: 0, 1, 2, 5).
        - Measure: ``paths`` (:func:`inweights.probes.path_accuracy`; during training).

    Raises:
        ConfigError: ``every`` or a number of pauses is negative, or a value is out of
            range for a path-star (such as fewer than 2 arms or 3 nodes per path), the
            model or its training.
    """
    trials = [
        structs.replace(star, pauses=pauses).trial(
            {"graph": star.name, "pauses": str(pauses)}
        )
        for star, pauses in product(settings.stars, settings.pauses)
    ]
    return Plan(trials=trials, measures=[ways.curves(every=settings.every)])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return curves, their means and final values, and the step at which paths are learned.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``paths`` (:func:`inweights.probes.path_accuracy`) with the
            columns ``graph, pauses, seed, part, place, hardest, accuracy, exact,
            statements, chance, step``. The labels are ``graph`` (the string ``(arms,
            nodes per path)``: (600, 5)) and ``pauses`` (number of pause tokens, as a
            string: 0, 1, 2, 5). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``curves``: a row per run and step: the accuracies ``hardest`` (on the hardest
          token of held-out paths, which is the first after the root), ``exact`` (share
          of held-out paths that are entirely correct), ``easiest_last`` (on the last
          token of held-out paths) and ``trained`` (share of training paths that are
          entirely correct); ``chance``, the accuracy of guessing the hardest token
          (:func:`~inweights.recipes.shared.derived_paths.whole`). Columns: ``graph,
          pauses, seed, step, hardest, exact, easiest_last, trained, chance``.
        - ``final``: the rows of ``curves`` at the last step. Columns: as in ``curves``.
        - ``mean``: a row per run, with the mean of ``exact`` over the steps. Columns:
          ``graph, pauses, seed, exact``.
        - ``when``: a row per run: ``first``, the first step at which at least half of
          the held-out paths are entirely correct, or the last step plus 1 if there is
          no such step. Columns: ``graph, pauses, seed, first``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    runs = whole(tables["paths"])
    return {
        "curves": runs,
        "final": at_the_end(runs, KEYS),
        "mean": runs.group_by(KEYS, maintain_order=True).agg(pl.col("exact").mean()),
        "when": first_step(runs, "exact", KEYS),
    }


exact, mean = (share(table, "exact").over("graph") for table in ("final", "mean"))
half = number("when", "first").over("graph")

SCORES = {
    "pauses-help": mean.at(pauses=MANY) - mean.at(pauses=NONE) >= 0.02,
    "pauses-are-quicker": half.at(pauses=NONE) - half.at(pauses=MANY) >= 10.0,
    "more-are-quicker-still": half.at(pauses=FEW) - half.at(pauses=MANY) >= 10.0,
    "better-at-the-end": exact.at(pauses=MANY) - exact.at(pauses=NONE) >= 0.02,
}
