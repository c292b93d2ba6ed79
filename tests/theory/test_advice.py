"""The search for identities to advise, on problems whose solutions are given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import permutations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.theory.test_program import VOCABULARY, world

from inweights.theory.prediction import advice
from inweights.theory.prediction.advice import Advice, advise_identities, bridges
from inweights.worlds import TwoHop, World

#: The n-th question has the n-th bridge, which has no identity.
FOUR = TwoHop(n=4, identity=False).build()


def table(follows: Iterable[int], roles: Iterable[str]) -> pl.DataFrame:
    roles, found = list(roles), set(follows)
    verdicts = ["follows" if i in found else "fails" for i in range(len(roles))]
    return pl.DataFrame(
        {"query": range(len(roles)), "role": roles, "verdict": verdicts}
    )


def advised(
    follows: Callable[[set[int]], set[int]],
    *,
    made: World = FOUR,
    roles: Iterable[str] = 4 * ("composition",),
    late: float | None = None,
    lost: int = 0,
    lacking: Callable[[set[int]], int] = lambda _: 0,
    certified: Callable[[set[int]], bool] = lambda _: True,
) -> Advice:
    """Return advice if ``follows`` states which questions follow from a set of bridges."""
    lacked = made.vocabulary.groups["bridge"]

    def forecast(more: World, _: str) -> Any:
        stated = advice.stated_identities(more)
        told = {i for i, b in enumerate(lacked) if more.vocabulary.id(b) in stated}
        status = "certified" if certified(told) else "not certified"
        solution = SimpleNamespace(status=status, gap=0.0, unstored=lacking(told))
        return solution, table(follows(told), roles), ""

    now = table(follows(set()), roles)
    found = advise_identities(made, now, forecast, late, lost)
    assert found is not None
    return found


def named(found: Advice) -> set[int]:
    return {int(name.removeprefix("b")) - 1 for name in found.identities}


@pytest.fixture(autouse=True)
def unstored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "unstored", lambda solution: solution.unstored)


def chained(
    facts: set[tuple[str, str]], prompt: list[str], answers: set[str]
) -> set[str]:
    """Return chains by definition: a fact's answer replaces the first token of a prompt."""
    found: set[str] = set()
    for one, other in permutations(range(len(prompt)), 2):
        rest = [token for i, token in enumerate(prompt) if i not in (one, other)]
        for said, bridge in facts:
            if said == f"{prompt[one]} {prompt[other]}":
                bag = [bridge, *rest]
                ways = {f"{a} {b}" for a, b in permutations(bag, 2)}
                if len(bag) == 2 and any(
                    (a, x) in facts for a in ways for x in answers
                ):
                    found.add(bridge)
                elif further := chained(facts, bag, answers):
                    found |= {bridge, *further}
    return found


@pytest.mark.parametrize("seed", range(10))
def test_bridges_are_those_of_the_definition(seed: int) -> None:
    """For chains of two, three and four facts, also if a question has several right answers."""
    rng = np.random.default_rng(seed)
    entities, relations = VOCABULARY.groups["entity"], VOCABULARY.groups["relation"]
    prompts = [f"{s} {r}" for s, r in product(entities, relations)]
    drawn = rng.choice(entities, size=9).tolist()
    facts = set(zip(rng.choice(prompts, size=9).tolist(), drawn, strict=True))
    asked = [("a r s", "x"), ("a r s", "y"), ("b r s r", "z"), ("a r r s s", "b")]
    made = world(*sorted(facts), queries=tuple(asked))
    names = made.vocabulary.names
    expected = set()
    for query in range(len(made.queries)):
        prompt = [names[token] for token in made.queries.prompt(query)]
        answers = {answer for one, answer in asked if one.split() == prompt}
        expected |= {(query, name) for name in chained(facts, prompt, answers)}
    assert {(query, names[b]) for query, b in bridges(made)} == expected


@pytest.mark.parametrize("prompt", ["a r", "a r s"])
def test_facts_of_one_token_may_lead_in_a_circle(prompt: str) -> None:
    """Only the first chain ends at a right answer, and the search for others terminates."""
    facts = (("a", "b"), ("b", "a"), ("b r", "x"), ("b r s", "x"))
    for answer, found in (("x", [(0, VOCABULARY.id("b"))]), ("y", [])):
        assert bridges(world(*facts, queries=((prompt, answer),))) == found


