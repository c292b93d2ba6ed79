"""The symmetric reduction, compared with the full program and closed forms."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inweights.errors import ConfigError, DataError, SolverError
from inweights.theory import Parameters, average, closed_form, solve, solve_symmetric
from inweights.theory.programs.two_hop.constraints import constraints
from inweights.theory.programs.two_hop.small_sdp import least_norms
from inweights.theory.programs.two_hop.symmetric import NAMES
from inweights.worlds import TwoHop

numbers = st.floats(-3, 3, allow_nan=False, width=32)
points = st.builds(Parameters, **dict.fromkeys(NAMES, numbers))


@given(points, st.integers(2, 9))
def test_norm_is_that_of_the_matrix(point: Parameters, n: int) -> None:
    """The norm of Lemma 2, as printed and as two small matrices, is that of the matrix."""
    full = np.linalg.svd(point.matrix(n), compute_uv=False).sum()
    assert point.norm(n) == pytest.approx(full, rel=1e-6, abs=1e-6)
    # The printed form is the root of a difference, so the error is the root of the rounding
    # error.
    assert point.lemma_2(n) == pytest.approx(full, rel=1e-6, abs=1e-5)


@given(points, st.integers(2, 7))
def test_margins_are_those_of_the_world(point: Parameters, n: int) -> None:
    """Constraints and the margin of a composition (14) equal those of the matrix itself."""
    made = TwoHop(n=n, identity=True).build()
    outputs, w = made.outputs.tolist(), point.matrix(n)
    inputs = made.inputs.tolist()

    def margin(prompt: np.ndarray, answer: int) -> float:
        logits = sum(w[inputs.index(t)] for t in prompt.tolist())
        right = outputs.index(answer)
        return float(logits[right] - np.delete(logits, right).max())

    facts = [
        margin(made.facts.prompt(i), int(made.facts.answer(i)[0]))
        for i in range(len(made.facts))
    ]
    slack = min(point.slack(name) for name in constraints())
    assert min(facts) == pytest.approx(slack + 1, abs=1e-5)
    asked = margin(made.queries.prompt(0), int(made.queries.answer(0)[0]))
    assert asked == pytest.approx(point.composition_margin, abs=1e-5)


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_averaging_projects_and_does_not_raise_the_norm(seed: int, n: int) -> None:
    """Averaging (Lemmas 1 and 4) is a projection and does not increase the norm."""
    w = np.random.default_rng(seed).normal(size=(2 * n + 2, 2 * n))
    mean = average(w)
    assert mean.norm(n) <= np.linalg.svd(w, compute_uv=False).sum() + 1e-9
    again = average(mean.matrix(n))
    for name in NAMES:
        assert getattr(again, name) == pytest.approx(getattr(mean, name), abs=1e-9)
    swapped = mean.swapped()
    assert swapped.norm(n) == pytest.approx(mean.norm(n))
    assert swapped.swapped() == mean
    assert mean.mean(swapped).norm(n) <= mean.norm(n) + 1e-9


def test_averaging_is_the_mean_over_all_permutations() -> None:
    n, w = 3, np.random.default_rng(1).normal(size=(8, 6))
    total = np.zeros_like(w)
    from itertools import permutations

    for order in permutations(range(n)):
        p = np.array(order)
        rows = np.concatenate([p, n + p, [2 * n, 2 * n + 1]])
        total += w[np.ix_(rows, np.concatenate([p, n + p]))]
    np.testing.assert_allclose(average(w).matrix(n), total / 6, atol=1e-12)


@pytest.mark.parametrize("identity", [True, False])
@pytest.mark.parametrize("n", range(3, 13))
def test_equals_the_full_program(n: int, identity: bool) -> None:
    made = TwoHop(n=n, identity=identity).build()
    full, small = (
        solve(made, gap=1e-6),
        solve_symmetric(n, identity=identity, closed=False),
    )
    assert full.optimum == pytest.approx(small.optimum, rel=1e-5)
    margins = full.margins(made.queries)
    assert margins == pytest.approx(
        np.full(n, small.parameters.composition_margin), abs=1e-4
    )


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("identity", [True, False])
@pytest.mark.parametrize("n", [2, 10, 100, 10**4, 10**6])
def test_optimum_is_certified_at_any_size(n: int, identity: bool, closed: bool) -> None:
    solution = solve_symmetric(n, identity=identity, closed=closed)
    assert solution.gap <= (1e-12 if closed else 1e-7)
    assert solution.kkt <= (1e-12 if closed else 1e-6)
    assert min(solution.parameters.slack(k) for k in constraints(identity)) >= -1e-9
    assert solution.parameters.norm(n) == pytest.approx(solution.optimum, rel=1e-9)
    assert sum(solution.multipliers.values()) == pytest.approx(
        solution.optimum, rel=1e-6
    )
    assert min(solution.multipliers.values()) >= 0
    assert (solution.parameters.composition_margin > 0) == identity


@pytest.mark.parametrize("identity", [True, False])
def test_a_million_costs_what_ten_do(identity: bool) -> None:
    """The numbers of Newton steps and of bytes do not grow; a vector would take 8 MB."""
    tracemalloc.start()
    try:
        ten, million = (
            solve_symmetric(n, identity=identity, closed=False) for n in (10, 10**6)
        )
        solve_symmetric(10**6, identity=identity)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0 < million.iterations <= 1.5 * ten.iterations < 150
    assert most < 10**6


@pytest.mark.parametrize("identity", [True, False])
@pytest.mark.parametrize("n", [2, 5, 30, 1000])
def test_the_central_path_ends_at_the_closed_form(n: int, identity: bool) -> None:
    known, found = (
        closed_form(n, identity=identity),
        solve_symmetric(n, identity=identity, closed=False),
    )
    assert found.optimum == pytest.approx(known.norm, rel=2e-7)
    assert found.parameters.composition_margin == pytest.approx(
        known.parameters.composition_margin, abs=5e-3
    )
    for name, total in known.totals.items():
        assert found.multipliers[name] == pytest.approx(
            total, rel=1e-3, abs=1e-3 * n
        ), name


def test_margins_are_right_where_the_central_path_loses_them() -> None:
    """At n = 10⁹ the means are smaller than the rounding error of the whole."""
    assert solve_symmetric(10**9).parameters.composition_margin == pytest.approx(
        0.5411962
    )
    apart = solve_symmetric(10**9, identity=False).parameters.composition_margin + 1
    assert apart == pytest.approx(1e-9, rel=1e-6)


def test_papers_program_without_identity_is_smaller() -> None:
    """Lemma 4 omits a constraint, so its optimum is smaller than that of program (2)."""
    theirs = solve_symmetric(10, identity=False, complete=False, zero_sum=True)
    assert theirs.optimum == pytest.approx(18.0, abs=1e-5)
    assert theirs.parameters.slack("first hop, other object*") < -0.01
    assert solve_symmetric(10, identity=False).optimum > 18.3


def test_a_tilt_finds_the_corners_of_a_set_of_optima() -> None:
    """The objective of problem (36) does not depend on b1 above -1."""
    ends = [
        solve_symmetric(
            10,
            identity=False,
            complete=False,
            zero_sum=True,
            tilt=Parameters(b1=sign * 1e-4, c1=sign * 1e-4),
            gap=1e-6,
        ).parameters.b1
        for sign in (1, -1)
    ]
    assert ends[0] < -0.9
    assert ends[1] > -0.2


def test_shapes_that_fit_no_n() -> None:
    with pytest.raises(DataError, match=r"\[2n \+ 2, 2n\]"):
        average(np.zeros((7, 6)))
    with pytest.raises(ConfigError, match="at least 2"):
        solve_symmetric(1)


def test_small_programs_that_cannot_be_solved_say_so() -> None:
    opposite = np.array([[[1.0]], [[-1.0]]])  # w ≥ 1 and -w ≥ 1
    with pytest.raises(SolverError, match="exclude each other"):
        least_norms([opposite])


def test_time_is_reported() -> None:
    began = time.perf_counter()
    assert 0 < solve_symmetric(50).seconds <= time.perf_counter() - began
