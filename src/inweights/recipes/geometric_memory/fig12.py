"""Figure 12 of Geometric Memory: whole paths of held-out leaves, and no reverse cascade."""

from itertools import product

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Plan, cosine, number, share
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared.derived import at_the_end
from inweights.recipes.shared.derived_paths import learnt, token_names, whole

KEYS = ["graph", "condition", "seed"]


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig12.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        stars: Path-stars, each with its training settings.
        every: Number of steps between two points of the curves, at least 1.
    """

    stars: tuple[ways.PathStarTraining, ...] = ways.STARS
    every: PositiveInt = 10


def plan(settings: Settings) -> Plan:
    """Plan training runs on whole paths, in which edges are mixed with the paths or come first.

    Args:
        settings: The recipe's settings, such as ``stars`` and ``every``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (the string ``(arms, nodes per path)``: (200,
          4); (200, 5)) and ``condition`` (``interleaved``: edges and paths together;
          ``geometry first``: edges, then edges and paths with frozen embeddings).
        - Measure: ``paths`` (:func:`inweights.probes.path_accuracy`; during training).

    Raises:
        ConfigError: ``every`` is negative, or a value is out of range for a path-star
            (such as fewer than 2 arms or 3 nodes per path), the model or its training.
    """
    trials = [
        star.trial({"graph": star.name, "condition": how}, how=how)
        for star, how in product(settings.stars, (ways.INTERLEAVED, ways.GEOMETRY))
    ]
    return Plan(trials=trials, measures=[ways.curves(every=settings.every)])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return exact-match accuracy on whole paths, and the step at which each token is learned.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``paths`` (:func:`inweights.probes.path_accuracy`) with the
            columns ``graph, condition, seed, part, place, hardest, accuracy, exact,
            statements, chance, step``. The labels are ``graph`` (the string ``(arms,
            nodes per path)``: (200, 4); (200, 5)) and ``condition`` (``interleaved``:
            edges and paths together; ``geometry first``: edges, then edges and paths
            with frozen embeddings). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``final``: a row per run at its last step: the accuracies ``hardest`` (on the
          hardest token of held-out paths, which is the first after the root), ``exact``
          (share of held-out paths that are entirely correct), ``easiest_last`` (on the
          last token of held-out paths) and ``trained`` (share of training paths that
          are entirely correct); ``chance``, the accuracy of guessing the hardest token
          (:func:`~inweights.recipes.shared.derived_paths.whole`). Columns: ``graph,
          condition, seed, step, hardest, exact, easiest_last, trained, chance``.
        - ``exact``: a row per run and step, with the same measures. Columns: as in
          ``final``.
        - ``tokens``: a row per run, step and token of held-out paths, with its
          ``accuracy``, its name ``token`` and the ``panel`` of the figure (graph and
          condition). Columns: all columns of ``paths``, plus ``token, panel``.
        - ``order``: a row per run: four columns that compare the first steps at which
          tokens reach an accuracy of 0.5
          (:func:`~inweights.recipes.shared.derived_paths.learnt`): ``order``, the rank
          correlation of these steps with the places of the tokens; ``hardest`` and
          ``last``, the steps of the first and the last token; and ``lead``, ``last``
          minus ``hardest``. The columns ``place`` and ``step`` belong to one token of
          the run and are not used. Columns: ``graph, condition, seed, place, step,
          order, hardest, last, lead``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    told = tables["paths"]
    runs = whole(told)
    return {
        "final": at_the_end(runs, KEYS),
        "exact": runs,
        "tokens": told.filter(pl.col("part") == "queries").with_columns(
            token_names(), panel=pl.format("{}, {}", "graph", "condition")
        ),
        "order": learnt(told, KEYS).unique(subset=KEYS, maintain_order=True),
    }


exact = share("final", "exact").over("graph")
lead = number("order", "lead").over("graph")

SCORES = {
    "full-path": exact.at(condition=ways.INTERLEAVED) >= 0.8,
    "full-path-geometry-first": exact.at(condition=ways.GEOMETRY) >= 0.97,
    "no-reverse-cascade": lead.at(condition=ways.INTERLEAVED) >= -50.0,
    "no-reverse-cascade-geometry-first": lead.at(condition=ways.GEOMETRY) >= -50.0,
    "not-the-order-of-a-cascade": cosine("order", "order").over("graph", "condition")
    >= -0.75,
}
