"""Figures 6, 21 and 22 of Geometric Memory: steps to store edges as a lookup and as a geometry."""

from functools import partial
from itertools import product

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Computation, Measure, Plan, number, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory.derived import judged, top_energy
from inweights.recipes.shared.derived import first_step, half_time
from inweights.theory.geometric_memory.storage_tables import one_step
from inweights.worlds.families.graphs.graph import Graph

LABELS = ("graph", "architecture", "horizon")
EARLY = "early"
LATE = "late"
SLOW = "late, β₂ = .9995"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig6.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        width: Width of TinyNN, both with frozen and with free (trained) embeddings.
        frozen_rate: Learning rate of TinyNN with frozen embeddings.
        frozen_steps: Number of updates of TinyNN with frozen embeddings.
        rate: Learning rate of TinyNN with free embeddings.
        early: Number of updates of TinyNN with free embeddings, which is measured after
            each update.
        late: Number of updates of a second TinyNN with free embeddings on the cycle;
            the paper's number by default.
        second: AdamW's ``β₂`` in a second run of ``late`` updates, at least 0 and below
            1. In all other runs it is .999.
        every: Number of steps between measurements of long TinyNN runs, at least 1.
        gpt_every: Number of steps between two measurements of TinyGPT, at least 1.
        gpt_most: Maximum number of updates of TinyGPT. If ``None`` (the default) or 0,
            the paper's number is used.
        descent: Settings of Node2Vec and its gradient descent.
        widths: Widths at which one gradient step of the correlation loss is computed.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    width: int = 512
    frozen_rate: float = 0.1
    frozen_steps: int = 10
    rate: float = 0.01
    early: int = 40
    late: int = 10_000
    second: float = 0.9995
    every: PositiveInt = 100
    gpt_every: PositiveInt = 5
    gpt_most: int | None = None
    descent: gm.Node2VecDescent = gm.Node2VecDescent(steps=2000)
    widths: tuple[PositiveInt, ...] = (32, 128, 512, 2048)


def plan(settings: Settings) -> Plan:
    """Plan training of TinyNN, TinyGPT and Node2Vec, and a single gradient step from zero weights.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``width`` and
            ``frozen_rate``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (associative: TinyNN with frozen embeddings; TinyNN; TinyGPT;
          Node2Vec), ``horizon`` (``early``: few updates, measured after each; ``late``:
          many updates; ``late, β₂ = .9995``: many updates on the cycle, with this
          ``β₂`` of AdamW), and ``condition`` (the code's, bf16; the code's; ours).
        - Measures: ``recall`` (:func:`inweights.probes.graph_recall`; during training),
          ``energy`` (:func:`inweights.probes.spectral_energy` with ``draws=1``; during
          training), ``margin`` (:func:`inweights.probes.edge_margin`; during training)
          and ``correlation`` (:func:`inweights.probes.hop_correlation` with
          ``draws=1``; during training, only for TinyGPT and if ``horizon`` is
          ``late``).
        - Computation: ``one_step``
          (:func:`~inweights.theory.geometric_memory.storage_tables.one_step`), with the
          label ``graph``.

        ``condition`` is ``the code's`` (the settings of the paper's code), ``the
        code's, bf16`` (the same in emulated bfloat16) or ``ours`` (our own, simpler
        vocabulary and initialisation).

    Raises:
        ConfigError: ``every``, ``gpt_every`` or a number of updates is negative, or a
            width, a rate, ``second`` or a value in ``descent`` is out of range.
    """
    wide = partial(gm.Training, width=settings.width)
    frozen = wide(
        architecture=gm.FROZEN, rate=settings.frozen_rate, steps=settings.frozen_steps
    )
    free = partial(wide, architecture=gm.NN, rate=settings.rate)
    trials = []
    for shape in settings.graphs:
        runs: dict[tuple[str, str], gm.Training | gm.Node2VecDescent] = {
            (gm.FROZEN, EARLY): frozen,
            (gm.NN, EARLY): free(steps=settings.early),
            (gm.GPT, LATE): gm.training(gm.GPT, shape, most=settings.gpt_most),
            (gm.NODE2VEC, LATE): settings.descent,
        }
        # The paper trains for this many steps only on the cycle.
        if shape == "cycle":
            runs[gm.NN, LATE] = free(steps=settings.late)
            runs[gm.NN, SLOW] = free(steps=settings.late, second=settings.second)
        trials += [
            gm.trial(
                how,
                Graph(shape=shape),
                condition,
                graph=shape,
                architecture=architecture,
                horizon=horizon,
            )
            for ((architecture, horizon), how), condition in product(
                runs.items(), gm.OF_PRECISION
            )
        ]
    step = partial(
        Computation, name="one_step", compute=one_step, seeded=True, effort=1
    )
    steps = [
        step(
            labels={"graph": shape},
            options={"world": Graph(shape=shape), "width": width},
        )
        for shape, width in product(settings.graphs, settings.widths)
    ]
    return Plan(trials=trials, measures=_measures(settings), computations=steps)


