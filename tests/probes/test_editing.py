"""Edits of models that know their hops; changes are counted on the edited model."""

from __future__ import annotations

import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal

from inweights.errors import ConfigError, DataError
from inweights.models import GPT, EmbMLPConfig, GPTConfig
from inweights.probes import accuracy, edits
from inweights.training import learners, train
from inweights.training.steps.consequences import Consequences
from inweights.worlds import Analogy, Graph, RandomFacts, Reversal, TwoHop, World

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
def test_a_rank_one_edit_holds_and_leaves_other_hops_alone(
    model: GPT, role: str
) -> None:
    before = [p.detach().clone() for p in model.parameters()]
    found = edits(model, WORLDS, role=role, most=4)  # type: ignore[arg-type]
    assert found["holds"].to_list() == [1.0, 1.0]
    assert found["facts"].min() >= 0.9  # type: ignore[operator]
    assert all(
        torch.equal(p, q) for p, q in zip(before, model.parameters(), strict=True)
    )


@pytest.mark.slow
def test_what_it_reaches_follows_the_shared_keys(model: GPT) -> None:
    """Identities make compositions depend on the second hop's key; hops do not."""
    with_identities = edits(model, WORLDS, most=4)
    bare = [
        TwoHop(n=8, maps="permutation", identity=False).build(seed) for seed in (0, 1)
    ]
    without = edits(taught(bare, [0, 1]), bare, most=4)
    assert with_identities["overlap"].min() > without["overlap"].max() + 0.2  # type: ignore[operator]
    assert with_identities["reached"].min() > without["reached"].max()  # type: ignore[operator]
    assert with_identities["apart"].abs().max() < 0.3  # type: ignore[operator]


@pytest.mark.slow
def test_a_replica_alone_is_edited_as_among_others(model: GPT) -> None:
    alone = taught(WORLDS[1:], [1])
    for method in ("rank-one", "training"):
        together = edits(model, WORLDS, method=method, most=2)
        own = edits(alone, WORLDS[1], method=method, most=2).drop("replica")
        assert_frame_equal(
            together.filter(replica=1).drop("replica"), own, abs_tol=1e-6
        )


def test_trained_two_hop_facts_count_as_what_follows() -> None:
    world = TwoHop(n=8, trained=0.5).build()
    model = SMALL.build(vocabulary=len(world.vocabulary), seeds=[0])
    table = edits(model, world, most=8)
    assert table.select(pl.all().is_not_nan().all()).row(0) == (True,) * len(
        table.columns
    )


def test_what_cannot_be_edited_is_refused() -> None:
    world = TwoHop(n=4).build()
    size = len(world.vocabulary)
    with pytest.raises(
        ConfigError,
        match=r"requires a GPT with gpt\.residual = true and gpt\.loops = 1",
    ):
        edits(EmbMLPConfig().build(vocabulary=size, seeds=[0]), world)
    looped = GPTConfig(layers=1, loops=2, width=8).build(vocabulary=size, seeds=[0])
    with pytest.raises(
        ConfigError,
        match=r"requires a GPT with gpt\.residual = true and gpt\.loops = 1",
    ):
        edits(looped, world)
    model = GPTConfig(layers=1, width=8).build(vocabulary=size, seeds=[0])
    with pytest.raises(ConfigError, match=r"unknown value of Edit\.role 'third_hop'"):
        edits(model, world, role="third_hop")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"unknown value of Edit\.method 'rome'"):
        edits(model, world, method="rome")  # type: ignore[arg-type]
    facts = RandomFacts().build()
    model = GPTConfig(layers=1, width=8).build(
        vocabulary=len(facts.vocabulary), seeds=[0]
    )
    with pytest.raises(DataError, match="requires a world with first and second hops"):
        edits(model, facts)
    model = GPTConfig(layers=1, width=8).build(vocabulary=size, seeds=[0])
    with pytest.raises(ConfigError, match="at_once"):
        edits(model, world, at_once=0)
    with pytest.raises(ConfigError, match="layer"):
        edits(model, world, layer=1)
    ring = Graph(shape="cycle", n=8, edges="forward").build()
    model = GPTConfig(layers=1, width=8).build(
        vocabulary=len(ring.vocabulary), seeds=[0]
    )
    with pytest.raises(DataError, match="one of the roles reverse_edge"):
        edits(model, ring, role="edge")


