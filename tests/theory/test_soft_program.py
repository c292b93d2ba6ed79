"""The soft program: its certificate, optimum and limits, and agreement with training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.theory.another_solver import cvxpy, solved
from tests.theory.test_program import world

from inweights.errors import ConfigError
from inweights.theory import Program, SoftSolution, decay_path, solve, solve_soft
from inweights.worlds import TwoHop

DECAYS = (1e-1, 3e-2, 1e-2, 3e-3)


def sampled(seed: int) -> Program:
    """Return a random program of at most 30 tokens; some have no matrix of positive margins."""
    rng = np.random.default_rng(seed)
    if (
        seed % 4 == 3
    ):  # arbitrary triples, with contradictions, several answers, or exclusive or
        rows = [
            (f"{'abxyz'[s]} {'rs'[r]}", "abxyz"[o])
            for s, r, o in rng.integers(0, (5, 2, 5), (9, 3))
        ]
        return Program.of(world(*rows), "any")
    made = TwoHop(
        n=int(rng.integers(2, 6)),
        first_relations=int(rng.integers(1, 3)),
        maps="sampled",
        identity=float(rng.choice([0.0, 0.5, 1.0])),
    )
    return Program.of(made.build(seed), "any")


def check(solution: SoftSolution, gap: float = 1e-3) -> None:
    """Check the certificate by its definition, fact by fact."""
    program, w = solution.program, solution.templates
    facts, outputs = program.world.facts, program.world.outputs.tolist()
    counts = program.counts.toarray()
    loss, shares = 0.0, np.zeros_like(solution.dual)
    for fact, row in enumerate(program.row):
        logits = counts[row] @ w
        own = outputs.index(int(facts.answer(fact)[0]))
        loss += np.log(np.exp(logits - logits[own]).sum()) / len(facts)
        shares[row, own] += 1 / len(facts)
    price = solution.decay * np.linalg.svd(w, compute_uv=False).sum()
    assert solution.optimum == pytest.approx(loss + price, rel=1e-8)
    weights = shares.sum(1)
    assert (solution.dual >= 0).all()
    assert solution.dual.sum(1) == pytest.approx(1)
    slope = counts.T @ (weights[:, None] * solution.dual - shares)
    assert np.linalg.svd(slope, compute_uv=False)[0] <= solution.decay * (1 + 1e-6)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(solution.dual * np.log(solution.dual), axis=1)
    assert solution.bound == pytest.approx(
        float(weights @ entropy), rel=1e-8, abs=1e-12
    )
    assert solution.bound <= solution.optimum * (1 + 1e-9)
    assert solution.status == "certified"
    assert solution.gap <= gap


@pytest.mark.parametrize("seed", range(20))
def test_certificate_of_random_programs(seed: int) -> None:
    check(solve_soft(sampled(seed), DECAYS[seed % 3], gap=1e-4), 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_optimum_is_that_of_cvxpy(seed: int) -> None:
    cp = cvxpy()
    program, decay = sampled(seed), DECAYS[seed % 4]
    w = cp.Variable(program.shape)
    logits = program.counts.toarray() @ w
    loss = (
        sum(
            program.stated[m].sum() * cp.log_sum_exp(logits[m])
            - program.stated[m] @ logits[m]
            for m in range(len(program.stated))
        )
        / program.stated.sum()
    )
    best = solved(cp.Problem(cp.Minimize(loss + decay * cp.normNuc(w))))
    ours = solve_soft(program, decay, gap=1e-5)
    assert ours.optimum == pytest.approx(best, rel=2e-5)
    one, other = (
        np.linalg.svd(x, compute_uv=False).sum() for x in (ours.templates, w.value)
    )
    np.testing.assert_allclose(one, other, atol=0.05)


def test_a_large_decay_leaves_nothing() -> None:
    solution = solve_soft(Program.of(TwoHop(n=4).build()), 10.0)
    check(solution)
    assert (solution.rank, solution.scale) == (0, 1.0)
    assert not solution.stored.any()


@pytest.mark.slow
def test_the_path_goes_to_program_2() -> None:
    """As the decay tends to 0, the norm for a margin of 1 slowly approaches the smallest norm."""
    program = Program.of(TwoHop(n=6, complexity=1, identity=0.5).build(3))
    least = solve(program, gap=1e-6).optimum
    norms = []
    for solution in decay_path(program, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6), gap=1e-4):
        check(solution, 1e-4)
        margin = program.least_margins(program.counts @ solution.templates).min()
        norms.append(np.linalg.svd(solution.templates, compute_uv=False).sum() / margin)
    assert norms == sorted(norms, reverse=True)
    assert norms[-1] >= least
    assert norms[-1] - least < 0.75 * (
        norms[1] - least
    )  # it converges like 1/log λ, so the excess is halved


def test_facts_that_exclude_each_other_cost_and_the_rest_is_stored() -> None:
    rows = (("a r", "x"), ("a s", "y"), ("b r", "y"), ("b s", "x"), ("z", "z"))
    solution = solve_soft(Program.of(world(*rows), "any"), 1e-3, gap=1e-6)
    check(solution, 1e-6)
    assert solution.stored.tolist() == [False, False, False, False, True]


def test_three_against_one_are_stored() -> None:
    """Facts that are stated more often prevail over one that contradicts them."""
    rows = (("a r", "x"), ("a s", "y"), ("b r", "y"), ("b s", "x"), ("z", "z"))
    solution = solve_soft(Program.of(world(*rows[:3], *rows, *rows[:3]), "any"), 1e-3)
    check(solution)
    assert np.flatnonzero(~solution.stored).tolist() == [6]  # (b s) → x, stated once


def test_contradictions_share_a_prompt() -> None:
    """For a prompt with the answers x, x and y, the softmax gives two thirds and one third."""
    made = world(("a r", "x"), ("a r", "x"), ("a r", "y"), ("b s", "z"))
    solution = solve_soft(Program.of(made, "any"), 1e-5, gap=1e-6)
    logits = solution.program.logits(solution.templates, made.facts)[0]
    chances = np.exp(logits) / np.exp(logits).sum()
    x, y = (made.outputs.tolist().index(made.vocabulary.id(name)) for name in "xy")
    assert chances[[x, y]] == pytest.approx([2 / 3, 1 / 3], abs=0.01)
    assert solution.stored.all()


def test_one_output_is_no_error() -> None:
    solution = solve_soft(Program.of(world(("a r", "x"), ("b r", "x")), "any"), 1e-3)
    assert solution.status == "certified"
    assert solution.optimum == 0.0


def test_symmetry_of_the_world_is_kept() -> None:
    """The unique optimum is symmetric, although a descent may amplify rounding errors."""
    made = TwoHop(n=6, complexity=2).build()
    solution = solve_soft(Program.of(made), 1e-3, gap=1e-6)
    assert np.abs(solution.margins(made.queries)).max() < 1e-6


def test_it_ends_when_it_is_told() -> None:
    program = Program.of(TwoHop(n=12, first_relations=3, maps="sampled").build(1))
    short = solve_soft(program, 1e-4, gap=1e-7, seconds=0.0)
    assert short.status == "not certified"
    assert short.iterations <= 2
    few = solve_soft(program, 1e-4, gap=1e-7, iterations=7)
    assert few.iterations <= 7
    assert few.bound <= few.optimum


@pytest.mark.slow
def test_it_is_what_decayed_training_ends_in() -> None:
    """Gradient descent with decay on two small factors reaches the same margins."""
    made = TwoHop(n=6, first_relations=2, maps="sampled", identity=0.5).build(5)
    program, decay = Program.of(made, "any"), 3e-3
    x, shares = program.counts.toarray(), program.stated
    weights = shares.sum(1, keepdims=True) / shares.sum()
    shares = shares / shares.sum(1, keepdims=True)
    rng = np.random.default_rng(0)
    left, right = (rng.normal(0, 0.01, size=(side, 32)) for side in program.shape)
    for _ in range(20_000):
        chances = np.exp(x @ left @ right.T)
        slope = x.T @ (weights * (chances / chances.sum(1, keepdims=True) - shares))
        left, right = (
            left - slope @ right - decay * left,
            right - slope.T @ left - decay * right,
        )
    trained = program.margins(left @ right.T, made.queries)
    solution = solve_soft(program, decay, gap=1e-6)
    np.testing.assert_allclose(
        solution.margins(made.queries) * solution.scale, trained, atol=0.02
    )


@pytest.mark.parametrize(
    ("decay", "options", "says"),
    [
        (0.0, {}, "'decay' must be above 0"),
        (float("nan"), {}, "'decay' must be above 0"),
        (1e-3, {"gap": 0.0}, "gap must be at least 1e-7"),
        (1e-3, {"iterations": 0}, "iterations must be at least 1"),
        (1e-3, {"seconds": float("nan")}, "seconds must be at least 0"),
        (1e-3, {"start": np.zeros((2, 2))}, r"'start' has the shape \(2, 2\)"),
    ],
)
def test_options_that_cannot_be(
    decay: float, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        solve_soft(Program.of(TwoHop(n=3).build()), decay, **options)
