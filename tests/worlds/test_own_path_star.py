"""A user's path-star: the graph in the files, and the same task as the built-in one."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from tests.world_case import WorldCase
from tests.worlds.test_path_star import plain_roles

from inweights.errors import ConfigError, DataError
from inweights.recipes.geometric_memory import paths as ways
from inweights.worlds import OwnPathStar, PathStar, read_path_star

LINES = [["r", f"a{i}", f"b{i}", f"c{i}"] for i in range(5)]
TOLD = [link for line in LINES for link in pairwise(line)]


class TestOwnPathStar(WorldCase):
    configs = [
        OwnPathStar(paths=LINES),
        OwnPathStar(
            paths=LINES[:3], held_out=LINES[3:], task_tokens=True, pauses=0, moved=True
        ),
        OwnPathStar(paths=LINES, edges="forward", reverse=True),
    ]

    def test_no_prompt_twice(self, config: Any) -> None:
        """A node has one fact per neighbour, so only whole statements are unique, not prompts."""
        world = config.build(seed=3)
        part, plain = world.facts, plain_roles(world)
        told = [
            (*part.prompt(i), *part.answer(i))
            for i in range(len(part))
            if part.roles[i] in plain
        ]
        assert len(set(told)) == len(told)


def statements(world) -> set[tuple[str, str, str]]:
    words = world.vocabulary
    return {
        (
            part.role_names[part.roles[i]],
            words.text(part.prompt(i)),
            words.text(part.answer(i)),
        )
        for part in (world.facts, world.queries)
        for i in range(len(part))
    }


@pytest.mark.parametrize("options", [{}, {"edges": "backward"}, {"task_tokens": True}])
def test_the_built_in_star_as_files_is_the_same_task(tmp_path: Path, options) -> None:
    star = PathStar(arms=6, nodes=4, **options).build(seed=2)
    words = star.vocabulary
    for part, name in ((star.facts, "train"), (star.queries, "held-out")):
        lines = [
            words.text(part.answer(int(i))).split() for i in part.with_role("path")
        ]
        text = "".join(f"{line[-1]}={','.join(line)}\n" for line in lines)
        (tmp_path / name).write_text(text)
    own = read_path_star(tmp_path / "train", tmp_path / "held-out", **options).build()
    assert statements(own) == statements(star)
    assert len(own.queries) == len(star.queries)


def test_directions_of_a_file(tmp_path: Path) -> None:
    paths, edges = tmp_path / "paths.txt", tmp_path / "edges.txt"
    paths.write_text("".join(f"{line[-1]}={','.join(line)}\n" for line in LINES))
    toward = [f"{v}={u}\n" for u, v in TOLD]
    away = [f"{u}={v}\n" for u, v in TOLD]
    both = statements(OwnPathStar(paths=LINES).build())
    # Both directions are trained, in whichever direction the edge is written.
    for written in (
        away,
        toward,
        away + toward,
    ):
        edges.write_text("".join(written))
        assert statements(read_path_star(paths, edge_file=edges).build()) == both
    counts = {}
    for name, written in (
        ("away", away),
        ("toward", toward),
        ("both", away + toward[:4]),
    ):
        edges.write_text("".join(written))
        world = structs.replace(
            read_path_star(paths, edge_file=edges), edges="listed"
        ).build()
        roles = world.facts.role_names
        counts[name] = {r: len(world.facts.with_role(r)) for r in roles if r != "path"}
    assert counts == {
        "away": {"edge": 15},
        "toward": {"reverse_edge": 15},
        "both": {"edge": 15, "reverse_edge": 4},
    }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"paths": LINES[:1]}, "one to hold out"),
        ({"paths": [*LINES, ["r", "x", "y"]]}, "the same length"),
        ({"paths": [[], []]}, "at least 3 nodes"),
        ({"paths": [*LINES, ["q", "x", "y", "z"]]}, "the same root"),
        ({"paths": [*LINES, ["r", "x", "x", "z"]]}, "each node once, got r, x, x, z"),
        ({"paths": LINES, "held_out": LINES[:1]}, "one to train and one held out"),
        (
            {"paths": LINES, "links": [list(t) for t in TOLD[1:]]},
            "needs the edge 'r=a0'",
        ),
    ],
)
def test_stars_that_cannot_be(settings, said) -> None:
    with pytest.raises(DataError, match=said):
        OwnPathStar(**settings).build()


def test_options_that_contradict_each_other(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set 'pauses' or 'task_tokens'"):
        OwnPathStar(paths=LINES, pauses=0)
    (tmp_path / "edges").write_text("a=b\n")
    with pytest.raises(DataError, match="has no path"):
        read_path_star(tmp_path / "edges")
    with pytest.raises(ConfigError, match="did you mean 'pauses'"):
        read_path_star(tmp_path / "edges", pause=1)


@pytest.mark.parametrize(
    "how", [ways.INTERLEAVED, ways.GEOMETRY, ways.PERMUTED, ways.ALONE]
)
def test_the_recipes_train_it(how) -> None:
    training = ways.PathStarTraining(pauses=3)
    trial = training.trial({"graph": "own"}, how=how, task=OwnPathStar(paths=LINES))
    world = trial.world.build(0)
    said = world.vocabulary.text(world.queries.prompt(0)).split()
    assert (said[0], said[2:]) == ("<path>", ["<pause>"] * 3)
    told = {role for phase in trial.learner.phases for role in phase.roles}
    assert told <= set(world.facts.role_names)


def test_directions_that_a_file_lacks_are_not_trained() -> None:
    links = [list(link) for link in TOLD]
    task = OwnPathStar(paths=LINES, links=links, edges="listed")
    trial = ways.PathStarTraining().trial({"graph": "own"}, task=task)
    assert {role for phase in trial.learner.phases for role in phase.roles} == {
        "edge",
        "path",
    }
