"""An untied head preserves an eigenvalue's size but not its sign, in theory and training."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from inweights.errors import DataError
from inweights.models import Init, Node2VecConfig
from inweights.theory.geometric_memory.folding import grown_vectors
from inweights.theory.geometric_memory.graph import adjacency, hop_distances
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import Graph, from_networkx


def gram(a: np.ndarray, *, tied: bool, time: float) -> np.ndarray:
    vectors = grown_vectors(a, tied=tied, time=time)
    return vectors @ vectors.T


@pytest.mark.parametrize(
    "graph", [nx.cycle_graph(9), nx.petersen_graph(), nx.complete_graph(5)]
)
def test_untied_is_the_even_half_of_tied_where_degrees_are_equal(
    graph: nx.Graph,
) -> None:
    a = nx.to_numpy_array(graph)
    drive = a - a.sum(1, keepdims=True) / len(a)
    # Time is scaled by the largest absolute eigenvalue for both heads.
    forwards, backwards = (
        gram(a, tied=True, time=1.3),
        gram(-drive, tied=True, time=1.3),
    )
    untied = gram(a, tied=False, time=1.3)
    np.testing.assert_allclose(untied, (forwards + backwards) / 2, atol=1e-9)


def test_only_the_untied_head_grows_negative_directions() -> None:
    """The Petersen graph has the eigenvalues 3, 1 (five times) and -2 (four times)."""
    a = nx.to_numpy_array(nx.petersen_graph())
    values, basis = np.linalg.eigh(a)
    smooth, rough = basis[:, np.isclose(values, 1)], basis[:, np.isclose(values, -2)]
    energy = {
        tied: [
            np.trace(part.T @ gram(a, tied=tied, time=2.0) @ part) / part.shape[1]
            for part in (smooth, rough)
        ]
        for tied in (True, False)
    }
    assert energy[True][0] / energy[True][1] == pytest.approx(np.exp(4 * 1.5))
    assert energy[False][0] / energy[False][1] == pytest.approx(np.cosh(2) / np.cosh(4))


def test_on_an_even_cycle_odd_pairs_are_all_the_same() -> None:
    a = adjacency(Graph(shape="cycle", n=12, shuffled=False).build())
    hops = hop_distances(a)[0]
    near = gram(a, tied=False, time=2.0)[0]
    assert np.ptp(near[hops % 2 == 1]) < 1e-9
    assert (np.diff([near[int(h)] for h in (2, 4, 6)]) < -1e-3).all()
    tied = gram(a, tied=True, time=2.0)[0]
    assert (np.diff([tied[h] for h in range(1, 7)]) < 0).all()


@pytest.mark.parametrize("tied", [True, False])
def test_a_small_node2vec_starts_so(tied: bool) -> None:
    """Gradient descent from small matrices on a graph with triangles and unequal degrees."""
    graph = nx.lollipop_graph(4, 5)
    world = from_networkx(graph).build()
    a, seeds = adjacency(world), range(4)
    config = Node2VecConfig(width=256, tied=tied, init=Init(std=1e-4))
    model = config.build(vocabulary=len(a), seeds=seeds)
    drive = a - a.sum(1, keepdims=True) / len(a)
    largest = (
        np.abs(np.linalg.eigvalsh((drive + drive.T) / 2)).max()
        if tied
        else np.linalg.norm(drive, ord=2)
    )
    rate, time = 0.5, 2.0
    steps = round(time * a.sum() / (largest * rate * (2 if tied else 1)))
    optimizer = Optimizer(kind="sgd", rate=rate)
    train(
        model,
        world,
        Curriculum(phases=(Phase(steps=steps, optimizer=optimizer),)),
        seeds=seeds,
    )
    vectors = model.tokens.weight.detach().double().numpy()
    found = (vectors @ vectors.swapaxes(1, 2)).mean(0)
    expected = gram(a, tied=tied, time=time)
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.97
    other = gram(a, tied=not tied, time=time)
    assert np.corrcoef(found.ravel(), other.ravel())[0, 1] < 0.9


def test_a_matrix_without_an_edge_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"a square adjacency matrix \[N, N\] with at least one edge"
    ):
        grown_vectors(np.zeros((3, 3)), tied=True)
