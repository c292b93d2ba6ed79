"""Node2Vec's gradient descent, compared with plain implementations."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from inweights.errors import ConfigError, DataError, SolverError
from inweights.models import EmbMLPConfig, Node2VecConfig
from inweights.theory.geometric_memory import (
    large_node2vec,
    node2vec,
    small_node2vec,
    spectral,
)
from inweights.theory.geometric_memory.graph import adjacency
from inweights.training import Descent
from inweights.worlds import Graph, from_networkx

ODD = nx.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "d"), ("e", "f")])
ODD.add_node("alone")
WORLDS = {
    "cycle": Graph(shape="cycle").build(),
    "irregular": Graph(shape="irregular").build(),
    "star, one way": Graph(edges="forward").build(),
    "odd": from_networkx(ODD).build(),
}


def plain(start: np.ndarray, a: np.ndarray, rate, steps: int) -> np.ndarray:
    """Compute the update as in Appendix F, one replica after another."""
    degree = a.sum(1, keepdims=True)
    walk = np.divide(a, degree, out=np.zeros_like(a), where=degree > 0)
    ends = []
    for first, eta in zip(start, np.broadcast_to(rate, len(start)), strict=True):
        v = first.copy()
        for _ in range(steps):
            logits = v @ v.T
            s = np.exp(logits - logits.max(1, keepdims=True))
            half = walk - (degree > 0) * s / s.sum(1, keepdims=True)
            v += eta * (half + half.T) @ v
        ends.append(v)
    return np.stack(ends)


@pytest.mark.parametrize("width", [4, 30])
@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("name", WORLDS)
def test_in_fewer_coordinates_it_is_the_same_descent(
    name: str, replicas: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = adjacency(WORLDS[name])
    start = np.random.default_rng(0).normal(size=(replicas, len(a), width))
    rate = [0.02, 0.01, 0.03][:replicas]
    taken = []
    own = small_node2vec.advance

    def spied(*given):
        taken.append(own(*given))
        return taken[-1]

    monkeypatch.setattr(small_node2vec, "advance", spied)
    run = node2vec.descend(start, a, rate=rate, steps=400, record=[1, 130, 257])
    assert taken, "the quick way was not taken"
    assert all(one is not None for one in taken)
    for at, frame in zip([1, 130, 257, 400], run.frames, strict=True):
        np.testing.assert_allclose(frame, plain(start, a, rate, at), atol=1e-9)


def test_large_logits_and_single_precision_go_the_long_way() -> None:
    a = adjacency(WORLDS["cycle"])
    wide = np.random.default_rng(1).normal(size=(2, 15, 100))
    wide[1] *= 30  # squared norms of about 90,000, for which exp would overflow
    assert (
        small_node2vec.advance(
            wide, a / 2, np.ones((15, 1)), np.full((1, 1, 1), 1e-3), 4
        )
        is None
    )
    run = node2vec.descend(wide, a, rate=1e-6, steps=20)
    np.testing.assert_allclose(run.vectors, plain(wide, a, 1e-6, 20), rtol=1e-9)
    single: Any = wide[:1, :, :4].astype(np.float32)
    assert (
        small_node2vec.advance(
            single, a / 2, np.ones((15, 1)), np.full((1, 1, 1), 1e-3), 4
        )
        is None
    )
    run = node2vec.descend(single, a, rate=0.01, steps=20)
    assert run.vectors.dtype == np.float32
    np.testing.assert_allclose(run.vectors, plain(single, a, 0.01, 20), atol=1e-4)


def test_another_model_than_node2vec_is_refused() -> None:
    ring = Graph(shape="cycle", n=9).build()
    model: Any = EmbMLPConfig()
    with pytest.raises(
        ConfigError, match="trains only the model 'node2vec', got EmbMLP"
    ):
        Descent(steps=1).learn(ring, model, seed=0)


def test_divergence_is_still_seen() -> None:
    a = adjacency(WORLDS["cycle"])
    start = np.random.default_rng(2).normal(size=(2, 15, 40))
    with pytest.raises(
        SolverError, match=r"replicas \[1\] diverged at or before step 300"
    ):
        node2vec.descend(start, a, rate=[0.01, 40.0], steps=300)


def test_descent_in_blocks_is_that_of_whole_matrices(monkeypatch):
    """A sparse adjacency matrix gives the same trajectory on a graph with hubs and a loop."""
    graph = nx.barabasi_albert_graph(120, 2, seed=1)
    graph.add_edge(3, 3)
    graph.add_node(120)
    a = nx.to_numpy_array(graph)
    start = np.random.default_rng(0).normal(size=(2, len(a), 6)) * 0.3
    monkeypatch.setattr(large_node2vec, "_AT_ONCE", 7 * len(a))
    run = node2vec.descend(
        start, sparse.csr_array(a), rate=[0.05, 0.02], steps=40, record=[0, 9]
    )
    whole = node2vec.descend(start, a, rate=[0.05, 0.02], steps=40, record=[0, 9])
    np.testing.assert_allclose(run.frames, whole.frames, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.losses, whole.losses, rtol=1e-12)
    np.testing.assert_allclose(
        run.vectors, plain(start, a, [0.05, 0.02], 40), atol=1e-9
    )
    with pytest.raises(SolverError, match="replicas \\[1\\] diverged"):
        node2vec.descend(start, sparse.csr_array(a), rate=[0.01, 4000.0], steps=40)
    with pytest.raises(DataError, match="untied"):
        node2vec.descend(start, sparse.csr_array(a), targets=start)


def test_large_graphs_descend_in_single_precision(monkeypatch):
    """Above the limit, vectors equal those in double precision up to rounding."""
    graph = nx.barabasi_albert_graph(120, 2, seed=1)
    world = Graph(shape="edges", links=[[f"n{u}", f"n{v}"] for u, v in graph.edges])
    model = Node2VecConfig(width=8)
    learner = Descent(rate=0.05, steps=60)
    exact = learner.trajectory(world.build(), model, seed=0)
    monkeypatch.setattr(spectral, "EXACT", 100)
    large = learner.trajectory(world.build(), model, seed=0)
    assert exact.vectors.dtype == np.float64
    assert large.vectors.dtype == np.float32
    np.testing.assert_allclose(large.vectors, exact.vectors, atol=1e-5)
    np.testing.assert_allclose(large.losses, exact.losses, rtol=1e-6)
