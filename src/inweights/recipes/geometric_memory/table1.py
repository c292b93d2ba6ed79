"""Table 1 and Figure 1 of Geometric Memory: associative and geometric storage of the same edges."""

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, cosine, number, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import variants
from inweights.recipes.geometric_memory.derived import (
    beside_random,
    far_correlation,
    judged,
)
from inweights.recipes.shared.derived import mean_by_hops

LABELS = ("graph", "architecture")
MEMORIES = (gm.FROZEN, gm.GPT, gm.NODE2VEC)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``table1.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        descent: Settings of Node2Vec and its gradient descent.
        most: Maximum number of updates per training run. If ``None`` (the default) or
            0, the number of updates in the paper is used.
        draws: Number of random embeddings from which each null distribution is
            estimated.
        variant: Changes to TinyGPT; by default none.
    """

    later = {"variant": variants.UNCHANGED}

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    most: int | None = None
    draws: PositiveInt = 200
    variant: variants.Variant = variants.UNCHANGED


def plan(settings: Settings) -> Plan:
    """Plan training runs of an associative memory, a Transformer and Node2Vec on every graph.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``descent`` and ``most``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (associative: TinyNN with frozen embeddings; TinyGPT;
          Node2Vec), and ``condition`` (the code's, ours).
        - Measures: ``cosines`` (:func:`inweights.probes.cosines`), ``correlation``
          (:func:`inweights.probes.hop_correlation` with ``draws=200``) and ``recall``
          (:func:`inweights.probes.graph_recall`).

        ``condition`` is ``the code's`` (the settings of the paper's code), ``the
        code's, bf16`` (the same in emulated bfloat16) or ``ours`` (our own, simpler
        vocabulary and initialisation).

    Raises:
        ConfigError: ``most`` is negative, a value in ``descent`` is out of range, or
            ``variant`` changes the block of TinySSM, which is not trained here.
    """
    draws = {"draws": settings.draws}
    return Plan(
        trials=gm.trials(
            settings.graphs,
            MEMORIES,
            settings.most,
            settings.descent,
            variant=settings.variant,
        ),
        measures=[
            Measure(name="cosines", probe=iw.probes.cosines),
            Measure(name="correlation", probe=iw.probes.hop_correlation, options=draws),
            Measure(name="recall", probe=iw.probes.graph_recall),
        ],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return correlations between cosine and hop distance, for all or for non-adjacent pairs.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``graph, architecture, condition,
            seed``. Accuracies and recall are fractions from 0 to 1.

            - ``cosines``, from :func:`inweights.probes.cosines`, with the additional
              columns ``source, target, hops, cosine``.
            - ``correlation``, from :func:`inweights.probes.hop_correlation`, with the
              additional columns ``spearman, null_mean, null_low, null_high, p``.
            - ``recall``, from :func:`inweights.probes.graph_recall`, with the
              additional columns ``recall, worst, recall_others, accuracy, ceiling,
              loss, floor``.

            The labels are ``graph`` (path-star, grid, cycle, irregular),
            ``architecture`` (associative: TinyNN with frozen embeddings; TinyGPT;
            Node2Vec), and ``condition`` (``the code's``: trained as in the paper's
            code; ``ours``: with a simpler vocabulary and initialisation).

    Returns:
        The measured tables, restricted to the condition ``the code's`` (the settings of
        the paper's code), without the column ``condition``, and:

        - ``far``: a row per run: ``all`` and ``far``, Spearman's ρ between cosine
          similarity and distance in hops over all pairs and over pairs of nodes two or
          more hops apart; ``near``, the mean cosine at one hop minus the mean cosine at
          two hops; and ``drop``, the mean cosine at two hops minus the mean cosine at
          more hops (:func:`~.derived.far_correlation`); ``all_size`` and ``far_size``
          are the absolute values of the first two. Columns: ``graph, architecture,
          seed, all, far, near, drop, all_size, far_size``.
        - ``pairs``: a row per run and value of ``pairs`` (``all`` or ``far``), with the
          correlation ``rho``. Columns: ``graph, architecture, seed, pairs, rho``.
        - ``by_hops``: a row per run and distance (``hops``), with the mean cosine.
          Columns: ``graph, architecture, seed, hops, cosine``.
        - ``chance``: a row per run: Spearman's ρ between cosine similarity and distance
          in hops, its absolute value ``size``, and ``beyond_chance``, ρ minus the lower
          end (2.5% quantile) of its null distribution. Columns: ``graph, architecture,
          seed, spearman, null_mean, null_low, null_high, p, size, beyond_chance``.
        - ``stored``: a row per run, with ``memory``, the recall by which claims are
          judged. For Node2Vec it ignores a node's own logit. Columns: ``graph,
          architecture, seed, recall, worst, recall_others, accuracy, ceiling, loss,
          floor, memory``.
        - ``conditions``: a row per run in each condition: Spearman's ρ between cosine
          similarity and distance in hops. Columns: all columns of the measured
          ``correlation``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    tables = judged(tables)
    far = far_correlation(tables["cosines"], LABELS).with_columns(
        all_size=pl.col("all").abs(), far_size=pl.col("far").abs()
    )
    pairs = far.unpivot(
        on=["all", "far"],
        index=[*LABELS, "seed"],
        variable_name="pairs",
        value_name="rho",
    ).sort(pl.col("architecture").cast(pl.Enum(MEMORIES)), maintain_order=True)
    others = pl.when(pl.col("architecture") == gm.NODE2VEC).then(
        pl.col("recall_others")
    )
    return tables | {
        "far": far,
        "pairs": pairs,
        "by_hops": mean_by_hops(tables["cosines"], LABELS),
        "chance": beside_random(tables["correlation"]),
        "stored": tables["recall"].with_columns(
            memory=others.otherwise(pl.col("recall"))
        ),
    }


every = cosine("far", "all").over("graph")
far = cosine("far", "far").over("graph")
size = share("far", "all_size").over("graph")
far_size = share("far", "far_size").over("graph")
beyond_chance = number("chance", "beyond_chance").over("graph")

SCORES = {
    "all-remember": share("stored", "memory").over(*LABELS) >= 0.99,
    "associative-is-arbitrary": size.at(architecture=gm.FROZEN) <= 0.2,
    "transformer-is-geometric": beyond_chance.at(architecture=gm.GPT) <= 0.0,
    "node2vec-is-most": every.at(architecture=gm.NODE2VEC)
    - every.at(architecture=gm.GPT)
    <= -0.1,
    "associative-knows-neighbours-only": far_size.at(architecture=gm.FROZEN) <= 0.2,
    "node2vec-knows-far-pairs": far.at(architecture=gm.NODE2VEC) <= -0.8,
    "transformer-knows-far-pairs": far.at(architecture=gm.GPT) <= -0.3,
}
