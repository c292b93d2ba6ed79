"""Graphs: the contract, the shapes of the paper, and a user's lists of edges."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world_case import WorldCase
from tests.worlds.edge_text import write_edges

from inweights.errors import ConfigError, DataError
from inweights.theory.geometric_memory.graph import adjacency
from inweights.worlds import (
    FACT_ROLES,
    EdgeList,
    Graph,
    World,
    from_networkx,
    read_edges,
)
from inweights.worlds.families.graphs.shapes import CLASSICS

TOLD: dict[str, Any] = {"idle_tokens": 2, "edge_token": True}


class TestGraphWithPaths(WorldCase):
    configs = [
        Graph(paths=True),
        Graph(
            shape="tree-star", arms=3, nodes=4, branches=2, paths=True, self_edges=True
        ),
        Graph(
            paths=True, edges="forward", shuffled=False, idle_tokens=3, edge_token=True
        ),
    ]

    def test_no_prompt_twice(self, config: Any) -> None:
        """A node has one fact per neighbour, so only whole statements are unique, not prompts."""
        world = config.build(seed=3)
        pairs = Counter(
            (*world.facts.prompt(i), *world.facts.answer(i))
            for i in range(len(world.facts))
        )
        assert max(pairs.values()) == 1


class TestGraphOfEdgesAlone(WorldCase):
    """A world without queries, for which the contract's statements on queries are void."""

    configs = [
        Graph(shape="grid", rows=2, columns=3),
        Graph(shape="irregular", edges="backward"),
        Graph(
            shape="edges",
            links=[["ann", "bo"], ["bo", "bo"]],
            lone=["cy"],
            self_edges=True,
        ),
    ]

    test_no_prompt_twice = TestGraphWithPaths.test_no_prompt_twice

    def test_no_query_is_a_fact(self, config: Any) -> None:
        assert len(config.build(seed=3).queries) == 0

    def test_roles_are_known(self, config: Any) -> None:
        assert set(config.build(seed=3).facts.role_names) <= set(FACT_ROLES)

    def test_token_ids_are_in_range(self, config: Any) -> None:
        world = config.build(seed=3)
        for ids in (world.facts.prompts, world.facts.answers):
            assert ids.dtype == np.int64
            assert 0 <= ids.min() <= ids.max() < len(world.vocabulary)


def pairs(world: World, role: str) -> list[tuple[int, int]]:
    if role not in world.facts.role_names:
        return []
    prompts, answers = world.facts.matrix(world.facts.with_role(role))
    return list(zip(prompts[:, 0].tolist(), answers[:, 0].tolist(), strict=True))


SHAPES = [
    (Graph(), 17, 16, [4] + [2] * 12 + [1] * 4),
    (Graph(shape="grid"), 16, 24, [4] * 4 + [3] * 8 + [2] * 4),
    (Graph(shape="cycle"), 15, 15, [2] * 15),
    (Graph(shape="irregular"), 16, 20, [3] * 8 + [2] * 8),
    (Graph(shape="tree-star", arms=3, nodes=4), 22, 21, [3] * 10 + [1] * 12),
    (Graph(arms=5000), 20_001, 20_000, [5000] + [2] * 15_000 + [1] * 5000),
]


@pytest.mark.parametrize(("config", "nodes", "links", "degrees"), SHAPES)
def test_shapes_of_the_paper(
    config: Graph, nodes: int, links: int, degrees: list[int]
) -> None:
    world = config.build(seed=1)
    assert len(world.vocabulary) == nodes
    forward, back = pairs(world, "edge"), pairs(world, "reverse_edge")
    assert len(set(forward)) == len(forward) == links
    assert back == [(v, u) for u, v in forward]
    counts = Counter(u for u, _ in forward + back)
    assert sorted(counts.values(), reverse=True) == degrees


