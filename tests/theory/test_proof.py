"""Every quantity of the proofs at generated points, where none is 0 by chance."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from tests.theory.another_solver import cvxpy, solved

from inweights.errors import ConfigError
from inweights.theory.identity_bridge import full_matrices, problem_11, proof, proof_kkt
from inweights.theory.programs.two_hop.closed_form import closed_form
from inweights.theory.programs.two_hop.symmetric import Parameters

NAMES = tuple(Parameters.__dataclass_fields__)
numbers = st.floats(-3, 3, allow_nan=False, width=32)


def values(table: pl.DataFrame) -> dict[str, float]:
    assert table.columns == ["check", "value"]
    assert table["check"].is_unique().all()
    return dict(table.rows())


def point(seed: int, **fixed: float) -> Parameters:
    drawn = np.random.default_rng(seed).normal(size=12).tolist()
    return Parameters(**{**dict(zip(NAMES, drawn, strict=True)), **fixed})


def zero_sum(p: Parameters, n: int) -> Parameters:
    """Return the point of Assumption 2 with these ``a``, ``b``, ``c1``, ``d1``, ``e``, ``f``."""
    c2, d2 = -p.a2 - (p.a1 + p.c1) / n, -p.b2 - (p.b1 + p.d1) / n
    return Parameters(**{**vars(p), "c2": c2, "d2": d2, "g": -p.e, "h": -p.f})


def singular(matrix: np.ndarray[Any, Any]) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


def margin(w: np.ndarray[Any, Any], rows: list[int], right: int) -> float:
    """Return the margin of an output over all others for a sum of rows of ``W``."""
    logits = w[rows].sum(0)
    return float(logits[right] - np.delete(logits, right).max())


# --- formulas, at points that are no optima


def pretend(monkeypatch: pytest.MonkeyPatch, first: int) -> dict[str, Any]:
    """Return a solver that returns generated points, which depend on the problem.

    Points are drawn from the seed ``first`` on, so that each sign and each case of a
    maximum occurs.
    """
    names = ("first hop, other bridge", "second hop, other object")
    crossed = ("first hop, own object", "second hop, own bridge")
    made = {
        name: SimpleNamespace(
            parameters=point(first + seed),
            optimum=2.0 + seed,
            gap=0.1 * (seed + 1),
            kkt=0.3 + seed,
            multipliers=dict.fromkeys(names, 3.0 + seed)
            | dict.fromkeys(crossed, 0.5 + seed),
        )
        for seed, name in enumerate(("best", "reduced", "paper", "up", "down", "path"))
    }

    def solver(n: int, **asked: Any) -> Any:
        tilt = asked.get("tilt")
        if tilt is not None:
            return made["up"] if (tilt.b1 or tilt.c1) > 0 else made["down"]
        if asked.get("zero_sum"):
            assert asked["complete"] is False
            return made["paper"]
        if not asked.get("closed", True):
            return made["path"]
        return made["best"] if asked.get("complete", True) else made["reduced"]

    monkeypatch.setattr(proof, "solve_symmetric", solver)
    return made


@pytest.mark.parametrize("first", [0, 5, 11, 17])
def test_checks_of_theorem_1_are_what_they_say(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, made = 4, pretend(monkeypatch, first)
    found = values(proof.with_identity(n))
    p, q = made["best"].parameters, made["paper"].parameters
    w = p.matrix(n)
    query = w[[0, 2 * n, 2 * n + 1]].sum(0)
    composed = margin(w, [0, 2 * n, 2 * n + 1], n)
    assert found == pytest.approx(
        {
            "gap": 0.1,
            "kkt": 0.3,
            "thm 1": composed,
            "excess n": 4 * (composed - (2 + 2**0.5) ** -0.5),
            "closed form": 1 - 7 * 0.4 / 2,
            "lemma 1": abs(1 - 3 / 2),
            "lemma 3": abs(1 - 4 / 2),
            "(12) a1": margin(w[:, [0, 1]], [0, 2 * n], 0) - 1,
            "(12) g2": margin(w[:, [0, n]], [0, 2 * n], 0) - 1,
            "(13)": query[n] - query[0],
            "(19)": p.f + 1,
            "prop 2": q.a1 + n * q.a2 - q.e,
            "assumption 4 c1": p.c1,
            "assumption 4 a2": abs(p.a2),
            "assumption 4 t": abs(p.a1 * p.d1 - p.b1 * p.c1),
        }
    )


@pytest.mark.parametrize("first", [0, 5, 11, 17])
def test_checks_of_theorem_2_are_what_they_say(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, made = 4, pretend(monkeypatch, first)
    found = values(proof.without(n))
    best, paper = (made[k].parameters for k in ("best", "paper"))
    assert found == pytest.approx(
        {
            "gap": 0.1,
            "thm 2": margin(best.matrix(n), [0, 2 * n, 2 * n + 1], n),
            "(38)": best.matrix(n)[0, n] - best.matrix(n)[0, 0],
            "closed form": 1 - 7 * 0.4 / 2,
            "lemma 4": 1 - 4 / 2,
            "step 1": abs(paper.b1) - paper.a1,
            "(39)": 2 * 2.5 / 3,
            "(41)": 2 * 5.0 / 6 - 1,
            "(43)": abs(paper.a1 + n * paper.a2) + abs(paper.e),
            "(36) range": abs(made["up"].parameters.b1 - made["down"].parameters.b1),
        }
    )


@given(st.builds(Parameters, **dict.fromkeys(NAMES, numbers)), st.integers(2, 7))
def test_rows_and_margins_are_those_of_the_matrix(p: Parameters, n: int) -> None:
    w = p.matrix(n)
    for line, at in (("a", 0), ("b", n), ("r1", 2 * n), ("r2", 2 * n + 1)):
        np.testing.assert_array_equal(p.row(line, n), w[at])
    assert p.margin("a r1 r2", "c", n) == margin(w, [0, 2 * n, 2 * n + 1], n)
    assert p.margin("b", "b", n) == margin(w, [n], 0)


@given(
    st.builds(Parameters, **dict.fromkeys(NAMES, numbers)), st.integers(2, 7), numbers
)
def test_problem_11_is_the_norm_at_the_least_t_and_grows_with_it(
    p: Parameters, n: int, more: float
) -> None:
    """Proposition 1."""
    p = zero_sum(p, n)
    u = abs(p.a1 * p.d1 - p.b1 * p.c1)
    least = problem_11.objective_of_11(p, n, u)
    assert least == pytest.approx(singular(p.matrix(n)), rel=1e-6, abs=1e-6)
    assert problem_11.objective_of_11(p, n, u + abs(more)) >= least


# --- the Karush-Kuhn-Tucker conditions of (11), by automatic differentiation

FREE = ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e", "f", "t")


def printed(x: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return problem (11) as printed: objective, ``g_1`` to ``g_9``, ``h_1`` and ``h_2``."""
    a1, a2, b1, b2, c1, c2, d1, d2, e, f, t = x
    objective = (n - 1) * (a1**2 + b1**2 + c1**2 + d1**2 + 2 * t).sqrt()
    means = (a1 + n * a2) ** 2 + (b1 + n * b2) ** 2 + n * e**2 + n * f**2
    u = a1 * d1 - b1 * c1
    g = (
        a1 - 1,
        a1 + a2 + 2 * e - c1 - c2 - 1,
        b1 - 1,
        b1 + b2 - d1 - d2 - 1,
        d1 - 1,
        d1 + d2 - b1 - b2 - 2 * f - 1,
        t - u,
        t + u,
        t,
    )
    h = (a1 + c1 + n * (a2 + c2), b1 + d1 + n * (b2 + d2))
    return objective + 2**0.5 * means.sqrt(), torch.stack(g), torch.stack(h)


