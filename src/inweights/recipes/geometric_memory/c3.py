"""Section 3.2, C.3 (item 3) of Geometric Memory: the edges fit with frozen embeddings as well."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config import Config
from inweights.lab import Curriculum, Measure, Plan, Trial, cosine, number, share
from inweights.recipes.derived import at_the_end, first_step
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import drawings
from inweights.recipes.geometric_memory.derived import far_correlation, judged
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

RUN = ["graph", "architecture", "embeddings", "seed"]
MODELS = (gm.GPT, gm.SSM, gm.NN)
FREE, FROZEN = "free", "frozen"
#: TinyNN of the width that §3.2 takes for its proofs.
WIDE = "TinyNN, wide"


class Settings(Config):
    """Settings of C.3, item 3.

    Attributes:
        graphs: Which of the four graphs.
        architectures: Which architectures.
        most: Trains no longer than so many steps; the paper's own if left out.
        conditions: Under which conditions; claims are judged under the first.
        wide: Width of the wide TinyNN; it is trained as long as the narrow one on the grid.
        looks: How often training is looked at, about.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    architectures: tuple[str, ...] = MODELS
    most: int | None = None
    conditions: tuple[str, ...] = gm.CONDITIONS
    wide: int = 512
    looks: int = 50


def plan(settings: Settings) -> Plan:
    """Every architecture twice from one start: its embeddings move, or stand still."""
    trials, measures = [], [Measure(name="cosines", probe=iw.probes.cosines)]
    made = gm.trials(
        settings.graphs, settings.architectures, settings.most, conditions=settings.conditions
    )
    like = structs.replace(gm.training(gm.NN, "grid", most=settings.most), width=settings.wide)
    made += [
        gm.trial(like, Graph(shape=shape), condition, graph=shape, architecture=WIDE)
        for condition in settings.conditions
        for shape in settings.graphs
    ]
    for free in made:
        every = max(1, free.learner.steps // settings.looks)
        recall = Measure(name="recall", probe=iw.probes.graph_recall, every=every)
        measures.append(replace(recall, where=free.labels))
        trials += [_labelled(free, FREE), _labelled(_frozen(free), FROZEN)]
    return Plan(trials=trials, measures=measures)


def _labelled(trial: Trial, embeddings: str) -> Trial:
    return replace(trial, labels={**trial.labels, "embeddings": embeddings})


def _frozen(trial: Trial) -> Trial:
    """All else equal: neither rate, steps, width nor start is another."""
    assert isinstance(trial.learner, Curriculum)
    phases = (structs.replace(p, freezes=("tokens.*",)) for p in trial.learner.phases)
    return replace(trial, learner=Curriculum(phases=tuple(phases)))


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Ends of all runs, with when every edge was first stored, and correlation of cosine."""
    ends = tables["recall"].filter(pl.col("embeddings") == FROZEN)
    beside = at_the_end(ends, ["condition", *RUN])
    tables = judged(tables)
    above = tables["recall"].with_columns(above_floor=pl.col("loss") - pl.col("floor"))
    stored = first_step(above, "recall", RUN, least=1.0)
    panel = pl.format("{}, {}", "architecture", "graph")
    return tables | {
        "beside": beside,
        "ends": at_the_end(above, RUN).join(stored, on=RUN),
        "correlation": far_correlation(tables["cosines"], RUN[:-1]),
        "curves": above.filter(pl.col("step") > 0).with_columns(panel=panel),
    }


state, ours = gm.stating("c3", "C.3 (item 3), §3.2", gm.CODE)

recall = share("ends", "recall", embeddings=FROZEN).over("graph")
rho = cosine("correlation", "all").over("graph")
surer = number("ends", "above_floor").over("graph")

CLAIMS = [
    claim
    for name, short in ((gm.GPT, "tinygpt"), (gm.SSM, "tinyssm"), (gm.NN, "tinynn"), (WIDE, "wide"))
    for claim in (
        state(
            f"{short}-stores-frozen",
            f"{name} stores every edge with its embeddings frozen and all else equal (top-degree "
            "recall, every graph).",
            recall.at(architecture=name) >= 1.0,
        ),
        state(
            f"{short}-is-geometric-free",
            f"In the same setup {name} is geometric where its embeddings move: its Spearman of "
            "cosine against hops, less that of the frozen ones.",
            rho.at(architecture=name, embeddings=FREE)
            - rho.at(architecture=name, embeddings=FROZEN)
            <= -0.1,
        ),
    )
]
CLAIMS += [
    ours(
        "tinygpt-stores-frozen-with-small-positions",
        "With positions as small as its frozen embeddings, under our condition, TinyGPT stores "
        "every edge (top-degree recall, every graph).",
        share("beside", "recall", architecture=gm.GPT, condition=gm.PLAIN).over("graph") >= 1.0,
    ),
    *(
        ours(
            f"{name.lower()}-is-less-sure-frozen",
            f"{name} stays less sure of the edges where they are frozen, in the same steps: loss "
            "with frozen embeddings minus that with free ones (nats).",
            surer.at(architecture=name, embeddings=FROZEN)
            - surer.at(architecture=name, embeddings=FREE)
            >= 0.1,
        )
        for name in (gm.GPT, gm.SSM)
    ),
    ours(
        "wide-is-as-sure-frozen",
        "The wide TinyNN is as sure of them with frozen embeddings as with free ones (same "
        "difference).",
        surer.at(architecture=WIDE, embeddings=FROZEN)
        - surer.at(architecture=WIDE, embeddings=FREE)
        <= 0.05,
    ),
]

FIGURES = (
    drawings.on_graphs(
        "beside",
        "beside",
        "What frozen embeddings store, under every condition that was run",
        "Top-degree recall at the end of training. TinyNN's width is that of the paper on each "
        "graph (32, 32, 512 and 16), and 512 where it is called wide.",
        y="recall",
        series="condition",
        y_label="recall",
        y_limits=(0, 1.05),
    ),
    drawings.course(
        "loss",
        "curves",
        "Frozen embeddings fit the same edges, more slowly",
        "Loss above the least that is possible, through training; free and frozen embeddings start "
        "alike and are trained alike. A loss above its floor is no forgotten edge: recall counts "
        "whether a node's neighbours come first.",
        y="above_floor",
        series="embeddings",
        facet="panel",
        y_label="loss above its floor (nats)",
        columns=4,
    ),
    drawings.course(
        "recall",
        "curves",
        "Edges that are stored, in the same runs",
        "Top-degree recall; mean over seeds with 95% band.",
        y="recall",
        series="embeddings",
        facet="panel",
        y_label="recall",
        y_limits=(0, 1.05),
        columns=4,
    ),
)

RECIPE = gm.PAPER.recipe(
    "c3",
    title="What could have stayed a lookup",
    place="Section 3.2, C.3 (item 3)",
    summary=(
        "Trains TinyGPT, TinySSM and TinyNN on the four tiny graphs twice, from the same start at "
        "the same rate for as many steps: with embeddings that move, and with the token "
        "embeddings frozen, which are also the readout. Nothing but the frozen embeddings differs, "
        "so that what the second stores shows that the first need not have become geometric."
    ),
    scales={
        "smoke": Settings(graphs=("grid",), most=4, looks=2),
        "cpu": Settings(most=2500),
        "paper": Settings(looks=100),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "most",
        "conditions",
        "looks",
        *gm.OURS,
        gm.OURS_SSM,
        "At most 2,500 steps at cpu scale, which cuts TinyNN on the cycle alone.",
        "Token embeddings are frozen, and with them the tied readout; TinyGPT's positions move.",
    ),
)