def test_shuffling_renames_the_same_graph() -> None:
    plain = nx.DiGraph(pairs(Graph(shuffled=False).build(), "edge"))
    worlds = [Graph().build(seed) for seed in (1, 2)]
    for seed, world in zip((1, 2), worlds, strict=True):
        ids = Graph().labels(seed)
        renamed = {(int(ids[u]), int(ids[v])) for u, v in plain.edges}
        assert set(pairs(world, "edge")) == renamed
    assert pairs(worlds[0], "edge") != pairs(worlds[1], "edge")


def test_directions() -> None:
    both = Graph(shape="cycle").build()
    forward, backward = (
        Graph(shape="cycle", edges=e).build() for e in ("forward", "backward")
    )
    assert forward.facts.role_names == ("edge",)
    assert backward.facts.role_names == ("reverse_edge",)
    assert pairs(forward, "edge") == pairs(both, "edge")
    assert pairs(backward, "reverse_edge") == pairs(both, "reverse_edge")
    selves = Graph(shape="cycle", self_edges=True).build()
    assert sorted(pairs(selves, "self_edge")) == [(i, i) for i in range(15)]


def test_a_token_of_edges_and_idle_ones_change_nothing_else() -> None:
    plain, told = (Graph(self_edges=True, **more).build(4) for more in ({}, TOLD))
    assert told.vocabulary.names[17:] == ("<edge>", "<idle1>", "<idle2>")
    assert told.vocabulary.names[:17] == plain.vocabulary.names
    for role in plain.facts.role_names:
        (asked, said), (bare, expected) = (
            world.facts.matrix(world.facts.with_role(role)) for world in (told, plain)
        )
        assert asked[:, 1:].tolist() == bare.tolist()
        assert (asked[:, 0] == 17).all()
        assert said.tolist() == expected.tolist()
    assert np.array_equal(adjacency(told), adjacency(plain))
    assert Graph(**TOLD).written_out().edge_token


def test_paths_walk_along_edges_from_the_root() -> None:
    for config in (
        Graph(paths=True),
        Graph(shape="tree-star", arms=3, nodes=4, paths=True),
    ):
        world = config.build(seed=2)
        steps = set(pairs(world, "edge"))
        prompts, answers = world.queries.matrix(world.queries.with_role("path"))
        assert len({row[0] for row in answers.tolist()}) == 1
        assert (prompts[:, 0] == world.vocabulary.id("<path>")).all()
        assert (prompts[:, 1] == answers[:, -1]).all()
        assert len(set(prompts[:, 1].tolist())) == len(prompts)
        for row in answers.tolist():
            assert set(pairwise(row)) <= steps


# --- a user's lists of edges


def test_what_a_users_graph_may_be() -> None:
    """Isolated nodes, several components, loops, parallel edges and labels of any type."""
    graph = nx.MultiGraph()
    graph.add_edges_from(
        [("a", "b"), ("a", "b"), ("c", (1, 2)), ("b", "b"), (3.5, "c")]
    )
    graph.add_node("alone")
    config = from_networkx(graph)
    world = config.build(seed=9)
    names = world.vocabulary.names
    assert set(names) == {"a", "b", "c", "(1, 2)", "3.5", "alone"}
    assert {(names[u], names[v]) for u, v in pairs(world, "self_edge")} == {("b", "b")}
    assert len(world.facts) == 3 * 2 + 1
    assert world.vocabulary.id("alone") not in world.inputs
    assert config.build(seed=1).facts.equals(world.facts)  # its labels are its own

    with pytest.raises(DataError, match=r"two nodes .* '1' when converted"):
        from_networkx(nx.Graph([(1, "1")]))
    with pytest.raises(DataError, match="no edge"):
        from_networkx(nx.empty_graph(3))
    for setting in ("self_edge", "shape"):
        with pytest.raises(
            ConfigError, match=f"unknown setting of a graph '{setting}'"
        ):
            from_networkx(graph, **{setting: True})


def test_an_edge_listed_both_ways_is_no_reverse_of_itself() -> None:
    world = from_networkx(
        nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")]), edges="both"
    ).build()
    assert len(pairs(world, "edge")) == 3
    assert len(pairs(world, "reverse_edge")) == 1


