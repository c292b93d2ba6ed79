"""Table 1 of Feature Resemblance: every curriculum, with a one-layer transformer and a GPT."""

import polars as pl

import inweights as iw
from inweights.experiments import Judged, Plan, cosine, number, share
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.feature_resemblance import trainings as tasks

LABELS = ("model", "course")

#: Loss, similarity and success in percent, as printed.
PRINTED: dict[tuple[str, str], tuple[str, float, str]] = {
    (tasks.GPT, "joint"): (".0077", 0.995, "100%"),
    (tasks.ONE_LAYER, "joint"): (".001", 0.9202, "100%"),
    (tasks.GPT, "SA"): (".0845", 0.7983, "100%"),
    (tasks.ONE_LAYER, "SA"): (".0024", 0.9689, "100%"),
    (tasks.GPT, "AS"): (".0085", 0.4326, ".7%"),
    (tasks.ONE_LAYER, "AS"): (".0061", 0.0014, "0%"),
    (tasks.GPT, "two-hop"): (".0953", 0.9642, "99.7%"),
    (tasks.GPT, "two-hop without identity"): (".1024", 0.016, "0%"),
    (tasks.ONE_LAYER, "two-hop"): (".075", 0.9132, "100%"),
    (tasks.ONE_LAYER, "two-hop without identity"): (".0676", 0.006, "1.7%"),
}


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``table1.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of tuples of the analogy, and of chains of the two-hop world, at least
            2.
        rho: Number of copies of the similarity premise in the joint curriculum, at
            least 1.
        one_layer: Settings of the one-layer transformer and of its training.
        gpt: Settings of the GPT and of its training.
    """

    n: int = 100
    rho: float = 3.0
    one_layer: tasks.OneLayerTraining = tasks.OneLayerTraining()
    gpt: tasks.GPTTraining = tasks.GPTTraining()


def plan(settings: Settings) -> Plan:
    """Plan training of a one-layer transformer and a GPT with every curriculum, and predictions.

    Args:
        settings: The recipe's settings, such as ``n``, ``rho`` and ``one_layer``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``model`` (one-layer, GPT) and ``course`` (joint, SA,
          AS, two-hop, two-hop without identity).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`) and ``resemblance``
          (:func:`inweights.probes.resemblance`).
        - Computation: ``foretold``
          (:func:`inweights.probes.resemblance.predicted_similarity`), the similarity
          that theory predicts for the one-layer transformer. No model is trained for
          this prediction.

        ``course`` is the order of training, whose facts and phases
        :func:`~.courses.phase_roles` lists.

    Raises:
        ConfigError: ``n`` is below 2, ``rho`` is below 1, ``gpt.losses`` lacks a task,
            or a value is out of range for a model or its training.
    """
    one = settings.one_layer
    rho = settings.rho
    trials = []
    computations = []
    for course in tasks.SUCCEEDS:
        world = fr.world_of(course, settings.n)
        roles = tasks.phase_roles(course, rho)[0]
        labels = {"course": course}
        trials += fr.both_models(
            labels, world, one, settings.gpt, course=course, rho=rho
        )
        computations.append(one.foretold(labels, world, roles, course=course, rho=rho))
    return Plan(trials=trials, measures=fr.measures(), computations=computations)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return measured, predicted and published similarities, and accuracies by role.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``), ``resemblance`` (:func:`inweights.probes.resemblance`:
            ``prompt, layer, depth, cosine, other, contrast``), ``foretold``
            (:func:`inweights.probes.resemblance.predicted_similarity`: ``from_facts,
            closed_form``), and ``losses`` (training losses, as recorded: ``phase, step,
            loss``). All have the columns ``model, course, seed``. The labels are
            ``model`` (one-layer, GPT) and ``course`` (the order of training, explained
            at :func:`plan`: joint, SA, AS, two-hop, two-hop without identity).
            Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``table``: a row per run: ``cosine`` (the mean cosine similarity between the
          states of the two entities of a pair, defined at
          :func:`inweights.probes.resemblance`), ``other`` (the same mean for entities
          of different pairs), ``success`` (accuracy on the conclusions, which are not
          in the training set) and the last training ``loss``. Columns: ``model, course,
          seed, cosine, other, success, loss``.
        - ``predicted``: a row per run of the one-layer transformer, with both
          predictions of the cosine and their absolute errors, as returned by
          :func:`~.common.compared`. Columns: all columns of ``foretold``, plus
          ``cosine, other, success, loss, from_facts_error, closed_form_error``.
        - ``shown``: a row per similarity. ``what`` is ``measured``, ``published`` (in
          the paper; ``seed`` is -1) or ``predicted from the facts``. Columns: ``model,
          course, seed, similarity, what``.
        - ``kept``: a row per run and role of the facts and conclusions, with
          ``accuracy``. Roles have the names used in the figure, such as ``(b, r1) → c``
          or ``the conclusion``. Columns: all columns of ``accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    table = fr.similarities(tables, LABELS)
    table = table.join(
        fr.last_loss(tables["losses"], [*LABELS, "seed"]), on=[*LABELS, "seed"]
    )
    published = [(row, printed) for row, (_, printed, _) in PRINTED.items()]
    role = pl.when(pl.col("part") == "queries").then(pl.lit("the conclusion"))
    return {
        "table": table,
        **fr.compared(table, tables["foretold"], published, LABELS),
        "kept": tables["accuracy"].with_columns(
            role=role.otherwise(pl.col("role").replace(_WORDS))
        ),
    }


_WORDS = {
    "category": "(a, r1) → c",
    "similarity": "(b, r1) → c",
    "attribution": "(a, r2) → d",
    "first_hop": "(a, r1) → b",
    "second_hop": "(b, r2) → c",
    "identity": "(b, r1) → b",
}


similarity = cosine("table", "cosine")
success = share("table", "success")
kept = share("accuracy", "accuracy")
error = number("predicted", "from_facts_error").over("course")
gpt = similarity.at(model=tasks.GPT)

SCORES: dict[str, Judged] = {}
for (model, course), (_, printed, _) in PRINTED.items():
    row = f"{course.replace(' ', '-')}-{model}".lower()
    found, answered = (
        score.at(model=model, course=course) for score in (similarity, success)
    )
    SCORES[f"similarity-{row}"] = fr.near(found, printed, fr.NEAR[model])
    SCORES[f"success-{row}"] = (
        answered >= 0.97 if tasks.SUCCEEDS[course] else answered <= 0.05
    )
SCORES |= {
    "losses-converge": number("table", "loss").over(*LABELS) <= 0.12,
    "order-joint-sa": gpt.at(course="joint") - gpt.at(course="SA") >= 0.05,
    "order-sa-as": gpt.at(course="SA") - gpt.at(course="AS") >= 0.05,
    "predicted-from-facts": error <= 0.02,
    "predicted-closed-form": error.of("closed_form_error") <= 0.02,
    "sa-forgets-one-layer": kept.at(
        model=tasks.ONE_LAYER, course="SA", role="similarity"
    )
    <= 0.5,
    "sa-forgets-gpt": kept.at(model=tasks.GPT, course="SA", role="similarity") <= 0.5,
    "as-forgets-gpt": kept.at(model=tasks.GPT, course="AS", role="attribution") <= 0.5,
    "as-keeps-one-layer": kept.at(
        model=tasks.ONE_LAYER, course="AS", role="attribution"
    )
    >= 0.95,
}
