"""Probes of large worlds work in blocks and on samples, and reject excessive memory."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from scipy.stats import rankdata

from inweights.errors import ConfigError, DataError
from inweights.models import EmbMLPConfig, GPTConfig, Model, Node2VecConfig
from inweights.probes import (
    accuracy,
    cosines,
    graph_recall,
    hop_correlation,
    margins,
    templates,
)
from inweights.probes.geometry import cosines as cosine_module
from inweights.probes.geometry import hops as hop_module
from inweights.probes.geometry import pairs as pair_module
from inweights.probes.geometry.pairs import Pairs, cosine_ranks, midranks, tie_groups
from inweights.probes.pictures import film
from inweights.probes.pictures.film import snapshot
from inweights.seeds import EVALUATION, Streams
from inweights.support.limits import at_most
from inweights.theory.geometric_memory.bands import BANDS, Bands
from inweights.theory.geometric_memory.graph import (
    adjacency,
    edge_ends,
    hop_distances,
    hops_from,
)
from inweights.theory.geometric_memory.layout import scene
from inweights.theory.geometric_memory.spectral import OPERATORS, eigenspaces, operator
from inweights.training import answer_logits
from inweights.training.scoring import answers as scoring
from inweights.worlds import Graph, TwoHop

MODELS = (EmbMLPConfig(width=8), GPTConfig(layers=1, width=8, heads=1))
GRID = Graph(shape="grid", rows=24, columns=24).build()


template_module = sys.modules[templates.__module__]


def largest(model: Model) -> list[int]:
    """Record how many logits the model computes at once."""
    seen: list[int] = []
    model.register_forward_hook(lambda _, __, logits: seen.append(logits.numel()))
    return seen


@pytest.mark.parametrize("config", MODELS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("probe", [accuracy, margins], ids=lambda p: p.__name__)
def test_logits_are_made_in_blocks(
    config, probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds = [TwoHop(n=7).build(seed) for seed in (0, 1)]
    model = config.build(vocabulary=len(worlds[0].vocabulary), seeds=[0, 1])
    whole = probe(model, worlds)
    most = 3 * len(model.candidates)
    monkeypatch.setattr(scoring, "MAX_LOGITS", most)
    seen = largest(model)
    in_blocks = probe(model, worlds)
    assert max(seen) <= model.replicas * most
    numbers = [name for name, kind in whole.schema.items() if kind.is_float()]
    assert whole.drop(numbers).equals(in_blocks.drop(numbers))
    # Blocks of a different size may be summed in a different order, over 8 terms.
    np.testing.assert_allclose(whole[numbers], in_blocks[numbers], rtol=1e-5, atol=1e-6)


def test_blocks_keep_the_order_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = TwoHop(n=7).build()
    model = EmbMLPConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=[0])
    wanted = np.random.default_rng(0).permutation(len(world.facts))
    whole = answer_logits(model, world, "facts")
    monkeypatch.setattr(scoring, "MAX_LOGITS", 2 * len(model.candidates))
    some = answer_logits(model, world, "facts", wanted)
    torch.testing.assert_close(some, whole[:, wanted])


@pytest.mark.parametrize("probe", [graph_recall, snapshot], ids=lambda p: p.__name__)
def test_nodes_are_asked_in_blocks(probe, monkeypatch: pytest.MonkeyPatch) -> None:
    world = Graph(shape="irregular", self_edges=True).build()
    model = Node2VecConfig(width=8).build(
        vocabulary=len(world.vocabulary), seeds=[0, 1]
    )
    whole = probe(model, world)
    monkeypatch.setattr(cosine_module, "MAX_LOGITS", 3 * len(model.candidates))
    monkeypatch.setattr("inweights.probes.pictures.film._ROWS", 3)
    seen = largest(model)
    in_blocks = probe(model, world)
    assert max(seen) <= 3 * len(model.candidates) * model.replicas
    assert whole.columns == in_blocks.columns
    for name in whole.columns:
        one, other = (np.stack(table[name].to_numpy()) for table in (whole, in_blocks))
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("sources", [None, np.array([5, 0, 39])])
def test_hops_are_scipys(sources: np.ndarray | None) -> None:
    rng = np.random.default_rng(1)
    u, v = rng.integers(40, size=(2, 35))
    graph = coo_array((np.ones(35), (u, v)), shape=(40, 40)).tocsr()
    expected = shortest_path(graph, directed=False, unweighted=True)
    assert np.isinf(expected).any()
    found = hops_from(40, u, v, sources)
    np.testing.assert_array_equal(
        found, expected if sources is None else expected[sources]
    )


def test_a_graph_without_edges_has_no_paths() -> None:
    assert np.isinf(hop_distances(np.zeros((3, 3)))).sum() == 6


def test_ranks_are_scipys() -> None:
    values = np.random.default_rng(0).normal(size=300).round(1)
    np.testing.assert_array_equal(cosine_ranks(values), rankdata(values))
    assert len(np.unique(tie_groups(np.array([0.0, 1e-7, 2e-7, 1e-3])))) == 2
    assert midranks(np.array([1, 0, 1])).tolist() == [2.5, 1.0, 2.5]
    assert np.isnan(cosine_ranks(np.array([0.0, np.nan]))).all()


def smooth(noise: float) -> Model:
    """Return an embedding that is a map of the grid plus noise."""
    words, side = GRID.vocabulary, 24
    model = Node2VecConfig(width=16).build(vocabulary=len(words), seeds=[0])
    hops = hop_distances(adjacency(GRID))
    corner = [int(hops.sum(1).argmax())]
    for _ in range(15):
        corner.append(int(hops[corner].min(0).argmax()))
    drawn = np.random.default_rng(0).normal(size=(len(hops), 16))
    with torch.no_grad():
        model.tokens.weight[0] = torch.from_numpy(
            np.exp(-hops[:, corner] / side) + noise * drawn
        )
    return model


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_sampled_pairs_say_what_all_pairs_say(noise: float, monkeypatch) -> None:
    model = smooth(noise)
    exact = hop_correlation(model, GRID, draws=20)
    assert "error" not in exact.columns
    for module in (hop_module, pair_module):
        monkeypatch.setattr(module, "EXACT", 100)
    monkeypatch.setattr(pair_module, "PAIRS", 20_000)
    errors = []
    for seed in range(8):
        sampled = hop_correlation(model, GRID, draws=20, seed=seed)
        error = sampled["error"].item()
        errors.append((sampled["spearman"].item() - exact["spearman"].item()) / error)
        assert 0 < error < 0.03
    # Eight deviations in units of their errors, each estimated from ten groups.
    assert np.abs(errors).max() < 6
    assert np.square(errors).mean() < 4


def test_counted_cosines_are_sorted_ones_but_for_a_millionth(monkeypatch) -> None:
    model = smooth(0.3)
    monkeypatch.setattr(hop_module, "_SORTED", 10**9)
    exact = hop_correlation(model, GRID, draws=10)
    monkeypatch.setattr(hop_module, "_SORTED", 0)
    counted = hop_correlation(model, GRID, draws=10)
    assert exact["spearman"].equals(counted["spearman"])
    for name in ("null_mean", "null_low", "null_high"):
        assert counted[name].item() == pytest.approx(exact[name].item(), abs=1e-6)


def test_cosines_are_counted_in_steps_from_the_smallest_to_the_largest(
    monkeypatch,
) -> None:
    """Numbers on a line have only the cosines -1 and 1, in the first and the last bin."""
    monkeypatch.setattr(hop_module, "_SORTED", 0)
    groups: list[np.ndarray] = []

    def counted(_: Pairs, found: np.ndarray) -> float:
        groups.append(found)
        return 0.0

    monkeypatch.setattr(Pairs, "counted", counted)
    asked = pair_module.choose_pairs(*edge_ends(GRID))
    hop_module._random_correlations([asked], 1, (asked.nodes, 1), 0, centred=False)
    assert np.unique(groups[0]).tolist() == [0, pair_module._STEPS - 2]


def test_pairs_are_drawn_by_their_seed_and_within_bounds(monkeypatch) -> None:
    for module in (hop_module, pair_module):
        monkeypatch.setattr(module, "EXACT", 100)
    monkeypatch.setattr(pair_module, "PAIRS", 5000)
    asked: list[Pairs] = []
    real = pair_module.choose_pairs

    def kept(*given) -> Pairs:
        asked.append(real(*given))
        return asked[-1]

    monkeypatch.setattr(hop_module, "choose_pairs", kept)
    for seed, least in ((0, 1), (0, 1), (1, 1), (0, 3)):
        hop_correlation(smooth(0.3), GRID, draws=2, seed=seed, least=least)
    one, same, other, far = asked
    assert np.array_equal(one.u, same.u)
    assert np.array_equal(one.v, same.v)
    assert not np.array_equal(one.v, other.v)
    assert len(one.u) <= 5000
    assert far.hops.min() == 3


def test_too_much_is_refused_before_it_starts() -> None:
    model = smooth(0.3)
    with (
        at_most("20MB"),
        pytest.raises(DataError, match="331,776 pairs of nodes takes"),
    ):
        cosines(model, GRID)
    world = TwoHop(n=100).build()
    small = EmbMLPConfig(width=4).build(vocabulary=len(world.vocabulary), seeds=[0])
    with (
        at_most("5MB"),
        pytest.raises(ConfigError, match="ask for the rows of one role"),
    ):
        templates(small, world)


@pytest.mark.parametrize(
    "config", [Graph(arms=40, nodes=5), Graph(shape="grid", rows=14, columns=14)]
)
@pytest.mark.parametrize("kind", OPERATORS)
def test_bands_hold_the_energy_of_their_eigenspaces(config, kind) -> None:
    world = config.build()
    count, u, v = edge_ends(world)
    bands, spectrum = (
        Bands.of(count, u, v, kind),
        eigenspaces(operator(adjacency(world), kind)),
    )
    vectors = np.random.default_rng(0).normal(size=(count, 8))
    shares, error = bands.energy(vectors, -1.5)
    above = spectrum.eigenvalues() >= -1.5
    assert abs(shares[0] - spectrum.energy(vectors)[above].sum()) <= max(error, 1e-6)
    assert shares.sum() == pytest.approx(1)
    assert bands.energy(vectors)[0].shape == (BANDS,)


@pytest.mark.slow
def test_a_large_graph_is_drawn_as_some_of_its_nodes() -> None:
    row = scene(GRID).row(0, named=True)
    assert (len(row["nodes"]), row["all_nodes"]) == (250, 576)
    others = [int(name.partition(" + ")[2] or 0) for name in row["nodes"]]
    assert sum(others) == 576 - 250
    taken = snapshot(smooth(0.3), GRID).rename({"replica": "step"})
    picture = film.render_frames(taken, GRID).row(0, named=True)
    assert len(picture["positions"]) == 3 * 250
    assert len(picture["cosines"]) == 250 * 249 // 2
    exact = hop_correlation(smooth(0.3), GRID, draws=2)["spearman"].item()
    assert picture["spearman"] == pytest.approx(exact, abs=1e-6)
    # Energies are those of sixteen random sums of columns, which are close to those of all
    # columns.
    vectors = np.array(taken["vectors"][0], dtype=np.float64).reshape(576, -1)
    sums = Streams(0).numpy(EVALUATION, "sketch").normal(size=(vectors.shape[1], 16))
    bands = Bands.of(*edge_ends(GRID))
    np.testing.assert_allclose(
        picture["energies"], bands.energy(vectors @ sums)[0], atol=1e-6
    )
    np.testing.assert_allclose(picture["energies"], bands.energy(vectors)[0], atol=0.1)
