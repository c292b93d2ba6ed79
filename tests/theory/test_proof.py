"""Every number of the proofs at made-up points, where none of them is 0 by luck."""

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

from inweights.theory import proof
from inweights.theory.symmetric import Parameters, average, solve_symmetric

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
    """The point of Assumption 2 with the same ``a``, ``b``, ``c1``, ``d1``, ``e`` and ``f``."""
    c2, d2 = -p.a2 - (p.a1 + p.c1) / n, -p.b2 - (p.b1 + p.d1) / n
    return Parameters(**{**vars(p), "c2": c2, "d2": d2, "g": -p.e, "h": -p.f})


def singular(matrix: np.ndarray[Any, Any]) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


def margin(w: np.ndarray[Any, Any], rows: list[int], right: int) -> float:
    """By how much a sum of rows of ``W`` prefers an output to all others."""
    logits = w[rows].sum(0)
    return float(logits[right] - np.delete(logits, right).max())


# --- formulas, at points that are no optima


def pretend(monkeypatch: pytest.MonkeyPatch, first: int) -> dict[str, Any]:
    """A solver that returns made-up points, told apart by what was asked of it.

    Points are drawn from ``first`` on, so that each sign and each maximum comes both ways.
    """
    made = {
        name: SimpleNamespace(
            parameters=point(first + seed), optimum=2.0 + seed, gap=0.1 * (seed + 1), kkt=0.3 + seed
        )
        for seed, name in enumerate(("best", "reduced", "paper", "up", "down", "own"))
    }

    def solver(n: int, **asked: Any) -> Any:
        tilt = asked.get("tilt")
        if tilt is not None:
            size = tilt.b1 or tilt.c1
            return made["own"] if not size else made["up"] if size > 0 else made["down"]
        if asked.get("zero_sum"):
            assert asked["complete"] is False
            return made["paper"]
        return made["best"] if asked.get("complete", True) else made["reduced"]

    monkeypatch.setattr(proof, "solve_symmetric", solver)
    return made


