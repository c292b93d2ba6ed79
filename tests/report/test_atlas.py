"""The atlas as HTML and as a still picture: content, errors, and no external files."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
from tests.report import made_up
from tests.report.test_page import HOSTILE

from inweights.config import apply_overrides
from inweights.errors import DataError
from inweights.report.figures import atlas as still
from inweights.report.living import atlas, atlas_layout
from inweights.theory.geometric_memory.layout import scene
from inweights.worlds import Graph, from_networkx

WORLDS = {name: config.build() for name, config in made_up.GRAPHS.items()}


def own_films(table: pl.DataFrame | None = None) -> dict[str, dict[str, pl.DataFrame]]:
    """Return the synthetic films as users have them: a table per graph and architecture."""
    parts = (made_up.films() if table is None else table).partition_by(
        "graph", "architecture", as_dict=True, include_key=False
    )
    found: dict[str, dict[str, pl.DataFrame]] = {}
    for (graph, architecture), part in parts.items():
        found.setdefault(str(graph), {})[str(architecture)] = part
    return found


def unpack(stored: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(stored["data"]), "<i2") * stored["scale"]


def content_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json">(.*?)</script>', page)
    assert found
    return json.loads(found[1])


@pytest.fixture(scope="module")
def page() -> str:
    return atlas.page(own_films(), WORLDS, title="Six nodes", summary="Two `graphs`.")


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e6])
def test_packing_loses_half_a_scale_at_most(size):
    values = size * np.random.default_rng(0).normal(size=200)
    stored = atlas_layout.pack(values)
    assert np.abs(unpack(stored) - values).max() <= 0.5001 * stored["scale"]
    assert stored["scale"] == pytest.approx(np.abs(values).max() / 32767)


def test_packing_nothing_and_what_is_no_number():
    assert not unpack(atlas_layout.pack(np.zeros(4))).any()
    with pytest.raises(DataError, match="finite"):
        atlas_layout.pack(np.array([1.0, np.nan]))


def test_holds_every_film_in_full():
    films, graphs = made_up.films(), made_up.graphs()
    content = atlas_layout.build_content(films, graphs, ["map"])
    assert content["architectures"] == ["map", "list"]
    assert set(content["films"]) == {"0/0", "0/1", "1/0", "1/1"}
    rows = films.filter(graph="grid", architecture="map")
    film = content["films"]["1/0"]
    assert film["steps"] == rows["step"].to_list()
    assert film["recall"] == rows["recall"].to_list()
    for name in ("positions", "cosines", "energies"):
        wanted = np.concatenate(rows[name].to_list())
        np.testing.assert_allclose(unpack(film[name]), wanted, atol=film[name]["scale"])
    far = np.linalg.norm(
        np.concatenate(rows["positions"].to_list()).reshape(-1, 3), axis=1
    )
    assert film["radius"] == pytest.approx(far.max(), abs=1e-4)


def test_own_page_is_whole_and_loads_nothing(page):
    assert page.startswith("<!doctype html>")
    assert "<h1>Six nodes</h1>" in page
    assert "Two <code>graphs</code>." in page
    own = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?!#|data:)', own)
    assert "url(http" not in page
    assert "plotly" not in page.lower()
    assert len(page) < 100_000
    assert page == atlas.page(
        own_films(), WORLDS, title="Six nodes", summary="Two `graphs`."
    )


def test_own_page_has_each_choice(page):
    for group, names in (
        ("graph", ["ring", "grid"]),
        ("architecture", ["list", "map"]),
    ):
        found = re.findall(
            rf'<input type="radio" name="own-{group}" value="(\w+)">', page
        )
        assert found == names


def test_an_architecture_may_know_one_graph_only():
    films = own_films()
    del films["ring"]["map"]
    content = content_of(atlas.page(films, WORLDS))
    assert set(content["films"]) == {"0/0", "1/0", "1/1"}
    assert content["start"] == [0, 0]


def test_escapes_names():
    graph = from_networkx(nx.Graph([(HOSTILE, "b"), ("b", "c")]))
    film = (
        made_up.films()
        .filter(graph="ring", architecture="map")
        .drop("graph", "architecture")
    )
    three = film.with_columns(
        positions=pl.col("positions").list.head(9),
        cosines=pl.col("cosines").list.head(3),
        energies=pl.col("energies").list.head(2),
    )
    page = atlas.page(
        {HOSTILE: {HOSTILE: three}}, {HOSTILE: graph.build()}, title=HOSTILE
    )
    assert "<script>alert" not in page
    assert content_of(page)["graphs"][0]["nodes"][0] == HOSTILE


def test_refuses_what_does_not_fit():
    films, graphs = made_up.films(), made_up.graphs()
    with pytest.raises(DataError, match="unknown graph 'ring'"):
        atlas_layout.build_content(films, graphs.filter(graph="grid"))
    with pytest.raises(DataError, match="two frames of the same step"):
        atlas_layout.build_content(pl.concat([films, films]), graphs)
    short = films.with_columns(cosines=pl.col("cosines").list.head(3))
    with pytest.raises(DataError, match="'cosines' must have 15 numbers"):
        atlas_layout.build_content(short, graphs)
    with pytest.raises(DataError, match="'shown'"):
        atlas_layout.build_content(films.drop("shown"), graphs)
    with pytest.raises(DataError, match="no world is given"):
        atlas.page(own_films(), {"ring": WORLDS["ring"]})
    with pytest.raises(DataError, match="at least one film"):
        atlas.page({}, WORLDS)


def test_refuses_what_a_page_cannot_hold(monkeypatch):
    monkeypatch.setattr(atlas_layout, "_LARGE", 1000)
    with pytest.raises(DataError, match="fewer frames"):
        atlas_layout.build_content(made_up.films(), made_up.graphs())


def halves(axes):
    return sum(
        len(c._segments3d) for c in axes.collections if hasattr(c, "_segments3d")
    )


def test_still_has_a_place_for_every_film():
    films, graphs = made_up.films(), made_up.graphs()
    picture = still.atlas(films, graphs, order=["map"])
    assert len(picture.axes) == 4
    assert [text.get_text() for text in picture.texts] == [
        "map",
        "ring",
        "list",
        "grid",
    ]
    lines = [halves(axes) for axes in picture.axes]
    # Half of an edge each: 6 edges of the ring, 7 of the grid.
    assert lines == [
        12,
        12,
        14,
        14,
    ]
    lone = films.filter((pl.col("graph") == "ring") | (pl.col("architecture") == "map"))
    assert [halves(axes) for axes in still.atlas(lone, graphs).axes] == [12, 12, 0, 14]


def test_colours_are_hops_or_place():
    ring, grid = made_up.graphs().iter_rows(named=True)
    assert len(set(still._colors(ring))) == 6
    # 2 × 3 nodes: the root, one hop, two hops.
    assert len(set(still._colors(grid))) == 3


def test_four_graphs_and_five_architectures_take_half_a_megabyte():
    """As stated in docs/atlas.md, for frames without equal numbers."""
    rng = np.random.default_rng(0)
    shapes = ("path-star", "grid", "cycle", "irregular")
    worlds = {
        shape: apply_overrides(Graph(shuffled=False), [f"shape={shape}"]).build()
        for shape in shapes
    }
    films: dict[str, dict[str, pl.DataFrame]] = {}
    for name, world in worlds.items():
        n = len(world.vocabulary["node"])
        spaces = len(scene(world)["sizes"][0])
        numbers = {"positions": 3 * n, "cosines": n * (n - 1) // 2, "energies": spaces}
        still = {
            "step": range(40),
            **{k: rng.random(40) for k in ("recall", "spearman", "shown")},
        }
        films[name] = {
            f"architecture {k}": pl.DataFrame(
                still
                | {
                    key: rng.normal(size=(40, size)).tolist()
                    for key, size in numbers.items()
                }
            )
            for k in range(5)
        }
    assert 300_000 < len(atlas.page(films, worlds).encode()) < 550_000