def test_a_directed_graph_keeps_its_directions() -> None:
    links = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "c")]
    world = from_networkx(nx.MultiDiGraph(links)).build()
    named = {
        (world.vocabulary.names[u], world.vocabulary.names[v])
        for u, v in pairs(world, "edge")
    }
    assert named == {("a", "b"), ("b", "a"), ("b", "c")}
    assert "reverse_edge" not in world.facts.role_names
    assert "reverse_edge" in from_networkx(nx.Graph(links)).build().facts.role_names
    with pytest.raises(DataError, match="expected a networkx graph, got list"):
        from_networkx(links)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1),
    st.lists(st.integers(7, 9)),
)
def test_text_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    links: list[tuple[int, int]],
    lone: list[int],
) -> None:
    found = EdgeList.collect([(str(u), f"x {v}") for u, v in links], map(str, lone))
    file = write_edges(found, tmp_path_factory.mktemp("edges") / "edges.txt")
    assert read_edges(file) == found
    world = Graph(shape="file", file=str(file)).build()
    again = read_edges(write_edges(world, file.with_name("again.txt")))
    assert set(again.links) == set(found.links)
    assert set(again.nodes) == set(found.nodes)


def test_paths_survive_the_text_form(tmp_path: Path) -> None:
    world = Graph(paths=True).build(seed=4)
    file = write_edges(world, tmp_path / "star.txt")
    assert "=" in file.read_text().splitlines()[0]
    read = Graph(shape="file", file=str(file), paths=True).build()

    def answers(of: World) -> set[str]:
        return {
            of.vocabulary.text(of.queries.answer(i)) for i in range(len(of.queries))
        }

    assert answers(world) == answers(read)
    assert len(answers(world)) == 4


def test_csv_and_graphml(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text(
        'Source,Target,weight\nann,"bo, jr",3\n\nann,"bo, jr",4\nbo,ann,1\n'
    )
    assert read_edges(file).links == (("ann", "bo, jr"), ("bo", "ann"))
    file.write_text("1,2\n2,3\n")
    assert read_edges(file).links == (("1", "2"), ("2", "3"))
    club = nx.karate_club_graph()
    nx.write_graphml(club, tmp_path / "club.graphml")
    world = Graph(shape="file", file=str(tmp_path / "club.graphml")).build()
    assert len(world.facts) == 2 * club.number_of_edges() == 156
    assert len(world.vocabulary) == 34


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.txt", "a=b\nb c\n", r"e\.txt, line 2: expected 'u=v'.*got 'b c'"),
        ("e.txt", "a=b=c\n", r"line 1: expected 'u=v'"),
        ("e.txt", "=b\n", r"line 1: expected 'u=v'"),
        ("e.txt", "a=b\nb=a,c\n", r"line 2: a path .* end at its leaf 'b'"),
        ("e.txt", "a=b\nc=a,b,c\n", r"path to 'c' needs the edge 'b=c'"),
        ("e.txt", "# nothing\n", "has no edge"),
        ("e.csv", "a,b\n\nc\n", r"e\.csv, line 3: expected two labels.*got 'c'"),
        ("e.csv", "a,b,c\n", "more columns need a header"),
        ("e.csv", "a,\n", "line 1: expected two labels"),
        ("e.graphml", "<graphml>\n<node</graphml>", r"not a GraphML file: .*line 2"),
        (
            "e.graphml",
            '<!DOCTYPE g [<!ENTITY x "y">]><graphml/>',
            "declares the XML entity 'x'",
        ),
        (
            "e.graphml",
            '<!DOCTYPE g [<!ENTITY x SYSTEM "/etc/passwd">]><g/>',
            "XML entity 'x'",
        ),
        ("e.txt", "a=\xff\n", "not text in UTF-8"),
    ],
)
def test_a_broken_file_says_where(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    file = tmp_path / name
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=message):
        Graph(shape="file", file=str(file)).build()


