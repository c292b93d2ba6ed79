"""Problem (11) of Identity Bridge (App. A.2): its KKT conditions, Propositions 1, 3 and 4.

Problem (11) has the parameters of (3) with ``g = -e`` and ``h = -f``, and ``t ≥ |a1 d1 - b1 c1|``.
Every function returns rows ``check, value``.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from inweights.theory.programs.closed_form import closed_form
from inweights.theory.programs.symmetric import Parameters
from inweights.worlds.arrays import Floats

#: Parameters of problem (11), in the order of its gradients.
_FREE = ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e", "f", "t")


def at_optimum(n: int) -> pl.DataFrame:
    """The KKT conditions of (11) at its optimum, and the cases that Proposition 4 excludes.

    - ``(28)``: residual of stationarity with multipliers in closed form, relative to the gradient;
      ``(28) sign``: the least of the multipliers of ``g_1`` to ``g_9``, over ``n - 1``.
    - ``(S1)-(S3)``: residual of these three conditions of Proposition 2, the same way.
    - ``licq``: by how much the active gradients are more than their rank.  ``mfcq``: the slope at
      which all active constraints can be left at once (positive: multipliers exist).
    - ``(27)``: in Case 1 (``a1 + n a2 = e = 0``) the margin of ``(a_1, r1)`` over its own object,
      minus 1, of the matrix itself. Negative: the case cannot be.
    - ``case 2``: multiplier of ``g_1`` over ``n - 1``. Positive: the case cannot be.
    - ``(33)``: its right side over its left, over ``√n``; 1 or more where the two differ as the
      proof of Proposition 4 says.
    """
    known = closed_form(n)
    p = known.parameters
    gradients, prices = _gradients(p, n), _multipliers(n)
    objective, residual = gradients["objective"], gradients["objective"].copy()
    for name, price in prices.items():
        residual -= price * gradients[name]
    size = float(np.linalg.norm(objective))
    chosen = [_FREE.index(k) for k in ("c2", "a2", "e")]
    _, licq, mfcq = _stationarity(p, n)
    one = replace(p, a2=-1 / n, c2=-p.c1 / n, e=0.0, g=0.0)
    hop = one.row("a", n) + one.row("r1", n)
    rank_one = p.b1 + 1 / p.b1  # √A
    b_means = np.sqrt((n + 1) * p.e**2 + (p.b1 + n * p.b2) ** 2 + n * p.f**2)  # √B
    left = np.sqrt(2) * p.e * rank_one * (p.b1 - p.d1)
    right = 2 * b_means * (p.d1 * p.c1 + p.a1 * p.b1)
    return check_rows(
        {
            "(28)": float(np.linalg.norm(residual)) / size,
            "(28) sign": min(v for k, v in prices.items() if k.startswith("g")) / (n - 1),
            "(S1)-(S3)": float(np.abs(residual[chosen]).max()) / size,
            "licq": licq,
            "mfcq": mfcq,
            "(27)": hop[0] - hop[n] - 1,
            "case 2": prices["g1"] / (n - 1),
            "(33)": right / left / np.sqrt(n),
        }
    )


def at_random(n: int, seed: int, points: int = 20) -> pl.DataFrame:
    """Lemma 2, (14), Propositions 1 and 3 at random points, each against the matrix itself.

    Largest errors are relative, over all points.

    - ``lemma 2``: of (7), against singular values of the matrix.
    - ``(14)``: of the margins (14), against the logits of the matrix.
    - ``prop 1``: of (11) at ``t = |u|``, against singular values, where rows sum to 0.
      ``prop 1 growth``: least slope of (11) in ``t``, over ``(n - 1) / 2√M1``: 1 if it is exact.
    - ``(23)``: change of ``M2`` and of ``h_1`` along the direction (22), (23) with ``Δa2 = +αε/n``;
      ``(23) printed``: the same with the minus sign that one version of the paper has.
    - ``(24)``: of the change of ``M1``.  ``(25)``: of the change of the objective with the factor
      ``1/√M1``; ``(25) printed``: without it, as it is printed; ``(25) sign``: largest change over
      that predicted, which is positive where the direction descends.
    """
    rng = np.random.default_rng(seed)
    worst: dict[str, float] = {}

    def keep(name: str, value: float) -> None:
        worst[name] = max(worst.get(name, -np.inf), float(value))

    for values in rng.normal(size=(points, 12)):
        point = Parameters(**dict(zip(Parameters.__dataclass_fields__, values, strict=True)))
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
    """Propositions 1 and 3 at a point of (11) that satisfies (21) strictly, with ``c1 > 0``."""
    u = abs(p.a1 * p.d1 - p.b1 * p.c1)
    full = float(np.linalg.svd(p.matrix(n), compute_uv=False).sum())
    keep("prop 1", abs(_problem_11(p, n, u) / full - 1))
    m1 = p.a1**2 + p.b1**2 + p.c1**2 + p.d1**2 + 2 * u
    slope = (_problem_11(p, n, u + step) - _problem_11(p, n, u - step)) / (2 * step)
    keep("prop 1 growth", -slope / ((n - 1) / np.sqrt(m1)))
    alpha, gamma = 1.0, p.d1 / p.b1

    def moved(by: float, sign: float) -> Parameters:
        return replace(
            p, a1=p.a1 - by * alpha, a2=p.a2 + sign * by * alpha / n,
            c1=p.c1 - by * gamma, c2=p.c2 + sign * by * gamma / n,
        )  # fmt: skip

    for name, sign in (("(23)", 1.0), ("(23) printed", -1.0)):
        one, other = (
            np.array([_means(x, n), x.a1 + x.c1 + n * (x.a2 + x.c2)])
            for x in (moved(step, sign), moved(-step, sign))
        )
        keep(name, float(np.abs(one - other).max()) / (2 * step))
    ahead, behind = moved(step, 1.0), moved(-step, 1.0)
    squares = [x.a1**2 + x.b1**2 + x.c1**2 + x.d1**2 for x in (ahead, behind)]
    pull = alpha * (p.a1 + p.c1 * p.d1 / p.b1)
    keep("(24)", abs((squares[0] - squares[1]) / (2 * step) / (-2 * pull) - 1))
    fall = (_problem_11(ahead, n, u) - _problem_11(behind, n, u)) / (2 * step)
    keep("(25)", abs(fall / (-(n - 1) * pull / np.sqrt(m1)) - 1))
    keep("(25) printed", abs(fall / (-(n - 1) * pull) - 1))
    keep("(25) sign", fall / ((n - 1) * pull))


def _feasible(p: Parameters, n: int) -> Parameters:
    """A point of (11) made of a random one: ``c1 > 0``, and no constraint of (21) is tight."""
    p = replace(p, a1=2 + abs(p.a1), b1=2 + abs(p.b1), c1=0.1 + abs(p.c1), d1=1.5 + abs(p.d1))
    p = replace(p, c2=-p.a2 - (p.a1 + p.c1) / n, d2=-p.b2 - (p.b1 + p.d1) / n)
    p = replace(p, e=1 + abs(p.e) + max(0.0, p.c1 + p.c2 - p.a1 - p.a2))
    return replace(p, g=-p.e, h=-p.f)


def _means(p: Parameters, n: int) -> float:
    """``M2`` of (8)."""
    return float((p.a1 + n * p.a2) ** 2 + (p.b1 + n * p.b2) ** 2 + n * (p.e**2 + p.f**2))


def _multipliers(n: int) -> dict[str, float]:
    """Multipliers of (11) in closed form. Of ``g_7`` and ``g_8`` one is 0; any choice will do."""
    known = closed_form(n)
    p, totals = known.parameters, known.totals
    prices = {f"g{k}": 0.0 for k in range(1, 10)}
    names = {
        "g1": "first hop, other bridge",
        "g2": "first hop, own object",
        "g4": "identity, own object",
        "g5": "second hop, other object",
        "g6": "second hop, own bridge",
    }
    prices |= {k: totals[name] for k, name in names.items()}
    first, second = prices["g2"] / n, (prices["g4"] - prices["g6"]) / n
    rise = (n - 1) / (p.b1 + p.c1)  # (n - 1) / √A
    turn = (rise * p.c1 + prices["g2"] - first) / p.b1  # (29)
    prices |= {"g7": max(turn, 0.0), "g8": max(-turn, 0.0), "g9": rise - abs(turn)}
    return prices | {"h1": first, "h2": second}


def check_rows(values: dict[str, float]) -> pl.DataFrame:
    """Return rows ``check, value``."""
    return pl.DataFrame(
        {"check": list(values), "value": [float(v) for v in values.values()]},
        schema={"check": pl.String, "value": pl.Float64},
    )


def _problem_11(p: Parameters, n: int, t: float) -> float:
    first = p.a1**2 + p.b1**2 + p.c1**2 + p.d1**2 + 2 * t
    return float((n - 1) * np.sqrt(first) + np.sqrt(2 * _means(p, n)))


def _forms(p: Parameters, n: int) -> dict[str, tuple[dict[str, float], float]]:
    """Gradient and slack of every constraint of (11)."""
    u = p.a1 * p.d1 - p.b1 * p.c1
    turn = {"a1": p.d1, "d1": p.a1, "b1": -p.c1, "c1": -p.b1}
    return {
        "g1": ({"a1": 1}, p.a1 - 1),
        "g2": (
            {"a1": 1, "a2": 1, "e": 2, "c1": -1, "c2": -1},
            p.a1 + p.a2 + 2 * p.e - p.c1 - p.c2 - 1,
        ),
        "g3": ({"b1": 1}, p.b1 - 1),
        "g4": ({"b1": 1, "b2": 1, "d1": -1, "d2": -1}, p.b1 + p.b2 - p.d1 - p.d2 - 1),
        "g5": ({"d1": 1}, p.d1 - 1),
        "g6": (
            {"d1": 1, "d2": 1, "b1": -1, "b2": -1, "f": -2},
            p.d1 + p.d2 - p.b1 - p.b2 - 2 * p.f - 1,
        ),
        "g7": ({"t": 1} | {k: -x for k, x in turn.items()}, abs(u) - u),
        "g8": ({"t": 1} | turn, abs(u) + u),
        "g9": ({"t": 1}, abs(u)),
        "h1": ({"a1": 1, "c1": 1, "a2": n, "c2": n}, 0.0),
        "h2": ({"b1": 1, "d1": 1, "b2": n, "d2": n}, 0.0),
    }


def _gradients(p: Parameters, n: int) -> dict[str, Floats]:
    """Gradients of the objective of (11) at ``t = |u|`` and of its constraints, in ``_FREE``."""
    u = p.a1 * p.d1 - p.b1 * p.c1
    first = np.sqrt(p.a1**2 + p.b1**2 + p.c1**2 + p.d1**2 + 2 * abs(u))
    a, b = p.a1 + n * p.a2, p.b1 + n * p.b2
    second = np.sqrt(_means(p, n) / 2)
    rises = {k: (n - 1) * getattr(p, k) / first for k in ("a1", "b1", "c1", "d1")}
    rises["a1"] += a / second
    rises["b1"] += b / second
    rises |= {"a2": n * a / second, "b2": n * b / second, "t": (n - 1) / first}
    rises |= {"e": n * p.e / second, "f": n * p.f / second}
    rows = {"objective": rises} | {k: form for k, (form, _) in _forms(p, n).items()}
    return {k: np.array([row.get(x, 0.0) for x in _FREE]) for k, row in rows.items()}


def _stationarity(p: Parameters, n: int, active: float = 1e-4) -> tuple[float, float, float]:
    """KKT residual of (11), deficiency of its active gradients, and the slope that leaves them."""
    from scipy.optimize import linprog, nnls

    rows = _gradients(p, n)
    slack = {k: s for k, (_, s) in _forms(p, n).items() if k.startswith("g")}
    gradient, size = rows["objective"], len(_FREE)
    inequalities = np.array([rows[k] for k, s in slack.items() if s < active]).reshape(-1, size)
    equalities = np.array([rows["h1"], rows["h2"]])
    columns = np.vstack([inequalities, equalities, -equalities])
    residual = nnls(columns.T, gradient)[1] / np.linalg.norm(gradient)
    both = np.vstack([inequalities, equalities])
    deficiency = len(both) - np.linalg.matrix_rank(both)
    leave = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.hstack([-inequalities, np.ones((len(inequalities), 1))]),
        b_ub=np.zeros(len(inequalities)),
        A_eq=np.hstack([equalities, np.zeros((2, 1))]),
        b_eq=np.zeros(2),
        bounds=[(-1, 1)] * size + [(None, None)],
    )
    return float(residual), float(deficiency), float(-leave.fun)
