"""Figures 17 to 20 of Geometric Memory: every architecture on every tiny graph."""

from functools import partial

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, cosine, number, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import variants
from inweights.recipes.geometric_memory.derived import beside_random, judged, top_energy
from inweights.recipes.shared.derived import beside_chance

LABELS = ("graph", "architecture")
CHANCE = "random vectors"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig17_20.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        architectures: Names of architectures to train, any of ``Node2Vec``,
            ``TinyGPT``, ``TinySSM``, ``TinyNN`` and ``associative``.
        descent: Settings of Node2Vec and its gradient descent.
        most: Maximum number of updates per training run. If ``None`` (the default) or
            0, the paper's number is used.
        draws: Number of random embeddings from which each null distribution is
            estimated.
        variant: Changes to TinyGPT and TinySSM; by default none.
    """

    later = {"variant": variants.UNCHANGED}

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    architectures: tuple[str, ...] = gm.ARCHITECTURES
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    most: int | None = None
    draws: PositiveInt = 200
    variant: variants.Variant = variants.UNCHANGED


def plan(settings: Settings) -> Plan:
    """Plan a training run of every architecture on every graph, with measures of geometry.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``architectures`` and
            ``descent``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (Node2Vec; TinyGPT; TinySSM: a Mamba; TinyNN; associative:
          TinyNN with frozen embeddings), and ``condition`` (the code's, ours).
        - Measures: ``recall`` (:func:`inweights.probes.graph_recall`), ``correlation``
          (:func:`inweights.probes.hop_correlation` with ``draws=200``) and ``energy``
          (:func:`inweights.probes.spectral_energy` with ``draws=200``).

        ``condition`` is ``the code's`` (the settings of the paper's code), ``the
        code's, bf16`` (the same in emulated bfloat16) or ``ours`` (our own, simpler
        vocabulary and initialisation).

    Raises:
        ConfigError: A name in ``architectures`` is unknown, ``most`` is negative, a
            value in ``descent`` is out of range, or ``variant`` changes a model that is
            not trained.
    """
    draws = {"draws": settings.draws}
    return Plan(
        trials=gm.trials(
            settings.graphs,
            settings.architectures,
            settings.most,
            settings.descent,
            variant=settings.variant,
        ),
        measures=[
            Measure(name="recall", probe=iw.probes.graph_recall),
            Measure(name="correlation", probe=iw.probes.hop_correlation, options=draws),
            Measure(name="energy", probe=iw.probes.spectral_energy, options=draws),
        ],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return three measures of the geometry of each run, compared with random vectors.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``graph, architecture, condition,
            seed``. Accuracies and recall are fractions from 0 to 1.

            - ``recall``, from :func:`inweights.probes.graph_recall`, with the
              additional columns ``recall, worst, recall_others, accuracy, ceiling,
              loss, floor``.
            - ``correlation``, from :func:`inweights.probes.hop_correlation`, with the
              additional columns ``spearman, null_mean, null_low, null_high, p``.
            - ``energy``, from :func:`inweights.probes.spectral_energy`, with the
              additional columns ``space, eigenvalue, size, energy, cumulative,
              degenerate, null_mean, null_low, null_high``.

            The labels are ``graph`` (path-star, grid, cycle, irregular),
            ``architecture`` (Node2Vec; TinyGPT; TinySSM: a Mamba; TinyNN; associative:
            TinyNN with frozen embeddings), and ``condition`` (``the code's``: trained
            as in the paper's code; ``ours``: with a simpler vocabulary and
            initialisation).

    Returns:
        The measured tables, restricted to the condition ``the code's`` (the settings of
        the paper's code), without the column ``condition``, and:

        - ``correlation``: a row per run: Spearman's ρ between cosine similarity and
          distance in hops, its absolute value ``size``, and ``beyond_chance``, ρ minus
          the lower end (2.5% quantile) of its null distribution. Columns: ``graph,
          architecture, seed, spearman, null_mean, null_low, null_high, p, size,
          beyond_chance``.
        - ``recall``: a row per run: recall of the edges, and ``above_floor``, the loss
          minus the smallest possible loss on the graph. Columns: ``graph, architecture,
          seed, recall, worst, recall_others, accuracy, ceiling, loss, floor,
          above_floor``.
        - ``top``: a row per run: the share of the energy in the first eigenspace
          (``first``) and in the top eigenspaces (``top``, see
          :func:`~.derived.top_energy`), the mean of ``top`` for random vectors
          (``by_chance``), and ``top`` minus the 97.5% quantile for random vectors
          (``beyond_chance``). Columns: ``graph, architecture, seed, first, top,
          by_chance, beyond_chance``.
        - ``flat``: ``correlation`` on the grid and the cycle. Columns: as in
          ``correlation``.
        - ``stored``: ``recall`` of all architectures except Node2Vec. Columns: as in
          ``recall``.
        - ``correlations``: the rows of ``correlation``, and rows whose ``architecture``
          is ``random vectors``. Columns: as in ``correlation``.
        - ``energies``: the rows of ``top``, and rows whose ``architecture`` is ``random
          vectors``. Columns: as in ``top``.
        - ``spectra``: a row per run and eigenspace (``number``, from 1), and rows whose
          ``architecture`` is ``random vectors``. Columns: ``graph, architecture, seed,
          space, eigenvalue, size, energy, cumulative, degenerate, null_mean, null_low,
          null_high, number``.
        - ``conditions``: a row per run in each condition: Spearman's ρ between cosine
          similarity and distance in hops. Columns: all columns of the measured
          ``correlation``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    tables = judged(tables)
    correlation = beside_random(tables["correlation"])
    recall = tables["recall"].with_columns(above_floor=pl.col("loss") - pl.col("floor"))
    top = top_energy(tables["energy"], LABELS)
    spectra = tables["energy"].with_columns(number=pl.col("space") + 1)
    with_chance = partial(beside_chance, label="architecture", name=CHANCE)
    return tables | {
        "correlation": correlation,
        "recall": recall,
        "top": top,
        "flat": correlation.filter(pl.col("graph").is_in(["grid", "cycle"])),
        "stored": recall.filter(pl.col("architecture") != gm.NODE2VEC),
        "correlations": with_chance(correlation, "spearman", "null_mean"),
        "energies": with_chance(top, "top", "by_chance"),
        "spectra": with_chance(spectra, "energy", "null_mean"),
    }


spearman = cosine("correlation", "spearman").over("graph")
beyond_chance = number("correlation", "beyond_chance").over("graph")
top = share("top", "top").over("graph")
top_beyond_chance = cosine("top", "beyond_chance").over("graph")
remembered = share("recall", "recall_others")
flat = cosine("flat", "spearman").over("graph")

SCORES = {
    "node2vec-is-geometric": spearman.at(architecture=gm.NODE2VEC) <= -0.95,
    "node2vec-top-spaces": top.at(architecture=gm.NODE2VEC) >= 0.85,
    "node2vec-first-space": top.of("first").at(architecture=gm.NODE2VEC) >= 0.85,
    "tiny-gpt-is-geometric": flat.at(architecture=gm.GPT) <= -0.5,
    "tiny-ssm-is-geometric": flat.at(architecture=gm.SSM) <= -0.5,
    "tinygpt-beats-chance": beyond_chance.at(architecture=gm.GPT) <= 0.0,
    "tinyssm-beats-chance": beyond_chance.at(architecture=gm.SSM) <= 0.0,
    "tinynn-beats-chance": beyond_chance.at(architecture=gm.NN) <= 0.0,
    "tinygpt-top-spaces": top_beyond_chance.at(architecture=gm.GPT) >= 0.0,
    "tinyssm-top-spaces": top_beyond_chance.at(architecture=gm.SSM) >= 0.0,
    "tinynn-top-spaces": top_beyond_chance.at(architecture=gm.NN) >= 0.0,
    "frozen-are-not": share("correlation", "size", architecture=gm.FROZEN).over("graph")
    <= 0.2,
    "edges-are-stored": share("stored", "recall").over(*LABELS) >= 0.99,
    "node2vec-stores-edges": remembered.at(architecture=gm.NODE2VEC).over("graph")
    >= 0.99,
}
