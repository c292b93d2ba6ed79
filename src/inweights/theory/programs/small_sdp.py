"""Least sum of nuclear norms of a few small matrices under linear constraints, to high accuracy.

``min Σ_j ‖W_j‖_* s.t. ⟨K_k, W⟩ ≥ 1`` has the dual ``max Σ λ_k s.t. ‖Σ_k λ_k K_kj‖_op ≤ 1, λ ≥ 0``,
whose variables are as few as the constraints. Newton's method follows the central path of the
dual; on the path a strictly feasible primal point can be read off, so that both bounds are exact
at every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inweights.errors import SolverError
from inweights.worlds.arrays import Float, Reals


@dataclass(frozen=True, eq=False)
class SmallSolution:
    """What :func:`least_norms` found.

    Attributes:
        matrices: ``W_j``, feasible.
        multipliers: ``λ``, feasible for the dual.
        value: Sum of the nuclear norms of ``matrices``, with the tilt.
        bound: Lower bound that the multipliers certify.
        iterations: Newton steps.
    """

    matrices: tuple[Float[Reals, "_ _"], ...]
    multipliers: Float[Reals, " C"]
    value: float
    bound: float
    iterations: int

    @property
    def gap(self) -> float:
        """Certified relative gap."""
        return (self.value - self.bound) / abs(self.value)


def least_norms(
    coefficients: Sequence[Float[Reals, "C _ _"]],
    *,
    tilt: Sequence[Float[Reals, "_ _"]] | None = None,
    gap: float = 1e-7,
    iterations: int = 500,
) -> SmallSolution:
    """Solve ``min Σ_j ‖W_j‖_* + ⟨T_j, W_j⟩`` such that ``Σ_j ⟨K_kj, W_j⟩ ≥ 1`` for all ``k``.

    Args:
        coefficients: ``K_j`` for every matrix ``W_j``: of its size, for each of ``C`` constraints.
        tilt: ``T_j`` with operator norms well below 1. A small one picks a corner of the set of
            optima where there are several; without it the solution is their middle.
        gap: Relative gap asked for.
        iterations: Newton steps allowed.
    """
    blocks = [_lift(k) for k in coefficients]
    bases = [np.eye(b.shape[1]) for b in blocks]
    if tilt is not None:
        bases = [e - _lift(t[None])[0] for e, t in zip(bases, tilt, strict=True)]
    count = len(coefficients[0])
    price: Reals = np.full(count, 0.1 / sum(float(np.abs(b).sum()) for b in blocks))
    weight, steps = 1.0, 0
    degree = count + sum(len(e) for e in bases)
    best: SmallSolution | None = None
    while steps < iterations:
        for _ in range(50):  # a centring takes about five
            steps += 1
            inverses = [
                np.linalg.inv(e + np.tensordot(price, b, 1))
                for e, b in zip(bases, blocks, strict=True)
            ]
            turned = [i @ b for i, b in zip(inverses, blocks, strict=True)]
            slope = np.ones(count) + weight / price
            curve = np.diag(weight / price**2)
            for t in turned:
                slope += weight * np.trace(t, axis1=1, axis2=2)
                curve += weight * np.einsum("kij,lji->kl", t, t)
            try:
                move = np.linalg.solve(curve, slope)
            except np.linalg.LinAlgError:
                # The prices grow without bound along a ray: nothing is feasible.
                raise SolverError(_failed(best, gap, steps)) from None
            decrement = float(slope @ move) / weight
            price = price + _stride(price, move, bases, blocks) * move
            if decrement < 1e-6:
                break
        point = _read(coefficients, tilt, bases, blocks, price, weight, steps)
        if best is not None and best.value <= point.value:
            # Close to the end rounding makes the primal point worse while the bound still rises.
            point = replace(point, matrices=best.matrices, value=best.value)
        best = point
        if best.gap <= gap or weight * degree < 1e-13:
            break
        weight *= 0.15
    if best is None or not best.gap <= gap:
        raise SolverError(_failed(best, gap, steps))
    return best


def _failed(best: SmallSolution | None, gap: float, steps: int) -> str:
    reached = "none" if best is None else f"{best.gap:.1e}"
    return (
        f"the central path ended at a gap of {reached}, not {gap:.1e}, after {steps} steps; "
        "the constraints may exclude each other"
    )


def _lift(matrices: Reals) -> Reals:
    """``-[[0, K], [Kᵀ, 0]]`` of every matrix: ``I + Σ λ_k lift_k`` is positive inside the ball."""
    count, rows, columns = matrices.shape
    lifted = np.zeros((count, rows + columns, rows + columns))
    lifted[:, :rows, rows:] = -matrices
    lifted[:, rows:, :rows] = -np.swapaxes(matrices, 1, 2)
    return lifted


def _inside(price: Reals, bases: Sequence[Reals], blocks: Sequence[Reals]) -> bool:
    if (price <= 0).any():
        return False
    try:
        for e, b in zip(bases, blocks, strict=True):
            np.linalg.cholesky(e + np.tensordot(price, b, 1))
    except np.linalg.LinAlgError:
        return False
    return True


def _stride(price: Reals, move: Reals, bases: Sequence[Reals], blocks: Sequence[Reals]) -> float:
    """A full Newton step, or as much of it as stays well inside."""
    stride = 1.0
    while not _inside(price + stride / 0.95 * move, bases, blocks):
        stride *= 0.7
        if stride < 1e-12:
            return 0.0
    return stride


def _read(
    coefficients: Sequence[Reals],
    tilt: Sequence[Reals] | None,
    bases: Sequence[Reals],
    blocks: Sequence[Reals],
    price: Reals,
    weight: float,
    steps: int,
) -> SmallSolution:
    """The primal point that the path offers, made feasible, and both bounds."""
    matrices: list[Reals] = []
    margins = np.zeros(len(price))
    for k, e, b in zip(coefficients, bases, blocks, strict=True):
        rows = k.shape[1]
        inverse = np.linalg.inv(e + np.tensordot(price, b, 1))
        w = 2.0 * weight * inverse[:rows, rows:]
        matrices.append(w)
        margins += np.tensordot(k, w, 2)
    least = float(margins.min())
    matrices = [w / least for w in matrices]
    value = sum(float(np.linalg.svd(w, compute_uv=False).sum()) for w in matrices)
    if tilt is not None:
        value += sum(float((t * w).sum()) for t, w in zip(tilt, matrices, strict=True))
    bound = float(price.sum())  # the price is strictly inside
    if not least > 0:
        value = np.inf
    return SmallSolution(tuple(matrices), price, value, bound, steps)
