"""Intervals of margins, verified from their multipliers and with another solver."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.theory.another_solver import Array, cvxpy, least_norm, solved, told
from tests.theory.test_nuclear_norm import sampled

from inweights.errors import ConfigError
from inweights.theory import (
    Program,
    Solution,
    closed_form,
    margin_bounds,
    predict,
    solve,
)
from inweights.theory.prediction import prediction
from inweights.theory.prediction.bounds.lower_bound import EVERY, lower_bound, prove
from inweights.theory.prediction.bounds.margin_bounds import _interval
from inweights.theory.programs.prompts import count_tokens
from inweights.worlds import Triples, TwoHop, World


def functionals(solution: Solution, query: int) -> list[Array]:
    """Return ``x (e_y - e_k)ᵀ`` for every rival of a query's answer."""
    queries = solution.program.world.queries
    prompt = count_tokens(solution.program.world, queries).toarray()[query]
    _, columns, rivals = solution.compare(queries)
    found = []
    for rival in np.flatnonzero(rivals[query]):
        one = np.zeros(solution.program.shape)
        one[:, columns[query]] += prompt
        one[:, rival] -= prompt
        found.append(one)
    return found


def least_by_cvxpy(program: Program, functional: Array, norm: float) -> float:
    """Return the smallest value of a functional over feasible matrices of bounded norm."""
    cp = cvxpy()
    w = cp.Variable(program.shape)
    least = cp.Minimize(cp.sum(cp.multiply(functional, w)))
    return solved(cp.Problem(least, [cp.normNuc(w) <= norm, *told(program, w)]))


