"""The soft program of thousands of facts, compared with L-BFGS and CVXPY."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import wrightomega
from tests.theory.another_solver import cvxpy, solved

from inweights import predict
from inweights.errors import ConfigError
from inweights.theory import Program
from inweights.theory.prediction import parts_in_time, whole
from inweights.theory.prediction.whole import whole_fits
from inweights.theory.programs.large_scale import solve_soft_large
from inweights.theory.programs.large_scale.softmax_step import (
    LOWEST,
    improved_omega,
    omega,
    softmax_step,
)
from inweights.theory.programs.soft_program import SoftSolution, solve_soft
from inweights.worlds import RandomFacts, TwoHop, World

DECAY = 1e-3


def contradictory() -> World:
    """Return random facts, some of which have the same prompt and different answers."""
    return RandomFacts(subjects=24, crossing=True, several=4, identity=0.5).build()


def check(solution: SoftSolution, gap: float) -> None:
    """Check both bounds, computed from the solution alone by their definition."""
    program = solution.program
    stated = program.stated
    facts = stated.sum(1, keepdims=True)
    weights, shares = facts / facts.sum(), stated / facts
    logits = program.counts @ solution.templates
    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    norm = np.linalg.svd(solution.templates, compute_uv=False).sum()
    entropy = -float((weights * shares * logs).sum())
    assert solution.optimum == pytest.approx(entropy + solution.decay * norm, rel=1e-6)
    dual = solution.dual.astype(float)
    assert (dual >= 0).all()
    np.testing.assert_allclose(dual.sum(1), 1.0, atol=1e-5)
    slope = program.counts.T @ (weights * (dual - shares))
    assert np.linalg.norm(slope, 2) <= solution.decay * (1 + 1e-4)
    proved = -float((weights * dual * np.log(np.maximum(dual, 1e-30))).sum())
    assert solution.bound == pytest.approx(proved, rel=1e-4)
    assert solution.gap <= gap
    assert solution.status == "certified"


@pytest.mark.parametrize("decay", [1e-2, DECAY])
def test_bounds_are_those_of_the_program_and_agree_with_l_bfgs(decay: float) -> None:
    program = Program.of(contradictory(), "any")
    assert (program.pairs.sum(1) > 1).any()
    large = solve_soft_large(program, decay, gap=1e-3)
    exact = solve_soft(program, decay, gap=1e-4)
    check(large, 1e-3)
    assert large.bound <= exact.optimum * (1 + 1e-6)
    assert large.optimum >= exact.bound * (1 - 1e-6)
    facts = program.world.facts
    np.testing.assert_allclose(large.margins(facts), exact.margins(facts), atol=0.1)


def test_the_optimum_is_that_of_cvxpy() -> None:
    cp = cvxpy()
    program = Program.of(TwoHop(n=3, identity=True).build(), "any")
    w = cp.Variable(program.shape)
    logits = program.counts.toarray() @ w
    own = cp.sum(cp.multiply(program.stated, logits))
    entropy = (cp.sum(cp.log_sum_exp(logits, axis=1)) - own) / len(program.row)
    best = solved(cp.Problem(cp.Minimize(entropy + DECAY * cp.normNuc(w))))
    large = solve_soft_large(program, DECAY, gap=1e-4)
    assert large.bound <= best * (1 + 1e-6)
    assert large.optimum == pytest.approx(best, rel=1e-4)


def test_a_large_decay_leaves_nothing() -> None:
    program = Program.of(TwoHop(n=4).build(), "any")
    solution = solve_soft_large(program, 10.0)
    assert solution.rank == 0
    assert solution.optimum == pytest.approx(np.log(program.shape[1]))
    with pytest.raises(ConfigError, match="'decay' must be above 0 and finite, got 0"):
        solve_soft_large(program, 0)


def test_omega_is_that_of_scipy() -> None:
    x = np.linspace(-60.0, 60.0, 500)
    np.testing.assert_allclose(omega(x), wrightomega(x), rtol=1e-9)
    single = omega(x.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, wrightomega(x), rtol=2e-5)


def test_estimates_of_omega_are_improved_from_near_and_from_far() -> None:
    x = np.linspace(LOWEST, 60.0, 500)[None]
    exact = wrightomega(x)
    for wrong in (1.0, 1.2, 0.8, 3.0, 0.3, 1e20, 1e-20):
        y = np.maximum(exact * wrong, np.exp(LOWEST))
        improved_omega(x, y)
        np.testing.assert_allclose(y, exact, rtol=1e-4)


def test_the_step_minimises_what_it_should() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4, 6)) * 5
    shares = rng.dirichlet(np.ones(6) / 4, size=4)
    strength = np.array([1e-2, 1.0, 50.0, 3e3])
    level = np.full(4, np.nan)
    wide = strength[:, None]
    points, scaled = logits + wide * shares, np.zeros_like(logits)
    softmax_step(points, strength, level, scaled)
    chances = scaled / wide
    softmax_step(points, strength, level, scaled)
    np.testing.assert_allclose(scaled / wide, chances, atol=1e-5)
    for row, tau in enumerate(strength):

        def objective(
            s: np.ndarray, row: int = row, tau: float = tau
        ) -> tuple[float, np.ndarray]:
            top = np.logaddexp.reduce(s)
            far = s - logits[row]
            value = tau * (top - shares[row] @ s) + far @ far / 2
            return float(value), tau * (np.exp(s - top) - shares[row]) + far

        found = minimize(objective, logits[row], jac=True, tol=1e-12).x
        softmax = np.exp(found - np.logaddexp.reduce(found))
        np.testing.assert_allclose(chances[row], softmax, atol=1e-4)


def test_thousands_of_facts_with_decay_are_one_program(monkeypatch) -> None:
    """With decay as well, facts are divided only if one program would take too long."""
    monkeypatch.setattr(whole, "EXACT", 50)
    monkeypatch.setattr(parts_in_time, "MAX_FACTS", 60)
    world = TwoHop(n=40).build()
    made = predict(world, decay=DECAY, advise=False)
    assert len(made.parts) == 1
    assert made.why.startswith("All 120 facts are in one program, solved to a gap of")
    assert made.queries.height == len(world.queries)
    assert not whole_fits(world, 1e-6, DECAY)
    with pytest.raises(ConfigError, match="'state' has an effect only"):
        predict(world, decay=DECAY, advise=False, state="stored")


def test_a_solution_has_plain_numbers() -> None:
    """The numbers are plain Python numbers, since JSON cannot encode those of NumPy."""
    solution = solve_soft_large(Program.of(TwoHop(n=4).build(), "any"), DECAY)
    for name in ("optimum", "bound", "gap", "decay", "scale"):
        assert type(getattr(solution, name)) is float, name
    assert type(solution.rank) is int


def test_advice_does_not_call_a_gap_a_reason(monkeypatch) -> None:
    """Advice that identities cannot all be stored does not mention the gap."""
    monkeypatch.setattr(whole, "EXACT", 20)
    monkeypatch.setattr(parts_in_time, "MAX_FACTS", 30)
    world = TwoHop(n=20, identity=False).build()
    made = predict(world, decay=0.05, gap=1e-2)
    assert made.why.startswith("All 40 facts are in one program")
    assert made.advice is not None
    assert made.advice.why == "not all 20 can be stored"
