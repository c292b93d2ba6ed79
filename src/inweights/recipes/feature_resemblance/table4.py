"""Table 4 of Feature Resemblance: how often the similarity premise is told (appendix B)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from inweights.config import Config
from inweights.models.gpt import GPTConfig
from inweights.models.one_layer import OneLayerConfig
from inweights.probes import accuracy, resemblance
from inweights.probes.predicted_similarity import predicted_similarity
from inweights.recipes.claim import Claim, Statement, Target
from inweights.recipes.derived import compositions
from inweights.recipes.feature_resemblance.common import (
    GPT,
    ONE_LAYER,
    OURS,
    PAPER,
    SOURCE,
    GPTTraining,
    OneLayerTraining,
    phase_roles,
    world_of,
)
from inweights.recipes.recipe import Deduction, Figure, Measure, Plan, Recipe, Trial

__all__ = ["RECIPE", "Settings"]

NAME = "feature-resemblance/table4"
LABELS = ("model", "rho")

#: Similarity, by model and ρ. The text lost the values of ρ; these give the one-layer rows.
PRINTED: dict[tuple[str, float], float] = {
    (ONE_LAYER, 1.0): 0.6706,
    (ONE_LAYER, 3.0): 0.9202,
    (ONE_LAYER, 5.0): 0.9405,
    (GPT, 1.0): 0.9756,
    (GPT, 3.0): 0.995,
    (GPT, 5.0): 0.9979,
}
#: Training loss at which the GPT stops, near the printed one.
LOSSES = {1.0: 0.0294, 3.0: 0.0077, 5.0: 0.0039}
NEAR = {ONE_LAYER: 0.03, GPT: 0.1}


class Settings(Config):
    """Settings of Table 4.

    Attributes:
        n: Number of tuples.
        rhos: Copies of the similarity premise.
        one_layer: Training of the one-layer transformer.
        gpt: Training of the GPT; it stops at the loss printed for each ``ρ``.
    """

    n: int = 100
    rhos: tuple[float, ...] = (1.0, 3.0, 5.0)
    one_layer: OneLayerTraining = OneLayerTraining(mlp=3000)
    gpt: GPTTraining = GPTTraining()


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """The joint course for every ρ, with both models, and what the facts say of it before."""
    world = world_of("joint", settings.n)
    trials, deductions = [], []
    one = settings.one_layer
    for rho in settings.rhos:
        gpt = msgspec.structs.replace(settings.gpt, losses={"joint": (LOSSES[rho],)})
        for seed in seeds:
            trials += [
                Trial(
                    labels={"model": name, "rho": rho},
                    world=world,
                    model=training.model,
                    curriculum=training.curriculum("joint", rho),
                    seed=seed,
                )
                for name, training in ((ONE_LAYER, one), (GPT, gpt))
            ]
            deductions.append(
                Deduction(
                    name="foretold",
                    labels={"model": ONE_LAYER, "rho": rho},
                    seed=seed,
                    compute=predicted_similarity,
                    options={
                        "world": world,
                        "roles": phase_roles("joint", rho)[0],
                        "seed": seed,
                        "model": one.model,
                        "rate": one.rate,
                        "steps": one.attention,
                        "course": "joint",
                        "rho": rho,
                    },
                    effort=20,
                )
            )
    measures = [
        Measure(name="accuracy", probe=accuracy),
        Measure(name="resemblance", probe=resemblance),
    ]
    return Plan(trials=trials, deductions=deductions, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The table, prediction against measurement, and both beside the printed numbers."""
    keys = [*LABELS, "seed"]
    success = compositions(tables["accuracy"]).select(*keys, success="accuracy")
    table = tables["resemblance"].select(*keys, "cosine", "other").join(success, on=keys)
    predicted = table.join(tables["foretold"], on=keys).with_columns(
        error=(pl.col("cosine") - pl.col("from_facts")).abs(),
        closed_form_error=(pl.col("cosine") - pl.col("closed_form")).abs(),
    )
    printed = pl.DataFrame(
        [
            {"model": model, "rho": rho, "seed": -1, "similarity": cosine, "what": "published"}
            for (model, rho), cosine in PRINTED.items()
        ]
    )
    shown = [
        table.select(*keys, similarity="cosine", what=pl.lit("measured")),
        printed,
        tables["foretold"].select(
            *keys, similarity="from_facts", what=pl.lit("predicted from the facts")
        ),
    ]
    return {
        "table": table,
        "predicted": predicted,
        "shown": pl.concat(shown, how="diagonal_relaxed"),
    }


