"""The search for reversals and counter-examples, on problems whose solutions are given."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from inweights.theory.prediction.remedies import Remedy, remedies
from inweights.worlds import Implication, Reversal, World

#: Questions 0, 3, 6, 7 and 9 have the answer c1, the others c2.
GROUPS = Implication(groups=2, members=7, told=2).build()
TURNED = Reversal(n=4, identity="none").build()


@pytest.fixture(autouse=True)
def unstored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "inweights.theory.prediction.remedies.unstored",
        lambda solution: solution.unstored,
    )


def searched(
    world: World,
    now: pl.DataFrame,
    after: dict[int, pl.DataFrame],
    *,
    lost: int = 0,
    unstored: dict[int, int] | None = None,
) -> tuple[tuple[Remedy, ...], list[int]]:
    """Return the remedies, and the numbers of added statements of each solved program."""
    numbers: list[int] = []

    def forecast(_: World, what: str) -> Any:
        number = int(what.split()[1])
        numbers.append(number)
        missing = (unstored or {}).get(number, 0)
        return SimpleNamespace(status="certified", unstored=missing), after[number], ""

    return remedies(world, now, forecast, None, lost), numbers


def asserted(**queries: tuple[str, float]) -> pl.DataFrame:
    """Return a prediction with the given assertions and margins for ``q0``, ``q1``, …."""
    rows = [(int(name[1:]), said, margin) for name, (said, margin) in queries.items()]
    table = pl.DataFrame(rows, ["query", "predicted", "margin"], orient="row")
    return table.with_columns(role=pl.lit("unstated"), verdict=pl.lit("asserted"))


def turned(follows: list[int]) -> pl.DataFrame:
    verdicts = ["follows" if q in follows else "fails" for q in range(4)]
    return pl.DataFrame({"query": range(4), "role": "reversal", "verdict": verdicts})


FIVE = asserted(
    **{f"q{q}": ("c2", 0.5) for q in (1, 2, 4, 5, 8)},
    **{f"q{q}": ("c1", 0.9) for q in (0, 3)},
)


@pytest.mark.parametrize(
    ("still", "denied", "flipped"),
    [
        ({1: 2}, 1, 2),
        ({1: 0}, 1, 4),
        ({1: 3, 2: 1}, 2, 2),
        ({1: 3, 2: 2, 4: 1}, 4, 0),
        ({1: 3, 2: 2, 4: 0}, 4, 1),
    ],
)
def test_as_few_are_denied_as_turn_half_of_the_others(
    still: dict[int, int], denied: int, flipped: int
) -> None:
    """Of five assertions, at most half are contradicted without success."""
    after = {}
    for number, count in still.items():
        rest = [1, 2, 4, 5, 8][number:]
        gone = pl.col("query").is_in(rest[count:])
        after[number] = FIVE.with_columns(
            # A changed question has a different answer or is no longer asserted.
            predicted=pl.when(gone & (pl.col("query") > 4))
            .then(pl.lit("c1"))
            .otherwise("predicted"),
            verdict=pl.when(gone & (pl.col("query") <= 4))
            .then(pl.lit("open"))
            .otherwise("verdict"),
        )
    (remedy,), numbers = searched(GROUPS, FIVE, after)
    assert numbers == list(still)
    assert (remedy.flipped, remedy.of, remedy.broken) == (flipped, 5 - denied, 0)
    prompts = ["a2", "a4", "a8", "a10"][:denied]
    assert remedy.statements == tuple(f"({a} attribute) → unknown" for a in prompts)
    assert remedy.against == "'attribute' is c2, which is not stated"


def test_the_most_frequent_assertion_is_denied_or_that_with_the_larger_margin() -> None:
    """Among equal assertions, the first one is contradicted."""
    for margins, said in (
        ((0.5, 0.4), "c1"),
        ((0.4, 0.5), "c2"),
        ((0.5, 0.5), "c1"),
    ):
        one, other = margins
        now = asserted(
            **{f"q{q}": ("c1", one) for q in (0, 3)},
            **{f"q{q}": ("c2", other) for q in (1, 2)},
        )
        (remedy,), _ = searched(GROUPS, now, {1: now.clear()})
        assert f"is {said}, which" in remedy.against
    # Half of four assertions are contradicted, even without success.
    four = asserted(**{f"q{q}": ("c2", 0.5) for q in (1, 2, 4, 5)})
    (remedy,), numbers = searched(GROUPS, four, {1: four, 2: four})
    assert (numbers, remedy.flipped, remedy.of) == ([1, 2], 0, 2)
    none, numbers = searched(GROUPS, asserted(q0=("c1", 1.0)), {})
    assert (none, numbers) == ((), [])


def test_counter_examples_that_cannot_be_stored_are_no_remedy() -> None:
    """Questions that no longer follow are counted."""
    follows = FIVE.filter(query=0).with_columns(
        query=pl.lit(6, pl.Int64), role=pl.lit("edge"), verdict=pl.lit("follows")
    )
    now = pl.concat([FIVE, follows])
    options: dict[str, Any] = {"unstored": {1: 1}}
    assert searched(GROUPS, now, {1: FIVE.clear()}, **options) == ((), [1])
    (remedy,), _ = searched(GROUPS, now, {1: FIVE.clear()}, lost=1, **options)
    assert (remedy.flipped, remedy.broken) == (4, 1)


@pytest.mark.parametrize(
    ("follows", "told", "flipped", "solved"),
    [
        # With all identities, all questions follow, so no other number is tried.
        ({0: [0, 1, 2, 3]}, 0, 4, [0]),
        ({0: [], 1: [1], 2: [2, 3]}, 2, 2, [0, 1, 2]),
        ({0: [0, 1], 1: [1, 2], 2: [2]}, 1, 2, [0, 1, 2]),
        # Among equal shares, the smallest number wins; stated reversals are not counted.
        ({0: [0, 1], 1: [0, 3], 2: [0, 1, 2]}, 0, 2, [0, 1, 2]),
    ],
)
def test_the_number_of_reversals_that_flips_the_largest_share_is_told(
    follows: dict[int, list[int]], told: int, flipped: int, solved: list[int]
) -> None:
    after = {number: turned(found) for number, found in follows.items()}
    (remedy,), numbers = searched(TURNED, turned([]), after)
    assert numbers == solved
    assert (remedy.kind, remedy.flipped, remedy.of) == ("reversals", flipped, 4 - told)
    # Neither end of the four reversals has an identity.
    assert len(remedy.statements) == 8 + told
    assert sum("reverse" in one for one in remedy.statements) == told


def test_reversals_that_cannot_be_stored_or_that_break_others() -> None:
    after = {0: turned([0, 1, 2]), 1: turned([1]), 2: turned([2])}
    (remedy,), numbers = searched(TURNED, turned([3]), after, unstored={0: 1})
    assert numbers == [0, 1, 2]
    # One reversal remains after two were stated; question 3 no longer follows.
    assert (remedy.flipped, remedy.of, remedy.broken) == (1, 1, 1)
    assert searched(TURNED, turned([0, 1, 2]), after) == ((), [])
    two = {0: turned([2, 3]), 1: turned([1, 2, 3])}
    (remedy,), numbers = searched(TURNED, turned([2, 3]), two)
    assert (numbers, remedy.flipped, remedy.of) == ([0, 1], 1, 1)
    nothing = {number: turned([]) for number in (0, 1, 2)}
    assert searched(TURNED, turned([]), nothing)[0] == ()


def test_without_time_nothing_is_solved() -> None:
    def refuse(*_: object) -> Any:
        raise AssertionError("nothing is solved")

    late = time.perf_counter()
    assert remedies(GROUPS, FIVE, refuse, late) == ()
    assert remedies(TURNED, turned([]), refuse, late) == ()