def conditions(p: Parameters, n: int, active: float) -> tuple[float, float, float]:
    u = abs(p.a1 * p.d1 - p.b1 * p.c1)
    x = torch.tensor(
        [u if k == "t" else getattr(p, k) for k in FREE], dtype=torch.float64
    )
    slack = printed(x, n)[1].numpy()
    objective, g, h = torch.autograd.functional.jacobian(lambda y: printed(y, n), x)
    g, h = g.numpy()[slack < active], h.numpy()
    residual = nnls(np.vstack([g, h, -h]).T, objective.numpy())[1] / float(
        objective.norm()
    )
    cp = cvxpy()
    move, slope = cp.Variable(11), cp.Variable()
    leave = cp.Problem(
        cp.Maximize(slope), [g @ move >= slope, h @ move == 0, cp.abs(move) <= 1]
    )
    joint = np.vstack([g, h])
    return residual, len(joint) - np.linalg.matrix_rank(joint), solved(leave)


@pytest.mark.parametrize("active", [10.0, 1.0, 0.0, -1.0])
@pytest.mark.parametrize("seed", range(6))
def test_stationarity_is_that_of_the_printed_problem(seed: int, active: float) -> None:
    n, p = 3 + seed % 3, point(seed)
    if conditions(p, n, active)[1] == 0 and active == -1.0:
        p = point(seed, a1=-2.0)  # so that some constraint is active
    found = problem_11.stationarity(p, n, active)
    assert found == pytest.approx(conditions(p, n, active), abs=1e-6)