def small(seed: int) -> World:
    rng = np.random.default_rng(seed)
    share = float(rng.choice([0.5, 1.0]))
    world = TwoHop(
        n=3 + seed % 2, complexity=1 + seed % 2, identity=share, maps="sampled"
    )
    return world.build(seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("slack", [1e-3, 1e-2])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_the_extremes_that_another_solver_finds(
    seed: int, slack: float
) -> None:
    """Bounds never exceed the extreme values over the same set, and are close to them."""
    solution = solve(small(seed), gap=1e-6)
    loose = replace(solution, optimum=solution.optimum * (1 + slack))
    for functional in (functionals(solution, 0)[0], -functionals(solution, 0)[-1]):
        extreme = least_by_cvxpy(solution.program, functional, loose.optimum)
        found = lower_bound(loose, functional).value
        here = float((functional * solution.templates).sum())
        assert found <= extreme + 1e-4
        assert here - found <= 1.25 * (here - extreme) + 0.02


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_intervals_hold_the_margins_of_another_solver(seed: int) -> None:
    solution = solve(small(seed), gap=1e-3)
    _, other = least_norm(solution.program)
    margins = replace(solution, templates=other).margins(solution.program.world.queries)
    for query, _, lower, upper, _ in margin_bounds(solution, accuracy=0.05).iter_rows():
        assert lower - 1e-3 <= margins[query] <= upper + 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_a_bound_is_proved_by_its_multipliers(seed: int) -> None:
    """The bound is verified by singular values and sums, without code of the solver."""
    solution = solve(sampled(seed), gap=1e-4)
    program, c = solution.program, functionals(solution, 0)[0]
    bound = lower_bound(solution, c, iterations=60)
    u, x = bound.dual, program.counts.toarray()
    assert (u[program.right] >= 0).all()
    assert (u[~program.right] <= 0).all()
    np.testing.assert_allclose(u.sum(1), 0, atol=1e-8)
    size = np.linalg.svd(x.T @ u - c, compute_uv=False)[0]
    value = u[program.right].sum() - solution.optimum * size
    assert bound.value == pytest.approx(value, abs=1e-6)
    finer = solve(program, gap=1e-6, start=solution.templates)
    assert bound.value <= (c * finer.templates).sum() + 1e-6


@pytest.mark.parametrize("identity", [True, False])
def test_the_closed_form_lies_inside(identity: bool) -> None:
    """A solution with a gap of 1e-2 is refined as far as the accuracy requires."""
    known = closed_form(4, identity=identity).parameters.composition_margin
    rough = solve(TwoHop(n=4, identity=identity).build(), gap=1e-2)
    for accuracy in (0.1, 0.02):
        lower, upper = margin_bounds(rough, queries=[1], accuracy=accuracy).row(0)[2:4]
        assert lower < known < upper < lower + 2.5 * accuracy


def test_a_verdict_takes_only_what_it_needs() -> None:
    """For a failing query no lower end is computed, and for a following one no upper end."""
    for identity, proved in ((True, "follows"), (False, "fails")):
        solution = solve(TwoHop(n=4, identity=identity).build())
        row = margin_bounds(solution, queries=[0], accuracy=None, tie=0.02).row(
            0, named=True
        )
        assert row["proved"] == proved
        assert row["lower"] > 0.02 if identity else row["upper"] < -0.02
        assert np.isinf(row["upper"] if identity else row["lower"])


def test_a_tie_is_proved() -> None:
    world = TwoHop(n=3, complexity=2, identity=True).build()
    row = margin_bounds(solve(world), queries=[0], tie=0.03).row(0, named=True)
    assert row["proved"] == "tied"
    assert -0.03 <= row["lower"] <= row["upper"] <= 0.03


@pytest.mark.parametrize(
    ("lower", "upper", "proved"),
    [
        (-0.03, 0.03, "tied"),
        (-0.04, 0.03, "open"),
        (-0.03, 0.04, "open"),
        (0.03, 0.5, "open"),
        (0.04, 0.5, "follows"),
        (-0.5, -0.03, "open"),
        (-0.5, -0.04, "fails"),
    ],
)
def test_margins_up_to_the_tie_are_ties(monkeypatch, lower, upper, proved) -> None:
    """The solver's results are replaced by given ones."""
    monkeypatch.setattr(
        "inweights.theory.prediction.bounds.margin_bounds._interval",
        lambda *_: (lower, upper),
    )
    table = margin_bounds(solve(TwoHop(n=2).build()), queries=[0], tie=0.03)
    assert table.select("lower", "upper", "proved").row(0) == (lower, upper, proved)


@pytest.mark.parametrize(
    ("margin", "accuracy", "lower", "upper"),
    [
        (0.5, None, 0.1, np.inf),
        (-0.5, None, -np.inf, -0.1),
        (0.05, None, -0.1, 0.1),
        (0.1, None, -0.1, 0.1),
        (-0.1, None, -0.1, 0.1),
        (0.5, 0.02, 0.48, 0.52),
        (-0.5, 0.02, -0.52, -0.48),
    ],
)
def test_bounds_that_are_just_reached_prove_strict_inequalities(
    margin: float, accuracy: float | None, lower: float, upper: float
) -> None:
    """The solver stops at the bound that was requested, with a tie of 0.1."""

    def reached(_: Array, *, goal: float) -> Any:
        return SimpleNamespace(value=goal)

    leads = np.array([margin + 1, np.inf, margin])
    found = _interval(reached, np.ones(2), [1], leads, accuracy, 0.1, None)
    assert found == pytest.approx((lower, upper), abs=1e-6)
    assert lower < found[0] or lower == -np.inf
    assert found[1] < upper or upper == np.inf


def test_a_solution_is_refined_if_its_gap_is_too_large_and_there_is_time(
    monkeypatch,
) -> None:
    rough = solve(TwoHop(n=3).build(), gap=1e-2)
    asked: list[float] = []

    def refined(*given: Any, **options: Any) -> Solution:
        asked.append(options["gap"])
        return solve(*given, **options)

    monkeypatch.setattr(
        "inweights.theory.prediction.bounds.margin_bounds.solve", refined
    )
    for accuracy, seconds in ((2.0, None), (0.05, 0.0), (0.05, None)):
        assert asked == []
        margin_bounds(rough, queries=[0], accuracy=accuracy, seconds=seconds)
    # For verdicts, the accuracy is the margin's distance from the tie, from 0.01 to 0.2.
    margin = float(rough.margins(rough.program.world.queries)[0])
    for off in (0.5, 0.1, 0.001):
        margin_bounds(rough, queries=[0], accuracy=None, tie=margin - off)
    wanted = [fine**2 / (8 * rough.optimum) for fine in (0.05, 0.2, 0.1, 0.01)]
    assert asked == pytest.approx(wanted)


def test_time_and_progress() -> None:
    solution = solve(TwoHop(n=4).build())
    told: list[tuple[int, int]] = []
    table = margin_bounds(solution, seconds=0.0, progress=lambda *now: told.append(now))
    assert set(table["proved"]) == {"open"}
    assert np.isinf(table["lower"].to_numpy()).all()
    assert told == [(k, 4) for k in range(1, 5)]


def test_what_there_is_no_time_for_is_open(monkeypatch) -> None:
    """Only one part is computed, so that the columns exist; the others remain open."""
    one = predict(TwoHop(n=4).build(), advise=False)
    again = one.queries.with_columns(pl.col("part") + 1, pl.col("query") + 4)
    forecast = replace(
        one, parts=one.parts * 2, queries=pl.concat([one.queries, again])
    )
    looked = [0]

    def noted(*given: Any, **options: Any) -> pl.DataFrame:
        looked[0] += 1
        return margin_bounds(*given, **options)

    monkeypatch.setattr(prediction, "margin_bounds", noted)
    table = forecast.with_intervals(seconds=0.0).queries
    assert table["proved"].to_list() == 8 * ["open"]
    assert np.isinf(table.select("lower", "upper").to_numpy()).all()
    assert looked == [1]
    asked = forecast.with_intervals(queries=[1, 6], seconds=0.0).queries.filter(
        proved="open"
    )
    assert asked["query"].to_list() == [1, 6]
    assert forecast.with_intervals(None).queries["proved"].to_list() == 8 * ["follows"]
    assert looked == [4]


def test_a_bound_is_left_when_it_is_late() -> None:
    solution = solve(TwoHop(n=4).build())
    [functional, *_] = functionals(solution, 0)
    whole, cut = (lower_bound(solution, functional, late=late) for late in (None, 0.0))
    assert cut.iterations == EVERY < whole.iterations
    assert cut.value <= whole.value


def test_what_cannot_be_asked() -> None:
    solution = solve(TwoHop(n=3).build())
    with pytest.raises(ConfigError, match="above 0"):
        margin_bounds(solution, accuracy=0.0)
    with pytest.raises(ConfigError, match="no query 3; indices are from 0 to 2"):
        margin_bounds(solution, queries=[3])
    c = np.zeros(solution.program.shape)
    with pytest.raises(ConfigError, match="invalid multipliers"):
        prove(solution.program, solution.optimum, c, -solution.dual)
    with pytest.raises(ConfigError, match="invalid multipliers"):
        prove(
            solution.program,
            solution.optimum,
            c,
            np.where(solution.program.right, 1.0, 0.0),
        )


def test_a_forecast_gets_intervals() -> None:
    forecast = predict(TwoHop(n=3, identity=True).build(), advise=False)
    table = forecast.with_intervals(0.05, queries=[2]).queries
    assert table.drop("lower", "upper", "proved").equals(forecast.queries)
    assert table["proved"].to_list() == [None, None, "follows"]
    assert table["lower"][2] < table["margin"][2] < table["upper"][2]
    with pytest.raises(ConfigError, match="no query 9; indices are from 0 to 2"):
        forecast.with_intervals(queries=[1, 9])
    with pytest.raises(ConfigError, match="no query -1"):
        forecast.with_intervals(queries=[-1])
    nothing = replace(forecast, queries=forecast.queries.clear())
    with pytest.raises(ConfigError, match="no query 0; there are none"):
        nothing.with_intervals(queries=[0])


def test_of_what_nobody_told_the_interval_is_that_of_the_output_that_leads(
    tmp_path: Path,
) -> None:
    rows = [
        "ann,home,rome",
        "bob,home,rome",
        "cat,home,oslo",
        "dan,home,oslo",
        "don,home,oslo",
    ]
    rows += ["eve,home,paris", "flo,home,paris", "gus,home,bonn"]
    rows += ["ann,born,1990", "bob,born,1991", "cat,born,1990"]
    rows += ["rome,in,italy", "oslo,in,norway", "paris,in,france"]
    file = tmp_path / "facts.csv"
    file.write_text("\n".join(rows))
    asked = Triples(path=str(file), questions="all").build()
    queries = predict(asked, advise=False).with_intervals(0.02).queries
    guessed = queries.filter(role="unstated")
    assert (guessed["predicted"] != guessed["answer"]).any()
    for lower, margin, upper in guessed.select("lower", "margin", "upper").iter_rows():
        assert lower - 0.02 < margin < upper + 0.02
