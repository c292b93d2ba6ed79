"""Ours: how much similarity must be told before the attribution is closed?"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.models.gpt import GPTConfig
from inweights.models.one_layer import OneLayerConfig
from inweights.probes import accuracy, resemblance
from inweights.probes.predicted_similarity import predicted_similarity
from inweights.recipes.claim import Statement, Target
from inweights.recipes.derived import compositions
from inweights.recipes.feature_resemblance.common import (
    GPT,
    ONE_LAYER,
    OURS,
    GPTTraining,
    OneLayerTraining,
    world_of,
)
from inweights.recipes.recipe import Deduction, Figure, Measure, Plan, Recipe, Trial

__all__ = ["RECIPE", "Settings"]

NAME = "beyond/curriculum-map"
LABELS = ("model", "share", "rehearsed")


class Settings(Config):
    """Settings of the map.

    Attributes:
        n: Number of tuples.
        shares: How often ``(b, r1) → c`` counts in phase 1, where every other fact counts once: 0
            is AS, 1 tells everything in phase 1.
        one_layer: Training of the one-layer transformer.
        gpt: Training of the GPT, which stops at the losses of AS.
    """

    n: int = 50
    shares: tuple[float, ...] = (0.0, 0.03, 0.1, 0.3, 1.0)
    one_layer: OneLayerTraining = OneLayerTraining()
    gpt: GPTTraining = GPTTraining()


def parts(share: float, *, rehearsed: bool) -> tuple[dict[str, float], dict[str, float]]:
    """Return what both phases train: some similarity with the attribution, then similarity.

    Example:
        >>> parts(0.1, rehearsed=True)
        ({'category': 1.0, 'attribution': 1.0, 'similarity': 0.1}, {'similarity': 1.0, \
'attribution': 1.0})
    """
    first = {"category": 1.0, "attribution": 1.0}
    late = {"similarity": 1.0}
    return (
        first | ({"similarity": share} if share > 0 else {}),
        late | ({"attribution": 1.0} if rehearsed else {}),
    )


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Every share, with and without rehearsal of the attribution, by both models."""
    one, gpt, world = settings.one_layer, settings.gpt, world_of("AS", settings.n)
    trials = []
    for share in settings.shares:
        for rehearsed in (False, True):
            told = parts(share, rehearsed=rehearsed)
            ways = (
                (ONE_LAYER, one.model, one.phases(told, one.late["AS"])),
                (GPT, gpt.model, gpt.phases(told, gpt.losses["AS"], (gpt.rate, gpt.rate))),
            )
            trials += [
                Trial(
                    labels={"model": name, "share": share, "rehearsed": rehearsed},
                    world=world,
                    model=model,
                    curriculum=curriculum,
                    seed=seed,
                )
                for name, model, curriculum in ways
                for seed in seeds
            ]
    deductions = [
        Deduction(
            name="foretold",
            labels={"model": ONE_LAYER, "share": share},
            seed=seed,
            compute=predicted_similarity,
            options={
                "world": world,
                "roles": parts(share, rehearsed=False)[0],
                "seed": seed,
                "model": one.model,
                "rate": one.rate,
                "steps": one.attention,
            },
            effort=20,
        )
        for share in settings.shares
        for seed in seeds
    ]
    measures = [
        Measure(name="accuracy", probe=accuracy),
        Measure(name="resemblance", probe=resemblance),
    ]
    return Plan(trials=trials, deductions=deductions, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Success, similarity, what is kept of the attribution, and the predicted similarity."""
    keys = [*LABELS, "seed"]
    success = compositions(tables["accuracy"]).select(*keys, success="accuracy")
    kept = tables["accuracy"].filter(pl.col("role") == "attribution")
    table = (
        tables["resemblance"]
        .select(*keys, "cosine", "other")
        .join(success, on=keys)
        .join(kept.select(*keys, attribution="accuracy"), on=keys)
        .join(tables["foretold"], on=["model", "share", "seed"], how="left")
        .with_columns(
            error=(pl.col("cosine") - pl.col("from_facts")).abs(),
            phase_2=pl.when(pl.col("rehearsed"))
            .then(pl.lit("attribution rehearsed in phase 2"))
            .otherwise(pl.lit("similarity alone in phase 2")),
        )
    )
    shown = table.rename({"cosine": "similarity"}).unpivot(
        ["success", "similarity", "attribution"],
        index=[*keys, "phase_2"],
        variable_name="column",
    )
    return {
        "table": table,
        "predicted": table.filter(pl.col("from_facts").is_not_null()),
        "shown": shown.with_columns(panel=pl.format("{}: {}", "model", "column")),
    }


state = Statement(NAME, source="ours", place="beyond the paper")

CLAIMS = (
    state(
        "similarity-predicted",
        "The one-layer similarity is the predicted one, however much similarity is told in phase "
        "1: absolute error.",
        Target(most=0.02),
        table="predicted",
        column="error",
        each=("share", "rehearsed"),
    ),
    state(
        "one-layer-needs-it-first",
        "One-layer: with no similarity in phase 1 the conclusion fails, whether or not the "
        "attribution is rehearsed (accuracy).",
        Target(most=0.1),
        table="table",
        column="success",
        where={"model": ONE_LAYER, "share": 0.0},
        each=("rehearsed",),
    ),
    state(
        "one-layer-with-it",
        "One-layer: with all of it in phase 1 the conclusion outlives the second phase (accuracy).",
        Target(least=0.9),
        table="table",
        column="success",
        where={"model": ONE_LAYER, "share": 1.0},
        each=("rehearsed",),
    ),
    state(
        "one-layer-little-is-too-little",
        "One-layer: a tenth of it is not enough (accuracy).",
        Target(most=0.5),
        table="table",
        column="success",
        where={"model": ONE_LAYER, "share": 0.1},
        each=("rehearsed",),
    ),
    state(
        "gpt-forgets",
        "GPT: unless it is rehearsed the attribution itself is forgotten in phase 2, however much "
        "similarity came before (accuracy of (a, r2) → d).",
        Target(most=0.2),
        table="table",
        column="attribution",
        where={"model": GPT, "rehearsed": False},
        each=("share",),
    ),
    state(
        "gpt-fails-by-forgetting",
        "GPT: and then the conclusion fails even where phase 1 told everything (accuracy).",
        Target(most=0.05),
        table="table",
        column="success",
        where={"model": GPT, "rehearsed": False},
        each=("share",),
    ),
    state(
        "gpt-reversed-but-rehearsed",
        "GPT: in the order AS with the attribution rehearsed, the conclusion follows for a third "
        "of the tuples or more (accuracy): the reversed order alone does not forbid it.",
        Target(least=0.33),
        table="table",
        column="success",
        where={"model": GPT, "rehearsed": True, "share": 0.0},
    ),
    state(
        "gpt-little-is-enough",
        "GPT: with rehearsal a tenth of the similarity in phase 1 is enough (accuracy).",
        Target(least=0.95),
        table="table",
        column="success",
        where={"model": GPT, "rehearsed": True, "share": 0.1},
    ),
)

FIGURES = (
    Figure(
        id="map",
        kind="sweeps",
        title="Success, similarity and what is kept, by how much similarity came first",
        caption=(
            "Across: how often (b, r1) → c counts in phase 1, from none (AS) to all. The "
            "one-layer transformer, whose value matrix is frozen in phase 2, needs all of it; the "
            "GPT fails because it forgets the attribution, and hardly at all where it rehearses."
        ),
        sources=("shown",),
        options={
            "axis": "panel",
            "value": "share",
            "y": "value",
            "series": "phase_2",
            "y_label": "accuracy; cosine",
            "y_limits": [0.0, 1.0],
            "columns": 3,
            "order": [
                f"{model}: {column}"
                for model in (ONE_LAYER, GPT)
                for column in ("success", "similarity", "attribution")
            ],
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="How much similarity must come before the attribution",
    paper="inweights",
    place="ours",
    summary=(
        "Between AS and the joint course: phase 1 tells categories, attributions and a share of "
        "the similarity premise, phase 2 the similarity alone, or with the attribution rehearsed. "
        "Tells a wrong order from a forgotten fact."
    ),
    scales={
        "smoke": Settings(
            n=4,
            shares=(0.0, 0.5),
            one_layer=OneLayerTraining(
                model=OneLayerConfig(width=32, mlp="folded"), attention=5, mlp=10, late={"AS": 10}
            ),
            gpt=GPTTraining(model=GPTConfig(layers=2, width=16, tied=False), steps=10),
        ),
        "cpu": Settings(),
        "paper": Settings(n=100, shares=(0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0)),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 8},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("Everything: the paper has AS and the joint course alone. n = 50 tuples.", *OURS),
)
