"""The solver for thousands of facts, compared with the exact solver and CVXPY."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.theory.another_solver import cvxpy, least_norm
from tests.theory.test_nuclear_norm import check, sampled

from inweights import open_world, predict
from inweights.errors import ConfigError, DataError, SolverError
from inweights.theory import Program, solve
from inweights.theory.prediction import whole
from inweights.theory.prediction.bounds.margin_bounds import margin_bounds
from inweights.theory.prediction.whole import solve_whole, whole_fits
from inweights.theory.programs.large_scale import iteration, solve_large, solver
from inweights.theory.programs.large_scale.mixture import MOST, Mixture, Part
from inweights.theory.programs.large_scale.pieces import largest_of_gram
from inweights.theory.programs.large_scale.relations import Relations
from inweights.theory.programs.operators import MarginProjection
from inweights.theory.programs.splitting import multipliers
from inweights.worlds import TwoHop, World, save_world


def company(people: int, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return facts about people: town, department, manager and, for some, two projects."""
    rng, rows = np.random.default_rng(people), []
    for person in range(people):
        rows.append(f"p{person},lives in,t{rng.integers(people // 10)}")
        rows.append(f"p{person},works in,d{rng.integers(people // 8)}")
        rows.append(f"p{person},reports to,p{(person - 1) // 6}")
        projects = rng.choice(9, size=int(rng.integers(1, 3)), replace=False)
        rows += [f"p{person},works on,x{project}" for project in projects]
    path = tmp_path_factory.mktemp("company") / "facts.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return open_world(str(path))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Return about 180 facts, some with two right answers."""
    return Program.of(company(40, tmp_path_factory), "several")


@pytest.mark.parametrize("gap", [1e-2, 1e-3])
def test_the_certificate_holds_and_agrees_with_the_exact_solver(
    small: Program, gap: float
) -> None:
    assert (small.right.sum(1) > 1).any()
    large, exact = solve_large(small, gap=gap), solve(small, gap=1e-5)
    check(large, gap, rounding=1e-6)
    assert large.status == "certified"
    assert large.bound <= exact.optimum * (1 + 1e-6)
    assert large.optimum >= exact.bound * (1 - 1e-6)
    queries = small.world.queries
    moved = np.abs(large.margins(queries) - exact.margins(queries))
    # The norm is certified, but single margins are not. Most are close nevertheless.
    assert np.median(moved) < 10 * gap


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_small_random_worlds_have_the_optimum_that_cvxpy_finds(seed: int) -> None:
    cvxpy()
    program = Program.of(sampled(seed))
    large = solve_large(program, gap=1e-3)
    check(large, 1e-3, rounding=1e-6)
    optimum, _ = least_norm(program)
    assert large.bound * (1 - 1e-5) <= optimum <= large.optimum * (1 + 1e-5)


def test_tokens_that_the_facts_treat_alike_are_treated_alike() -> None:
    made = TwoHop(n=12, identity=True).build()
    margins = solve_large(Program.of(made), gap=1e-3).margins(made.queries)
    assert np.ptp(margins) < 1e-4