@pytest.mark.parametrize("name", ["g.adjlist", "g.graphml"])
def test_a_graph_that_may_not_be_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    def deny(*_args: Any, **_options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / name).write_text("a b\n", encoding="utf-8")
    monkeypatch.setattr("networkx.read_adjlist", deny)
    monkeypatch.setattr(Path, "open", deny)
    with pytest.raises(DataError, match=r"cannot read .*: Permission denied"):
        read_edges(tmp_path / name)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="n must be at least 3, got 2"):
        Graph(shape="cycle", n=2)
    with pytest.raises(ConfigError, match="one node"):
        Graph(shape="grid", rows=1, columns=1)
    with pytest.raises(ConfigError, match="must be set"):
        Graph(file="x.csv")
    with pytest.raises(ConfigError, match="must be set"):
        Graph(shape="edges")
    with pytest.raises(ConfigError, match="must be a pair of labels"):
        Graph(shape="edges", links=[["a"]])
    with pytest.raises(ConfigError, match="cycle has no root"):
        Graph(shape="cycle", paths=True)
    with pytest.raises(DataError, match="cannot read"):
        Graph(shape="file", file=str(tmp_path / "none.txt")).build()
    file = tmp_path / "e.txt"
    file.write_text("a=b\nb=c\nc=a,b,c\nb=a,b\n")
    with pytest.raises(DataError, match="must have the same length"):
        Graph(shape="file", file=str(file), paths=True).build()
    file.write_text("a=b\n")
    with pytest.raises(DataError, match="has no line"):
        Graph(shape="file", file=str(file), paths=True).build()
    assert np.array_equal(Graph(shape="file", file=str(file)).labels(5), [0, 1])


# --- well-known graphs, and graphs in files


@pytest.mark.parametrize("name", CLASSICS)
def test_a_classic_is_the_graph_of_networkx(name: str) -> None:
    world = Graph(shape=name).build(seed=3)  # type: ignore[arg-type]
    theirs = getattr(nx, CLASSICS[name])()
    names = world.vocabulary.names
    assert set(names) == {str(node) for node in theirs}
    ours = {frozenset((names[u], names[v])) for u, v in pairs(world, "edge")}
    assert ours == {frozenset(map(str, edge)) for edge in theirs.edges}
    again = Graph(shape=name).build(seed=4)  # type: ignore[arg-type]
    assert again.facts.equals(world.facts)  # its labels are its own


@pytest.mark.parametrize(
    "config",
    [
        Graph(shape="grid", rows=2, columns=3, shuffled=False, edges="forward"),
        Graph(shape="karate-club", self_edges=True),
        Graph(shape="edges", links=[["b", "a"], ["c", "c"]], lone=["z", "y"]),
    ],
)
def test_written_out_it_is_the_same_world(config: Graph) -> None:
    ours, theirs = config.written_out().build(), config.build()
    assert ours.facts.equals(theirs.facts)
    assert ours.vocabulary.names == theirs.vocabulary.names


def test_written_out_it_outlives_its_file(tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_text("a,b\nb,c\n", encoding="utf-8")
    kept = Graph(shape="file", file=str(file)).written_out()
    file.write_text("x,y\n", encoding="utf-8")
    assert kept.links == [["a", "b"], ["b", "c"]]
    assert kept.build().vocabulary.names == ("a", "b", "c")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"shape": "cycle", "nodes": 8},
            "'nodes' does not apply to the shape 'cycle', .* its size is n",
        ),
        (
            {"shape": "grid", "n": 9},
            "'n' does not apply to the shape 'grid', .* is rows, columns",
        ),
        (
            {"shape": "path-star", "branches": 3},
            "'branches' does not apply to the shape 'path-star'",
        ),
        (
            {"shape": "cycle", "header": "yes"},
            "header has no effect when shape = 'cycle'",
        ),
        ({"ends": "1,2"}, "ends has no effect when shape = 'path-star'"),
        ({"shape": "karate-club", "arms": 3}, "'karate-club', .* it has no size"),
        (
            {"shape": "edges", "links": [["a", "b"]], "rows": 2},
            "does not apply to the shape 'edges'",
        ),
    ],
)
def test_a_size_that_a_shape_does_not_have_is_refused(given, message) -> None:
    with pytest.raises(ConfigError, match=message):
        Graph(**given)
