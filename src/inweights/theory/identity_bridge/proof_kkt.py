"""Check problem (11) of Identity Bridge (App. A.2): its KKT conditions, Propositions 1, 3 and 4.

The variables of problem (11) are the parameters of (3) with ``g = -e`` and ``h = -f``,
and ``t ≥ |a1 d1 - b1 c1|``. Every function returns a table with the columns ``check``
and ``value``; recipes turn these tables into claims, as they do with the tables of
:mod:`~inweights.theory.identity_bridge.proof`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from inweights.config import check_size
from inweights.theory.identity_bridge.problem_11 import (
    _FREE,
    _gradients,
    kept_constant,
    multipliers_of_11,
    objective_of_11,
    stationarity,
    sum_of_squares,
)
from inweights.theory.programs.two_hop.closed_form import closed_form
from inweights.theory.programs.two_hop.symmetric import Parameters


def at_optimum(n: int) -> pl.DataFrame:
    """Check the KKT conditions of (11) at its optimum, and the cases of Proposition 4.

    Problem (11) of Identity Bridge (App. A.2) is program (2) with identity facts: it
    minimises the nuclear norm subject to the margins that the paper states. Its
    variables are the parameters of (3), with rows that sum to 0, and ``t ≥ |a1 d1 - b1
    c1|``.

    Args:
        n: Number of entities of each kind, at least 2.

    Returns:
        Columns ``check`` and ``value``, with the rows:

        - ``(28)``: residual of stationarity with multipliers in closed form, relative
          to the gradient.
        - ``(28) sign``: smallest of the multipliers of ``g_1`` to ``g_9``, divided by
          ``n - 1``.
        - ``(S1)-(S3)``: largest residual of these three conditions of Proposition 2,
          relative to the gradient.
        - ``licq``: number of active gradients minus their rank.
        - ``mfcq``: largest rate at which the slack of all active inequalities can be
          increased at once; if it is positive, multipliers exist.
        - ``(27)``: in Case 1 (``a1 + n a2 = e = 0``), the margin of the prompt ``(a_1,
          r1)`` minus 1. The margin is the logit of the answer ``b_1`` minus the logit
          of ``c_1``, computed from the matrix. If the value is negative, the case is
          impossible.
        - ``case 2``: multiplier of ``g_1`` divided by ``n - 1``. If it is positive, the
          case is impossible.
        - ``(33)``: right side of (33) divided by the left side and by ``√n``; at least
          1 if the two differ as the proof of Proposition 4 states.

    Raises:
        ConfigError: ``n`` is below 2.

    Example:
        >>> checks = dict(at_optimum(10).rows())
        >>> checks["(28)"] < 1e-9, checks["(27)"] < 0
        (True, True)
    """
    known = closed_form(n)
    p = known.parameters
    gradients = _gradients(p, n)
    multipliers = multipliers_of_11(n)
    objective = gradients["objective"]
    residual = objective.copy()
    for name, multiplier in multipliers.items():
        residual -= multiplier * gradients[name]
    inequalities = [
        value for name, value in multipliers.items() if name.startswith("g")
    ]
    size = float(np.linalg.norm(objective))
    chosen = [_FREE.index(k) for k in ("c2", "a2", "e")]
    _, licq, mfcq = stationarity(p, n)
    one = replace(
        p,
        a2=-1 / n,
        c2=-p.c1 / n,
        e=0.0,
        g=0.0,
    )
    hop = one.row("a", n) + one.row("r1", n)
    rank_one = p.b1 + 1 / p.b1  # √A
    b_means = np.sqrt((n + 1) * p.e**2 + (p.b1 + n * p.b2) ** 2 + n * p.f**2)  # √B
    left = np.sqrt(2) * p.e * rank_one * (p.b1 - p.d1)
    right = 2 * b_means * (p.d1 * p.c1 + p.a1 * p.b1)
    return check_rows(
        {
            "(28)": float(np.linalg.norm(residual)) / size,
            "(28) sign": min(inequalities) / (n - 1),
            "(S1)-(S3)": float(np.abs(residual[chosen]).max()) / size,
            "licq": licq,
            "mfcq": mfcq,
            "(27)": hop[0] - hop[n] - 1,
            "case 2": multipliers["g1"] / (n - 1),
            "(33)": right / left / np.sqrt(n),
        }
    )


def at_random(n: int, seed: int, points: int = 20) -> pl.DataFrame:
    """Check statements of Identity Bridge, App. A, numerically at random points.

    The statements are Lemma 2, equation (14), and Propositions 1 and 3. Each is
    compared with the matrix of logits that the parameters at the point define.

    Args:
        n: Number of entities of each kind, at least 2.
        seed: Seed of the random points, an integer of at least 0.
        points: Number of points, from 1 to 65,536.

    Returns:
        Columns ``check`` and ``value``. Unless stated otherwise, values are the largest
        relative errors over all points:

        - ``lemma 2``: error of (7), compared with singular values of the matrix.
        - ``(14)``: error of the margins (14), compared with the logits of the matrix.
        - ``prop 1``: error of the objective of (11) at ``t = |u|``, where ``u = a1 d1 -
          b1 c1``, compared with singular values, if rows sum to 0.
        - ``prop 1 growth``: smallest slope of the objective of (11) in ``t``, divided
          by ``(n - 1) / √M1``; 1 if the proposition is exact.
        - ``(23)``: change of ``M2`` and of ``h_1`` along the direction (22), (23) with
          ``Δa2 = +αε/n``.
        - ``(23) printed``: the same change with the minus sign that one version of the
          paper has.
        - ``(24)``: error of the change of ``M1``.
        - ``(25)``: error of the change of the objective according to (25) with the
          factor ``1/√M1``.
        - ``(25) printed``: the same error without the factor, as (25) is printed.
        - ``(25) sign``: largest change divided by the predicted one; positive if the
          direction descends.

    Raises:
        ConfigError: ``n`` is below 2, ``points`` is not between 1 and 65,536, or
            ``seed`` is negative.

    Example:
        >>> dict(at_random(5, seed=0, points=3).rows())["lemma 2"] < 1e-9
        True
    """
    check_size("points", points)
    check_size("seed", seed, least=0, most=np.inf)
    rng = np.random.default_rng(seed)
    worst: dict[str, float] = {}

    def keep(name: str, value: float) -> None:
        worst[name] = max(worst.get(name, -np.inf), float(value))

    for values in rng.normal(size=(points, 12)):
        point = Parameters(
            **dict(zip(Parameters.__dataclass_fields__, values, strict=True))
        )
        w = point.matrix(n)
        full = float(np.linalg.svd(w, compute_uv=False).sum())
        keep("lemma 2", abs(point.lemma_2(n) / full - 1))
        logits = w[[0, 2 * n, 2 * n + 1]].sum(0)
        margin = logits[n] - np.delete(logits, n).max()
        keep("(14)", abs(point.composition_margin - margin) / np.abs(logits).max())
        _propositions(_feasible(point, n), n, keep)
    worst["prop 1 growth"] *= -1
    return check_rows(worst)


def _propositions(p: Parameters, n: int, keep: Any, step: float = 1e-6) -> None:
    """Evaluate Propositions 1 and 3 at a point strictly inside (21), with ``c1 > 0``.

    Args:
        p: The point.
        n: Number of entities of each kind.
        keep: Function that is called with the name of each check and its value.
        step: Size of the finite difference.
    """
    u = abs(p.a1 * p.d1 - p.b1 * p.c1)
    full = float(np.linalg.svd(p.matrix(n), compute_uv=False).sum())
    keep("prop 1", abs(objective_of_11(p, n, u) / full - 1))
    m1 = sum_of_squares(p) + 2 * u
    slope = (objective_of_11(p, n, u + step) - objective_of_11(p, n, u - step)) / (
        2 * step
    )
    keep("prop 1 growth", -slope / ((n - 1) / np.sqrt(m1)))
    alpha = 1.0
    gamma = p.d1 / p.b1

    def moved(by: float, sign: float) -> Parameters:
        return replace(
            p,
            a1=p.a1 - by * alpha,
            a2=p.a2 + sign * by * alpha / n,
            c1=p.c1 - by * gamma,
            c2=p.c2 + sign * by * gamma / n,
        )

    for name, sign in (("(23)", 1.0), ("(23) printed", -1.0)):
        change = kept_constant(moved(step, sign), n) - kept_constant(
            moved(-step, sign), n
        )
        keep(name, float(np.abs(change).max()) / (2 * step))
    ahead = moved(step, 1.0)
    behind = moved(-step, 1.0)
    pull = alpha * (p.a1 + p.c1 * p.d1 / p.b1)
    keep(
        "(24)",
        abs(
            (sum_of_squares(ahead) - sum_of_squares(behind)) / (2 * step) / (-2 * pull)
            - 1
        ),
    )
    fall = (objective_of_11(ahead, n, u) - objective_of_11(behind, n, u)) / (2 * step)
    keep("(25)", abs(fall / (-(n - 1) * pull / np.sqrt(m1)) - 1))
    keep("(25) printed", abs(fall / (-(n - 1) * pull) - 1))
    keep("(25) sign", fall / ((n - 1) * pull))


def _feasible(p: Parameters, n: int) -> Parameters:
    """Change a random point so that ``c1 > 0`` and no constraint of (21) is tight."""
    p = replace(
        p,
        a1=2 + abs(p.a1),
        b1=2 + abs(p.b1),
        c1=0.1 + abs(p.c1),
        d1=1.5 + abs(p.d1),
    )
    p = replace(p, c2=-p.a2 - (p.a1 + p.c1) / n, d2=-p.b2 - (p.b1 + p.d1) / n)
    p = replace(p, e=1 + abs(p.e) + max(0.0, p.c1 + p.c2 - p.a1 - p.a2))
    return replace(p, g=-p.e, h=-p.f)


def check_rows(values: dict[str, float]) -> pl.DataFrame:
    """Return a dictionary of checks as a table.

    Args:
        values: Value of each check, keyed by the name of the check.

    Returns:
        One row per check, in the order of the dictionary, with the columns ``check``
        (its name) and ``value`` (a float).

    Example:
        >>> check_rows({"gap": 0.5}).rows()
        [('gap', 0.5)]
    """
    return pl.DataFrame(
        {"check": list(values), "value": list(map(float, values.values()))},
        schema={"check": pl.String, "value": pl.Float64},
    )