def _measures(settings: Settings) -> list[Measure]:
    one = {"draws": 1}
    recall = partial(Measure, name="recall", probe=iw.probes.graph_recall)
    energy = partial(
        Measure, name="energy", probe=iw.probes.spectral_energy, options=one
    )
    margin = partial(Measure, name="margin", probe=iw.probes.edge_margin)
    correlation = partial(
        Measure, name="correlation", probe=iw.probes.hop_correlation, options=one
    )
    looks = (
        (gm.FROZEN, EARLY, 1, (recall, energy)),
        (gm.NN, EARLY, 1, (recall, energy, margin)),
        (gm.NN, LATE, settings.every, (recall, energy, margin)),
        (gm.NN, SLOW, settings.every, (recall, energy, margin)),
        (gm.GPT, LATE, settings.gpt_every, (recall, energy, correlation)),
        (gm.NODE2VEC, LATE, max(1, settings.descent.steps // 200), (energy,)),
    )
    measures = []
    for architecture, horizon, every, kinds in looks:
        where = {"architecture": architecture, "horizon": horizon}
        measures += [look(every=every, where=where) for look in kinds]
    return measures


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the steps at which edges are stored, margins become positive and the geometry forms.

    Args:
        tables: The tables that result from :func:`plan`, by name: ``recall``
            (:func:`inweights.probes.graph_recall`: ``architecture, horizon, condition,
            recall, worst, recall_others, accuracy, ceiling, loss, floor, step``),
            ``energy`` (:func:`inweights.probes.spectral_energy`: ``architecture,
            horizon, condition, space, eigenvalue, size, energy, cumulative, degenerate,
            null_mean, null_low, …``), ``margin`` (:func:`inweights.probes.edge_margin`:
            ``architecture, horizon, condition, rivals, over, margin, worst, positive,
            step``), ``correlation`` (:func:`inweights.probes.hop_correlation`:
            ``architecture, horizon, condition, spearman, null_mean, null_low,
            null_high, p, step``), and ``one_step``
            (:func:`~inweights.theory.geometric_memory.storage_tables.one_step`:
            ``width, on_edges, off_edges, recall, expected``). All have the columns
            ``graph, seed``. The labels are ``graph`` (path-star, grid, cycle,
            irregular), ``architecture`` (associative: TinyNN with frozen embeddings;
            TinyNN; TinyGPT; Node2Vec), ``horizon`` (``early``: few updates, measured
            after each; ``late``: many updates; ``late, β₂ = .9995``: many updates on
            the cycle, with this ``β₂`` of AdamW), and ``condition`` (``the code's,
            bf16``: trained as in the paper's code, in emulated bfloat16; ``the
            code's``: in fp32; ``ours``: with a simpler vocabulary and initialisation).
            Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``times``: a row per run, in the condition ``the code's, bf16``: ``stored``,
          the first step with a recall of 1; ``positive``, the first step at which the
          margin of each node's least likely neighbour over other nodes is positive on
          average (null if not measured); ``half_time``, the step at which the energy in
          the top eigenspaces is half-way to its maximum; ``lag``, ``half_time`` minus
          ``stored``; and ``ratio``, ``positive / stored``. Columns: ``graph,
          architecture, horizon, seed, stored, positive, half_time, lag, ratio``.
        - ``free``: the rows of ``times`` for the early run of TinyNN with free
          embeddings. Columns: as in ``times``.
        - ``gpt``: a row per run of TinyGPT: ``half_time`` of its geometry (−ρ between
          cosines and hops), ``stored``, and ``lag``, ``half_time`` minus ``stored``.
          Columns: ``graph, architecture, horizon, seed, half_time, stored, lag``.
        - ``node2vec``: a row per run of Node2Vec: ``half_time`` of the energy in the
          top eigenspaces. Columns: ``graph, architecture, horizon, seed, half_time``.
        - ``soon``: a row per long run of TinyNN in every condition, with the margin of
          each node's least likely neighbour at the first measured step; ``stored`` is
          1.0 if this margin is above 0. Columns: all columns of ``margin``, plus
          ``stored``.
        - ``end``: as ``soon``, but at the last step. Columns: as in ``soon``.
        - ``margins``: as ``soon``, but at every step except 0. The column ``moment``
          names ``β₂``. Columns: all columns of ``margin``, plus ``stored, moment``.
        - ``curves``: a row per graph, seed, step up to 20 and ``series`` (``recall,
          frozen``; ``recall, free``; ``energy in the top eigenspaces, free``) of
          TinyNN, with its ``value``. Columns: ``graph, seed, step, value, series``.
        - ``gpt_curves``: a row per run of TinyGPT, step and ``series`` (``recall`` or
          ``geometry``, −ρ), with its ``value``. Columns: ``graph, architecture,
          horizon, seed, step, series, value``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    by = [*LABELS, "seed"]
    keys = [*LABELS, "seed", "step"]
    step = pl.col("step")
    margins = _least(tables["margin"]).filter(pl.col("horizon") != EARLY, step > 0)
    tables = judged(tables, gm.BF16)
    recall = tables["recall"]
    margin = _least(tables["margin"])
    top = top_energy(tables["energy"], [*LABELS, "step"])
    gpt = recall.join(
        tables["correlation"].select(*keys, geometry=-pl.col("spearman")), on=keys
    )
    stored = first_step(recall, "recall", by, least=1.0).rename({"first": "stored"})
    positive = first_step(margin, "stored", by).rename({"first": "positive"})
    half = half_time(top, "top", by)
    lag = pl.col("half_time") - pl.col("stored")
    times = stored.join(positive, on=by, how="left").join(half, on=by, how="left")
    times = times.with_columns(lag=lag, ratio=pl.col("positive") / pl.col("stored"))
    moments = {LATE: "β₂ = .999, the default", SLOW: "β₂ = .9995"}
    return {
        "times": times,
        "free": times.filter(
            pl.col("architecture") == gm.NN, pl.col("horizon") == EARLY
        ),
        "gpt": half_time(gpt, "geometry", by).join(stored, on=by).with_columns(lag=lag),
        "node2vec": half.filter(pl.col("architecture") == gm.NODE2VEC),
        "soon": margins.filter(step == step.min()),
        "end": margins.filter(step == step.max()),
        "margins": margins.with_columns(
            moment=pl.col("horizon").replace_strict(moments)
        ),
        "curves": _curves(recall, top),
        "gpt_curves": gpt.unpivot(
            ["recall", "geometry"], index=keys, variable_name="series"
        ),
    }


def _least(margin: pl.DataFrame) -> pl.DataFrame:
    """Return the margin of the smallest neighbour, and whether the edges are stored."""
    least = margin.filter(pl.col("over") == "min", pl.col("rivals") == "nodes")
    return least.with_columns(stored=(pl.col("margin") > 0).cast(pl.Float64))


def _curves(recall: pl.DataFrame, top: pl.DataFrame) -> pl.DataFrame:
    """Return recall and energy in the top eigenspaces, in the first steps of the wide TinyNN."""
    parts = [
        table.filter(
            pl.col("horizon") == EARLY, pl.col("architecture") == architecture
        ).select("graph", "seed", "step", value=column, series=pl.lit(name))
        for table, architecture, column, name in (
            (recall, gm.FROZEN, "recall", "recall, frozen"),
            (recall, gm.NN, "recall", "recall, free"),
            (top, gm.NN, "top", "energy in the top eigenspaces, free"),
        )
    ]
    return pl.concat(parts).filter(pl.col("step") <= 20)


soon, end = (number(table, "margin", condition=gm.BF16) for table in ("soon", "end"))
kept = share("end", "stored", horizon=LATE)

SCORES = {
    "associative-in-two-steps": number("times", "stored", architecture=gm.FROZEN).over(
        "graph"
    )
    <= 2.0,
    "one-step-of-correlation": share("one_step", "recall", width=512).over("graph")
    >= 0.99,
    "lookup-before-geometry": number("free", "lag").over("graph") >= 1.0,
    "geometry-takes-far-longer": number("free", "ratio", graph="cycle") >= 10.0,
    "node2vec-takes-long": number("node2vec", "half_time").over("graph") >= 20.0,
    "gpt-lookup-first": number("gpt", "lag").over("graph") >= 0.0,
    "margin-soon": soon.at(horizon=LATE) >= 0.0,
    "margin-later": end.at(horizon=LATE) >= 0.0,
    "margin-later-slow": end.at(horizon=SLOW) >= 0.0,
    "rounding-keeps-the-margin": kept.at(condition=gm.BF16) - kept.at(condition=gm.CODE)
    >= 0.25,
}
