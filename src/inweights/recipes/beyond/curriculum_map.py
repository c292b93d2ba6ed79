"""Our experiment: which weight must similarity facts have early for attributions to transfer?"""

from itertools import product

import polars as pl

import inweights as iw
from inweights.config.ranges import NonNegativeFloat
from inweights.errors import check_names
from inweights.experiments import Plan, Trial, number, share
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.feature_resemblance import trainings as tasks

LABELS = ("model", "share", "rehearsed")
COLUMNS = ("success", "similarity", "attribution")


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``curriculum_map.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of tuples ``(a, b, c, d)`` of the analogy
            (:class:`inweights.worlds.Analogy`), at least 2.
        shares: Weights of the facts ``(b, r1) → c`` (the similarity) in phase 1, where
            every other fact has the weight 1. With 0, the curriculum is AS
            (attribution, then similarity). With 1, phase 1 trains on all facts with
            equal weights.
        one_layer: Settings of the one-layer transformer and of its training.
        gpt: Settings of the GPT and of its training. Its phases stop at the training
            losses that ``gpt.losses`` gives for ``AS``.
    """

    n: int = 50
    shares: tuple[NonNegativeFloat, ...] = (0.0, 0.03, 0.1, 0.3, 1.0)
    one_layer: tasks.OneLayerTraining = tasks.OneLayerTraining()
    gpt: tasks.GPTTraining = tasks.GPTTraining()


def parts(told: float, *, rehearsed: bool) -> tuple[dict[str, float], dict[str, float]]:
    """Return the roles of the facts used for training in each of two phases, with their weights.

    Args:
        told: Weight of the similarity facts in the first phase. If it is not above 0,
            they are not used in this phase.
        rehearsed: Whether the attribution facts are also used in the second phase.

    Returns:
        Two mappings, for the first and the second phase, from the name of each role to
        its weight.

    Example:
        >>> parts(0.1, rehearsed=True)
        ({'category': 1.0, 'attribution': 1.0, 'similarity': 0.1}, {'similarity': 1.0, \
'attribution': 1.0})
    """
    first = {"category": 1.0, "attribution": 1.0}
    late = {"similarity": 1.0}
    return (
        first | ({"similarity": told} if told > 0 else {}),
        late | ({"attribution": 1.0} if rehearsed else {}),
    )


def plan(settings: Settings) -> Plan:
    """Plan training of a one-layer transformer and a GPT for every weight of the similarity facts.

    Args:
        settings: The recipe's settings, such as ``n``, ``shares`` and ``one_layer``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``model`` (one-layer, GPT), ``share`` (weight of the
          similarity facts in phase 1: 0, 0.03, 0.1, 0.3, 1), and ``rehearsed``
          (Boolean: whether phase 2 also trains on the attribution).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`) and ``resemblance``
          (:func:`inweights.probes.resemblance`).
        - Computation: ``foretold``
          (:func:`inweights.probes.resemblance.predicted_similarity`), the similarity
          that theory predicts for the one-layer transformer, without training.

    Raises:
        ConfigError: ``n`` is below 2, ``gpt.losses`` does not contain ``AS``, or a
            value is out of range for a model or its training.
    """
    one = settings.one_layer
    gpt = settings.gpt
    check_names("course of gpt.losses", ["AS"], gpt.losses)
    world = fr.world_of("AS", settings.n)
    trials = []
    for told, rehearsed in product(settings.shares, (False, True)):
        phases = parts(told, rehearsed=rehearsed)
        labels = {"share": told, "rehearsed": rehearsed}
        ways = (
            (
                tasks.ONE_LAYER,
                one.model,
                one.phases(phases, one.late.get("AS", one.mlp)),
            ),
            (tasks.GPT, gpt.model, gpt.phases(phases, gpt.losses["AS"])),
        )
        trials += [
            Trial(
                labels={"model": name, **labels},
                world=world,
                model=model,
                learner=learner,
            )
            for name, model, learner in ways
        ]
    return Plan(
        trials=trials,
        computations=[
            one.foretold({"share": told}, world, parts(told, rehearsed=False)[0])
            for told in settings.shares
        ],
        measures=fr.measures(),
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return success, similarity, recall of the attribution, and the predicted similarity.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`:
            ``rehearsed, part, role, distribution, statements, accuracy, accuracy_among,
            chance, loss, right_answers``), ``resemblance``
            (:func:`inweights.probes.resemblance`: ``rehearsed, prompt, layer, depth,
            cosine, other, contrast``), and ``foretold``
            (:func:`inweights.probes.resemblance.predicted_similarity`: ``from_facts``).
            All have the columns ``model, share, seed``. The labels are ``model``
            (one-layer, GPT), ``share`` (weight of the similarity facts in phase 1: 0,
            0.03, 0.1, 0.3, 1), and ``rehearsed`` (Boolean: whether phase 2 also trains
            on the attribution). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``table``: a row per run: ``cosine`` (the mean cosine similarity between the
          states of the two entities of a pair, defined at
          :func:`inweights.probes.resemblance`), ``other`` (the same mean for entities
          of different pairs), ``success`` (accuracy on the conclusions, which are held
          out), ``attribution`` (accuracy on the attribution facts), and for the
          one-layer transformer the prediction ``from_facts`` and its absolute ``error``
          (null for the GPT); ``phase_2`` is a string that names the facts that phase 2
          trains on. Columns: all columns of ``foretold``, plus ``rehearsed, cosine,
          other, success, attribution, error, phase_2``.
        - ``predicted``: the rows of ``table`` that have a prediction. Columns: as in
          ``table``.
        - ``shown``: a row per run and value of ``column`` (``success``,
          ``attribution``, or ``similarity`` for the column ``cosine``), with its
          ``value``; ``panel`` names the model and the column. Columns: ``model, share,
          rehearsed, seed, phase_2, column, value, panel``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    keys = [*LABELS, "seed"]
    kept = tables["accuracy"].filter(pl.col("role") == "attribution")
    table = (
        fr.similarities(tables, LABELS)
        .join(kept.select(*keys, attribution="accuracy"), on=keys)
        .join(tables["foretold"], on=["model", "share", "seed"], how="left")
        .with_columns(
            error=(pl.col("cosine") - pl.col("from_facts")).abs(),
            phase_2=pl.when("rehearsed")
            .then(pl.lit("attribution rehearsed in phase 2"))
            .otherwise(pl.lit("similarity alone in phase 2")),
        )
    )
    shown = table.rename({"cosine": "similarity"}).unpivot(
        COLUMNS, index=[*keys, "phase_2"], variable_name="column"
    )
    return {
        "table": table,
        "predicted": table.filter(pl.col("from_facts").is_not_null()),
        "shown": shown.with_columns(panel=pl.format("{}: {}", "model", "column")),
    }


success = share("table", "success")
one_layer = success.at(model=tasks.ONE_LAYER).over("rehearsed")
forgetful, rehearsing = (
    success.at(model=tasks.GPT, rehearsed=again) for again in (False, True)
)

SCORES = {
    "similarity-predicted": number("predicted", "error").over("share", "rehearsed")
    <= 0.02,
    "one-layer-needs-it-first": one_layer.at(share=0.0) <= 0.1,
    "one-layer-with-it": one_layer.at(share=1.0) >= 0.9,
    "one-layer-little-is-too-little": one_layer.at(share=0.1) <= 0.5,
    "gpt-forgets": forgetful.of("attribution").over("share") <= 0.2,
    "gpt-fails-by-forgetting": forgetful.over("share") <= 0.05,
    "gpt-reversed-but-rehearsed": rehearsing.at(share=0.0) >= 0.33,
    "gpt-little-is-enough": rehearsing.at(share=0.1) >= 0.95,
}
