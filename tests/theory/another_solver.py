"""CVXPY's word on the same programs: a solver that shares nothing with ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inweights.theory import Program

Array = np.ndarray[Any, Any]

# Clarabel asks for 1e-8 of itself; on some processors it stalls just short of that and
# warns. No test here tells optima apart more finely than 1e-6.
ACCURACY = 1e-7


def cvxpy() -> Any:
    return pytest.importorskip(
        "cvxpy", reason="pip install 'inweights[cvx]' lifts this"
    )


def told(program: Program, w: Any) -> list[Any]:
    """Margins of at least 1 on what is told, as constraints on a CVXPY variable ``w``."""
    logits = program.counts.toarray() @ w
    constraints = []
    for m, right in enumerate(program.right):
        wrong = np.flatnonzero(~right)
        constraints += [
            logits[m, int(y)] - logits[m, wrong] >= 1 for y in np.flatnonzero(right)
        ]
    return constraints


def least_norm(program: Program) -> tuple[float, Array]:
    """Optimum of program (2), and a matrix that reaches it."""
    cp = cvxpy()
    w = cp.Variable(program.shape)
    return solved(cp.Problem(cp.Minimize(cp.normNuc(w)), told(program, w))), np.asarray(
        w.value
    )


def solved(problem: Any) -> float:
    """Optimum by Clarabel, an interior-point method."""
    asked = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), ACCURACY)
    problem.solve(solver=cvxpy().CLARABEL, **asked)
    assert problem.status == "optimal"
    return float(problem.value)
