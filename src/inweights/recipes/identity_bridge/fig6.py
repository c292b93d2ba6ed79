"""Figure 6 of Identity Bridge: geometry of hidden states, layer by layer, at high complexity."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import accuracy, alignment, bridge_projection
from inweights.recipes.claim import Statement, Target
from inweights.recipes.derived import compositions, memorised
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

NAME = "identity-bridge/fig6"


class Settings(Config):
    """Settings of Figure 6.

    Attributes:
        n: Subjects and objects ``N``.
        complexity: ``C``.
        models: Conditions, as in Figure 2.
        gpt: The GPTs.
    """

    n: int = 20
    complexity: int = 3
    models: tuple[str, ...] = ("gpt", "gpt-small", "gpt-decay")
    gpt: GPTTraining = GPTTraining()


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Three GPTs on one world with identity."""
    world = TwoHop(n=settings.n, complexity=settings.complexity)
    trials = []
    for name in settings.models:
        model, curriculum = condition(name, settings.gpt, EmbMLPTraining())
        trials += [
            Trial(labels={"model": name}, world=world, model=model, curriculum=curriculum, seed=s)
            for s in seeds
        ]
    measures = [
        Measure(name="accuracy", probe=accuracy),
        Measure(name="alignment", probe=alignment),
        Measure(name="states", probe=bridge_projection, first_seed=True),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Mean alignment over the blocks, and a note on how far each projection can be trusted."""
    blocks = tables["alignment"].filter(pl.col("layer").str.starts_with("block"))
    trust = pl.format("trustworthiness {}", pl.col("trustworthiness").round(2))
    where = (
        pl.when(pl.col("place") == "first_hop")
        .then(pl.lit("(e1, r1) and (e2)"))
        .otherwise(pl.lit("(e1, r1, r2) and (e2, r2)"))
    )
    return {
        "states": tables["states"].with_columns(note=trust),
        "alignment": tables["alignment"].with_columns(compared=where),
        "by_model": blocks.group_by("model", "seed", "place", maintain_order=True).agg(
            pl.col("cosine", "contrast", "nearest").mean()
        ),
        "compositions": compositions(tables["accuracy"]),
        "memorised": memorised(tables["accuracy"], ("model",)),
    }


state = Statement(NAME, source=SOURCE, place="Fig. 6, §4.4")

CLAIMS = (
    *(
        state(
            f"{short}-tighter",
            f"{words} aligns (e1, r1) with its bridge more tightly across layers than standard "
            "GPT-2 (mean cosine over the blocks, difference).",
            Target(least=0.01),
            table="by_model",
            column="cosine",
            where={"model": name, "place": "first_hop"},
            minus={"model": "gpt", "place": "first_hop"},
        )
        for short, name, words in (
            ("small", "gpt-small", "Small initialisation"),
            ("decay", "gpt-decay", "Weight decay"),
        )
    ),
    *(
        state(
            f"{short}-recovers",
            f"{words} recovers accuracy at high complexity (difference to standard GPT-2).",
            Target(least=0.1),
            table="compositions",
            column="accuracy",
            where={"model": name},
            minus={"model": "gpt"},
            place="§4.4",
        )
        for short, name, words in (
            ("small", "gpt-small", "Small initialisation"),
            ("decay", "gpt-decay", "Weight decay"),
        )
    ),
    *(
        state(
            f"small-tighter-at-answer-{column}",
            "Where the answer is read, small initialisation aligns (e1, r1, r2) with (e2, r2) more "
            f"tightly than standard GPT-2 ({words}, difference).",
            Target(least=0.01),
            table="by_model",
            column=column,
            where={"model": "gpt-small", "place": "query"},
            minus={"model": "gpt", "place": "query"},
            source="ours",
        )
        for column, words in (
            ("cosine", "mean cosine over the blocks"),
            ("contrast", "the same, minus that with other bridges"),
        )
    ),
    state(
        "facts-known",
        "All facts are memorised.",
        Target(least=0.99),
        table="memorised",
        column="accuracy",
        each=("model",),
    ),
)

FIGURES = (
    Figure(
        id="states",
        kind="states",
        title="Hidden states of first hops (circles) and of their bridges (stars)",
        caption=(
            "t-SNE by cosine distance of six pairs through all layers; light is shallow, dark is "
            "deep. One model of each condition, the first seed. A pair is aligned where star and "
            "circle of one hue and depth coincide."
        ),
        sources=("states",),
        options={
            "panel": "model",
            "x": "x",
            "y": "y",
            "layer": "depth",
            "pair": "pair",
            "kind": "kind",
            "kinds": ["bridge", "subject"],
            "note": "note",
        },
    ),
    Figure(
        id="cosine",
        kind="lines",
        title="Alignment by layer",
        caption=(
            "Mean cosine of the state of a subject's prompt with that of its bridge's. Left at the "
            "first relation, where the paper looks; right where the answer is read."
        ),
        sources=("alignment",),
        options={
            "x": "depth",
            "y": "cosine",
            "series": "model",
            "facet": "compared",
            "x_label": "layer, from the embedding on",
            "y_label": "cosine with the own bridge",
        },
    ),
    Figure(
        id="contrast",
        kind="lines",
        title="The same, against other bridges",
        caption=(
            "Cosine with the own bridge minus mean cosine with others. A cosine near 1 means "
            "nothing where all states point the same way."
        ),
        sources=("alignment",),
        options={
            "x": "depth",
            "y": "contrast",
            "series": "model",
            "facet": "compared",
            "x_label": "layer, from the embedding on",
            "y_label": "cosine: own minus other",
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Does regularisation align a first hop with its bridge?",
    paper=PAPER,
    place="Figure 6, §4.4",
    summary=(
        "Trains GPT-2 with standard initialisation, small initialisation and strong weight decay "
        "on one two-hop world with identity at high complexity, and compares the hidden states of "
        "(e1, r1) and e2 in every layer."
    ),
    scales={
        "smoke": Settings(
            n=4, complexity=2, gpt=GPTTraining(phase=Phase(steps=4, random_offset=True))
        ),
        "cpu": Settings(),
        "paper": Settings(),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=OURS,
)
