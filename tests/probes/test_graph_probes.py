"""Probes of graphs on embeddings with known results, and their contract."""

from __future__ import annotations

from typing import Literal

import networkx as nx
import numpy as np
import polars as pl
import pytest
import torch
from scipy.stats import spearmanr

from inweights.errors import ConfigError, DataError
from inweights.models import (
    GPTConfig,
    Init,
    Model,
    Node2VecConfig,
    TinyNNConfig,
)
from inweights.probes.geometry.cosines import better_nodes, cosines, graph_recall
from inweights.probes.geometry.edge_margins import edge_margin, geometric_margin
from inweights.probes.geometry.hops import hop_correlation
from inweights.probes.geometry.named import _Shape, named_geometry
from inweights.probes.geometry.spectrum import spectral_energy, zigzag
from inweights.probes.geometry.vectors import node_vectors
from inweights.theory.geometric_memory.graph import adjacency, hop_distances
from inweights.theory.geometric_memory.node2vec import descend
from inweights.theory.geometric_memory.spectral import eigenspaces, operator
from inweights.theory.geometric_memory.storage import untied_storage
from inweights.worlds import Graph, TwoHop, World, from_networkx

#: Probes that take a model and worlds of graphs.
OF_GRAPHS = (
    cosines,
    edge_margin,
    geometric_margin,
    graph_recall,
    hop_correlation,
    named_geometry,
    spectral_energy,
    zigzag,
)
RING = Graph(shape="cycle").build(seed=1)


def with_vectors(world: World, *vectors: np.ndarray) -> Model:
    """Return a tied Node2Vec with given vectors ``[N, D]`` for each replica."""
    config = Node2VecConfig(width=vectors[0].shape[1])
    model = config.build(vocabulary=len(world.vocabulary), seeds=range(len(vectors)))
    with torch.no_grad():
        model.tokens.weight.copy_(torch.from_numpy(np.stack(vectors)))
    return model


def circle(world: World) -> np.ndarray:
    """Return the ring as a circle, which is its Fiedler space."""
    spectrum = eigenspaces(operator(adjacency(world)))
    return spectrum.vectors[:, spectrum.space == 0]


# --- the contract


@pytest.mark.parametrize("probe", OF_GRAPHS, ids=lambda p: p.__name__)
def test_contract(probe) -> None:
    """A table has rows for every replica, and a replica gives the same rows alone."""
    config = TinyNNConfig(width=12, init=Init(std=0.5))
    model, alone = (
        config.build(vocabulary=15, seeds=seeds) for seeds in ([3, 4, 5], [4])
    )
    before = [p.detach().clone() for p in model.parameters()]
    table = probe(model, RING)
    assert table["replica"].unique().sort().to_list() == [0, 1, 2]
    assert all(
        torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)
    )
    assert table.null_count().sum_horizontal().item() == 0
    one = table.filter(pl.col("replica") == 1).drop("replica")
    single = probe(alone, RING).drop("replica")
    assert one.columns == single.columns
    for column in one.columns:
        if one[column].dtype == pl.Float64:
            np.testing.assert_allclose(one[column], single[column], atol=1e-5)
        else:
            assert one[column].to_list() == single[column].to_list()


@pytest.mark.parametrize("probe", OF_GRAPHS, ids=lambda p: p.__name__)
def test_replicas_with_worlds_of_their_own(probe) -> None:
    worlds = [Graph(shape="grid").build(seed) for seed in (1, 2)]
    config = TinyNNConfig(width=12, init=Init(std=0.5))
    model, alone = (config.build(vocabulary=16, seeds=seeds) for seeds in ([3, 4], [4]))
    own = probe(model, worlds).filter(pl.col("replica") == 1).drop("replica")
    single = probe(alone, worlds[1]).drop("replica")
    for column in own.columns:
        if own[column].dtype == pl.Float64:
            np.testing.assert_allclose(own[column], single[column], atol=1e-5)
    other = probe(alone, worlds[0]).drop("replica")
    assert not own.equals(other)


@pytest.mark.parametrize("probe", OF_GRAPHS, ids=lambda p: p.__name__)
def test_a_world_that_is_no_graph_is_refused(probe) -> None:
    world = TwoHop(n=4, identity=False).build()
    model = TinyNNConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
    with pytest.raises(DataError, match="it is not a graph"):
        probe(model, world)


# --- recall


