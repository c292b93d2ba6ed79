"""Appendix E.2 and E.3 of Geometric Memory: succinctness, and associative constructions."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from inweights.config import Config
from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import GRAPHS, PAPER, SOURCE
from inweights.recipes.recipe import Deduction, Figure, Plan, Recipe
from inweights.theory.storage_tables import constructions, costs
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

NAME = "geometric-memory/e2-e3"
CYCLE, STAR, COMPLETE = "cycle", "path-star", "complete bipartite"


class Settings(Config):
    """Settings of E.2 and E.3.

    Attributes:
        nodes: Nodes of the cycles, and about as many of the other graphs.
        most: Nodes of a complete bipartite graph at most; it has a quarter of their square edges.
        path: Nodes of a path of the stars, their root included.
        graphs: The graphs that the constructions store.
    """

    nodes: tuple[int, ...] = (17, 49, 101, 401, 1001)
    most: int = 410
    path: int = 5
    graphs: tuple[str, ...] = GRAPHS


def plan(settings: Settings, seeds: Sequence[int]) -> Plan:
    """Costs of growing graphs, stored in one direction and in both; every construction."""
    first = seeds[0]
    deductions = []
    for count in settings.nodes:
        arms = max(1, (count - 1) // (settings.path - 1))
        half = count // 2
        whole = range(half if count <= settings.most else 1)
        pairs = [[f"u{i}", f"w{j}"] for i in whole for j in whole]
        for edges in ("forward", "both"):
            for name, world, dimensions, cells in (
                (CYCLE, Graph(shape="cycle", n=count, edges=edges), 2, count),
                (
                    STAR,
                    Graph(shape="path-star", arms=arms, nodes=settings.path, edges=edges),
                    arms,
                    settings.path,
                ),
                (COMPLETE, Graph(shape="edges", links=pairs, edges=edges), 2, 2),
            ):
                if name == COMPLETE and count > settings.most:
                    continue
                deductions.append(
                    Deduction(
                        name="costs",
                        labels={"graph": name, "directions": edges, "size": count},
                        seed=first,
                        compute=costs,
                        options={"world": world, "dimensions": dimensions, "cells": cells},
                    )
                )
    deductions += [
        Deduction(
            name="constructions",
            labels={"graph": shape},
            seed=first,
            compute=constructions,
            options={"world": Graph(shape=shape), "seed": first},  # type: ignore[arg-type]
        )
        for shape in settings.graphs
    ]
    return Plan(deductions=deductions)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Ratios of the sparse graphs apart from the dense one, and their growth with size."""
    words = {"forward": "one direction", "both": "both directions"}
    ratios = tables["costs"].with_columns(
        storage=pl.concat_str(
            pl.col("directions").replace_strict(words, return_dtype=pl.String),
            pl.when(pl.col("tied")).then(pl.lit("tied")).otherwise(pl.lit("untied")),
            separator=", ",
        ),
        panel=pl.concat_str("graph", "measure", separator=", "),
    )
    keys = ["seed", "graph", "measure", "directions", "tied", "storage"]
    growth = (
        ratios.sort("nodes")
        .group_by(keys, maintain_order=True)
        .agg(
            growth=pl.col("ratio").last() / pl.col("ratio").first(),
        )
    )
    sparse = pl.col("graph") != COMPLETE
    built = tables["constructions"].with_columns(
        error=pl.max_horizontal("on_edges", "off_edges"),
    )
    three = pl.col("construction") == "proposition 3"
    widths = built.select("seed", "graph", "construction", value="width_over_nodes")
    return {
        "sparse": ratios.filter(sparse),
        "ratios": ratios.filter(sparse | (pl.col("measure") == "norm")),
        "growth": growth,
        "built": built,
        "three": built.filter(three),
        "widths": widths,
    }


state = Statement(NAME, source=SOURCE, place="E.2")

