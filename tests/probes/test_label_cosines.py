"""Cosines by label and layer for networks with given states, and their prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from inweights.errors import ConfigError, DataError
from inweights.models import DeepLinear, DeepLinearConfig, GPTConfig
from inweights.probes.depth import label_cosines, predicted_similarity_by_depth
from inweights.theory.feature_resemblance.depth import depth_cosines
from inweights.worlds import Statements, TwoHop, Vocabulary, World
from inweights.worlds.labels import Labels


def told(*labels: int) -> World:
    """Return a world in which input ``i`` has the ``i``-th of the given labels (three kinds)."""
    count, kinds = len(labels), 3
    words = Vocabulary(
        {
            "input": [f"x{i}" for i in range(count)],
            "label": [f"y{i}" for i in range(kinds)],
        }
    )
    answers = words["label"][list(labels)][:, None]
    return World(
        name="told",
        vocabulary=words,
        facts=Statements.build({"category": (words["input"][:, None], answers)}),
        queries=Statements.build({}),
    )


def network(*matrices: torch.Tensor, width: int = 8) -> DeepLinear:
    """Return a network with given weights ``[R, rows, columns]`` within wider layers."""
    config = DeepLinearConfig(width=width, layers=len(matrices))
    model = config.build(vocabulary=7, seeds=range(len(matrices[0])))
    with torch.no_grad():
        layer: Any
        for layer, matrix in zip(model.layers, matrices, strict=True):
            layer.weight.zero_()
            layer.weight[:, : matrix.shape[1], : matrix.shape[2]] = matrix
    return model


def test_states_at_known_angles() -> None:
    """The rows of the first layer are the states, with cosines known by hand."""
    states = torch.tensor([[3.0, 0.0], [4.0, 3.0], [0.0, -2.0], [0.0, 5.0]])
    turn = torch.tensor([[1.0, 1.0], [-1.0, 1.0]])  # preserves angles
    squash = torch.diag(torch.tensor([1.0, 0.0]))
    model = network(states[None], turn[None], (turn.T @ squash)[None])
    table = label_cosines(model, told(0, 0, 1, 1))
    assert table["layer"].to_list() == ["layer1", "layer2", "layer3"]
    assert table["depth"].to_list() == [1, 2, 3]
    first = table.row(0, named=True)
    # Pairs with the same label: 0.8 and -1. With different labels: 0, 0, -0.6 and 0.6.
    assert first["same"] == pytest.approx((0.8 - 1) / 2, abs=1e-6)
    assert first["other"] == pytest.approx(0, abs=1e-6)
    assert first["other_size"] == pytest.approx(1.2 / 4, abs=1e-6)
    assert table.row(1)[3:] == pytest.approx(table.row(0)[3:], abs=1e-6)


def test_every_pair_once_and_no_input_with_itself() -> None:
    """Labels of one, two and three inputs give four equal and eleven different pairs."""
    labels = (0, 1, 1, 2, 2, 2)
    config = DeepLinearConfig(width=16, layers=2)
    world = told(*labels)
    model = config.build(vocabulary=len(world.vocabulary), seeds=[0, 1])
    table = label_cosines(model, world)
    assert table["replica"].to_list() == [0, 0, 1, 1]
    for row in table.iter_rows(named=True):
        states = model.hidden(torch.arange(6)[:, None])[row["layer"]][
            row["replica"]
        ].detach()
        pairs = [(i, j) for i in range(6) for j in range(i)]
        cosines = {
            (i, j): float(torch.cosine_similarity(states[i], states[j], dim=0))
            for i, j in pairs
        }
        same = [c for (i, j), c in cosines.items() if labels[i] == labels[j]]
        other = [c for (i, j), c in cosines.items() if labels[i] != labels[j]]
        assert (len(same), len(other)) == (4, 11)
        assert row["same"] == pytest.approx(np.mean(same), abs=1e-6)
        assert row["other"] == pytest.approx(np.mean(other), abs=1e-6)
        assert row["other_size"] == pytest.approx(np.abs(other).mean(), abs=1e-6)


def test_each_replica_has_its_own_world() -> None:
    """The worlds assign labels differently, so a shared world would give other means."""
    worlds = [Labels(labels=3).build(seed) for seed in (1, 2)]
    size = len(worlds[0].vocabulary)
    config = GPTConfig(layers=2, width=16)
    model = config.build(vocabulary=size, seeds=[5, 6])
    before = [p.detach().clone() for p in model.parameters()]
    table = label_cosines(model, worlds)
    assert all(
        torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)
    )
    assert table["layer"].unique(maintain_order=True).to_list() == list(
        model.layer_names
    )
    for replica, seed in enumerate((5, 6)):
        alone = label_cosines(
            config.build(vocabulary=size, seeds=[seed]), worlds[replica]
        )
        mine = table.filter(replica=replica)
        for column in ("same", "other", "other_size"):
            assert mine[column].to_list() == pytest.approx(
                alone[column].to_list(), abs=1e-6
            )
    shared = label_cosines(model, worlds[0]).filter(replica=1)
    assert shared["same"][-1] != pytest.approx(
        table.filter(replica=1)["same"][-1], abs=1e-3
    )


def test_what_has_no_pairs_is_refused() -> None:
    hops = TwoHop(n=3).build()
    model = GPTConfig(layers=1, width=16).build(
        vocabulary=len(hops.vocabulary), seeds=[0]
    )
    with pytest.raises(
        DataError, match=r"'category'; this world has the roles first_hop, second_hop"
    ):
        label_cosines(model, hops)
    lone = told(0, 1, 2)
    deep = DeepLinearConfig(width=8, layers=1).build(vocabulary=6, seeds=[0, 1])
    with pytest.raises(DataError, match="that several inputs share, got none"):
        label_cosines(deep, lone)
    with pytest.raises(DataError, match="that several inputs share, got none"):
        label_cosines(deep, [told(0, 0, 1), lone])


def test_what_is_predicted_similarity_by_depth() -> None:
    table = predicted_similarity_by_depth(3, 60, 2, 1.5, 7)
    assert table.schema == {"depth": pl.Int64, "foretold": pl.Float64}
    assert table["depth"].to_list() == [1, 2, 3]
    expected = depth_cosines(3, inputs=60, per_label=2, rate=1.5, steps=7)
    assert table["foretold"].to_list() == expected.tolist()
    with pytest.raises(ConfigError, match="per_label must be finite and > 0"):
        predicted_similarity_by_depth(3, 60, 0, 1.5, 7)
