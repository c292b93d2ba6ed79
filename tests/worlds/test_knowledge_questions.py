"""Unstated questions of each kind, on fact sets where they can be listed by hand."""

from __future__ import annotations

import tracemalloc
from functools import partial
from pathlib import Path

import pytest
from tests.counting import lines_of

from inweights.errors import ConfigError
from inweights.theory import predict
from inweights.worlds import Triples, World, open_world
from inweights.worlds.knowledge.questions import questions


def asked(folder: Path, kind: str, *rows: str) -> set[str]:
    world = ask(folder, kind, *rows)
    name, part = world.vocabulary.text, world.queries
    return {
        f"{name(part.prompt(i))} → {name(part.answer(i))}" for i in range(len(part))
    }


def ask(folder: Path, kind: str, *rows: str) -> World:
    path = folder / "facts.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return open_world(path, [f"questions={kind}"])


def test_chains_of_three_lead_through_four_entities(tmp_path: Path) -> None:
    rows = ("a,r,b", "b,s,c", "c,t,d", "c,u,a")
    assert asked(tmp_path, "chain", *rows) == {"a r s t → d"}  # u leads back


def test_reversals_need_two_that_are_told(tmp_path: Path) -> None:
    """Two pairs of child and parent are stated in both directions, two in one."""
    both = ("a,child,b", "b,parent,a", "c,child,d", "d,parent,c")
    assert asked(tmp_path, "reversal", *both, "e,child,f", "h,parent,g") == {
        "f parent → e",
        "g child → h",
    }
    assert asked(tmp_path, "reversal", *both[:2], "e,child,f") == set()
    spouses = ("a,spouse,b", "b,spouse,a", "c,spouse,d")
    assert asked(tmp_path, "reversal", *spouses) == {"d spouse → c"}


def test_all_inverses_that_are_told_as_often_are_asked_in_any_order(
    tmp_path: Path,
) -> None:
    """The order of the lines does not decide which of two inverses is evaluated."""
    both = ["a,child,b", "b,parent,a", "b,kin,a", "c,child,d", "d,kin,c", "d,parent,c"]
    expected = {"f parent → e", "f kin → e"}
    assert asked(tmp_path, "reversal", *both, "e,child,f") == expected
    assert asked(tmp_path, "reversal", *both[::-1], "e,child,f") == expected


def test_what_a_reversal_answers_is_not_unstated(tmp_path: Path) -> None:
    """A guess would count as a right answer that depends on the order of the lines."""
    both = ("a,child,b", "b,parent,a", "c,child,d", "d,parent,c")
    # Entity b has both attributes, and f has one of the two.
    rows = (
        *both,
        "b,child,h",
        "e,child,f",
        "f,child,g",
    )
    assert "f parent → e" in asked(tmp_path, "reversal", *rows)
    assert not {
        q for q in asked(tmp_path, "unstated", *rows) if q.startswith("f parent")
    }


def test_a_hub_costs_what_it_has_neighbours_and_not_their_square() -> None:
    """The cost of a hub is linear in its number of neighbours, not quadratic."""

    def ask(half: int) -> None:
        hub, home, sides = 2 * half, 2 * half + 1, range(half)
        rows = [(i, home, hub) for i in sides] + [
            (hub, home + 1 + i, half + i) for i in sides
        ]
        found = questions(rows, ["chain", "reversal"])
        assert not any(len(prompts) for prompts, _ in found.values())

    ask(300)  # imports are excluded from the measurement
    tracemalloc.start()
    ask(3000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3000**2  # in bytes; less than one byte per pair
    few, many = (lines_of(partial(ask, half)) for half in (300, 600))
    assert many < 3 * few


def test_two_who_agree_vouch_for_a_third(tmp_path: Path) -> None:
    rows = (
        "a,lives,rome",
        "b,lives,rome",
        "c,lives,rome",
        "a,speaks,italian",
        "b,speaks,italian",
    )
    assert asked(tmp_path, "implication", *rows) == {"c speaks → italian"}
    assert asked(tmp_path, "unstated", *rows) == set()


@pytest.mark.parametrize(
    "speech", [("a,speaks,italian",), ("a,speaks,italian", "b,speaks,french")]
)
def test_one_or_two_who_differ_do_not(tmp_path: Path, speech: tuple[str, ...]) -> None:
    rows = ("a,lives,rome", "b,lives,rome", "c,lives,rome", *speech)
    assert asked(tmp_path, "implication", *rows) == set()
    assert "c speaks → italian" in asked(tmp_path, "unstated", *rows)


def test_identities_are_rows_of_the_file(tmp_path: Path) -> None:
    """A row ``rome,is,rome`` is an identity, and changes the prediction as the advice states."""
    rows = ("ann,home,rome", "bob,home,oslo", "rome,in,italy", "oslo,in,norway")
    before = predict(ask(tmp_path, "composition", *rows))
    assert before.advice is not None
    added = [f"{name},is,{name}" for name in before.advice.identities]
    world = ask(tmp_path, "composition", *rows, *added)
    after = predict(world)
    assert after.queries["verdict"].to_list() == ["follows", "follows"]
    assert after.advice is None
    assert "is" not in world.vocabulary.text(world.facts.prompts)
    by_option = Triples(path=str(tmp_path / "facts.csv"), identity=True).build()
    assert by_option.facts.equals(world.facts)  # a repeated row is counted once


def test_a_name_may_be_an_entity_and_a_relation(tmp_path: Path) -> None:
    world = ask(tmp_path, "composition", "a,b,c", "c,a,b")
    assert world.vocabulary["relation"].tolist() == [3, 4]
    assert asked(tmp_path, "composition", "a,b,c", "c,a,b") == {
        "a b (relation) a (relation) → b"
    }


def test_unknown_kinds_name_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'reversal'"):
        ask(tmp_path, "reversals", "a,r,b")
