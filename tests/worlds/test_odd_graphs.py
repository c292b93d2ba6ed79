"""Unusual graphs of users work everywhere, and errors about broken files name the line."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import pytest
from tests.worlds.edge_text import write_edges

from inweights.errors import DataError
from inweights.models import GPTConfig, Init, Model, Node2VecConfig, TinyNNConfig
from inweights.probes import (
    cosines,
    geometric_margin,
    graph_recall,
    hop_correlation,
    spectral_energy,
    zigzag,
)
from inweights.theory.geometric_memory.graph import adjacency, components, hop_distances
from inweights.theory.geometric_memory.node2vec import descend
from inweights.theory.geometric_memory.spectral import eigenspaces, operator
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import Graph, World, from_networkx, read_edges


def odd() -> nx.MultiGraph:
    """Return a triangle with a double edge, a loop and a tail, a pair, and an isolated node."""
    graph = nx.MultiGraph()
    graph.add_edges_from(
        [("ann", "bo"), ("ann", "bo"), ("bo", 3), (3, "ann"), ("bo", "bo")]
    )
    graph.add_edge("cy", 3)
    graph.add_edge(("x", 1), 2.5)
    graph.add_node("alone")
    return graph


def as_file(kind: str, folder: Path) -> World:
    """Write the graph to a file and read it; a CSV cannot contain isolated nodes."""
    file = folder / f"odd.{kind}"
    if kind == "graphml":
        nx.write_graphml(nx.relabel_nodes(odd(), {("x", 1): "x1"}), file)
    elif kind == "csv":
        file.write_text("from,to\nann,bo\nann,bo\nbo,3\n3,ann\nbo,bo\ncy,3\nx1,2.5\n")
    else:
        file.write_text(
            "# odd\nann=bo\nann=bo\nbo=3\n3=ann\nbo=bo\ncy=3\n\nx1=2.5\nalone=\n"
        )
    return Graph(shape="file", file=str(file)).build()


@pytest.mark.parametrize("kind", ["txt", "csv", "graphml"])
def test_every_way_in_gives_the_same_graph(kind: str, tmp_path: Path) -> None:
    world, given = as_file(kind, tmp_path), from_networkx(odd()).build()
    names = [n.replace("('x', 1)", "x1") for n in given.vocabulary.names]
    theirs = world.vocabulary.names
    shared = [n for n in names if n in theirs]
    assert set(names) - set(theirs) == ({"alone"} if kind == "csv" else set())
    a, b = adjacency(given), adjacency(world)
    ours = [names.index(n) for n in shared]
    other = [theirs.index(n) for n in shared]
    np.testing.assert_array_equal(a[np.ix_(ours, ours)], b[np.ix_(other, other)])
    assert a.sum() == b.sum() == 4 * 2 + 2 + 1


def test_what_theory_says_of_it() -> None:
    a = adjacency(from_networkx(odd()).build())
    assert components(a > 0).tolist() == [0, 0, 0, 0, 4, 4, 6]
    spectrum = eigenspaces(operator(a))
    assert spectrum.sizes().sum() + (spectrum.space < 0).sum() == len(a) == 7
    hops = hop_distances(a)
    assert np.isinf(hops[6, :6]).all()
    assert hops[6, 6] == 0
    run = descend(
        np.random.default_rng(0).normal(size=(1, 7, 9)), a, rate=0.05, steps=300
    )
    assert np.isfinite(run.vectors).all()


@pytest.mark.parametrize(
    "config",
    [
        GPTConfig(layers=1, heads=1, width=16),
        TinyNNConfig(width=16, init=Init(std=0.1)),
        Node2VecConfig(width=16),
    ],
    ids=lambda c: type(c).__name__,
)
def test_models_learn_it_and_probes_see_it(config) -> None:
    """No warning occurs, as an empty mean or a division by the degree 0 would cause."""
    world = from_networkx(odd()).build()
    model: Model = config.build(vocabulary=len(world.vocabulary), seeds=[0, 1])
    phase = Phase(steps=150, optimizer=Optimizer(rate=0.03, weight_decay=0.0))
    train(model, world, Curriculum(phases=(phase,)), seeds=[0, 1])
    recall = graph_recall(model, world)
    # Tied vectors are most similar to themselves, which is an edge only for the loop.
    kind = "recall_others" if isinstance(config, Node2VecConfig) else "recall"
    assert (recall[kind] == 1.0).all()
    assert recall["floor"].unique().item() < recall["loss"].min()
    for probe in (hop_correlation, spectral_energy, zigzag):
        table = probe(model, world, draws=10)
        numbers = table.select(pl.col(pl.Float64))
        assert numbers.to_numpy().size
        assert np.isfinite(numbers.to_numpy()).all(), probe.__name__
    table = cosines(model, world)
    alone = table.filter(pl.col("source") == "alone")["hops"].to_list()
    assert alone == [None, None, None, None, None, None, 0] * 2
    if isinstance(config, TinyNNConfig):
        assert np.isfinite(
            geometric_margin(model, world, draws=10)["margin"].to_numpy()
        ).all()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "e.txt",
            "a=b\na=b\n\nb - c\n",
            r"e\.txt, line 4: expected 'u=v'.*got 'b - c'",
        ),
        ("e.txt", "a=b\na,b=c\n", r"e\.txt, line 2: expected 'u=v'.*got 'a,b=c'"),
        (
            "e.txt",
            "a=b\n#\nc=a,b,c\nb=a,b\n",
            r"e\.txt, line 3: the path to 'c' needs .*'b=c'",
        ),
        (
            "e.txt",
            "a=b\nb=c\nb=a,,b\n",
            r"e\.txt, line 3: a path .* must contain each node once",
        ),
        (
            "e.csv",
            'u,v\na,"b\nc,d\n',
            r"e\.csv, line 2: expected two labels .*unexpected end",
        ),
        (
            "e.csv",
            'u,v\na,"b\nc"\nd\n',
            r"e\.csv, line 4: expected two labels .*got 'd'",
        ),
        ("e.csv", 'u,v\n"a"b,c\n', r"e\.csv, line 2: expected two labels"),
        (
            "e.csv",
            "u,v\n",
            "has no edges; expected lines of the form 'u=v', or 'u,v' in a .csv file",
        ),
        (
            "e.graphml",
            "<graphml><edge source='a'/></graphml>",
            "is not a GraphML file|no edge",
        ),
    ],
)
def test_a_broken_line_is_named(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(DataError, match=message):
        read_edges(file)


def test_paths_are_read_and_written(tmp_path: Path) -> None:
    file = tmp_path / "star.txt"
    file.write_text("c = r, a, c\nd=r,b,d\nr=a\na=c\nr=b\nb = d\nz=\n")
    found = read_edges(file)
    assert found.paths == (("r", "a", "c"), ("r", "b", "d"))
    assert found.links == (("r", "a"), ("a", "c"), ("r", "b"), ("b", "d"))
    assert found.nodes[-1] == "z"
    again = write_edges(found, tmp_path / "again.txt")
    assert again.read_text().splitlines()[-2:] == ["c=r,a,c", "d=r,b,d"]
    assert read_edges(again) == found
    world = Graph(shape="file", file=str(again), paths=True).build()
    assert len(world.queries) == 2
