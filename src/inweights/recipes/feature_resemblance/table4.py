"""Table 4 of Feature Resemblance: the number of copies of the similarity premise (appendix B)."""

import msgspec
import polars as pl

import inweights as iw
from inweights.errors import check_names
from inweights.experiments import Judged, Plan, cosine, number, share
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.feature_resemblance import trainings as tasks

LABELS = ("model", "rho")

#: Similarity, by model and ρ. Our copy of the text lacks the values of ρ; with these
#: values, the one-layer rows are obtained.
PRINTED: dict[tuple[str, float], float] = {
    (tasks.ONE_LAYER, 1.0): 0.6706,
    (tasks.ONE_LAYER, 3.0): 0.9202,
    (tasks.ONE_LAYER, 5.0): 0.9405,
    (tasks.GPT, 1.0): 0.9756,
    (tasks.GPT, 3.0): 0.995,
    (tasks.GPT, 5.0): 0.9979,
}
#: Training loss at which the GPT stops, close to the printed one.
LOSSES = {1.0: 0.0294, 3.0: 0.0077, 5.0: 0.0039}


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``table4.toml``.

    Attributes:
        n: Number of tuples ``(a, b, c, d)`` of the analogy, at least 2.
        rhos: Numbers ``ρ`` of copies of the similarity premise, any of 1, 3 and 5.
        one_layer: Settings of the one-layer transformer and of its training.
        gpt: Settings of the GPT and of its training, which stops at the loss that the
            paper gives for each ``ρ``.

    Raises:
        ConfigError: A value of ``rhos`` is not 1, 3 or 5, or a value has the wrong
            type.
    """

    n: int = 100
    rhos: tuple[float, ...] = (1.0, 3.0, 5.0)
    one_layer: tasks.OneLayerTraining = tasks.OneLayerTraining(mlp=3000)
    gpt: tasks.GPTTraining = tasks.GPTTraining()

    def __post_init__(self) -> None:
        check_names(
            "ρ", [f"{rho:g}" for rho in self.rhos], [f"{rho:g}" for rho in LOSSES]
        )


def plan(settings: Settings) -> Plan:
    """Plan joint training for each number ρ of copies of a premise, and predict similarities.

    Args:
        settings: The recipe's settings, such as ``n``, ``rhos`` and ``one_layer``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``model`` (one-layer, GPT) and ``rho`` (1, 3, 5).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`) and ``resemblance``
          (:func:`inweights.probes.resemblance`).
        - Computation: ``foretold``
          (:func:`inweights.probes.resemblance.predicted_similarity`).

        The world and the training task are those of the joint curriculum: the model is
        trained on all premises (category, similarity, attribution) together, in one
        phase. ``rho`` is the number ρ of copies of the two sentences of the similarity
        premise for each sentence of the attribution. ``foretold`` is the similarity
        that theory predicts for the one-layer transformer; no model is trained for this
        prediction.

    Raises:
        ConfigError: ``n`` is below 2, or a value is out of range for a model or its
            training.
    """
    world = fr.world_of("joint", settings.n)
    one = settings.one_layer
    trials = []
    computations = []
    for rho in settings.rhos:
        gpt = msgspec.structs.replace(settings.gpt, losses={"joint": (LOSSES[rho],)})
        trials += fr.both_models({"rho": rho}, world, one, gpt, course="joint", rho=rho)
        roles = tasks.phase_roles("joint", rho)[0]
        computations.append(
            one.foretold({"rho": rho}, world, roles, course="joint", rho=rho)
        )
    return Plan(trials=trials, measures=fr.measures(), computations=computations)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return measured, predicted and published similarities, and accuracies on the conclusions.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``), ``resemblance`` (:func:`inweights.probes.resemblance`:
            ``prompt, layer, depth, cosine, other, contrast``), and ``foretold``
            (:func:`inweights.probes.resemblance.predicted_similarity`: ``from_facts,
            closed_form``). All have the columns ``model, rho, seed``. The labels are
            ``model`` (one-layer, GPT) and ``rho`` (1, 3, 5). Accuracies and recall are
            fractions from 0 to 1.

    Returns:
        - ``table``: a row per run: ``cosine`` (the mean cosine similarity between the
          states of the two entities of a pair, defined at
          :func:`inweights.probes.resemblance`), ``other`` (the same mean for entities
          of different pairs) and ``success`` (accuracy on the conclusions, which are
          not in the training set). Columns: ``model, rho, seed, cosine, other,
          success``.
        - ``predicted``: a row per run of the one-layer transformer, with both
          predictions of the cosine and their absolute errors, as returned by
          :func:`~.common.compared`. Columns: all columns of ``foretold``, plus
          ``cosine, other, success, from_facts_error, closed_form_error``.
        - ``shown``: a row per similarity. ``what`` is ``measured``, ``published`` (in
          the paper; ``seed`` is -1) or ``predicted from the facts``. Columns: ``model,
          rho, seed, similarity, what``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    table = fr.similarities(tables, LABELS)
    return {
        "table": table,
        **fr.compared(table, tables["foretold"], PRINTED.items(), LABELS),
    }


similarity = cosine("table", "cosine")
success = share("table", "success")
error = number("predicted", "from_facts_error").over("rho")


SCORES: dict[str, Judged] = {}
for (model, rho), printed in PRINTED.items():
    found = similarity.at(model=model, rho=rho)
    SCORES[f"similarity-{model.lower()}-{rho:g}"] = fr.near(
        found, printed, fr.NEAR[model]
    )
for model in (tasks.ONE_LAYER, tasks.GPT):
    one, three, five = (similarity.at(model=model, rho=rho) for rho in (1.0, 3.0, 5.0))
    SCORES[f"grows-{model.lower()}-3"] = three - one >= 0.0
    SCORES[f"grows-{model.lower()}-5"] = five - three >= 0.0
SCORES |= {
    "success": success.over(*LABELS) >= 0.97,
    "predicted-from-facts": error <= 0.02,
    "predicted-closed-form": error.of("closed_form_error") <= 0.02,
}
