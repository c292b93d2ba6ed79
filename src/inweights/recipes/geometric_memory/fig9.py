"""Figure 9 of Geometric Memory: zigzags along negative eigendirections, and self-edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from inweights.config import Config
from inweights.models.layers import Init
from inweights.models.node2vec import Node2VecConfig
from inweights.probes import (
    geometric_margin,
    graph_recall,
    hop_correlation,
    spectral_energy,
    zigzag,
)
from inweights.probes.reference_graph import without_self_edges
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import (
    GRAPHS,
    NN,
    PAPER,
    SOURCE,
    Descent,
    deduce,
    training,
)
from inweights.recipes.recipe import Figure, Measure, Plan, Recipe, Trial
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/fig9"
LABELS = ("graph", "model", "self_edges")
TIED, UNTIED, UNIT = "Node2Vec", "untied Node2Vec", "untied, unit normal"
CHANCE = "random vectors"


class Settings(Config):
    """Settings of Figure 9.

    Attributes:
        graphs: Which of the four graphs.
        steps: Updates of Node2Vec.
        std: Small initial scale of the untied Node2Vec, that of TinyNN.
        most: Trains TinyNN no longer than so many steps; the paper's own if left out.
        draws: Random embeddings in each null distribution.
    """

    graphs: tuple[str, ...] = GRAPHS
    steps: int = 10_000
    std: float = 0.02
    most: int | None = None
    draws: int = 200


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Every model with and without self-edges, always seen through the graph without them."""
    draws = {"draws": settings.draws}
    inner: dict[str, dict[str, Any]] = {
        "zigzag": {"inner": zigzag, **draws},
        "energy": {"inner": spectral_energy, **draws},
        "correlation": {"inner": hop_correlation, **draws},
    }
    # Recall is that of all edges that were taught, self-edges too.
    probes: dict[str, tuple[Callable[..., pl.DataFrame], dict[str, Any]]] = {
        **{name: (without_self_edges, options) for name, options in inner.items()},
        "recall": (graph_recall, {}),
    }
    models = {
        TIED: Node2VecConfig(),
        UNTIED: Node2VecConfig(tied=False, init=Init(std=settings.std)),
        UNIT: Node2VecConfig(tied=False),
    }
    deductions, trials = [], []
    for shape in settings.graphs:
        for loops in (False, True):
            world = Graph(shape=shape, self_edges=loops)  # type: ignore[arg-type]
            for model, config in models.items():
                labels = {"graph": shape, "model": model, "self_edges": loops}
                how = Descent(model=config, steps=settings.steps)
                for seed in seeds:
                    for name, (probe, options) in probes.items():
                        deductions += deduce({name: probe}, world, how, seed, labels, **options)
            trained = training(NN, shape, most=settings.most)
            trials += [
                Trial(
                    labels={"graph": shape, "model": NN, "self_edges": loops},
                    world=world,
                    model=trained.model,
                    curriculum=trained.curriculum,
                    seed=seed,
                )
                for seed in seeds
            ]
    measures = [Measure(name=n, probe=probe, options=o) for n, (probe, o) in probes.items()]
    measures.append(Measure(name="margin", probe=geometric_margin, options=draws))
    return Plan(deductions=deductions, trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Energies less those of random vectors, one column for both conditions, and margins."""
    loops = pl.when(pl.col("self_edges")).then(pl.lit("with self-edges"))
    condition = loops.otherwise(pl.lit("without")).alias("condition")
    zigzags = tables["zigzag"].with_columns(
        condition,
        excess=pl.col("zigzag") - pl.col("null_mean"),
        bottom_excess=pl.col("bottom") - pl.col("bottom_null"),
    )
    one = zigzags.filter(pl.col("model") == TIED)
    drawn = one.with_columns(
        model=pl.lit(CHANCE), zigzag=pl.col("null_mean"), bottom=pl.col("bottom_null")
    )
    spectra = tables["energy"].with_columns(
        condition,
        number=pl.col("space") + 1,
        panel=pl.concat_str("model", "graph", separator=", "),
    )
    margins = tables["margin"].with_columns(
        condition,
        stored=(pl.col("margin") > 0).cast(pl.Float64),
        beats_chance=(pl.col("p") <= 0.05).cast(pl.Float64),
    )
    return {
        "zigzags": zigzags,
        "beside_chance": pl.concat([zigzags, drawn]),
        "trained_spectra": spectra.filter(pl.col("model").is_in([NN, UNTIED])),
        "least": margins.filter(pl.col("over") == "min"),
        "cycle_margins": margins.filter(pl.col("graph") == "cycle"),
        "stored": tables["recall"].filter(pl.col("model") != TIED),
    }


state = Statement(NAME, source=SOURCE, place="Fig. 9, §4.4")
GRAPH = ("graph",)

CLAIMS = (
    *(
        state(
            f"{short}-zigzags",
            f"{model} zigzags: energy in the most negative eigenspace, minus that of random "
            "vectors.",
            Target(least=0.05),
            table="zigzags",
            column="bottom_excess",
            where={"model": model, "self_edges": False},
            each=GRAPH,
        )
        for short, model in (("untied", UNTIED), ("tiny-nn", NN))
    ),
    state(
        "tied-does-not",
        "Tied Node2Vec cannot: its energy at the negative end.",
        Target(most=0.05),
        table="zigzags",
        column="zigzag",
        where={"model": TIED, "self_edges": False},
        each=GRAPH,
    ),
    *(
        state(
            f"self-edges-lessen-{short}",
            f"Self-edges lessen the zigzag of {model}: energy at the negative end, with minus "
            "without.",
            Target(most=-0.1),
            table="zigzags",
            column="zigzag",
            where={"model": model, "self_edges": True},
            minus={"model": model, "self_edges": False},
            each=GRAPH,
        )
        for short, model in (("untied", UNTIED), ("tiny-nn", NN))
    ),
    *(
        state(
            f"self-edges-remove-{short}",
            f"With them {model} has less energy at the negative end than random vectors "
            "(difference).",
            Target(most=-0.1),
            table="zigzags",
            column="excess",
            where={"model": model, "self_edges": True},
            each=GRAPH,
        )
        for short, model in (("untied", UNTIED), ("tiny-nn", NN))
    ),
    *(
        state(
            f"none-left-{short}",
            f"Nor does {model} then use the most negative eigenspace more than random vectors do "
            "(difference).",
            Target(most=0.0),
            table="zigzags",
            column="bottom_excess",
            where={"model": model, "self_edges": True},
            each=GRAPH,
        )
        for short, model in (("untied", UNTIED), ("tiny-nn", NN))
    ),
    state(
        "unit-normal-does-not-move",
        "From a unit normal start the untied model hardly zigzags: it stores the edges while its "
        "spectrum stays that of random vectors (energy in the most negative space, difference).",
        Target(most=0.03),
        table="zigzags",
        column="bottom_excess",
        where={"model": UNIT, "self_edges": False},
        each=GRAPH,
        source="ours",
    ),
    state(
        "edges-are-stored",
        "Untied Node2Vec and TinyNN store every edge, self-edges too (top-degree recall).",
        Target(least=1.0),
        table="stored",
        column="recall",
        each=LABELS,
    ),
    state(
        "margin-positive",
        "TinyNN of width 512 stores the cycle geometrically, without any regulariser: share of "
        "seeds whose mean margin over the smallest neighbour is positive.",
        Target(least=1.0),
        table="cycle_margins",
        column="stored",
        where={"over": "min", "self_edges": False},
        place="§3.2, C.3.1",
    ),
    state(
        "margin-positive-max",
        "The same over the largest neighbour, which is the paper's measure and a weak test.",
        Target(least=1.0),
        table="cycle_margins",
        column="stored",
        where={"over": "max", "self_edges": False},
        place="B.5, C.3.1",
    ),
    state(
        "margin-beats-chance",
        "It is geometric on more nodes than associative storage is (share of seeds, p ≤ .05).",
        Target(least=1.0),
        table="cycle_margins",
        column="beats_chance",
        where={"over": "min", "self_edges": False},
        place="§3.2, C.3.1",
    ),
    state(
        "margin-with-self-edges",
        "With self-edges the margin over the smallest neighbour is positive for every seed.",
        Target(least=1.0),
        table="cycle_margins",
        column="stored",
        where={"over": "min", "self_edges": True},
        place="Fig. 25, C.3.1",
    ),
)

_SWEEP = {"axis": "graph", "value": "model", "series": "condition", "columns": 2}

FIGURES = (
    Figure(
        id="bottom",
        kind="sweeps",
        title="Energy in the most negative eigenspace, where neighbours differ in sign",
        caption=(
            "Always the eigenspace of the graph without self-edges. Untied and deeper models use "
            "it more than random vectors, if they start small; self-edges bring it down to chance, "
            "but on the grid only half-way."
        ),
        sources=("beside_chance",),
        options={**_SWEEP, "y": "bottom", "y_label": "share of the energy", "y_limits": [0, 0.5]},
    ),
    Figure(
        id="negative",
        kind="sweeps",
        title="Energy in all negative eigenspaces",
        caption=(
            "These spaces hold about half of all directions, so that random vectors have half of "
            "their energy here: the sum alone hardly tells a zigzag from chance. Self-edges make "
            "it fall far below chance."
        ),
        sources=("beside_chance",),
        options={**_SWEEP, "y": "zigzag", "y_label": "share of the energy", "y_limits": [0, 1]},
    ),
    Figure(
        id="spectra",
        kind="lines",
        title="Energy by eigenspace of untied Node2Vec and TinyNN",
        caption=(
            "Space 1 is the Fiedler space, the last the most negative one. Without self-edges "
            "both ends are used and the middle is empty; with them mostly the smooth end is."
        ),
        sources=("trained_spectra",),
        options={
            "x": "number",
            "y": "energy",
            "series": "condition",
            "facet": "panel",
            "x_label": "eigenspace",
            "y_label": "share of the energy",
            "columns": 4,
        },
    ),
    Figure(
        id="margins",
        kind="sweeps",
        title="Geometric margin of TinyNN over the smallest neighbour",
        caption=(
            "Mean over nodes, in logits, if the middle layer only stretched the embeddings' axes; "
            "above 0 the geometry alone stores the edges. Self-edges raise it, but on the grid."
        ),
        sources=("least",),
        options={
            "axis": "graph",
            "value": "condition",
            "y": "margin",
            "y_label": "margin (logits)",
        },
    ),
)

_MINI = Settings(graphs=("cycle", "grid"), steps=30, most=2, draws=20)

RECIPE = Recipe(
    name=NAME,
    title="Zigzags, and how self-edges remove them",
    paper=PAPER,
    place="Figure 9, §4.4; Figure 25",
    summary=(
        "Trains tied and untied Node2Vec and TinyNN on the four tiny graphs with and without "
        "self-edges, and measures the energy at the negative end of the graph's spectrum, where "
        "neighbours have opposite signs, beside random vectors; then TinyNN's geometric margin."
    ),
    scales={"smoke": _MINI, "cpu": Settings(), "paper": Settings(draws=1000)},
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "Untied Node2Vec starts from N(0, .02²), as TinyNN does; the paper gives no scale. From "
        "N(0, 1) it is shown beside it.",
        "Models that learnt self-edges are seen through the graph without them: with them fewer "
        "eigenspaces are negative, so that even random vectors would zigzag less.",
        "Zigzag is energy in the most negative eigenspace beyond chance; .05 counts as some.",
        "TinyNN: the paper's rates, steps and widths (512 on the cycle), AdamW, no weight decay.",
    ),
)
