"""Define worlds, measures and comparisons that the recipes of Feature Resemblance share."""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

import inweights as iw
from inweights import experiments
from inweights.experiments.grammar.trial import Probe
from inweights.recipes.feature_resemblance import trainings as tasks
from inweights.recipes.shared.derived import compositions
from inweights.worlds.families.analogy import AnalogicalTwoHop, Analogy

#: Largest difference from a printed similarity that counts as near. It is larger for
#: the GPT, since our GPT differs from the paper's.
NEAR = {tasks.ONE_LAYER: 0.03, tasks.GPT: 0.1}


def measures() -> tuple[Probe, ...]:
    """Return the probes that the recipes on feature resemblance apply to every trained model.

    Returns:
        The functions :func:`inweights.probes.accuracy` and
        :func:`inweights.probes.resemblance`.
    """
    return iw.probes.accuracy, iw.probes.resemblance


def world_of(course: str, n: int) -> experiments.WorldConfig:
    """Return the config of the world that a training task uses.

    Args:
        course: Name of the task, such as ``joint`` or ``two-hop``
            (:func:`~inweights.recipes.feature_resemblance.courses.phase_roles`). The
            name is not checked.
        n: Number of tuples (one-hop tasks) or of chains (two-hop tasks), at least 2.

    Returns:
        For a name that begins with ``two-hop``, an :class:`AnalogicalTwoHop`, which has
        identities only if the name is exactly ``two-hop``; otherwise an
        :class:`Analogy`.

    Raises:
        ConfigError: ``n`` is below 2.
    """
    if course.startswith("two-hop"):
        return AnalogicalTwoHop(n=n, identity=course == "two-hop", maps="permutation")
    return Analogy(n=n, maps="permutation")


def last_loss(losses: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the last recorded training loss of each group of rows.

    Args:
        losses: A row per run and recorded step, with ``step`` and ``loss``.
        by: Names of the columns that define the groups, such as the labels of a run.

    Returns:
        A row per group: the columns ``by``, and ``loss``, the loss at the largest step.
        If several rows have this step, the last of them is used.
    """
    ordered = losses.sort("step", maintain_order=True)
    return ordered.group_by(list(by), maintain_order=True).agg(pl.col("loss").last())


def similarities(
    tables: Mapping[str, pl.DataFrame], labels: Sequence[str]
) -> pl.DataFrame:
    """Return the similarity of the entities and the accuracy on the conclusion, one row per run.

    Args:
        tables: Tables by name: ``accuracy`` of :func:`inweights.probes.accuracy` and
            ``resemblance`` of :func:`inweights.probes.resemblance`.
        labels: Names of the columns that identify the trials.

    Returns:
        A row per run: the columns ``labels`` and ``seed``, ``cosine`` (mean cosine of
        the states of the two entities of a pair, defined at
        :func:`inweights.probes.resemblance`), ``other`` (mean cosine with entities of
        other pairs) and ``success`` (accuracy on the conclusions, from 0 to 1).
    """
    keys = [*labels, "seed"]
    success = compositions(tables["accuracy"]).select(*keys, success="accuracy")
    return tables["resemblance"].select(*keys, "cosine", "other").join(success, on=keys)


def compared(
    table: pl.DataFrame,
    foretold: pl.DataFrame,
    published: Iterable[tuple[Sequence[experiments.Value], float]],
    labels: Sequence[str],
) -> dict[str, pl.DataFrame]:
    """Return measured similarities alongside two predictions and the published values.

    Args:
        table: Measured similarities: a row per run, with ``cosine``.
        foretold: Predicted similarities: a row per run, with ``from_facts`` and
            ``closed_form``, the two predictions of
            :func:`inweights.probes.resemblance.predicted_similarity`.
        published: For each row of the paper's table, a pair: the values of the labels
            (in the order of ``labels``) and the cosine printed in the paper.
        labels: Names of the columns that identify the trials.

    Returns:
        Two tables, keyed by name. ``predicted`` contains the rows of ``table`` for
        which there is a prediction, with the columns of both tables and the absolute
        errors of both predictions, ``from_facts_error`` and ``closed_form_error``.
        ``shown`` has a row for each similarity, with the labels, ``seed`` (-1 for
        published values), ``similarity`` and ``what`` (``measured``, ``published`` or
        ``predicted from the facts``).

    Raises:
        ValueError: The number of values in a row of ``published`` differs from the
            number of ``labels``.
    """
    keys = [*labels, "seed"]
    printed = [
        {**dict(zip(labels, row, strict=True)), "seed": -1, "similarity": cosine}
        for row, cosine in published
    ]
    shown = [
        table.select(*keys, similarity="cosine", what=pl.lit("measured")),
        pl.DataFrame(printed).with_columns(what=pl.lit("published")),
        foretold.select(
            *keys, similarity="from_facts", what=pl.lit("predicted from the facts")
        ),
    ]
    predicted = table.join(foretold, on=keys).with_columns(
        (pl.col("cosine") - pl.col(name)).abs().alias(f"{name}_error")
        for name in ("from_facts", "closed_form")
    )
    return {"predicted": predicted, "shown": pl.concat(shown, how="diagonal_relaxed")}


def near(
    similarity: experiments.Score, printed: float, tolerance: float = 0.03
) -> experiments.Judged:
    """Return a similarity with a target range: the printed value plus or minus a tolerance.

    Args:
        similarity: The score, a cosine similarity.
        printed: Value that the paper prints, from -1 to 1.
        tolerance: Largest allowed distance from the printed value; by default 0.03. The
            upper end of the target range is capped at 1.

    Returns:
        The judged score. The ends of its target range are rounded to four digits.

    Raises:
        ConfigError: ``tolerance`` is negative, or the lower end of the target range is
            above 1.
    """
    # A cosine is at most 1. Both bounds have four digits, like the numbers in the
    # papers.
    high = min(1.0, round(printed + tolerance, 4))
    return similarity.within(round(printed - tolerance, 4), high)


def both_models(
    labels: Mapping[str, experiments.Value],
    world: experiments.WorldConfig,
    one_layer: tasks.OneLayerTraining,
    gpt: tasks.GPTTraining,
    *,
    course: str,
    rho: float,
) -> list[experiments.Trial]:
    """Return one trial of a training task for each of two models, named by the label ``model``.

    Args:
        labels: Additional labels of the trials, by name.
        world: Config of the world.
        one_layer: Settings of the one-layer transformer and of its training.
        gpt: Settings of the GPT and of its training.
        course: Name of the task, such as ``joint``
            (:func:`~inweights.recipes.feature_resemblance.courses.phase_roles`).
        rho: Number of copies of the similarity premise, at least 1. It has an effect
            only in the tasks ``joint`` and ``two-hop``.

    Returns:
        The trial of the one-layer transformer (``one-layer``), then the trial of the
        GPT (``GPT``).

    Raises:
        ConfigError: ``rho`` is below 1, the task is unknown, the GPT's ``losses`` do
            not contain it, or a value is out of range for a model or its training.
    """
    return [
        experiments.Trial(
            labels={"model": name, **labels},
            world=world,
            model=training.model,
            learner=training.curriculum(course, rho),
        )
        for name, training in ((tasks.ONE_LAYER, one_layer), (tasks.GPT, gpt))
    ]