@pytest.mark.parametrize("first", [0, 5, 11, 17])
def test_checks_of_theorem_1_are_what_they_say(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    n, made = 4, pretend(monkeypatch, first)
    found = values(proof.with_identity(n))
    p, q = made["best"].parameters, made["paper"].parameters
    w = p.matrix(n)
    corners = [made[k].parameters.matrix(n) for k in ("up", "down")]
    margins = [margin(m, [0, 2 * n, 2 * n + 1], n) for m in (w, *corners)]
    bridge = p.a1 + p.a2 + p.e + p.f
    own = w[[0, 2 * n, 2 * n + 1], n].sum()
    u = q.a1 * q.d1 - q.b1 * q.c1
    first = q.a1**2 + q.b1**2 + q.c1**2 + q.d1**2 + 2 * abs(u)
    means = (q.a1 + n * q.a2) ** 2 + (q.b1 + n * q.b2) ** 2 + n * q.e**2 + n * q.f**2
    eleven = (n - 1) * first**0.5 + 2**0.5 * means**0.5
    expected = {
        "gap": 0.1,
        "kkt": 0.3,
        "thm 1": margins[0],
        "margin range": abs(margins[1] - margins[2]),
        "lemma 1": 1 - 3 / 2,
        "assumption 2": np.abs(w.sum(1)).max(),
        "lemma 3": abs(1 - 4 / 2),
        "prop 1": abs(1 - eleven / singular(q.matrix(n))),
        "(12) a1": p.a1 - 1,
        "(12) g2": margin(w[:, [0, n]], [0, 2 * n], 0) - 1,
        "(13)": own - bridge,
        "(14)": min(own - (max(p.a1, 0) + p.a2 + p.e + p.f), p.c1) - margins[0],
        "(19)": p.f + 1,
        "prop 2": p.a1 + n * p.a2 - p.e,
        "assumption 4 c1": p.c1,
        "assumption 4 a2": abs(p.a2),
        "assumption 4 t": abs(u),
    }
    stationary = ("assumption 3", "licq", "mfcq")
    assert {k: v for k, v in found.items() if k not in stationary} == pytest.approx(expected)
    assert tuple(found[k] for k in stationary) == proof._stationarity(q, n)


@pytest.mark.parametrize("first", [0, 5, 11, 17])
def test_checks_of_theorem_2_are_what_they_say(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    n, made = 4, pretend(monkeypatch, first)
    found = values(proof.without(n))
    best, paper, own = (made[k].parameters for k in ("best", "paper", "own"))
    w = own.matrix(n)
    order = [*range(n, 2 * n), *range(n)]
    image = w[[*order, 2 * n + 1, 2 * n]][:, order]  # τ of Lemma 4
    assert found == pytest.approx(
        {
            "gap": 0.1,
            "thm 2": margin(best.matrix(n), [0, 2 * n, 2 * n + 1], n),
            "(38)": best.matrix(n)[0, n] - best.matrix(n)[0, 0],
            "closed form": 1 - 2.0 * 0.9 / (2 * (n - 1) + (n + 1) ** -0.5),
            "lemma 4": 1 - 4 / 2,
            "lemma 4 swap": max(abs(x) for x in vars(average(w - image)).values()),
            "step 1": abs(paper.b1) - paper.a1,
            "(43)": abs(paper.a1 + n * paper.a2) + abs(paper.e),
            "(36) range": abs(made["up"].parameters.b1 - made["down"].parameters.b1),
        }
    )  # fmt: skip


@given(st.builds(Parameters, **dict.fromkeys(NAMES, numbers)), st.integers(2, 7), numbers)
def test_problem_11_is_the_norm_at_the_least_t_and_grows_with_it(
    p: Parameters, n: int, more: float
) -> None:
    """Proposition 1."""
    p = zero_sum(p, n)
    u = abs(p.a1 * p.d1 - p.b1 * p.c1)
    least = proof._problem_11(p, n, u)
    assert least == pytest.approx(singular(p.matrix(n)), rel=1e-6, abs=1e-6)
    assert proof._problem_11(p, n, u + abs(more)) >= least


# --- the Karush-Kuhn-Tucker conditions of (11), by automatic differentiation

FREE = ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e", "f", "t")


def printed(x: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Problem (11) as the paper prints it: objective, ``g_1`` to ``g_9``, ``h_1`` and ``h_2``."""
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
    x = torch.tensor([u if k == "t" else getattr(p, k) for k in FREE], dtype=torch.float64)
    slack = printed(x, n)[1].numpy()
    objective, g, h = torch.autograd.functional.jacobian(lambda y: printed(y, n), x)
    g, h = g.numpy()[slack < active], h.numpy()
    residual = nnls(np.vstack([g, h, -h]).T, objective.numpy())[1] / float(objective.norm())
    cp = pytest.importorskip("cvxpy", reason="pip install 'inweights[cvx]' lifts this")
    move, slope = cp.Variable(11), cp.Variable()
    leave = cp.Problem(cp.Maximize(slope), [g @ move >= slope, h @ move == 0, cp.abs(move) <= 1])
    joint = np.vstack([g, h])
    return residual, len(joint) - np.linalg.matrix_rank(joint), leave.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("active", [10.0, 1.0, 0.0, -1.0])
@pytest.mark.parametrize("seed", range(6))
def test_stationarity_is_that_of_the_printed_problem(seed: int, active: float) -> None:
    n, p = 3 + seed % 3, point(seed)
    if conditions(p, n, active)[1] == 0 and active == -1.0:
        p = point(seed, a1=-2.0)  # so that something is active
    found = proof._stationarity(p, n, active)
    assert found == pytest.approx(conditions(p, n, active), abs=1e-6)


def test_multipliers_exist_though_gradients_depend() -> None:
    """At ``t = 0`` the gradients of g7 and g8 add up to twice that of g9: LICQ fails, MFCQ holds.

    Off the optimum, along directions that keep the same constraints active, nothing is stationary.
    """
    n = 5
    best = solve_symmetric(n, complete=False, zero_sum=True).parameters
    residual, deficiency, slope = proof._stationarity(best, n)
    assert (residual, deficiency) == (pytest.approx(0, abs=1e-6), 1)
    assert slope > 0.5
    moved = zero_sum(Parameters(**{**vars(best), "b2": best.b2 + 0.1, "f": best.f - 0.2}), n)
    assert proof._stationarity(moved, n)[0] > 1e-3
