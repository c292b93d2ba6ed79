"""Edits of models that know their hops: what they change is counted on the edited model."""

from __future__ import annotations

import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal

from inweights.errors import ConfigError, DataError
from inweights.models import GPT, EmbMLPConfig, GPTConfig
from inweights.probes import accuracy, edits
from inweights.training import learners, train
from inweights.worlds import RandomFacts, TwoHop, World

SMALL = GPTConfig(layers=2, width=32, tied=False)
WORLDS = [TwoHop(n=8, maps="permutation").build(seed) for seed in (0, 1)]


def taught(worlds: list[World], seeds: list[int]) -> GPT:
    model = SMALL.build(vocabulary=len(worlds[0].vocabulary), seeds=seeds)
    train(model, worlds, learners.two_hop(32, steps=150), seeds=seeds)
    return model


@pytest.fixture(scope="module")
def model() -> GPT:
    made = taught(WORLDS, [0, 1])
    known = accuracy(made, WORLDS).filter(part="facts")
    assert known["accuracy"].min() == 1.0
    return made


@pytest.mark.parametrize("role", ["first_hop", "second_hop"])
def test_a_rank_one_edit_holds_and_leaves_other_hops_alone(model: GPT, role: str) -> None:
    before = [p.detach().clone() for p in model.parameters()]
    found = edits(model, WORLDS, role=role, most=4)  # type: ignore[arg-type]
    assert found["holds"].to_list() == [1.0, 1.0]
    assert found["facts"].min() >= 0.9  # type: ignore[operator]
    assert all(torch.equal(p, q) for p, q in zip(before, model.parameters(), strict=True))


def test_what_it_reaches_follows_the_shared_keys(model: GPT) -> None:
    """Identities share the second hop's key with compositions; hops alone do not."""
    with_identities = edits(model, WORLDS, most=4)
    bare = [TwoHop(n=8, maps="permutation", identity=False).build(seed) for seed in (0, 1)]
    without = edits(taught(bare, [0, 1]), bare, most=4)
    assert with_identities["overlap"].min() > without["overlap"].max() + 0.2  # type: ignore[operator]
    assert with_identities["reached"].min() > without["reached"].max()  # type: ignore[operator]
    assert with_identities["apart"].abs().max() < 0.3  # type: ignore[operator]


def test_a_replica_alone_is_edited_as_among_others(model: GPT) -> None:
    alone = taught(WORLDS[1:], [1])
    for method in ("rank-one", "training"):
        together = edits(model, WORLDS, method=method, most=2)
        own = edits(alone, WORLDS[1], method=method, most=2).drop("replica")
        assert_frame_equal(together.filter(replica=1).drop("replica"), own, abs_tol=1e-6)


def test_trained_two_hop_facts_count_as_what_follows() -> None:
    world = TwoHop(n=8, trained=0.5).build()
    model = SMALL.build(vocabulary=len(world.vocabulary), seeds=[0])
    table = edits(model, world, most=8)
    assert table.select(pl.all().is_not_nan().all()).row(0) == (True,) * len(table.columns)


def test_what_cannot_be_edited_is_refused() -> None:
    world = TwoHop(n=4).build()
    size = len(world.vocabulary)
    with pytest.raises(ConfigError, match="requires a GPT with a residual stream and one loop"):
        edits(EmbMLPConfig().build(vocabulary=size, seeds=[0]), world)
    looped = GPTConfig(layers=1, loops=2, width=8).build(vocabulary=size, seeds=[0])
    with pytest.raises(ConfigError, match="requires a GPT with a residual stream and one loop"):
        edits(looped, world)
    model = GPTConfig(layers=1, width=8).build(vocabulary=size, seeds=[0])
    with pytest.raises(ConfigError, match="unknown role 'third_hop'"):
        edits(model, world, role="third_hop")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="unknown method 'rome'"):
        edits(model, world, method="rome")  # type: ignore[arg-type]
    facts = RandomFacts().build()
    model = GPTConfig(layers=1, width=8).build(vocabulary=len(facts.vocabulary), seeds=[0])
    with pytest.raises(DataError, match="requires a world with first and second hops"):
        edits(model, facts)
