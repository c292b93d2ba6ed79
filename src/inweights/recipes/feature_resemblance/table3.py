"""Table 3 of Feature Resemblance: a one-layer transformer with ReLU, trained end to end."""

from itertools import product

import polars as pl
from msgspec.structs import replace

import inweights as iw
from inweights.experiments import Judged, Plan, Trial, cosine, number, share
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.feature_resemblance import trainings as tasks

#: Similarity and success, as printed. The printed losses are .0133, .0198 and .0138.
PRINTED: dict[str, tuple[float, str]] = {
    "joint": (0.9413, "100%"),
    "SA": (0.7116, "100%"),
    "AS": (0.4367, ".67%"),
}
#: Label of the setting with which all three courses are trained. All other labels are
#: those of the grid.
TABLE = "as in the table"
#: Largest success at which AS counts as failed, and largest difference from its printed
#: similarity.
FAILED = 0.05
NEAR = 0.03


class Grid(iw.Config):
    """Values of settings from appendix A that are missing from our copy of the text.

    A model is trained with every combination. A value of the wrong type raises a
    ``ConfigError``; ranges are checked when the config is used.

    Attributes:
        stds: Initial scales ``σ0`` (standard deviation of all matrices).
        rates: Learning rates ``η``.
        hidden: Numbers ``m`` of neurons of the MLP for each label.
    """

    stds: tuple[float, ...] = (1e-4, 1e-3, 1e-2)
    rates: tuple[float, ...] = (0.03, 0.3)
    hidden: tuple[int, ...] = (5, 20)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``table3.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of tuples ``(a, b, c, d)`` of the analogy, at least 2.
        rho: Number of copies of the similarity premise in joint training, at least 1.
        training: Settings of the one-layer transformer and of its training.
        grid: Additional settings with which a model is trained under the curriculum AS.
    """

    n: int = 100
    rho: float = 3.0
    training: tasks.EndToEndTraining = tasks.EndToEndTraining()
    grid: Grid = Grid()


def plan(settings: Settings) -> Plan:
    """Plan training under three curricula, and under AS at every setting of the grid.

    All parameters are trained in every phase.

    Args:
        settings: The recipe's settings, such as ``n``, ``rho`` and ``training``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``course`` (joint, SA, AS) and ``setting`` (``as in the
          table`` or, for settings of the grid, a string such as ``σ0 0.001, η 0.3, m
          5``).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`) and ``resemblance``
          (:func:`inweights.probes.resemblance`).

        ``course`` is the order of training, whose facts and phases
        :func:`~.courses.phase_roles` lists.

    Raises:
        ConfigError: ``n`` is below 2, ``rho`` is below 1, or a value is out of range
            for the model or its training.
    """
    usual = settings.training
    trials = [_trial(settings, course, usual) for course in PRINTED]
    grid = settings.grid
    for std, rate, hidden in product(grid.stds, grid.rates, grid.hidden):
        model = replace(
            usual.model, hidden=hidden, init=replace(usual.model.init, std=std)
        )
        changed = replace(usual, model=model, rate=rate)
        trials.append(
            _trial(settings, "AS", changed, f"σ0 {std:g}, η {rate:g}, m {hidden}")
        )
    return Plan(trials=trials, measures=fr.measures())


def _trial(
    settings: Settings,
    course: str,
    training: tasks.EndToEndTraining,
    setting: str = TABLE,
) -> Trial:
    return Trial(
        labels={"course": course, "setting": setting},
        world=fr.world_of(course, settings.n),
        model=training.model,
        learner=training.curriculum(course, settings.rho),
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return measured and published values, and the results for each setting of the grid.

    Args:
        tables: The tables that result from :func:`plan`, by name: ``accuracy``
            (:func:`inweights.probes.accuracy`: ``part, role, distribution, statements,
            accuracy, accuracy_among, chance, loss, right_answers``) and ``resemblance``
            (:func:`inweights.probes.resemblance`: ``prompt, layer, depth, cosine,
            other, contrast``). Both have the columns ``course, setting, seed``. The
            labels are ``course`` (the order of training, explained at :func:`plan`:
            joint, SA, AS) and ``setting`` (``as in the table`` or, for settings of the
            grid, a string such as ``σ0 0.001, η 0.3, m 5``). Accuracies and recall are
            fractions from 0 to 1.

    Returns:
        - ``table``: a row per course and seed of the setting ``as in the table``:
          ``cosine`` (the mean cosine similarity between the states of the two entities
          of a pair, defined at :func:`inweights.probes.resemblance`), ``other`` (the
          same mean for entities of different pairs) and ``success`` (accuracy on the
          conclusions, which are not in the training set). Columns: ``course, seed,
          cosine, other, success``.
        - ``shown``: a row per course, seed, ``what`` (``measured``, or ``published``
          with ``seed`` -1) and ``column`` (``similarity`` or ``success``), with its
          ``value``. Columns: ``course, seed, what, column, value``.
        - ``grid``: a row per setting, seed and value of ``column`` (``cosine`` or
          ``success``), with its ``value``, for the course AS, including the setting
          ``as in the table``. Columns: ``setting, seed, column, value``.
        - ``extremes``: a row per seed: ``least_success``, the smallest success of AS
          over all settings, and ``matching``, the number of settings whose similarity
          is within 0.03 of the printed one and whose success is at most 0.05. Columns:
          ``seed, least_success, matching``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    every = fr.similarities(tables, ["course", "setting"])
    table = every.filter(pl.col("setting") == TABLE).drop("setting")
    grid = every.filter(pl.col("course") == "AS")
    printed_cosine = PRINTED["AS"][0]
    near = (pl.col("cosine") - printed_cosine).abs() <= NEAR
    # Both in one run: similarity as printed, and success as low as printed.
    as_printed = near & (pl.col("success") <= FAILED)
    measured = table.select(
        "course", "seed", "success", similarity="cosine", what=pl.lit("measured")
    )
    printed = [
        (course, -1, float(success.rstrip("%")) / 100, alike, "published")
        for course, (alike, success) in PRINTED.items()
    ]
    both = pl.concat(
        [measured, pl.DataFrame(printed, schema=measured.columns, orient="row")],
        how="vertical_relaxed",
    )
    shown = both.unpivot(
        ["similarity", "success"],
        index=["course", "seed", "what"],
        variable_name="column",
    )
    extremes = grid.group_by("seed", maintain_order=True).agg(
        least_success=pl.col("success").min(), matching=as_printed.sum()
    )
    cells = grid.unpivot(
        ["cosine", "success"], index=["setting", "seed"], variable_name="column"
    )
    return {"table": table, "shown": shown, "grid": cells, "extremes": extremes}


similarity = cosine("table", "cosine")
success = share("table", "success")


SCORES: dict[str, Judged] = {}
for course, (printed, _) in PRINTED.items():
    answered = success.at(course=course)
    SCORES[f"similarity-{course.lower()}"] = fr.near(
        similarity.at(course=course), printed
    )
    SCORES[f"success-{course.lower()}"] = (
        answered >= 0.97 if tasks.SUCCEEDS[course] else answered <= 0.05
    )
SCORES["grid-as-succeeds"] = share("extremes", "least_success") >= 0.2
SCORES["grid-has-no-match"] = number("extremes", "matching") <= 0.5
for one, other in (("joint", "SA"), ("SA", "AS")):
    closer = similarity.at(course=one) - similarity.at(course=other)
    SCORES[f"order-{one.lower()}-{other.lower()}"] = closer >= 0.05
