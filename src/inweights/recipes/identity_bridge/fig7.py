"""Figure 7 of Identity Bridge: alignment and generalisation over training."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import (
    accuracy,
    align_frames,
    alignment,
    bridge_projection,
    shared_memory,
    templates,
)
from inweights.recipes.claim import Statement, Target
from inweights.recipes.derived import compositions, correlation, half_time
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

NAME = "identity-bridge/fig7"


class Settings(Config):
    """Settings of Figure 7.

    Attributes:
        n: Subjects and objects ``N``.
        complexity: ``C``; the paper takes 2.
        models: Conditions, as in Figure 2; the first is shown in the film.
        every: Steps between measurements.
        gpt: The GPTs.
    """

    n: int = 20
    complexity: int = 2
    models: tuple[str, ...] = ("gpt-small", "gpt")
    every: int = 10
    gpt: GPTTraining = GPTTraining()


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Two GPTs on one world with identity, measured all along."""
    world = TwoHop(n=settings.n, complexity=settings.complexity)
    trials = []
    for name in settings.models:
        model, curriculum = condition(name, settings.gpt, EmbMLPTraining())
        trials += [
            Trial(labels={"model": name}, world=world, model=model, curriculum=curriculum, seed=s)
            for s in seeds
        ]
    film: dict[str, str | float | bool] = {"model": settings.models[0]}
    every = settings.every
    measures = [
        Measure(name="accuracy", probe=accuracy, every=every),
        Measure(name="alignment", probe=alignment, every=every),
        Measure(name="memory", probe=shared_memory, every=every),
        Measure(
            name="logits",
            probe=templates,
            options={"rows": "composition"},
            every=every,
            where=film,
            first_seed=True,
        ),
        Measure(
            name="states",
            probe=bridge_projection,
            options={"method": "pca", "place": "query"},
            every=every,
            where=film,
            first_seed=True,
        ),
    ]
    return Plan(trials=trials, measures=measures)


_CURVES = ("accuracy", "recall", "alignment at r1", "alignment at r2", "memory a → c")


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Curves of one unit for the film, half-times, and correlations over training."""
    keys = ["model", "seed", "step"]
    answered = compositions(tables["accuracy"]).select(*keys, "accuracy")
    recall = (
        tables["accuracy"]
        .filter(pl.col("part") == "facts")
        .group_by(keys, maintain_order=True)
        .agg(recall=pl.col("accuracy").min())
    )
    blocks = tables["alignment"].filter(pl.col("layer").str.starts_with("block"))
    by_place = blocks.group_by([*keys, "place"], maintain_order=True).agg(pl.col("nearest").mean())
    at = {
        place: by_place.filter(pl.col("place") == place).select(
            *keys, pl.col("nearest").alias(name)
        )
        for place, name in (("first_hop", _CURVES[2]), ("query", _CURVES[3]))
    }
    cosine = blocks.group_by([*keys, "place"], maintain_order=True).agg(pl.col("cosine").mean())
    memory = (
        tables["memory"]
        .filter(pl.col("prompt") == "subject_relation")
        .select(*keys, pl.col("reached").alias(_CURVES[4]))
    )
    wide = answered
    for other in (recall, at["first_hop"], at["query"], memory):
        wide = wide.join(other, on=keys)
    curves = wide.unpivot(index=keys, variable_name="series", value_name="value")
    half = half_time(curves, "value", ["model", "seed", "series"])
    lead = half.pivot("series", index=["model", "seed"], values="half_time").with_columns(
        alignment_leads=pl.col("accuracy") - pl.col(_CURVES[3]),
        alignment_r1_leads=pl.col("accuracy") - pl.col(_CURVES[2]),
        memory_leads=pl.col("accuracy") - pl.col(_CURVES[4]),
        recall_leads=pl.col("accuracy") - pl.col("recall"),
    )
    first = tables["states"]["model"][0]
    return {
        "curves": curves,
        "film_curves": curves.filter(pl.col("model") == first),
        "leads": lead,
        "in_step": correlation(
            answered.join(cosine, on=keys), "accuracy", "cosine", ["model", "seed", "place"]
        ),
        "states": align_frames(tables["states"], by=["model", "seed"]),
    }


state = Statement(NAME, source=SOURCE, place="Fig. 7, §4.4")

CLAIMS = (
    state(
        "memory-first",
        "The shared memory a → c appears before generalisation (steps by which its half-time "
        "leads that of accuracy; small initialisation, C = 2).",
        Target(least=5.0),
        table="leads",
        column="memory_leads",
        where={"model": "gpt-small"},
    ),
    state(
        "recall-first",
        "Memorisation of the facts ends while generalisation is missing (steps by which the "
        "half-time of recall leads that of accuracy).",
        Target(least=5.0),
        table="leads",
        column="recall_leads",
        where={"model": "gpt-small"},
    ),
    *(
        state(
            name,
            f"Accuracy rises in step with alignment {words} (correlation over training with the "
            "mean cosine over the blocks).",
            Target(least=0.8),
            table="in_step",
            column="correlation",
            where={"place": place},
            each=("model",),
            source=source,
        )
        for name, place, words, source in (
            ("in-step", "first_hop", "of (e1, r1) and e2", SOURCE),
            ("in-step-at-answer", "query", "of (e1, r1, r2) and (e2, r2)", "ours"),
        )
    ),
    state(
        "alignment-leads",
        "Alignment at the first relation leads accuracy (steps between half-times).",
        Target(least=5.0),
        table="leads",
        column="alignment_r1_leads",
        each=("model",),
        source="ours",
    ),
)

FIGURES = (
    Figure(
        id="film",
        kind="through_time",
        title="From memory to composition",
        caption=(
            "Left: accuracy on unseen compositions, recall of the least known fact role, how often "
            "the own bridge is the nearest at r1 and at r2, and how often (e1, r2) points at an "
            "object that e1 reaches. Right: logits of every query, and the states of six queries "
            "(circles) and of their bridges' second hops (stars) through the layers. Move the "
            "slider through training."
        ),
        sources=("film_curves", "logits", "states"),
        options={
            "row_group": "row_group",
            "column_group": "column_group",
            "layer": "depth",
            "kinds": ["bridge", "subject"],
            "kind_labels": ["(e2, r2)", "(e1, r1, r2)"],
            "y_label": "share",
            "y_limits": [0, 1],
            "matrix_label": "logit, centred by row",
        },
    ),
    Figure(
        id="curves",
        kind="lines",
        title="What comes first",
        caption="Mean over fresh seeds with 95% interval, for small and standard initialisation.",
        sources=("curves",),
        options={
            "x": "step",
            "y": "value",
            "series": "series",
            "facet": "model",
            "x_label": "step",
            "y_label": "share",
            "y_limits": [0, 1],
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Alignment leads, generalisation follows",
    paper=PAPER,
    place="Figure 7, §4.4",
    summary=(
        "Trains GPT-2 with small and with standard initialisation at C = 2 and measures, all "
        "along, what the subject alone says about its objects, how well subject and bridge align, "
        "and which unseen compositions are answered."
    ),
    scales={
        "smoke": Settings(n=4, every=2, gpt=GPTTraining(phase=Phase(steps=6, random_offset=True))),
        "cpu": Settings(),
        "paper": Settings(every=5),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=OURS,
)