def test_what_no_identity_helps_stays_open() -> None:
    """No smaller sets are tried, and questions without a right answer are not counted."""
    roles = ("composition", "chain", "unstated", "composition")
    found = advised(lambda _: {3}, roles=roles)
    assert (found.identities, found.mended, found.broken) == ((), (), ())
    assert found.open == (0, 1)
    assert found.solutions == 1
    assert found.most == (2, 0)


@pytest.mark.parametrize("needed", [{0}, {2}, {3}, {0, 1}, {1, 2}, {1, 2, 3}])
def test_only_identities_that_help_are_advised(needed: set[int]) -> None:
    found = advised(lambda told: needed & told)
    assert named(found) == needed
    assert found.mended == tuple(sorted(needed))
    assert found.open == tuple(sorted({0, 1, 2, 3} - needed))
    assert found.most == (4, len(needed))


def test_questions_that_follow_no_longer_count_against_a_set() -> None:
    """All four identities break the last question, and the advice on all four counts it."""

    def follows(told: set[int]) -> set[int]:
        return (told - {3}) | ({3} if len(told) < 4 else set())

    found = advised(follows)
    assert 3 not in found.broken
    assert len(found.mended) == 3
    assert found.most == (3, 3)
    worse = advised(lambda told: {0} if told else {1, 2, 3})
    assert (worse.mended, worse.broken, worse.open) == ((0,), (1, 2, 3), ())
    assert worse.most == (1, -2)


def test_identities_that_cannot_be_stored_together_are_left_out() -> None:
    def lacking(told: set[int]) -> int:
        return int({0, 1} <= told)

    found = advised(lambda told: told, lacking=lacking)
    assert named(found) in ({0, 2, 3}, {1, 2, 3})
    assert found.why == "not all 4 can be stored"
    assert found.most == (4, 4)
    every = advised(lambda told: told, lacking=lacking, lost=1)
    assert (named(every), every.why) == ({0, 1, 2, 3}, "")


def test_nothing_is_advised_if_nothing_can_be_stored() -> None:
    """The solved programs are those of the whole set, both halves and each single identity."""
    found = advised(lambda told: told, lacking=len)
    assert (found.identities, found.mended) == ((), ())
    assert found.open == (0, 1, 2, 3)
    assert found.solutions == 7


def test_of_two_identities_one_may_be_left_out() -> None:
    two = TwoHop(n=2, identity=False).build()
    roles = 2 * ("composition",)
    for needed in ({0}, {1}):
        found = advised(needed.intersection, made=two, roles=roles)
        assert named(found) == needed
    found = advised(
        lambda told: told,
        made=two,
        roles=roles,
        lacking=lambda told: int(len(told) > 1),
    )
    assert len(found.identities) == 1


def test_a_certificate_is_not_given_up_for_a_smaller_set() -> None:
    whole = {0, 1, 2, 3}
    found = advised(lambda told: {0} & told, certified=lambda told: told == whole)
    assert (named(found), found.status) == (whole, "certified")
    none = advised(lambda told: {0} & told, certified=lambda _: False)
    assert (named(none), none.status) == ({0}, "not certified")


def test_no_more_programs_are_solved_than_the_limit() -> None:
    """Sixteen identities are all needed, so halves, quarters and pairs are removed in turn."""
    sixteen = TwoHop(n=16, identity=False).build()
    found = advised(lambda told: told, made=sixteen, roles=16 * ("composition",))
    assert len(found.identities) == 16
    assert found.solutions == advice.TRIALS


def test_without_time_or_a_bridge_that_lacks_its_identity_there_is_no_advice() -> None:
    def refuse(*_: object) -> Any:
        raise AssertionError("nothing is solved")

    roles = 4 * ("composition",)
    every = table(range(4), roles)
    late = time.perf_counter()
    assert advise_identities(FOUR, every, refuse, None) is None
    assert advise_identities(FOUR, table((), roles), refuse, late) is None
    told = TwoHop(n=4, identity=True).build()
    assert advise_identities(told, table((), roles), refuse, None) is None


@pytest.mark.parametrize(("late", "solutions"), [(101.5, 1), (103.5, 3), (104.5, 4)])
def test_a_program_is_solved_if_as_much_time_is_left_as_one_takes(
    monkeypatch: pytest.MonkeyPatch, late: float, solutions: int
) -> None:
    """The clock starts at 100 s, and each program takes 1 s."""
    clock = [100.0]

    def follows(told: set[int]) -> set[int]:
        clock[0] += bool(told)
        return told

    watch = SimpleNamespace(perf_counter=lambda: clock[0])
    monkeypatch.setattr(advice, "time", watch)
    assert advised(follows, late=late).solutions == solutions
