"""Our experiment: what preserves a geometry that fp32 loses: rounding, noise, or AdamW's terms?"""

from functools import partial
from itertools import product

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import (
    Curriculum,
    Measure,
    Plan,
    Score,
    Trial,
    cosine,
    number,
)
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.shared.derived import at_the_end
from inweights.training.curriculum import Precision
from inweights.worlds.families.graphs.graph import Graph

RUN = ["change", "seed"]
FP32 = "fp32"
#: Rank correlation up to which the order counts as present. A fifth of random
#: embeddings have a correlation below it.
ORDER = -0.1


class Change(iw.Config):
    """Differences between a condition and plain AdamW in fp32.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        name: Name of the condition, used as the label ``change`` in the tables.
        precision: Precision of matrix products: ``fp32`` (the default), ``bf16`` or
            ``bf16-emulated``.
        noise: Standard deviation of noise added to the gradient, as a fraction of the
            gradient's root mean square; 0 by default.
        epsilon: ``ε`` of AdamW; by default 1e-8.
        second: ``β₂`` of AdamW, the decay rate of its second moment; by default 0.999.
    """

    name: str = FP32
    precision: Precision = "fp32"
    noise: float = 0.0
    epsilon: float = 1e-8
    second: float = 0.999


CHANGES = (
    Change(),
    Change(name="bf16", precision="bf16-emulated"),
    Change(name="noise .1", noise=0.1),
    Change(name="ε 1e-3", epsilon=1e-3),
    Change(name="β₂ .9", second=0.9),
)


class Point(iw.Config):
    """Width, learning rate and number of updates of a TinyNN.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        width: Width ``D``, at least 1.
        rate: Learning rate, above 0.
        steps: Number of updates.
    """

    width: int
    rate: float
    steps: int


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``rounding.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        changes: The conditions, each of which changes one aspect of training.
        points: Widths of TinyNN, each with a learning rate and a number of updates.
        every: Number of steps between two measurements, at least 1.
    """

    changes: tuple[Change, ...] = CHANGES
    points: tuple[Point, ...] = (
        Point(width=64, rate=0.05, steps=2000),
        Point(width=128, rate=0.04, steps=1500),
    )
    every: PositiveInt = 50


def plan(settings: Settings) -> Plan:
    """Plan training runs of TinyNN on the cycle, at every width in every condition.

    Args:
        settings: The recipe's settings, such as ``changes``, ``points`` and ``every``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``change`` (``fp32`` for plain AdamW; ``bf16``, ``noise
          .1``, ``ε 1e-3`` and ``β₂ .9`` for AdamW with the change of that name, which
          :class:`Change` explains) and ``width`` (of TinyNN: 64, 128).
        - Measures: ``order`` (:func:`inweights.probes.hop_correlation` with
          ``draws=1``; during training) and ``margin``
          (:func:`inweights.probes.geometric_margin` with ``draws=1``; during training).

    Raises:
        ConfigError: ``every`` is negative, or a value is out of range for the model or
            its training.
    """
    trials = []
    for point, change in product(settings.points, settings.changes):
        how = gm.Training(
            architecture=gm.NN, **structs.asdict(point), second=change.second
        )
        (phase,) = how.learner.phases
        optimizer = structs.replace(
            phase.optimizer, epsilon=change.epsilon, noise=change.noise
        )
        phase = structs.replace(phase, optimizer=optimizer, precision=change.precision)
        trials.append(
            Trial(
                labels={"change": change.name, "width": point.width},
                world=Graph(shape="cycle"),
                model=how.model,
                learner=Curriculum(phases=(phase,)),
            )
        )
    look = partial(Measure, every=settings.every)
    return Plan(
        trials=trials,
        measures=[
            look(name="order", probe=iw.probes.hop_correlation, options={"draws": 1}),
            look(name="margin", probe=iw.probes.geometric_margin, options={"draws": 1}),
        ],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the lowest and final Spearman's ρ, the duration of the geometry, and final margins.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``order`` (:func:`inweights.probes.hop_correlation`:
            ``spearman, null_mean, null_low, null_high``) and ``margin``
            (:func:`inweights.probes.geometric_margin`: ``over, margin, worst, positive,
            null_positive, null_worst, null_all``). Both have the columns ``change,
            width, seed, p, step``. The labels are ``change`` (``fp32`` for plain AdamW;
            ``bf16``, ``noise .1``, ``ε 1e-3`` and ``β₂ .9`` for AdamW with the change
            of that name, which :class:`Change` explains) and ``width`` (of TinyNN: 64,
            128).

    Returns:
        - ``ends``: a row per run: the lowest Spearman's ρ (``best``), the ρ at the last
          step (``last``), ``lost`` (``last`` minus ``best``), ``life`` (the last step
          with ρ at most :data:`ORDER`, -.1, divided by the number of steps; 0 if there
          is none) and ``margin`` (the margin of the neighbour with the smallest logit
          at the last step, averaged over the nodes). Columns: ``change, seed, width,
          last, best, life, margin, lost``.
        - ``order``: a row per run and step, except step 0, with ρ; ``panel`` is a
          string that names the width. Columns: all columns of the measured ``order``,
          plus ``panel``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    run = [*RUN, "width"]
    order = tables["order"].filter(pl.col("step") > 0)
    # The last step is used, because the order may vanish and return.
    alive = pl.col("step").filter(pl.col("spearman") <= ORDER).max()
    ends = at_the_end(order, run).select(*run, last="spearman")
    life = order.group_by(run, maintain_order=True).agg(
        best=pl.col("spearman").min(), life=alive.fill_null(0) / pl.col("step").max()
    )
    margins = at_the_end(tables["margin"].filter(pl.col("over") == "min"), run)
    ends = ends.join(life, on=run).join(margins.select(*run, "margin"), on=run)
    panel = pl.format("width {}", "width")
    return {
        "ends": ends.with_columns(lost=pl.col("last") - pl.col("best")),
        "order": order.with_columns(panel=panel),
    }


last = cosine("ends", "last")
plain = {"change": FP32}


def more(change: str, width: int) -> Score:
    """Return a score: the final Spearman's ρ in a condition minus the final ρ in plain fp32.

    Args:
        change: Label ``change`` of the condition, such as ``bf16``.
        width: Width of the model, one of the settings' ``points``.

    Returns:
        The difference between the two scores.
    """
    return last.at(change=change, width=width) - last.at(**plain, width=width)


lost = cosine("ends", "lost")

SCORES = {
    "fp32-loses-order": lost.at(change=FP32).over("width") >= 0.1,
    "no-margin-is-lost": number("ends", "margin", change=FP32).over("width") >= 0.0,
    "bf16-keeps-more": more("bf16", 128) <= -0.05,
    "bf16-keeps-less-when-narrow": more("bf16", 64) >= 0.0,
    "noise-keeps-more": more("noise .1", 128) <= -0.05,
    "forgetting-keeps-most": lost.at(change="β₂ .9").over("width") <= 0.1,
    "epsilon-keeps-most": lost.at(change="ε 1e-3").over("width") <= 0.1,
}
