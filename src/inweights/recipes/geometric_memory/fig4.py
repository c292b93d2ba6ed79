"""Figure 4 of Geometric Memory: the states of a leaf and the first node of its path are close."""

from itertools import product

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, number, share
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared.derived_paths import own_and_other_arms

#: Number of arms in a picture, so that three pictures fit side by side. The numbers are
#: computed from all evaluated arms.
SHOWN = 18
KEYS = ["graph", "condition", "seed"]


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig4.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        stars: Path-stars, each with its training settings.
        arms: Number of held-out arms that are compared with each other.
    """

    stars: tuple[ways.PathStarTraining, ...] = ways.STARS
    arms: PositiveInt = 30


def plan(settings: Settings) -> Plan:
    """Plan training runs on edges and paths, on edges only, and with frozen embeddings.

    Args:
        settings: The recipe's settings, such as ``stars`` and ``arms``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (the string ``(arms, nodes per path)``: (200,
          4); (200, 5)) and ``condition`` (``interleaved``: edges and paths together;
          ``edges alone``; ``random``: edges and paths together, with frozen random
          embeddings).
        - Measures: ``cosines`` (:func:`inweights.probes.arm_cosines` with ``arms=30``),
          ``navigation`` (:func:`inweights.probes.navigation`) and ``paths``
          (:func:`inweights.probes.path_accuracy`).

    Raises:
        ConfigError: In ``stars``, a value is out of range for a path-star (such as
            fewer than 2 arms or 3 nodes per path), the model or its training.
    """
    trials = [
        star.trial({"graph": star.name, "condition": how}, how=how)
        for star, how in product(
            settings.stars, (ways.INTERLEAVED, ways.ALONE, ways.RANDOM)
        )
    ]
    measures = [
        Measure(
            name="cosines", probe=iw.probes.arm_cosines, options={"arms": settings.arms}
        ),
        Measure(name="navigation", probe=iw.probes.navigation),
        ways.curves(),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return cosines of leaves with the first node of their own arm and of other arms.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``graph, condition, seed``.
            Accuracies and recall are fractions from 0 to 1.

            - ``cosines``, from :func:`inweights.probes.arm_cosines`, with the
              additional columns ``leaf, first, own, cosine``.
            - ``navigation``, from :func:`inweights.probes.navigation`, with the
              additional columns ``depth, hops, nearest, ridge, explained, chance``.
            - ``paths``, from :func:`inweights.probes.path_accuracy`, with the
              additional columns ``part, place, hardest, accuracy, exact, statements,
              chance``.

            The labels are ``graph`` (the string ``(arms, nodes per path)``: (200, 4);
            (200, 5)) and ``condition`` (``interleaved``: edges and paths together;
            ``edges alone``; ``random``: edges and paths together, with frozen random
            embeddings).

    Returns:
        - ``runs``: a row per run
          (:func:`~inweights.recipes.shared.derived_paths.own_and_other_arms`): the mean
          cosines of leaves with the first node of their own path (``own``) and with
          those of other paths (``others``), their difference (``gap``), and the shares
          of leaves for which the first node of their own path is the nearest
          (``nearest``) or is found by a ridge regression (``ridge``). Columns: ``graph,
          condition, seed, own, others, gap, nearest, ridge``.
        - ``matrix``: a row per leaf and first node, the first 18 of each, for the first
          seed; ``panel`` names the graph and the condition, for a heat-map. Columns:
          all columns of ``cosines``, plus ``panel``.
        - ``pairs``: a row per run and value of ``arm`` (``own`` or ``others``), with
          the mean ``cosine``. Columns: ``graph, condition, seed, arm, cosine``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    cosines = tables["cosines"]
    runs = own_and_other_arms(cosines, tables["navigation"], KEYS)
    first_seed = pl.col("seed") == pl.col("seed").min()
    shown = (pl.col("leaf") <= SHOWN) & (pl.col("first") <= SHOWN)
    return {
        "runs": runs,
        "matrix": cosines.filter(first_seed, shown).with_columns(
            panel=pl.format("{}, {}", "graph", "condition")
        ),
        "pairs": runs.unpivot(
            ["own", "others"], index=KEYS, variable_name="arm"
        ).rename({"value": "cosine"}),
    }


gap = number("runs", "gap").over("graph")
nearest = share("runs", "nearest").over("graph")

SCORES = {
    "interleaved-closer": gap.at(condition=ways.INTERLEAVED) >= 0.3,
    "edges-alone-closer": gap.at(condition=ways.ALONE) >= 0.3,
    "interleaved-nearest": nearest.at(condition=ways.INTERLEAVED) >= 0.95,
    "edges-alone-nearest": nearest.at(condition=ways.ALONE) >= 0.95,
    "random-is-not": gap.at(condition=ways.RANDOM).within(-0.1, 0.1),
}
