"""Lemmas of Feature Resemblance about starts and convergence, and how fast things go."""

from __future__ import annotations

from functools import partial
from typing import Any

import polars as pl
from msgspec.structs import replace

import inweights as iw
from inweights import lab
from inweights.config import Config
from inweights.lab import Claim
from inweights.recipes.feature_resemblance import common as fr

__all__ = ["RECIPE", "Settings"]

#: Place of the convergence of each phase of stage 2; two hops with identities are the joint course.
CONVERGES = {
    ("joint", 1): "Lemma 7",
    ("SA", 1): "Lemma 9",
    ("SA", 2): "Lemma 10",
    ("AS", 1): "Lemma 12",
    ("AS", 2): "Lemma 13",
    ("two-hop", 1): "App. J",
    ("two-hop without identity", 1): "Lemma 16",
}
#: Courses whose entities stay unlike.
UNLIKE = tuple(course for course, follows in fr.SUCCEEDS.items() if not follows)
#: Worlds of lemmas 4 and 5.
ANALOGY, HOPS = "analogy", "two hops"


class Settings(Config):
    """Settings of the lemmas.

    Attributes:
        n: Number of tuples, and of chains.
        few: The same where stage 2 is followed step by step; stage 1 is shorter in proportion.
        rho: Copies of the similarity premise.
        slower: By which factor stage 2 has a smaller rate there.
        steps: Steps of each of its phases there; a fiftieth of them at the rate itself.
        widths: At which the cosine of unlike entities is measured.
        deep: Widths of the deep linear network.
        layers: Its layers.
        labels: Its labels.
        delta: Probability with which a bound about a start may fail.
        training: Training of the one-layer transformer.
    """

    n: int = 100
    few: int = 20
    rho: float = 5.0
    slower: float = 20.0
    steps: int = 10_000
    widths: tuple[int, ...] = (512, 1024, 2048)
    deep: tuple[int, ...] = (256, 1024)
    layers: int = 7
    labels: int = 50
    delta: float = 0.01
    training: fr.OneLayerTraining = fr.OneLayerTraining()


