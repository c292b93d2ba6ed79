"""The two-hop family: the contract, and properties for all N and C."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.world_case import WorldCase
from tests.worlds import test_altered as altered
from tests.worlds import test_analogy as analogies
from tests.worlds import test_graph as graphs
from tests.worlds import test_in_context as in_context
from tests.worlds import test_kinds as kinds
from tests.worlds import test_labels as labels
from tests.worlds import test_own_path_star as own_path_star
from tests.worlds import test_path_star as path_star
from tests.worlds import test_triples as triples

import inweights.worlds as worlds
from inweights.config import Config, apply_overrides, decode, identity
from inweights.errors import ConfigError, DataError
from inweights.worlds import (
    Statements,
    TwoHop,
    Vocabulary,
    World,
    open_world,
    save_world,
)


class TestTwoHop(WorldCase):
    configs = [
        TwoHop(),
        TwoHop(n=5, complexity=3),
        TwoHop(n=6, complexity=2, identity=False),
        TwoHop(n=6, complexity=3, maps="permutation", identity=0.5),
        TwoHop(n=6, complexity=2, maps="sampled"),
        TwoHop(n=6, complexity=2, first_relations=3, second_relations=2, trained=0.4),
        TwoHop(
            n=8,
            first_relations=2,
            second_relations=2,
            maps="sampled",
            bridges=4,
            trained=0.6,
            unseen=0.3,
        ),
    ]


def test_every_world_has_a_case() -> None:
    cases = [
        *TestTwoHop.configs,
        *graphs.TestGraphWithPaths.configs,
        *triples.TestTriples.configs,
    ]
    cases += [*analogies.TestAnalogy.configs, *analogies.TestAnalogicalTwoHop.configs]
    cases += [*path_star.TestPathStar.configs, *in_context.TestInContextStar.configs]
    cases += [*labels.TestLabels.configs, *own_path_star.TestOwnPathStar.configs]
    cases += [
        *kinds.TestHops.configs,
        *kinds.TestReversal.configs,
        *kinds.TestImplication.configs,
    ]
    cases += [*kinds.TestRandomFacts.configs, *altered.TestAltered.configs]
    written = {
        value
        for found in pkgutil.iter_modules(worlds.__path__)
        for value in vars(import_module(f"inweights.worlds.{found.name}")).values()
        if isinstance(value, type)
        and issubclass(value, Config)
        and hasattr(value, "build")
    }
    assert written == {type(config) for config in cases}
    needed = {
        "triples": [f'path="{triples.FAMILY}"'],
        "altered": ['of={kind="two-hop"}', "shuffled=true"],
        "own-path-star": ['paths=[["r","a","b"],["r","c","d"]]'],
    }
    configs = {
        worlds.open_world(name, needed.get(name, ())).settings["kind"]
        for name in worlds.world_names()
    }
    # Label worlds serve a single recipe and are not registered by name.
    assert configs | {"labels"} == {config.build().settings["kind"] for config in cases}


def hops(world: World, role: str) -> list[tuple[list[int], int]]:
    prompts, answers = world.facts.matrix(world.facts.with_role(role))
    return list(zip(prompts.tolist(), answers[:, 0].tolist(), strict=True))


@st.composite
def structured(draw) -> tuple[TwoHop, int]:
    n = draw(st.integers(2, 9))
    complexity = draw(st.integers(1, n))
    second = draw(st.integers(1, 3))
    # The number of first relations is the smallest that the second ones allow.
    first = draw(st.integers(max(1, complexity - second + 1), complexity + 2))
    total = n * first * second
    fractions = [f for f in (0.0, 0.3, 0.8) if round(f * total) < total]
    config = TwoHop(
        n=n,
        complexity=complexity,
        first_relations=first,
        second_relations=second,
        maps=draw(st.sampled_from(["shift", "permutation"])),
        identity=draw(st.sampled_from([False, True, 0.25, 0.5])),
        trained=draw(st.sampled_from(fractions)),
    )
    return config, draw(st.integers(0, 5))


@given(structured())
@settings(max_examples=60, deadline=None)
def test_structure_holds_for_all_n_and_c(case: tuple[TwoHop, int]) -> None:
    config, seed = case
    world = config.build(seed)
    n, slices = config.n, config.slices
    words = world.vocabulary
    bridge_of = {tuple(p): b for p, b in hops(world, "first_hop")}
    object_of = {tuple(p): c for p, c in hops(world, "second_hop")}

    # Every relation has its own slice of the bridges, and maps each subject to exactly
    # one of them.
    slice_of: dict[int, set[int]] = {}
    for (_, relation), bridge in bridge_of.items():
        slice_of.setdefault(relation, set()).add(bridge)
    assert all(len(bridges) == n for bridges in slice_of.values())
    assert sum(len(bridges) for bridges in slice_of.values()) == len(
        set().union(*slice_of.values())
    )
    assert set().union(*slice_of.values()) == set(words["bridge"].tolist())
    for relation, bridges in slice_of.items():
        assert {(b - words["bridge"][0]) // n for b in bridges} == {
            relation - words["first_relation"][0]
        }

    # Trained and evaluated compositions are exactly the composed hops.
    trained: dict[Any, Any] = {}
    asked: dict[Any, Any] = {}
    for part, found in ((world.facts, trained), (world.queries, asked)):
        for role in ("two_hop", "composition"):
            if role in part.role_names:
                for i in part.with_role(role):
                    found[tuple(part.prompt(int(i)).tolist())] = int(
                        part.answer(int(i))[0]
                    )
    assert not set(trained) & set(asked)
    total = n * slices * config.second_relations
    assert len(trained) + len(asked) == total
    assert len(trained) == round(config.trained * total)
    for (a, r1, r2), c in {**trained, **asked}.items():
        assert object_of[bridge_of[a, r1], r2] == c

    # Every subject reaches exactly C objects.
    reach: dict[int, set[int]] = {}
    for (a, _, _), c in {**trained, **asked}.items():
        reach.setdefault(a, set()).add(c)
    assert {len(objects) for objects in reach.values()} == {config.complexity}
    assert len(reach) == n
    assert world.complexity == config.complexity

    # Out of distribution: the bridge is in no trained two-hop fact (§3.2), by brute
    # force.
    for i in range(len(world.queries)):
        a, r1, _ = world.queries.prompt(i).tolist()
        seen = any(bridge_of[s, r] == bridge_of[a, r1] for s, r, _ in trained)
        assert world.queries.out_of_distribution[i] == (not seen)

    # Identities map as many bridges to themselves as requested.
    identities = hops(world, "identity") if "identity" in world.facts.role_names else []
    assert all(prompt == [answer] for prompt, answer in identities)
    assert len({answer for _, answer in identities}) == round(
        float(config.identity) * slices * n
    )


@given(st.integers(2, 8), st.integers(1, 3), st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_sampled_maps_stay_in_their_slices(n: int, slices: int, seed: int) -> None:
    world = TwoHop(n=n, complexity=1, first_relations=slices, maps="sampled").build(
        seed
    )
    bridges, relations = world.vocabulary["bridge"], world.vocabulary["first_relation"]
    for (_, relation), bridge in hops(world, "first_hop"):
        assert (bridge - bridges[0]) // n == relation - relations[0]
    assert 1 <= world.complexity <= slices


def test_the_papers_structured_setting() -> None:
    """At C = 1 the maps are a_i → b_i → c_i (§4.1)."""
    world = TwoHop(n=4).build()
    names = world.vocabulary.text
    said = [f"{names(p)} > {names([a])}" for p, a in hops(world, "first_hop")]
    assert said == ["a1 r1 > b1", "a2 r1 > b2", "a3 r1 > b3", "a4 r1 > b4"]
    assert names(world.queries.prompt(2)) == "a3 r1 r2"
    assert names(world.queries.answer(2)) == "c3"
    assert names(world.inputs) == "a1 a2 a3 a4 b1 b2 b3 b4 r1 r2"
    assert names(world.outputs) == "b1 b2 b3 b4 c1 c2 c3 c4"


@pytest.mark.parametrize("n", [2, 5, 8])
@pytest.mark.parametrize("complexity", [1, 2])
def test_the_map_as_printed_collides_or_leaves_the_range(
    n: int, complexity: int
) -> None:
    """Our map is the printed ``⌊k/N⌋ + k mod N`` with indices from 0 and modulo ``N``."""
    # With indices from 1, two subjects share an object.
    assert len({k // n + k % n for k in range(1, n + 1)}) < n
    world = TwoHop(n=n, complexity=complexity).build()
    first = {name: world.vocabulary[name][0] for name in ("bridge", "object")}
    ours = {
        p[0] - first["bridge"]: c - first["object"]
        for p, c in hops(world, "second_hop")
    }
    printed = {k: k // n + k % n for k in range(complexity * n)}
    assert ours == {k: place % n for k, place in printed.items()}
    # With indices from 0, an index exceeds the last object.
    assert (max(printed.values()) >= n) == (complexity > 1)


def test_permutations_and_fractions_follow_the_seed() -> None:
    config = TwoHop(n=8, complexity=2, maps="permutation", identity=0.5)
    assert not config.build(1).facts.equals(config.build(2).facts)
    assert TwoHop(n=8).build(1).facts.equals(TwoHop(n=8).build(2).facts)


def test_permutations_hide_the_order_of_subjects_and_objects() -> None:
    """With shifted maps, objects of a subject and subjects that share one are adjacent."""

    def neighbours(maps: str) -> tuple[int, int]:
        world = TwoHop(n=40, complexity=2, maps=maps).build(1)  # type: ignore[arg-type]
        prompts, answers = world.queries.matrix(world.queries.with_role("composition"))
        reach: dict[int, list[int]] = {}
        for subject, answer in zip(
            prompts[:, 0].tolist(), answers[:, 0].tolist(), strict=True
        ):
            reach.setdefault(subject, []).append(answer)
        close = sum((a - b) % 40 in (1, 39) for a, b in reach.values())
        subjects = world.vocabulary["subject"].tolist()
        shared = sum(
            bool(set(reach[a]) & set(reach[subjects[(i + 1) % 40]]))
            for i, a in enumerate(subjects)
        )
        return close, shared

    assert neighbours("shift") == (40, 40)
    close, shared = neighbours("permutation")
    assert close < 12
    assert shared < 12


def test_tokens_that_only_queries_hold_are_inputs_and_outputs() -> None:
    facts = Statements.build({"edge": ([[0]], [[1]])})
    queries = Statements.build({"path": ([[3, 0]], [[2]])})
    words = Vocabulary({"node": ["a", "b", "c", "d", "e"]})
    world = World(name="w", vocabulary=words, facts=facts, queries=queries)
    assert world.inputs.tolist() == [0, 3]
    assert world.outputs.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": 1}, "n must be at least 2, got 1"),
        ({"complexity": 0}, "'complexity' must be from 1 to n = 20, got 0"),
        ({"complexity": 21}, "'complexity' must be from 1"),
        ({"first_relations": 0}, "from 1 to 65536"),
        ({"second_relations": 0}, "from 1 to 65536"),
        ({"complexity": 4, "first_relations": 2}, "add first relations"),
        ({"identity": 1.5}, "fraction from 0 to 1, got 1.5"),
        ({"identity": -0.1}, "fraction"),
        ({"trained": 1.0}, "at least one must be a query"),
        ({"trained": 0.99, "n": 2}, "at least one must be a query"),
        ({"trained": -0.1}, "'trained' must be at least 0 and below 1"),
        ({"complexty": 2}, "did you mean 'complexity'"),
        ({"n": "ten"}, "n: expected `int`"),
        ({"maps": "random"}, "unknown maps"),
    ],
)
def test_bad_settings_say_what_was_expected(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        decode(TwoHop, change)
    assert says in str(error.value)


def test_open_world(tmp_path) -> None:
    world = open_world("two-hop", ["n=3", "identity=true"])
    assert len(world.facts) == 9
    folder = save_world(world, tmp_path / "w")
    assert open_world(folder).facts.equals(world.facts)
    with pytest.raises(DataError, match="stored world"):
        open_world(folder, ["n=4"])
    with pytest.raises(ConfigError, match="did you mean 'two-hop'"):
        open_world("twohop")
    assert apply_overrides(TwoHop(), ["trained=0.5"]).trained == 0.5


# --- shared bridges, and hops that no trained two-hop fact uses

SHARED = {
    "n": 12,
    "first_relations": 2,
    "second_relations": 3,
    "maps": "sampled",
    "bridges": 4,
}


def test_queries_are_told_apart_by_their_unseen_hops() -> None:
    world = TwoHop(**SHARED, trained=0.7, unseen=0.3).build(seed=3)  # type: ignore[arg-type]
    reached = {f.prompt: f.answer[0] for f in world.facts if f.role == "first_hop"}
    used = [
        {(f.prompt[0], f.prompt[1]) for f in world.facts if f.role == "two_hop"},
        {
            (reached[f.prompt[:2]], f.prompt[2])
            for f in world.facts
            if f.role == "two_hop"
        },
    ]
    expected = {
        (True, True): "composition",
        (False, True): "first_unseen",
        (True, False): "second_unseen",
        (False, False): "both_unseen",
    }
    assert set(world.queries.role_names) == set(expected.values())
    for query in world.queries:
        first, second = query.prompt[:2], (reached[query.prompt[:2]], query.prompt[2])
        assert query.role == expected[first in used[0], second in used[1]]
    out = world.queries.out_of_distribution
    roles = np.array([query.role for query in world.queries])
    assert (out == (roles != "composition")).all()
    # The answer is where the second hop leads.
    ends = {f.prompt: f.answer for f in world.facts if f.role == "second_hop"}
    assert all(
        q.answer == ends[reached[q.prompt[:2]], q.prompt[2]] for q in world.queries
    )


def test_seeds_relabel_one_structure_so_that_they_train_together() -> None:
    worlds = [TwoHop(**SHARED, trained=0.7, unseen=0.3).build(seed) for seed in (0, 1)]  # type: ignore[arg-type]
    for part in ("facts", "queries"):
        one, other = (getattr(world, part) for world in worlds)
        assert (one.roles == other.roles).all()
        assert [s.prompt for s in one] != [s.prompt for s in other]
    several = [f.answer[0] for f in worlds[0].facts if f.role == "first_hop"]
    assert len(set(several)) <= 8 < len(several)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bridges": 3}, "'bridges' requires maps = 'sampled'"),
        (
            {"bridges": 30, "maps": "sampled"},
            "'bridges' must be from 1 to n = 20, got 30",
        ),
        ({"unseen": 1.0}, "'unseen' must be at least 0 and below 1"),
        (
            {"unseen": 0.2, "trained": 0.5},
            "unseen hops require trained two-hop facts and shared",
        ),
    ],
)
def test_what_shared_bridges_and_unseen_hops_need(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        TwoHop(**settings)
    assert {"bridges", "unseen"}.isdisjoint(identity(TwoHop()))
