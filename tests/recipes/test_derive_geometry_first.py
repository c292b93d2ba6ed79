"""What the recipes of geometry first derive, from tables whose outcome is worked out by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from inweights.recipes.beyond import geometry_first, what_mends_long_paths
from inweights.recipes.beyond import when_does_geometry_navigate as navigate


def table(columns: str, *rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=columns.split(), orient="row")


def values(frame: pl.DataFrame, columns: str, **where: Any) -> list[tuple[Any, ...]]:
    """Rows that match, of these columns; numbers are rounded."""
    found = frame.filter(*(pl.col(name) == value for name, value in where.items()))
    names = columns.split()
    return [
        tuple(round(v, 6) if isinstance(v, float) else v for v in row)
        for row in found.select(names).rows()
    ]


def ends(names: str, *runs: tuple[tuple[Any, ...], float, float]) -> dict[str, pl.DataFrame]:
    """Tables ``places`` and ``navigation`` of runs: labels, hardest token, and ridge map."""
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
        for of, value in (("hardest", 0.65), ("trained", 0.8), ("edges", 0.5), ("ridge", 0.75))
    ]


def test_what_mends_long_paths_names_what_is_shown() -> None:
    derived = what_mends_long_paths.derive(ends("pressure nodes seed", (("p", 8, 0), 0.65, 0.75)))
    assert values(derived["table"], ENDS) == [(0.65, 0.3, 0.8, 0.5, 0.4, 0.75, 0.25)]
    assert values(derived["shown"], "pressure nodes of value") == [
        ("p", 8, "found by the model", 0.65),
        ("p", 8, "by an affine map", 0.75),
        ("p", 8, "nearest first node", 0.4),
        ("p", 8, "edges recalled", 0.5),
    ]


def test_the_map_counts_its_base_once() -> None:
    runs = (
        ((navigate.STEPS, 250, 4, 0), 0.9, 0.8),  # the base, twice
        ((navigate.ARMS, 200, 4, 0), 0.9, 0.8),
        ((navigate.ARMS, 50, 4, 0), 0.3, 0.8),
        ((navigate.WIDTH, 16, 6, 0), 0.5, 0.1),
    )
    derived = navigate.derive(ends("swept setting nodes seed", *runs))
    assert values(derived["table"], "row", nodes=4, swept=navigate.ARMS) == [
        ("200 arms",),
        ("50 arms",),
    ]
    assert values(derived["short"], "setting") == [(250,), (200,), (50,)]
    # Of (.9, .8), (.3, .8), (.5, .1), each once: sums of squares .56/3 and .98/3, products .14/3.
    expected = 0.14 / (0.56 * 0.98) ** 0.5
    assert derived["agreement"]["correlation"].to_list() == pytest.approx([expected])
    shown = values(derived["shown"], "row length value", of="hardest")
    assert shown == [
        ("50 arms", "4 nodes", 0.3),
        ("200 arms", "4 nodes", 0.9),
        ("16 width", "6 nodes", 0.5),
        ("250 edge steps", "4 nodes", 0.9),
    ]
    assert set(derived["shown"]["of"]) == {"hardest", "ridge", "nearest", "edges"}
