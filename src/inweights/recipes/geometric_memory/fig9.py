"""Figure 9 of Geometric Memory: zigzags along negative eigendirections, and self-edges."""

from __future__ import annotations

from functools import partial
from itertools import product

import polars as pl

import inweights as iw
from inweights.config import Config
from inweights.lab import Measure, Plan, cosine, share, sweeps
from inweights.models.configs import Init, Node2VecConfig
from inweights.recipes.derived import beside_chance
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import drawings
from inweights.recipes.geometric_memory.derived import judged
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

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
        conditions: Under which conditions TinyNN is trained; claims are judged under the first.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    steps: int = 10_000
    std: float = 0.02
    most: int | None = None
    draws: int = 200
    conditions: tuple[str, ...] = gm.OF_PRECISION


def plan(settings: Settings) -> Plan:
    """Every model with and without self-edges, always seen through the graph without them."""
    from inweights.probes.reference_graph import without_self_edges

    node2vec = partial(gm.Node2VecDescent, steps=settings.steps)
    small = Node2VecConfig(tied=False, init=Init(std=settings.std))
    trials = []
    for shape, loops in product(settings.graphs, (False, True)):
        models: dict[str, gm.Training | gm.Node2VecDescent] = {
            TIED: node2vec(model=Node2VecConfig()),
            UNTIED: node2vec(model=small),
            UNIT: node2vec(model=Node2VecConfig(tied=False)),
            gm.NN: gm.training(gm.NN, shape, most=settings.most),
        }
        world = Graph(shape=shape, self_edges=loops)
        trials += [
            gm.trial(how, world, condition, graph=shape, model=model, self_edges=loops)
            for model, how in models.items()
            for condition in settings.conditions
        ]
    # Recall is that of all edges that were taught, self-edges too.
    draws, seen = {"draws": settings.draws}, partial(Measure, probe=without_self_edges)
    of_nn = partial(Measure, where={"model": gm.NN})
    measures = [
        Measure(name="recall", probe=iw.probes.graph_recall),
        of_nn(name="margin", probe=iw.probes.edge_margin),
        of_nn(name="own_margin", probe=iw.probes.geometric_margin, options=draws),
        seen(name="zigzag", options={"inner": iw.probes.zigzag, **draws}),
        seen(name="energy", options={"inner": iw.probes.spectral_energy, **draws}),
        seen(name="correlation", options={"inner": iw.probes.hop_correlation, **draws}),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Energies less those of random vectors, one column for both conditions, and margins."""
    loops = pl.when(pl.col("self_edges")).then(pl.lit("with self-edges"))
    without = loops.otherwise(pl.lit("without"))
    condition = without.alias("condition")
    least = pl.col("over") == "min"
    every = tables["margin"].filter(pl.col("rivals") == "nodes").with_columns(stored=_positive)
    tables = judged(tables, gm.BF16)
    zigzags = tables["zigzag"].with_columns(
        condition,
        excess=pl.col("zigzag") - pl.col("null_mean"),
        bottom_excess=pl.col("bottom") - pl.col("bottom_null"),
    )
    drawn = beside_chance(zigzags, "zigzag", "null_mean", label="model", name=CHANCE)
    bottom = pl.when(pl.col("model") == CHANCE).then("bottom_null").otherwise("bottom")
    spectra = tables["energy"].with_columns(
        condition, number=pl.col("space") + 1, panel=pl.concat_str("model", "graph", separator=", ")
    )
    own = tables["own_margin"].with_columns(beats_chance=(pl.col("p") <= 0.05).cast(pl.Float64))
    return tables | {
        "zigzags": zigzags,
        "beside_chance": drawn.with_columns(bottom=bottom),
        "trained_spectra": spectra.filter(pl.col("model").is_in([gm.NN, UNTIED])),
        "least": every.filter(least).with_columns(without.alias("loops")),
        "cycle_margins": every.filter(pl.col("graph") == "cycle"),
        "cycle_own": own.filter(least, pl.col("graph") == "cycle"),
        "stored": tables["recall"].filter(pl.col("model") != TIED),
    }


_positive = (pl.col("margin") > 0).cast(pl.Float64)

state = gm.PAPER.stating("fig9", "Fig. 9, §4.4", gm.BF16)

energy = share("zigzags", "zigzag").over("graph")
alone, with_loops = (energy.at(self_edges=loops) for loops in (False, True))
excess = cosine("zigzags", "excess", self_edges=True).over("graph")
bottom_alone = cosine("zigzags", "bottom_excess", self_edges=False).over("graph")
on_cycle = share("cycle_margins", "stored", condition=gm.BF16)
least = on_cycle.at(over="min", self_edges=False)
ZIGZAGGING = (("untied", UNTIED), ("tiny-nn", gm.NN))

CLAIMS = (
    *(
        state(
            f"{short}-zigzags",
            f"{model} zigzags: energy in the most negative eigenspace, minus that of random "
            "vectors.",
            bottom_alone.at(model=model) >= 0.05,
        )
        for short, model in ZIGZAGGING
    ),
    state(
        "tied-does-not",
        "Tied Node2Vec cannot: its energy at the negative end.",
        alone.at(model=TIED) <= 0.05,
    ),
    *(
        state(
            f"self-edges-lessen-{short}",
            f"Self-edges lessen the zigzag of {model}: energy at the negative end, with minus "
            "without.",
            with_loops.at(model=model) - alone.at(model=model) <= -0.1,
        )
        for short, model in ZIGZAGGING
    ),
    *(
        state(
            f"self-edges-remove-{short}",
            f"With them {model} has less energy at the negative end than random vectors "
            "(difference).",
            excess.at(model=model) <= -0.1,
        )
        for short, model in ZIGZAGGING
    ),
    *(
        state(
            f"less-dominant-{short}",
            f"The most negative eigenspace is then usually less dominant in {model}: its energy, "
            "with minus without, mean over the graphs.",
            share("zigzags", "bottom").at(model=model, self_edges=True)
            - share("zigzags", "bottom").at(model=model, self_edges=False)
            <= -0.1,
        )
        for short, model in ZIGZAGGING
    ),
    state(
        "unit-normal-does-not-move",
        "From a unit normal start the untied model hardly zigzags: it stores the edges while its "
        "spectrum stays that of random vectors (energy in the most negative space, difference).",
        bottom_alone.at(model=UNIT) <= 0.03,
        source="ours",
    ),
    state(
        "edges-are-stored",
        "Untied Node2Vec and TinyNN store every edge, self-edges too (top-degree recall).",
        share("stored", "recall").over(*LABELS) >= 1.0,
    ),
    state(
        "margin-positive",
        "TinyNN of width 512 stores the cycle geometrically, without any regulariser: share of "
        "seeds whose mean margin over the smallest neighbour is positive.",
        least >= 1.0,
        place="§3.2, C.3.1",
    ),
    state(
        "margin-positive-max",
        "The same over the largest neighbour, a weak test.",
        on_cycle.at(over="max", self_edges=False) >= 1.0,
        place="B.5, C.3.1",
    ),
    state(
        "margin-beats-chance",
        "It is geometric on more nodes than associative storage is (share of seeds, p ≤ .05).",
        share("cycle_own", "beats_chance", self_edges=False) >= 1.0,
        place="§3.2, C.3.1",
    ),
    state(
        "margin-with-self-edges",
        "With self-edges the margin over the smallest neighbour is positive for every seed.",
        on_cycle.at(over="min", self_edges=True) >= 1.0,
        place="Fig. 25, C.3.1",
    ),
)

of_models = partial(
    sweeps,
    axis="graph",
    value="model",
    series="condition",
    columns=2,
    y_label="share of the energy",
)

FIGURES = (
    of_models(
        "bottom",
        "beside_chance",
        "Energy in the most negative eigenspace, where neighbours differ in sign",
        "Always the eigenspace of the graph without self-edges. What is above random vectors is a "
        "zigzag. The untied model starts small, from N(0, .02²), or from a unit normal.",
        y="bottom",
        y_limits=(0, 1),
    ),
    of_models(
        "negative",
        "beside_chance",
        "Energy in all negative eigenspaces",
        "These spaces hold about half of all directions, so that random vectors have half of "
        "their energy here: the sum alone hardly tells a zigzag from chance.",
        y="zigzag",
        y_limits=(0, 1),
    ),
    drawings.spectra(
        "spectra",
        "trained_spectra",
        "Energy by eigenspace of untied Node2Vec and TinyNN",
        "Space 1 is the Fiedler space, the last the most negative one; both are those of the graph "
        "without self-edges.",
        series="condition",
        facet="panel",
        columns=4,
    ),
    sweeps(
        "margins",
        "least",
        "Geometric margin of TinyNN over the smallest neighbour",
        "Mean over nodes, in logits, if the middle layer only stretched the embeddings' axes, "
        "without its bias and the node itself; above 0 the geometry alone stores the edges.",
        axis="graph",
        value="loops",
        series="condition",
        y="margin",
        y_label="margin (logits)",
    ),
)

RECIPE = gm.PAPER.recipe(
    "fig9",
    title="Zigzags, and how self-edges remove them",
    place="Figure 9, §4.4; Figure 25",
    summary=(
        "Trains tied and untied Node2Vec and TinyNN on the four tiny graphs with and without "
        "self-edges, and measures the energy at the negative end of the graph's spectrum, where "
        "neighbours have opposite signs, beside random vectors; then TinyNN's geometric margin."
    ),
    scales={
        "smoke": Settings(
            graphs=("cycle", "grid"), steps=30, most=2, draws=20, conditions=(gm.BF16,)
        ),
        "cpu": Settings(),
        "paper": Settings(draws=1000),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    version=gm.VERSION,
    ours=(
        "std",
        "most",
        "draws",
        "conditions",
        *gm.OURS,
        gm.OURS_BF16,
        "Untied Node2Vec starts from N(0, .02²), as TinyNN does; the paper gives no scale. From "
        "N(0, 1) it is shown beside it.",
        "Models that learnt self-edges are seen through the graph without them: with them fewer "
        "eigenspaces are negative, so that even random vectors would zigzag less.",
        "Zigzag is energy in the most negative eigenspace beyond chance; .05 counts as some.",
    ),
)
