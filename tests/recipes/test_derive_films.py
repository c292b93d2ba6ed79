"""Pictures of films, from small Gram matrices with known correlations."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from tests.recipes.tables import close, rows, table

from inweights.recipes.beyond import real_graphs
from inweights.recipes.geometric_memory import fig1, filming
from inweights.recipes.geometric_memory.common import FROZEN, GPT, NN, NODE2VEC
from inweights.worlds import Graph


def film(gram: np.ndarray, steps: range, **labels: Any) -> pl.DataFrame:
    """Return a film of one seed in which nothing moves."""
    lower = gram[np.tril_indices(len(gram))].tolist()
    return pl.DataFrame(
        {"step": list(steps), "gram": [lower] * len(steps)},
        schema_overrides={"gram": pl.List(pl.Float32)},
    ).with_columns(
        recall=pl.lit(0.5),
        recall_others=pl.lit(0.75),
        seed=pl.lit(7),
        **{name: pl.lit(value) for name, value in labels.items()},
    )


#: For the path a-b-c: neighbours are similar in the first, and the ends in the second.
NEAR = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]])
ENDS = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]])


def test_pictures_of_films() -> None:
    """Forty frames of a long film are used; the start is not part of the curve."""
    long = film(NEAR, range(0, 1000, 10), graph="path", architecture=NODE2VEC)
    short = film(ENDS, range(3), graph="path", architecture=GPT)
    correlation = ((NODE2VEC, -0.9), (GPT, 0.2), (FROZEN, -0.1))
    recall = ((NODE2VEC, 0.1, 0.8), (GPT, 0.6, 0.3))
    made = filming.pictures(
        {
            "film": pl.concat([long, short]),
            "correlation": table("architecture spearman", *correlation, graph="path"),
            "recall": table("architecture recall recall_others", *recall),
        },
        {"path": Graph(shape="edges", links=[["a", "b"], ["b", "c"]])},
    )
    assert 30 <= len(rows(made["films"], "step", architecture=NODE2VEC)) <= 40
    keys = "architecture seed step"
    assert sorted(rows(made["film"], keys)) == sorted(rows(made["films"], keys))
    assert rows(made["films"], "recall seed", architecture=GPT, step=2) == [(0.75, 7)]
    # Rank correlations of cosines with hops: perfect, and reversed.
    assert close(
        rows(made["curves"], "step spearman", architecture=GPT), (1, 1.0), (2, 1.0)
    )
    assert close(
        rows(made["films"], "spearman", architecture=NODE2VEC, step=0), (-1.0,)
    )
    assert rows(made["graphs"], "graph nodes") == [("path", ["a", "b", "c"])]
    assert rows(made["correlation"], "architecture size") == [
        (FROZEN, 0.1),
        (GPT, 0.2),
        (NODE2VEC, 0.9),
    ]
    assert rows(made["stored"], "architecture edges") == [(NODE2VEC, 0.8), (GPT, 0.6)]


def test_fig1_looks_at_graphs_in_order() -> None:
    """On the ordered ring, a Gram matrix that decreases with hops has rank correlation -1."""
    apart = np.abs(np.subtract.outer(np.arange(15), np.arange(15)))
    ring = 8.0 - np.minimum(apart, 15 - apart)
    labels = {"graph": "cycle", "architecture": NN}
    made = fig1.derive(
        {
            "film": film(ring, range(2), **labels),
            "correlation": table("seed spearman", (7, -1.0), **labels),
            "recall": table("seed recall recall_others", (7, 1.0, 0.5), **labels),
        }
    )
    assert close(rows(made["curves"], "graph step spearman"), ("cycle", 1, -1.0))


def test_real_graphs_are_made_again_from_their_edges() -> None:
    gram = np.eye(4)
    gram[:3, :3] = NEAR
    correlation = ((GPT, -0.7, -0.3), (NN, -0.1, -0.3))
    recall = ((NODE2VEC, 0.1, 0.8), (GPT, 0.6, 0.3))
    made = real_graphs.derive(
        {
            "links": table("from to", ("a", "b"), ("b", "c"), ("z", None), graph="odd"),
            "film": film(gram, range(2), architecture=GPT, graph="odd"),
            "correlation": table(
                "architecture spearman null_low", *correlation, graph="odd"
            ),
            "recall": table("architecture recall recall_others", *recall, graph="odd"),
        }
    )
    assert made["graphs"]["nodes"].to_list() == [["a", "b", "c", "z"]]
    assert made["graphs"]["links"].to_list() == [[[0, 1], [1, 2]]]
    assert close(
        rows(made["correlation"], "architecture beyond_chance"), (NN, -0.2), (GPT, 0.4)
    )
    assert rows(made["stored"], "edges trained") == [(0.8, False), (0.6, True)]


def test_edges_of_large_graphs_alone_are_pooled(monkeypatch) -> None:
    """Thus runs of small graphs keep their keys, and large ones compute fewer logits."""
    monkeypatch.setattr(real_graphs, "EXACT", 5)
    small = Graph(shape="path-star", arms=2, nodes=3)
    large = Graph(shape="path-star", arms=3, nodes=3)
    settings = real_graphs.Settings(graphs=(), own={"small": small, "large": large})
    pooled: dict[Any, set[bool]] = {"small": set(), "large": set()}
    for trial in real_graphs.plan(settings).trials:
        if trial.labels["architecture"] != NODE2VEC:
            phases = trial.learner.phases
            pooled[trial.labels["graph"]] |= {phase.pooled for phase in phases}
    assert pooled == {"small": {False}, "large": {True}}