def test_recall_of_logits_that_are_the_adjacency() -> None:
    a = adjacency(RING)
    model = Node2VecConfig(width=15, tied=False).build(vocabulary=15, seeds=[0, 1])
    v, u = untied_storage(a)
    broken = 30 * u.copy()
    first = np.flatnonzero(a[0])
    broken[first[0], 0] = -30.0  # node 0 forgets one of its two neighbours
    assert model.head is not None
    with torch.no_grad():
        model.tokens.weight.copy_(torch.from_numpy(v))
        model.head.weight.copy_(torch.from_numpy(np.stack([30 * u, broken])))
    good, bad = graph_recall(model, RING).rows(named=True)
    assert good["recall"] == good["worst"] == good["recall_others"] == 1.0
    assert good["accuracy"] == good["ceiling"] == pytest.approx(0.5)
    assert good["loss"] == pytest.approx(good["floor"], abs=1e-6)
    assert good["floor"] == pytest.approx(np.log(2))
    assert bad["recall"] == pytest.approx(29 / 30)
    assert bad["worst"] == 0.5
    assert bad["loss"] > 1.5 * bad["floor"]


@pytest.mark.parametrize(
    ("shape", "ceiling", "floor"),
    [
        ("path-star", 0.531, 0.693),
        ("grid", 0.333, 1.127),
        ("cycle", 0.5, 0.693),
        ("irregular", 0.4, 0.936),
    ],
)
def test_bounds_are_those_of_the_tiny_graphs(
    shape, ceiling: float, floor: float
) -> None:
    world = Graph(shape=shape).build()
    model = TinyNNConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
    row = graph_recall(model, world).row(0, named=True)
    assert row["ceiling"] == pytest.approx(ceiling, abs=5e-4)
    assert row["floor"] == pytest.approx(floor, abs=5e-4)


def test_a_node_that_is_nearest_to_itself_is_told_apart() -> None:
    table = graph_recall(with_vectors(RING, 4 * circle(RING)), RING)
    assert table["recall"].item() == 0.5  # the node itself, and one of two neighbours
    assert table["recall_others"].item() == 1.0


def test_of_equal_logits_the_first_is_the_larger_one() -> None:
    """Ties are resolved as in a stable sort; a node's own logit is treated like others."""
    rng = np.random.default_rng(0)
    logits = rng.integers(4, size=(5, 12)).astype(np.float32)
    row, column = np.nonzero(rng.random(logits.shape) < 0.5)
    place = np.argsort(np.argsort(-logits, kind="stable"), kind="stable")
    before, itself = better_nodes(logits, row, column, start=3)
    np.testing.assert_array_equal(before, place[row, column])
    np.testing.assert_array_equal(itself, place[row, row + 3] < place[row, column])


# --- cosine against hops


def test_a_circle_is_a_perfect_geometry_and_noise_is_none() -> None:
    noise = np.random.default_rng(0).normal(size=(15, 2))
    model = with_vectors(RING, circle(RING), noise)
    good, bad = hop_correlation(model, RING).rows(named=True)
    assert good["spearman"] == pytest.approx(-1.0)
    assert good["p"] == pytest.approx(1 / 201)
    assert abs(good["null_mean"]) < 0.02
    assert bad["null_low"] < bad["spearman"] < bad["null_high"]
    table = cosines(model, RING).filter(replica=0)
    assert len(table) == 15 * 15
    for hops in range(8):
        same = table.filter(pl.col("hops") == hops)["cosine"]
        np.testing.assert_allclose(same, np.cos(2 * np.pi * hops / 15), atol=1e-6)


def test_equally_close_pairs_stay_equal_in_single_precision() -> None:
    """For every orientation of the circle, and thus for different rounding errors."""
    turns = [
        np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]) for t in range(40)
    ]
    model = with_vectors(RING, *(circle(RING) @ turn for turn in turns))
    found = hop_correlation(model, RING, draws=1)["spearman"]
    np.testing.assert_allclose(found, -1.0, atol=1e-12)


