"""Our experiment: tokens that are never the correct answer make a memory more geometric."""

from functools import partial
from itertools import product

import polars as pl

import inweights as iw
from inweights.experiments import (
    Computation,
    Measure,
    Plan,
    Score,
    computed,
    cosine,
    share,
)
from inweights.recipes.geometric_memory import common as gm
from inweights.theory.programs.idle_classes import idle_drive
from inweights.worlds.families.graphs.graph import Graph

RUN = ["graph", "architecture", "seed"]
MODELS = (gm.NN, gm.GPT)
RAW = "as they are"
CENTRED = "without their mean"
MOST = 64


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``idle_tokens.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of tiny graphs, any of ``path-star``, ``grid``, ``cycle`` and
            ``irregular``.
        architectures: Names of architectures, any of ``TinyNN`` and ``TinyGPT``.
        counts: Numbers of idle tokens, one for each condition, at least 0.
        most: Maximum number of updates of a training run, at least 0. With 0, the
            paper's number is used.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    architectures: tuple[str, ...] = MODELS
    counts: tuple[int, ...] = (0, 1, 4, 16, MOST)
    most: int = 1000


def plan(settings: Settings) -> Plan:
    """Plan training on every graph with each number of idle tokens, and a theoretical prediction.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``architectures`` and
            ``counts``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (TinyNN, TinyGPT), and ``idle`` (number of idle tokens, which
          are outputs but never a correct answer: 0, 1, 4, 16, 64).
        - Measures: ``raw`` (:func:`inweights.probes.hop_correlation` with ``draws=1``),
          ``centred`` (:func:`inweights.probes.hop_correlation` with ``draws=1``,
          ``centred=True``), ``energy`` (:func:`inweights.probes.spectral_energy` with
          ``draws=1``) and ``recall`` (:func:`inweights.probes.graph_recall`).
        - Computation: ``drive``
          (:func:`~inweights.theory.programs.idle_classes.idle_drive`), by ``graph`` and
          ``idle``.

    Raises:
        ConfigError: A name in ``architectures`` is unknown, or ``most`` or a number of
            idle tokens is negative.
    """
    worlds = {
        (shape, idle): Graph(shape=shape, idle_tokens=idle)
        for shape, idle in product(settings.graphs, settings.counts)
    }
    trials = []
    for (shape, idle), world in worlds.items():
        for name in settings.architectures:
            how = gm.training(name, shape, most=settings.most)
            trials.append(
                gm.trial(how, world, graph=shape, architecture=name, idle=idle)
            )
    rho = partial(Measure, probe=iw.probes.hop_correlation)
    return Plan(
        trials=trials,
        measures=[
            rho(name="raw", options={"draws": 1}),
            rho(name="centred", options={"draws": 1, "centred": True}),
            Measure(
                name="energy", probe=iw.probes.spectral_energy, options={"draws": 1}
            ),
            Measure(name="recall", probe=iw.probes.graph_recall),
        ],
        computations=[
            Computation(
                name="drive",
                labels={"graph": shape, "idle": idle},
                compute=idle_drive,
                options={"world": world},
                effort=5,
            )
            for (shape, idle), world in worlds.items()
        ],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the geometry for each number of idle tokens, and the correlation between the two.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``raw`` (:func:`inweights.probes.hop_correlation`:
            ``architecture, spearman, null_mean, null_low, null_high, p``), ``centred``
            (:func:`inweights.probes.hop_correlation`: ``architecture, spearman,
            null_mean, null_low, null_high, p``), ``energy``
            (:func:`inweights.probes.spectral_energy`: ``architecture, space,
            eigenvalue, size, energy, cumulative, degenerate, null_mean, null_low,
            null_high``), ``recall`` (:func:`inweights.probes.graph_recall`:
            ``architecture, recall, worst, recall_others, accuracy, ceiling, loss,
            floor``), and ``drive``
            (:func:`~inweights.theory.programs.idle_classes.idle_drive`: ``mean,
            predicted, fastest, moved``). All have the columns ``graph, idle, seed``.
            The labels are ``graph`` (path-star, grid, cycle, irregular),
            ``architecture`` (TinyNN, TinyGPT), and ``idle`` (number of idle tokens,
            which are outputs but never a correct answer: 0, 1, 4, 16, 64). Accuracies
            and recall are fractions from 0 to 1.

    Returns:
        - ``order``: a row per run and value of ``vectors`` (``as they are`` or
          ``without their mean``): Spearman's ρ between cosine similarity and distance
          in hops; ``log`` is the base-2 logarithm of the number of idle tokens plus 1,
          and ``panel`` names the architecture and the graph. Columns: all columns of
          ``raw``, plus ``vectors, log, panel``.
        - ``dose``: a row per graph, architecture, seed and vectors, with ``dose``, the
          rank correlation between ρ and the number of idle tokens. Columns: ``graph,
          architecture, seed, vectors, dose``.
        - ``means``: a row per run, with ``degenerate``, the share of the energy in the
          mean vector. Columns: ``graph, architecture, seed, idle, degenerate, log``.
        - ``theory``: a row per graph and number of idle tokens: the growth rate along
          the mean vector at zero logits (``mean``), its predicted value, and the
          absolute ``error``. Columns: all columns of ``drive``, plus ``error``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    both = [
        tables[name].with_columns(vectors=pl.lit(text))
        for name, text in (("raw", RAW), ("centred", CENTRED))
    ]
    order = pl.concat(both).with_columns(log=(pl.col("idle") + 1).log(2))
    dose = pl.corr("spearman", "log", method="spearman").alias("dose")
    means = (
        tables["energy"]
        .group_by([*RUN, "idle"], maintain_order=True)
        .agg(pl.first("degenerate"))
    )
    drive = tables["drive"].with_columns(
        error=(pl.col("mean") - pl.col("predicted")).abs()
    )
    return {
        "order": order.with_columns(panel=pl.format("{}, {}", "architecture", "graph")),
        "dose": order.group_by([*RUN, "vectors"], maintain_order=True).agg(dose),
        "means": means.with_columns(log=(pl.col("idle") + 1).log(2)),
        "theory": drive,
    }


rho = cosine("order", "spearman")
none = {"idle": 0}
all_of_them = {"idle": MOST}
gpt = rho.at(architecture=gm.GPT).over("graph")
nn = rho.at(architecture=gm.NN)
mean = share("means", "degenerate").over("graph")


def gain(score: Score, vectors: str) -> Score:
    """Return a score: Spearman's ρ with 64 idle tokens minus ρ without idle tokens.

    Args:
        score: Score of ρ in a table with the labels ``vectors`` and ``idle``.
        vectors: Vectors whose order is measured: ``as they are`` or ``without their
            mean``.

    Returns:
        The difference of the two scores.
    """
    some = score.at(vectors=vectors)
    return some.at(**all_of_them) - some.at(**none)


SCORES = {
    "gpt-gains": gain(gpt, RAW) <= 0.0,
    "gpt-gains-path-star": gain(gpt.at(graph="path-star").over(), RAW) <= -0.1,
    "gpt-gains-grid": gain(gpt.at(graph="grid").over(), RAW) <= -0.1,
    "gpt-dose": cosine(
        "dose", "dose", architecture=gm.GPT, vectors=RAW, graph="path-star"
    )
    <= -0.5,
    "nn-gains-on-the-star": gain(nn.at(graph="path-star"), RAW) <= -0.05,
    "nn-gains-nothing-on-the-cycle": gain(nn.at(graph="cycle"), RAW).within(-0.1, 0.1),
    "drive-is-foretold": computed("theory", "error").over("graph") <= 1e-9,
    "nothing-else-is-pushed": computed("theory", "moved").over("graph") <= 1e-9,
    **{
        f"{name.lower()}-mean-grows": mean.at(architecture=name, **all_of_them)
        - mean.at(architecture=name, **none)
        >= 0.03
        for name in MODELS
    },
    "nn-gain-is-the-mean": gain(nn.at(graph="path-star"), CENTRED) >= -0.05,
    "gpt-gains-across-grid": gain(gpt.at(graph="grid").over(), CENTRED) <= -0.02,
    "gpt-gains-across-cycle": gain(gpt.at(graph="cycle").over(), CENTRED) <= -0.02,
}
