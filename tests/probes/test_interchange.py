"""Interchange interventions on a model with known states and on every architecture."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal
from tests.probes.test_inside import SMALL, config_of
from torch import Tensor
from torch.nn import functional as F

from inweights.errors import ConfigError, DataError
from inweights.models import GPTConfig, Init
from inweights.models.base import Model
from inweights.models.packing import Packed
from inweights.probes import carries
from inweights.worlds import TwoHop, World

OF_INTERCHANGES = (carries,)
SHAPE: dict[str, int] = {
    "n": 6,
    "complexity": 2,
    "first_relations": 1,
    "second_relations": 2,
}
WORLDS = [TwoHop(**SHAPE, maps="permutation").build(seed) for seed in (1, 2)]
OUTCOMES = ("bridge", "relation", "answer", "unchanged", "other")


class Clockwork(Model):
    """A model that finds the bridge at the second position and the answer at the third.

    States are one-hot: ``tokens`` holds each position's token, ``bridge`` the bridge at
    the second one, and ``answer`` the answer at the third.
    """

    def __init__(self, world: World, *, composes: bool = True) -> None:
        super().__init__(1, len(world.vocabulary))
        hops = {f.prompt: f.answer[0] for f in world.facts if len(f.prompt) == 2}
        size = self.vocabulary
        table = torch.zeros(size, size, dtype=torch.long)
        for (entity, relation), answer in hops.items():
            table[entity, relation] = answer
        self.table, self.composes = table, composes

    @property
    def layer_names(self) -> tuple[str, ...]:
        return ("tokens", "bridge", "answer")

    def states(self, batch: Packed) -> dict[str, Tensor]:
        (shape,) = batch.shapes
        tokens = self.hook("tokens", self._one_hot(batch.tokens.reshape(1, -1)))
        seen = tokens.argmax(-1).unflatten(1, shape)
        found = seen.clone()
        found[..., 1] = self.table[seen[..., 0], seen[..., 1]]
        bridge = self.hook("bridge", self._one_hot(found.flatten(1)))
        seen = bridge.argmax(-1).unflatten(1, shape)
        last = seen.clone()
        last[..., 2] = self.table[seen[..., 1], seen[..., 2]] if self.composes else 0
        return {
            "tokens": tokens,
            "bridge": bridge,
            "answer": self.hook("answer", self._one_hot(last.flatten(1))),
        }

    def unembed(self, state: Tensor) -> Tensor:
        return state

    def _one_hot(self, ids: Tensor) -> Tensor:
        return F.one_hot(ids, self.vocabulary).float()


def test_the_bridge_is_found_where_it_is() -> None:
    table = carries(Clockwork(WORLDS[0]), WORLDS[0])
    shares = {}
    for row in table.iter_rows(named=True):
        shares[row["place"], row["position"]] = [row[name] for name in OUTCOMES]
    bridge, relation, answer, unchanged = torch.eye(5).tolist()[:4]
    assert (
        shares["tokens", 0] == bridge
    )  # a different subject and the same last relation
    assert shares["tokens", 1] == unchanged  # there is a single first relation
    assert shares["tokens", 2] == relation
    assert shares["bridge", 0] == unchanged
    assert shares["bridge", 1] == bridge
    assert shares["bridge", 2] == relation
    assert shares["answer", 0] == shares["answer", 1] == unchanged
    assert shares["answer", 2] == answer
    assert table["clean"].unique().to_list() == [1.0]
    assert table["chance"].unique().to_list() == [1 / 6]


def test_places_are_replaced_together() -> None:
    together = carries(
        Clockwork(WORLDS[0]), WORLDS[0], places=[["bridge", "answer"], "bridge"]
    )
    assert together["place"].unique(maintain_order=True).to_list() == [
        "bridge + answer",
        "bridge",
    ]
    first = together.filter(place="bridge + answer").select(OUTCOMES).rows()
    assert first == [(0, 0, 0, 1, 0), (1, 0, 0, 0, 0), (0, 0, 1, 0, 0)]


def test_heads_and_mlps_are_places() -> None:
    """All heads together equal the attention output; a part differs from its layer."""
    world = WORLDS[0]
    model = GPTConfig(layers=2, width=16, heads=2, init=Init(std=0.4)).build(
        vocabulary=len(world.vocabulary), seeds=[0, 1]
    )
    heads = ["block.1.head.0", "block.1.head.1"]
    table = carries(
        model, world, places=[heads, "block.1.heads", "block.1.attention", *heads]
    )
    shares = {name: part.select(OUTCOMES) for (name,), part in table.group_by("place")}
    together = shares["block.1.head.0 + block.1.head.1"]
    assert_frame_equal(together, shares["block.1.heads"])
    assert_frame_equal(together, shares["block.1.attention"])
    with pytest.raises(ConfigError, match=r"unknown head of block\.1 '2'"):
        carries(model, world, places=["block.1.head.2"])
    with pytest.raises(ConfigError, match=r"did you mean 'block\.1\.mlp'"):
        carries(model, world, places=["block.1.mpl"])


def test_a_part_that_is_replaced_changes_the_answer() -> None:
    model = GPTConfig(layers=2, width=16).build(vocabulary=9, seeds=[0])
    tokens = torch.tensor([[1, 2, 3]])
    plain = model(tokens)
    for part in model.part_names:
        with model.hooks({part: torch.zeros_like}):
            assert not torch.equal(model(tokens), plain), part


def test_a_model_that_does_not_compose_carries_nothing() -> None:
    table = carries(Clockwork(WORLDS[0], composes=False), WORLDS[0])
    assert table.select(OUTCOMES[:4]).to_numpy().max() == 0.0
    assert table["clean"].max() == 0.0


@pytest.mark.parametrize("name", SMALL)
def test_contract(name: str) -> None:
    """Shares sum to 1, the last state carries no bridge, and replicas are independent."""
    config: Any = config_of(name)

    def build(*seeds: int) -> Any:
        tokens, outputs = len(WORLDS[0].vocabulary), WORLDS[0].outputs.tolist()
        return config.build(vocabulary=tokens, seeds=seeds, candidates=outputs)

    table = carries(build(3, 4), WORLDS)
    assert table.select(
        pl.sum_horizontal(OUTCOMES)
    ).to_series().to_list() == pytest.approx([1.0] * len(table))
    deepest = table.filter(depth=table["depth"].max())
    assert deepest["bridge"].to_list() == [0.0] * len(deepest)
    assert_frame_equal(
        table.filter(replica=1).drop("replica"),
        carries(build(4), WORLDS[1]).drop("replica"),
    )


def test_what_cannot_be_evaluated_is_refused() -> None:
    world = TwoHop(n=4).build()
    with pytest.raises(DataError, match="at least two last relations, such as TwoHop"):
        carries(Clockwork(world), world)
    with pytest.raises(ConfigError, match=r"unknown layer 'brigde'.*bridge"):
        carries(Clockwork(WORLDS[0]), WORLDS[0], places=["brigde"])
