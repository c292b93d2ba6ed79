"""Lemmas of Feature Resemblance about initialisation and convergence, and rates of convergence."""

from functools import partial
from itertools import product
from typing import Any

import polars as pl
from msgspec.structs import replace

import inweights as iw
from inweights import experiments
from inweights.config.ranges import PositiveFloat, PositiveInt, UnitFloat
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.feature_resemblance import trainings as tasks

#: Place in the paper where each phase of stage 2 is shown to converge. Two-hop training
#: with identities corresponds to the joint course.
CONVERGES = {
    ("joint", 1): "Lemma 7",
    ("SA", 1): "Lemma 9",
    ("SA", 2): "Lemma 10",
    ("AS", 1): "Lemma 12",
    ("AS", 2): "Lemma 13",
    ("two-hop", 1): "App. J",
    ("two-hop without identity", 1): "Lemma 16",
}
#: Courses after which the representations of the two entities are not similar.
UNLIKE = tuple(course for course, follows in tasks.SUCCEEDS.items() if not follows)
#: Names of the worlds of Lemmas 4 and 5.
ANALOGY = "analogy"
HOPS = "two hops"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``lemmas.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of tuples of the analogy, and of chains of the two-hop world, at least
            2.
        few: Number of tuples of the worlds in which stage 2 is followed step by step,
            at least 2. The number of updates of stage 1 is multiplied by ``few / n``.
        rho: Number of copies of the similarity premise, at least 1.
        slower: Divisor, above 0, of the learning rate of stage 2 if stage 2 is followed
            step by step.
        steps: Number of updates of each phase of stage 2 if it is followed step by
            step. At the undivided learning rate, the number is a fiftieth of this, or
            10 if that is larger.
        widths: Widths ``d`` at which the cosine of dissimilar entities is measured.
        deep: Widths of the deep linear network.
        layers: Number of layers of the deep linear network.
        labels: Number of labels of the deep linear network.
        delta: Probability with which a bound on the initialisation may fail, between 0
            and 1.
        training: Settings of the one-layer transformer and of its training.
    """

    n: int = 100
    few: int = 20
    rho: float = 5.0
    slower: PositiveFloat = 20.0
    steps: int = 10_000
    widths: tuple[int, ...] = (512, 1024, 2048)
    deep: tuple[PositiveInt, ...] = (256, 1024)
    layers: PositiveInt = 7
    labels: PositiveInt = 50
    delta: UnitFloat = 0.01
    training: tasks.OneLayerTraining = tasks.OneLayerTraining()


def plan(settings: Settings) -> experiments.Plan:
    """Plan checks of the initialisation, training of stage 1, and stepwise descents of stage 2.

    Args:
        settings: The recipe's settings, such as ``n``, ``few`` and ``rho``;
            :class:`Settings` describes each.

    Returns:
        The plan. Only stage 1 of the first phase is run. The label values
        listed below are those of the default settings.

        - Labels of the trials: ``course`` (the two curricula under which entities stay
          dissimilar: AS, two-hop without identity) and ``width`` (``d``: 512, 1024,
          2048).
        - Measure: ``alike`` (:func:`inweights.probes.resemblance` with
          ``by_pair=True``).
        - Computations: ``starts``
          (:func:`~inweights.theory.feature_resemblance.starts.one_layer_start`), with
          the label ``task`` (``analogy``, ``two hops``); ``deep``
          (:func:`~inweights.theory.feature_resemblance.starts.deep_start`), with the
          label ``width`` (256, 1024); and ``stage_two``
          (:func:`~inweights.theory.feature_resemblance.stage_two.stage_two`), with the
          labels ``course`` (:func:`~.courses.phase_roles`) and ``slower`` (divisor of
          the learning rate: 20, and 1 for joint).

    Raises:
        ConfigError: ``n`` or ``few`` is below 2, ``rho`` is below 1, or a value is out
            of range for the model or its training.
    """
    from inweights.theory.feature_resemblance.stage_two import stage_two
    from inweights.theory.feature_resemblance.starts import deep_start, one_layer_start

    how = settings.training
    seeded = partial(experiments.Computation, seeded=True)
    start = partial(seeded, effort=20)
    descent = partial(seeded, compute=stage_two, effort=200)
    about = {
        "width": how.model.width,
        "hidden": how.model.hidden,
        "delta": settings.delta,
    }
    network = {
        "layers": settings.layers,
        "labels": settings.labels,
        "delta": settings.delta,
    }
    starts = [
        start(
            name="starts",
            labels={"task": task},
            compute=one_layer_start,
            options={"world": fr.world_of(course, settings.n), **about},
        )
        for task, course in ((ANALOGY, "joint"), (HOPS, "two-hop"))
    ]
    starts += [
        start(
            name="deep",
            labels={"width": width},
            compute=deep_start,
            options={"width": width, **network},
        )
        for width in settings.deep
    ]
    # The bounds hold for the learning rate divided by ``slower``. The undivided rate of
    # Table 1 is run for a fiftieth of the steps, only to show that it is larger than
    # the bounds permit.
    walks = [(course, settings.slower, settings.steps) for course in tasks.SUCCEEDS]
    walks.append(("joint", 1.0, max(10, settings.steps // 50)))
    descents = [
        descent(
            name="stage_two",
            labels={"course": course, "slower": slower},
            options=_descent(settings, course, slower, steps),
        )
        for course, slower, steps in walks
    ]
    trials = [
        experiments.Trial(
            labels={"course": course, "width": width},
            world=fr.world_of(course, settings.n),
            model=replace(how.model, width=width),
            learner=experiments.Curriculum(phases=how.curriculum(course).phases[:1]),
        )
        for course, width in product(UNLIKE, settings.widths)
    ]
    by_pair = experiments.Measure(
        name="alike", probe=iw.probes.resemblance, options={"by_pair": True}
    )
    return experiments.Plan(
        trials=trials, computations=[*starts, *descents], measures=[by_pair]
    )


def _descent(
    settings: Settings, course: str, slower: float, steps: int
) -> dict[str, Any]:
    """Return the options of stage 2 on a few tuples, with features as large as on many tuples."""
    how = settings.training
    phases = tasks.phase_roles(course, settings.rho)
    return {
        "world": fr.world_of(course, settings.few),
        "phases": phases,
        "steps": [steps] * len(phases),
        "model": how.model,
        "rate": how.rate,
        "attention": max(1, round(how.attention * settings.few / settings.n)),
        "slower": slower,
    }


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return losses relative to their bounds, and the similarity of dissimilar entities by width.

    Args:
        tables: The tables that result from :func:`plan`, by name: ``alike``
            (:func:`inweights.probes.resemblance`: ``course, width, prompt, layer,
            depth, one, two, cosine, other, contrast``), ``starts``
            (:func:`~inweights.theory.feature_resemblance.starts.one_layer_start`:
            ``task, vectors, length, product``), ``deep``
            (:func:`~inweights.theory.feature_resemblance.starts.deep_start`: ``width,
            above, length, product``), and ``stage_two``
            (:func:`~inweights.theory.feature_resemblance.stage_two.stage_two`:
            ``course, slower, steps, least, bound, step_size, phase, guess``). All have
            the columns ``seed``. The labels are ``course`` (the two curricula under
            which entities stay dissimilar: AS, two-hop without identity) and ``width``
            (``d``: 512, 1024, 2048).

    Returns:
        - ``proven``: a row per course, phase and seed of the descents at the divided
          learning rate. ``ratio`` is the largest ratio of the loss to its bound, and
          ``exponent`` is the exponent of the power law by which the loss falls with the
          number of steps; both exclude the first tenth of the steps. ``step_size`` is
          the largest step size divided by the one that the proof allows, and ``says``
          is the last bound divided by the loss of a uniform prediction. Columns:
          ``course, phase, slower, seed, ratio, exponent, step_size, says``.
        - ``as_in_table_1``: the same quantities at the learning rate of Table 1.
          Columns: as in ``proven``.
        - ``unlike``: a row per run: the mean absolute cosine similarity of dissimilar
          entities (``size``), and this mean multiplied by √d (``scaled``). Columns:
          ``course, width, seed, size, scaled``.
        - ``curves``: a row per panel (course and phase), seed, number of steps and
          ``what`` (``least``, the smallest loss up to this step, or ``bound``), with
          its ``value`` and ``digits``, the decimal logarithm of the value. Columns:
          ``panel, seed, steps, what, value, digits``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    twice = pl.when(pl.col("phase").max().over("course") > 1)
    taken = tables["stage_two"].with_columns(
        panel=twice.then(pl.format("{}, phase {}", "course", "phase")).otherwise(
            "course"
        ),
        ratio=pl.col("least") / pl.col("bound"),
    )
    # Bounds and exponents are about late training, so that only the last tenfold
    # increase in the number of steps is used.
    late = pl.col("steps") >= pl.col("steps").max().over("slower") / 10
    least, steps = (pl.col(name).filter(late).log() for name in ("least", "steps"))
    ends = taken.group_by("course", "phase", "slower", "seed", maintain_order=True).agg(
        ratio=pl.col("ratio").filter(late).max(),
        exponent=(least.last() - least.first()) / (steps.last() - steps.first()),
        step_size=pl.col("step_size").max(),
        says=pl.col("bound").last() / pl.col("guess").last(),
    )
    slow = pl.col("slower") > 1
    size = pl.col("cosine").abs().mean()
    alike = (
        tables["alike"]
        .group_by("course", "width", "seed", maintain_order=True)
        .agg(size=size)
    )
    return {
        "proven": ends.filter(slow),
        "as_in_table_1": ends.filter(~slow),
        "unlike": alike.with_columns(scaled=pl.col("size") * pl.col("width").sqrt()),
        "curves": taken.filter(slow)
        .unpivot(
            ["least", "bound"], index=["panel", "seed", "steps"], variable_name="what"
        )
        .with_columns(digits=pl.col("value").log10()),
    }


start, deep, proven = (
    partial(experiments.number, table) for table in ("starts", "deep", "proven")
)
phases = ("course", "phase")
STARTS = {
    "lemma-3": {"vectors": "w", "task": ANALOGY},
    "lemma-4": {"vectors": "W_V e", "task": ANALOGY},
    "lemma-5": {"vectors": "W_V e", "task": HOPS},
}

SCORES: dict[str, experiments.Judged] = {}
for lemma, which in STARTS.items():
    SCORES[f"{lemma}-lengths"] = start("length", **which) <= 0.5
    SCORES[f"{lemma}-products"] = start("product", **which) <= 1.0
for (course, phase), place in CONVERGES.items():
    name = place.lower().replace(". ", "-").replace(" ", "-")
    SCORES[name] = proven("ratio", course=course, phase=phase) <= 1.0
SCORES |= {
    "lemma-17-lengths": deep("length").over("width", "above") <= 1.0,
    "lemma-17-products": deep("product").over("width", "above") <= 1.0,
    "loss-falls-as-one-over-the-steps": proven("exponent").over(*phases) <= -0.9,
    "the-rate-is-small": proven("step_size").over(*phases) <= 1.0,
    "bounds-say-something": proven("says").over(*phases) <= 1.0,
    "table-1-has-a-larger-rate": experiments.number("as_in_table_1", "step_size")
    >= 2.0,
    "unlike-as-one-over-the-root-of-the-width": (
        experiments.number("unlike", "scaled").over("course", "width").within(0.6, 1.0)
    ),
}
