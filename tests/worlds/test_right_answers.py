"""Queries with several right answers are merged by prompt, counted, saved and in keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inweights import probes
from inweights.models.configs import EmbMLPConfig
from inweights.worlds import Graph, Statements, Triples, World, load_world, save_world
from inweights.worlds.knowledge import two_steps
from inweights.worlds.knowledge.two_steps import composed
from inweights.worlds.vocabulary import Vocabulary

TWO = "ann,speaks,dutch\nann,speaks,greek\nbob,friend,ann\ncid,friend,bob\n"


def towns(folder: Path, text: str = TWO) -> Path:
    path = folder / "facts.csv"
    path.write_text(text, encoding="utf-8")
    return path


def pairs(**roles: list[tuple[list[int], int]]) -> Statements:
    parts = {}
    for role, rows in roles.items():
        parts[role] = ([prompt for prompt, _ in rows], [[answer] for _, answer in rows])
    return Statements.build(parts)


def test_one_query_for_each_role_and_prompt() -> None:
    given = pairs(
        composition=[([0, 5], 1), ([0, 6], 2), ([0, 5], 3), ([0, 5], 1)],
        reversal=[([0, 5], 4)],
    )
    made = given.by_prompt()
    assert [(one.role, one.prompt, one.answer) for one in made] == [
        ("composition", (0, 5), (1,)),
        ("composition", (0, 6), (2,)),
        ("reversal", (0, 5), (4,)),
    ]
    assert made.further.tolist() == [[0, 3]]
    # The prompt does not contain the role.
    assert made.right_answers(0).tolist() == [
        1,
        3,
        4,
    ]
    assert made.right_answers(2).tolist() == [4, 1, 3]
    assert made.right_counts.tolist() == [3, 1, 3]
    assert made.by_prompt() is made
    places, tokens = made.right_pairs(np.array([1, 0]))
    assert (places.tolist(), tokens.tolist()) == ([0, 1, 1, 1], [2, 1, 3, 4])
    taken = made.take(np.array([2, 0]))
    assert taken.further.tolist() == [[1, 3]]
    assert made.joined(taken).further.tolist() == [[0, 3], [4, 3]]


def test_statements_with_answers_of_several_tokens_stay_as_they_are() -> None:
    given = Statements.build({"path": ([[0], [0]], [[1, 2], [3, 4]])})
    assert given.by_prompt() is given


def test_moved_edges_are_right_among_themselves_only() -> None:
    made = pairs(
        edge=[([0], 1), ([0], 2)], moved_edge=[([0], 3)], reverse_edge=[([0], 4)]
    )
    assert sorted(made.right_answers(0).tolist()) == [1, 2, 4]
    assert made.right_answers(2).tolist() == [3]


def test_a_world_merges_the_queries_that_it_is_given() -> None:
    words = Vocabulary({"entity": ["a", "b", "x", "y"], "relation": ["r", "s"]})
    facts = pairs(triple=[([0, 4], 1), ([1, 5], 2), ([1, 5], 3)])
    world = World(
        "own", words, facts, pairs(composition=[([0, 4, 5], 2), ([0, 4, 5], 3)])
    )
    assert len(world.queries) == 1
    assert world.outputs.tolist() == [1, 2, 3]
    assert world.complexity == 2
    assert world.chances.tolist() == [2 / 3]
    assert world.table().row(-1)[2:] == ("a r s", "x", False, 2)


def test_a_saved_world_keeps_all_right_answers(tmp_path: Path) -> None:
    world = Triples(path=str(towns(tmp_path)), questions="all").build()
    read = load_world(save_world(world, tmp_path / "world"))
    assert read.queries.equals(world.queries)
    assert len(read.queries.further)


def test_only_files_with_several_right_answers_have_another_key(tmp_path: Path) -> None:
    """Earlier results of such files had one query for each answer."""
    several, single = towns(tmp_path), tmp_path / "single.csv"
    single.write_text(TWO.replace("ann,speaks,greek\n", ""), encoding="utf-8")
    assert list(Triples(path=str(several)).contents.values())[1:] == [
        "one query for each prompt"
    ]
    assert list(Triples(path=str(single)).contents) == [str(single)]
    assert Triples(path="@people").contents == {}


def test_a_hub_with_many_answers_is_asked_fewer_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [(i, 90, 50) for i in range(40)] + [(50, 91, 60 + i) for i in range(40)]
    prompts, answers, total = composed(np.array(rows))
    assert (len(answers), total) == (1600, 40)
    monkeypatch.setattr(two_steps, "ANSWERS", 450)
    fewer, answers, total = composed(np.array(rows))
    assert (len(answers), total) == (400, 40)
    assert np.unique(fewer, axis=0).tolist() == prompts[::160].tolist()


def test_probes_count_any_right_answer(tmp_path: Path) -> None:
    """The same model and world are evaluated with one right answer and with two."""
    world = Triples(path=str(towns(tmp_path))).build()
    names = world.vocabulary.names
    model = EmbMLPConfig(width=8).build(
        vocabulary=len(names), seeds=range(40), candidates=world.outputs.tolist()
    )
    bare = replace(world.queries, further=world.queries.further[:0])
    single = replace(world, queries=bare)
    one, two = (probes.margins(model, made) for made in (single, world))
    several = two["right_answers"].to_numpy() == 2
    assert set(two.filter(several)["prompt"]) == {"bob friend speaks"}
    hits = two["predicted"].is_in(["dutch", "greek"]).to_numpy()[several]
    assert hits.any()
    assert not hits.all()
    assert ((two["margin"].to_numpy() > 0)[several] == hits).all()
    assert (two["margin"].to_numpy() >= one["margin"].to_numpy()).all()
    shares = probes.accuracy(model, world).filter(part="queries")["accuracy"].to_numpy()
    right = (two["margin"].to_numpy() > 0).reshape(model.replicas, -1).mean(1)
    np.testing.assert_allclose(shares, right, rtol=1e-6)
    lens = probes.logit_lens(model, world, parts=["queries"]).filter(layer="sum")
    np.testing.assert_allclose(lens["accuracy"].to_numpy(), shares, rtol=1e-6)
    assert (lens["rank"].to_numpy() <= 3).all()


def test_a_world_of_edges_counts_every_neighbour() -> None:
    """In a square each node has two neighbours, by edges and by reversed edges."""
    world = Graph(shape="grid", rows=2, columns=2).build()
    assert set(world.facts.right_counts.tolist()) == {2}
    model = EmbMLPConfig(width=8).build(
        vocabulary=len(world.vocabulary), seeds=[0], candidates=world.outputs.tolist()
    )
    rows = probes.accuracy(model, world).filter(part="facts")
    for row in rows.iter_rows(named=True):
        own = world.facts.with_role(row["role"])
        among = len({world.facts.answer(int(i))[0] for i in own})
        assert row["chance"] == pytest.approx(row["right_answers"] / among)
        assert 1 <= row["right_answers"] <= 2
