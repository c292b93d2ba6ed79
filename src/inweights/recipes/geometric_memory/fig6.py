"""Figures 6, 21 and 22 of Geometric Memory: steps to store edges as a lookup and as a geometry."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.probes import geometric_margin, graph_recall, hop_correlation, spectral_energy
from inweights.recipes.derived import half_time
from inweights.recipes.geometric_memory.common import (
    FROZEN,
    GPT,
    GRAPHS,
    NN,
    NODE2VEC,
    PAPER,
    Descent,
    Training,
    deduce,
    top_energy,
    training,
)
from inweights.recipes.geometric_memory.fig6_claims import CLAIMS, EARLY, LATE, NAME, SLOW
from inweights.recipes.recipe import Deduction, Figure, Measure, Plan, Recipe, Trial
from inweights.theory.storage_tables import one_step
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

LABELS = ("graph", "architecture", "horizon")


class Settings(Config):
    """Settings of Figure 6.

    Attributes:
        graphs: Which of the four graphs.
        width: Width of TinyNN, with its embeddings frozen and free.
        frozen_rate: Rate of the frozen one.
        frozen_steps: Its updates.
        rate: Rate of the free one.
        early: Its updates; every one is looked at.
        late: Its updates on the cycle, which the paper trains so long.
        second: AdamW's ``β₂`` in a second run of that length; .999 in all others.
        every: Steps between looks at the long run.
        gpt_every: Steps between looks at TinyGPT.
        gpt_most: Trains TinyGPT no longer than so many steps; the paper's own if left out.
        descent: How Node2Vec descends.
        widths: Widths at which one gradient step of the correlation loss is taken.
    """

    graphs: tuple[str, ...] = GRAPHS
    width: int = 512
    frozen_rate: float = 0.1
    frozen_steps: int = 10
    rate: float = 0.01
    early: int = 40
    late: int = 10_000
    second: float = 0.9995
    every: int = 100
    gpt_every: int = 5
    gpt_most: int | None = None
    descent: Descent = Descent(steps=2000)
    widths: tuple[int, ...] = (32, 128, 512, 2048)


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Frozen and free TinyNN step by step, TinyGPT, Node2Vec, and one step from zero."""
    wide = {
        (FROZEN, EARLY): (settings.frozen_rate, settings.frozen_steps),
        (NN, EARLY): (settings.rate, settings.early),
        (NN, LATE): (settings.rate, settings.late),
        (NN, SLOW): (settings.rate, settings.late),
    }
    trials, deductions = [], []
    for shape in settings.graphs:
        world = Graph(shape=shape)  # type: ignore[arg-type]
        runs = {
            key: Training(
                architecture=key[0],
                rate=rate,
                steps=steps,
                width=settings.width,
                second=settings.second if key[1] == SLOW else 0.999,
            )
            for key, (rate, steps) in wide.items()
            if key[1] == EARLY or shape == "cycle"
        }
        runs[GPT, LATE] = training(GPT, shape, most=settings.gpt_most)
        for (architecture, horizon), how in runs.items():
            labels = {"graph": shape, "architecture": architecture, "horizon": horizon}
            trials += [
                Trial(
                    labels=labels,
                    world=world,
                    model=how.model,
                    curriculum=how.curriculum,
                    seed=seed,
                )
                for seed in seeds
            ]
        for seed in seeds:
            deductions += deduce(
                {"energy": spectral_energy},
                world,
                settings.descent,
                seed,
                {"graph": shape, "architecture": NODE2VEC, "horizon": LATE},
                draws=1,
                every=max(1, settings.descent.steps // 200),
            )
            deductions += [
                Deduction(
                    name="one_step",
                    labels={"graph": shape},
                    seed=seed,
                    compute=one_step,
                    options={"world": world, "width": width, "seed": seed},
                    effort=1,
                )
                for width in settings.widths
            ]
    return Plan(trials=trials, deductions=deductions, measures=_measures(settings))


def _measures(settings: Settings) -> list[Measure]:
    one = {"draws": 1}
    measures = []
    for architecture, horizon, every in (
        (FROZEN, EARLY, 1),
        (NN, EARLY, 1),
        (NN, LATE, settings.every),
        (NN, SLOW, settings.every),
        (GPT, LATE, settings.gpt_every),
    ):
        where: dict[str, str | float | bool] = {"architecture": architecture, "horizon": horizon}
        looks = [("recall", graph_recall, {}), ("energy", spectral_energy, one)]
        if architecture == NN:
            looks.append(("margin", geometric_margin, one))
        if architecture == GPT:
            looks.append(("correlation", hop_correlation, one))
        measures += [
            Measure(name=name, probe=probe, options=options, every=every, where=where)
            for name, probe, options in looks
        ]
    return measures


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """First step of full recall, of a positive margin, and half-times of the geometry."""
    by = [*LABELS, "seed"]
    recall = tables["recall"]
    stored = _first(recall, pl.col("recall") >= 1, by, "stored")
    margin = tables["margin"].filter(pl.col("over") == "min")
    positive = _first(margin, pl.col("margin") > 0, by, "positive")
    top = top_energy(tables["energy"], [*LABELS, "step"])
    half = half_time(top, "top", by)
    gpt = tables["correlation"].with_columns(geometry=-pl.col("spearman"))
    times = stored.join(positive, on=by, how="left").join(half, on=by, how="left")
    times = times.with_columns(
        lag=pl.col("half_time") - pl.col("stored"), ratio=pl.col("positive") / pl.col("stored")
    )
    peak = (
        half_time(gpt, "geometry", by)
        .join(stored, on=by)
        .with_columns(lag=pl.col("half_time") - pl.col("stored"))
    )
    late = margin.filter(pl.col("horizon") != EARLY).with_columns(
        stored=(pl.col("margin") > 0).cast(pl.Float64)
    )
    steps = late["step"]
    free = times.filter(pl.col("architecture") == NN, pl.col("horizon") == EARLY)
    return {
        "times": times,
        "free": free,
        "gpt": peak,
        "node2vec": half.filter(pl.col("architecture") == NODE2VEC),
        "soon": late.filter(pl.col("step") == steps.filter(steps > 0).min()),
        "end": late.filter(pl.col("step") == steps.max()),
        "margins": late.filter(pl.col("step") > 0).with_columns(
            moment=pl.when(pl.col("horizon") == LATE)
            .then(pl.lit("β₂ = .999, the default"))
            .otherwise(pl.lit("β₂ = .9995"))
        ),
        "curves": _curves(recall, top),
        "gpt_curves": _gpt_curves(recall, gpt, by),
    }


def _first(table: pl.DataFrame, reached: pl.Expr, by: Sequence[str], name: str) -> pl.DataFrame:
    """First step at which something is so; one past the last where it never is."""
    return table.group_by(by, maintain_order=True).agg(
        pl.col("step")
        .filter(reached)
        .min()
        .fill_null(pl.col("step").max() + 1)
        .cast(pl.Float64)
        .alias(name)
    )


def _curves(recall: pl.DataFrame, top: pl.DataFrame) -> pl.DataFrame:
    """Recall and energy in the top eigenspaces, of the wide TinyNN's first steps."""
    parts = [
        table.filter(pl.col("horizon") == EARLY, pl.col("architecture") == architecture).select(
            "graph", "seed", "step", value=column, series=pl.lit(name)
        )
        for table, architecture, column, name in (
            (recall, FROZEN, "recall", "recall, frozen"),
            (recall, NN, "recall", "recall, free"),
            (top, NN, "top", "energy in the top eigenspaces, free"),
        )
    ]
    return pl.concat(parts).filter(pl.col("step") <= 20)


def _gpt_curves(recall: pl.DataFrame, gpt: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    keys = [*by, "step"]
    both = recall.filter(pl.col("architecture") == GPT).join(gpt.select(*keys, "geometry"), on=keys)
    return both.unpivot(
        on=["recall", "geometry"], index=keys, variable_name="series", value_name="value"
    )


FIGURES = (
    Figure(
        id="first-steps",
        kind="lines",
        title="The first steps of a wide TinyNN",
        caption=(
            "Width 512. Every edge is known after one step, whether embeddings are frozen or free. "
            "Free ones then turn to the top eigenspaces within some ten steps, and stay there."
        ),
        sources=("curves",),
        options={
            "x": "step",
            "y": "value",
            "series": "series",
            "facet": "graph",
            "x_label": "step",
            "y_label": "share",
            "y_limits": [0, 1],
            "columns": 2,
        },
    ),
    Figure(
        id="tiny-gpt",
        kind="lines",
        title="TinyGPT is geometric before it knows the edges",
        caption=(
            "Recall, and minus the Spearman correlation of cosine with hops. The correlation peaks "
            "while edges are still missing, and falls as they are learnt."
        ),
        sources=("gpt_curves",),
        options={
            "x": "step",
            "y": "value",
            "series": "series",
            "facet": "graph",
            "x_label": "step",
            "y_label": "recall, −ρ",
            "labels": {"geometry": "geometry (−ρ)"},
            "columns": 2,
        },
    ),
    Figure(
        id="margins",
        kind="lines",
        title="TinyNN's geometric margin on the cycle comes early and goes late",
        caption=(
            "Mean margin over the smallest neighbour, in logits; above 0 the geometry alone stores "
            "the edges. Rate .01 all along, no regulariser. Seeds lose it one by one after step "
            "6,000, half of them in a spike of the loss between steps 9,500 and 10,000; with a "
            "longer memory of AdamW's second moment most of them keep it."
        ),
        sources=("margins",),
        options={
            "x": "step",
            "y": "margin",
            "series": "moment",
            "x_label": "step",
            "y_label": "margin (logits)",
        },
    ),
)

_MINI = Settings(
    graphs=("cycle",), width=16, frozen_steps=3, early=4, late=6, every=3, gpt_every=2, gpt_most=4,
    descent=Descent(steps=40), widths=(16, 512),
)  # fmt: skip

RECIPE = Recipe(
    name=NAME,
    title="Steps to store edges as a lookup and as a geometry",
    paper=PAPER,
    place="Figures 6, 21 and 22, §3.2",
    summary=(
        "Looks at every one of the first steps of a wide TinyNN, with its embeddings frozen and "
        "free, at TinyGPT and Node2Vec through training, and at one gradient step of the "
        "correlation loss: when are the edges stored, and when are the embeddings geometric?"
    ),
    scales={"smoke": _MINI, "cpu": Settings(), "paper": Settings()},
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "Free TinyNN: width 512 and the cycle's rate .01 on all four graphs.",
        "Geometric: half-way to the greatest energy in the top eigenspaces, half-way to the least "
        "Spearman, or a positive margin over the smallest neighbour; the paper names no threshold.",
        "A longer memory of AdamW's second moment (β₂ = .9995) was tried on the seeds 0 to 3.",
        "'Far longer' is ten times: the paper's number of steps could not be read.",
    ),
)
