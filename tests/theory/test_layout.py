"""Orders, roots and planar layouts of graphs for which they are known."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from inweights.errors import DataError
from inweights.theory.geometric_memory.graph import adjacency, hop_distances
from inweights.theory.geometric_memory.layout import depth_first, plane, roots_of, scene
from inweights.worlds import Graph, TwoHop, from_networkx

SHAPES = ("path-star", "tree-star", "grid", "cycle", "irregular")


def row(config: Graph) -> dict[str, Any]:
    return scene(config.build()).row(0, named=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_scene_is_the_graph(shape: str) -> None:
    config = Graph(shape=shape, shuffled=False)  # type: ignore[arg-type]
    world, said = config.build(), row(config)
    a = adjacency(world)
    assert len(said["links"]) == a.sum() / 2
    assert all(a[u, v] == 1 for u, v in said["links"])
    assert sorted(said["order"]) == list(range(len(a)))
    assert len(said["roots"]) == (2 if shape == "irregular" else 1)
    assert said["ring"] == (shape == "cycle")
    assert sum(said["sizes"]) == len(a) - len(said["roots"])
    assert max(map(abs, said["x"] + said["y"])) == pytest.approx(1.0)


def test_order_walks_along_ring_and_arms() -> None:
    ring = adjacency(Graph(shape="cycle").build(seed=3)) > 0
    order = depth_first(ring)
    assert order[0] == 0
    assert all(ring[u, v] for u, v in zip(order, np.roll(order, -1), strict=True))
    star = (
        adjacency(Graph(shape="path-star", arms=3, nodes=4, shuffled=False).build()) > 0
    )
    assert depth_first(star).tolist() == list(range(10))


def test_plane_keeps_distances_that_a_plane_can_keep() -> None:
    hops = hop_distances(nx.to_numpy_array(nx.path_graph(7)))
    where = plane(hops)
    apart = np.linalg.norm(where[:, None] - where, axis=-1)
    np.testing.assert_allclose(apart / apart.max(), hops / 6, atol=0.02)
    grid = hop_distances(nx.to_numpy_array(nx.grid_2d_graph(4, 4)))
    where = plane(grid)
    apart = np.linalg.norm(where[:, None] - where, axis=-1)
    assert apart[grid == 1].max() < apart[grid >= 3].min()


def test_middle_of_components_largest_first() -> None:
    both = nx.disjoint_union(nx.path_graph(3), nx.path_graph(5))
    assert roots_of(hop_distances(nx.to_numpy_array(both))) == [5, 1]


def test_nodes_without_edges_have_a_place() -> None:
    said = row(from_networkx(nx.Graph([("a", "b")])))
    assert said["nodes"] == ["a", "b"]
    lone = row(Graph(shape="edges", links=[["a", "b"], ["b", "c"]], lone=["z"]))
    assert lone["roots"] == [1, 3]
    assert np.isfinite(lone["x"] + lone["y"]).all()


def test_refuses_what_is_no_graph() -> None:
    with pytest.raises(DataError, match="not a graph"):
        scene(TwoHop(n=4, identity=False).build())
