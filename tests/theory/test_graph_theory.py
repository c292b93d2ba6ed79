"""Spectra, Node2Vec's dynamics and storage, compared with networkx and autograd."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from torch.nn import functional as F

from inweights.errors import DataError, SolverError
from inweights.models import Node2VecConfig
from inweights.theory.geometric_memory import node2vec, spectral, storage
from inweights.worlds import Graph, TwoHop, from_networkx
from inweights.worlds.arrays import Floats

TINY = {
    name: spectral.adjacency(Graph(shape=name).build(seed=1))
    for name in ("path-star", "grid", "cycle", "irregular")
}
RNG = np.random.default_rng(0)

# --- spectral


@pytest.mark.parametrize("shape", TINY)
def test_operators_and_hops_are_those_of_networkx(shape: str) -> None:
    a = TINY[shape]
    graph = nx.from_numpy_array(a)
    combinatorial = -nx.laplacian_matrix(graph).toarray()
    normalised = -nx.normalized_laplacian_matrix(graph).toarray()
    np.testing.assert_allclose(spectral.operator(a, "combinatorial"), combinatorial)
    np.testing.assert_allclose(
        spectral.operator(a, "normalised"), normalised, atol=1e-12
    )
    walk = a / a.sum(1, keepdims=True)
    np.testing.assert_allclose(spectral.operator(a), walk + walk.T - 2 * np.eye(len(a)))
    hops = np.full(a.shape, np.inf)
    for u, reached in nx.all_pairs_shortest_path_length(graph):
        hops[u, list(reached)] = list(reached.values())
    assert np.array_equal(spectral.hop_distances(a), hops)
    groups = {
        frozenset(np.flatnonzero(spectral.components(a > 0) == c))
        for c in range(len(a))
    }
    assert groups - {frozenset()} == set(map(frozenset, nx.connected_components(graph)))


@pytest.mark.parametrize("kind", spectral.OPERATORS)
@pytest.mark.parametrize("shape", TINY)
def test_eigenspaces_are_whole(shape: str, kind: spectral.Operator) -> None:
    matrix = spectral.operator(TINY[shape], kind)
    spectrum = spectral.eigenspaces(matrix)
    rebuilt = (spectrum.vectors * spectrum.values) @ spectrum.vectors.T
    np.testing.assert_allclose(rebuilt, matrix, atol=1e-10)
    assert spectrum.null == (2 if shape == "irregular" else 1)
    assert spectrum.sizes().sum() == len(matrix) - spectrum.null
    assert (np.diff(spectrum.eigenvalues()) < -1e-9).all()
    first = {"path-star": 3, "grid": 2, "cycle": 2, "irregular": 1}
    assert spectrum.sizes()[0] == first[shape]
    # A rotated basis of the same eigenspaces has the same energies, unlike single
    # eigenvectors.
    order = RNG.permutation(len(matrix))
    turned = spectral.eigenspaces(matrix[np.ix_(order, order)])
    points = RNG.normal(size=(3, len(matrix), 5))
    np.testing.assert_allclose(
        turned.energy(points[:, order]), spectrum.energy(points), atol=1e-9
    )
    np.testing.assert_allclose(spectrum.energy(points).sum(-1), 1.0)


def test_components_with_the_same_spectrum_have_a_null_vector_each() -> None:
    a: Floats = np.pad(
        np.kron(np.eye(3), TINY["cycle"]), (0, 1)
    )  # and an isolated node
    for kind in spectral.OPERATORS:
        spectrum = spectral.eigenspaces(spectral.operator(a, kind))
        assert spectrum.null == 4
        assert spectrum.sizes().tolist() == [6] * 7
        # One indicator vector per component.
        flat = spectral.components(a > 0)[:, None] == np.arange(46)
        assert np.abs(spectrum.vectors[:, spectrum.space >= 0].T @ flat).max() < 1e-9
    noise = spectral.eigenspaces(spectral.operator(a)).energy(
        RNG.normal(size=(46, 4000))
    )
    np.testing.assert_allclose(noise, 1 / 7, atol=0.01)


def test_the_walk_of_irregular_degrees_lies_slightly_above_zero() -> None:
    """For regular graphs the eigenvalue is 0 (Appendix F, Remark 6)."""
    top = {
        name: spectral.eigenspaces(spectral.operator(a)).values[0]
        for name, a in TINY.items()
    }
    assert top["cycle"] == pytest.approx(0.0, abs=1e-12)
    assert 0.01 < top["path-star"] < 0.3
    assert 0.0 < top["irregular"] < 0.1


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(DataError, match="no fact 'node → node'"):
        spectral.adjacency(TwoHop(n=4, identity=False).build())
    with pytest.raises(DataError, match="square matrix"):
        spectral.operator(np.zeros((2, 3)))
    with pytest.raises(DataError, match="did you mean 'walk'"):
        spectral.operator(TINY["grid"], "walks")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="symmetric"):
        spectral.eigenspaces(spectral.random_walk(TINY["path-star"]))
    with pytest.raises(DataError, match="no edge between two different nodes"):
        spectral.eigenspaces(np.zeros((3, 3)))
    with pytest.raises(DataError, match="must have the shape"):
        spectral.eigenspaces(spectral.operator(TINY["grid"])).energy(np.zeros((3, 2)))


def test_lone_nodes_and_loops() -> None:
    graph = nx.Graph([("a", "b"), ("b", "b")])
    graph.add_node("c")
    a = spectral.adjacency(from_networkx(graph).build())
    assert a.tolist() == [[0, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert spectral.random_walk(a).sum(1).tolist() == [1, 1, 0]
    assert not spectral.operator(a)[2].any()


# --- Node2Vec


def reference(v: torch.Tensor, a: np.ndarray, u: torch.Tensor) -> torch.Tensor:
    """Compute the objective by loops: Σ over nodes of the mean over neighbours of −log S."""
    total = torch.zeros((), dtype=v.dtype)
    for i in range(len(a)):
        near = np.flatnonzero(a[i]).tolist()
        if near:
            total = total - F.log_softmax(v[i] @ u.T, dim=0)[near].mean()
    return total


# A self-loop and an isolated node.
LONE = np.pad(TINY["path-star"], (0, 1)) + np.diag([1.0] + [0.0] * 17)


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("a", [*TINY.values(), LONE], ids=[*TINY, "loop and lone node"])
@pytest.mark.parametrize("tied", [True, False])
def test_dynamics_are_gradient_descent(a: np.ndarray, tied: bool) -> None:
    """Lemma 1 agrees with autograd over many steps, for two replicas with different rates."""
    starts = [RNG.normal(size=(2, len(a), 12)) for _ in range(2)]
    run = node2vec.descend(
        starts[0],
        a,
        rate=[0.01, 0.1],
        steps=40,
        record=[0, 7],
        targets=None if tied else starts[1],
    )
    assert run.steps.tolist() == [0, 7, 40]
    for r, rate in enumerate((0.01, 0.1)):
        v = torch.tensor(starts[0][r], requires_grad=True)
        u = v if tied else torch.tensor(starts[1][r], requires_grad=True)
        moving = [v] if tied else [v, u]
        for step in range(41):
            loss = reference(v, a, u)
            for k, kept in enumerate(run.steps):
                if kept == step:
                    assert run.losses[k, r] == pytest.approx(loss.item(), abs=1e-9)
                    np.testing.assert_allclose(
                        run.frames[k, r], v.detach().numpy(), atol=1e-9
                    )
            if step < 40:
                gradients = torch.autograd.grad(loss, moving)
                with torch.no_grad():
                    for parameter, gradient in zip(moving, gradients, strict=True):
                        parameter.sub_(rate * gradient)
        np.testing.assert_allclose(run.vectors[r], v.detach().numpy(), atol=1e-9)


def test_dynamics_start_from_the_model_and_keep_its_logits() -> None:
    world = Graph(shape="cycle").build()
    a = spectral.adjacency(world)
    model = Node2VecConfig().build(vocabulary=15, seeds=[0, 1])
    start = model.tokens.weight.detach().double().numpy()
    before = start.copy()
    run = node2vec.descend(start, a, steps=50)
    assert np.array_equal(start, before)
    with torch.no_grad():
        model.tokens.weight.copy_(torch.from_numpy(run.vectors))
        said = model(torch.arange(15).unsqueeze(1))[:, :, 0].softmax(-1)
    np.testing.assert_allclose(said, node2vec.probabilities(run.vectors), atol=1e-5)
    one = node2vec.descend(start[:1], a, steps=50)
    np.testing.assert_allclose(one.vectors[0], run.vectors[0], rtol=1e-12)


def test_coefficients_reach_a_null_space_that_is_the_fiedler_space() -> None:
    """Propositions 9 and 10 on the cycle (Fig. 8), with more dimensions than nodes."""
    a = TINY["cycle"]
    run = node2vec.descend(RNG.normal(size=(2, 15, 100)), a, steps=10_000, record=[0])
    values = np.linalg.eigvalsh(
        [node2vec.coefficients(frame, a) for frame in run.frames]
    )
    assert values.max() < 1e-3
    assert (values[0][:, -4] < -0.1).all()
    np.testing.assert_allclose(values[-1][:, -3:], 0, atol=2e-3)
    assert (values[-1][:, -4] < -0.05).all()
    np.testing.assert_allclose(run.losses[-1] / 15, 1.4349, atol=2e-4)
    energy = spectral.eigenspaces(spectral.operator(a)).energy(run.vectors)
    assert (energy[:, 0] > 0.999).all()
    # The leading space rotates: this is the sine of the largest angle between its first
    # and its last directions.
    leading = np.linalg.svd(run.frames, full_matrices=False)[0][..., :3]
    cosines = np.linalg.svd(
        np.swapaxes(leading[0], -1, -2) @ leading[-1], compute_uv=False
    )
    assert np.sqrt(1 - cosines[..., -1] ** 2).min() > 0.5


def test_dynamics_refuse_what_does_not_fit() -> None:
    a = TINY["cycle"]
    with pytest.raises(DataError, match=r"shape \[R, N, D\]"):
        node2vec.descend(np.zeros((15, 3)), a)
    with pytest.raises(DataError, match=r"must have the shape \[\.\.\., 15, D\]"):
        node2vec.descend(np.zeros((1, 14, 3)), a)
    with pytest.raises(DataError, match="from 0 to 5, got 0 to 9"):
        node2vec.descend(np.zeros((1, 15, 3)), a, steps=5, record=[0, 9])
    with pytest.raises(DataError, match="floating-point"):
        node2vec.descend(np.zeros((1, 15, 3), dtype=int), a)
    with pytest.raises(DataError, match=r"one for each replica \(2\), got 3"):
        node2vec.descend(np.zeros((2, 15, 3)), a, rate=[0.1, 0.2, 0.3])
    wild = np.stack([np.zeros((15, 3)), RNG.normal(size=(15, 3)) * 1e200])
    with pytest.raises(SolverError, match=r"replicas \[1\] diverged"):
        node2vec.descend(wild, a, steps=5)


# --- storage


def test_complexities() -> None:
    """Propositions 1 and 2 by hand; on path-star and cycle the norms agree up to a factor √2."""
    star, ring = TINY["path-star"], TINY["cycle"]
    bits = storage.bit_complexity(star, dimensions=4, cells=5)
    assert bits.associative == pytest.approx(32 * np.log2(17))
    assert bits.geometric == pytest.approx(17 * 4 * np.log2(5))
    untied = storage.bit_complexity(star, dimensions=4, cells=5, tied=False)
    assert untied.geometric == 2 * bits.geometric
    for a in (star, ring):
        assert 0.68 < storage.norm_complexity(np.triu(a), tied=False).ratio < 0.71
        assert 0.96 < storage.norm_complexity(np.triu(a)).ratio <= 1.0
        assert 1.37 < storage.norm_complexity(a).ratio < 1.42
    with pytest.raises(
        DataError, match="'cells' at least 2, got dimensions = 2 and cells = 1"
    ):
        storage.bit_complexity(star, dimensions=2, cells=1)


@pytest.mark.parametrize("shape", TINY)
def test_constructions_store_edges_and_nothing_else(shape: str) -> None:
    a = TINY[shape]
    edges = int(a.sum()) // 2
    incidence = storage.incidence_storage(a)
    assert incidence.shape == (len(a), edges)
    found = storage.fit(a, incidence)
    assert found.exact
    assert found.recall
    assert found.itself == a.sum(1).max()
    shifted = storage.shifted_storage(a)
    assert shifted.shape[1] < len(a)
    assert storage.fit(a, shifted).exact
    v, u = storage.untied_storage(a)
    assert storage.fit(a, v, u).exact
    assert storage.fit(a, v, u).itself == 0


def test_untied_storage_takes_directed_graphs() -> None:
    a = np.triu(TINY["grid"])
    assert storage.fit(a, *storage.untied_storage(a)).exact
    for tied in (
        storage.incidence_storage,
        storage.shifted_storage,
        storage.bipartite_storage,
    ):
        with pytest.raises(DataError, match="symmetric and contain no self-edges"):
            tied(a)


@pytest.mark.parametrize("shape", ["path-star", "grid"])
def test_bipartite_storage_is_exact_across_the_parts_only(shape: str) -> None:
    """Proposition 3 as printed: within one part, logits are numbers of common neighbours."""
    a = TINY[shape]
    v = storage.bipartite_storage(a)
    assert v.shape[1] <= len(a) / 2
    logits, hops = v @ v.T, spectral.hop_distances(a)
    across = hops % 2 == 1
    assert np.array_equal(logits[across], a[across])
    common = (a @ a)[hops == 2]
    assert set(logits[hops == 2].tolist()) <= {0.0, *common.tolist()}
    assert logits[hops == 2].max() >= 1
    assert not storage.fit(a, v).exact


def test_an_odd_cycle_is_not_bipartite() -> None:
    with pytest.raises(DataError, match="closes an odd cycle"):
        storage.bipartite_storage(TINY["cycle"])


def test_one_step_stores_up_to_an_error_that_falls_with_the_width() -> None:
    a = TINY["irregular"]
    fits = [
        storage.fit(a, *storage.one_step_storage(a, width, seed=1))
        for width in (100, 10_000)
    ]
    assert fits[1].recall
    assert fits[1].edges < 0.08 < fits[0].edges
    assert fits[1].others < 0.08 < fits[0].others
