"""Graphs, embeddings, spectra and training, compared with networkx, SciPy and plain PyTorch.

The graphs are included in networkx. The references are written here in a few lines each,
and use only the input numbers of the library.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import Tensor
from torch.nn import functional as F

import inweights as iw
from inweights.worlds import from_networkx

GRAPHS = {
    "club": nx.karate_club_graph,
    "florentine": nx.florentine_families_graph,
    "women": nx.davis_southern_women_graph,
    "misérables": nx.les_miserables_graph,
}


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest) -> nx.Graph:
    """Return a graph of networkx whose node names are strings."""
    made = GRAPHS[request.param]()
    return nx.relabel_nodes(made, {node: str(node) for node in made})


def placed(graph: nx.Graph, replicas: int = 2) -> tuple[Any, Any, list[np.ndarray]]:
    """Return an embedding with random vectors, its world, and the vectors in node order."""
    world = from_networkx(graph).build()
    model = iw.models.Node2VecConfig(width=6).build(
        vocabulary=len(world.vocabulary), seeds=range(replicas)
    )
    ids = [world.vocabulary.names.index(node) for node in graph]
    vectors = [table[ids].double().numpy() for table in model.token_table.detach()]
    return model, world, vectors


def cosines(vectors: np.ndarray) -> np.ndarray:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.parametrize(
    ("pairs", "kept"), [("all", {0, 1}), ("even", {0}), ("odd", {1})]
)
def test_hop_correlation_is_scipys(graph: nx.Graph, pairs: Any, kept: set[int]) -> None:
    model, world, vectors = placed(graph)
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    names = list(graph)
    chosen = [
        (i, j, hops[a][b])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i < j and b in hops[a] and hops[a][b] % 2 in kept
    ]
    found = iw.probes.hop_correlation(model, world, pairs=pairs, draws=2)["spearman"]
    for ours, own in zip(found, vectors, strict=True):
        angles = cosines(own)
        far = [hop for _, _, hop in chosen]
        theirs = spearmanr([angles[i, j] for i, j, _ in chosen], far).statistic
        assert ours == pytest.approx(theirs, abs=1e-6)


def test_eigenspaces_are_numpys(graph: nx.Graph) -> None:
    """Energy shares of ``P + Pᵀ − 2I``, where P is the random walk, equal those by NumPy."""
    model, world, vectors = placed(graph)
    adjacency = nx.to_numpy_array(graph, weight=None)
    walk = adjacency / adjacency.sum(1, keepdims=True)
    values, basis = np.linalg.eigh(walk + walk.T - 2 * np.eye(len(walk)))
    table = iw.probes.spectral_energy(model, world, draws=2)
    for replica, own in enumerate(vectors):
        rows = table.filter(replica=replica)
        energy = ((basis.T @ own) ** 2).sum(1)
        spaces = [np.abs(values - value) < 1e-6 for value in rows["eigenvalue"]]
        assert [int(space.sum()) for space in spaces] == rows["size"].to_list()
        inside = np.array([energy[space].sum() for space in spaces])
        assert rows["energy"].to_numpy() == pytest.approx(
            inside / inside.sum(), abs=1e-6
        )
        assert rows["degenerate"][0] == pytest.approx(
            1 - inside.sum() / energy.sum(), abs=1e-6
        )


#: Tokens of a prompt, and its answer.
Row = tuple[list[int], int]


def two_hops(n: int, *, identity: bool) -> tuple[list[Row], list[Row]]:
    """Return facts and questions over n tokens of each kind ``a, b, c`` and two relations."""
    a, b, c, first, second = 0, n, 2 * n, 3 * n, 3 * n + 1
    facts = [([a + i, first], b + i) for i in range(n)]
    facts += [([b + i, second], c + i) for i in range(n)]
    if identity:
        facts += [([b + i], b + i) for i in range(n)]
    return facts, [([a + i, first, second], c + i) for i in range(n)]


def plain_training(
    facts: list[Row],
    questions: list[Row],
    *,
    tokens: int,
    width: int,
    steps: int,
    rate: float,
) -> list[float]:
    """Return the shares of facts and questions that a trained sum of embeddings answers."""
    draw = torch.Generator().manual_seed(0)
    table = (0.01 * torch.randn(tokens, width, generator=draw)).requires_grad_()
    head = (0.01 * torch.randn(width, tokens, generator=draw)).requires_grad_()
    optimizer = torch.optim.SGD([table, head], lr=rate)

    def logits(rows: list[Row]) -> Tensor:
        return torch.stack([table[prompt].sum(0) for prompt, _ in rows]) @ head

    for _ in range(steps):
        optimizer.zero_grad()
        answers = torch.tensor([answer for _, answer in facts])
        F.cross_entropy(logits(facts), answers).backward()
        optimizer.step()
    with torch.no_grad():
        return [
            float(
                (logits(rows).argmax(1) == torch.tensor([x for _, x in rows]))
                .double()
                .mean()
            )
            for rows in (facts, questions)
        ]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("identity", "share"), [(True, 1.0), (False, 0.0)])
def test_identities_make_compositions_in_plain_pytorch_and_here(
    identity: bool, share: float
) -> None:
    """The library's central finding, by two programs without common code."""
    n, width, steps, rate = 4, 16, 1000, 2.0
    facts, questions = two_hops(n, identity=identity)
    about = {"tokens": 3 * n + 2, "width": width, "steps": steps}
    assert plain_training(facts, questions, rate=rate, **about) == [1.0, share]
    world = iw.TwoHop(n=n, identity=identity).build()
    model = iw.EmbMLPConfig(width=width).build(
        vocabulary=len(world.vocabulary), seeds=[0]
    )
    sgd = iw.Optimizer(kind="sgd", rate=rate, weight_decay=0.0)
    iw.train(
        model,
        world,
        iw.Curriculum(phases=(iw.Phase(steps=steps, optimizer=sgd),)),
        seeds=[0],
    )
    table = iw.probes.accuracy(model, world)
    assert table.filter(part="facts")["accuracy"].to_list() == [1.0] * (
        3 if identity else 2
    )
    assert table.filter(role="composition")["accuracy"].to_list() == [share]
