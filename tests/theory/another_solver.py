"""Solve the same programs with CVXPY, which shares no code with the library's solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inweights.theory import Program

Array = np.ndarray[Any, Any]

# Clarabel's default tolerance is 1e-8. On some processors it stops slightly before and
# warns. No test here distinguishes optima that differ by less than 1e-6.
ACCURACY = 1e-7


def cvxpy() -> Any:
    return pytest.importorskip(
        "cvxpy", reason="pip install 'inweights[cvx]' lifts this"
    )


def told(program: Program, w: Any) -> list[Any]:
    """Return constraints on a CVXPY variable ``w``: margins of at least 1 for all facts."""
    logits = program.counts.toarray() @ w
    constraints = []
    for m, right in enumerate(program.right):
        wrong = np.flatnonzero(~right)
        constraints += [
            logits[m, int(y)] - logits[m, wrong] >= 1 for y in np.flatnonzero(right)
        ]
    return constraints


def least_norm(program: Program) -> tuple[float, Array]:
    """Return the optimum of program (2) and a matrix that attains it."""
    cp = cvxpy()
    w = cp.Variable(program.shape)
    return solved(cp.Problem(cp.Minimize(cp.normNuc(w)), told(program, w))), np.asarray(
        w.value
    )


def solved(problem: Any) -> float:
    """Return the optimum that Clarabel, an interior-point method, finds."""
    asked = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), ACCURACY)
    problem.solve(solver=cvxpy().CLARABEL, **asked)
    assert problem.status == "optimal"
    return float(problem.value)
