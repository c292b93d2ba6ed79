"""The steps of the proofs of Identity Bridge (App. A), each as a number at a given ``n``.

Every function returns rows ``check, value``. What is asked of a value (to be 0, positive, …) is
said where the check is described; recipes turn that into claims.
"""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from inweights.theory.nuclear_norm import solve
from inweights.theory.symmetric import (
    Parameters,
    average,
    constraints,
    solve_symmetric,
    without_identity,
)
from inweights.worlds.two_hop import TwoHop

__all__ = ["averaging", "full_program", "lemma_2", "point_42", "with_identity", "without"]

Array = NDArray[np.float64]

#: Parameters of problem (11), in the order of its gradients; ``g = -e`` and ``h = -f``.
_FREE = ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e", "f", "t")
_TILT = 1e-4


def with_identity(n: int) -> pl.DataFrame:
    """Theorem 1 and the steps of its proof (A.1, A.2).

    Checks, at the optimum of program (2) in symmetric form:

    - ``gap``, ``kkt``: how well it is known.
    - ``thm 1``: margin of every composition.  ``margin range``: how far it varies over all optima.
    - ``lemma 1``: relative difference of the optimum to that under (4) and (5), which leave the
      constraint against other objects out.
    - ``assumption 2``: largest sum of a row of ``W``.
    - ``lemma 3``: relative difference of the optimum to that of problem (8).
    - ``prop 1``: relative difference of (8) and (11) at ``t = |u|``.
    - ``(12) a1``, ``(12) g2``: ``a1 - 1`` and the slack of ``g2``.  ``(13)``: left minus right.
    - ``(14)``: margin by (14) minus margin.  ``(19)``: ``f + 1``.  ``prop 2``: ``a1 + n a2 - e``.
    - ``assumption 3``: residual of the KKT conditions of (11), relative to its gradient.
    - ``licq``: by how much the active gradients of (11) are more than their rank.  ``mfcq``: the
      slope at which all active constraints can be left at once (positive: multipliers exist).
    - ``assumption 4 c1``, ``assumption 4 a2``, ``assumption 4 t``: these parameters' sizes.

    Example:
        >>> table = with_identity(10)
        >>> round(table.filter(pl.col("check") == "thm 1")["value"].item(), 3)
        0.703
    """
    best = solve_symmetric(n)
    p = best.parameters
    reduced = solve_symmetric(n, complete=False)
    eight = solve_symmetric(n, complete=False, zero_sum=True)
    q = eight.parameters
    u = abs(q.a1 * q.d1 - q.b1 * q.c1)
    ends = [solve_symmetric(n, tilt=Parameters(c1=s * _TILT), gap=1e-6).parameters for s in (1, -1)]
    own = p.c1 + p.c2 + p.g + p.h
    kkt, licq, mfcq = _stationarity(q, n)
    return _rows(
        {
            "gap": best.gap,
            "kkt": best.kkt,
            "thm 1": p.composition_margin,
            "margin range": abs(ends[0].composition_margin - ends[1].composition_margin),
            "lemma 1": 1 - reduced.optimum / best.optimum,
            "assumption 2": float(np.abs(p.column_sums(n)).max()),
            "lemma 3": abs(1 - eight.optimum / best.optimum),
            "prop 1": abs(1 - _problem_11(q, n, u) / q.lemma_2(n)),
            "(12) a1": p.a1 - 1,
            "(12) g2": p.slack("first hop, own object"),
            "(13)": own - (p.a1 + p.a2 + p.e + p.f),
            "(14)": min(own - (max(p.a1, 0) + p.a2 + p.e + p.f), p.c1) - p.composition_margin,
            "(19)": p.f + 1,
            "prop 2": p.a1 + n * p.a2 - p.e,
            "assumption 3": kkt,
            "licq": licq,
            "mfcq": mfcq,
            "assumption 4 c1": p.c1,
            "assumption 4 a2": abs(p.a2),
            "assumption 4 t": u,
        }
    )


