"""Ours: two-hop success and similarity over the fraction of bridges that have an identity."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.models.gpt import GPTConfig
from inweights.models.one_layer import OneLayerConfig
from inweights.probes import accuracy, margins, resemblance
from inweights.probes.predicted_similarity import predicted_similarity
from inweights.recipes.claim import Statement, Target
from inweights.recipes.derived import memorised
from inweights.recipes.feature_resemblance.common import (
    GPT,
    ONE_LAYER,
    OURS,
    GPTTraining,
    OneLayerTraining,
    phase_roles,
)
from inweights.recipes.recipe import Deduction, Figure, Measure, Plan, Recipe, Trial
from inweights.worlds.analogy import AnalogicalTwoHop

__all__ = ["RECIPE", "Settings"]

NAME = "beyond/partial-identity"
#: A chain is foreseen to be answered where the predicted cosine of its entities is above this.
HALF = 0.5


class Settings(Config):
    """Settings of the experiment.

    Attributes:
        n: Number of chains.
        rho: Copies of first hop and identity for each second hop.
        fractions: Fractions of the bridges that have an identity, drawn by the seed.
        one_layer: Training of the one-layer transformer.
        gpt: Training of the GPT.
    """

    n: int = 100
    rho: float = 3.0
    fractions: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    one_layer: OneLayerTraining = OneLayerTraining()
    gpt: GPTTraining = GPTTraining()


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Both models on every fraction, and what the facts say of each chain before."""
    one = settings.one_layer
    trials, deductions = [], []
    for fraction in settings.fractions:
        course = "two-hop" if fraction > 0 else "two-hop without identity"
        world = AnalogicalTwoHop(n=settings.n, identity=fraction, maps="permutation")
        for seed in seeds:
            trials += [
                Trial(
                    labels={"model": name, "fraction": fraction},
                    world=world,
                    model=training.model,
                    curriculum=training.curriculum(course, settings.rho),
                    seed=seed,
                )
                for name, training in ((ONE_LAYER, one), (GPT, settings.gpt))
            ]
            deductions.append(
                Deduction(
                    name="foretold",
                    labels={"fraction": fraction},
                    seed=seed,
                    compute=predicted_similarity,
                    options={
                        "world": world,
                        "roles": phase_roles(course, settings.rho)[0],
                        "seed": seed,
                        "model": one.model,
                        "rate": one.rate,
                        "steps": one.attention,
                        "by_pair": True,
                    },
                    effort=20,
                )
            )
    measures = [
        Measure(name="accuracy", probe=accuracy),
        Measure(name="resemblance", probe=resemblance, options={"by_pair": True}),
        Measure(name="margins", probe=margins),
    ]
    return Plan(trials=trials, deductions=deductions, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Join what was foretold of each chain with what was learnt of it."""
    keys = ["model", "fraction", "seed", "one"]
    asked = tables["margins"].select(
        *keys[:3],
        pl.col("prompt").str.split(" ").list.first().alias("one"),
        hit=(pl.col("margin") > 0).cast(pl.Float64),
    )
    chains = (
        tables["resemblance"]
        .select(*keys, "cosine")
        .join(asked, on=keys)
        .join(tables["foretold"].drop("two"), on=keys[1:])
        .with_columns(
            chain=pl.when(pl.col("from_facts") > HALF)
            .then(pl.lit("with identity"))
            .otherwise(pl.lit("without")),
            error=(pl.col("cosine") - pl.col("from_facts")).abs(),
            agrees=((pl.col("from_facts") > HALF) == (pl.col("hit") > 0.5)).cast(pl.Float64),
        )
    )
    means = (pl.col("cosine", "hit", "from_facts", "agrees").mean(),)
    worlds = chains.group_by(keys[:3], maintain_order=True).agg(
        *means,
        off=(pl.col("cosine").mean() - pl.col("from_facts").mean()).abs(),
        gap=(pl.col("hit").mean() - pl.col("fraction").first()).abs(),
    )
    sides = chains.group_by([*keys[:3], "chain"], maintain_order=True).agg(*means)
    return {
        "chains": chains,
        "worlds": worlds,
        "sides": sides,
        "shown": worlds.unpivot(
            ["hit", "cosine"], index=[*keys[:3], "from_facts"], variable_name="column"
        ),
        "memorised": memorised(tables["accuracy"], ("model", "fraction")),
    }


state = Statement(NAME, source="ours", place="beyond the paper")

CLAIMS = (
    state(
        "share-answered",
        "The share of chains that are answered is the fraction with an identity: absolute "
        "difference.",
        Target(most=0.03),
        table="worlds",
        column="gap",
        each=("model", "fraction"),
    ),
    state(
        "given-answered",
        "A chain with an identity is answered, however few others have one (accuracy).",
        Target(least=0.97),
        table="sides",
        column="hit",
        where={"chain": "with identity"},
        each=("model", "fraction"),
    ),
    state(
        "others-not",
        "A chain without one is not, however many others have one: identity is not learnt as a "
        "rule (accuracy).",
        Target(most=0.05),
        table="sides",
        column="hit",
        where={"chain": "without"},
        each=("model", "fraction"),
    ),
    state(
        "each-chain-foreseen",
        "The cosine predicted from the facts tells which chains are answered: share where a "
        "cosine above one half and a right answer agree.",
        Target(least=0.97),
        table="worlds",
        column="agrees",
        each=("model", "fraction"),
    ),
    state(
        "similarity-predicted",
        "The mean similarity of the one-layer transformer is the predicted one: absolute error.",
        Target(most=0.02),
        table="worlds",
        column="off",
        where={"model": ONE_LAYER},
        each=("fraction",),
    ),
    state(
        "memorised",
        "All facts are known, so that the comparison is fair: accuracy on the worst role.",
        Target(least=0.97),
        table="memorised",
        column="accuracy",
        each=("model", "fraction"),
    ),
)

FIGURES = (
    Figure(
        id="fraction",
        kind="lines",
        title="Two-hop success and similarity over the fraction of identities",
        caption=(
            "Mean over all chains. Both follow the fraction: an identity helps its own chain and "
            "no other. Dashed: the mean cosine that is predicted from the facts, before training."
        ),
        sources=("shown",),
        options={
            "x": "fraction",
            "y": "value",
            "series": "model",
            "facet": "column",
            "reference": {"column": "from_facts", "label": "cosine predicted from the facts"},
            "labels": {"hit": "share of chains answered", "cosine": "cosine of the entities"},
            "x_label": "fraction of bridges with an identity",
            "y_label": "mean over chains",
            "y_limits": [0.0, 1.0],
        },
    ),
    Figure(
        id="sides",
        kind="lines",
        title="Success of the chains that have an identity, and of those that have none",
        caption="The bridge is local: no fraction of the others helps a chain without identity.",
        sources=("sides",),
        options={
            "x": "fraction",
            "y": "hit",
            "series": "chain",
            "facet": "model",
            "x_label": "fraction of bridges with an identity",
            "y_label": "accuracy",
            "y_limits": [0.0, 1.0],
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="An identity helps its own chain and no other",
    paper="inweights",
    place="ours",
    summary=(
        "Gives a fraction of the bridges an identity and trains both models on the two-hop world "
        "of Feature Resemblance. Which chains are answered is predicted from the facts."
    ),
    scales={
        "smoke": Settings(
            n=4,
            fractions=(0.5,),
            one_layer=OneLayerTraining(
                model=OneLayerConfig(width=32, mlp="folded"), attention=5, mlp=10
            ),
            gpt=GPTTraining(model=GPTConfig(layers=2, width=16, tied=False), steps=10),
        ),
        "cpu": Settings(),
        "paper": Settings(fractions=tuple(i / 10 for i in range(11))),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 8},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=("Everything: the paper gives all identities or none.", *OURS),
)
