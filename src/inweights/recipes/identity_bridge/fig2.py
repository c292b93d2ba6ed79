"""Figure 2 of Identity Bridge: accuracy on unseen compositions against the world's complexity."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import accuracy
from inweights.recipes.claim import Statement, Target
from inweights.recipes.derived import compositions, excess, memorised
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

NAME = "identity-bridge/fig2"
LABELS = ("model", "identity", "complexity")


class Settings(Config):
    """Settings of Figure 2.

    Attributes:
        n: Subjects and objects ``N``.
        complexities: Values of ``C``.
        models: Conditions: ``emb-mlp``, ``gpt``, ``gpt-small``, ``gpt-decay``.
        gpt: The GPTs.
        emb_mlp: The Emb-MLP.
    """

    n: int = 20
    complexities: tuple[int, ...] = (1, 2, 3, 4, 5)
    models: tuple[str, ...] = ("emb-mlp", "gpt", "gpt-small", "gpt-decay")
    gpt: GPTTraining = GPTTraining()
    emb_mlp: EmbMLPTraining = EmbMLPTraining()


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Every model, complexity and seed, with and without identity."""
    trials = []
    for complexity in settings.complexities:
        for identity in (True, False):
            for name in settings.models:
                model, curriculum = condition(name, settings.gpt, settings.emb_mlp)
                world = TwoHop(n=settings.n, complexity=complexity, identity=identity)
                labels = {"model": name, "identity": identity, "complexity": complexity}
                trials += [
                    Trial(labels=labels, world=world, model=model, curriculum=curriculum, seed=seed)
                    for seed in seeds
                ]
    return Plan(trials=trials, measures=[Measure(name="accuracy", probe=accuracy)])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Accuracy on compositions with the 1/C line, its excess over it, and recall of the facts."""
    queries = compositions(tables["accuracy"]).with_columns(one_over_c=1.0 / pl.col("complexity"))
    given = (
        pl.when(pl.col("identity"))
        .then(pl.lit("with identity"))
        .otherwise(pl.lit("without identity"))
    )
    return {
        "compositions": queries.with_columns(bridge=given),
        "excess": excess(queries),
        "excess_among": excess(queries, "accuracy_among"),
        "memorised": memorised(tables["accuracy"], LABELS),
    }


state = Statement(NAME, source=SOURCE, place="Fig. 2, §4.1")


def _gpt(model: str, complexity: int | None = None) -> dict[str, str | float | bool]:
    where: dict[str, str | float | bool] = {"model": model, "identity": True}
    return where if complexity is None else {**where, "complexity": complexity}


_ALL = "argmax over all outputs"
_AMONG = "argmax among the objects"

CLAIMS = (
    state(
        "non-zero-gpt",
        f"With identity GPT-2 composes out of distribution at every complexity ({_ALL}).",
        Target(least=0.05),
        table="compositions",
        column="accuracy",
        where=_gpt("gpt"),
        each=("complexity",),
    ),
    state(
        "non-zero-gpt-small",
        f"With identity small-initialisation GPT-2 composes at every complexity ({_ALL}).",
        Target(least=0.05),
        table="compositions",
        column="accuracy",
        where=_gpt("gpt-small"),
        each=("complexity",),
    ),
    state(
        "non-zero-emb-mlp",
        f"With identity Emb-MLP composes at every complexity ({_ALL}).",
        Target(least=0.05),
        table="compositions",
        column="accuracy",
        where=_gpt("emb-mlp"),
        each=("complexity",),
    ),
    state(
        "non-zero-emb-mlp-among",
        f"With identity Emb-MLP composes at every complexity ({_AMONG}; chance is 1/N).",
        Target(least=0.1),
        table="compositions",
        column="accuracy_among",
        where=_gpt("emb-mlp"),
        each=("complexity",),
    ),
    state(
        "c1-emb-mlp",
        "At C = 1 Emb-MLP does well.",
        Target(least=0.99),
        table="compositions",
        column="accuracy",
        where=_gpt("emb-mlp", 1),
    ),
    state(
        "c1-gpt",
        "At C = 1 GPT-2 does well.",
        Target(least=0.9),
        table="compositions",
        column="accuracy",
        where=_gpt("gpt", 1),
    ),
    state(
        "c1-gpt-small",
        "At C = 1 small-initialisation GPT-2 does well.",
        Target(least=0.95),
        table="compositions",
        column="accuracy",
        where=_gpt("gpt-small", 1),
    ),
    state(
        "c2-gpt",
        "At C = 2 GPT-2 has fallen: neither failure nor mastery.",
        Target(least=0.35, most=0.75),
        table="compositions",
        column="accuracy",
        where=_gpt("gpt", 2),
    ),
    state(
        "falls-emb-mlp",
        f"Accuracy of Emb-MLP falls with C: from C = 1 to C = 5 by more than half ({_AMONG}).",
        Target(least=0.5),
        table="compositions",
        column="accuracy_among",
        where=_gpt("emb-mlp", 1),
        minus=_gpt("emb-mlp", 5),
    ),
    state(
        "falls-gpt",
        "Accuracy of GPT-2 falls with C: from C = 1 to C = 5 by more than half.",
        Target(least=0.5),
        table="compositions",
        column="accuracy",
        where=_gpt("gpt", 1),
        minus=_gpt("gpt", 5),
    ),
    state(
        "together",
        f"GPT-2 and Emb-MLP fall together: they differ by at most .2 at every C ({_AMONG}).",
        Target(least=-0.2, most=0.2),
        table="compositions",
        column="accuracy_among",
        where=_gpt("gpt"),
        minus=_gpt("emb-mlp"),
        each=("complexity",),
    ),
    state(
        "emb-mlp-one-over-c",
        f"Emb-MLP is at 1/C for C = 2 to 5 ({_AMONG}), as ties in the theory predict.",
        Target(least=-0.1, most=0.1),
        table="excess_among",
        column="excess",
        where=_gpt("emb-mlp"),
        each=("complexity",),
    ),
    state(
        "small-above-one-over-c",
        "Small initialisation exceeds 1/C at every C from 2 to 5.",
        Target(least=0.0),
        table="excess",
        column="excess",
        where=_gpt("gpt-small"),
        each=("complexity",),
        published="> 1/C",
    ),
    state(
        "small-c2",
        "Small initialisation at C = 2.",
        Target(least=0.75),
        table="compositions",
        column="accuracy",
        where=_gpt("gpt-small", 2),
    ),
    state(
        "small-c3",
        "Small initialisation at C = 3.",
        Target(least=0.6),
        table="compositions",
        column="accuracy",
        where=_gpt("gpt-small", 3),
    ),
    state(
        "small-degrades-slower",
        "Small initialisation degrades more slowly: at C = 2 it is above the standard one.",
        Target(least=0.15),
        table="compositions",
        column="accuracy",
        where=_gpt("gpt-small", 2),
        minus=_gpt("gpt", 2),
    ),
    state(
        "decay-recovers",
        "Weight decay recovers accuracy at high complexity (C = 3), compared with standard GPT-2.",
        Target(least=0.05),
        table="compositions",
        column="accuracy",
        where=_gpt("gpt-decay", 3),
        minus=_gpt("gpt", 3),
        place="§4.4",
    ),
    state(
        "without-identity-fails",
        f"Without identity composition fails, for every model and complexity ({_ALL}).",
        Target(most=0.15),
        table="compositions",
        column="accuracy",
        where={"identity": False},
        each=("model", "complexity"),
    ),
    state(
        "facts-known",
        "All facts are memorised, with and without identity, so that failure is not ignorance.",
        Target(least=0.99),
        table="memorised",
        column="accuracy",
        where={},
        each=LABELS,
    ),
)

FIGURES = (
    Figure(
        id="accuracy",
        kind="lines",
        title="Unseen compositions against complexity",
        caption=(
            "Share of out-of-distribution queries (e1, r1, r2) answered right, the largest logit "
            "over all outputs. Mean over fresh seeds, 95% interval; the dashed line is 1/C."
        ),
        sources=("compositions",),
        options={
            "x": "complexity",
            "y": "accuracy",
            "series": "model",
            "facet": "bridge",
            "reference": {"column": "one_over_c", "label": "1/C"},
            "x_label": "complexity C",
            "y_label": "accuracy, all outputs",
            "y_limits": [0, 1],
        },
    ),
    Figure(
        id="accuracy-among",
        kind="lines",
        title="The same, among the objects only",
        caption=(
            "Share of queries whose right object has the largest logit among the objects. The "
            "difference to the figure above is mass on bridges: the model stops half-way."
        ),
        sources=("compositions",),
        options={
            "x": "complexity",
            "y": "accuracy_among",
            "series": "model",
            "facet": "bridge",
            "reference": {"column": "one_over_c", "label": "1/C"},
            "x_label": "complexity C",
            "y_label": "accuracy, among objects",
            "y_limits": [0, 1],
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Identity unlocks unseen compositions, less so as complexity grows",
    paper=PAPER,
    place="Figure 2, §4.1",
    summary=(
        "Trains Emb-MLP and GPT-2 (standard and small initialisation, weight decay) on first hops "
        "(e1, r1) → e2 and second hops (e2, r2) → e3, with and without the identities e2 → e2, in "
        "worlds where a subject reaches C objects; then asks (e1, r1, r2), which was never trained."
    ),
    scales={
        "smoke": Settings(
            n=4,
            complexities=(1, 2),
            gpt=GPTTraining(phase=Phase(steps=4, random_offset=True)),
            emb_mlp=EmbMLPTraining(steps=20),
        ),
        "cpu": Settings(),
        "paper": Settings(complexities=(1, 2, 3, 4, 5, 6, 7, 8)),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=OURS,
)
