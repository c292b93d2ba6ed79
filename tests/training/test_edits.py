"""Edits as part of a curriculum: which facts, when they are measured, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.training.curricula import GPT, WORLD, build, same_bits

import inweights as iw
from inweights.config import identity
from inweights.errors import ConfigError, DataError
from inweights.experiments import Measure
from inweights.models import EmbMLPConfig, GPTConfig, MambaConfig, Model
from inweights.probes import after_edits
from inweights.training import (
    Curriculum,
    Edit,
    Observer,
    Optimizer,
    Phase,
    learners,
    train,
)
from inweights.training.steps.editing import Edited
from inweights.worlds import Analogy, Graph, RandomFacts, Reversal, TwoHop, World

HOPS = [TwoHop(n=8, maps="permutation").build(seed) for seed in (0, 1, 2)]
KNOWN = learners.two_hop(32, steps=120).phases[0]
#: Every method, with settings that change an answer in few steps.
METHODS = {
    "rank-one": Edit(share=0.25),
    "rank-one, first block": Edit(
        role="first_hop", layer=0, count=2, steps=60, rate=0.03
    ),
    "training": Edit(method="training", count=2),
    "embedding": Edit(
        method="embedding", role="first_hop", count=2, steps=200, rate=0.01
    ),
}

SOME_SLOW = [
    pytest.param(edit, id=name, marks=[pytest.mark.slow] * (name != "rank-one"))
    for name, edit in METHODS.items()
]


def edited(edit: Edit, **after: Any) -> Curriculum:
    return Curriculum(
        phases=(KNOWN, Phase(name="on", **{"steps": 0, "edit": edit, **after}))
    )


def learnt(
    plan: Curriculum, worlds: list[World], seeds: list[int], **how: Any
) -> Model:
    config = GPTConfig(layers=2, width=32, tied=False)
    model = config.build(vocabulary=len(worlds[0].vocabulary), seeds=seeds)
    train(model, worlds, plan, seeds=seeds, **how)
    return model


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("edit", SOME_SLOW)
def test_an_edit_has_the_same_bits_alone_and_in_company(edit: Edit) -> None:
    plan = edited(edit, steps=3)
    together = learnt(plan, HOPS, [0, 1, 2])
    for row in (0, 2):
        alone = learnt(plan, [HOPS[row]], [row])
        for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
            assert torch.equal(joint[row], lone[0])
        one = after_edits(together, HOPS, edit=edit).filter(replica=row).drop("replica")
        assert_frame_equal(
            one, after_edits(alone, HOPS[row], edit=edit).drop("replica")
        )


@pytest.mark.parametrize("edit", SOME_SLOW)
def test_new_answers_hold_and_are_unlearnt_by_the_old_facts(edit: Edit) -> None:
    """The same consequences follow as for the probe, which edits a copy of the model."""
    model = learnt(Curriculum(phases=(KNOWN,)), HOPS[:1], [0])
    told = after_edits(model, HOPS[0], edit=edit)
    assert told.select("holds", "restored").row(0) == (0.0, 1.0)
    before = [values.detach().clone() for values in model.parameters()]
    train(model, HOPS[0], Curriculum(phases=(Phase(steps=0, edit=edit),)), seeds=[0])
    moved = [
        not torch.equal(p, q) for p, q in zip(before, model.parameters(), strict=True)
    ]
    assert sum(moved) == (len(moved) if edit.method == "training" else 1)
    now = after_edits(model, HOPS[0], edit=edit)
    assert now.select("holds", "restored").row(0) == (1.0, 0.0)
    assert now["edited"].equals(told["edited"])
    back = Curriculum(phases=(Phase(steps=60, optimizer=Optimizer(rate=3e-3)),))
    train(model, HOPS[0], back, seeds=[0])
    assert after_edits(model, HOPS[0], edit=edit).select("holds", "restored").row(
        0
    ) == (0.0, 1.0)


@given(
    seed=st.integers(0, 2**63 - 1),
    count=st.integers(1, 7),
    role=st.sampled_from(["first_hop", "second_hop"]),
)
def test_more_edits_include_fewer_and_each_prompt_is_edited_once(
    seed: int, count: int, role: Any
) -> None:
    world = TwoHop(n=8).build(seed)
    model = EmbMLPConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=[0])
    few, more = (
        after_edits(model, world, edit=Edit(role=role, method="training", count=n))[
            "edited"
        ].item()
        for n in (count, count + 1)
    )
    assert few.to_list() == more.to_list()[:count]
    stated = {world.vocabulary.text([*f.prompt, *f.answer]) for f in world.facts}
    assert not stated & {*more}
    assert len({fact.rsplit(" ", 1)[0] for fact in more}) == count + 1


@pytest.mark.slow
def test_a_node_with_several_edges_is_edited_once() -> None:
    grid = Graph(shape="grid", rows=4, columns=5).build()
    model = GPTConfig(layers=1, width=32).build(vocabulary=20, seeds=[0])
    train(model, grid, learners.edges(), seeds=[0])
    nodes = {fact.prompt[0] for fact in grid.facts if fact.role == "edge"}
    assert len(nodes) < len(grid.facts.with_role("edge"))
    edit = Edit(role="edge", count=len(nodes))
    changed = after_edits(model, grid, edit=edit)["edited"].item().to_list()
    assert len({fact.split()[0] for fact in changed}) == len(nodes)
    train(model, grid, Curriculum(phases=(Phase(steps=0, edit=edit),)), seeds=[0])
    assert after_edits(model, grid, edit=edit)["holds"].item() >= 0.5
    with pytest.raises(DataError, match=f"from 1 to {len(nodes)} .*'edge'.*, got 31"):
        after_edits(model, grid, edit=Edit(role="edge", share=1.0))


def test_the_root_seed_of_a_world_decides_where_all_worlds_state_the_same() -> None:
    worlds = [TwoHop(n=8, maps="shift").build(seed) for seed in (3, 4)]
    assert worlds[0].facts.equals(worlds[1].facts)
    model = GPT.build(vocabulary=len(worlds[0].vocabulary), seeds=2)
    each = after_edits(model, worlds, edit=Edit(count=3))["edited"].to_list()
    assert each[0] != each[1]
    alone = GPT.build(vocabulary=len(worlds[1].vocabulary), seeds=[1])
    assert (
        after_edits(alone, worlds[1], edit=Edit(count=3))["edited"].to_list()
        == each[1:]
    )
    shared = after_edits(model, worlds[0], edit=Edit(count=3))["edited"].to_list()
    assert shared == [each[0], each[0]]


@pytest.mark.slow
def test_what_is_due_is_measured_before_and_after_the_edit() -> None:
    edit = METHODS["rank-one"]
    look = Observer(
        "after", lambda model: after_edits(model, HOPS[0], edit=edit), every=40
    )
    for more, steps in (
        ({"steps": 50}, [0, 40, 80, 120, 120, 160, 170]),
        ({}, [0, 40, 80, 120, 120]),
    ):
        model = GPTConfig(layers=2, width=32, tied=False).build(
            vocabulary=len(HOPS[0].vocabulary), seeds=[0]
        )
        result = train(
            model, HOPS[0], edited(edit, **more), seeds=[0], observers=[look]
        )
        table = result.observed["after"]
        assert table["step"].to_list() == steps
        assert table.filter(step=120)["holds"].to_list() == [0.0, 1.0]


@pytest.mark.slow
def test_a_sweep_stores_what_became_of_the_edits(tmp_path: Any) -> None:
    """An edit may also be a table, as in files."""
    edit, world = Edit(count=2), TwoHop(n=8, maps="permutation")
    look = Measure(
        name="after", probe=after_edits, options={"edit": {"count": 2}}, every=10
    )
    found = iw.sweep(
        world,
        GPTConfig(layers=2, width=32, tied=False),
        edited(edit, steps=10),
        over={"learner.phases.1.steps": [10, 20]},
        measures=[look],
        seeds=2,
        runs=tmp_path,
        progress=False,
    )
    now = found.filter(pl.col("step") == 120)
    assert now["holds"].to_list() == [0.0, 1.0] * 4
    assert all(len(facts) == 2 for facts in now["edited"].to_list())


def test_a_replica_that_diverged_is_left_as_it_is() -> None:
    model = build([0, 1])
    with torch.no_grad():
        next(model.parameters())[0] = torch.nan
    plan = Curriculum(phases=(Phase(steps=0, edit=Edit()),))
    train(model, WORLD, plan, seeds=[0, 1])
    alone = build([1])
    train(alone, WORLD, plan, seeds=[1])
    assert same_bits(model.select([1]), alone)


def test_a_phase_without_an_edit_is_the_same_run_as_ever() -> None:
    assert "edit" not in identity(Phase())
    assert identity(Phase(edit=Edit()))["edit"]["method"] == "rank-one"
    assert Curriculum(phases=(Phase(edit=Edit()),)).shape.phases[0].edit == Edit()


@pytest.mark.parametrize(
    ("world", "role"),
    [
        (Analogy(n=6, categories=3).build(), "attribution"),
        (Analogy(n=6, categories=3).build(), "similarity"),
        (Reversal(n=6, told=2).build(), "edge"),
        (TwoHop(n=6, trained=0.5).build(), "first_hop"),
    ],
    ids=["attribution", "similarity", "edge", "first hop"],
)
def test_what_was_right_before_is_told_by_the_world(world: World, role: Any) -> None:
    """For a model with the world's own answers, all consequences are reported as unchanged."""
    asked = Edited(
        MambaConfig(layers=1, width=8).build(
            vocabulary=len(world.vocabulary), seeds=[0]
        ),
        world,
        Edit(role=role, method="training"),
    ).parts[0]
    said = {
        tuple(s.prompt): s.answer[0]
        for part in (world.queries, world.facts)
        for s in part
    }
    assert asked.truth.tolist() == [said[tuple(p)] for p in asked.queries.tolist()]
    assert asked.old.tolist() == [said[tuple(p)] for p in asked.facts.tolist()]
    assert (asked.old[asked.donors] != asked.old).all()


