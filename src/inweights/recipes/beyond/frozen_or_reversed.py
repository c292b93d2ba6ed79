"""Our experiment: does AS fail because of its order, or because the value matrix is frozen?"""

from itertools import product
from typing import Literal

import polars as pl

import inweights as iw
from inweights.experiments import Plan, Trial, cosine, share
from inweights.models.configs import OneLayerConfig
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.feature_resemblance import trainings as tasks

LABELS = ("course", "mlp", "sigma", "value")
#: Settings of the MLPs that are compared. The linear MLP is folded, which is exact
#: under gradient descent.
MLPS: dict[str, Literal["folded", "relu"]] = {"linear": "folded", "ReLU": "relu"}


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``frozen_or_reversed.toml``. A value of the wrong
    type raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of tuples ``(a, b, c, d)`` of the analogy, at least 2.
        width: Width of the model.
        hidden: Number ``m`` of neurons of the MLP for each label.
        sigmas: Initial scales ``σ0`` (standard deviations of all matrices), above 0.
        rate: Learning rate, above 0.
        loss: Training loss at which a phase stops early.
        steps: Maximum number of updates in a phase.
    """

    n: int = 50
    width: int = 256
    hidden: int = 10
    sigmas: tuple[float, ...] = (1e-3, 3e-3, 1e-2)
    rate: float = 0.1
    loss: float = 0.015
    steps: int = 1500


def plan(settings: Settings) -> Plan:
    """Plan training in the orders AS and SA, with the value matrix trained or frozen in phase 2.

    All parameters are trained in phase 1.

    Args:
        settings: The recipe's settings, such as ``n``, ``width`` and ``hidden``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``course`` (the order of training, see
          :func:`~inweights.recipes.feature_resemblance.courses.phase_roles`: ``AS``
          for attribution before similarity, ``SA`` for the reverse order), ``mlp``
          (linear, ReLU), ``sigma`` (initial scale: 0.001, 0.003, 0.01), and ``value``
          (whether the value matrix is trained in phase 2: ``moves`` if it is trained,
          otherwise ``frozen``).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`) and ``resemblance``
          (:func:`inweights.probes.resemblance`).

    Raises:
        ConfigError: ``n`` is below 2, or a value is out of range for the model or its
            training.
    """
    trials = []
    for (mlp, kind), sigma in product(MLPS.items(), settings.sigmas):
        model = OneLayerConfig(
            width=settings.width,
            hidden=settings.hidden,
            mlp=kind,
            init=iw.Init(std=sigma),
        )
        training = tasks.EndToEndTraining(
            model=model,
            rate=settings.rate,
            loss=settings.loss,
            steps=settings.steps,
        )
        trials += [
            Trial(
                labels={
                    "course": course,
                    "mlp": mlp,
                    "sigma": sigma,
                    "value": value,
                },
                world=fr.world_of(course, settings.n),
                model=model,
                learner=training.curriculum(course, frozen=value == "frozen"),
            )
            for course, value in product(("AS", "SA"), ("moves", "frozen"))
        ]
    return Plan(trials=trials, measures=fr.measures())


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return success and similarity of every run, and its recall of the second phase's facts.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``) and ``resemblance`` (:func:`inweights.probes.resemblance`:
            ``prompt, layer, depth, cosine, other, contrast``). Both have the columns
            ``course, mlp, sigma, value, seed``. The labels are ``course`` (AS:
            attribution before similarity; SA: similarity before attribution), ``mlp``
            (linear, ReLU), ``sigma`` (initial scale: 0.001, 0.003, 0.01), and ``value``
            (whether the value matrix is trained in phase 2: ``moves`` if it is trained,
            otherwise ``frozen``). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``table``: a row per run: ``cosine`` (the mean cosine similarity between the
          states of the two entities of a pair, defined at
          :func:`inweights.probes.resemblance`), ``other`` (the same mean for entities
          of different pairs) and ``success`` (accuracy on the conclusions, which are
          held out); ``panel`` and ``line`` are labels for the figure. Columns:
          ``course, mlp, sigma, value, seed, cosine, other, success, panel, line``.
        - ``taught``: a row per run, with the accuracy on the facts that the second
          phase trains on (the similarity for AS, the attribution for SA). Columns: all
          columns of ``accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    late = (
        pl.when(course="AS").then(pl.lit("similarity")).otherwise(pl.lit("attribution"))
    )
    return {
        "table": fr.similarities(tables, LABELS).with_columns(
            panel=pl.format("{}, {}", "course", "mlp"),
            line=pl.format("value matrix {} in phase 2", "value"),
        ),
        "taught": tables["accuracy"].filter(pl.col("role") == late),
    }


success = share("table", "success").over("mlp", "sigma")
alike = cosine("table", "cosine", course="AS").over("mlp", "sigma")

SCORES = {
    "frozen-fails": success.at(course="AS", value="frozen") <= 0.05,
    "moving-succeeds": success.at(course="AS", value="moves") >= 0.95,
    "frozen-unlike": alike.at(value="frozen").within(-0.05, 0.05),
    "moving-alike": alike.at(value="moves") >= 0.5,
    "sa-frozen": success.at(course="SA", value="frozen") >= 0.95,
    "second-phase-learnt": share("taught", "accuracy").over(*LABELS) >= 0.95,
}