@pytest.mark.slow
def test_only_the_subjects_embedding_moves_and_carries_on(model: GPT) -> None:
    first = edits(
        model,
        WORLDS,
        role="first_hop",
        method="embedding",
        most=4,
        steps=200,
        rate=0.01,
    )
    assert first.select("holds", "facts", "others").row(0) == (1.0,) * 3
    assert first["reached"].min() >= 0.5  # type: ignore[operator]
    second = edits(model, WORLDS, method="embedding", most=4, steps=200, rate=0.01)
    assert second.select("holds", "reached", "unmoved", "facts").row(0) == (
        1.0,
        0.0,
        1.0,
        1.0,
    )


def test_several_facts_are_edited_at_once_as_well_as_one(model: GPT) -> None:
    one, many = edits(model, WORLDS, most=4), edits(model, WORLDS, most=4, at_once=4)
    assert many["holds"].to_list() == [1.0, 1.0]
    assert_frame_equal(one.select("reached"), many.select("reached"), abs_tol=0.3)
    assert_frame_equal(
        edits(model, WORLDS, most=1), edits(model, WORLDS, most=1, at_once=4)
    )


@pytest.mark.slow
def test_an_edit_of_the_first_block_is_in_every_question_through_the_hop(
    model: GPT,
) -> None:
    found = edits(
        model, WORLDS, role="first_hop", layer=0, most=4, steps=200, rate=0.03
    )
    assert found["holds"].to_list() == [1.0, 1.0]
    assert found["overlap"].min() >= 1.0 - 1e-5  # type: ignore[operator]
    late = edits(model, WORLDS, role="first_hop", most=4)
    assert (found["unmoved"] < late["unmoved"]).all()


def test_what_follows_is_told_by_the_world() -> None:
    """Consequences are a class's attribute, a new class by similarity, or a reversed edge."""
    world = Analogy(n=6, categories=3).build()
    words = world.vocabulary
    kin = Consequences.of(world, "attribution")
    assert words.text(kin.facts[0]) == "a1 r2"
    assert [words.text(p) for p in kin.queries[kin.through[0]]] == [
        "b1 r2",
        "b4 r2",
        "a4 r2",
    ]
    assert words.text([kin.old[kin.donors[0]]]) == "d2"
    assert kin.apart[0].tolist() == [False, True, True, False, True, True]
    moved = Consequences.of(world, "similarity")
    assert [words.text(p) for p in moved.queries[moved.through[0]]] == ["b1 r2"]
    assert words.text(moved.expected[0][moved.through[0]]) == "d2"
    ring = Graph(shape="cycle", n=8, shuffled=False).build()
    edge = Consequences.of(ring, "edge")
    assert edge.facts[0].tolist() == [0]
    # Neither a neighbour of node 0 nor a neighbour of a neighbour.
    assert edge.old[edge.donors[0]] == 3
    assert edge.queries[edge.through[0]].tolist() == [[3]]
    assert edge.expected[0][edge.through[0]].tolist() == [0]
    assert set(edge.rights) == {2}
    pairs = Reversal(n=6, told=2).build()
    turned = Consequences.of(pairs, "edge")
    assert turned.through.any(0).all()
    assert (
        turned.queries[:, 0] == turned.old[turned.donors[turned.through.argmax(0)]]
    ).all()


@pytest.mark.slow
def test_a_tied_head_gives_a_moved_node_in_return() -> None:
    ring = Graph(shape="cycle", n=12).build()
    reached = {}
    for tied in (True, False):
        model = GPTConfig(layers=1, width=32, tied=tied).build(vocabulary=12, seeds=[0])
        train(model, ring, learners.edges(), seeds=[0])
        table = edits(
            model, ring, role="edge", method="embedding", steps=200, rate=0.01
        )
        assert table["holds"].item() == 1.0
        reached[tied] = table["reached"].item()
    assert reached[True] >= reached[False] + 0.2
