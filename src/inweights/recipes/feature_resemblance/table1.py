"""Table 1 of Feature Resemblance: every curriculum, by a one-layer transformer and a GPT."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.models.gpt import GPTConfig
from inweights.models.one_layer import OneLayerConfig
from inweights.probes import accuracy, resemblance
from inweights.probes.predicted_similarity import predicted_similarity
from inweights.recipes.claim import Claim, Statement, Target
from inweights.recipes.derived import compositions
from inweights.recipes.feature_resemblance.common import (
    COURSES,
    GPT,
    ONE_LAYER,
    OURS,
    PAPER,
    SOURCE,
    SUCCEEDS,
    GPTTraining,
    OneLayerTraining,
    last_loss,
    phase_roles,
    world_of,
)
from inweights.recipes.recipe import Deduction, Figure, Measure, Plan, Recipe, Trial

__all__ = ["RECIPE", "Settings"]

NAME = "feature-resemblance/table1"
LABELS = ("model", "course")

#: Loss, similarity and success in percent, as printed.
PRINTED: dict[tuple[str, str], tuple[str, float, str]] = {
    (GPT, "joint"): (".0077", 0.995, "100%"),
    (ONE_LAYER, "joint"): (".0015", 0.9202, "100%"),
    (GPT, "SA"): (".0845", 0.7983, "100%"),
    (ONE_LAYER, "SA"): (".0024", 0.9689, "100%"),
    (GPT, "AS"): (".0085", 0.4326, ".7%"),
    (ONE_LAYER, "AS"): (".0061", 0.0014, "0%"),
    (GPT, "two-hop"): (".0953", 0.9642, "99.7%"),
    (GPT, "two-hop without identity"): (".1024", 0.016, "0%"),
    (ONE_LAYER, "two-hop"): (".075", 0.9132, "100%"),
    (ONE_LAYER, "two-hop without identity"): (".0676", 0.006, "1.7%"),
}
#: How far a similarity may be from the printed one; the GPT here is not the paper's.
NEAR = {ONE_LAYER: 0.03, GPT: 0.1}


class Settings(Config):
    """Settings of Table 1.

    Attributes:
        n: Number of tuples, and of chains.
        rho: Copies of the similarity premise in the joint course.
        one_layer: Training of the one-layer transformer.
        gpt: Training of the GPT.
    """

    n: int = 100
    rho: float = 3.0
    one_layer: OneLayerTraining = OneLayerTraining()
    gpt: GPTTraining = GPTTraining()


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Every course with both models, and what the facts say of it before."""
    one, gpt = settings.one_layer, settings.gpt
    trials = [
        Trial(
            labels={"model": name, "course": course},
            world=world_of(course, settings.n),
            model=training.model,
            curriculum=training.curriculum(course, settings.rho),
            seed=seed,
        )
        for name, training in ((ONE_LAYER, one), (GPT, gpt))
        for course in COURSES
        for seed in seeds
    ]
    deductions = [
        Deduction(
            name="foretold",
            labels={"model": ONE_LAYER, "course": course},
            seed=seed,
            compute=predicted_similarity,
            options={
                "world": world_of(course, settings.n),
                "roles": phase_roles(course, settings.rho)[0],
                "seed": seed,
                "model": one.model,
                "rate": one.rate,
                "steps": one.attention,
                "course": course,
                "rho": settings.rho,
            },
            effort=20,
        )
        for course in COURSES
        for seed in seeds
    ]
    measures = [
        Measure(name="accuracy", probe=accuracy),
        Measure(name="resemblance", probe=resemblance),
    ]
    return Plan(trials=trials, deductions=deductions, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The table itself, prediction against measurement, and what the figures draw."""
    keys = [*LABELS, "seed"]
    success = compositions(tables["accuracy"]).select(*keys, success="accuracy")
    table = (
        tables["resemblance"]
        .select(*keys, "cosine", "other")
        .join(success, on=keys)
        .join(last_loss(tables["losses"], keys), on=keys)
    )
    predicted = table.join(tables["foretold"], on=keys).with_columns(
        (pl.col("cosine") - pl.col(name)).abs().alias(f"{name}_error")
        for name in ("from_facts", "closed_form")
    )
    printed = pl.DataFrame(
        [
            {"model": model, "course": course, "seed": -1, "similarity": cosine}
            for (model, course), (_, cosine, _) in PRINTED.items()
        ]
    )
    shown = [
        table.select(*keys, similarity="cosine", what=pl.lit("measured")),
        printed.select(*keys, "similarity", what=pl.lit("published")),
        tables["foretold"].select(
            *keys, similarity="from_facts", what=pl.lit("predicted from the facts")
        ),
    ]
    return {
        "table": table,
        "predicted": predicted,
        "shown": pl.concat(shown, how="diagonal_relaxed"),
        "kept": tables["accuracy"].with_columns(
            role=pl.when(pl.col("part") == "queries")
            .then(pl.lit("the conclusion"))
            .otherwise(pl.col("role").replace(_WORDS))
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

state = Statement(NAME, source=SOURCE, place="Table 1")
ours = Statement(NAME, source="ours", place="Table 1")


def _rows() -> tuple[Claim, ...]:
    """Similarity and success of each of the ten rows."""
    claims = []
    for (model, course), (_, cosine, success) in PRINTED.items():
        row = f"{course.replace(' ', '-')}-{model}".lower()
        where = {"model": model, "course": course}
        near, follows = NEAR[model], SUCCEEDS[course]
        claims += [
            state(
                f"similarity-{row}",
                f"{model}, {course}: cosine of the two entities.",
                Target(least=round(cosine - near, 4), most=min(1.0, round(cosine + near, 4))),
                table="table",
                column="cosine",
                where=where,
                published=f"{cosine:g}",
            ),
            state(
                f"success-{row}",
                f"{model}, {course}: the conclusion {'follows' if follows else 'does not follow'}"
                " (accuracy over all answers).",
                Target(least=0.97) if follows else Target(most=0.05),
                table="table",
                column="success",
                where=where,
                published=success,
            ),
        ]
    return tuple(claims)


CLAIMS = (
    *_rows(),
    state(
        "losses-converge",
        "The training loss of the last phase converges, in every row (the largest is published as "
        ".1024; losses fall as one over the steps, so that they only say how long training was).",
        Target(most=0.12),
        table="table",
        column="loss",
        each=LABELS,
        published=".0015 to .1024",
    ),
    *(
        state(
            f"order-{one.lower()}-{other.lower()}",
            f"GPT: similarity after {one} is higher than after {other} (difference).",
            Target(least=0.05),
            table="table",
            column="cosine",
            where={"model": GPT, "course": one},
            minus={"model": GPT, "course": other},
            published=difference,
        )
        for one, other, difference in (("joint", "SA", ".1967"), ("SA", "AS", ".3657"))
    ),
    ours(
        "predicted-from-facts",
        "The one-layer similarity is what the linear regime predicts from the facts alone: "
        "absolute error, in every row.",
        Target(most=0.02),
        table="predicted",
        column="from_facts_error",
        each=("course",),
    ),
    ours(
        "predicted-closed-form",
        "It is what the closed form of the curriculum predicts: absolute error, in every row.",
        Target(most=0.02),
        table="predicted",
        column="closed_form_error",
        each=("course",),
    ),
    *(
        ours(
            f"sa-forgets-{model}".lower(),
            f"{model}: success after SA costs the similarity premise, (b, r1) → c: it is forgotten "
            "in the second phase (accuracy).",
            Target(most=0.5),
            table="accuracy",
            column="accuracy",
            where={"model": model, "course": "SA", "role": "similarity"},
        )
        for model in (ONE_LAYER, GPT)
    ),
    ours(
        "as-forgets-gpt",
        "GPT: in AS the attribution itself, (a, r2) → d, is forgotten in the second phase "
        "(accuracy), so that this row alone does not tell a wrong order from a lost fact.",
        Target(most=0.5),
        table="accuracy",
        column="accuracy",
        where={"model": GPT, "course": "AS", "role": "attribution"},
    ),
    ours(
        "as-keeps-one-layer",
        "One-layer: in AS the attribution is kept (accuracy), and yet it is not transferred.",
        Target(least=0.95),
        table="accuracy",
        column="accuracy",
        where={"model": ONE_LAYER, "course": "AS", "role": "attribution"},
    ),
)

FIGURES = (
    Figure(
        id="similarity",
        kind="sweeps",
        title="Cosine of the two entities, measured, published and predicted",
        caption=(
            "Features of the two entities of a tuple (of a chain in two-hop), equation 10. For the "
            "one-layer transformer the linear regime of stage 1 predicts it from the facts alone."
        ),
        sources=("shown",),
        options={
            "axis": "model",
            "value": "course",
            "y": "similarity",
            "series": "what",
            "y_label": "cosine of the two entities",
            "y_limits": [0.0, 1.0],
            "labels": {"two-hop without identity": "two-hop without"},
        },
    ),
    Figure(
        id="kept",
        kind="sweeps",
        title="What is known in the end: the facts of each phase, and the conclusion",
        caption=(
            "Accuracy over all answers after the last phase. SA reaches every conclusion and "
            "forgets the similarity premise; the GPT forgets the attribution in AS."
        ),
        sources=("kept",),
        options={
            "axis": "course",
            "value": "role",
            "y": "accuracy",
            "series": "model",
            "y_limits": [0.0, 1.0],
            "columns": 3,
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="The order of the premises decides whether an analogy follows",
    paper=PAPER,
    place="Table 1, §4 to §6, §8.1",
    summary=(
        "Trains a one-layer transformer layer by layer, and a GPT end to end, on analogies in "
        "three curricula and on two hops with and without identities. Measures the similarity of "
        "the entities, whether the unseen conclusion follows, and what is forgotten."
    ),
    scales={
        "smoke": Settings(
            n=4,
            one_layer=OneLayerTraining(
                model=OneLayerConfig(width=32, mlp="folded"),
                attention=5,
                mlp=10,
                late={"AS": 10},
            ),
            gpt=GPTTraining(model=GPTConfig(layers=2, width=16, tied=False), steps=10),
        ),
        "cpu": Settings(),
        "paper": Settings(
            gpt=GPTTraining(
                model=GPTConfig(layers=12, width=768, heads=12, tied=False),
                rate=1e-4,
                late_rate={},
            )
        ),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 8},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=OURS,
)
