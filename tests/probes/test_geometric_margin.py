"""The geometric margin and the edge margin, compared with their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.probes.test_graph_probes import RING

from inweights.errors import DataError
from inweights.models import (
    Init,
    Node2VecConfig,
    TinyNN,
    TinyNNConfig,
)
from inweights.probes.geometry.cosines import graph_recall
from inweights.probes.geometry.edge_margins import edge_margin, geometric_margin
from inweights.theory.geometric_memory.graph import adjacency
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import Graph


def reference_margin(
    model: TinyNN, r: int, a: np.ndarray, *, itself: bool
) -> np.ndarray:
    """Compute margins with max and min by loops over nodes and directions, ``[2, N]``."""
    e = model.tokens.weight[r].detach().double().numpy()
    w = model.middle.weight[r].detach().double().numpy().T
    assert model.middle.bias is not None
    middle = np.zeros_like(w)
    for v in np.linalg.svd(e)[2][: min(e.shape)]:
        middle += (v @ w @ v) * np.outer(v, v)
    logits = (e @ middle.T + model.middle.bias[r].detach().double().numpy()) @ e.T
    found = []
    for u in range(len(a)):
        near = np.flatnonzero(a[u])
        far = [j for j in range(len(a)) if not a[u, j] and (itself or j != u)]
        rest = logits[u, far].max()
        found.append((logits[u, near].max() - rest, logits[u, near].min() - rest))
    return np.array(found).T


@pytest.mark.parametrize("itself", [True, False])
@pytest.mark.parametrize("width", [6, 15, 30])
def test_geometric_margin_is_its_formula(width: int, itself: bool) -> None:
    model = TinyNNConfig(width=width, init=Init(std=0.7)).build(
        vocabulary=15, seeds=[0, 1]
    )
    with torch.no_grad():
        model.middle.bias.normal_(generator=torch.Generator().manual_seed(0))
    table = geometric_margin(model, RING, itself=itself, draws=5)
    for r in (0, 1):
        expected = reference_margin(model, r, adjacency(RING), itself=itself)
        rows = table.filter(replica=r)
        assert rows["over"].to_list() == ["max", "min"]
        np.testing.assert_allclose(rows["margin"], expected.mean(1), atol=1e-5)
        np.testing.assert_allclose(rows["worst"], expected.min(1), atol=1e-5)
        np.testing.assert_allclose(rows["positive"], (expected > 0).mean(1))


@pytest.mark.parametrize("loops", [False, True])
def test_edge_margin_is_its_formula(loops: bool) -> None:
    """For each node: neighbours against all other nodes except itself, without the bias."""
    world = Graph(
        shape="cycle", n=7, self_edges=loops, idle_tokens=3, edge_token=True
    ).build()
    near, config = (
        Graph(shape="cycle", n=7).build(),
        TinyNNConfig(width=6, init=Init(std=0.7)),
    )
    model = config.build(vocabulary=len(world.vocabulary), seeds=[5, 6])
    with torch.no_grad():
        model.middle.bias.fill_(3.0)
    a, table = adjacency(near), edge_margin(model, world)
    for r, (rivals, count) in (
        (r, c) for r in (0, 1) for c in (("nodes", 7), ("vocabulary", 11))
    ):
        e = model.tokens.weight[r, :count].detach().double().numpy()
        w = model.middle.weight[r].detach().double().numpy().T
        right = np.linalg.svd(e)[2]
        logits = (
            e @ sum((v @ w @ v) * np.outer(v, v) for v in right[: min(e.shape)]).T @ e.T
        )
        found = []
        for u in range(7):
            rest = max(
                logits[u, j] for j in range(count) if j != u and (j > 6 or not a[u, j])
            )
            said = [logits[u, j] - rest for j in range(7) if a[u, j]]
            found.append((max(said), min(said)))
        rows = table.filter(replica=r, rivals=rivals)
        np.testing.assert_allclose(rows["margin"], np.mean(found, 0), atol=1e-5)
        np.testing.assert_allclose(rows["worst"], np.min(found, 0), atol=1e-5)


def test_no_node_is_its_own_neighbour() -> None:
    """Orthonormal vectors do not pass a test by being most similar to themselves."""
    world = Graph(shape="cycle", self_edges=True).build()
    model = TinyNNConfig(width=15).build(vocabulary=15, seeds=[0])
    with torch.no_grad():
        model.tokens.weight.copy_(torch.eye(15))
        model.middle.weight.copy_(torch.eye(15))
    assert geometric_margin(model, world, draws=1)["margin"].to_list() == [0.0, 0.0]


@pytest.mark.parametrize("shape", ["path-star", "grid", "cycle", "irregular"])
def test_max_is_a_weak_test_and_min_is_not(shape) -> None:
    """Associative storage passes the first test in 10 to 40 of 100 draws, the second never."""
    world = Graph(shape=shape).build()
    model = TinyNNConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
    weak, strong = geometric_margin(model, world)["null_all"].to_list()
    assert 0.1 < weak < 0.45
    assert strong == 0.0


def test_trained_and_frozen_storage_differ_in_geometry_alone() -> None:
    """On the grid both recall every edge, but only trained embeddings are geometric."""
    world = Graph(shape="grid").build()
    descent = Optimizer(rate=0.01, weight_decay=0.0)
    said = {}
    for frozen in (False, True):
        model = TinyNNConfig(frozen=frozen).build(vocabulary=16, seeds=[0, 1])
        rate = Optimizer(rate=0.2, weight_decay=0.0) if frozen else descent
        train(
            model,
            world,
            Curriculum(phases=(Phase(steps=500, optimizer=rate),)),
            seeds=[0, 1],
        )
        assert graph_recall(model, world)["recall"].to_list() == [1.0, 1.0]
        said[frozen] = (
            geometric_margin(model, world).filter(over="max")["positive"].mean()
        )
    assert said[False] > 0.8 > 0.6 > said[True]  # type: ignore[operator]


def test_geometric_margin_is_of_a_tiny_nn() -> None:
    with pytest.raises(DataError, match="requires a TinyNN"):
        geometric_margin(Node2VecConfig().build(vocabulary=15, seeds=[0]), RING)
