"""Search for settings that reproduce Table 3, among those missing in our copy of the paper."""

from collections.abc import Iterator
from itertools import product

import polars as pl
from msgspec.structs import replace

import inweights as iw
from inweights.experiments import Judged, Plan, Trial, number
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.feature_resemblance import table3
from inweights.recipes.feature_resemblance import trainings as tasks

#: Training losses printed in Table 3, at which the last phase of each course stops.
LOSSES = {"joint": 0.0133, "SA": 0.0198, "AS": 0.0138, "AS-pair": 0.0138}
#: Largest success of a course that fails, and smallest success of one that succeeds.
FAILS = 0.05
SUCCEEDS = 0.97
#: Smallest difference between two similarities that counts as the printed order.
APART = 0.05
#: The label ``variant`` of joint training, and of the courses with two phases.
_COPIES = "{:g} copies"
_FIRST = "first phase to a loss of {:g}"
_LABELS = ("course", "std", "kappa", "hidden", "variant")
_SHARED = ("std", "kappa", "hidden", "seed")
_SETTING = (*_SHARED, "copies", "first")


class Grid(iw.Config):
    """Values of settings that are missing from our copy of appendix A; all combinations are used.

    Attributes:
        stds: Initial scales ``σ0`` (standard deviation of all matrices).
        kappas: Scales ``κ0`` by which the logits are multiplied.
        hidden: Numbers ``m`` of neurons of the MLP for each label.
        copies: Numbers ``ρ`` of copies of the similarity premise in joint training.
        first: Training losses at which the first of two phases stops.
    """

    stds: tuple[float, ...] = (0.0045, 0.01)
    kappas: tuple[float, ...] = (100.0, 300.0)
    hidden: tuple[int, ...] = (5, 10)
    copies: tuple[float, ...] = (1.0, 10.0)
    first: tuple[float, ...] = (1.0, 0.015)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``table3_grid.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of tuples ``(a, b, c, d)`` of the analogy, at least 2.
        training: Settings of the one-layer transformer and of its training.
        pace: Product of learning rate and ``κ0``, above 0; it is the same in all runs.
        grid: Values of the settings that are varied.
    """

    n: int = 100
    training: tasks.EndToEndTraining = tasks.EndToEndTraining()
    pace: float = 30.0
    grid: Grid = Grid()


def plan(settings: Settings) -> Plan:
    """Plan training under joint, SA and two interpretations of AS, for every setting of the grid.

    Args:
        settings: The recipe's settings, such as ``n``, ``training`` and ``grid``;
            :class:`Settings` describes each.

    Returns:
        The plan.

        - Labels of the trials: ``course`` (the order of training, see
          :func:`~.courses.phase_roles`: joint, SA, AS, AS-pair), ``std`` (``σ0``),
          ``kappa`` (``κ0``), ``hidden`` (``m``), and ``variant`` (by default, for
          joint: ``1 copies``, ``10 copies``; for the others: ``first phase to a loss of
          1``, ``first phase to a loss of 0.015``).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`) and ``resemblance``
          (:func:`inweights.probes.resemblance`).

    Raises:
        ConfigError: ``n`` is below 2, or a value is out of range.
    """
    grid = settings.grid
    trials = []
    for std, kappa, hidden in product(grid.stds, grid.kappas, grid.hidden):
        usual = settings.training
        model = replace(
            usual.model,
            kappa=kappa,
            hidden=hidden,
            init=replace(usual.model.init, std=std),
        )
        training = replace(usual, model=model, rate=settings.pace / kappa)
        for course, variant, learner in _courses(training, grid):
            trials.append(
                Trial(
                    labels={
                        "course": course,
                        "std": std,
                        "kappa": kappa,
                        "hidden": hidden,
                        "variant": variant,
                    },
                    world=fr.world_of(course, settings.n),
                    model=model,
                    learner=learner,
                )
            )
    return Plan(trials=trials, measures=fr.measures())


def _courses(
    training: tasks.EndToEndTraining, grid: Grid
) -> Iterator[tuple[str, str, iw.Curriculum]]:
    """Yield each course with the label of its variant and its curriculum."""
    for copies in grid.copies:
        yield "joint", _COPIES.format(copies), _stopped(training, "joint", copies)
    for first, course in product(grid.first, ("SA", "AS", "AS-pair")):
        yield course, _FIRST.format(first), _stopped(training, course, 1.0, first)


def _stopped(
    training: tasks.EndToEndTraining, course: str, copies: float, *first: float
) -> iw.Curriculum:
    """Return the curriculum of a course, whose last phase stops at the printed loss."""
    usual = training.curriculum(course, copies)
    losses = (*first, LOSSES[course])
    return replace(
        usual,
        phases=tuple(
            replace(phase, stop=replace(phase.stop, loss_below=loss))
            for phase, loss in zip(usual.phases, losses, strict=True)
        ),
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return how many settings reproduce each printed number, and several numbers at once.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``) and ``resemblance`` (:func:`inweights.probes.resemblance`:
            ``prompt, layer, depth, cosine, other, contrast``). Both have the columns
            ``course, std, kappa, hidden, variant, seed``. The labels are ``course``
            (joint, SA, AS, AS-pair), ``std`` (``σ0``: 0.0045, 0.01), ``kappa`` (``κ0``:
            100, 300), ``hidden`` (``m``: 5, 10), and ``variant`` (number of copies, or
            loss at which the first phase ends). Accuracies are fractions from 0 to 1.

    Returns:
        - ``table``: a row per run: ``cosine`` (mean cosine of the entities of a pair),
          ``other`` (of entities of different pairs) and ``success`` (accuracy on the
          conclusions). Columns: the labels, ``seed, cosine, other, success``.
        - ``shown``: the rows of ``table`` for the figures; ``scale`` is ``σ0 √κ0``,
          ``setting`` states the number of neurons and the variant. Columns: ``course,
          scale, setting, seed, cosine, success``.
        - ``given``: a row per printed number (``printed``, such as ``SA similarity``)
          and seed, with ``settings``, the number of settings that reproduce it: a
          similarity within 0.03, or a success of at least .97 (joint, SA) or at most
          .05 (AS). Columns: ``printed, seed, settings``.
        - ``where``: a row per setting, printed number and seed; ``given`` is 1 if the
          number is reproduced, else 0. Columns: ``setting, printed, seed, given``.
        - ``together``: a row per ``reading`` of AS (``AS`` or ``AS-pair``) and seed:
          ``most``, the largest number of printed values that one setting reproduces;
          ``alike``, the number of settings that reproduce all three similarities;
          ``pattern``, the number of settings that reproduce all three successes and
          whose similarity decreases by at least .05 from joint to SA and from SA to AS;
          and ``gap``, the largest difference in a setting between the similarities of
          joint training and AS. Columns: ``reading, seed, most, alike, pattern, gap``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    table = fr.similarities(tables, _LABELS)
    cells = _cells(table)
    hits = pl.concat(
        [_hits(cells, course) for course in ("joint", "SA", "AS", "AS-pair")]
    )
    given = hits.group_by("printed", "seed", maintain_order=True).agg(
        settings=pl.col("given").sum()
    )
    together = pl.concat([_together(cells, hits, as_) for as_ in ("AS", "AS-pair")])
    shown = table.select(
        "course",
        "seed",
        "cosine",
        "success",
        scale=(pl.col("std") * pl.col("kappa").sqrt()).round(3),
        setting=pl.format("m {}, {}", "hidden", "variant"),
    )
    where = hits.select("printed", "seed", "given", setting=_setting_text())
    return {
        "table": table,
        "shown": shown.sort("scale", maintain_order=True),
        "given": given,
        "where": where,
        "together": together,
    }


def _cells(table: pl.DataFrame) -> pl.DataFrame:
    """Return a row per setting and seed: similarity and success of every course."""
    # Joint training depends on ``copies``; all other courses depend on ``first``.
    joint = _one_course(table, "joint").rename({"variant": "copies"})
    cells = joint
    for course in ("SA", "AS", "AS-pair"):
        rows = _one_course(table, course).rename({"variant": "first"})
        on = [*_SHARED, "first"] if "first" in cells.columns else list(_SHARED)
        cells = cells.join(rows, on=on, maintain_order="left")
    return cells


def _one_course(table: pl.DataFrame, course: str) -> pl.DataFrame:
    return table.filter(pl.col("course") == course).select(
        *_SHARED,
        "variant",
        pl.col("cosine").alias(f"{course} similarity"),
        pl.col("success").alias(f"{course} success"),
    )


def _hits(cells: pl.DataFrame, course: str) -> pl.DataFrame:
    """Return whether each setting reproduces the printed similarity and success of a course."""
    printed = table3.PRINTED["AS" if course == "AS-pair" else course][0]
    similarity, success = f"{course} similarity", f"{course} success"
    reached = (
        pl.col(success) >= SUCCEEDS
        if tasks.SUCCEEDS[course.removesuffix("-pair")]
        else pl.col(success) <= FAILS
    )
    found = cells.select(
        *_SETTING,
        ((pl.col(similarity) - printed).abs() <= table3.NEAR).alias(similarity),
        reached.alias(success),
    )
    return found.unpivot(
        [similarity, success],
        index=list(_SETTING),
        variable_name="printed",
        value_name="given",
    ).with_columns(pl.col("given").cast(pl.Int64))


def _together(cells: pl.DataFrame, hits: pl.DataFrame, reading: str) -> pl.DataFrame:
    """Return how many printed numbers one setting reproduces, for an interpretation of AS."""
    courses = ("joint", "SA", reading)
    similarities = [f"{course} similarity" for course in courses]
    successes = [f"{course} success" for course in courses]
    counted = hits.group_by(*_SETTING, maintain_order=True).agg(
        alike=pl.col("given").filter(pl.col("printed").is_in(similarities)).sum(),
        succeeded=pl.col("given").filter(pl.col("printed").is_in(successes)).sum(),
    )
    joint, sa, as_ = (pl.col(name) for name in similarities)
    ordered = (joint - sa >= APART) & (sa - as_ >= APART)
    both = counted.join(
        cells.select(*_SETTING, ordered=ordered, above=joint - as_),
        on=list(_SETTING),
        maintain_order="left",
    )
    return both.group_by("seed", maintain_order=True).agg(
        pl.lit(reading).alias("reading"),
        most=(pl.col("alike") + pl.col("succeeded")).max(),
        alike=(pl.col("alike") == len(courses)).sum(),
        pattern=((pl.col("succeeded") == len(courses)) & pl.col("ordered")).sum(),
        gap=pl.col("above").max(),
    )


def _setting_text() -> pl.Expr:
    return pl.format(
        "σ0 {}, κ0 {}, m {}, {}, {}", "std", "kappa", "hidden", "copies", "first"
    )


def _settings(printed: str) -> iw.experiments.Score:
    return number("given", "settings", printed=printed)


SCORES: dict[str, Judged] = {
    "joint-similarity": _settings("joint similarity") >= 0.5,
    "joint-success": _settings("joint success") >= 0.5,
    "sa-similarity": _settings("SA similarity") >= 0.5,
    "sa-success": _settings("SA success") >= 0.5,
    "as-pair-similarity": _settings("AS-pair similarity") >= 0.5,
    "as-pair-success": _settings("AS-pair success") >= 0.5,
    "as-similarity": _settings("AS similarity") <= 0.5,
    "as-success": _settings("AS success") <= 0.5,
    "pattern": number("together", "pattern", reading="AS-pair") >= 0.5,
    "no-setting-gives-the-similarities": (
        number("together", "alike").over("reading") <= 0.5
    ),
    "no-setting-gives-all": number("together", "most").over("reading") <= 5.5,
    "gap": number("together", "gap").over("reading") <= 0.4,
}
