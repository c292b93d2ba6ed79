"""Appendix E.2 and E.3 of Geometric Memory: succinctness, and associative constructions."""

from __future__ import annotations

from functools import partial

import polars as pl
from msgspec import structs

from inweights.config import Config
from inweights.lab import Computation, Plan, computed, lines, sweeps
from inweights.recipes.geometric_memory.common import GRAPHS, PAPER, Shape, stating
from inweights.theory.storage_tables import constructions, costs, squeezed_star
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

CYCLE, STAR, COMPLETE = "cycle", "path-star", "complete bipartite"


class Settings(Config):
    """Settings of E.2 and E.3.

    Attributes:
        nodes: Nodes of the cycles, and about as many of the other graphs.
        most: Nodes of a complete bipartite graph at most; it has a quarter of their square edges.
        path: Nodes of a path of the stars, their root included.
        graphs: The graphs that the constructions store.
        arms: Arms of the stars that are squeezed into fewer dimensions than arms.
    """

    nodes: tuple[int, ...] = (17, 49, 101, 401, 1001)
    most: int = 410
    path: int = 5
    graphs: tuple[Shape, ...] = GRAPHS
    arms: tuple[int, ...] = (16, 64, 256, 1024)


def plan(settings: Settings) -> Plan:
    """Costs of growing graphs, stored in one direction and in both; every construction."""
    stored = [
        Computation(
            name="costs",
            labels={"graph": name, "directions": edges, "size": count},
            compute=costs,
            options={
                "world": structs.replace(world, edges=edges),
                "dimensions": dimensions,
                "cells": cells,
            },
        )
        for count in settings.nodes
        for edges in ("forward", "both")
        for name, world, dimensions, cells in _graphs(count, settings)
    ]
    build = partial(Computation, name="constructions", compute=constructions, seeded=True)
    built = [
        build(labels={"graph": shape}, options={"world": Graph(shape=shape)})
        for shape in settings.graphs
    ]
    squeezed = [
        Computation(
            name="squeezed",
            labels={"arms": arms},
            compute=squeezed_star,
            options={"arms": arms, "nodes": settings.path},
        )
        for arms in settings.arms
    ]
    return Plan(computations=[*stored, *built, *squeezed])


