"""Worlds with other questions than two hops: reversals, implications, longer chains."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.world_case import WorldCase

from inweights.errors import ConfigError
from inweights.worlds import (
    Hops,
    Implication,
    RandomFacts,
    Reversal,
    Statements,
    TwoHop,
    World,
)


def told(world: World, part: Statements, role: str) -> set[tuple[str, str]]:
    name = world.vocabulary.text
    return {
        (name(part.prompt(int(i))), name(part.answer(int(i))))
        for i in part.with_role(role)
    }


class TestReversal(WorldCase):
    configs = [
        Reversal(n=5, told=2),
        Reversal(n=4, told=1, identity="first", phrased=True),
        Reversal(n=4, targeted="both"),
    ]


class TestImplication(WorldCase):
    configs = [
        Implication(groups=3, members=4, told=2),
        Implication(
            groups=3, members=5, told=2, denied=1, counter="unknown", related=False
        ),
    ]


class TestHops(WorldCase):
    configs = [
        Hops(n=4, hops=3, identity=0.5),
        Hops(n=3, hops=4),
        Hops(n=3, hops=3, relations=2, trained=0.5, longest=2),
    ]


class TestRandomFacts(WorldCase):
    configs = [
        RandomFacts(asked=4),
        RandomFacts(hops=3, popularity=0.7, told=0.75, crossing=True, pairs=2, asked=4),
    ]


def test_random_facts_are_as_uneven_as_they_say() -> None:
    """Answers occur at least once, shared answers cross, and pairs are stated twice."""
    world = RandomFacts(
        popularity=0.3, crossing=True, pairs=3, several=2, identity=False
    ).build(5)
    rows = told(world, world.facts, "triple")
    answers = Counter(answer for _, answer in rows)
    bridges = [n for name, n in answers.items() if name.startswith("b")]
    assert len(bridges) == 8
    assert max(bridges) >= 3 * min(bridges)
    first = {a for prompt, a in rows if prompt.endswith("r1")}
    second = {a for prompt, a in rows if prompt.endswith("r2")}
    assert first & second
    pairs = {(p.split()[0], a) for p, a in rows if p.endswith("with")}
    assert len(pairs) == 6
    assert pairs == {(b, a) for a, b in pairs}
    values = Counter(prompt for prompt, _ in rows)
    assert sorted(values.values())[-5:] == [1, 2, 2, 2, 2]
    step = {prompt: answer for prompt, answer in rows if values[prompt] == 1}
    asked = told(world, world.queries, "composition")
    assert max(Counter(prompt for prompt, _ in asked).values()) == 1
    for prompt, answer in asked:
        subject, one, other = prompt.split()
        if f"{subject} {one}" in step and f"{step[f'{subject} {one}']} {other}" in step:
            assert step[f"{step[f'{subject} {one}']} {other}"] == answer != subject


def test_reversals_are_told_or_asked() -> None:
    world = Reversal(n=6, told=2).build(1)
    pairs = {(p.split()[0], a) for p, a in told(world, world.facts, "edge")}
    turned = {(a, p.split()[0]) for p, a in told(world, world.facts, "turned")}
    asked = {(a, p.split()[0]) for p, a in told(world, world.queries, "reversal")}
    assert (len(turned), len(asked)) == (2, 4)
    assert turned | asked == pairs


@pytest.mark.parametrize(
    ("which", "count"), [("none", 0), ("first", 4), ("second", 4), ("both", 8)]
)
def test_identities_of_the_ends(which: Any, count: int) -> None:
    facts = Reversal(n=4, told=1, identity=which).build().facts
    assert len(facts) == 4 + 1 + count
    phrased = Reversal(n=4, told=1, identity=which, phrased=True).build().facts
    assert len(phrased.prompts) == 2 * len(phrased)


@pytest.mark.parametrize("phrased", [False, True])
@pytest.mark.parametrize("which", ["none", "first", "second", "both"])
def test_ends_are_answers_of_further_facts(which: Any, phrased: bool) -> None:
    """Each has a subject that occurs nowhere else; identities are unaffected."""
    world = Reversal(n=4, told=1, phrased=phrased, targeted=which).build(3)
    plain = Reversal(n=4, told=1, phrased=phrased).build(3)
    further = told(world, world.facts, "further") if which != "none" else set()
    groups = {"none": [], "first": ["first"], "second": ["second"]}
    names = groups.get(which, ["first", "second"])
    wanted = [token for name in names for token in world.vocabulary.groups[name]]
    assert sorted(answer for _, answer in further) == sorted(wanted)
    starts = [prompt.split()[0] for prompt, _ in further]
    assert len(set(starts)) == len(starts)
    for role in ("edge", "turned", "identity"):
        others = told(world, world.facts, role)
        assert others == told(plain, plain.facts, role)
        assert not {word for prompt, _ in others for word in prompt.split()} & set(
            starts
        )


def test_counter_examples_name_another_group_or_nobody() -> None:
    for counter in ("other", "unknown"):
        world = Implication(
            groups=3, members=5, told=2, denied=1, counter=counter
        ).build(4)
        own = dict(told(world, world.facts, "attribution"))
        denied = dict(told(world, world.facts, "counter_example"))
        shared = {p.split()[0]: a for p, a in told(world, world.facts, "similarity")}
        group = {shared[p.split()[0]]: a for p, a in own.items()}
        asked = told(world, world.queries, "implication")
        assert (len(own), len(denied), len(asked)) == (6, 3, 6)
        assert all(group[shared[p.split()[0]]] == answer for p, answer in asked)
        for prompt, answer in denied.items():
            assert answer != group[shared[prompt.split()[0]]]
            assert (answer == "unknown") == (counter == "unknown")


def test_unrelated_values_are_the_same_facts() -> None:
    one, other = (Implication(related=r).build(2) for r in (True, False))
    assert one.facts.equals(other.facts)
    assert (one.queries.role_names, other.queries.role_names) == (
        ("implication",),
        ("unstated",),
    )


def test_two_hops_are_the_two_hop_world() -> None:
    one, other = Hops(n=5, hops=2).build(), TwoHop(n=5).build()
    for part in ("facts", "queries"):
        mine, theirs = getattr(one, part), getattr(other, part)
        assert np.array_equal(
            np.diff(mine.prompt_ends), np.diff(theirs.prompt_ends)
        ) or (sorted(np.diff(mine.prompt_ends)) == sorted(np.diff(theirs.prompt_ends)))
        assert len(mine) == len(theirs)


@pytest.mark.parametrize("several", [1, 3])
def test_chains_end_where_their_facts_lead(several: int) -> None:
    world = Hops(n=4, hops=3, relations=several).build(2)
    step = dict(told(world, world.facts, "edge"))
    chains = [
        *told(world, world.queries, "composition"),
        *told(world, world.queries, "chain"),
    ]
    assert len(set(chains)) == len(chains) == 4 * (several**2 + several**3)
    for prompt, answer in chains:
        at, *relations = prompt.split()
        for relation in relations:
            at = step[f"{at} {relation}"]
        assert at == answer


def test_a_share_of_the_chains_of_some_lengths_is_trained() -> None:
    config = Hops(n=4, hops=3, relations=2, trained=0.75, shortest=3)
    world, plain = config.build(1), Hops(n=4, hops=3, relations=2).build(1)
    assert told(world, world.facts, "edge") == told(plain, plain.facts, "edge")
    trained, asked = (
        told(world, world.facts, "chain"),
        told(world, world.queries, "chain"),
    )
    assert (len(trained), len(asked)) == (24, 8)
    assert {*trained, *asked} == {*told(plain, plain.queries, "chain")}
    out = dict(zip(world.queries.role_names, ([True] * 16, [False] * 8), strict=True))
    for role, expected in out.items():
        rows = world.queries.with_role(role)
        assert world.queries.out_of_distribution[rows].tolist() == expected
    assert "two_hop" not in world.facts.role_names


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Reversal(n=1), "n must be at least 2"),
        (lambda: Reversal(n=3, told=3), "below n = 3"),
        (lambda: Implication(groups=1), "'groups' must be at least 2"),
        (
            lambda: Implication(members=3, told=2, denied=1),
            "so that at least one query remains",
        ),
        (lambda: Hops(hops=1), "'n' and 'hops' must be at least 2"),
        (lambda: Hops(identity=2.0), "fraction from 0 to 1"),
        (
            lambda: Hops(trained=1.0),
            "'trained' must be at least 0 and below 1, got 1.0",
        ),
        (lambda: Hops(longest=2), "no effect when no chain is trained"),
        (
            lambda: Hops(trained=0.5, longest=4),
            "hops = 3, got shortest = 2 and longest = 4",
        ),
        (lambda: RandomFacts(hops=1), "'hops' must be from 2 to 8"),
        (lambda: RandomFacts(told=0.0), "told must be above 0"),
        (lambda: RandomFacts(popularity=float("nan")), "popularity must be at least 0"),
        (lambda: RandomFacts(popularity=float("inf")), "popularity must be at most"),
        (lambda: RandomFacts(pairs=9), "'pairs' from 0 to 8"),
        (lambda: RandomFacts(several=17), "'several' must be from 0 to 8"),
        (lambda: RandomFacts(told=0.01).build(), "no fact is drawn"),
        (
            lambda: RandomFacts(objects=2, relations=2, several=1).build(),
            "'several' requires that each relation has at least two possible",
        ),
    ],
)
def test_settings_that_cannot_be(make: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make()