def test_multipliers_exist_though_gradients_depend() -> None:
    """At ``t = 0``, the gradients of g7 and g8 sum to twice that of g9: LICQ fails, MFCQ holds.

    No other point with the same active constraints is stationary.
    """
    n = 5
    best = closed_form(n).parameters
    residual, deficiency, slope = problem_11.stationarity(best, n)
    assert residual == pytest.approx(0, abs=1e-6)
    assert deficiency == 1
    assert slope > 0.5
    moved = zero_sum(
        Parameters(**{**vars(best), "b2": best.b2 + 0.1, "f": best.f - 0.2}), n
    )
    assert problem_11.stationarity(moved, n)[0] > 1e-3


@pytest.mark.parametrize("n", [2, 5, 40])
def test_multipliers_of_problem_11_are_those_of_the_printed_problem(n: int) -> None:
    p, prices = closed_form(n).parameters, problem_11.multipliers_of_11(n)
    x = torch.tensor(
        [0.0 if k == "t" else getattr(p, k) for k in FREE], dtype=torch.float64
    )
    objective, g, h = torch.autograd.functional.jacobian(lambda y: printed(y, n), x)
    lines = torch.tensor([prices[f"g{k}"] for k in range(1, 10)], dtype=torch.float64)
    equal = torch.tensor([prices["h1"], prices["h2"]], dtype=torch.float64)
    residual = objective - lines @ g - equal @ h
    assert float(residual.norm() / objective.norm()) < 1e-12
    assert float(lines.min()) >= 0
    slack = printed(x, n)[1]
    assert float((lines * slack).abs().max()) < 1e-9 * n


def test_checks_at_random_points_notice_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = values(proof_kkt.at_random(6, seed=1))
    assert max(found[k] for k in ("lemma 2", "(14)", "prop 1")) < 1e-12
    assert max(found[k] for k in ("(23)", "(24)", "(25)")) < 1e-5
    assert found["prop 1 growth"] == pytest.approx(1, abs=1e-6)
    assert found["(23) printed"] > 1  # the other sign changes M2 and h1
    assert found["(25) printed"] > 0.5  # the factor 1/√M1 is missing in print
    assert found["(25) sign"] < 0
    right = Parameters.lemma_2
    monkeypatch.setattr(
        Parameters, "lemma_2", lambda p, n: right(p, n) * (1 - 0.01 * (p.a1 > 0))
    )
    own = vars(Parameters)["composition_margin"].fget
    monkeypatch.setattr(
        Parameters, "composition_margin", property(lambda p: own(p) + p.a1)
    )
    found = values(proof_kkt.at_random(6, seed=1))
    assert found["lemma 2"] == pytest.approx(0.01)
    assert found["(14)"] > 0.1


@pytest.mark.parametrize(
    ("check", "options", "named"),
    [
        (proof.point_42, {"n": 1}, "n must"),
        (proof_kkt.at_random, {"n": 3, "seed": 0, "points": 0}, "points must"),
        (proof_kkt.at_random, {"n": 3, "seed": -1}, "seed must"),
        (full_matrices.averaging, {"n": 3, "seed": 0, "matrices": 0}, "matrices must"),
        (full_matrices.averaging, {"n": 3, "seed": -1}, "seed must"),
    ],
)
def test_numbers_out_of_range_are_errors(
    check: Any, options: dict[str, int], named: str
) -> None:
    with pytest.raises(ConfigError, match=f"{named} be at least"):
        check(**options)
