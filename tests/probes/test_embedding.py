"""Embeddings from files: matched by name or rejected, and tested by permuting names."""

from __future__ import annotations

import json
from itertools import combinations, pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from scipy.stats import spearmanr

from inweights.errors import ConfigError, DataError
from inweights.probes import (
    Embedding,
    graph_recall,
    hop_correlation,
    named_geometry,
    read_embedding,
    spectral_energy,
)
from inweights.probes.geometry.pairs import Pairs
from inweights.theory.geometric_memory.graph import adjacency
from inweights.theory.geometric_memory.spectral import eigenspaces, operator
from inweights.worlds import Graph, PathStar

#: Names that tests/probes/test_probes.py reads.
OF_EMBEDDINGS = (Embedding, read_embedding)
STAR = Graph(shape="path-star", arms=4, nodes=4).build(seed=3)
NODES = tuple(STAR.vocabulary.groups["node"])


def drawn(names=NODES, width=6, seed=0) -> Embedding:
    vectors = np.random.default_rng(seed).normal(size=(len(names), width))
    return Embedding(tuple(names), vectors)


def test_the_order_of_rows_changes_nothing() -> None:
    one = drawn()
    order = np.random.default_rng(1).permutation(len(NODES))
    other = Embedding(tuple(NODES[i] for i in order), one.vectors[order])
    assert not np.array_equal(one.vectors, other.vectors)
    for probe in (hop_correlation, graph_recall, spectral_energy, named_geometry):
        first, second = (probe(each.on(STAR), STAR) for each in (one, other))
        assert first.equals(second)


def test_a_wrong_order_is_refused_not_measured() -> None:
    model = drawn().on(STAR)
    other = Graph(shape="edges", links=[list(link) for link in pairwise(NODES)])
    turned = Graph(
        shape="edges", links=[list(link[::-1]) for link in reversed(other.links)]
    )
    for probe in (hop_correlation, graph_recall, spectral_energy, named_geometry):
        with pytest.raises(
            DataError, match="different nodes, or the same nodes in a different order"
        ):
            probe(model, turned.build())


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (NODES[:-2], f"no row for 2 of 13 nodes: '{NODES[-2]}', '{NODES[-1]}'"),
        ((*NODES[:-1], "v133"), "nearest name"),
        ((*NODES, NODES[4]), f"several rows for '{NODES[4]}'"),
    ],
)
def test_names_that_do_not_match_are_refused(names, said) -> None:
    with pytest.raises(DataError, match=said):
        drawn(names).on(STAR)


def test_rows_of_no_node_are_left_out() -> None:
    one = drawn()
    more = Embedding(("x", *NODES), np.vstack([np.full((1, 6), 9.0), one.vectors]))
    assert torch.equal(one.on(STAR).tokens.weight, more.on(STAR).tokens.weight)


def test_a_world_with_other_tokens_takes_an_embedding() -> None:
    world = PathStar(arms=4, nodes=4, pauses=1).build()
    model = drawn(world.vocabulary.groups["node"]).on(world)
    assert -1 <= hop_correlation(model, world)["spearman"].item() <= 1


@pytest.mark.parametrize("centred", [False, True])
def test_the_mean_of_all_nodes_is_left_out_of_centred_vectors(centred: bool) -> None:
    """Vectors far from the origin have the same geometry, by networkx and SciPy."""
    vectors = drawn().vectors + 3.0
    hops = dict(nx.all_pairs_shortest_path_length(nx.from_numpy_array(adjacency(STAR))))
    known = vectors - vectors.mean(0) if centred else vectors
    unit = known / np.linalg.norm(known, axis=1, keepdims=True)
    pairs = list(combinations(range(len(NODES)), 2))
    expected = spearmanr(
        [unit[u] @ unit[v] for u, v in pairs], [hops[u][v] for u, v in pairs]
    )
    model = Embedding(NODES, vectors).on(STAR)
    found = hop_correlation(model, STAR, centred=centred)["spearman"].item()
    assert found == pytest.approx(expected.statistic)


@pytest.mark.parametrize("shape", [(13,), (0, 13, 2), (12, 3)])
def test_shapes_that_cannot_be(shape) -> None:
    with pytest.raises(DataError):
        Embedding(NODES, np.zeros(shape))


def test_a_map_beats_its_shuffled_names_and_noise_does_not() -> None:
    spectrum = eigenspaces(operator(adjacency(STAR)))
    real = spectrum.vectors[:, spectrum.space == 0]
    found = named_geometry(Embedding(NODES, real).on(STAR), STAR).rows_by_key(
        "measure", named=True, unique=True
    )
    assert found["fiedler"]["value"] == pytest.approx(1.0)
    assert found["fiedler"]["p"] == pytest.approx(1 / 201)
    assert found["spearman"]["value"] < found["spearman"]["null_low"]
    # Over many draws of noise, p is uniformly distributed.
    noise = [named_geometry(drawn(seed=s).on(STAR), STAR, draws=19) for s in range(60)]
    small = np.mean([t.filter(measure="spearman")["p"].item() <= 0.25 for t in noise])
    assert 0.1 < small < 0.42


@pytest.mark.slow
def test_the_best_of_many_is_judged_among_the_best_of_many() -> None:
    many = Embedding(NODES, np.random.default_rng(5).normal(size=(40, 13, 6))).on(STAR)
    alone, together = (
        named_geometry(many, STAR, together=t, draws=50).filter(measure="spearman")
        for t in (False, True)
    )
    assert alone["p"].to_numpy().min() < 0.05 < together["p"].to_numpy().min()
    assert (together["p"] >= alone["p"]).all()
    assert alone.drop("p").equals(together.drop("p"))