def test_edits_that_cannot_be_made_are_refused_before_anything_is_trained() -> None:
    with pytest.raises(
        ConfigError, match=r"unknown value of Edit\.role 'second_hops'; did you"
    ):
        Edit(role="second_hops")  # type: ignore[arg-type]
    with pytest.raises(
        ConfigError, match=r"Edit\.method 'rankone'; did you mean 'rank-one'"
    ):
        Edit(method="rankone")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"count = 2 and share = 0\.5"):
        Edit(count=2, share=0.5)
    for wrong in ({"count": 0}, {"share": 1.5}, {"steps": 0}, {"rate": 0.0}):
        with pytest.raises(ConfigError, match=rf"edit\.{next(iter(wrong))} must be"):
            Edit(**wrong)
    size, steps = len(HOPS[0].vocabulary), np.array(0)

    def refused(match: str, edit: Edit, model: Model, world: World = HOPS[0]) -> None:
        with pytest.raises((ConfigError, DataError), match=match):
            train(
                model,
                world,
                edited(edit, steps=1),
                seeds=1,
                progress=lambda _: steps.fill(1),
            )

    gpt = GPTConfig(layers=1, width=8).build(vocabulary=size, seeds=1)
    refused(
        r"from 1 to 8 .*'second_hop'.*, got 0",
        Edit(share=0.01),
        gpt,
    )
    refused(r"from 1 to 8 .*, got 9", Edit(count=9), gpt)
    refused("layer must be at most 0, got 1", Edit(layer=1), gpt)
    large = TwoHop(n=40).build()
    wide = GPTConfig(layers=1, width=8).build(vocabulary=len(large.vocabulary), seeds=1)
    refused(
        "facts of a rank-one edit must be at most 32, got 33",
        Edit(count=33),
        wide,
        large,
    )
    mlp = EmbMLPConfig(width=8).build(vocabulary=size, seeds=1)
    refused("requires a GPT with gpt.residual = true and gpt.loops = 1", Edit(), mlp)
    facts = RandomFacts().build()
    other = GPTConfig(layers=1, width=8).build(
        vocabulary=len(facts.vocabulary), seeds=1
    )
    refused("has no facts of the role 'second_hop'", Edit(), other, facts)
    assert not steps.item()
