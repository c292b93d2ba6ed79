"""Late training on the similarity premise (AS), in every interpretation of the paper's text."""

from itertools import product

import polars as pl
from msgspec.structs import replace

import inweights as iw
from inweights.errors import check_names
from inweights.experiments import Judged, Plan, Trial, cosine, number, share
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.feature_resemblance import table1, table3
from inweights.recipes.feature_resemblance import trainings as tasks

LABELS = ("model", "course", "std")
#: Label of the transformer of Table 3: one layer with ReLU, all of it trained at once.
END_TO_END = "end-to-end"
#: Largest success at which AS fails as in the paper, and smallest success at which
#: another course succeeds.
FAILS = 0.05
SUCCEEDS = 0.97


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``late_similarity.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of tuples ``(a, b, c, d)`` of the analogy, at least 2.
        rho: Number of copies of the similarity premise in joint training, at least 1.
        late: Number of updates of the second phase of the one-layer transformer that is
            trained layer by layer.
        one_layer: Settings of the one-layer transformer of Table 1 and of its training.
        gpt: Settings of the GPT, with the initialisation of GPT-2, and of its training.
        end_to_end: Settings of the one-layer transformer of Table 3 and of its
            training.
        stds: Initial scales ``σ0`` (standard deviations of all matrices) of the
            transformer that is trained end to end, above 0.
    """

    n: int = 100
    rho: float = 3.0
    late: int = 2000
    one_layer: tasks.OneLayerTraining = tasks.OneLayerTraining()
    gpt: tasks.GPTTraining = tasks.GPTTraining(
        model=iw.GPTConfig(
            layers=3,
            width=96,
            heads=4,
            tied=False,
            depth_scaled=True,
        )
    )
    end_to_end: tasks.EndToEndTraining = tasks.EndToEndTraining()
    stds: tuple[float, ...] = (0.0025, 0.0075, 0.01)


def plan(settings: Settings) -> Plan:
    """Plan training under each interpretation of the curriculum AS, and at each initial scale.

    Args:
        settings: The recipe's settings, such as ``n``, ``rho`` and ``late``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``model`` (``one-layer`` and ``GPT`` as in Table 1;
          ``end-to-end``, the one-layer transformer of Table 3), ``course`` (AS,
          AS-pair, AS-target, joint, SA), and ``std`` (initial scale: 0.001, 0.02,
          0.0025, 0.0075, 0.01).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`) and ``resemblance``
          (:func:`inweights.probes.resemblance`).

        ``course`` is the order of training, whose facts and phases
        :func:`~.courses.phase_roles` lists.

    Raises:
        ConfigError: ``n`` is below 2, ``rho`` is below 1, ``late`` is negative,
            ``gpt.losses`` does not contain ``AS``, or a value is out of range for a
            model or its training.
    """
    world = fr.world_of("AS", settings.n)
    one_layer = settings.one_layer
    gpt = settings.gpt
    check_names("course of gpt.losses", ["AS"], gpt.losses)
    trials = []
    for reading in tasks.READINGS:
        parts = tasks.phase_roles(reading)
        trials += [
            Trial(
                labels={
                    "model": tasks.ONE_LAYER,
                    "course": reading,
                    "std": one_layer.model.init.std,
                },
                world=world,
                model=one_layer.model,
                learner=one_layer.phases(parts, settings.late),
            ),
            Trial(
                labels={
                    "model": tasks.GPT,
                    "course": reading,
                    "std": gpt.model.init.std,
                },
                world=world,
                model=gpt.model,
                learner=gpt.phases(parts, gpt.losses["AS"]),
            ),
        ]
    for std, course in product(settings.stds, ("joint", "SA", *tasks.READINGS)):
        usual = settings.end_to_end
        model = replace(usual.model, init=iw.Init(std=std))
        trials.append(
            Trial(
                labels={"model": END_TO_END, "course": course, "std": std},
                world=world,
                model=model,
                learner=replace(usual, model=model).curriculum(course, settings.rho),
            )
        )
    return Plan(trials=trials, measures=fr.measures())


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return how many printed values each interpretation of AS and each initial scale reproduces.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``) and ``resemblance`` (:func:`inweights.probes.resemblance`:
            ``prompt, layer, depth, cosine, other, contrast``). Both have the columns
            ``model, course, std, seed``. The labels are ``model`` (``one-layer`` and
            ``GPT`` as in Table 1; ``end-to-end``, the one-layer transformer of Table
            3), ``course`` (the order of training, explained at :func:`plan`: AS,
            AS-pair, AS-target, joint, SA), and ``std`` (initial scale: 0.001, 0.02,
            0.0025, 0.0075, 0.01). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``table``: a row per run: ``cosine`` (the mean cosine similarity between the
          states of the two entities of a pair, defined at
          :func:`inweights.probes.resemblance`), ``other`` (the same mean for entities
          of different pairs) and ``success`` (accuracy on the conclusions, which are
          not in the training set). Columns: ``model, course, std, seed, cosine, other,
          success``.
        - ``shown``: the rows of ``table``, with ``start``, a string that names the
          model and the initial scale, for the figure. Columns: ``model, course, std,
          seed, cosine, success, start``.
        - ``given``: a row per seed, with ``most``, the largest number of the six
          printed values for AS (similarity and success of three models) that one
          interpretation of AS reproduces. For the end-to-end model, the initial scale
          that reproduces most of its values is used. Columns: ``seed, most``.
        - ``starts``: a row per interpretation of AS (``course``) and seed, with
          ``matching``, the number of initial scales at which the end-to-end model
          reproduces all three printed similarities to within 0.03. Columns: ``course,
          seed, matching``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    table = fr.similarities(tables, LABELS)
    printed = pl.DataFrame(_printed_rows(), orient="row", schema=_PRINTED_SCHEMA)
    near = table.with_columns(
        row=pl.col("course").replace(dict.fromkeys(tasks.READINGS, "AS"))
    ).join(printed, on=["model", "row"], maintain_order="left")
    near = near.with_columns(
        similar=(pl.col("cosine") - pl.col("similarity")).abs() <= pl.col("tolerance"),
        succeeded=pl.when(pl.col("row") == "AS")
        .then(pl.col("success") <= FAILS)
        .otherwise(pl.col("success") >= SUCCEEDS),
    )
    shown = near.select(
        *LABELS,
        "seed",
        "cosine",
        "success",
        start=pl.format("{}, σ0 {}", "model", "std"),
    )
    return {
        "table": table,
        "shown": shown,
        "given": _given(near),
        "starts": _starts(near),
    }


_PRINTED_SCHEMA = ("model", "row", "similarity", "tolerance")


def _printed_rows() -> list[tuple[str, str, float, float]]:
    """Return the printed similarity of each trained row, and its tolerance."""
    rows = [
        (model, "AS", table1.PRINTED[model, "AS"][1], fr.NEAR[model])
        for model in (tasks.ONE_LAYER, tasks.GPT)
    ]
    rows += [
        (END_TO_END, row, table3.PRINTED[row][0], table3.NEAR) for row in table3.PRINTED
    ]
    return rows


def _given(near: pl.DataFrame) -> pl.DataFrame:
    """Return how many of the six printed numbers of AS the best reading reproduces, by seed.

    The six numbers are similarity and success of three models. For the model with ReLU,
    the initial scale that reproduces most of its numbers is used.
    """
    counted = near.filter(pl.col("row") == "AS").with_columns(
        hits=pl.col("similar").cast(pl.Int64) + pl.col("succeeded").cast(pl.Int64)
    )
    best = counted.group_by("course", "model", "seed", maintain_order=True).agg(
        pl.col("hits").max()
    )
    by_reading = best.group_by("course", "seed", maintain_order=True).agg(
        pl.col("hits").sum()
    )
    return by_reading.group_by("seed", maintain_order=True).agg(
        most=pl.col("hits").max()
    )


def _starts(near: pl.DataFrame) -> pl.DataFrame:
    """Return how many initial scales reproduce all similarities of Table 3, by reading."""
    rows = near.filter(pl.col("model") == END_TO_END)
    others = rows.filter(pl.col("row") != "AS").group_by(
        "std", "seed", maintain_order=True
    )
    every = others.agg(others=pl.col("similar").all())
    readings = rows.filter(pl.col("row") == "AS").join(every, on=["std", "seed"])
    return readings.group_by("course", "seed", maintain_order=True).agg(
        matching=(pl.col("similar") & pl.col("others")).sum()
    )


similarity = cosine("table", "cosine")
success = share("table", "success")
PRINTED_AS = table3.PRINTED["AS"][0]


def _at(score: iw.experiments.Score, course: str, std: float) -> iw.experiments.Score:
    return score.at(model=END_TO_END, course=course, std=std)


unlike = similarity.at(model=tasks.ONE_LAYER).over("course")
failed = success.at(model=tasks.ONE_LAYER).over("course")
gpt_as = table1.PRINTED[tasks.GPT, "AS"][1]

SCORES: dict[str, Judged] = {
    "one-layer-similarity": fr.near(unlike, table1.PRINTED[tasks.ONE_LAYER, "AS"][1]),
    "one-layer-success": failed <= FAILS,
    "gpt-success": success.at(model=tasks.GPT).over("course") <= FAILS,
}
for reading in tasks.READINGS:
    found = similarity.at(model=tasks.GPT, course=reading)
    SCORES[f"gpt-similarity-{reading.lower()}"] = fr.near(
        found, gpt_as, fr.NEAR[tasks.GPT]
    )
    over_starts = success.at(model=END_TO_END, course=reading)
    if reading != "AS-pair":
        fails = reading == "AS-target"
        over = over_starts.over("std")
        SCORES[f"success-{reading.lower()}"] = over <= FAILS if fails else over >= 0.95
for std in (0.0025, 0.0075, 0.01):
    short = f"{std:g}".replace("0.", "")
    SCORES[f"success-as-pair-{short}"] = _at(success, "AS-pair", std) <= FAILS
    SCORES[f"similarity-as-pair-{short}"] = fr.near(
        _at(similarity, "AS-pair", std), PRINTED_AS
    )
SCORES |= {
    "similarity-as-target": fr.near(
        similarity.at(model=END_TO_END, course="AS-target").over("std"), PRINTED_AS
    ),
    "success-joint-0075": _at(success, "joint", 0.0075) >= SUCCEEDS,
    "success-sa-0075": _at(success, "SA", 0.0075) >= SUCCEEDS,
    "similarity-joint-0075": fr.near(
        _at(similarity, "joint", 0.0075), table3.PRINTED["joint"][0]
    ),
    "similarity-sa-0075": fr.near(
        _at(similarity, "SA", 0.0075), table3.PRINTED["SA"][0]
    ),
    "order-joint-sa-0075": _at(similarity, "joint", 0.0075)
    - _at(similarity, "SA", 0.0075)
    >= 0.05,
    "order-sa-as-pair-0075": _at(similarity, "SA", 0.0075)
    - _at(similarity, "AS-pair", 0.0075)
    >= 0.05,
    "no-start-gives-table-3": number("starts", "matching").over("course") <= 0.5,
    "no-reading-gives-all": number("given", "most") <= 5.5,
}