def _graphs(count: int, settings: Settings) -> list[tuple[str, Graph, int, int]]:
    """Graphs of about so many nodes, with the dimensions and cells of their geometry."""
    arms = max(1, (count - 1) // (settings.path - 1))
    star = Graph(shape="path-star", arms=arms, nodes=settings.path)
    graphs = [(CYCLE, Graph(shape="cycle", n=count), 2, count), (STAR, star, arms, settings.path)]
    if count <= settings.most:
        half = range(count // 2)
        pairs = [[f"u{i}", f"w{j}"] for i in half for j in half]
        graphs.append((COMPLETE, Graph(shape="edges", links=pairs), 2, 2))
    return graphs


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Ratios of the sparse graphs apart from the dense one, and their growth with size."""
    words = {"forward": "one direction", "both": "both directions"}
    directions = pl.col("directions").replace_strict(words, return_dtype=pl.String)
    tied = pl.when(pl.col("tied")).then(pl.lit("tied")).otherwise(pl.lit("untied"))
    ratios = tables["costs"].with_columns(
        storage=pl.format("{}, {}", directions, tied), panel=pl.format("{}, {}", "graph", "measure")
    )
    keys = ["seed", "graph", "measure", "directions", "tied", "storage"]
    sizes, ratio = ratios.sort("nodes").group_by(keys, maintain_order=True), pl.col("ratio")
    sparse = pl.col("graph") != COMPLETE
    built = tables["constructions"].with_columns(error=pl.max_horizontal("on_edges", "off_edges"))
    return {
        **_squeezing(tables["squeezed"]),
        "sparse": ratios.filter(sparse),
        "ratios": ratios.filter(sparse | (pl.col("measure") == "norm")),
        "growth": sizes.agg(growth=ratio.last() / ratio.first()),
        "built": built,
        "three": built.filter(pl.col("construction") == "proposition 3"),
        "widths": built.select("seed", "graph", "construction", value="width_over_nodes"),
    }


def _squeezing(squeezed: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """How dimensions grow with the arms, and dimensions beside arms as rows."""
    stars = squeezed.sort("arms").group_by("seed", maintain_order=True)
    over_log, over_arms = pl.col("over_log"), pl.col("over_arms")
    return {
        "squeezing": stars.agg(
            growth=over_log.last() / over_log.first(),
            most=pl.col("ratio").max(),
            few=over_arms.first(),
            many=over_arms.last(),
        ),
        "squeezed": squeezed.unpivot(
            on=["dimensions", "arms"], index=["seed", "nodes"], variable_name="embedding"
        ),
    }


state, ours = stating("e2-e3", "E.2")

ratio = computed("sparse", "ratio").over("graph", "directions", "tied", "size")
growth = computed("growth", "growth", measure="norm").over("directions", "tied")
error, three = computed("built", "error").over("graph"), computed("three", "error").over("graph")
narrowest = computed("constructions", "width_over_edges", construction="shifted").over("graph")

CLAIMS = (
    state(
        "bits-do-not-favour-geometry",
        "On cycle and path-star geometry never costs fewer bits: associative over geometric, the "
        "largest at any size.",
        ratio.at(measure="bits") <= 1.0 + 1e-9,
        place="Prop. 1, §3.2",
    ),
    state(
        "norms-tie",
        "Norms differ by no more than √2 in either direction at any size (associative over "
        "geometric).",
        ratio.at(measure="norm").within(0.66, 1.4143),
        place="Prop. 2, §3.2",
    ),
    *(
        state(
            f"no-gap-grows-{graph}",
            f"On the {graph} the gap in norm does not grow with the graph: ratio at the largest "
            "size over that at the smallest.",
            growth.at(graph=graph).within(0.95, 1.05),
        )
        for graph in (CYCLE, STAR)
    ),
    ours(
        "dense-graphs-are-different",
        "On a complete bipartite graph it does grow, as √N: same ratio.",
        growth.at(graph=COMPLETE) >= 2.0,
    ),
    state(
        "arms-squeeze-into-their-logarithm",
        "Random directions keep the arms of a star apart (cosines up to ½) in a number of "
        "dimensions that grows as their logarithm: dimensions over ln(arms), at the most arms "
        "over that at the fewest.",
        computed("squeezing", "growth") <= 2.0,
        place="E.2, Johnson-Lindenstrauss",
    ),
    state(
        "squeezed-still-costs-more",
        "So squeezed a star still costs more bits than associative storage: associative over "
        "geometric, the largest.",
        computed("squeezing", "most") <= 1.0,
        place="E.2, Johnson-Lindenstrauss",
    ),
    ours(
        "few-arms-do-not-squeeze",
        "With sixteen arms random directions take more dimensions than one an arm (over arms).",
        computed("squeezing", "few") >= 1.0,
    ),
    *(
        state(
            f"proposition-{number}",
            f"{words} give logit 1 on edges and 0 between all others (largest error).",
            error.at(construction=f"proposition {number}") <= 1e-9,
            place=f"Prop. {number}",
        )
        for number, words in (
            (4, "Untied embeddings, one of them the adjacency,"),
            (5, "The rows of the incidence matrix, tied,"),
        )
    ),
    state(
        "proposition-3-as-printed",
        "Tied embeddings of a bipartite graph give logit 1 on edges and 0 between all others.",
        three <= 1e-9,
        place="Prop. 3",
    ),
    ours(
        "proposition-3-across",
        "They do so between the two parts.",
        three.of("across") <= 1e-9,
        place="Prop. 3",
    ),
    state(
        "footnote-14",
        "No tied embedding is narrower than the number of edges: width of the narrowest that we "
        "know, over edges.",
        narrowest >= 1.0,
        place="Footnote 14",
    ),
    ours(
        "narrower-than-nodes",
        "A tied embedding narrower than the number of nodes is exact (largest error).",
        error.at(construction="shifted") <= 1e-9,
        place="E.3",
    ),
)

FIGURES = (
    lines(
        "ratios",
        "ratios",
        "What associative storage costs beside geometric storage",
        "Above 1 geometry is the more succinct one. On cycle and path-star no gap in favour of it "
        "grows with size, so that succinctness does not explain why geometry wins; on a complete "
        "bipartite graph it would. A star's geometry takes a dimension an arm.",
        x="nodes",
        y="ratio",
        series="storage",
        facet="panel",
        x_log=True,
        x_label="nodes",
        y_label="associative / geometric",
        columns=3,
    ),
    lines(
        "squeezed",
        "squeezed",
        "A star's arms along random directions",
        "Dimensions in which random directions keep all arms apart, no two closer than a cosine of "
        "½, beside one dimension an arm. They grow as the logarithm, and pay from some thirty arms "
        "on; in bits they never beat the list of edges.",
        x="nodes",
        y="value",
        series="embedding",
        labels={"dimensions": "random directions", "arms": "one dimension an arm"},
        x_log=True,
        x_label="nodes",
        y_label="dimensions",
    ),
    sweeps(
        "widths",
        "widths",
        "How wide an associative embedding has to be",
        "Width over the number of nodes. Proposition 3 exists for graphs without odd cycles and "
        "counts common neighbours within a part. The shifted adjacency A + cI is a Gram matrix, "
        "exact, and always narrower than the graph has nodes.",
        axis="graph",
        value="construction",
        y="value",
        y_label="width / nodes",
        y_limits=(0, 1.6),
    ),
)

RECIPE = PAPER.recipe(
    "e2-e3",
    title="Succinctness does not decide, and lookups can be built",
    place="Appendix E.2 and E.3, Propositions 1–5",
    summary=(
        "Computes the bits and norms that associative and geometric storage take on growing "
        "cycles, path-stars and complete bipartite graphs; builds every associative construction "
        "of the paper on the four tiny graphs and compares its logits with the adjacency."
    ),
    scales={
        "smoke": Settings(nodes=(9, 17), graphs=("grid", "cycle"), arms=(16, 64)),
        "cpu": Settings(),
        "paper": Settings(nodes=(17, 49, 101, 401, 1001, 3001)),
    },
    seeds={"smoke": 1, "cpu": 1, "paper": 1},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "nodes",
        "most",
        "path",
        "arms",
        "Geometric embeddings: 2 dimensions of N cells for a cycle, a dimension an arm and a cell "
        "a node of the path for a path-star, as the proof takes them.",
        "Complete bipartite graphs are ours; only their norms are compared.",
        "The one-step half of Proposition 4 is trained in geometric-memory/fig6.",
    ),
)
