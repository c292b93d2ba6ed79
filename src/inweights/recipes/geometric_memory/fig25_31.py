"""Figures 25 to 31 of Geometric Memory: what makes the memory of a cycle geometric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from inweights.config import Config
from inweights.errors import unknown_name
from inweights.models.tiny_nn import TinyNNConfig
from inweights.probes import (
    cosines,
    geometric_margin,
    graph_recall,
    hop_correlation,
    spectral_energy,
    zigzag,
)
from inweights.probes.reference_graph import without_self_edges
from inweights.recipes.claim import Claim, Statement, Target
from inweights.recipes.geometric_memory.common import PAPER, SOURCE
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.training.curriculum import Curriculum, Optimizer, Phase
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig25-31"
CHANCE = "random vectors"


class Ablation(Config):
    """One way to train TinyNN on the cycle.

    Attributes:
        rate: Learning rate of AdamW.
        unit_normal: Whether the embeddings start from N(0, 1) and not from N(0, .02²).
        weight_decay: AdamW's.
        dropout: Share of the middle layer that is dropped while training.
        self_edges: Whether every node is also its own neighbour.
    """

    rate: float = 1e-2
    unit_normal: bool = False
    weight_decay: float = 0.0
    dropout: float = 0.0
    self_edges: bool = False


LOOPS, DEFAULT, SLOW = "self-edges, rate .01", "GPT start, rate .01", "GPT start, rate .0001"
UNIT, FAST = "unit normal, rate .0001", "unit normal, rate .1"
DECAY, DROPOUT = "unit normal, weight decay 10", "unit normal, dropout .4"
KEPT = "unit normal, rate .001"
#: By figure, 25 to 31; the last is ours, the control of Figure 31 without dropout.
ABLATIONS: dict[str, Ablation] = {
    LOOPS: Ablation(self_edges=True),
    DEFAULT: Ablation(),
    SLOW: Ablation(rate=1e-4),
    UNIT: Ablation(rate=1e-4, unit_normal=True),
    FAST: Ablation(rate=0.1, unit_normal=True),
    DECAY: Ablation(rate=1e-4, unit_normal=True, weight_decay=10.0),
    DROPOUT: Ablation(rate=1e-3, unit_normal=True, dropout=0.4),
    KEPT: Ablation(rate=1e-3, unit_normal=True),
}


class Settings(Config):
    """Settings of Figures 25 to 31.

    Attributes:
        ablations: Which of the eight ways to train.
        n: Nodes of the cycle.
        width: Width of TinyNN.
        steps: Number of updates, the same for all.
        draws: Random embeddings in each null distribution.
    """

    ablations: tuple[str, ...] = tuple(ABLATIONS)
    n: int = 15
    width: int = 512
    steps: int = 10_000
    draws: int = 200

    def __post_init__(self) -> None:
        for name in self.ablations:
            if name not in ABLATIONS:
                raise unknown_name("ablation", name, ABLATIONS)


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Train every way; labels are in order, so that neighbours are side by side."""
    draws = {"draws": settings.draws}
    trials = [
        Trial(
            labels={"setting": name},
            world=Graph(shape="cycle", n=settings.n, self_edges=one.self_edges, shuffled=False),
            model=TinyNNConfig(
                width=settings.width,
                embedding_std=1.0 if one.unit_normal else None,
                dropout=one.dropout,
            ),
            curriculum=_curriculum(one, settings.steps),
            seed=seed,
        )
        for name in settings.ablations
        for one in [ABLATIONS[name]]
        for seed in seeds
    ]
    # Recall and margin are those of what was taught; the rest sees the graph without self-edges.
    inner_probes = {"correlation": hop_correlation, "energy": spectral_energy, "zigzag": zigzag}
    measures = [
        Measure(name="recall", probe=graph_recall),
        Measure(name="margin", probe=geometric_margin, options=draws),
        *(
            Measure(name=name, probe=without_self_edges, options={"inner": inner, **draws})
            for name, inner in inner_probes.items()
        ),
        Measure(name="cosines", probe=cosines, first_seed=True),
    ]
    return Plan(trials=trials, measures=measures)


