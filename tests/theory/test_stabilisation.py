"""Propositions 6 to 10 during a descent, and storage tables, for known graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import polars as pl
import pytest

from inweights.errors import DataError
from inweights.theory.feature_resemblance.stabilisation import (
    by_space,
    outside,
    propositions,
)
from inweights.theory.geometric_memory import node2vec, spectral
from inweights.theory.geometric_memory.storage_tables import (
    constructions,
    costs,
    one_step,
)
from inweights.worlds import Graph, from_networkx

RNG = np.random.default_rng(0)
RING = np.roll(np.eye(9), 1, 1) + np.roll(np.eye(9), -1, 1)
START = RNG.normal(size=(1, 9, 30))


def test_every_space_is_followed() -> None:
    """Initially C is the Laplacian if S is the identity, and energies sum to one."""
    run = node2vec.descend(20 * START, RING, steps=1, record=[0])
    table = by_space(run, RING)
    first = table.filter(step=0)
    spectrum = spectral.eigenspaces(spectral.operator(RING))
    assert first["size"].to_list() == [1, 2, 2, 2, 2]
    assert first["coefficient"].to_list() == pytest.approx(
        [0, *spectrum.eigenvalues()], abs=1e-9
    )
    for _, rows in table.group_by("step"):
        assert rows["energy"].sum() == pytest.approx(1)
    total = (first["length"] ** 2 * first["size"]).sum()
    assert total == pytest.approx(np.square(20 * START).sum())


def test_propositions_on_the_ring() -> None:
    run = node2vec.descend(START, RING, steps=20_000, record=[0, 100])
    table = propositions(run, RING)
    start, end = table.row(0, named=True), table.row(-1, named=True)
    assert start["outside_v"] > 0.4
    for name in (
        "outside_c",
        "outside_s",
        "outside_v",
        "null_angle",
        "null_size",
        "change",
    ):
        assert end[name] < 1e-3, name
    assert end["null_gap"] > 0.05
    assert end["top"] > 0.999
    assert table["s_low"].to_numpy().min() > -1e-12
    assert table["s_high"].max() == pytest.approx(1)
    assert (table["walk_low"].min(), table["walk_high"].max()) == pytest.approx(
        (2 * np.cos(8 * np.pi / 9) - 2, 0.0), abs=1e-9
    )
    assert end["loss"] == pytest.approx(run.losses[-1, 0] / 9)
    assert end["norm"] == pytest.approx(np.linalg.norm(run.vectors))
    # While C is the Laplacian, the eigenvalue next to the degenerate one belongs to the
    # Fiedler space.
    sharp = propositions(node2vec.descend(20 * START, RING, steps=0), RING).row(
        0, named=True
    )
    assert sharp["c_second"] == pytest.approx(2 * np.cos(2 * np.pi / 9) - 2, abs=1e-6)


def test_what_is_outside_by_chance_is_the_mean_over_bases() -> None:
    spectrum = spectral.eigenspaces(spectral.operator(RING))
    random = RNG.normal(size=(4000, 9, 9))
    drawn = np.mean([outside(x + x.T, spectrum) for x in random])
    said = propositions(node2vec.descend(START, RING, steps=0), RING)[
        "outside_random"
    ].item()
    assert drawn == pytest.approx(said, abs=0.01)
    assert outside(RING, spectrum) == pytest.approx(0, abs=1e-12)
    assert np.isnan(outside(np.eye(9), spectrum))


def test_runs_that_the_propositions_do_not_speak_of() -> None:
    two = node2vec.descend(RNG.normal(size=(2, 9, 4)), RING, steps=1)
    with pytest.raises(DataError, match="one tied model, got 2"):
        by_space(two, RING)
    untied = node2vec.descend(START, RING, steps=1, targets=START)
    with pytest.raises(
        DataError, match=r"one tied model, got 1 replica.* of an untied model"
    ):
        propositions(untied, RING)
    with pytest.raises(DataError, match="'spaces' must be from 1 to 3, got 4"):
        propositions(node2vec.descend(START, RING, steps=1), RING, spaces=4)


def test_costs_by_hand() -> None:
    table = costs(Graph(shape="cycle", n=8, edges="both"), dimensions=2, cells=8)
    rows = {(r["measure"], r["tied"]): r for r in table.iter_rows(named=True)}
    assert rows["bits", True]["associative"] == 16 * 3
    assert rows["bits", True]["geometric"] == 8 * 2 * 3
    assert rows["norm", True]["ratio"] == pytest.approx(np.sqrt(2))
    assert rows["norm", False]["ratio"] == pytest.approx(1)
    assert set(table["nodes"]) == {8}
    assert set(table["associations"]) == {16}


@pytest.mark.parametrize(
    ("graph", "two_parts"),
    [
        (nx.cycle_graph(6), True),
        (nx.cycle_graph(5), False),
        (nx.petersen_graph(), False),
        (nx.hypercube_graph(3), True),
        (nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(4)), True),
        (nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(3)), False),
    ],
)
def test_proposition_3_is_there_for_bipartite_graphs(
    graph: nx.Graph, two_parts: bool
) -> None:
    table = constructions(from_networkx(graph))
    assert nx.is_bipartite(graph) == two_parts
    names = table["construction"].to_list()
    assert ("proposition 3" in names) == two_parts
    others = table.filter(pl.col("construction") != "proposition 3")
    assert others["on_edges"].to_numpy().max() < 1e-9
    assert others["off_edges"].to_numpy().max() < 1e-9
    assert others["recall"].min() == 1
    if two_parts:
        assert table.filter(construction="proposition 3")["across"].item() == 0
    assert set(table["edges"]) == {graph.number_of_edges()}


def test_one_step_gets_better_with_the_width() -> None:
    tables = [
        one_step(Graph(shape="grid"), width=width, seed=1) for width in (16, 4096)
    ]
    narrow, wide = (table.row(0, named=True) for table in tables)
    assert narrow["recall"] == 0
    assert wide["recall"] == 1
    assert wide["on_edges"] < 0.2 < narrow["on_edges"]
    assert wide["expected"] == pytest.approx(np.sqrt(3 / 4096))
