"""Ours: does the margin at the optimum of program (2) predict what trained models answer?"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import accuracy, margins
from inweights.recipes.calibration import agreement, reliability, roc_auc
from inweights.recipes.claim import Statement, Target
from inweights.recipes.derived import memorised
from inweights.recipes.identity_bridge.common import EmbMLPTraining, GPTTraining
from inweights.recipes.recipe import (
    Deduction,
    Figure,
    Measure,
    ModelConfig,
    Plan,
    Recipe,
    Trial,
    WorldConfig,
)
from inweights.theory import predicted_queries
from inweights.training.curriculum import Curriculum
from inweights.worlds.triples import Triples
from inweights.worlds.two_hop import TwoHop

__all__ = ["RECIPE", "Settings"]

NAME = "beyond/predicted-composition"
MODELS = ("Emb-MLP", "GPT")


class Settings(Config):
    """Settings of the calibration.

    Attributes:
        n: ``N`` of the two-hop worlds.
        complexities: Complexities of the worlds of permuted maps.
        sampled: Numbers of first relations of the worlds whose hops are drawn at random.
        identities: Fractions of the bridges with an identity.
        knowledge: Sets of real facts.
        emb_mlp: Training of Emb-MLP.
        gpt: Training of GPT.
    """

    n: int = 10
    complexities: tuple[int, ...] = (1, 2, 3)
    sampled: tuple[int, ...] = (1, 2, 3)
    identities: tuple[float, ...] = (0.0, 0.5, 1.0)
    knowledge: tuple[str, ...] = ("@people", "@chemistry")
    emb_mlp: EmbMLPTraining = EmbMLPTraining(rate=2.0, steps=6000)
    gpt: GPTTraining = GPTTraining()

    def worlds(self) -> dict[tuple[str, float], WorldConfig]:
        """Return all worlds by the name of their family and their fraction of identities."""
        found: dict[tuple[str, float], WorldConfig] = {}
        for share in self.identities:
            for c in self.complexities:
                found[f"permuted, C = {c}", share] = TwoHop(
                    n=self.n, complexity=c, maps="permutation", identity=share
                )
            for slices in self.sampled:
                found[f"sampled, {slices} relations", share] = TwoHop(
                    n=self.n, first_relations=slices, maps="sampled", identity=share
                )
            for path in self.knowledge:
                found[f"real: {path[1:]}", share] = Triples(path=path, identity=share)
        return found


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Predict every query of every world, then train both models on it."""
    gpt = Curriculum(phases=(settings.gpt.phase,))
    models: dict[str, tuple[ModelConfig, Curriculum]] = {
        "Emb-MLP": (settings.emb_mlp.model, settings.emb_mlp.curriculum),
        "GPT": (settings.gpt.model, gpt),
    }
    deductions, trials = [], []
    for (family, share), world in settings.worlds().items():
        labels: dict[str, str | float | bool] = {"world": family, "identity": share}
        for seed in seeds:
            deductions.append(
                Deduction(
                    name="predicted",
                    labels=labels,
                    seed=seed,
                    compute=predicted_queries,
                    options={"world": world, "seed": seed},
                    effort=100,
                )
            )
            trials += [
                Trial(
                    labels={**labels, "model": name},
                    world=world,
                    model=model,
                    curriculum=curriculum,
                    seed=seed,
                )
                for name, (model, curriculum) in models.items()
            ]
    measures = [
        Measure(name="trained", probe=margins),
        Measure(name="accuracy", probe=accuracy),
    ]
    return Plan(deductions=deductions, trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Join what was predicted with what was learnt, query by query."""
    keys = ["world", "identity", "seed", "prompt", "answer"]
    predicted = tables["predicted"].select(
        *keys, "verdict", "expected", pl.col("margin").alias("predicted_margin")
    )
    joined = (
        tables["trained"]
        .join(predicted, on=keys)
        .with_columns(hit=(pl.col("margin") > 0).cast(pl.Float64))
    )
    by_world = joined.group_by("seed", "model", "world", "identity", maintain_order=True).agg(
        pl.col("hit").mean(), pl.col("expected").mean()
    )
    by_world = by_world.with_columns(error=(pl.col("hit") - pl.col("expected")).abs())
    agree = agreement(joined, ("seed", "model", "world", "identity"))
    whole = pl.col("identity").is_in([0.0, 1.0])
    paper = agree.filter(pl.col("world") == "permuted, C = 1").with_columns(
        identities=pl.when(whole).then(pl.lit("all or none")).otherwise(pl.lit("some"))
    )
    return {
        "complexity_one": paper,
        "queries": joined,
        "auc": roc_auc(joined, "predicted_margin", "hit", ("seed", "model")),
        "auc_by_world": roc_auc(joined, "predicted_margin", "hit", ("seed", "model", "world")),
        "agreement": agree,
        "reliability": reliability(joined, ("seed", "model")),
        "by_world": by_world,
        "memorised": memorised(tables["accuracy"], ("model", "world", "identity")),
    }


state = Statement(NAME, source="ours", place="beyond the paper")

CLAIMS = (
    state(
        "complexity-one",
        "On the worlds of Identity Bridge at C = 1, with all identities or none, the prediction "
        "agrees with training on every query.",
        Target(least=0.999),
        table="complexity_one",
        column="agrees",
        where={"identities": "all or none"},
        each=("model", "identity"),
    ),
    state(
        "complexity-one-half",
        "It does so too where half of the bridges have an identity.",
        Target(least=0.999),
        table="complexity_one",
        column="agrees",
        where={"identities": "some"},
        each=("model", "identity"),
    ),
    state(
        "auc-emb-mlp",
        "Over all worlds the predicted margin tells what Emb-MLP answers (area under the ROC).",
        Target(least=0.9),
        table="auc",
        column="auc",
        where={"model": "Emb-MLP"},
    ),
    state(
        "auc-gpt",
        "Over all worlds it tells what GPT answers (area under the ROC curve).",
        Target(least=0.8),
        table="auc",
        column="auc",
        where={"model": "GPT"},
    ),
    state(
        "expected-accuracy",
        "The expected accuracy of a world is that of Emb-MLP: mean absolute error.",
        Target(most=0.1),
        table="by_world",
        column="error",
        where={"model": "Emb-MLP"},
    ),
    state(
        "expected-accuracy-gpt",
        "The expected accuracy of a world is that of GPT: mean absolute error.",
        Target(most=0.15),
        table="by_world",
        column="error",
        where={"model": "GPT"},
    ),
    state(
        "memorised",
        "All facts were memorised, so that the comparison is fair: accuracy on the worst role.",
        Target(least=0.99),
        table="memorised",
        column="accuracy",
        each=("model",),
    ),
)

FIGURES = (
    Figure(
        id="reliability",
        kind="lines",
        title="How often a query is answered, by the margin that was predicted",
        caption=(
            "Queries of all worlds, in bins of the margin at the optimum (the facts have 1). A "
            "perfect prediction would be a step from 0 to 1 at a margin of 0."
        ),
        sources=("reliability",),
        options={
            "x": "predicted_margin",
            "y": "hit",
            "series": "model",
            "x_label": "predicted margin",
            "y_label": "share answered rightly after training",
            "y_limits": [0.0, 1.0],
        },
    ),
    Figure(
        id="accuracy",
        kind="lines",
        title="Accuracy after training, and what was expected before it",
        caption=(
            "Mean accuracy of the queries by the fraction of bridges with an identity. Dashed: the "
            "expected accuracy, from the facts alone."
        ),
        sources=("by_world",),
        options={
            "x": "identity",
            "y": "hit",
            "series": "model",
            "facet": "world",
            "reference": {"column": "expected", "label": "expected"},
            "x_label": "fraction of bridges with an identity",
            "y_label": "accuracy",
            "y_limits": [0.0, 1.0],
        },
    ),
    Figure(
        id="auc",
        kind="lines",
        title="Where the prediction breaks",
        caption=(
            "Area under the ROC curve by family of worlds, in the order of the figure above. It is "
            "worst where the objects of a subject tie, and for GPT where the facts are real."
        ),
        sources=("auc_by_world",),
        options={
            "x": "place",
            "y": "auc",
            "series": "model",
            "x_label": "1-3: permuted, C = 1-3; 4-6: sampled, 1-3 relations; 7, 8: real facts",
            "y_label": "area under the ROC curve",
            "y_limits": [0.5, 1.0],
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Which unseen questions will be answered, predicted before training",
    paper="inweights",
    place="ours",
    summary=(
        "Predicts every query of random two-hop worlds and of two sets of real facts from the "
        "optimum of program (2), then trains Emb-MLP and GPT on the facts and compares."
    ),
    scales={
        "smoke": Settings(
            n=4,
            complexities=(1,),
            sampled=(2,),
            identities=(0.5,),
            knowledge=(),
            emb_mlp=EmbMLPTraining(rate=2.0, steps=60, width=16),
        ),
        "cpu": Settings(),
        "paper": Settings(n=30, complexities=(1, 2, 3, 4, 5), identities=(0, 0.25, 0.5, 0.75, 1)),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 10},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "Everything here: no paper predicts single queries.",
        "The trainings are those of identity-bridge/fig2; Emb-MLP at rate 2 for 6000 steps.",
    ),
)
