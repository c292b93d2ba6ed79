"""Figure 36 of Geometric Memory: edges first, then paths alone; accuracy peaks and is then lost."""

from itertools import product

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Plan, share
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared.derived import at_the_end
from inweights.recipes.shared.derived_paths import mean_recall, whole

KEYS = ["graph", "condition", "seed"]
CONDITIONS = (ways.TWO_PHASE, ways.HEAD_START, ways.GEOMETRY)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig36.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        stars: Path-stars, each with its training settings.
        paths: Number of updates on paths. It is larger than in other recipes, to show
            the decline after the peak.
        every: Number of steps between two measurements of paths, at least 1. Edges are
            measured every ``5 * every`` steps.
    """

    stars: tuple[ways.PathStarTraining, ...] = (ways.PathStarTraining(nodes=4),)
    paths: int = 400
    every: PositiveInt = 10


def plan(settings: Settings) -> Plan:
    """Plan training runs on edges and then on paths, with and without rehearsal of the edges.

    Args:
        settings: The recipe's settings, such as ``stars``, ``paths`` and ``every``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (the string ``(arms, nodes per path)``: (200,
          4)) and ``condition`` (``two phases``: edges, then paths alone; ``edges
          first``: edges, then edges and paths; ``geometry first``: edges, then edges
          and paths with frozen embeddings).
        - Measures: ``paths`` (:func:`inweights.probes.path_accuracy`; during training)
          and ``edges`` (:func:`inweights.probes.stepwise` with ``roles=("edge",
          "reverse_edge")``; during training).

    Raises:
        ConfigError: ``every`` or ``paths`` is negative, or a value is out of range for
            a path-star (such as fewer than 2 arms or 3 nodes per path), the model or
            its training.
    """
    trials = [
        structs.replace(star, paths=settings.paths).trial(
            {"graph": star.name, "condition": how}, how=how
        )
        for star, how in product(settings.stars, CONDITIONS)
    ]
    recall = ways.recall(every=5 * settings.every)
    return Plan(trials=trials, measures=[ways.curves(every=settings.every), recall])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return curves for paths and edges, peak accuracies on paths, and the decline after the peak.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. Both tables have the columns ``graph, condition, seed, part,
            place, accuracy, exact, statements, step``. Accuracies and recall are
            fractions from 0 to 1.

            - ``paths``, from :func:`inweights.probes.path_accuracy`, with the
              additional columns ``hardest, chance``.
            - ``edges``, from :func:`inweights.probes.stepwise`, with the additional
              columns ``role, recall``.

            The labels are ``graph`` (the string ``(arms, nodes per path)``: (200, 4))
            and ``condition`` (``two phases``: edges, then paths alone; ``edges first``:
            edges, then edges and paths; ``geometry first``: edges, then edges and paths
            with frozen embeddings).

    Returns:
        - ``curves``: a row per run, step and value of ``series`` (exact match and
          hardest token on held-out leaves, exact match on training leaves, recall of
          edges), with its ``value``. Columns: ``graph, condition, seed, step, series,
          value``.
        - ``final``: a row per run at its last step: the accuracies ``hardest`` (on the
          hardest token of held-out paths, which is the first after the root), ``exact``
          (share of held-out paths that are entirely correct), ``easiest_last`` (on the
          last token of held-out paths) and ``trained`` (share of training paths that
          are entirely correct); ``chance``, the accuracy of guessing the hardest token;
          ``peak``, the highest value of ``exact`` at any step; ``lost``, the peak minus
          the last value; and ``lost_hardest``, the same difference for the hardest
          token. Columns: ``graph, condition, seed, step, hardest, exact, easiest_last,
          trained, chance, peak, lost, lost_hardest``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    runs = whole(tables["paths"])
    edges = mean_recall(tables["edges"], [*KEYS, "step"])
    curves = pl.concat(
        table.select(*KEYS, "step", series=pl.lit(text), value=name)
        for table, name, text in (
            (runs, "exact", "exact match, held out"),
            (runs, "hardest", "hardest token, held out"),
            (runs, "trained", "exact match, trained"),
            (edges, "recall", "edges recalled"),
        )
    )
    peak, hardest = (pl.col(name).max().over(KEYS) for name in ("exact", "hardest"))
    lost = {"lost": peak - pl.col("exact"), "lost_hardest": hardest - pl.col("hardest")}
    return {
        "curves": curves,
        "final": at_the_end(runs.with_columns(peak=peak, **lost), KEYS),
    }


peak, lost, lost_hardest = (
    share("final", column).over("graph") for column in ("peak", "lost", "lost_hardest")
)

SCORES = {
    "high-peak": peak.at(condition=ways.TWO_PHASE) >= 0.8,
    "then-it-deteriorates": lost.at(condition=ways.TWO_PHASE) >= 0.3,
    "the-decision-too": lost_hardest.at(condition=ways.TWO_PHASE) >= 0.2,
    "edges-rehearsed": lost.at(condition=ways.HEAD_START) <= 0.05,
    "embeddings-frozen": lost.at(condition=ways.GEOMETRY) <= 0.02,
}