CLAIMS = (
    state(
        "bits-do-not-favour-geometry",
        "On cycle and path-star geometry never costs fewer bits: associative over geometric, the "
        "largest at any size.",
        Target(most=1.0 + 1e-9),
        table="sparse",
        column="ratio",
        where={"measure": "bits"},
        each=("graph", "directions", "tied", "size"),
        place="Prop. 1, §3.2",
        exact=True,
    ),
    state(
        "norms-tie",
        "Norms differ by no more than √2 in either direction at any size (associative over "
        "geometric).",
        Target(least=0.66, most=1.4143),
        table="sparse",
        column="ratio",
        where={"measure": "norm"},
        each=("graph", "directions", "tied", "size"),
        place="Prop. 2, §3.2",
        exact=True,
    ),
    *(
        state(
            f"no-gap-grows-{graph}",
            f"On the {graph} the gap in norm does not grow with the graph: ratio at the largest "
            "size over that at the smallest.",
            Target(least=0.95, most=1.05),
            table="growth",
            column="growth",
            where={"measure": "norm", "graph": graph},
            each=("directions", "tied"),
            place="E.2",
            exact=True,
        )
        for graph in (CYCLE, STAR)
    ),
    state(
        "dense-graphs-are-different",
        "On a complete bipartite graph it does grow, as √N: same ratio.",
        Target(least=2.0),
        table="growth",
        column="growth",
        where={"measure": "norm", "graph": COMPLETE},
        each=("directions", "tied"),
        source="ours",
        exact=True,
    ),
    *(
        state(
            f"proposition-{number}",
            f"{words} give logit 1 on edges and 0 between all others (largest error).",
            Target(most=1e-9),
            table="built",
            column="error",
            where={"construction": f"proposition {number}"},
            each=("graph",),
            place=f"Prop. {number}",
            exact=True,
        )
        for number, words in (
            (4, "Untied embeddings, one of them the adjacency,"),
            (5, "The rows of the incidence matrix, tied,"),
        )
    ),
    state(
        "proposition-3-as-printed",
        "Tied embeddings of a bipartite graph give logit 1 on edges and 0 between all others.",
        Target(most=1e-9),
        table="three",
        column="error",
        each=("graph",),
        place="Prop. 3",
        exact=True,
    ),
    state(
        "proposition-3-across",
        "They do so between the two parts.",
        Target(most=1e-9),
        table="three",
        column="across",
        each=("graph",),
        place="Prop. 3",
        source="ours",
        exact=True,
    ),
    state(
        "footnote-14",
        "No tied embedding is narrower than the number of edges: width of the narrowest that we "
        "know, over edges.",
        Target(least=1.0),
        table="constructions",
        column="width_over_edges",
        where={"construction": "shifted"},
        each=("graph",),
        place="Footnote 14",
        exact=True,
    ),
    state(
        "narrower-than-nodes",
        "A tied embedding narrower than the number of nodes is exact (largest error).",
        Target(most=1e-9),
        table="built",
        column="error",
        where={"construction": "shifted"},
        each=("graph",),
        source="ours",
        place="E.3",
        exact=True,
    ),
)

FIGURES = (
    Figure(
        id="ratios",
        kind="lines",
        title="What associative storage costs beside geometric storage",
        caption=(
            "Above 1 geometry is the more succinct one. On cycle and path-star no gap in favour of "
            "it grows with size, so that succinctness does not explain why geometry wins; on a "
            "complete bipartite graph it would. A star's geometry takes a dimension an arm."
        ),
        sources=("ratios",),
        options={
            "x": "nodes",
            "y": "ratio",
            "series": "storage",
            "facet": "panel",
            "x_log": True,
            "x_label": "nodes",
            "y_label": "associative / geometric",
            "columns": 3,
        },
    ),
    Figure(
        id="widths",
        kind="sweeps",
        title="How wide an associative embedding has to be",
        caption=(
            "Width over the number of nodes. Proposition 3 exists for graphs without odd cycles "
            "and counts common neighbours within a part. The shifted adjacency A + cI is a Gram "
            "matrix, exact, and always narrower than the graph has nodes."
        ),
        sources=("widths",),
        options={
            "axis": "graph",
            "value": "construction",
            "y": "value",
            "y_label": "width / nodes",
            "y_limits": [0, 1.6],
        },
    ),
)

RECIPE = Recipe(
    name=NAME,
    title="Succinctness does not decide, and lookups can be built",
    paper=PAPER,
    place="Appendix E.2 and E.3, Propositions 1–5",
    summary=(
        "Computes the bits and norms that associative and geometric storage take on growing "
        "cycles, path-stars and complete bipartite graphs; builds every associative construction "
        "of the paper on the four tiny graphs and compares its logits with the adjacency."
    ),
    scales={
        "smoke": Settings(nodes=(9, 17), graphs=("grid", "cycle")),
        "cpu": Settings(),
        "paper": Settings(nodes=(17, 49, 101, 401, 1001, 3001)),
    },
    seeds={"smoke": 1, "cpu": 1, "paper": 1},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "Geometric embeddings: 2 dimensions of N cells for a cycle, a dimension an arm and a cell "
        "a node of the path for a path-star, as the proof takes them.",
        "Complete bipartite graphs are ours; only their norms are compared.",
        "The one-step half of Proposition 4 is trained in geometric-memory/fig6.",
    ),
)
