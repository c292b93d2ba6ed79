"""Worlds from which facts were removed, or whose answers were permuted."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.world_case import WorldCase

from inweights.errors import ConfigError, DataError
from inweights.worlds import Altered, Graph, Hops, TwoHop


class TestAltered(WorldCase):
    configs = [
        Altered(of=TwoHop(n=5, complexity=2), shuffled=True),
        Altered(
            of={"kind": "hops", "n": 4, "hops": 3}, shuffled=True, without="identity"
        ),
    ]


def test_prompts_and_answers_stay_and_their_pairs_do_not() -> None:
    world = TwoHop(n=8).build(1)
    mixed = Altered(of=TwoHop(n=8), shuffled=True).build(1)
    assert mixed.queries.equals(world.queries)
    for role in world.facts.role_names:
        before, after = (
            w.facts.matrix(w.facts.with_role(role)) for w in (world, mixed)
        )
        assert (before[0] == after[0]).all()
        assert Counter(before[1].ravel()) == Counter(after[1].ravel())
        assert (before[1] != after[1]).any()


def test_a_role_is_left_out() -> None:
    bare = Altered(of=TwoHop(n=4), without="identity").build()
    assert bare.facts.equals(TwoHop(n=4, identity=False).build().facts)


def test_what_cannot_be_altered_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one of 'shuffled' and 'without'"):
        Altered(of=TwoHop()).build()
    with pytest.raises(ConfigError, match="'of' must be the config of a world"):
        Altered(of=3, shuffled=True)
    with pytest.raises(ConfigError, match="'of' needs a kind"):
        Altered(of={"n": 3}, shuffled=True)
    with pytest.raises(
        DataError, match=r"unknown role 'identities'; did you mean 'identity'"
    ):
        Altered(of=TwoHop(), without="identities").build()
    with pytest.raises(DataError, match="no fact remains"):
        Altered(of=Graph(shape="cycle"), without="edge+reverse_edge").build()
    assert Altered(of={"kind": "hops"}, shuffled=True).of == Hops()
