"""Path-stars in context: the contract, and every prompt describes a graph with one answer."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world_case import WorldCase

from inweights.errors import ConfigError
from inweights.worlds import InContextStar


class TestInContextStar(WorldCase):
    configs = [
        InContextStar(arms=2, nodes=3, labels=8, trained=30, asked=5),
        InContextStar(arms=3, nodes=4, labels=12, trained=20, asked=4, reverse=True),
    ]


@given(
    arms=st.integers(2, 4),
    nodes=st.integers(3, 5),
    spare=st.integers(0, 5),
    seed=st.integers(0, 5),
    reverse=st.booleans(),
)
def test_every_prompt_is_a_star_and_its_answer_the_path(
    arms: int, nodes: int, spare: int, seed: int, reverse: bool
) -> None:
    config = InContextStar(
        arms=arms,
        nodes=nodes,
        labels=1 + arms * (nodes - 1) + spare,
        trained=12,
        asked=3,
        reverse=reverse,
    )
    world = config.build(seed)
    query, answer = (world.vocabulary.id(name) for name in ("<query>", "<answer>"))
    seen = set()
    for part in (world.facts, world.queries):
        for i in range(len(part)):
            prompt, said = part.prompt(i).tolist(), part.answer(i).tolist()
            edges = list(zip(prompt[:-4:2], prompt[1:-4:2], strict=True))
            assert prompt[-4] == query
            assert prompt[-1] == answer
            path = said[::-1] if reverse else said
            assert (path[0], path[-1]) == (prompt[-3], prompt[-2])
            assert all(pair in edges for pair in pairwise(path))
            assert len(path) == nodes
            starts, ends = Counter(u for u, _ in edges), Counter(v for _, v in edges)
            assert starts.pop(path[0]) == arms
            assert set(starts.values()) <= {1}
            assert set(ends.values()) == {1}
            assert len(edges) == config.size - 1
            seen.add((frozenset(edges), path[-1]))
    assert len(seen) == 15  # facts and queries are all different


def test_edges_come_in_any_order_and_goals_on_any_arm() -> None:
    world = InContextStar(arms=2, nodes=3, labels=20, trained=400, asked=1).build(0)
    prompts, answers = world.facts.matrix(np.arange(400))
    first = (prompts[:, 0] == answers[:, 0]).mean()
    assert 0.4 < first < 0.6  # one of two edges leaves the root
    at = [
        row.tolist().index(second)
        for row, second in zip(prompts, answers[:, 1], strict=True)
    ]
    assert min(Counter(at).values()) > 20


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"arms": 1}, "arms must be at least 2"),
        (
            {"labels": 8},
            "'labels' must be at least 9, the number of nodes of a graph, got 8",
        ),
        ({"asked": 0}, "asked must be at least 1"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], names: str) -> None:
    with pytest.raises(ConfigError, match=names):
        InContextStar(**settings)


def test_more_graphs_than_there_are_is_refused() -> None:
    with pytest.raises(ConfigError, match="use more labels"):
        InContextStar(arms=2, nodes=3, labels=5, trained=1000, asked=1).build()
