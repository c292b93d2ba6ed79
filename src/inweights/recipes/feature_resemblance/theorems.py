"""Theorems 1 to 5 of Feature Resemblance, propositions 1 to 5, and the lemmas they stand on."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.models.one_layer import OneLayerConfig
from inweights.probes import accuracy, resemblance
from inweights.recipes.claim import Claim, Statement, Target
from inweights.recipes.derived import compositions
from inweights.recipes.feature_resemblance.common import (
    COURSES,
    PAPER,
    SOURCE,
    SUCCEEDS,
    OneLayerTraining,
    last_loss,
    phase_roles,
    world_of,
)
from inweights.recipes.recipe import Deduction, Figure, Measure, Plan, Recipe, Trial
from inweights.theory.stage_one import lemma_1, stage_one
from inweights.worlds.analogy import Analogy

__all__ = ["RECIPE", "Settings"]

NAME = "feature-resemblance/theorems"
#: Theorem, proposition, and lemma about stage 1, of each course.
PLACES = {
    "joint": (1, "Lemma 6"),
    "SA": (2, "Lemma 8"),
    "AS": (3, "Lemma 11"),
    "two-hop": (4, "App. J"),
    "two-hop without identity": (5, "Lemma 15"),
}


class Settings(Config):
    """Settings of the theorems.

    Attributes:
        n: Number of tuples, and of chains.
        rho: Copies of the similarity premise; the theorems are about large ``ρ``.
        checked: ``n`` at which the gradients of lemma 1 are held against autograd.
        training: Training of the one-layer transformer.
    """

    n: int = 100
    rho: float = 5.0
    checked: int = 10
    training: OneLayerTraining = OneLayerTraining(mlp=3000, late={"SA": 3000, "AS": 5000})


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Every course; stage 1 of each in closed form; the closed form against autograd."""
    how = settings.training
    trials = [
        Trial(
            labels={"course": course},
            world=world_of(course, settings.n),
            model=how.model,
            curriculum=how.curriculum(course, settings.rho),
            seed=seed,
        )
        for course in COURSES
        for seed in seeds
    ]
    deductions = [
        Deduction(
            name="stage_one",
            labels={"course": course},
            seed=seed,
            compute=stage_one,
            options={
                "world": world_of(course, settings.n),
                "roles": phase_roles(course, settings.rho)[0],
                "seed": seed,
                "model": how.model,
                "rate": how.rate,
                "steps": how.attention,
            },
            effort=500,
        )
        for course in COURSES
        for seed in seeds
    ]
    deductions += [
        Deduction(
            name="lemma_1",
            labels={"mlp": mlp},
            seed=seed,
            compute=lemma_1,
            options={"world": Analogy(n=settings.checked), "seed": seed, "mlp": mlp},
            effort=20,
        )
        for mlp in ("linear", "relu")
        for seed in seeds
    ]
    measures = [
        Measure(name="accuracy", probe=accuracy),
        Measure(name="resemblance", probe=resemblance),
    ]
    return Plan(trials=trials, deductions=deductions, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Similarity, success and the loss at the end of each phase, and what the figure draws."""
    keys = ["course", "seed"]
    success = compositions(tables["accuracy"]).select(*keys, success="accuracy")
    table = tables["resemblance"].select(*keys, "cosine", "other").join(success, on=keys)
    fitted = last_loss(tables["losses"], [*keys, "phase"])
    shown = table.rename({"cosine": "similarity"}).unpivot(
        ["similarity", "success"], index=keys, variable_name="column"
    )
    lemmas = tables["stage_one"].unpivot(
        ["attention", "linear"], index=keys, variable_name="column"
    )
    words = {
        "attention": "attention: largest distance from 1/2",
        "linear": "update: distance from the linear regime",
    }
    return {
        "table": table,
        "fitted": fitted.filter(pl.col("phase") != "attention"),
        "shown": shown,
        "lemmas": lemmas.with_columns(pl.col("column").replace(words)),
    }


state = Statement(NAME, source=SOURCE, place="§4 to §6")


def _theorems() -> tuple[Claim, ...]:
    """Both parts of every theorem, and its proposition."""
    claims = []
    for course, (number, _) in PLACES.items():
        follows, where = SUCCEEDS[course], {"course": course}
        claims += [
            state(
                f"theorem-{number}-converges",
                f"{course}: the training loss converges, in every phase.",
                Target(most=0.1),
                table="fitted",
                column="loss",
                where=where,
                each=("phase",),
                place=f"Thm {number}",
            ),
            state(
                f"theorem-{number}-{'follows' if follows else 'fails'}",
                f"{course}: the conclusion {'follows' if follows else 'is at chance'} (accuracy).",
                Target(least=0.99) if follows else Target(most=0.03),
                table="table",
                column="success",
                where=where,
                place=f"Thm {number}",
            ),
            state(
                f"proposition-{number}",
                f"{course}: the entities are {'alike' if follows else 'unlike'} (cosine).",
                Target(least=0.9) if follows else Target(least=-0.03, most=0.03),
                table="table",
                column="cosine",
                where=where,
                place=f"Prop. {number}",
            ),
        ]
    return tuple(claims)


CLAIMS = (
    *_theorems(),
    state(
        "lemma-1",
        "The closed-form gradients are those of autograd, for a linear MLP and for ReLU (largest "
        "difference, relative to the largest entry).",
        Target(most=1e-9),
        table="lemma_1",
        column="error",
        each=("mlp", "matrix"),
        place="Lemma 1, (15)-(17)",
        exact=True,
    ),
    state(
        "lemma-2",
        "What stage 1 adds to the value features is a combination of the MLP vectors of the start "
        "(share that is not).",
        Target(most=1e-9),
        table="stage_one",
        column="span",
        each=("course",),
        place="Lemmas 2, 14",
        exact=True,
    ),
    *(
        state(
            f"balanced-{course.replace(' ', '-')}".lower(),
            f"{course}: attention is balanced through stage 1 (largest distance of a score from "
            "1/2, any fact, any step).",
            Target(most=0.1),
            table="stage_one",
            column="attention",
            where={"course": course},
            place=lemma,
        )
        for course, (_, lemma) in PLACES.items()
    ),
    state(
        "linear-regime",
        "Stage 1 stays in the linear regime that our predictions stand on: distance of what it "
        "adds from what the first step would add fifty times, relative.",
        Target(most=0.15),
        table="stage_one",
        column="linear",
        each=("course",),
        source="ours",
        place="Lemmas 6, 8, 11, 15",
    ),
)

FIGURES = (
    Figure(
        id="theorems",
        kind="sweeps",
        title="Similarity and success of every course at ρ = 5",
        caption="Theorems 1, 2 and 4 promise success and similarity, 3 and 5 neither.",
        sources=("shown",),
        options={
            "axis": "column",
            "value": "course",
            "y": "value",
            "labels": {"two-hop without identity": "two-hop without"},
            "y_label": "cosine; accuracy",
            "y_limits": [0.0, 1.0],
        },
    ),
    Figure(
        id="lemmas",
        kind="sweeps",
        title="How well the assumptions of stage 1 hold",
        caption=(
            "Left: how far any attention score leaves 1/2 in stage 1. Right: how far the update of "
            "the value features leaves that of the linear regime, which every prediction uses."
        ),
        sources=("lemmas",),
        options={
            "axis": "column",
            "value": "course",
            "y": "value",
            "labels": {"two-hop without identity": "two-hop without"},
            "y_label": "distance",
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="What the theorems promise, and the lemmas under them",
    paper=PAPER,
    place="Theorems 1 to 5, propositions 1 to 5, lemmas 1, 2, 6, 8, 11, 14, 15",
    summary=(
        "Trains every course at a large ρ until its loss is small, runs stage 1 by the closed-form "
        "gradients of lemma 1 to see what the lemmas bound, and holds those gradients against "
        "autograd. Theorem 6 is feature-resemblance/fig1."
    ),
    scales={
        "smoke": Settings(
            n=4,
            checked=3,
            training=OneLayerTraining(
                model=OneLayerConfig(width=32, mlp="folded"), attention=5, mlp=10, late={"AS": 10}
            ),
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
        "The text lost every bound; what counts as converged, alike, balanced and at chance is "
        "our choice: a loss of .1, a cosine of .9, a distance of .1 and an accuracy of .03.",
        "n = 100 tuples, ρ = 5; 3000 steps of stage 2, 5000 in phase 2 of AS; otherwise as in "
        "feature-resemblance/table1.",
    ),
)