@pytest.mark.parametrize("least", [1, 2, 3])
def test_correlation_is_scipys_and_leaves_out_other_components(least: int) -> None:
    world = Graph(shape="irregular").build(seed=2)
    points = np.random.default_rng(1).normal(size=(16, 7))
    hops, unit = (
        hop_distances(adjacency(world)),
        points / np.linalg.norm(points, axis=1)[:, None],
    )
    pairs = [
        (u, v) for u in range(16) for v in range(u) if least <= hops[u, v] < np.inf
    ]
    expected = spearmanr(
        [unit[u] @ unit[v] for u, v in pairs], [hops[p] for p in pairs]
    )
    model = with_vectors(world, points)
    found = hop_correlation(model, world, least=least)["spearman"].item()
    assert found == pytest.approx(expected.statistic)
    assert cosines(model, world)["hops"].null_count() == 2 * 12 * 4


@pytest.mark.parametrize(("pairs", "kept"), [("even", 0), ("odd", 1)])
def test_pairs_of_one_parity_are_scipys_with_ties(
    pairs: Literal["even", "odd"], kept: int
) -> None:
    # Equal cosines.
    points = np.random.default_rng(1).integers(-1, 2, size=(15, 3)).astype(float)
    length = np.linalg.norm(points, axis=1)[:, None]
    unit = np.divide(points, length, out=np.zeros_like(points), where=length > 0)
    hops = hop_distances(adjacency(RING))
    chosen = [(u, v) for u in range(15) for v in range(u) if hops[u, v] % 2 == kept]
    near = np.array([unit[u] @ unit[v] for u, v in chosen]).round(9)
    found = hop_correlation(with_vectors(RING, points), RING, pairs=pairs, draws=1)
    expected = spearmanr(near, [hops[pair] for pair in chosen]).statistic
    assert found["spearman"].item() == pytest.approx(expected)


def test_a_folded_geometry_shows_among_even_pairs_alone() -> None:
    """On a chain whose nodes alternate between two unrelated copies of a line."""
    chain = Graph(shape="path-star", arms=1, nodes=12, shuffled=False).build()
    turn = np.pi * np.arange(12) / 24
    folded = np.zeros((12, 4))
    for node, angle in enumerate(turn):
        side = 2 * (node % 2)
        folded[node, side : side + 2] = np.cos(angle), np.sin(angle)
    model = with_vectors(chain, folded)
    orders = (
        hop_correlation(model, chain, pairs=pairs)["spearman"]
        for pairs in ("all", "even")
    )
    whole, even = (order.item() for order in orders)
    assert even == pytest.approx(-1.0)
    assert whole > -0.4
    assert np.isnan(
        hop_correlation(model, chain, pairs="odd", draws=1)["spearman"].item()
    )


def test_the_null_of_shuffled_names_keeps_the_cosines() -> None:
    model = with_vectors(RING, circle(RING))
    found = hop_correlation(model, RING, null="shuffled", draws=50).row(0, named=True)
    assert found["p"] == pytest.approx(1 / 51)
    assert abs(found["null_mean"]) < 0.1
    same = with_vectors(RING, np.ones((15, 2)))
    assert np.isnan(
        hop_correlation(same, RING, null="shuffled", draws=1)["null_mean"].item()
    )
    with pytest.raises(DataError, match="draws must be at least 1, got 0"):
        hop_correlation(model, RING, null="shuffled", draws=0)
    with pytest.raises(ConfigError, match="unknown null 'names'"):
        hop_correlation(model, RING, null="names")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="unknown pairs 'evn'; did you mean 'even'"):
        hop_correlation(model, RING, pairs="evn")  # type: ignore[arg-type]


def test_where_all_nodes_are_neighbours_there_is_no_correlation() -> None:
    world = from_networkx(nx.complete_graph(5)).build()
    model = TinyNNConfig().build(vocabulary=5, seeds=[0])
    found = hop_correlation(model, world)
    assert np.isnan(found["spearman"].item())
    assert np.isnan(found["p"].item())
    with pytest.raises(DataError, match="the graph is complete"):
        geometric_margin(model, world, itself=False)


def test_a_distance_that_no_pair_has_is_an_error() -> None:
    model = Node2VecConfig(width=8).build(vocabulary=15, seeds=[0])
    with pytest.raises(
        DataError, match=r"no pair of nodes that .* selects is at least 99 hops"
    ):
        hop_correlation(model, RING, least=99)


def test_the_null_distribution_follows_its_seed() -> None:
    model = Node2VecConfig(width=8).build(vocabulary=15, seeds=[0])
    one, same, other = (
        hop_correlation(model, RING, seed=s)["null_low"][0] for s in (0, 0, 1)
    )
    assert one == same != other
    with pytest.raises(DataError, match="draws must be at least 1, got 0"):
        hop_correlation(model, RING, draws=0)


