"""Figure 5 of Geometric Memory: a geometry from edges alone, without any path or second hop."""

from functools import partial

import polars as pl

import inweights as iw
from inweights.config import check_size
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, cosine, number, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import variants
from inweights.recipes.geometric_memory.derived import (
    beside_random,
    far_correlation,
    judged,
)
from inweights.recipes.shared.derived import at_the_end, mean_by_hops

LABELS = ("graph", "architecture")
MODELS = (gm.GPT, gm.SSM, gm.FROZEN)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig5.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        most: Maximum number of updates per training run. If ``None`` (the default) or
            0, the paper's number is used.
        looks: Approximate number of measurements during a training run, at least 1.
            TinyGPT is measured at least every 20 updates.
        draws: Number of random embeddings from which each null distribution is
            estimated.
        variant: Changes to TinyGPT and TinySSM; by default none.
    """

    later = {"variant": variants.UNCHANGED}

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    most: int | None = None
    looks: int = 25
    draws: PositiveInt = 50
    variant: variants.Variant = variants.UNCHANGED


def plan(settings: Settings) -> Plan:
    """Plan training runs on edges (sequences of two tokens), with measurements during training.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``most`` and ``looks``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (TinyGPT; TinySSM: a Mamba; associative: TinyNN with frozen
          embeddings), and ``condition`` (the code's, ours).
        - Measures: ``cosines`` (:func:`inweights.probes.cosines`), ``correlation``
          (:func:`inweights.probes.hop_correlation` with ``draws=50``; during training)
          and ``recall`` (:func:`inweights.probes.graph_recall`; during training).

        ``condition`` is ``the code's`` (the settings of the paper's code), ``the
        code's, bf16`` (the same in emulated bfloat16) or ``ours`` (our own, simpler
        vocabulary and initialisation).

    Raises:
        ConfigError: ``looks`` is below 1, or ``most`` is negative.
    """
    check_size("looks", settings.looks)
    made = gm.trials(settings.graphs, MODELS, settings.most, variant=settings.variant)
    measures = [Measure(name="cosines", probe=iw.probes.cosines)]
    draws = {"draws": settings.draws}
    for trial in made:
        every = max(1, trial.learner.steps // settings.looks)
        if trial.labels["architecture"] == gm.GPT:
            # On the irregular graph, only about thirty of 2,500 steps have the best
            # geometry.
            every = min(every, 20)
        on_the_way = partial(Measure, every=every, where=trial.labels)
        measures += [
            on_the_way(
                name="correlation", probe=iw.probes.hop_correlation, options=draws
            ),
            on_the_way(name="recall", probe=iw.probes.graph_recall),
        ]
    return Plan(trials=made, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the final and the best correlation of cosines with hops, and mean cosines by hops.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``graph, architecture, condition,
            seed``. Accuracies and recall are fractions from 0 to 1.

            - ``cosines``, from :func:`inweights.probes.cosines`, with the additional
              columns ``source, target, hops, cosine``.
            - ``correlation``, from :func:`inweights.probes.hop_correlation`, with the
              additional columns ``spearman, null_mean, null_low, null_high, p, step``.
            - ``recall``, from :func:`inweights.probes.graph_recall`, with the
              additional columns ``recall, worst, recall_others, accuracy, ceiling,
              loss, floor, step``.

            The labels are ``graph`` (path-star, grid, cycle, irregular),
            ``architecture`` (TinyGPT; TinySSM: a Mamba; associative: TinyNN with frozen
            embeddings), and ``condition`` (``the code's``: trained as in the paper's
            code; ``ours``: with a simpler vocabulary and initialisation).

    Returns:
        The measured tables, restricted to the condition ``the code's`` (the settings of
        the paper's code), without the column ``condition``, and:

        - ``course``: a row per run and step, except step 0, with the correlation of
          cosine and hops and the recall of edges. Columns: ``graph, architecture, seed,
          spearman, null_mean, null_low, null_high, p, step, recall, recall_others``.
        - ``last``: the rows of the last step, with ``size``, the absolute value of ρ,
          and ``beyond_chance``, ρ minus the lower end (2.5% quantile) of its null
          distribution. Columns: ``graph, architecture, seed, spearman, null_mean,
          null_low, null_high, p, step, recall, recall_others, size, beyond_chance``.
        - ``lost``: a row per run at its last step; ``loss`` is Spearman's ρ minus its
          lowest value at any step. Columns: ``graph, architecture, seed, spearman,
          null_mean, null_low, null_high, p, step, recall, recall_others, loss``.
        - ``far``: a row per run (:func:`~.derived.far_correlation`): ``all`` and
          ``far``, Spearman's ρ between cosine similarity and distance in hops over all
          pairs and over pairs of nodes two or more hops apart; ``near``, the mean
          cosine at one hop minus the mean cosine at two hops; and ``drop``, the mean
          cosine at two hops minus the mean cosine at more hops; ``size`` is the
          absolute value of ``far``. Columns: ``graph, architecture, seed, all, far,
          near, drop, size``.
        - ``by_hops``: a row per run and distance (``hops``, from 1), with the mean
          cosine. Columns: ``graph, architecture, seed, hops, cosine``.
        - ``conditions``: a row per run in each condition, at its last step: Spearman's
          ρ between cosine similarity and distance in hops. Columns: all columns of the
          measured ``correlation``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    tables = judged(tables)
    keys = [*LABELS, "seed", "step"]
    curves = tables["correlation"].join(
        tables["recall"].select(*keys, "^recall.*$"), on=keys
    )
    by = [*LABELS, "seed"]
    rho = pl.col("spearman")
    far = far_correlation(tables["cosines"], LABELS)
    return tables | {
        "course": curves.filter(pl.col("step") > 0),
        "last": at_the_end(beside_random(curves), by),
        "lost": at_the_end(curves.with_columns(loss=rho - rho.min().over(by)), by),
        "far": far.with_columns(size=pl.col("far").abs()),
        "by_hops": mean_by_hops(tables["cosines"], LABELS),
    }


beyond_chance = number("last", "beyond_chance").over("graph")
of_far_pairs = cosine("far", "far").over("graph")

SCORES = {
    "edges-are-stored": share("last", "recall").over(*LABELS) >= 0.99,
    "others-come-first": share("last", "recall_others").over(*LABELS) >= 0.99,
    "a-list-knows-none": share("far", "size", architecture=gm.FROZEN).over("graph")
    <= 0.2,
    "geometry-comes-early": number("lost", "loss", architecture=gm.GPT).over("graph")
    >= 0.1,
    "tinygpt-from-edges-alone": beyond_chance.at(architecture=gm.GPT) <= 0.0,
    "tinygpt-of-what-was-not-taught": of_far_pairs.at(architecture=gm.GPT) <= -0.2,
    "tinyssm-from-edges-alone": beyond_chance.at(architecture=gm.SSM) <= 0.0,
    "tinyssm-of-what-was-not-taught": of_far_pairs.at(architecture=gm.SSM) <= -0.2,
}