state = Statement(NAME, source=SOURCE, place="Table 4, App. B")
ours = Statement(NAME, source="ours", place="Table 4, App. B")


def _rows() -> tuple[Claim, ...]:
    """Similarity of each row."""
    return tuple(
        state(
            f"similarity-{model.lower()}-{rho:g}",
            f"{model}, ρ = {rho:g}: cosine of the two entities.",
            Target(
                least=round(cosine - NEAR[model], 4), most=min(1.0, round(cosine + NEAR[model], 4))
            ),
            table="table",
            column="cosine",
            where={"model": model, "rho": rho},
            published=f"{cosine:g}",
        )
        for (model, rho), cosine in PRINTED.items()
    )


CLAIMS = (
    *_rows(),
    state(
        "success",
        "The conclusion follows for every ρ and both models, also for ρ = 1 (accuracy).",
        Target(least=0.97),
        table="table",
        column="success",
        each=LABELS,
        published="100%",
    ),
    *(
        state(
            f"grows-{model.lower()}-{high:g}",
            f"{model}: similarity grows with ρ, from {low:g} to {high:g} (difference).",
            Target(least=0.0),
            table="table",
            column="cosine",
            where={"model": model, "rho": high},
            minus={"model": model, "rho": low},
            published=f"{PRINTED[model, high] - PRINTED[model, low]:.4f}",
        )
        for model in (ONE_LAYER, GPT)
        for low, high in ((1.0, 3.0), (3.0, 5.0))
    ),
    ours(
        "predicted-from-facts",
        "The one-layer similarity is what the linear regime predicts from the facts, for every ρ: "
        "absolute error.",
        Target(most=0.02),
        table="predicted",
        column="error",
        each=("rho",),
    ),
    ours(
        "predicted-closed-form",
        "It is what the closed form predicts, for every ρ: absolute error.",
        Target(most=0.02),
        table="predicted",
        column="closed_form_error",
        each=("rho",),
    ),
)

FIGURES = (
    Figure(
        id="rho",
        kind="lines",
        title="Similarity over ρ, measured, published and predicted",
        caption=(
            "The one-layer prediction needs the facts alone. The conclusion follows for every ρ: "
            "a cosine of two thirds is already enough."
        ),
        sources=("shown",),
        options={
            "x": "rho",
            "y": "similarity",
            "series": "what",
            "facet": "model",
            "x_label": "ρ, copies of the similarity premise",
            "y_label": "cosine of the two entities",
            "y_limits": [0.5, 1.0],
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="The more often the similarity is told, the more alike the entities",
    paper=PAPER,
    place="Table 4, appendix B",
    summary=(
        "Trains both models jointly with 1, 3 and 5 copies of the similarity premise for each "
        "attribution, and compares the similarity of the entities with the printed one and with "
        "what the facts predict."
    ),
    scales={
        "smoke": Settings(
            n=4,
            one_layer=OneLayerTraining(
                model=OneLayerConfig(width=32, mlp="folded"), attention=5, mlp=10
            ),
            gpt=GPTTraining(model=GPTConfig(layers=2, width=16, tied=False), steps=10),
        ),
        "cpu": Settings(),
        "paper": Settings(
            gpt=GPTTraining(model=GPTConfig(layers=12, width=768, heads=12, tied=False), rate=1e-4)
        ),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 8},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *OURS,
        "ρ = 1, 3, 5: the text lost the values; the closed form gives the printed one-layer "
        "similarities at these. Stage 2 takes 3000 steps: at 500 the last 2% of ρ = 5 are open.",
    ),
)
