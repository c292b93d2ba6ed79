"""Define worlds, measures and comparisons that the recipes of Feature Resemblance share."""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

import inweights as iw
from inweights import experiments
from inweights.experiments.grammar.trial import Probe
from inweights.recipes.feature_resemblance import trainings as tasks
from inweights.recipes.shared.derived import compositions
from inweights.worlds.families.analogy import AnalogicalTwoHop, Analogy

#: How far a similarity may be from the printed one; the GPT here is not the paper's.
NEAR = {tasks.ONE_LAYER: 0.03, tasks.GPT: 0.1}


def measures() -> tuple[Probe, ...]:
    """Return the probes that measure a model at the end of a curriculum.

    Returns:
        :func:`inweights.probes.accuracy` and :func:`inweights.probes.resemblance`.
    """
    return iw.probes.accuracy, iw.probes.resemblance


def world_of(course: str, n: int) -> experiments.WorldConfig:
    """Return the world of a training task.

    Args:
        course: Name of the task, as in
            :func:`~inweights.recipes.feature_resemblance.courses.phase_roles`; it is
            not checked.
        n: Number of tuples (one-hop tasks) or of chains (two-hop tasks).

    Returns:
        For a name that begins with ``two-hop``, an :class:`AnalogicalTwoHop`, with
        identities only for ``two-hop`` itself; otherwise an :class:`Analogy`.

    Raises:
        ConfigError: ``n`` is too small for a world.
    """
    if course.startswith("two-hop"):
        return AnalogicalTwoHop(n=n, identity=course == "two-hop", maps="permutation")
    return Analogy(n=n, maps="permutation")


def last_loss(losses: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the last recorded training loss of every group, as ``loss``.

    Args:
        losses: A row per run and recorded step, with ``step`` and ``loss``.
        by: Columns that name the groups, such as those of a run.

    Returns:
        A row per group: the columns ``by`` and ``loss``, that of the largest step; of
        several rows with this step, the last.
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
        labels: Columns that name the trials.

    Returns:
        The columns ``labels`` and ``seed``, ``cosine`` (mean cosine of the two entities
        of a pair), ``other`` (mean cosine with entities of other pairs) and ``success``
        (accuracy on the conclusions, from 0 to 1).
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
    """Return measured similarities with those predicted in two ways, and the published ones.

    Args:
        table: Measured similarities: a row per run, with ``cosine``.
        foretold: Predicted similarities: a row per run, with ``from_facts`` and
            ``closed_form``, the two predictions of
            :func:`inweights.probes.resemblance.predicted_similarity`.
        published: For each row of the paper, the values of the labels and the printed
            cosine.
        labels: Columns that name the trials.

    Returns:
        Two tables. ``predicted`` has the rows of ``table`` that are predicted, the
        columns of both tables, and the absolute errors of both predictions,
        ``from_facts_error`` and ``closed_form_error``. ``shown`` has a row for each
        similarity, with the labels, ``seed`` (-1 for published values), ``similarity``
        and ``what`` (``measured``, ``published`` or ``predicted from the facts``).
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
    """Return a similarity with a target: the printed value, plus or minus a tolerance.

    Args:
        similarity: The score, a cosine.
        printed: Value that the paper prints.
        tolerance: Distance of the edges of the target from the printed value; by
            default 0.03. The upper edge is at most 1.

    Returns:
        The score with its target, rounded to four digits.

    Raises:
        ConfigError: The target contains all possible values of the score.
    """
    # No cosine is above 1; four digits, as the papers print them.
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
    """Return a trial of a training task for each model, whose name is the label ``model``.

    Args:
        labels: Further labels, by name.
        world: The world.
        one_layer: Settings of the one-layer transformer and its training.
        gpt: Settings of the GPT and its training.
        course: Name of the task, as in
            :func:`~inweights.recipes.feature_resemblance.courses.phase_roles`.
        rho: Number of copies of the similarity premise, at least 1.

    Returns:
        The trial of the one-layer transformer (``one-layer``), then that of the GPT
        (``GPT``).

    Raises:
        ConfigError: ``rho`` is below 1, the task is unknown, or the GPT has no losses
            for it.
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
