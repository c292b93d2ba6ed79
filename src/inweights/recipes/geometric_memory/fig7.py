"""Figure 7 of Geometric Memory: a spectral bias that nothing presses for."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.models.layers import Init
from inweights.models.node2vec import Node2VecConfig
from inweights.probes import spectral_energy
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import (
    GPT,
    GRAPHS,
    OURS,
    PAPER,
    SOURCE,
    TOP,
    Descent,
    deduce,
    top_energy,
    trials,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig7"
#: An eigenspace is used where it has more than so many times the energy that chance gives it.
USED = 2.0


class Settings(Config):
    """Settings of Figure 7.

    Attributes:
        graphs: Which of the four graphs.
        widths: Widths of Node2Vec; the paper's is 100, the graphs have 15 to 17 nodes.
        stds: Initial scales of Node2Vec, each at the paper's width; the paper's is 1.
        steps: Updates of Node2Vec.
        most: Trains TinyGPT no longer than so many steps; the paper's own if left out.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[str, ...] = GRAPHS
    widths: tuple[int, ...] = (2, 8, 17, 100, 400)
    stds: tuple[float, ...] = (0.02, 0.3, 1.0)
    steps: int = 10_000
    most: int | None = None
    draws: int = 200


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Descend at every width and from every scale; train TinyGPT, which is deeper, beside it."""
    draws = {"draws": settings.draws}
    models = [
        *(("width", str(width), Node2VecConfig(width=width)) for width in settings.widths),
        *(("initial scale", str(std), Node2VecConfig(init=Init(std=std))) for std in settings.stds),
    ]
    deductions = [
        deduction
        for shape in settings.graphs
        for axis, value, model in models
        for seed in seeds
        for deduction in deduce(
            {"energy": spectral_energy},
            Graph(shape=shape),  # type: ignore[arg-type]
            Descent(model=model, steps=settings.steps),
            seed,
            {"graph": shape, "axis": axis, "value": value},
            **draws,
        )
    ]
    deeper = trials(settings.graphs, (GPT,), seeds, settings.most)
    measures = [Measure(name="deeper", probe=spectral_energy, options=draws)]
    return Plan(trials=deeper, measures=measures, deductions=deductions)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Energy in the top eigenspaces, how many dimensions are used, and both beside TinyGPT."""
    by = ["graph", "axis", "value"]
    energy = tables["energy"]
    deeper = tables["deeper"].with_columns(
        axis=pl.lit("model"), value=pl.lit(GPT), number=pl.col("space") + 1
    )
    usual = pl.col("axis") == "initial scale", pl.col("value") == "1.0"
    paper = energy.filter(*usual).with_columns(
        axis=pl.lit("model"), value=pl.lit("Node2Vec"), number=pl.col("space") + 1
    )
    both = pl.concat([paper, deeper], how="diagonal_relaxed")
    whole = pl.concat([energy, both], how="diagonal_relaxed")
    chance = paper.with_columns(value=pl.lit("random vectors"), energy=pl.col("null_mean"))
    used = pl.when(pl.col("energy") > USED * pl.col("null_mean")).then(pl.col("size")).otherwise(0)
    dimensions = (
        whole.group_by([*by, "seed"], maintain_order=True)
        .agg(dimensions=used.sum().cast(pl.Float64))
        .with_columns(expected=pl.col("graph").replace_strict(_EXPECTED, return_dtype=pl.Float64))
        .with_columns(extra=pl.col("dimensions") - pl.col("expected"))
    )
    top = top_energy(whole, by)
    wide = top.filter(pl.col("axis") == "width", pl.col("value") != "2")
    return {
        "top": top,
        "wide": wide.filter(pl.col("value") != "8"),
        "swept": top.filter(pl.col("axis") != "model"),
        "dimensions": dimensions,
        "spectra": pl.concat([both, chance], how="diagonal_relaxed"),
    }