def _curriculum(one: Ablation, steps: int) -> Curriculum:
    optimizer = Optimizer(rate=one.rate, weight_decay=one.weight_decay)
    return Curriculum(phases=(Phase(steps=steps, pooled=True, optimizer=optimizer),))


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """How geometric every seed is, by three measures, and rows of random vectors beside them."""
    correlation = tables["correlation"].with_columns(
        geometry=-pl.col("spearman"), size=pl.col("spearman").abs()
    )
    one = correlation.filter(pl.col("setting") == correlation["setting"].first())
    drawn = one.with_columns(spearman=pl.col("null_mean"), setting=pl.lit(CHANCE))
    margins = tables["margin"].with_columns(
        stored=(pl.col("margin") > 0).cast(pl.Float64),
        beats_chance=(pl.col("p") <= 0.05).cast(pl.Float64),
        neighbour=pl.col("over").replace_strict(
            {"max": "largest neighbour", "min": "smallest neighbour"}
        ),
    )
    on = pl.lit("cycle").alias("graph")
    spectra = tables["energy"].with_columns(number=pl.col("space") + 1, model=pl.lit("TinyNN"))
    return {
        "correlation": correlation,
        "correlations": pl.concat([correlation, drawn]).with_columns(on),
        "margins": margins,
        "zigzags": tables["zigzag"].with_columns(excess=pl.col("bottom") - pl.col("bottom_null")),
        "spectra": spectra,
    }


state = Statement(NAME, source=SOURCE, place="Figs. 25–31, C.3.1")


def _more(name: str, text: str, more: str, less: str, place: str) -> tuple[Claim, Claim]:
    """One sentence by two measures: correlation, and nodes whose margin is positive."""
    where: Mapping[str, str | float | bool] = {"setting": more}
    minus: Mapping[str, str | float | bool] = {"setting": less}
    return (
        state(
            name,
            f"{text} (−Spearman, difference).",
            Target(least=0.0),
            table="correlation",
            column="geometry",
            where=where,
            minus=minus,
            place=place,
        ),
        state(
            f"{name}-margin",
            f"{text} (share of nodes whose margin over the smallest neighbour is positive, "
            "difference).",
            Target(least=0.0),
            table="margins",
            column="positive",
            where={**where, "over": "min"},
            minus={**minus, "over": "min"},
            place=place,
        ),
    )


CLAIMS = (
    state(
        "edges-are-stored",
        "However it is trained, TinyNN stores every edge (top-degree recall).",
        Target(least=1.0),
        table="recall",
        column="recall",
        each=("setting",),
    ),
    *(
        state(
            f"gpt-start-is-geometric-{over}",
            "The GPT-style start gives a positive geometric margin without any regulariser: share "
            f"of seeds, {over} over the neighbours{note}.",
            Target(least=1.0),
            table="margins",
            column="stored",
            where={"setting": DEFAULT, "over": over},
            place="Fig. 26, C.3.1",
        )
        for over, note in (("max", ", which is the paper's measure and a weak test"), ("min", ""))
    ),
    state(
        "unit-normal-is-associative",
        "From a unit normal start at a small rate the storage is associative: |Spearman|.",
        Target(most=0.2),
        table="correlation",
        column="size",
        where={"setting": UNIT},
        place="Fig. 28, C.3.1",
    ),
    state(
        "unit-normal-has-no-margin",
        "There the margin over the smallest neighbour is negative (share of seeds above 0).",
        Target(most=0.0),
        table="margins",
        column="stored",
        where={"setting": UNIT, "over": "min"},
        place="Fig. 28, C.3.1",
    ),
    state(
        "self-edges-smooth",
        "Self-edges make the embeddings zigzag less: energy in the most negative eigenspace, "
        "with minus without.",
        Target(most=-0.1),
        table="zigzags",
        column="bottom",
        where={"setting": LOOPS},
        minus={"setting": DEFAULT},
        place="Fig. 25, C.3.1",
    ),
    *_more("self-edges-help", "They make it more geometric", LOOPS, DEFAULT, "Fig. 25, C.3.1"),
    *_more(
        "gpt-start-helps",
        "The GPT-style start is more geometric than the unit normal one at the same rate",
        SLOW,
        UNIT,
        "Figs. 27, 28, C.3.1",
    ),
    *_more(
        "rate-helps-gpt-start",
        "A higher rate makes the GPT-style start more geometric",
        DEFAULT,
        SLOW,
        "Figs. 26, 27, C.3.1",
    ),
    *_more(
        "rate-helps-unit-normal",
        "A higher rate makes the unit normal start more geometric",
        FAST,
        UNIT,
        "Figs. 28, 29, C.3.1",
    ),
    *_more(
        "weight-decay-helps",
        "Weight decay makes the unit normal start more geometric",
        DECAY,
        UNIT,
        "Figs. 28, 30, C.3.1",
    ),
    *_more(
        "dropout-helps",
        "Dropout makes the unit normal start more geometric, at the same rate without it",
        DROPOUT,
        KEPT,
        "Fig. 31, C.3.1",
    ),
)

