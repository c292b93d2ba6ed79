"""Node2Vec's descent by other ways: in fewer coordinates, and in chunks on large graphs."""

from __future__ import annotations

import tracemalloc
from typing import Any

import networkx as nx
import numpy as np
import pytest

from inweights.errors import ConfigError, DataError, SolverError
from inweights.theory.geometric_memory import node2vec, small_node2vec
from inweights.theory.geometric_memory.large_node2vec import descend_large, sparse_adjacency
from inweights.theory.geometric_memory.spectral import adjacency
from inweights.worlds import Graph, TwoHop, from_networkx

ODD = nx.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "d"), ("e", "f")])
ODD.add_node("alone")
WORLDS = {
    "cycle": Graph(shape="cycle").build(),
    "irregular": Graph(shape="irregular").build(),
    "star, one way": Graph(edges="forward").build(),
    "odd": from_networkx(ODD).build(),
}


def plain(start: np.ndarray, a: np.ndarray, rate, steps: int) -> np.ndarray:
    """The update as appendix F writes it, one replica after another."""
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
    wide[1] *= 30  # squares of about 90,000: exp would overflow
    assert (
        small_node2vec.advance(wide, a / 2, np.ones((15, 1)), np.full((1, 1, 1), 1e-3), 4) is None
    )
    run = node2vec.descend(wide, a, rate=1e-6, steps=20)
    np.testing.assert_allclose(run.vectors, plain(wide, a, 1e-6, 20), rtol=1e-9)
    single: Any = wide[:1, :, :4].astype(np.float32)
    assert (
        small_node2vec.advance(single, a / 2, np.ones((15, 1)), np.full((1, 1, 1), 1e-3), 4) is None
    )
    run = node2vec.descend(single, a, rate=0.01, steps=20)
    assert run.vectors.dtype == np.float32
    np.testing.assert_allclose(run.vectors, plain(single, a, 0.01, 20), atol=1e-4)


def test_divergence_is_still_seen() -> None:
    a = adjacency(WORLDS["cycle"])
    start = np.random.default_rng(2).normal(size=(2, 15, 40))
    with pytest.raises(SolverError, match=r"replicas \[1\] diverged by step 300"):
        node2vec.descend(start, a, rate=[0.01, 40.0], steps=300)


@pytest.mark.parametrize("entries", [1, 60, 10**6])
@pytest.mark.parametrize("name", WORLDS)
def test_in_chunks_it_is_the_same_descent(name: str, entries: int) -> None:
    world = WORLDS[name]
    a = adjacency(world)
    sparse = sparse_adjacency(world)
    np.testing.assert_array_equal(sparse.toarray(), a)
    start = np.random.default_rng(3).normal(size=(len(a), 8))
    run = descend_large(start, sparse, rate=0.02, steps=30, entries=entries)
    expected = node2vec.descend(start[None], a, rate=0.02, steps=30, record=range(30))
    np.testing.assert_allclose(run.vectors, expected.vectors[0], atol=1e-10)
    np.testing.assert_allclose(run.losses, expected.losses[:-1, 0], rtol=1e-10)
    single = descend_large(start.astype(np.float32), sparse, rate=0.02, steps=30, entries=entries)
    assert single.vectors.dtype == np.float32
    np.testing.assert_allclose(single.vectors, run.vectors, atol=1e-3)


def test_a_large_graph_makes_no_square_matrix() -> None:
    """A quarter of an N × N matrix of bytes would be too much already."""
    n = 6000
    seen: list[int] = []
    a = sparse_adjacency(Graph(shape="cycle", n=n).build())
    start = np.random.default_rng(4).normal(size=(n, 4)).astype(np.float32) * 0.1
    tracemalloc.start()
    run = descend_large(start, a, rate=0.5, steps=2, entries=2**18, progress=seen.append)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n / 4
    assert run.losses[1] < run.losses[0]
    assert run.losses[0] / n == pytest.approx(np.log(n), rel=0.01)
    assert seen == [1, 2]


def test_what_does_not_fit_is_refused() -> None:
    a = sparse_adjacency(WORLDS["cycle"])
    with pytest.raises(DataError, match=r"got \(14, 3\) and \(15, 15\)"):
        descend_large(np.zeros((14, 3)), a)
    with pytest.raises(DataError, match="floating-point numbers, got int64"):
        descend_large(np.zeros((15, 3), dtype=np.int64), a)
    for wrong in ({"steps": -1}, {"entries": 0}, {"rate": 0.0}):
        with pytest.raises(ConfigError, match="steps must be at least 0, entries at least 1"):
            descend_large(np.zeros((15, 3)), a, **wrong)
    start = np.random.default_rng(5).normal(size=(15, 3))
    refused = pytest.raises(SolverError, match=r"diverged by step \d+; lower the rate")
    with refused, np.errstate(all="ignore"):
        descend_large(start, a, rate=1e200, steps=50)
    with pytest.raises(DataError, match="is not a graph"):
        sparse_adjacency(TwoHop(n=4, identity=False).build())
