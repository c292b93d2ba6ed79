"""The components of a prediction: verdicts from logits, and remedies of several parts."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
import pytest

from inweights import predict
from inweights.errors import SolverError
from inweights.theory import Solution, solve
from inweights.theory.prediction import advice_by_parts, parts_in_time, whole
from inweights.theory.prediction.advice import Advice
from inweights.theory.prediction.advice_by_parts import _joined, _together
from inweights.theory.prediction.calibration.fitted import Nearest
from inweights.theory.prediction.remedies import Remedy
from inweights.theory.prediction.tables import _read
from inweights.theory.prediction.trust import propose_training
from inweights.theory.programs.large_scale import WIDEST_GAP
from inweights.theory.programs.soft_program import solve_soft
from inweights.worlds import TwoHop, World

if TYPE_CHECKING:
    from inweights.theory import Prediction


@pytest.mark.parametrize(
    ("logits", "best", "margin", "tied", "expected", "lead"),
    [
        (
            [3.0, 1.0, 0.0, 9.0],
            3,
            2.0,
            1,
            1.0,
            6.0,
        ),  # outputs that are not rivals are ignored
        ([1.0, 3.0, 0.0, 0.0], 1, -2.0, 1, 0.0, 2.0),
        (
            [1.0, 0.5, 0.0, 0.0],
            0,
            0.5,
            2,
            0.5,
            0.5,
        ),  # a difference of half the limit is still a tie
        ([0.5, 1.0, 0.5, 0.0], 1, -0.5, 3, 1 / 3, 0.5),
        ([1.0, 0.4, 0.0, 0.0], 0, 0.6, 1, 1.0, 0.6),
    ],
)
def test_logits_are_read(logits, best, margin, tied, expected, lead) -> None:
    rivals = np.array([[False, True, True, False]])
    for scale in (1.0, 2.0):
        scaled = scale * np.array([logits])
        found = _read(scaled, np.array([0]), rivals.copy(), scale=scale, tie=0.5)
        for value, wanted in zip(
            found, (best, margin, tied, expected, lead), strict=True
        ):
            assert value.item() == pytest.approx(wanted)


def test_remedies_of_one_kind_are_joined() -> None:
    one = Remedy(
        "reversals", "b", ("x is y",), flipped=1, of=2, broken=3, status="certified"
    )
    two = Remedy(
        "reversals", "b", ("x is y", "u is v"), flipped=4, of=5, broken=6, status="open"
    )
    other = Remedy(
        "reversals", "c", ("s is t",), flipped=7, of=8, broken=9, status="open"
    )
    joined = Remedy("reversals", "b", ("x is y", "u is v"), 5, 7, 9, "open")
    assert _joined([one, other, two]) == [joined, other]
    assert _joined([two, one])[0].status == "open"
    assert _joined([one, one])[0].status == "certified"


def test_advice_of_parts_is_added_with_the_worst_certificate() -> None:
    one = Advice(("b", "c"), (3,), (5,), (), "certified", 1e-3, 2, "large", (2, 4))
    two = Advice(("d", "b"), (1,), (), (7,), "uncertified", 1e-4, 1, "large", (3, 6))
    both = Advice(
        ("b", "c", "d"), (1, 3), (5,), (7,), "uncertified", 1e-4, 3, "large", (5, 10), 2
    )
    together = _together([one, two])
    assert together is not None
    assert asdict(together) == asdict(both)
    assert _together([one]) is one
    assert _together([]) is None


@pytest.mark.parametrize(
    ("outlook", "distance", "error", "proposed"),
    [
        (["likely"] * 4, 1.5, 0.1, False),
        (["likely"] * 3 + ["open"], 1.0, 0.1, True),  # a quarter is undecided
        (["likely"] * 4 + ["open"], 1.0, 0.1, False),
        (["likely"] * 4, 1.6, 0.1, True),  # no family is similar
        (["likely"] * 4, 1.0, 0.4, True),  # the most similar family had a large error
        ([], 1.0, 0.1, False),
    ],
)
def test_training_is_proposed_where_a_prediction_is_uncertain(
    outlook, distance, error, proposed
) -> None:
    program = SimpleNamespace(world=SimpleNamespace(facts=range(100)))
    prediction = SimpleNamespace(
        probabilities={"outlook": pl.Series(outlook, dtype=pl.String)},
        nearest=Nearest("even", distance, {"GPT": error}),
        solution=SimpleNamespace(program=program),
    )
    said = propose_training(cast("Prediction", prediction))
    assert said == "" if not proposed else "--by training" in said


def test_the_soft_program_gets_the_time_that_is_left(monkeypatch) -> None:
    """Program (2) has no solution here, and the time that it took is no longer available."""
    times = iter([100.0, 103.0])
    given = []

    def soft(program, decay, *, seconds, **options):
        given.append(seconds)
        return solve_soft(program, decay, iterations=50, gap=0.5)

    clock = SimpleNamespace(perf_counter=lambda: next(times))
    monkeypatch.setattr(parts_in_time, "time", clock)
    monkeypatch.setattr(parts_in_time, "solve", refuse)
    monkeypatch.setattr(parts_in_time, "solve_soft", soft)
    _, why = parts_in_time.solve_piece(
        TwoHop(n=3).build(),
        answers="several",
        decay=None,
        gap=0.1,
        iterations=50,
        seconds=10.0,
        progress=None,
    )
    assert given == [7.0]
    assert why == "No solution."


def refuse(*arguments: object, **options: object) -> None:
    raise SolverError("no solution")


def test_a_prediction_says_why_it_has_no_advice(monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise SolverError("no matrix with positive margins was found")

    monkeypatch.setattr("inweights.theory.prediction.predict.advise_parts", refuse)
    found = predict(TwoHop(n=3, identity=False).build())
    assert found.advice is None
    assert found.why == (
        "No advice was found, as its program was not solved: no matrix with positive "
        "margins was found."
    )


def test_each_program_of_the_search_gets_the_time_that_is_left(monkeypatch) -> None:
    clock, given = [0.0], list[float]()

    def forecast(_world: object, _what: str, seconds: float) -> None:
        given.append(seconds)

    def advised(world: object, _rows: object, solve: Any, *_: object) -> None:
        for clock[0] in (5.0, 20.0):
            solve(world, "with 1 identity")

    watch = SimpleNamespace(perf_counter=lambda: clock[0])
    monkeypatch.setattr(advice_by_parts, "time", watch)
    monkeypatch.setattr(advice_by_parts, "advise_identities", advised)
    monkeypatch.setattr(advice_by_parts, "in_time", lambda _: False)
    part = replace(solve(TwoHop(n=2).build()), seconds=1.0)
    queries = pl.DataFrame({"query": [0], "part": [0], "verdict": "fails"})
    for late in (12.0, None):
        clock[0] = 0.0
        advice_by_parts.advise_parts([part], queries, cast("Any", forecast), late)
    assert given == [7.0, 0.0, np.inf, np.inf]


@pytest.mark.parametrize(
    ("state", "more"),
    [(None, ""), (Path("a.npz"), "; the same command continues from a.npz")],
)
def test_one_program_of_all_facts_with_a_gap_beyond_the_widest_is_refused(
    monkeypatch, state: Path | None, more: str
) -> None:
    """Otherwise the gap is reported and, if it is not certified, how to continue."""
    world, found = TwoHop(n=3).build(), list[Solution]()
    monkeypatch.setattr(whole, "solve_large", lambda *_, **__: found[-1])
    options: dict[str, Any] = {"answers": "one", "gap": 1e-2, "seconds": None}
    exact = solve(world)
    for one in (replace(exact, gap=WIDEST_GAP, status="not certified"), exact):
        found.append(one)
        solution, remark = whole.solve_whole(world, state=state, **options)
        assert solution is found[-1]
        told = more if one.status == "not certified" else ""
        facts = len(world.facts)
        text = f"All {facts} facts are in one program, solved to a gap of {one.gap:.1g}{told}."
        assert remark == text
    found.append(replace(exact, gap=1.01 * WIDEST_GAP, seconds=7.0))
    with pytest.raises(SolverError, match=rf"had a gap of 0\.03 after 7 s{more}$"):
        whole.solve_whole(world, state=state, **options)


def test_one_program_of_all_facts_gets_three_fifths_of_the_time(monkeypatch) -> None:
    """The remaining time is reserved for solving parts if the single program fails."""
    given: list[float | None] = []

    def noted(of: World, *, seconds: float | None, **_: object) -> tuple[Solution, str]:
        given.append(seconds)
        return solve(of), ""

    monkeypatch.setattr(parts_in_time, "MAX_FACTS", 7)
    monkeypatch.setattr(whole, "whole_fits", lambda *_: True)
    monkeypatch.setattr(whole, "solve_whole", noted)
    for seconds in (1e6, None):
        predict(TwoHop(n=6, identity=False).build(), seconds=seconds, advise=False)
    assert given == [pytest.approx(6e5), None]
