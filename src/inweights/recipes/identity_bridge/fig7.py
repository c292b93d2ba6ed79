"""Figure 7 of Identity Bridge: alignment and generalisation during training."""

import math
from functools import partial, reduce
from itertools import product

import polars as pl

import inweights as iw
from inweights.config import check_size
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, cosine, number, share
from inweights.recipes.identity_bridge import common as ib
from inweights.recipes.shared import derived

#: Recall at which the facts count as memorised.
KNOWN = 0.99


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig7.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number ``N`` of subjects and of objects, at least 2.
        complexity: ``C``, the number of objects per subject, from 1 to ``n``; 2 in the
            paper.
        models: Names of the conditions, at least one, as in Figure 2: ``emb-mlp``,
            ``gpt``, ``gpt-small``, ``gpt-tied``, ``gpt-tied-decay``. The animation
            shows the first one.
        every: Number of steps between measurements, at least 1.
        gpt: Settings of the GPTs and of their training.
    """

    n: int = 20
    complexity: int = 2
    models: tuple[str, ...] = ("gpt-small", "gpt")
    every: PositiveInt = 10
    gpt: ib.GPTTraining = ib.GPTTraining()


def plan(settings: Settings) -> Plan:
    """Plan training runs of two GPTs on a world with identities, with measurements during training.

    Args:
        settings: The recipe's settings, such as ``n``, ``complexity`` and ``models``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Label of the trials: ``model`` (gpt-small, gpt; the conditions of
          :func:`~inweights.recipes.identity_bridge.common.trial`).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`; during training),
          ``alignment`` (:func:`inweights.probes.alignment`; during training),
          ``memory`` (:func:`inweights.probes.shared_memory`; during training),
          ``logits`` (:func:`inweights.probes.templates` with ``rows="composition"``;
          during training, only for ``model`` gpt-small and the first seed) and
          ``states`` (:func:`inweights.probes.bridge_projection` with ``method="pca"``,
          ``place="query"``; during training, only for ``model`` gpt-small and the first
          seed).

        Measures during training are taken every ``every`` steps.

    Raises:
        ConfigError: ``models`` is empty or contains an unknown condition, ``n`` is
            below 2, ``complexity`` is not between 1 and ``n``, ``every`` is negative,
            or a value is out of range for a model or its training.
    """
    check_size("the number of models", len(settings.models))
    world = iw.TwoHop(n=settings.n, complexity=settings.complexity)
    training = settings.gpt, ib.EmbMLPTraining()
    trials = [ib.trial(name, world, *training) for name in settings.models]
    look = partial(Measure, every=settings.every)
    film = partial(look, where={"model": settings.models[0]}, first_seed=True)
    measures = [
        look(name="accuracy", probe=iw.probes.accuracy),
        look(name="alignment", probe=iw.probes.alignment),
        look(name="memory", probe=iw.probes.shared_memory),
        film(name="logits", probe=iw.probes.templates, options={"rows": "composition"}),
        film(
            name="states",
            probe=iw.probes.bridge_projection,
            options={"method": "pca", "place": "query"},
        ),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return learning curves, the steps at which they reach half their rise, and correlations.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``model, seed, step``. Accuracies
            are fractions from 0 to 1.

            - ``accuracy``, from :func:`inweights.probes.accuracy`, with the additional
              columns ``part, role, distribution, statements, accuracy, accuracy_among,
              chance, loss, right_answers``.
            - ``alignment``, from :func:`inweights.probes.alignment`, with the
              additional columns ``place, layer, depth, cosine, other, contrast,
              nearest``.
            - ``memory``, from :func:`inweights.probes.shared_memory`, with the
              additional columns ``prompt, contrast, reached``.
            - ``logits``, from :func:`inweights.probes.templates`, with the additional
              columns ``row, row_group, column, column_group, value, top, answer``.
            - ``states``, from :func:`inweights.probes.bridge_projection`, with the
              additional columns ``pair, kind, layer, depth, x, y, trustworthiness``.

            The label is ``model`` (gpt-small, gpt; the conditions are explained at
            :func:`~inweights.recipes.identity_bridge.common.trial`).

    Returns:
        - ``curves``: a row per run, step and value of ``series`` (``accuracy``: on
          compositions; ``recall``: the lowest accuracy over the roles of facts;
          ``alignment at r1`` and ``alignment at r2``: the share of subjects whose own
          bridge is nearest, averaged over the blocks; ``memory a → c``: the share of
          the prompts ``(a, r2)`` that lead to an object of their subject), with its
          ``value``. Columns: ``model, seed, step, series, value``.
        - ``film_curves``: the curves of the model that the animation shows. Columns: as
          in ``curves``.
        - ``leads``: a row per run, with the half-time of each series (the first step at
          which it is halfway between its first and its largest value), and two
          differences in steps, ``alignment_r1_leads`` and ``memory_leads``: the
          half-time of accuracy minus the half-time of alignment at r1 or of memory.
          Columns: ``model, seed, accuracy, recall, alignment at r1, alignment at r2,
          memory a → c, alignment_r1_leads, memory_leads``.
        - ``at_recall``: a row per run: the first ``step`` at which the facts are known
          (recall of at least :data:`KNOWN`, .99), and the ``accuracy`` on compositions
          at this step, which is NaN if the facts are never known. Columns: ``model,
          seed, step, accuracy``.
        - ``in_step``: a row per run, ``place`` (``first_hop`` or ``query``) and ``by``
          (``cosine`` or ``contrast``), with ``correlation``, Pearson's correlation,
          over the steps of training, between the accuracy on compositions and the mean
          of this column of ``alignment`` over the blocks. Columns: ``model, seed,
          place, correlation, by``.
        - ``states``: projections of the hidden states, each rotated to match the
          previous frame. Columns: all columns of the measured ``states``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    keys = ["model", "seed", "step"]
    answered = derived.compositions(tables["accuracy"]).select(*keys, "accuracy")
    aligned = derived.over_blocks(
        tables["alignment"], ("cosine", "contrast", "nearest"), (*keys, "place")
    )
    at_r1, at_r2 = (
        aligned.filter(pl.col("place") == place) for place in ("first_hop", "query")
    )
    without_r1 = tables["memory"].filter(pl.col("prompt") == "subject_relation")
    recalled = derived.memorised(tables["accuracy"], ("model", "step")).select(
        *keys, recall="accuracy"
    )
    runs = ["model", "seed"]
    known = derived.first_step(recalled, "recall", runs, least=KNOWN).rename(
        {"first": "step"}
    )
    shares = (
        answered,
        recalled,
        at_r1.select(*keys, pl.col("nearest").alias("alignment at r1")),
        at_r2.select(*keys, pl.col("nearest").alias("alignment at r2")),
        without_r1.select(*keys, pl.col("reached").alias("memory a → c")),
    )
    wide = reduce(lambda table, other: table.join(other, on=keys), shares)
    curves = wide.unpivot(index=keys, variable_name="series", value_name="value")
    half = derived.half_time(curves, "value", [*runs, "series"])
    times = half.pivot("series", index=runs, values="half_time")
    filmed = tables["states"]["model"][0]
    return {
        "curves": curves,
        "film_curves": curves.filter(pl.col("model") == filmed),
        "leads": times.with_columns(
            alignment_r1_leads=pl.col("accuracy") - pl.col("alignment at r1"),
            memory_leads=pl.col("accuracy") - pl.col("memory a → c"),
        ),
        # NaN if the facts are never known.
        "at_recall": known.cast({"step": answered["step"].dtype})
        .join(answered, on=keys, how="left")
        .with_columns(pl.col("accuracy").fill_null(math.nan)),
        "in_step": pl.concat(
            derived.correlation(both, "accuracy", by, [*runs, "place"]).with_columns(
                by=pl.lit(by)
            )
            for both, by in product(
                [answered.join(aligned, on=keys)], ("cosine", "contrast")
            )
        ),
        "states": iw.probes.align_frames(tables["states"], by=["model", "seed"]),
    }


in_step = cosine("in_step", "correlation").over("model")

SCORES = {
    "memory-first": number("leads", "memory_leads", model="gpt-small") >= 5.0,
    "recall-first": share("at_recall", "accuracy").over("model") <= 0.2,
    "in-step": in_step.at(place="first_hop", by="cosine") >= 0.8,
    "in-step-contrast": in_step.at(place="first_hop", by="contrast") >= 0.8,
    "in-step-at-answer": in_step.at(place="query", by="cosine") >= 0.8,
    "in-step-at-answer-contrast": in_step.at(place="query", by="contrast") >= 0.8,
    "alignment-leads": number("leads", "alignment_r1_leads").over("model") >= 5.0,
}
