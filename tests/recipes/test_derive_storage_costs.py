"""Derived tables of the costs of a lookup and of a geometry, computed by hand."""

from __future__ import annotations

from tests.recipes.tables import holds, rows, table

from inweights.recipes.geometric_memory import e2_e3


def test_costs_grow_from_the_smallest_graph_to_the_largest() -> None:
    costs = table(
        "seed graph directions size measure tied nodes ratio",
        (0, "cycle", "both", 9, "norm", True, 9, 0.9),
        (0, "cycle", "both", 5, "norm", True, 5, 0.6),
        (0, "cycle", "both", 5, "bits", False, 5, 0.3),
        (0, "complete bipartite", "forward", 4, "norm", False, 4, 2.0),
        (0, "complete bipartite", "forward", 4, "bits", False, 4, 4.0),
        (0, "complete bipartite", "forward", 8, "norm", False, 8, 5.0),
    )
    built = table(
        "seed graph construction on_edges off_edges across width_over_nodes",
        (0, "grid", "proposition 3", 0.1, 0.4, 0.0, 0.5),
        (0, "grid", "shifted", 0.3, 0.2, 0.1, 0.7),
    )
    star = table(
        "seed nodes arms dimensions over_log over_arms ratio",
        (0, 9, 4, 2, 1.0, 0.5, 0.7),
    )
    found = e2_e3.derive({"costs": costs, "constructions": built, "squeezed": star})
    holds(found["sparse"], graph=["cycle"] * 3, ratio=[0.9, 0.6, 0.3])
    holds(found["ratios"], ratio=[0.9, 0.6, 0.3, 2.0, 5.0])
    assert found["ratios"].select("panel", "storage").unique(
        maintain_order=True
    ).rows() == [
        ("cycle, norm", "both directions, tied"),
        ("cycle, bits", "both directions, untied"),
        ("complete bipartite, norm", "one direction, untied"),
    ]
    growth = found["growth"].sort("graph", "measure")
    holds(growth, graph=["complete bipartite"] * 2 + ["cycle"] * 2)
    holds(growth, measure=["bits", "norm"] * 2, growth=[1.0, 2.5, 1.0, 1.5])
    holds(found["built"], error=[0.4, 0.3])
    holds(found["three"], construction=["proposition 3"], error=[0.4], across=[0.0])
    holds(found["widths"], construction=["proposition 3", "shifted"], value=[0.5, 0.7])


def test_growth_of_squeezed_stars() -> None:
    squeezed = table(
        "arms nodes dimensions over_log over_arms ratio",
        *((64, 257, 30, 8.0, 0.5, 0.1), (16, 65, 20, 4.0, 1.25, 0.2)),
        seed=7,
    )
    made = e2_e3._squeezing(squeezed)
    assert rows(made["squeezing"], "growth most few many") == [(2.0, 0.2, 1.25, 0.5)]
    assert made["squeezed"].height == 4