def test_all_files_say_the_same(tmp_path: Path) -> None:
    one = drawn()
    (tmp_path / "names.txt").write_text("\n".join(NODES))
    np.save(tmp_path / "a.npy", one.vectors)
    save_file(
        {"w": one.vectors}, tmp_path / "a.safetensors", {"names": json.dumps(NODES)}
    )
    rows = [
        f"{n} " + " ".join(map(repr, map(float, v)))
        for n, v in zip(NODES, one.vectors, strict=True)
    ]
    (tmp_path / "a.vec").write_text("\n".join([f"{len(NODES)} 6", *rows]))
    (tmp_path / "glove.txt").write_text("\n".join(rows))
    for file, names in (
        ("a.npy", tmp_path / "names.txt"),
        ("a.safetensors", None),
        ("a.vec", None),
        ("glove.txt", None),
    ):
        read = read_embedding(tmp_path / file, names=names)
        assert read.names == NODES
        np.testing.assert_array_equal(read.vectors, one.vectors)
    some = read_embedding(tmp_path / "a.vec", only={NODES[2], NODES[5]})
    assert some.names == (NODES[2], NODES[5])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.pt", "", "could run code"),
        ("a.npy", "no array", "cannot read"),
        ("a.safetensors", "nothing", "not a safetensors file"),
        ("a.vec", "3 2\na 1 2\nb 1 2\n", "states 3 rows, but the file has 2"),
        ("a.vec", "2 2\na 1 2\nb 1\n", "line 3"),
        ("a.vec", "a 1 2\nb 1 x\n", "line 2"),
        (
            "a.vec",
            f"2 {'9' * 150}\na 1\nb 1\n",
            "9{18} numbers per row.* first row has 1",
        ),
        (
            "a.vec",
            f"{'9' * 5000} 1\na 1\n",
            "states 9{18} rows, but the file has 1",
        ),
        ("a.vec", f"{'9' * 150}\n", "line 1: expected a name and some numbers"),
        ("a.vec", "1 5\na 1 2\n", "line 2: expected a name and 5 numbers"),
        ("a.vec", "", "has no row"),
        ("a.vec", "a 1 nan\n", "not finite"),
        ("a.vec", "a 1 1e20\n", "or exceeds 1e\\+15"),
    ],
)
def test_broken_files(tmp_path: Path, name, text, said) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=said):
        read_embedding(tmp_path / name)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_an_array_too_large_is_refused_with_its_size(tmp_path: Path, version) -> None:
    """The error is based on the header and is raised before numpy allocates memory."""
    header = (
        str({"descr": "<f8", "fortran_order": False, "shape": (10**9, 1000)}).encode()
        + b"\n"
    )
    length = len(header).to_bytes(2 if version == (1, 0) else 4, "little")
    (tmp_path / "a.npy").write_bytes(np.lib.format.magic(*version) + length + header)
    with pytest.raises(
        DataError, match=r"reading .*a\.npy takes about 8 TB of memory, but the lim"
    ):
        read_embedding(tmp_path / "a.npy")


def test_pickled_objects_and_nameless_rows_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot read"):
        read_embedding(tmp_path / "o.npy")
    np.save(tmp_path / "n.npy", np.zeros((3, 2)))
    whole = (tmp_path / "n.npy").read_bytes()
    # NumPy accepts such a header.
    (tmp_path / "h.npy").write_bytes(whole.replace(b"}", b" "))
    with pytest.raises(DataError, match="cannot read"):
        read_embedding(tmp_path / "h.npy")
    with pytest.raises(DataError, match="has no row names"):
        read_embedding(tmp_path / "n.npy")
    save_file(
        {"a": np.zeros((2, 2)), "b": np.zeros((3, 2))}, tmp_path / "two.safetensors"
    )
    with pytest.raises(DataError, match="2 matrices"):
        read_embedding(tmp_path / "two.safetensors")
    with pytest.raises(ConfigError, match="unknown tensor 'c'"):
        read_embedding(tmp_path / "two.safetensors", tensor="c")


def test_two_pairs_have_a_correlation() -> None:
    pairs = Pairs(np.array([0, 0]), np.array([1, 2]), np.array([1, 2]), nodes=3)
    assert pairs.correlation(np.array([2.0, 1.0])) == pytest.approx(-1)
    assert np.isnan(pairs.correlation(np.array([1.0, 1.0])))


@pytest.mark.parametrize("count", [2, 3, 5, 40])
@pytest.mark.parametrize("code", [2.0**32, 8.0])
def test_a_correlation_of_counted_groups_is_scipys(
    monkeypatch: pytest.MonkeyPatch, count: int, code: float
) -> None:
    """Also with empty groups, with two pairs, and with large sums of ranks."""
    monkeypatch.setattr("inweights.probes.geometry.pairs._CODE", code)
    rng = np.random.default_rng(count)
    for _ in range(20):
        hops = rng.permutation([1, 2, *rng.integers(1, 4, size=count - 2)])
        groups = rng.permutation([2, 3, *rng.integers(7, size=count - 2)])
        ends = np.zeros(count, dtype=np.int64)
        pairs = Pairs(ends, ends + 1, hops, nodes=2)
        assert pairs.counted(groups) == pytest.approx(spearmanr(groups, hops)[0])
        assert np.isnan(pairs.counted(np.full(count, 3)))
        assert np.isnan(Pairs(ends, ends + 1, ends + 1, nodes=2).counted(groups))