FIGURES = (
    Figure(
        id="correlation",
        kind="sweeps",
        title="Correlation of cosine with hop distance, by how TinyNN is trained",
        caption=(
            "Spearman over all pairs of nodes; −1 where the farther node is always the less "
            "similar one, random vectors are near 0. All store the same edges."
        ),
        sources=("correlations",),
        options={
            "axis": "graph",
            "value": "setting",
            "y": "spearman",
            "y_label": "Spearman ρ",
            "y_limits": [-1, 0.4],
        },
    ),
    Figure(
        id="margins",
        kind="sweeps",
        title="Geometric margin, by how TinyNN is trained",
        caption=(
            "Mean over nodes, if the middle layer only stretched the embeddings' axes; above 0 the "
            "geometry alone stores the edges. The largest neighbour is the paper's measure; the "
            "smallest one asks for every edge."
        ),
        sources=("margins",),
        options={"axis": "neighbour", "value": "setting", "y": "margin", "y_label": "logits"},
    ),
    Figure(
        id="spectra",
        kind="lines",
        title="Energy by eigenspace, from the smoothest to the roughest",
        caption=(
            "Space 1 holds the circle; neighbours differ in sign in the last ones. Most ways use "
            "both ends; self-edges favour the smooth one, a high rate from a unit normal start the "
            "rough one."
        ),
        sources=("spectra",),
        options={
            "x": "number",
            "y": "energy",
            "series": "model",
            "facet": "setting",
            "reference": {"column": "null_mean", "label": CHANCE},
            "order": list(ABLATIONS),
            "x_label": "eigenspace",
            "y_label": "share of the energy",
            "columns": 4,
        },
    ),
    Figure(
        id="cosines",
        kind="heatmaps",
        title="Cosine of every two nodes, around the ring",
        caption=(
            "One seed. A band along the diagonal that fades with the distance is a map of the "
            "ring; nothing beside the diagonal is a list."
        ),
        sources=("cosines",),
        options={
            "panel": "setting",
            "row": "source",
            "column": "target",
            "value": "cosine",
            "order": list(ABLATIONS),
            "value_label": "cosine",
            "limit": 1.0,
        },
    ),
)

_MINI = Settings(
    ablations=(LOOPS, DEFAULT, DROPOUT),
    n=6,
    width=16,
    steps=3,
    draws=20,
)

RECIPE = Recipe(
    name=NAME,
    title="What makes the memory of a cycle geometric",
    paper=PAPER,
    place="Figures 25–31, appendix C.3.1",
    summary=(
        "Trains TinyNN of width 512 on the edges of a cycle in seven ways of the paper and one of "
        "ours: self-edges, start, rate, weight decay and dropout; and asks how geometric the "
        "memory is by three measures: correlation with the distance, the geometric margin, and the "
        "energy by eigenspace."
    ),
    scales={"smoke": _MINI, "cpu": Settings(), "paper": Settings(draws=1000)},
    seeds={"smoke": 2, "cpu": 4, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "The control of dropout, the same rate without it, is ours; so are the dropped entries: "
        "those of the middle layer's output.",
        "Self-edges' correlations and energies are those of the graph without them.",
        "A node with two neighbours is one sequence with a soft target; its loss is that of two.",
    ),
)