def without(n: int) -> pl.DataFrame:
    """Theorem 2 and the steps of its proof (A.3), without identity.

    - ``gap``; ``thm 2``: margin of every composition; ``(38)``: ``b1 + b2 - a1 - a2`` in the form
      (34), which is ``c1 + c2 - a1 - a2`` in that of (3).
    - ``closed form``: excess of ``2 (n-1) + 1/√(n+1)`` over the certified lower bound, relative
      (ours: the closed form is feasible, so that no excess means that it is the optimum).
    - ``lemma 4``: by how much the optimum of problem (36) falls short of that of (2), relative.
    - ``lemma 4 swap``: largest difference of the solver's optimum to its image under ``τ``.
    - ``step 1``: ``|b1| - a1`` at the optimum of (36).
    - ``(43)``: ``|a1 + n a2| + |α|`` at the optimum of (36), which (43) and (44) put at 0.
    - ``(36) range``: how far ``b1`` varies over the optima of (36).
    """
    best = solve_symmetric(n, identity=False)
    p = best.parameters
    paper = solve_symmetric(n, identity=False, complete=False, zero_sum=True)
    ends = [
        solve_symmetric(
            n, identity=False, complete=False, zero_sum=True,
            tilt=Parameters(b1=s * _TILT, c1=s * _TILT), gap=1e-6,
        ).parameters.b1
        for s in (1, -1)
    ]  # fmt: skip
    known = without_identity(n)
    # A tilt of zero: the solver's own point, not the closed form, which is symmetric by design.
    own = solve_symmetric(n, identity=False, tilt=Parameters()).parameters
    swapped = np.subtract(astuple(own), astuple(own.swapped()))
    return _rows(
        {
            "gap": best.gap,
            "thm 2": p.composition_margin,
            "(38)": p.c1 + p.c2 - p.a1 - p.a2,
            "closed form": 1 - best.optimum * (1 - best.gap) / known.norm(n),
            "lemma 4": 1 - paper.optimum / best.optimum,
            "lemma 4 swap": float(np.abs(swapped).max()),
            "step 1": abs(paper.parameters.b1) - paper.parameters.a1,
            "(43)": abs(paper.parameters.a1 + n * paper.parameters.a2) + abs(paper.parameters.e),
            "(36) range": abs(ends[1] - ends[0]),
        }
    )


def point_42(n: int) -> pl.DataFrame:
    """The point (42), on which step 3 of the proof of Theorem 2 rests.

    ``norm``: its nuclear norm minus ``2 (n-1)``; ``(37)``: least slack in the paper's constraints;
    ``(2)``: least slack in those of program (2); a negative one is not feasible.

    Example:
        >>> point_42(10).filter(pl.col("value") < -1e-9)["check"].to_list()
        ['(2)']
    """
    point = Parameters(a1=1, a2=-1 / n, b1=-1 / (n - 1), b2=1 / (n * (n - 1)))
    point = replace(point, c1=point.b1, c2=point.b2, d1=point.a1, d2=point.a2)
    paper, complete = (
        min(point.slack(name) for name in constraints(identity=False, complete=c))
        for c in (False, True)
    )
    return _rows({"norm": point.norm(n) - 2 * (n - 1), "(37)": paper, "(2)": complete})


