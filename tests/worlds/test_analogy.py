"""Analogies, and two hops as analogies: the contract, and the fact sets of the papers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.world_case import WorldCase

from inweights.errors import ConfigError, DataError
from inweights.models import EmbMLPConfig
from inweights.training import Curriculum, Phase, train
from inweights.worlds import (
    AnalogicalTwoHop,
    Analogy,
    World,
    open_world,
)


class TestAnalogy(WorldCase):
    configs = [
        Analogy(n=5),
        Analogy(n=7, categories=3, maps="permutation"),
        Analogy(n=4, similarity_relations=2, attribution_relations=3),
    ]


class TestAnalogicalTwoHop(WorldCase):
    configs = [
        AnalogicalTwoHop(n=5),
        AnalogicalTwoHop(n=6, identity=False, maps="permutation"),
        AnalogicalTwoHop(n=6, identity=0.5, own_relation=True),
    ]


def said(world: World, part: str, role: str) -> dict[tuple[str, str], str]:
    """Return the facts of a role by name, as ``{(entity, relation): answer}``."""
    statements, names = getattr(world, part), world.vocabulary.names
    prompts, answers = statements.matrix(statements.with_role(role))
    return {
        (names[e], names[r]): names[y]
        for (e, r), (y,) in zip(prompts.tolist(), answers.tolist(), strict=True)
    }


def test_the_tuples_of_the_paper() -> None:
    world = Analogy(n=3).build()
    assert said(world, "facts", "category") == {
        (f"a{i}", "r1"): f"c{i}" for i in (1, 2, 3)
    }
    assert said(world, "facts", "similarity") == {
        (f"b{i}", "r1"): f"c{i}" for i in (1, 2, 3)
    }
    assert said(world, "facts", "attribution") == {
        (f"a{i}", "r2"): f"d{i}" for i in (1, 2, 3)
    }
    assert said(world, "queries", "conclusion") == {
        (f"b{i}", "r2"): f"d{i}" for i in (1, 2, 3)
    }
    assert world.queries.out_of_distribution.all()
    assert len(Analogy().build().vocabulary) == 402


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("config", TestAnalogy.configs)
def test_a_conclusion_follows_from_its_premises(config: Analogy, seed: int) -> None:
    """Every entity that shares all properties with ``b`` has the attribute inferred for ``b``."""
    world = config.build(seed)
    category, similarity, attribution = (
        said(world, "facts", role) for role in ("category", "similarity", "attribution")
    )

    def properties(
        told: dict[tuple[str, str], str], entity: str
    ) -> set[tuple[str, str]]:
        return {(r, y) for (e, r), y in told.items() if e == entity}

    sources = {e for e, _ in category}
    for (b, relation), answer in said(world, "queries", "conclusion").items():
        alike = [
            a for a in sources if properties(category, a) == properties(similarity, b)
        ]
        assert "a" + b[1:] in alike
        assert {attribution[a, relation] for a in alike} == {answer}
        assert (b, relation) not in attribution
    for told in (category, attribution):
        labels = list(told.values())
        relations = {r for _, r in told}
        assert len(set(labels)) == config.labels * len(relations)
        counts = [labels.count(y) for y in set(labels)]
        assert max(counts) - min(counts) <= 1


def test_two_hops_are_the_analogy_renamed() -> None:
    """The identity makes the bridge the shared property (§6)."""
    hops, analogy = AnalogicalTwoHop(n=4).build(), Analogy(n=4).build()
    rename = {"b": "a", "a": "b", "r": "r"}

    def renamed(
        told: dict[tuple[str, str], str], answers: str
    ) -> dict[tuple[str, str], str]:
        return {
            (rename[e[0]] + e[1:], r): answers + y[1:] for (e, r), y in told.items()
        }

    for theirs, ours, label in (
        ("first_hop", "similarity", "c"),
        ("identity", "category", "c"),
        ("second_hop", "attribution", "d"),
    ):
        assert renamed(said(hops, "facts", theirs), label) == said(
            analogy, "facts", ours
        )
    conclusion = renamed(said(hops, "queries", "conclusion"), "d")
    assert conclusion == said(analogy, "queries", "conclusion")


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("own", [False, True])
def test_identities_by_fraction(own: bool, seed: int) -> None:
    world = AnalogicalTwoHop(
        n=10, identity=0.3, own_relation=own, maps="permutation"
    ).build(seed)
    bridge_of = said(world, "facts", "first_hop")
    object_of = said(world, "facts", "second_hop")
    identity = said(world, "facts", "identity")
    assert len(identity) == 3
    assert all(
        e == y and r == ("r0" if own else "r1") for (e, r), y in identity.items()
    )
    for (a, _), c in said(world, "queries", "conclusion").items():
        assert object_of[bridge_of[a, "r1"], "r2"] == c
    none = AnalogicalTwoHop(n=10, identity=False).build(seed)
    assert none.facts.role_names == ("first_hop", "second_hop")


def test_identities_do_not_prefer_the_first_bridges() -> None:
    config = AnalogicalTwoHop(n=10, identity=0.5)
    given = [
        tuple(said(config.build(seed), "facts", "identity").values())
        for seed in range(6)
    ]
    assert len(set(given)) > 3


def test_maps_that_the_seed_deals() -> None:
    """The seed permutes the maps, so that a token's number does not reveal the answer."""
    for config in (
        Analogy(n=30, maps="permutation"),
        AnalogicalTwoHop(n=30, maps="permutation"),
    ):
        role = "attribution" if isinstance(config, Analogy) else "second_hop"
        one, other = (
            list(said(config.build(s), "facts", role).values()) for s in (0, 1)
        )
        assert sorted(one) == sorted(other)
        assert np.mean([x == y for x, y in zip(one, other, strict=True)]) < 0.3


def test_by_name() -> None:
    assert len(open_world("analogy", ["n=5", "categories=2"]).queries) == 5
    assert len(open_world("analogical-two-hop", ["n=5", "identity=0.4"]).facts) == 12


def test_phases_choose_what_is_trained() -> None:
    """A curriculum names roles; for an unknown role the error lists those of the world."""
    world = Analogy(n=3).build()
    model = EmbMLPConfig(width=4).build(vocabulary=len(world.vocabulary), seeds=[0])
    plan = Curriculum(phases=(Phase(steps=1, roles={"identity": 1.0}),))
    known = "unknown role 'identity'.*attribution, category, similarity"
    with pytest.raises(DataError, match=known):
        train(model, world, plan, seeds=[0])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="n must be at least 2, got 1"):
        Analogy(n=1)
    for wrong in (0, 6):
        with pytest.raises(
            ConfigError, match=f"categories must be from 1 to n = 5, got {wrong}"
        ):
            Analogy(n=5, categories=wrong)
    with pytest.raises(
        ConfigError, match="similarity_relations must be at least 1, got 0"
    ):
        Analogy(similarity_relations=0)
    with pytest.raises(
        ConfigError, match="attribution_relations must be at least 1, got 0"
    ):
        Analogy(attribution_relations=0)
    with pytest.raises(ConfigError, match="n must be at least 2, got 1"):
        AnalogicalTwoHop(n=1)
    for fraction in (-0.1, 1.1, float("nan")):
        with pytest.raises(
            ConfigError, match="identity must be a fraction from 0 to 1"
        ):
            AnalogicalTwoHop(identity=fraction)