def test_vectors_are_copies_of_the_layer_that_is_named() -> None:
    model = GPTConfig(layers=1, width=8).build(vocabulary=15, seeds=[0])
    film = node_vectors(model, 15)
    with torch.no_grad():
        model.tokens.weight.add_(1.0)
    np.testing.assert_allclose(node_vectors(model, 15), film + 1.0, atol=1e-6)
    assert not np.allclose(
        node_vectors(model, 15, "block.0"), node_vectors(model, 15, "embedding")
    )
    with pytest.raises(ConfigError, match=r"did you mean 'block\.0'"):
        node_vectors(model, 15, "block.1")
    double = Node2VecConfig().build(vocabulary=15, seeds=[0]).double()
    film = node_vectors(double, 15).copy()
    held = node_vectors(double, 15)
    with torch.no_grad():
        double.tokens.weight.add_(1.0)
    assert np.array_equal(held, film)


# --- spectrum


def test_energy_of_a_circle_and_of_its_zigzag() -> None:
    spectrum = eigenspaces(operator(adjacency(RING)))
    last = spectrum.vectors[:, spectrum.space == spectrum.spaces - 1]
    model = with_vectors(RING, circle(RING), last, np.ones((15, 2)) + circle(RING))
    table = spectral_energy(model, RING)
    energies = (
        table.pivot("space", index="replica", values="energy")
        .drop("replica")
        .to_numpy()
    )
    expected = np.zeros((3, 7))
    expected[[0, 2], 0] = expected[1, 6] = 1
    np.testing.assert_allclose(energies, expected, atol=1e-6)
    flat = table.filter(space=0)["degenerate"].to_list()
    assert flat == pytest.approx([0, 0, 30 / 32], abs=1e-6)
    assert table.filter(space=6)["cumulative"].to_list() == pytest.approx([1, 1, 1])
    np.testing.assert_allclose(table["null_mean"], 1 / 7, atol=0.06)
    ends = zigzag(model, RING)
    assert ends["zigzag"].to_list() == pytest.approx([0, 1, 0], abs=1e-6)
    assert ends["bottom"].to_list() == pytest.approx([0, 1, 0], abs=1e-6)
    assert ends["null_mean"][0] == pytest.approx(8 / 14, abs=0.05)
    assert ends["null_low"][0] < 8 / 14 < ends["null_high"][0]


def test_an_eigenvalue_of_zero_is_no_zigzag() -> None:
    """A ring of eight nodes has two eigenvalues of 0, whose vectors go round it twice."""
    ring = Graph(shape="cycle", n=8).build()
    once = circle(ring)
    twice = (once[:, 0] + 1j * once[:, 1]) ** 2
    model = with_vectors(ring, np.stack([twice.real, twice.imag], axis=1))
    assert zigzag(model, ring)["zigzag"].to_list() == pytest.approx([0], abs=1e-6)


@pytest.mark.parametrize(
    ("shape", "spaces", "least"),
    [
        ("path-star", 1, 0.95),
        ("grid", 1, 0.97),
        ("cycle", 1, 0.999),
        ("irregular", 2, 0.95),
    ],
)
def test_node2vec_is_geometric(shape, spaces: int, least: float) -> None:
    """On all four tiny graphs, ρ ≤ −0.95, with energy in the top spaces and no zigzag (§4)."""
    world = Graph(shape=shape).build(seed=5)
    model = Node2VecConfig().build(vocabulary=len(world.vocabulary), seeds=[0, 1])
    start = model.tokens.weight.detach().double().numpy()
    run = descend(start, adjacency(world), steps=10_000)
    with torch.no_grad():
        model.tokens.weight.copy_(torch.from_numpy(run.vectors))
    assert hop_correlation(model, world)["spearman"].max() < -0.95  # type: ignore[operator]
    top = spectral_energy(model, world).filter(pl.col("space") < spaces)
    assert top.group_by("replica").agg(pl.col("energy").sum())["energy"].min() > least  # type: ignore[operator]
    assert zigzag(model, world)["zigzag"].max() < 0.05  # type: ignore[operator]


def test_pairs_apart_are_those_that_no_edge_joins() -> None:
    line = np.diag(np.ones(3), 1)
    assert sorted(_Shape(line).far.hops) == [2, 2, 3]