#: Dimensions of the top eigenspaces: three of the star's one, two of each other graph's.
_EXPECTED = {"path-star": 3, "grid": 2, "cycle": 2, "irregular": 2}
assert _EXPECTED.keys() == TOP.keys()

state = Statement(NAME, source=SOURCE, place="Fig. 7, §4.3")
PAPERS = {"axis": "model", "value": "Node2Vec"}

CLAIMS = (
    state(
        "top-eigenspaces",
        "Unregularised, six times as wide as the graph and taught single hops, Node2Vec has its "
        "energy in the top eigenspaces.",
        Target(least=0.85),
        table="top",
        column="top",
        where=PAPERS,
        each=("graph",),
    ),
    state(
        "two-on-the-cycle",
        "On the cycle two eigendirections are used.",
        Target(least=2.0, most=2.0),
        table="dimensions",
        column="dimensions",
        where={**PAPERS, "graph": "cycle"},
        published="2",
    ),
    state(
        "few-everywhere",
        "On every graph just those of the top eigenspaces are used (dimensions beyond).",
        Target(least=0.0, most=0.0),
        table="dimensions",
        column="extra",
        where=PAPERS,
        each=("graph",),
    ),
    state(
        "width-does-not-matter",
        "So it is at every width from the number of nodes upwards.",
        Target(least=0.85),
        table="wide",
        column="top",
        each=("graph", "value"),
        place="Prop. 10",
    ),
    state(
        "scale-does-not-matter",
        "And from every initial scale.",
        Target(least=0.85),
        table="swept",
        column="top",
        where={"axis": "initial scale"},
        each=("graph", "value"),
        source="ours",
    ),
    state(
        "deeper-models-less",
        "A deeper model is less low-rank: TinyGPT's energy in the top eigenspaces minus "
        "Node2Vec's.",
        Target(most=-0.1),
        table="top",
        column="top",
        where={"axis": "model", "value": GPT},
        minus=PAPERS,
        each=("graph",),
        place="Footnote 7",
    ),
)

FIGURES = (
    Figure(
        id="spectra",
        kind="lines",
        title="Energy by eigenspace, without any pressure",
        caption=(
            "Node2Vec of width 100, plain gradient descent, no regularisation, one-hop facts: it "
            "keeps the first eigenspaces and drops the others. TinyGPT keeps both ends."
        ),
        sources=("spectra",),
        options={
            "x": "number",
            "y": "energy",
            "series": "value",
            "facet": "graph",
            "x_label": "eigenspace",
            "y_label": "share of the energy",
            "y_limits": [0, 1],
            "columns": 2,
        },
    ),
    Figure(
        id="swept",
        kind="sweeps",
        title="Neither width nor initial scale decides",
        caption=(
            "Node2Vec's energy in the top eigenspaces (degenerate vectors left out). Width 2 is a "
            "bottleneck, the others are not: the graphs have 15 to 17 nodes."
        ),
        sources=("swept",),
        options={
            "axis": "axis",
            "value": "value",
            "y": "top",
            "series": "graph",
            "y_label": "energy in the top eigenspaces",
            "y_limits": [0, 1],
        },
    ),
)

_MINI = Settings(graphs=("cycle",), widths=(2, 17), stds=(1.0,), steps=40, most=3, draws=20)

RECIPE = Recipe(
    name=NAME,
    title="A spectral bias without pressure",
    paper=PAPER,
    place="Figure 7, §4.3",
    summary=(
        "Lets Node2Vec descend on the four tiny graphs at widths from 2 to 400 and from three "
        "initial scales, with no regularisation, and measures the share of the embeddings' energy "
        "in every eigenspace of the graph; TinyGPT stands beside it."
    ),
    scales={"smoke": _MINI, "cpu": Settings(), "paper": Settings(draws=1000)},
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        *OURS,
        f"A space is used where it has more than {USED:g} times the energy of random vectors.",
    ),
)
