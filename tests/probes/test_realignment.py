"""Realignment on a model whose bridge is decodable but rotated from its embedding."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from polars.testing import assert_frame_equal
from torch import Tensor

from inweights.errors import ConfigError, DataError
from inweights.models import GPTConfig
from inweights.models.base import Model
from inweights.models.packing import Packed
from inweights.probes import alignment, realignment
from inweights.probes.interventions.realignment import _ridge
from inweights.worlds import Graph, TwoHop, World

WORLD = TwoHop(n=12).build()


class Turned(Model):
    """A model whose state after ``(e1, r1)`` is the bridge's rotated vector.

    Later layers expect the vector without rotation. The lens reads the rotated vector, so
    every bridge is decodable where later layers cannot use it.
    """

    def __init__(self, world: World, vectors: Tensor, turn: Tensor) -> None:
        super().__init__(1, len(world.vocabulary))
        self.vectors, self.turn = vectors, turn
        facts = {f.prompt: f.answer[0] for f in world.facts if len(f.prompt) == 2}
        self.facts = facts
        self.bridge_ids = torch.as_tensor(world.vocabulary["bridge"])
        self.second = int(world.vocabulary["second_relation"][0])

    @property
    def layer_names(self) -> tuple[str, ...]:
        return ("embedding", "hop", "final")

    def states(self, batch: Packed) -> dict[str, Tensor]:
        (rows, length), tokens = (
            batch.shapes[0],
            batch.tokens.reshape(-1, batch.shapes[0][1]),
        )
        embedded = self.hook(
            "embedding", self.vectors[tokens].reshape(1, rows * length, -1)
        )
        held = embedded.unflatten(1, (rows, length)).clone()
        if length > 1:
            bridge = [self.facts.get(tuple(row[:2]), row[1]) for row in tokens.tolist()]
            held[:, :, 1] = self.vectors[bridge] @ self.turn
        hop = self.hook("hop", held.flatten(1, 2))
        held = hop.unflatten(1, (rows, length))
        final = held.clone()
        if length > 2:
            near = (held[0, :, 1] @ self.vectors[self.bridge_ids].T).argmax(-1)
            answers = [self.facts[int(self.bridge_ids[n]), self.second] for n in near]
            final[0, :, 2] = self.vectors[answers] @ self.turn
        return {
            "embedding": embedded,
            "hop": hop,
            "final": self.hook("final", final.flatten(1, 2)),
        }

    def unembed(self, state: Tensor) -> Tensor:
        return state @ (self.vectors @ self.turn).T


def table(width: int, **options: Any) -> dict[str, dict[str, Any]]:
    tokens = len(WORLD.vocabulary)
    drawn = torch.randn(tokens, width, generator=torch.Generator().manual_seed(0))
    vectors = (
        torch.eye(tokens)
        if width == tokens
        else drawn / drawn.norm(dim=1, keepdim=True)
    )
    turn = torch.roll(torch.eye(width), 1, 1)
    turn[:, 0] *= -1
    found = realignment(Turned(WORLD, vectors, turn), WORLD, **options)
    return {row["method"]: row for row in found.to_dicts()}


def test_what_is_decodable_and_misaligned_is_cured_without_training() -> None:
    rows = table(len(WORLD.vocabulary))
    assert rows["none"]["decodable"] == 1.0
    assert abs(rows["none"]["cosine"]) < 0.5
    assert rows["none"]["accuracy"] < 0.2
    assert rows["decoded"]["accuracy"] == rows["true"]["accuracy"] == 1.0
    # One-hot vectors are orthogonal, so a map cannot predict those on which it was not
    # fitted.
    assert rows["ridge"]["accuracy"] < 0.2


def test_the_map_is_the_ridge_regression_of_scikit_learn() -> None:
    from sklearn.linear_model import Ridge  # its import takes a second

    draw = np.random.default_rng(0)
    inputs, targets = draw.normal(1.0, 1.0, (20, 4)), draw.normal(size=(20, 4))
    peer = Ridge(alpha=0.3 * 20 * (inputs**2).mean()).fit(inputs, targets)
    found = _ridge(torch.from_numpy(inputs), torch.from_numpy(targets), 0.3).numpy()
    np.testing.assert_allclose(found[:-1], peer.coef_.T, rtol=1e-9)
    np.testing.assert_allclose(found[-1], peer.intercept_, rtol=1e-9)


def test_a_linear_map_serves_bridges_that_it_was_not_fitted_on() -> None:
    rows = table(4, methods=["none", "ridge"], ridge=1e-6)
    assert list(rows) == ["none", "ridge"]
    assert rows["none"]["accuracy"] < 0.5
    assert rows["ridge"]["accuracy"] > 0.9


def test_replicas_and_roles_have_rows_of_their_own() -> None:
    config = {
        "n": 6,
        "first_relations": 2,
        "second_relations": 3,
        "maps": "sampled",
        "bridges": 3,
    }
    worlds = [TwoHop(**config, trained=0.5, unseen=0.3).build(seed) for seed in (0, 1)]  # type: ignore[arg-type]
    size = len(worlds[0].vocabulary)
    model = GPTConfig(layers=2, width=16).build(vocabulary=size, seeds=[0, 1])
    for onto in ("embedding", "layer"):
        found = realignment(model, worlds, onto=onto)
        alone = GPTConfig(layers=2, width=16).build(vocabulary=size, seeds=[1])
        own = realignment(alone, worlds[1], onto=onto).drop("replica")
        assert_frame_equal(
            found.filter(replica=1).drop("replica"),
            own,
            abs_tol=1e-5,
            check_row_order=False,
        )
    assert set(found["role"]) <= set(worlds[0].queries.role_names)


def test_what_cannot_be_realigned_is_refused() -> None:
    model = GPTConfig(layers=1, width=8).build(
        vocabulary=len(WORLD.vocabulary), seeds=[0]
    )
    with pytest.raises(
        ConfigError, match="unknown method 'rigde'; did you mean 'ridge'"
    ):
        realignment(model, WORLD, methods=["rigde"])
    with pytest.raises(ConfigError, match="unknown onto 'head'"):
        realignment(model, WORLD, onto="head")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="ridge must be at least 0, got -1"):
        realignment(model, WORLD, ridge=-1.0)
    paths = Graph(shape="path-star", paths=True).build()
    model = GPTConfig(layers=1, width=8).build(
        vocabulary=len(paths.vocabulary), seeds=[0]
    )
    with pytest.raises(DataError, match="requires a world with first hops"):
        realignment(model, paths)
    stray = replace(WORLD, facts=WORLD.facts.take(np.arange(1, len(WORLD.facts))))
    model = GPTConfig(layers=1, width=8).build(
        vocabulary=len(WORLD.vocabulary), seeds=1
    )
    for probe in (realignment, partial(alignment, places=["query"])):
        with pytest.raises(DataError, match="not the prompt of a first hop"):
            probe(model, stray)
