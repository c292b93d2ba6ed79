"""Figure 32 of Geometric Memory: one direction of the edges suffices on tiny graphs."""

from functools import partial
from itertools import product
from typing import Literal

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, cosine, number, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import derived, variants
from inweights.worlds.families.graphs.graph import Graph

LABELS = ("graph", "architecture", "edges")
MODELS = (gm.GPT, gm.SSM, gm.FROZEN)
#: Directions of the edges on which a model is trained.
TAUGHT: tuple[Literal["both", "forward", "backward"], ...] = (
    "both",
    "forward",
    "backward",
)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig32.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        most: Maximum number of updates per training run. If ``None`` (the default) or
            0, the paper's number is used.
        draws: Number of random embeddings from which each null distribution is
            estimated.
        variant: Changes to TinyGPT and TinySSM; by default none.
    """

    later = {"variant": variants.UNCHANGED}

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    most: int | None = None
    draws: PositiveInt = 200
    variant: variants.Variant = variants.UNCHANGED


def plan(settings: Settings) -> Plan:
    """Plan training runs on forward edges, on backward edges, and on edges in both directions.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``most`` and ``draws``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (TinyGPT; TinySSM: a Mamba; associative: TinyNN with frozen
          embeddings), ``edges`` (directions of the training edges: both, forward,
          backward), and ``condition`` (the code's, ours).
        - Measures: ``recall`` (:func:`inweights.probes.graph_recall`), ``cosines``
          (:func:`~inweights.probes.geometry.reference_graph.both_ways` applied to
          :func:`inweights.probes.cosines`), ``correlation``
          (:func:`~inweights.probes.geometry.reference_graph.both_ways` applied to
          :func:`inweights.probes.hop_correlation` with ``draws=200``) and ``energy``
          (:func:`~inweights.probes.geometry.reference_graph.both_ways` applied to
          :func:`inweights.probes.spectral_energy` with ``draws=200``).

        ``condition`` is ``the code's`` (the settings of the paper's code), ``the
        code's, bf16`` (the same in emulated bfloat16) or ``ours`` (our own, simpler
        vocabulary and initialisation).

    Raises:
        ConfigError: ``most`` is negative.
    """
    from inweights.probes.geometry.reference_graph import both_ways

    trials = []
    for shape, name, edges in product(settings.graphs, MODELS, TAUGHT):
        how = gm.training(name, shape, most=settings.most)
        world = Graph(shape=shape, edges=edges)
        labels = {"graph": shape, "architecture": name, "edges": edges}
        trials += [
            gm.trial(how, world, condition, settings.variant, **labels)
            for condition in gm.CONDITIONS
        ]
    # Recall is that of the trained edges; all other probes see the edges in both
    # directions.
    draws = {"draws": settings.draws}
    seen = partial(Measure, probe=both_ways)
    measures = [
        Measure(name="recall", probe=iw.probes.graph_recall),
        seen(name="cosines", options={"inner": iw.probes.cosines}),
        seen(name="correlation", options={"inner": iw.probes.hop_correlation, **draws}),
        seen(name="energy", options={"inner": iw.probes.spectral_energy, **draws}),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return measures of geometry and their chance levels, over all and over non-adjacent pairs.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``graph, architecture, edges,
            condition, seed``. Accuracies and recall are fractions from 0 to 1.

            - ``recall``, from :func:`inweights.probes.graph_recall`, with the
              additional columns ``recall, worst, recall_others, accuracy, ceiling,
              loss, floor``.
            - ``cosines``, from
              :func:`~inweights.probes.geometry.reference_graph.both_ways` applied to
              :func:`inweights.probes.cosines`, with the additional columns ``source,
              target, hops, cosine``.
            - ``correlation``, from
              :func:`~inweights.probes.geometry.reference_graph.both_ways` applied to
              :func:`inweights.probes.hop_correlation`, with the additional columns
              ``spearman, null_mean, null_low, null_high, p``.
            - ``energy``, from
              :func:`~inweights.probes.geometry.reference_graph.both_ways` applied to
              :func:`inweights.probes.spectral_energy`, with the additional columns
              ``space, eigenvalue, size, energy, cumulative, degenerate, null_mean,
              null_low, null_high``.

            The labels are ``graph`` (path-star, grid, cycle, irregular),
            ``architecture`` (TinyGPT; TinySSM: a Mamba; associative: TinyNN with frozen
            embeddings), ``edges`` (directions of the training edges: both, forward,
            backward), and ``condition`` (``the code's``: trained as in the paper's
            code; ``ours``: with a simpler vocabulary and initialisation).

    Returns:
        The measured tables, restricted to the condition ``the code's`` (the settings of
        the paper's code), without the column ``condition``, and:

        - ``conditions``: a row per run of TinyGPT in each condition, with Spearman's ρ
          between cosine similarity and distance in hops. Columns: all columns of
          ``correlation``.
        - ``correlation``: a row per run: Spearman's ρ between cosine similarity and
          distance in hops, its absolute value ``size``, and ``beyond_chance``, ρ minus
          the lower end (2.5% quantile) of its null distribution. Columns: ``graph,
          architecture, edges, seed, spearman, null_mean, null_low, null_high, p, size,
          beyond_chance``.
        - ``top``: a row per run: the share of the energy in the first eigenspace
          (``first``) and in the top eigenspaces (``top``, see
          :func:`~.derived.top_energy`), the mean of ``top`` for random vectors
          (``by_chance``), and ``top`` minus the 97.5% quantile for random vectors
          (``beyond_chance``). Columns: ``graph, architecture, edges, seed, first, top,
          by_chance, beyond_chance``.
        - ``one_way``: the rows of ``correlation`` with edges in one direction. Columns:
          as in ``correlation``.
        - ``one_way_top``: the rows of ``top`` with edges in one direction. Columns: as
          in ``top``.
        - ``far``: a row per run on edges in one direction: ``all`` and ``far``,
          Spearman's ρ between cosine similarity and distance in hops over all pairs and
          over pairs of nodes two or more hops apart; ``near``, the mean cosine at one
          hop minus the mean cosine at two hops; and ``drop``, the mean cosine at two
          hops minus the mean cosine at more hops (:func:`~.derived.far_correlation`).
          Columns: ``graph, architecture, edges, seed, all, far, near, drop``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    gpt = tables["correlation"].filter(pl.col("architecture") == gm.GPT)
    tables = derived.judged(tables)
    correlation = derived.beside_random(tables["correlation"])
    top = derived.top_energy(tables["energy"], LABELS)
    one_way = pl.col("edges") != "both"
    return tables | {
        "conditions": gpt,
        "correlation": correlation,
        "top": top,
        "one_way": correlation.filter(one_way),
        "one_way_top": top.filter(one_way),
        "far": derived.far_correlation(tables["cosines"], LABELS).filter(one_way),
    }


beyond_chance = number("one_way", "beyond_chance").over("graph")
far = cosine("far", "far").over("graph")
top_beyond_chance = cosine("one_way_top", "beyond_chance").over("graph")
size = share("correlation", "size").over("graph", "edges")
gpt = cosine("correlation", "spearman", architecture=gm.GPT).over("graph")


SCORES = {
    "edges-are-stored": share("recall", "recall").over(*LABELS) >= 0.99,
    "as-geometric-as-both": gpt.at(edges="forward") - gpt.at(edges="both") <= 0.1,
    "frozen-are-not": size.at(architecture=gm.FROZEN) <= 0.2,
}
for name, edges in product((gm.GPT, gm.SSM), ("forward", "backward")):
    one = f"{name.lower()}-one-direction" + ("-backward" if edges == "backward" else "")
    SCORES[one] = beyond_chance.at(architecture=name, edges=edges) <= 0.0
    SCORES[f"{one}-far"] = far.at(architecture=name, edges=edges) <= 0.0
    SCORES[f"{one}-spectrum"] = (
        top_beyond_chance.at(architecture=name, edges=edges) >= 0.0
    )