def lemma_2(n: int, seed: int, points: int = 20) -> pl.DataFrame:
    """Largest relative error of Lemma 2 (7) against singular values, over random parameters."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for values in rng.normal(size=(points, 12)):
        point = Parameters(**dict(zip(Parameters.__dataclass_fields__, values, strict=True)))
        full = float(np.linalg.svd(point.matrix(n), compute_uv=False).sum())
        worst = max(worst, abs(point.lemma_2(n) / full - 1))
    return _rows({"lemma 2": worst})


def averaging(n: int, seed: int, matrices: int = 20) -> pl.DataFrame:
    """Averaging over permutations (Lemmas 1 and 4), on random feasible matrices.

    ``norm``: largest increase of the nuclear norm, relative; ``margin``: least change of the least
    margin of the facts. Neither the norm may grow nor the margin shrink.
    """
    rng = np.random.default_rng(seed)
    world = TwoHop(n=n, identity=True).build()
    solution = solve(world, gap=1e-2)
    program, norm, margin = solution.program, -np.inf, np.inf
    for _ in range(matrices):
        w = solution.templates + 0.1 * rng.normal(size=program.shape)
        w = w / max(program.least_margins(program.counts @ w).min(), 1e-3)
        mean = average(w).matrix(n)
        before, after = (float(np.linalg.svd(m, compute_uv=False).sum()) for m in (w, mean))
        norm = max(norm, after / before - 1)
        least = [float(program.least_margins(program.counts @ m).min()) for m in (w, mean)]
        margin = min(margin, least[1] - least[0])
    return _rows({"norm": norm, "margin": margin})


def full_program(n: int, complexity: int, identity: bool, gap: float = 1e-5) -> pl.DataFrame:
    """The optimum of the full program (2), which assumes no symmetric form.

    ``gap``; ``symmetric``: at complexity 1, relative difference to the symmetric optimum;
    ``margin``: median margin of the queries; ``spread``: largest distance from it;
    ``expected``: expected accuracy where outputs within .02 share the prize.
    """
    from inweights.theory.prediction import predict

    world = TwoHop(n=n, complexity=complexity, identity=identity).build()
    prediction = predict(world, gap=gap, advise=False)
    margins = prediction.queries["margin"].to_numpy()
    middle = float(np.median(margins))
    values = {
        "gap": prediction.solution.gap,
        "margin": middle,
        "spread": float(np.abs(margins - middle).max()),
        "expected": float(prediction.queries["expected"].to_numpy().mean()),
    }
    if complexity == 1:
        small = solve_symmetric(n, identity=identity)
        values["symmetric"] = abs(prediction.solution.optimum / small.optimum - 1)
    return _rows(values)


def _problem_11(p: Parameters, n: int, t: float) -> float:
    """The objective of (11)."""
    first = p.a1**2 + p.b1**2 + p.c1**2 + p.d1**2 + 2 * t
    second = (p.a1 + n * p.a2) ** 2 + (p.b1 + n * p.b2) ** 2 + n * (p.e**2 + p.f**2)
    return float((n - 1) * np.sqrt(first) + np.sqrt(2 * second))


def _stationarity(p: Parameters, n: int, active: float = 1e-4) -> tuple[float, float, float]:
    """KKT residual of (11), deficiency of its active gradients, and the slope that leaves them."""
    from scipy.optimize import linprog, nnls

    u = p.a1 * p.d1 - p.b1 * p.c1
    first = np.sqrt(p.a1**2 + p.b1**2 + p.c1**2 + p.d1**2 + 2 * abs(u))
    a, b = p.a1 + n * p.a2, p.b1 + n * p.b2
    second = np.sqrt(a**2 + b**2 + n * (p.e**2 + p.f**2)) / np.sqrt(2)
    gradient = np.array(
        [
            (n - 1) * p.a1 / first + a / second,
            n * a / second,
            (n - 1) * p.b1 / first + b / second,
            n * b / second,
            (n - 1) * p.c1 / first,
            0.0,
            (n - 1) * p.d1 / first,
            0.0,
            n * p.e / second,
            n * p.f / second,
            (n - 1) / first,
        ]
    )
    turn = {"a1": p.d1, "d1": p.a1, "b1": -p.c1, "c1": -p.b1}
    forms: list[tuple[dict[str, float], float]] = [
        ({"a1": 1}, p.a1 - 1),
        ({"a1": 1, "a2": 1, "e": 2, "c1": -1, "c2": -1}, p.a1 + p.a2 + 2 * p.e - p.c1 - p.c2 - 1),
        ({"b1": 1}, p.b1 - 1),
        ({"b1": 1, "b2": 1, "d1": -1, "d2": -1}, p.b1 + p.b2 - p.d1 - p.d2 - 1),
        ({"d1": 1}, p.d1 - 1),
        ({"d1": 1, "d2": 1, "b1": -1, "b2": -1, "f": -2}, p.d1 + p.d2 - p.b1 - p.b2 - 2 * p.f - 1),
        ({"t": 1} | {k: -x for k, x in turn.items()}, abs(u) - u),
        ({"t": 1} | turn, abs(u) + u),
        ({"t": 1}, abs(u)),
    ]
    inequalities = np.array([[f.get(k, 0.0) for k in _FREE] for f, s in forms if s < active])
    equalities = np.array(
        [
            [{"a1": 1, "c1": 1, "a2": n, "c2": n}.get(k, 0.0) for k in _FREE],
            [{"b1": 1, "d1": 1, "b2": n, "d2": n}.get(k, 0.0) for k in _FREE],
        ]
    )
    columns = np.vstack([inequalities, equalities, -equalities])
    residual = nnls(columns.T, gradient)[1] / np.linalg.norm(gradient)
    both = np.vstack([inequalities, equalities])
    deficiency = len(both) - np.linalg.matrix_rank(both)
    size = len(_FREE)
    leave = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.hstack([-inequalities, np.ones((len(inequalities), 1))]),
        b_ub=np.zeros(len(inequalities)),
        A_eq=np.hstack([equalities, np.zeros((2, 1))]),
        b_eq=np.zeros(2),
        bounds=[(-1, 1)] * size + [(None, None)],
    )
    return float(residual), float(deficiency), float(-leave.fun)


def _rows(values: dict[str, float]) -> pl.DataFrame:
    return pl.DataFrame(
        {"check": list(values), "value": [float(v) for v in values.values()]},
        schema={"check": pl.String, "value": pl.Float64},
    )
