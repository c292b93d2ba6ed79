"""Figures 21 and 22 of Geometric Memory: number of steps to learn a lookup or a geometry."""

from functools import partial

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, number
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.shared.derived import first_step, half_time
from inweights.worlds.families.graphs.graph import Graph

RUN = ["graph", "seed"]
LOOKUP = "frozen"
GEOMETRY = "free"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig21_22.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        width: Width of TinyNN, at least 1.
        frozen_rate: Learning rate of TinyNN with frozen embeddings.
        frozen_steps: Number of updates of TinyNN with frozen embeddings.
        rate: Learning rate of TinyNN with trained embeddings.
        steps: Number of updates of TinyNN with trained embeddings.
        gpt_most: Maximum number of updates of TinyGPT; if 0, the paper's number is
            used.
        gpt_every: Number of steps between two measurements of TinyGPT, at least 1.
            TinyNN is measured after every step.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    width: int = 512
    frozen_rate: float = 0.1
    frozen_steps: int = 10
    rate: float = 0.01
    steps: int = 40
    gpt_most: int = 700
    gpt_every: PositiveInt = 5


def plan(settings: Settings) -> Plan:
    """Plan training runs of TinyNN, with frozen and with trained embeddings, and of TinyGPT.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``width`` and
            ``frozen_rate``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (TinyNN, TinyGPT), ``embeddings`` (``frozen``, only for
          TinyNN, or ``free``: trained), and ``condition`` (the code's: the settings of
          the paper's code).
        - Measures: ``recall`` (:func:`inweights.probes.graph_recall`; during training),
          ``margin`` (:func:`inweights.probes.edge_margin`; during training, only for
          TinyNN with free embeddings) and ``hops``
          (:func:`inweights.probes.hop_correlation` with ``draws=1``; during training,
          only for TinyGPT).

    Raises:
        ConfigError: ``gpt_every`` or a number of updates is negative, ``width`` is not
            between 1 and 65,536, or a rate is not positive.
    """
    wide = partial(gm.Training, width=settings.width)
    nn = {
        LOOKUP: wide(
            architecture=gm.FROZEN,
            rate=settings.frozen_rate,
            steps=settings.frozen_steps,
        ),
        GEOMETRY: wide(architecture=gm.NN, rate=settings.rate, steps=settings.steps),
    }
    trials = []
    for shape in settings.graphs:
        gpt_training = gm.training(gm.GPT, shape, most=settings.gpt_most)
        arms = [(gm.NN, which, how) for which, how in nn.items()]
        arms.append((gm.GPT, GEOMETRY, gpt_training))
        for name, which, how in arms:
            trial = gm.trial(
                how,
                Graph(shape=shape),
                gm.CODE,
                graph=shape,
                architecture=name,
                embeddings=which,
            )
            trials.append(trial)
    recall = partial(Measure, name="recall", probe=iw.probes.graph_recall)
    margin = partial(Measure, name="margin", probe=iw.probes.edge_margin)
    hops = partial(
        Measure, name="hops", probe=iw.probes.hop_correlation, options={"draws": 1}
    )
    gpt = {"architecture": gm.GPT}
    looks = [
        recall(every=1, where={"architecture": gm.NN}),
        margin(every=1, where={"architecture": gm.NN, "embeddings": GEOMETRY}),
        recall(every=settings.gpt_every, where=gpt),
        hops(every=settings.gpt_every, where=gpt),
    ]
    return Plan(trials=trials, measures=looks)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the steps at which TinyNN and TinyGPT store edges, and at which geometry emerges.

    Args:
        tables: The tables that result from :func:`plan`, by name. All tables have the
            columns ``graph, architecture, embeddings, condition, seed, step``.
            Accuracies and recall are fractions from 0 to 1.

            - ``recall``, from :func:`inweights.probes.graph_recall`, with the
              additional columns ``recall, worst, recall_others, accuracy, ceiling,
              loss, floor``.
            - ``margin``, from :func:`inweights.probes.edge_margin`, with the additional
              columns ``rivals, over, margin, worst, positive``.
            - ``hops``, from :func:`inweights.probes.hop_correlation`, with the
              additional columns ``spearman, null_mean, null_low, null_high, p``.

            The labels are ``graph`` (path-star, grid, cycle, irregular),
            ``architecture`` (TinyNN, TinyGPT), ``embeddings`` (``frozen``, only for
            TinyNN, or ``free``: trained), and ``condition`` (``the code's``: trained as
            in the paper's code).

    Returns:
        - ``steps``: a row per graph and seed: ``stored``, the first step at which
          TinyNN with frozen embeddings recalls all edges; ``alone``, the first step at
          which, in TinyNN with free embeddings, the mean margin of each node's least
          likely neighbour over other nodes is positive; and ``ratio``, ``alone``
          divided by ``stored``. Columns: ``graph, seed, stored, alone, ratio``.
        - ``gpt``: a row per graph and seed: the first steps at which TinyGPT's recall
          (``edges``) and its geometry, −ρ (``shape``), are half-way from their first
          values to their maxima; and ``lead``, which is ``edges`` minus ``shape``.
          Columns: ``graph, seed, edges, shape, lead``.
        - ``first``: a row per graph, seed, step up to 20 and ``series`` (recall with
          frozen embeddings; whether the margin is positive, 1.0 or 0.0), with its
          ``value``. Columns: ``graph, seed, step, value, series``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    margin = tables["margin"].filter(
        pl.col("over") == "min", pl.col("rivals") == "nodes"
    )
    margin = margin.with_columns(alone=(pl.col("margin") > 0).cast(pl.Float64))
    told = tables["recall"]
    geometry = tables["hops"].with_columns(geometry=-pl.col("spearman"))
    frozen = told.filter(pl.col("embeddings") == LOOKUP)
    gpt = told.filter(pl.col("architecture") == gm.GPT)
    stored = first_step(frozen, "recall", RUN, least=1.0).rename({"first": "stored"})
    alone = first_step(margin, "alone", RUN).rename({"first": "alone"})
    edges = half_time(gpt, "recall", RUN).rename({"half_time": "edges"})
    shape = half_time(geometry, "geometry", RUN).rename({"half_time": "shape"})
    parts = [
        table.select("graph", "seed", "step", value=column, series=pl.lit(name))
        for table, column, name in (
            (frozen, "recall", "lookup: recall, frozen"),
            (margin, "alone", "geometry: seeds with a positive margin"),
        )
    ]
    return {
        "steps": stored.join(alone, on=RUN).with_columns(
            ratio=pl.col("alone") / pl.col("stored")
        ),
        "gpt": edges.join(shape, on=RUN).with_columns(
            lead=pl.col("edges") - pl.col("shape")
        ),
        "first": pl.concat(parts).filter(pl.col("step") <= 20),
    }


SCORES = {
    "lookup-in-few-steps": number("steps", "stored").over("graph") <= 3.0,
    "geometry-takes-longer": number("steps", "ratio").over("graph") >= 2.0,
    "tinygpt-geometry-first": number("gpt", "lead").over("graph") >= 5.0,
}
