"""The demonstration: in a minute, what identity does to two-hop reasoning."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.models.gpt import GPTConfig
from inweights.probes import accuracy, templates
from inweights.recipes.claim import Statement, Target
from inweights.recipes.derived import compositions
from inweights.recipes.identity_bridge.common import (
    OURS,
    PAPER,
    SOURCE,
    EmbMLPTraining,
    GPTTraining,
    condition,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.training.curriculum import Phase
from inweights.worlds.two_hop import TwoHop

__all__ = ["RECIPE", "Settings"]

NAME = "demo/two-hop"


class Settings(Config):
    """Settings of the demonstration.

    Attributes:
        n: Subjects and objects ``N``.
        models: Conditions, as in Figure 2.
        every: Steps between measurements.
        gpt: The GPT.
        emb_mlp: The Emb-MLP.
    """

    n: int = 20
    models: tuple[str, ...] = ("emb-mlp", "gpt-small")
    every: int = 10
    gpt: GPTTraining = GPTTraining()
    emb_mlp: EmbMLPTraining = EmbMLPTraining(steps=2000)


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Emb-MLP and a GPT, with and without identity."""
    trials = []
    for name in settings.models:
        model, curriculum = condition(name, settings.gpt, settings.emb_mlp)
        for identity in (True, False):
            trials += [
                Trial(
                    labels={"model": name, "identity": identity},
                    world=TwoHop(n=settings.n, identity=identity),
                    model=model,
                    curriculum=curriculum,
                    seed=seed,
                )
                for seed in seeds
            ]
    measures = [
        Measure(name="accuracy", probe=accuracy),
        Measure(
            name="curves",
            probe=accuracy,
            every=settings.every,
            where={"model": settings.models[-1]},
        ),
        Measure(
            name="two_hop",
            probe=templates,
            options={"rows": "composition"},
            where={"model": "emb-mlp"},
            first_seed=True,
        ),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Curves of recall and composition, and the two panels of templates."""
    given = pl.when(pl.col("identity")).then(pl.lit("with b → b")).otherwise(pl.lit("without"))
    names = {
        "first_hop": "(a, r1) → b",
        "second_hop": "(b, r2) → c",
        "composition": "(a, r1, r2) → c, never trained",
    }
    curves = tables["curves"].filter(pl.col("role").is_in(list(names)))
    return {
        "compositions": compositions(tables["accuracy"]),
        "learning": curves.with_columns(
            bridge=given, asked=pl.col("role").replace_strict(names, default=None)
        ),
        "panels": tables["two_hop"].with_columns(panel=given),
    }


state = Statement(NAME, source=SOURCE, place="Fig. 2, §4.1")

CLAIMS = (
    state(
        "with-identity",
        "With b → b the model answers (a, r1, r2), which it never saw.",
        Target(least=0.9),
        table="compositions",
        column="accuracy",
        where={"identity": True},
        each=("model",),
    ),
    state(
        "without-identity",
        "Without b → b the same model, knowing the same facts, does not.",
        Target(most=0.15),
        table="compositions",
        column="accuracy",
        where={"identity": False},
        each=("model",),
    ),
)

FIGURES = (
    Figure(
        id="learning",
        kind="lines",
        title="One extra kind of fact, b → b, unlocks composition",
        caption=(
            "A small GPT learns first hops and second hops. With the identities b → b among its "
            "facts it answers two-hop questions that it never saw; without them it knows every "
            "fact and answers none. Mean over fresh seeds, 95% interval."
        ),
        sources=("learning",),
        options={
            "x": "step",
            "y": "accuracy",
            "series": "asked",
            "facet": "bridge",
            "x_label": "training step",
            "y_label": "accuracy",
            "y_limits": [0, 1],
        },
    ),
    Figure(
        id="templates",
        kind="heatmaps",
        title="Why: Emb-MLP's logits for every unseen question",
        caption=(
            "Rows are questions (a, r1, r2), columns outputs; red boxes mark the answer given. "
            "With identities the diagonal on the objects c wins."
        ),
        sources=("panels",),
        options={
            "panel": "panel",
            "row": "row",
            "column": "column",
            "value": "value",
            "box": "top",
            "column_group": "column_group",
            "value_label": "logit, centred by row",
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="The identity bridge in a minute",
    paper=PAPER,
    place="Figures 2 and 3",
    summary=(
        "Teaches Emb-MLP and a small GPT the facts (a, r1) → b and (b, r2) → c, with and without "
        "the identities b → b, and asks them (a, r1, r2), which they never saw."
    ),
    scales={
        "smoke": Settings(
            n=4,
            every=2,
            gpt=GPTTraining(
                model=GPTConfig(tied=False, layers=2, width=16),
                phase=Phase(steps=4, random_offset=True),
            ),
            emb_mlp=EmbMLPTraining(steps=20),
        ),
        "cpu": Settings(),
        "paper": Settings(),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=OURS,
)