def test_nearly_equal_eigenvalues_are_found() -> None:
    """The eigenvalues are found although inverse iteration fails on some processors."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        level = 0.2 * np.linalg.qr(rng.normal(size=(30, 9)))[0].astype(np.float32)
        values, vectors = largest_of_gram(level.T @ level, 6)
        assert values == pytest.approx(np.full(len(values), 0.04), rel=1e-4)
        assert np.abs(vectors.T @ vectors - np.eye(len(values))).max() < 1e-4


def test_multipliers_that_swing_prove_together_what_none_of_them_does() -> None:
    """Multipliers that oscillate are averaged, and the average proves a bound."""
    rng = np.random.default_rng(0)
    level = np.linalg.qr(rng.normal(size=(30, 9)))[0].astype(np.float32)
    swing = np.outer(level[:, 0], rng.normal(size=9)).astype(np.float32)
    mixture = Mixture()
    mixture.add([Part((0, 0), level + swing, 5.0)])
    mixture.mix()
    assert mixture.bound < 4
    mixture.add([Part((1, 0), level - 2 * swing, 5.0)])
    for _ in range(4):
        mixture.mix()
    assert mixture.bound == pytest.approx(5.0, rel=2e-3)
    weights = mixture.weights
    mixed = sum(weights[part.name] * part.slope for part in mixture.parts)
    assert np.linalg.norm(mixed, 2) == pytest.approx(1 / mixture.bound, rel=1e-3)
    many = [Part((2, place), swing + place, 0.0) for place in range(MOST)]
    mixture.add(many)
    assert len(mixture.parts) == MOST
    assert mixture.bound > 4.9


def test_a_second_solution_is_feasible_and_of_nearly_the_same_norm(
    small: Program,
) -> None:
    solution = solve_large(small, gap=1e-2)
    assert solution.another is not None
    facts = small.world.facts
    assert small.margins(solution.another, facts).min() >= 1 - 1e-4
    norm = np.linalg.svd(solution.another, compute_uv=False).sum()
    assert norm <= solution.optimum * (1 + 1.1e-2)
    assert not np.allclose(solution.another, solution.templates, atol=1e-4)
    # Proving a margin takes as long as a solution, so all are left open.
    assert set(margin_bounds(solution, queries=[0, 1])["proved"]) == {"open"}


def test_parts_of_multipliers_are_multipliers_of_which_the_sum_is_known(
    small: Program,
) -> None:
    """Thus a bound is proved for every weight of the rivals outside a range."""
    relations = Relations(small)
    every = slice(0, len(small.right))
    prices = np.random.default_rng(0).normal(size=small.right.shape)
    parts = relations.divide(sparse.csr_array(prices), every)
    near, far = (part.toarray() for part in parts)
    np.testing.assert_allclose(near + far, multipliers(-prices, small.right))
    for part in (near, far):
        np.testing.assert_allclose(part.sum(1), 0, atol=1e-12)
        assert (part[small.right] >= 0).all()
        assert (part[~small.right] <= 0).all()
    within = relations.ranges[relations.place]
    assert not far[within & ~small.right].any()
    assert not near[~within].any()


def test_the_few_logits_that_are_kept_make_the_same_iterations(
    small: Program,
) -> None:
    """The result equals that with all logits, with one right answer and with several."""
    counts, project = small.counts, MarginProjection(small)
    run = iteration.Iteration(small, tiny=1e-6)
    before, price = run.v.astype(float), run.prices.toarray()
    s = np.zeros_like(price)
    for step in range(12):
        run.advance()
        over = iteration.RELAXATION if step else 1.0
        moved = run.v - (1 - over) * before
        below = price + (1 - over) * s + counts @ moved
        before = run.v.astype(float)
        s = project(below)
        price = below - s
        np.testing.assert_allclose(run.prices.toarray(), price, atol=2e-5)


def test_of_many_logits_few_are_kept(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    world = company(330, tmp_path_factory)
    program = Program.of(world, "several")
    run = iteration.Iteration(program)
    for _ in range(20):
        run.advance()
    kept = sum(len(block.at) for block in run.blocks)
    assert program.pairs.nnz < kept < 0.2 * program.right.size


class StoppedError(Exception):
    """Error that a test raises in the middle of a solution."""


def stop_at(last: int) -> Callable[[int, float], None]:
    """Return a callback that stops a solution after some iterations."""

    def look(step: int, gap: float) -> None:
        del gap
        if step >= last:
            raise StoppedError

    return look


def test_an_interrupted_solution_goes_on_as_if_it_had_not_been(
    small: Program, tmp_path: Path
) -> None:
    whole = solve_large(small, gap=1e-3)
    state = tmp_path / "state.npz"
    for last in (20, 40):
        with pytest.raises(StoppedError):
            solve_large(small, gap=1e-3, state=state, progress=stop_at(last))
    assert state.exists()
    made: list[int] = []
    steps = partial(solve_large, progress=lambda step, _: made.append(step))
    found = steps(small, gap=1e-3, state=state)
    assert min(made) == 50
    assert found.iterations == whole.iterations
    assert (found.optimum, found.bound) == (whole.optimum, whole.bound)
    np.testing.assert_array_equal(found.templates, whole.templates)
    np.testing.assert_array_equal(found.dual, whole.dual)
    assert not state.exists()


def test_a_state_of_other_facts_or_no_state_at_all_is_refused(
    small: Program, tmp_path: Path
) -> None:
    state = tmp_path / "state.npz"
    with pytest.raises(StoppedError):
        solve_large(small, state=state, progress=stop_at(10))
    other = Program.of(TwoHop(n=8, identity=True).build())
    with pytest.raises(ConfigError, match="written for different facts"):
        solve_large(other, state=state)
    with pytest.raises(ConfigError, match="a different gap"):
        solve_large(small, gap=1e-3, state=state)
    state.write_text("subject,relation,object\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="is not a stored solver state"):
        solve_large(small, state=state)
    array = tmp_path / "array.npy"
    np.save(array, np.ones(2))
    with pytest.raises(ConfigError, match="is not a stored solver state"):
        solve_large(small, state=array)
    with pytest.raises(ConfigError, match="leave out 'state'"):
        predict(TwoHop(n=8, identity=True).build(), state=state)


@pytest.mark.slow
def test_a_killed_prediction_is_continued_by_the_same_call(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    world = company(330, tmp_path_factory)
    save_world(world, tmp_path / "world")
    state = tmp_path / "state.npz"
    code = (
        "import os, signal, inweights as iw\n"
        "def look(what, step, gap):\n"
        "    if step >= 20: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"world = iw.open_world({str(tmp_path / 'world')!r})\n"
        f"iw.predict(world, gap=1e-2, advise=False, state={str(state)!r}, progress=look)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -signal.SIGKILL
    steps: list[int] = []
    found = predict(
        world,
        gap=1e-2,
        advise=False,
        state=state,
        progress=lambda what, step, gap: steps.append(step),
    )
    assert min(steps) == 30
    whole = predict(world, gap=1e-2, advise=False)
    assert found.queries.equals(whole.queries)


@pytest.mark.parametrize("dense", [0, 2_000])
def test_eliminated_inputs_solve_the_same_system(
    small: Program, dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iteration, "DENSE", dense)
    solve_system = iteration.inverse_of(small, Relations(small).own, iteration.COUPLING)
    counts = small.counts.toarray()
    drawn = np.random.default_rng(0).normal(size=small.shape)
    right: Any = drawn.astype(np.float32)
    system = np.eye(len(right)) + iteration.COUPLING * counts.T @ counts
    expected = np.linalg.solve(system, right)
    np.testing.assert_allclose(solve_system(right), expected, atol=1e-5)


def test_facts_that_exclude_each_other_have_no_solution(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("square") / "facts.csv"
    path.write_text("a,r,x\na,s,y\nb,r,y\nb,s,x\n", encoding="utf-8")
    world = open_world(str(path))
    with pytest.raises(SolverError, match="no matrix with positive margins"):
        solve_large(Program.of(world))
    with pytest.raises(
        SolverError,
        match="the optimization program for all 4 facts together was not solved",
    ):
        solve_whole(world, answers="several", gap=1e-2, seconds=None)


def test_answers_that_contradict_are_refused(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    world = company(40, tmp_path_factory)
    with pytest.raises(DataError, match="contradict"):
        solve_whole(world, answers="one", gap=1e-2, seconds=None)


def test_a_large_file_is_predicted_as_one_program(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    world = company(330, tmp_path_factory)
    found = predict(world, gap=0.025, advise=False)
    assert len(found.parts) == 1
    assert found.certified
    assert found.let_go.is_empty()
    assert found.why.startswith(f"All {len(world.facts):,} facts are in one program")
    table = found.queries.sort("query")
    assert table["query"].to_list() == list(range(len(world.queries)))
    assert (table["part"] == 0).all()
    # Queries that the second solution decides differently are tied, whatever the margin.
    another = found.solution.another
    assert another is not None
    other = found.solution.program.margins(another, world.queries)
    follows = (table["verdict"] == "follows").to_numpy()
    fails = (table["verdict"] == "fails").to_numpy()
    assert (other[follows] > 0.02).all()
    assert (other[fails] < -0.02).all()


def test_one_program_is_tried_only_where_the_time_suffices(monkeypatch) -> None:
    large, small = TwoHop(n=600).build(), TwoHop(n=100).build()
    assert whole_fits(large, None)
    assert not whole_fits(large, 0.0)
    assert not whole_fits(small, None)
    # The exact solver is used up to its limit on the number of facts, and not above.
    monkeypatch.setattr(whole, "EXACT", len(small.facts))
    assert not whole_fits(small, None)
    monkeypatch.setattr(whole, "EXACT", len(small.facts) - 1)
    assert whole_fits(small, None)


def test_a_second_weight_of_the_logits_finds_a_matrix(
    small: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If managers have identities, the first weight finds no matrix in time."""
    world = small.world
    managers = np.arange(len(world.vocabulary))[:, None]
    names = world.vocabulary.names
    managers = managers[[name in ("p0", "p1", "p2", "p3") for name in names]]
    program = Program.of(world.with_facts("identity", managers, managers), "several")
    monkeypatch.setattr(solver, "FEASIBLE_BY", (10, 120))
    weights: list[float] = []
    made = iteration.Iteration._couple

    def couple(self: iteration.Iteration, coupling: float) -> None:
        weights.append(coupling)
        made(self, coupling)

    monkeypatch.setattr(iteration.Iteration, "_couple", couple)
    state = tmp_path / "state"
    whole = solve_large(program)
    assert weights == [0.2, 1.0]
    check(whole, 1e-2, rounding=1e-6)
    early = solve_large(program, iterations=40, state=state)
    assert early.status == "not certified"
    continued = solve_large(program, state=state)
    np.testing.assert_array_equal(continued.templates, whole.templates)