def plan(settings: Settings) -> lab.Plan:
    """Starts, stage 1 at several widths, and stage 2 step by step at two rates."""
    from inweights.theory.stage_two import stage_two
    from inweights.theory.starts import deep_start, one_layer_start

    how = settings.training
    made = partial(lab.Computation, seeded=True)
    about = {"width": how.model.width, "hidden": how.model.hidden, "delta": settings.delta}
    network = {"layers": settings.layers, "labels": settings.labels, "delta": settings.delta}
    starts = [
        made(
            name="starts",
            labels={"task": task},
            compute=one_layer_start,
            options={"world": fr.world_of(course, settings.n), **about},
            effort=20,
        )
        for task, course in ((ANALOGY, "joint"), (HOPS, "two-hop"))
    ]
    starts += [
        made(
            name="deep",
            labels={"width": width},
            compute=deep_start,
            options={"width": width, **network},
            effort=20,
        )
        for width in settings.deep
    ]
    descents = [
        made(
            name="stage_two",
            labels={"course": course, "slower": slower},
            compute=stage_two,
            options=_descent(settings, course, slower, steps),
            effort=200,
        )
        for course, slower, steps in (
            *((course, settings.slower, settings.steps) for course in fr.SUCCEEDS),
            ("joint", 1.0, max(10, settings.steps // 50)),
        )
    ]
    trials = [
        lab.Trial(
            labels={"course": course, "width": width},
            world=fr.world_of(course, settings.n),
            model=replace(how.model, width=width),
            learner=lab.Curriculum(phases=how.curriculum(course).phases[:1]),
        )
        for course in UNLIKE
        for width in settings.widths
    ]
    by_pair = lab.Measure(name="alike", probe=iw.probes.resemblance, options={"by_pair": True})
    return lab.Plan(trials=trials, computations=[*starts, *descents], measures=[by_pair])


def _descent(settings: Settings, course: str, slower: float, steps: int) -> dict[str, Any]:
    """Options of stage 2 on few tuples, whose features are as large as on many."""
    how, phases = settings.training, fr.phase_roles(course, settings.rho)
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
    """Where each descent ends beside its bound, and the cosine of the unlike in units of 1/√d."""
    twice = pl.when(pl.col("phase").max().over("course") > 1)
    taken = tables["stage_two"].with_columns(
        panel=twice.then(pl.format("{}, phase {}", "course", "phase")).otherwise("course"),
        ratio=pl.col("least") / pl.col("bound"),
    )
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
    alike = tables["alike"].group_by("course", "width", "seed", maintain_order=True).agg(size=size)
    return {
        "proven": ends.filter(slow),
        "as_in_table_1": ends.filter(~slow),
        "unlike": alike.with_columns(scaled=pl.col("size") * pl.col("width").sqrt()),
        "curves": taken.filter(slow)
        .unpivot(["least", "bound"], index=["panel", "seed", "steps"], variable_name="what")
        .with_columns(digits=pl.col("value").log10()),
    }


state = fr.PAPER.stating("lemmas", "App. F to M")
ours = partial(state, source="ours")

start, deep = (partial(lab.number, table) for table in ("starts", "deep"))
phases = ("course", "phase")


def _starts(name: str, task: str, vectors: str, words: str, places: tuple[str, str]) -> list[Claim]:
    """Lengths and products of the vectors of a start."""
    return [
        state(
            f"{name}-lengths",
            f"At the start squared lengths of {words} are σ0²d within half (worst).",
            start("length", vectors=vectors, task=task) <= 0.5,
            place=places[0],
        ),
        state(
            f"{name}-products",
            "Their products are at most 2 σ0² √(d log(M²/δ)), δ = .01 (over that bound).",
            start("product", vectors=vectors, task=task) <= 1.0,
            place=places[1],
        ),
    ]


CLAIMS = (
    *_starts("lemma-3", ANALOGY, "w", "the MLP's vectors", ("Lemma 3, (35)", "Lemma 3, (36)")),
    *_starts("lemma-4", ANALOGY, "W_V e", "value features", ("Lemma 4, (39)", "Lemma 4, (40)")),
    *_starts("lemma-5", HOPS, "W_V e", "value features", ("Lemma 5, (45)", "Lemma 5, (46)")),
    state(
        "lemma-17-lengths",
        "Directions of labels behind s layers of a deep linear network have squared lengths of 1 "
        "within 2 √((s + 1) log(K²/δ) / d) (distance over that).",
        deep("length").over("width", "above") <= 1.0,
        place="Lemma 17, (278)",
    ),
    state(
        "lemma-17-products",
        "And products of two of them are at most as much.",
        deep("product").over("width", "above") <= 1.0,
        place="Lemma 17, (278)",
    ),
    *(
        state(
            place.lower().replace(". ", "-").replace(" ", "-"),
            f"{course}, phase {phase}: at a small rate stage 2 keeps below the proof's bound "
            "(quotient).",
            lab.number("proven", "ratio", course=course, phase=phase) <= 1.0,
            place=place,
            check=True,
        )
        for (course, phase), place in CONVERGES.items()
    ),
    state(
        "loss-falls-as-one-over-the-steps",
        "Iterations are of order 1/ε: the least loss of T steps falls as 1/T or faster (exponent "
        "over the last ten-fold).",
        lab.number("proven", "exponent").over(*phases) <= -0.9,
        place="§1.1, Lemmas 7 to 16",
    ),
    ours(
        "the-rate-is-small",
        "The premise of these bounds holds: η ‖∇L‖² is at most the loss (largest quotient).",
        lab.number("proven", "step_size").over(*phases) <= 1.0,
        place="Condition 1 (3)",
    ),
    ours(
        "bounds-say-something",
        "They end below the loss of even odds (bound over ln K).",
        lab.number("proven", "says").over(*phases) <= 1.0,
        place="Lemmas 7 to 16",
    ),
    ours(
        "table-1-has-a-larger-rate",
        "At the rate that gives Table 1 the premise fails in joint training, whose loss rises "
        "before it falls (same quotient).",
        lab.number("as_in_table_1", "step_size") >= 2.0,
        place="Condition 1 (3), N.1",
    ),
    ours(
        "unlike-as-one-over-the-root-of-the-width",
        "Entities that stay unlike have a cosine of the order of 1/√d (mean size times √d; of "
        "random directions .80).",
        lab.number("unlike", "scaled").over("course", "width").within(0.6, 1.0),
        place="Props. 3 and 5",
    ),
)

FIGURES = (
    lab.lines(
        "bounds",
        "curves",
        "Stage 2 against what its lemmas prove",
        "The least loss of so many steps, and the bound of the proof for as many, at a twentieth "
        "of the rate of Table 1. The loss falls as 1/T or faster; the bound lies far above, and "
        "falls as fast only later where entities are nearly alike (joint, two-hop).",
        x="steps",
        y="digits",
        series="what",
        facet="panel",
        labels={"least": "as run", "bound": "as proven"},
        x_label="steps T",
        y_label="loss, decimal logarithm",
        x_log=True,
        columns=3,
    ),
    lab.lines(
        "unlike",
        "unlike",
        "The cosine of entities that share nothing, by width",
        "Mean size of the cosine of the two entities' features after stage 1, where the course "
        "tells nothing that both share, times the root of the width: that of random directions.",
        x="width",
        y="scaled",
        series="course",
        x_log=True,
        y_label="mean |cosine| · √d",
        y_limits=(0.0, 1.2),
    ),
)

RECIPE = fr.PAPER.recipe(
    "lemmas",
    title="Starts, convergence and rates: what the theorems rest on",
    place="Lemmas 3 to 5, 7, 9, 10, 12, 13, 16 and 17",
    summary=(
        "Holds starts against Bernstein's inequality, follows stage 2 of every course beside "
        "the bound that the proofs' telescoping gives, and measures how the loss falls with the "
        "steps and the cosine of unlike entities with the width."
    ),
    scales={
        "smoke": Settings(
            n=4, few=4, slower=2.0, steps=20, widths=(32,), deep=(16,), labels=3, training=fr.BRIEF
        ),
        "cpu": Settings(),
        "paper": Settings(),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "n",
        "few",
        "rho",
        "slower",
        "steps",
        "widths",
        "deep",
        "layers",
        "labels",
        "delta",
        "training",
        "The text lost every bound. Those of starts are Bernstein's; those of stage 2 are what the "
        "steps of the proofs give that it kept, ‖w − w*‖² telescoped, with the best w* that the "
        "start and the shortest solution span.",
        "Stage 2 is followed on 20 tuples, whose features 10 steps make as large as 50 those of "
        "100, at a twentieth of Table 1's rate.",
    ),
)
