"""Paths through a star: the contract, the graph of the facts, and the held-out leaves."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world_case import WorldCase

from inweights.errors import ConfigError
from inweights.worlds import PathStar, World


class TestPathStar(WorldCase):
    configs = [
        PathStar(arms=5, nodes=3),
        PathStar(arms=4, nodes=4, branches=2, split="arm", task_tokens=True, pauses=0),
        PathStar(arms=6, nodes=3, edges="forward", reverse=True, moved=True),
    ]

    def test_no_prompt_twice(self, config: Any) -> None:
        """A node has one fact per neighbour, so only whole statements are unique, not prompts."""
        world = config.build(seed=3)
        plain = [
            i
            for i in range(len(world.facts))
            if world.facts.roles[i] in plain_roles(world)
        ]
        pairs = Counter((*world.facts.prompt(i), *world.facts.answer(i)) for i in plain)
        assert max(pairs.values()) == 1


def plain_roles(world: World) -> set[int]:
    """Return the roles except those of the moved copy, whose edges may also be in the graph."""
    names = world.facts.role_names
    return {i for i, name in enumerate(names) if not name.startswith("moved")}


def matrix(
    world: World, role: str, part: str = "facts"
) -> tuple[np.ndarray, np.ndarray]:
    statements = getattr(world, part)
    return statements.matrix(statements.with_role(role))


def graph(world: World, role: str = "edge") -> nx.DiGraph:
    prompts, answers = matrix(world, role)
    return nx.DiGraph(zip(prompts[:, -1].tolist(), answers[:, 0].tolist(), strict=True))


@given(
    arms=st.integers(2, 7),
    nodes=st.integers(3, 5),
    branches=st.integers(1, 3),
    seed=st.integers(0, 5),
    split=st.sampled_from(["leaf", "arm"]),
    pauses=st.integers(0, 2),
)
def test_every_path_is_a_root_to_leaf_path_of_the_graph(
    arms: int, nodes: int, branches: int, seed: int, split: Any, pauses: int
) -> None:
    config = PathStar(
        arms=arms,
        nodes=nodes,
        branches=branches,
        split=split,
        pauses=pauses,
        task_tokens=True,
    )
    world = config.build(seed)
    tree = graph(world)
    assert nx.is_arborescence(tree)
    assert len(tree) == config.size
    degrees = [d for _, d in tree.out_degree() if d]
    assert sorted(degrees) == sorted([arms] + [branches] * (len(degrees) - 1))
    leaves = {node for node, degree in tree.out_degree() if not degree}
    prompts, answers = (
        np.concatenate(both)
        for both in zip(
            matrix(world, "path"), matrix(world, "path", "queries"), strict=True
        )
    )
    mark = world.vocabulary.id("<path>")
    assert (prompts[:, 0] == mark).all()
    assert prompts.shape[1] == 2 + pauses
    if pauses:
        assert (prompts[:, 2:] == world.vocabulary.id("<pause>")).all()
    assert set(prompts[:, 1].tolist()) == leaves == set(answers[:, -1].tolist())
    assert len(prompts) == len(leaves)
    for line in answers.tolist():
        assert all(tree.has_edge(u, v) for u, v in pairwise(line))
    assert {u for u, d in tree.in_degree() if not d} == set(answers[:, 0].tolist())
    assert set(graph(world, "reverse_edge").edges) == {(v, u) for u, v in tree.edges}


def test_a_quarter_of_the_leaves_is_held_out_and_others_with_another_seed() -> None:
    config = PathStar(arms=40, nodes=4)
    held = [matrix(config.build(seed), "path", "queries")[1] for seed in (0, 0, 1)]
    assert [len(each) for each in held] == [10, 10, 10]
    assert np.array_equal(held[0], held[1])
    assert not np.array_equal(held[0], held[2])
    assert config.build(0).queries.out_of_distribution.all()


def test_held_out_arms_share_no_first_node_with_trained_ones() -> None:
    arm = PathStar(arms=8, nodes=4, branches=2, split="arm").build(0)
    leaf = PathStar(arms=8, nodes=4, branches=2, split="leaf").build(0)

    def first_nodes(world: World, part: str) -> set[int]:
        return set(matrix(world, "path", part)[1][:, 1].tolist())

    assert not first_nodes(arm, "facts") & first_nodes(arm, "queries")
    assert len(first_nodes(arm, "queries")) == 2
    assert first_nodes(leaf, "facts") & first_nodes(leaf, "queries")


def test_the_reverse_path_is_said_from_the_leaf() -> None:
    forward, reverse = (
        PathStar(arms=4, nodes=4, reverse=r).build(2) for r in (False, True)
    )
    assert np.array_equal(
        matrix(forward, "path")[1], matrix(reverse, "path")[1][:, ::-1]
    )
    assert np.array_equal(matrix(forward, "path")[0], matrix(reverse, "path")[0])
    after = PathStar(arms=4, nodes=4, reverse=True, after_leaf=True).build(2)
    assert np.array_equal(matrix(after, "path")[0], matrix(reverse, "path")[0])
    assert np.array_equal(matrix(after, "path")[1], matrix(reverse, "path")[1][:, 1:])


def test_the_hardest_token_alone() -> None:
    whole, first = (
        PathStar(arms=5, nodes=4, answer=a).build(1) for a in ("path", "first")
    )
    assert np.array_equal(
        matrix(first, "path", "queries")[1], matrix(whole, "path", "queries")[1][:, :2]
    )
    with pytest.raises(ConfigError, match="leave out 'answer' or 'reverse'"):
        PathStar(answer="first", reverse=True)
    with pytest.raises(ConfigError, match="'after_leaf' requires reversed paths"):
        PathStar(after_leaf=True)


def test_moved_edges_are_the_same_graph_over_other_nodes() -> None:
    world = PathStar(arms=9, nodes=4, moved=True).build(0)
    plain, moved = graph(world), graph(world, "moved_edge")
    assert nx.is_isomorphic(plain, moved)
    shared = set(plain.edges) & set(moved.edges)
    assert len(shared) < 0.3 * len(plain.edges)
    bare = PathStar(arms=9, nodes=4).build(0)
    assert np.array_equal(matrix(bare, "path")[1], matrix(world, "path")[1])


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"arms": 1}, "arms must be at least 2, got 1"),
        ({"nodes": 2}, "nodes must be at least 3"),
        ({"train": 1.0}, "'train' must be above 0"),
        ({"pauses": 0}, "task_tokens"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], names: str) -> None:
    with pytest.raises(ConfigError, match=names):
        PathStar(**settings)


def test_the_largest_world_of_the_paper_is_small() -> None:
    tracemalloc.start()
    world = PathStar(arms=10_000, nodes=10).build(seed=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(world.vocabulary["node"]) == 90_001
    assert peak < 2**30
