"""Theorems 1 to 5 and propositions 1 to 5 of Feature Resemblance, and the lemmas that they use."""

from functools import partial

import polars as pl

import inweights as iw
from inweights import experiments
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.feature_resemblance import trainings as tasks
from inweights.worlds.families.analogy import Analogy


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``theorems.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of tuples of the analogy, and of chains of the two-hop world, at least
            2.
        rho: Number of copies of the similarity premise, at least 1. The theorems assume
            a large ``ρ``.
        checked: Number of tuples for which the gradients of lemma 1 are compared with
            autograd, at least 2.
        training: Settings of the one-layer transformer and of its training.
    """

    n: int = 100
    rho: float = 5.0
    checked: int = 10
    training: tasks.OneLayerTraining = tasks.OneLayerTraining(
        mlp=3000, late={"SA": 3000, "AS": 5000}
    )


def plan(settings: Settings) -> experiments.Plan:
    """Plan training with every curriculum, and the computations about stage 1 and lemma 1.

    Args:
        settings: The recipe's settings, such as ``n``, ``rho`` and ``checked``;
            :class:`Settings` describes each.

    Returns:
        The plan.

        - Label of the trials: ``course`` (joint, SA, AS, two-hop, two-hop without
          identity).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`) and ``resemblance``
          (:func:`inweights.probes.resemblance`).
        - Computations: ``stage_one``
          (:func:`~inweights.theory.feature_resemblance.stage_one.stage_one`) and
          ``lemma_1`` (:func:`~inweights.theory.feature_resemblance.stage_one.lemma_1`)
          (with the label ``mlp``: linear, relu).

        ``course`` is the order of training, whose facts and phases
        :func:`~.courses.phase_roles` lists.

    Raises:
        ConfigError: ``n`` or ``checked`` is below 2, ``rho`` is below 1, or a value is
            out of range for the model or its training.
    """
    from inweights.theory.feature_resemblance.stage_one import lemma_1, stage_one

    how = settings.training
    seeded = partial(experiments.Computation, seeded=True)
    stage = partial(seeded, name="stage_one", compute=stage_one, effort=500)
    lemma = partial(seeded, name="lemma_1", compute=lemma_1, effort=20)
    trials = []
    computations = []
    for course in tasks.SUCCEEDS:
        world = fr.world_of(course, settings.n)
        labels = {"course": course}
        learner = how.curriculum(course, settings.rho)
        trials.append(
            experiments.Trial(
                labels=labels, world=world, model=how.model, learner=learner
            )
        )
        options = how.stage_one(world, tasks.phase_roles(course, settings.rho)[0])
        computations.append(stage(labels=labels, options=options))
    small = Analogy(n=settings.checked)
    computations += [
        lemma(labels={"mlp": mlp}, options={"world": small, "mlp": mlp})
        for mlp in ("linear", "relu")
    ]
    return experiments.Plan(
        trials=trials, computations=computations, measures=fr.measures()
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return similarities, accuracies on the conclusions, and the final loss of each phase.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed), all with the column ``seed``: ``accuracy`` and
            ``resemblance`` (``course`` and the columns of the probes of these names),
            ``stage_one`` (``course`` and the columns of
            :func:`~inweights.theory.feature_resemblance.stage_one.stage_one`),
            ``lemma_1`` (``mlp``, ``matrix`` and ``error``, the largest relative
            difference between a gradient and the result of autograd) and ``losses``
            (``course, phase, step, loss``). The label is ``course`` (the order of
            training, explained at :func:`plan`: joint, SA, AS, two-hop, two-hop without
            identity). Accuracies and recall are fractions from 0 to 1.

    Returns:
        Four tables with the columns ``course`` and ``seed``:

        - ``table``, one row per course and seed: ``cosine`` (mean cosine of the states
          of the two entities that share a property), ``other`` (their mean cosine with
          entities of other tuples, for comparison) and ``success`` (accuracy on the
          conclusions, which are not in the training set).
        - ``fitted``, one row per run and phase, except the phase ``attention``:
          ``phase`` and ``loss`` (its last training loss, in nats).
        - ``shown``, two rows per course and seed, for the figure: ``column``
          (``similarity`` or ``success``) and ``value``.
        - ``lemmas``, two rows per course and seed: ``column`` (a string that names an
          assumption of the lemmas: uniform attention, or the linear regime) and
          ``value`` (how far stage 1 deviates from this assumption).

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    keys = ["course", "seed"]
    table = fr.similarities(tables, ["course"])
    unpivoted = partial(pl.DataFrame.unpivot, index=keys, variable_name="column")
    words = {
        "attention": "attention: largest distance from 1/2",
        "linear": "update: distance from the linear regime",
    }
    fitted = fr.last_loss(tables["losses"], [*keys, "phase"])
    return {
        "table": table,
        "fitted": fitted.filter(pl.col("phase") != "attention"),
        "shown": unpivoted(
            table.rename({"cosine": "similarity"}), ["similarity", "success"]
        ),
        "lemmas": unpivoted(tables["stage_one"], list(words)).with_columns(
            pl.col("column").replace(words)
        ),
    }


loss = experiments.number("fitted", "loss").over("phase")
accuracy = experiments.share("table", "success")
alike = experiments.cosine("table", "cosine")
#: Distance of an attention score, which lies in [0, 1], from 1/2; it is at most 1/2.
balance = experiments.share("stage_one", "attention")


SCORES: dict[str, experiments.Judged] = {}
for number, (course, follows) in enumerate(tasks.SUCCEEDS.items(), 1):
    answered = accuracy.at(course=course)
    resembles = alike.at(course=course)
    SCORES[f"theorem-{number}-converges"] = loss.at(course=course) <= 0.1
    if follows:
        SCORES[f"theorem-{number}-follows"] = answered >= 0.99
        SCORES[f"proposition-{number}"] = resembles >= 0.9
    else:
        SCORES[f"theorem-{number}-fails"] = answered <= 0.03
        SCORES[f"proposition-{number}"] = resembles.within(-0.03, 0.03)
    SCORES[f"balanced-{course.replace(' ', '-')}".lower()] = (
        balance.at(course=course) <= 0.1
    )
SCORES |= {
    "lemma-1": experiments.computed("lemma_1", "error").over("mlp", "matrix") <= 1e-9,
    "lemma-2": experiments.computed("stage_one", "span").over("course") <= 1e-9,
    "linear-regime": experiments.number("stage_one", "linear").over("course") <= 0.15,
}
