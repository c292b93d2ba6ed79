"""Derived tables of the geometry-first recipes, computed by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
from tests.recipes.tables import table, values

from inweights.recipes.beyond import geometry_first
from inweights.recipes.beyond import how_far_geometry_carries as carry


def ends(
    names: str, *runs: tuple[tuple[Any, ...], float, float]
) -> dict[str, pl.DataFrame]:
    """Return the tables ``places`` and ``navigation`` of runs with the given values."""
    places, near = [], []
    for labels, found, ridge in runs:
        places += [
            (*labels, "path", "queries", 0, 1.0, 0.3, 0.9),
            (*labels, "path", "queries", 1, found, 0.3, 0.9),
            (*labels, "path", "facts", 1, 0.8, 0.6, 0.9),
            (*labels, "edge", "facts", 0, 0.1, 0.1, 0.7),
            (*labels, "reverse_edge", "facts", 0, 0.2, 0.2, 0.5),
        ]
        near += [(*labels, 1, 0.4, ridge, 0.25), (*labels, 2, 0.45, 0.55, 0.35)]
    return {
        "places": table(f"{names} role part place accuracy exact recall", *places),
        "navigation": table(f"{names} depth nearest ridge chance", *near),
    }


ENDS = "hardest exact trained edges nearest ridge chance"


def test_geometry_first_reads_the_first_node_and_the_worse_direction() -> None:
    run = (("a", "random", 0), 0.65, 0.75)
    derived = geometry_first.derive(ends("graph embeddings seed", run))
    assert values(derived["table"], ENDS) == [(0.65, 0.3, 0.8, 0.5, 0.4, 0.75, 0.25)]
    assert values(derived["shown"], "graph embeddings of value") == [
        ("a", "random", of, value)
        for of, value in (
            ("hardest", 0.65),
            ("trained", 0.8),
            ("edges", 0.5),
            ("ridge", 0.75),
        )
    ]


def test_the_law_is_fitted_on_some_cells_and_judged_on_the_others() -> None:
    """The reach grows by a node per doubling of arms, and by two from decay 1 to 4."""
    cells = [(a, w, d, a != 8) for a in (2, 4, 8) for w in (16, 32) for d in (1.0, 4.0)]
    runs = []
    for arms, width, decay, fitted in cells:
        reach = {2: 4, 4: 5, 8: 6}[arms] + (2 if decay == 4 else 0)
        if (arms, width, decay) == (8, 16, 4.0):
            reach -= 3
        for nodes in range(4, 10):  # lengths beyond a gap are ignored
            found = 0.9 if nodes <= reach or nodes == 9 > reach + 1 else 0.89
            runs.append(
                ((arms, width, decay, nodes, 0, carry.EDGES, fitted), 0.1, found)
            )
    runs.append(((9, 16, 4.0, 8, 0, carry.PATHS, False), 0.6, 0.7))
    derived = carry.derive(ends("arms width decay nodes seed stage fitted", *runs))
    by = {"by": carry.AFFINE}
    per = "per_arms per_width per_decay"
    assert values(derived["law"], per, **by) == [(1.0, 0.0, 1.0)]
    assert values(derived["judged"], "width decay reach foretold error", **by) == [
        (16, 1.0, 6.0, 6.0, 0.0),
        (16, 4.0, 5.0, 8.0, -3.0),
        (32, 1.0, 6.0, 6.0, 0.0),
        (32, 4.0, 8.0, 8.0, 0.0),
    ]
    # The mean of the fitted cells, 5.5, has errors of .5, .5, .5 and 2.5, and the law of 3
    # once.
    assert values(derived["hits"], "within gain", **by) == [(0.75, 0.25)]
    # If nothing is nearest at any length, the reach is one less than the shortest.
    assert set(derived["judged"].filter(by=carry.NEAREST)["reach"]) == {3.0}
    assert values(derived["read"], ENDS) == [(0.6, 0.3, 0.8, 0.5, 0.4, 0.7, 0.25)]
    assert values(
        derived["shown"], "what value", arms=2, panel="width 16, decay 1.0"
    ) == [
        ("reach", 4.0),
        ("predicted", 4.0),
    ]
    shown = values(derived["profile"], "of value", cell="2 arms, decay 1.0", nodes=5)
    assert shown == [(carry.AFFINE, 0.89), (carry.NEAREST, 0.4), ("edges", 0.5)]


def test_the_law_foretells_no_more_than_can_be_seen() -> None:
    """Twice the arms give two more nodes: 10 at 8 arms, but the longest tried path has 8."""
    runs = [
        (
            (arms, width, decay, nodes, 0, carry.EDGES, arms < 8),
            0.1,
            1.0 * (nodes <= reach),
        )
        for arms, reach in ((2, 6), (4, 8), (8, 8))
        for width in (16, 32)
        for decay in (1.0, 4.0)
        for nodes in range(4, 9)
    ]
    derived = carry.derive(ends("arms width decay nodes seed stage fitted", *runs))
    judged = values(derived["judged"], "reach foretold error", by=carry.AFFINE)
    assert judged == [(8.0, 8.0, 0.0)] * 4
