"""Our experiment: geometry is clearest before all edges are recalled, and fades afterwards."""

from functools import partial

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, cosine, number, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory.derived import judged
from inweights.recipes.shared.derived import at_the_end, first_step

RUN = ["graph", "architecture", "seed"]
MODELS = (gm.GPT, gm.SSM, gm.NN)
CLEAREST = "clearest geometry"
STORED = "full recall"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``clearest_before_recall.toml``. A value of the wrong
    type raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of tiny graphs, any of ``path-star``, ``grid``, ``cycle`` and
            ``irregular``.
        architectures: Names of architectures, any of ``TinyGPT``, ``TinySSM`` and
            ``TinyNN``.
        most: Maximum number of updates of a training run, at least 0. With 0, the
            paper's number is used.
        every: Number of steps between two measurements, at least 1.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    architectures: tuple[str, ...] = MODELS
    most: int = 1000
    every: PositiveInt = 5


def plan(settings: Settings) -> Plan:
    """Plan training runs on edges with the settings of the paper's code and frequent measurements.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``architectures`` and
            ``most``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (TinyGPT; TinySSM: a Mamba; TinyNN), and ``condition`` (the
          code's: the settings of the paper's code).
        - Measures: ``correlation`` (:func:`inweights.probes.hop_correlation` with
          ``draws=1``; during training) and ``recall``
          (:func:`inweights.probes.graph_recall`; during training).

        Both are measured every ``every`` steps.

    Raises:
        ConfigError: A name in ``architectures`` is unknown, or ``most`` or ``every`` is
            negative.
    """
    made = gm.trials(
        settings.graphs, settings.architectures, settings.most, conditions=(gm.CODE,)
    )
    look = partial(Measure, every=settings.every)
    return Plan(
        trials=made,
        measures=[
            look(
                name="correlation",
                probe=iw.probes.hop_correlation,
                options={"draws": 1},
            ),
            look(name="recall", probe=iw.probes.graph_recall),
        ],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the steps of the clearest geometry and of full recall, and the geometry at the end.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``correlation`` (:func:`inweights.probes.hop_correlation`:
            ``spearman, null_mean, null_low, null_high, p``) and ``recall``
            (:func:`inweights.probes.graph_recall`: ``recall, worst, recall_others,
            accuracy, ceiling, loss, floor``). Both have the columns ``graph,
            architecture, condition, seed, step``. The labels are ``graph`` (path-star,
            grid, cycle, irregular), ``architecture`` (TinyGPT; TinySSM: a Mamba;
            TinyNN), and ``condition`` (``the code's``: the model is trained as in the
            paper's code). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``times``: a row per run: the lowest Spearman's ρ between cosine similarity
          and distance in hops (``best``), the step at which it occurs (``when``), the
          ``recall`` at that step, the ``first`` step at which all edges are recalled
          (or the last step plus 1 if there is no such step), ρ at the last step
          (``last``), ``ahead`` (``when`` minus ``first``) and ``faded`` (``last`` minus
          ``best``). Columns: ``graph, architecture, seed, best, when, recall, first,
          last, ahead, faded``.
        - ``steps``: a row per run and value of ``what`` (``clearest geometry`` or
          ``full recall``), with its ``step`` and the step's decimal logarithm, ``log``.
          Columns: ``graph, architecture, seed, what, step, log``.
        - ``course``: a row per run and step, except step 0, with ρ and recall at this
          step; ``panel`` names the architecture and the graph. Columns: ``graph,
          architecture, seed, spearman, null_mean, null_low, null_high, p, step, recall,
          panel``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    tables = judged(tables)
    keys = [*RUN, "step"]
    course = tables["correlation"].join(
        tables["recall"].select(*keys, "recall"), on=keys
    )
    # Step 0 is left out, because the correlation of a random initial embedding may be
    # the lowest by chance.
    course = course.filter(pl.col("step") > 0)
    best = pl.col("spearman").arg_min()
    clearest = course.group_by(RUN, maintain_order=True).agg(
        best=pl.col("spearman").min(),
        when=pl.col("step").gather(best).first().cast(pl.Float64),
        recall=pl.col("recall").gather(best).first(),
    )
    ends = at_the_end(course, RUN).select(*RUN, last="spearman")
    times = (
        clearest.join(first_step(course, "recall", RUN, least=1.0), on=RUN)
        .join(ends, on=RUN)
        .with_columns(
            ahead=pl.col("when") - pl.col("first"),
            faded=pl.col("last") - pl.col("best"),
        )
    )
    steps = times.select(
        *RUN, pl.col("when").alias(CLEAREST), pl.col("first").alias(STORED)
    )
    return {
        "times": times,
        "steps": steps.unpivot(
            index=RUN, variable_name="what", value_name="step"
        ).with_columns(log=pl.col("step").log10()),
        "course": course.with_columns(
            panel=pl.format("{}, {}", "architecture", "graph")
        ),
    }


ahead = number("times", "ahead").over("graph")
known = share("times", "recall").over("graph")
faded = cosine("times", "faded").over("graph")
best = cosine("times", "best").over("graph")

star, cycle = (
    {"architecture": gm.NN, "graph": graph} for graph in ("path-star", "cycle")
)

SCORES = {
    "tinygpt-clearest-first": ahead.at(architecture=gm.GPT) <= 0.0,
    "tinygpt-not-all-known": known.at(architecture=gm.GPT) <= 0.8,
    "tinygpt-is-clear": best.at(architecture=gm.GPT) <= -0.75,
    "tinygpt-fades": faded.at(architecture=gm.GPT) >= 0.05,
    "tinyssm-clearest-first": ahead.at(architecture=gm.SSM) <= 0.0,
    "tinyssm-not-all-known": known.at(architecture=gm.SSM) <= 0.8,
    "tinyssm-is-clear": best.at(architecture=gm.SSM) <= -0.55,
    "tinyssm-fades": faded.at(architecture=gm.SSM) >= 0.05,
    "tinynn-clearest-first-on-the-star": number("times", "ahead", **star) <= 0.0,
    "tinynn-wide-is-the-exception": share("times", "recall", **cycle) >= 0.99,
}
