"""Minimise a sum of nuclear norms of a few small matrices under linear constraints, accurately.

:func:`least_norms` solves ``min Σ_j ‖W_j‖_* s.t. ⟨K_k, W⟩ ≥ 1``, as
:func:`~.symmetric_solver.solve_symmetric` needs it. The dual program is ``max Σ λ_k
s.t. ‖Σ_k λ_k K_kj‖_op ≤ 1, λ ≥ 0``, with one variable per constraint. Newton's method
follows the central path of the dual. Each point of the path gives a strictly feasible
primal point, so that every step gives a valid upper and a valid lower bound on the
smallest value. Shapes: ``C`` constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inweights.errors import SolverError
from inweights.worlds.arrays import Float, Reals


@dataclass(frozen=True, eq=False)
class SmallSolution:
    """Result of :func:`least_norms`.

    Attributes:
        matrices: The matrices ``W_j``, which are feasible.
        multipliers: ``λ``, feasible for the dual, ``[C]`` (``C`` constraints).
        value: Sum of the nuclear norms of ``matrices``, plus the linear term of the
            tilt.
        bound: Lower bound on the smallest value, certified by the multipliers.
        iterations: Number of Newton steps.
    """

    matrices: tuple[Float[Reals, "_ _"], ...]
    multipliers: Float[Reals, " C"]
    value: float
    bound: float
    iterations: int

    @property
    def gap(self) -> float:
        """Certified relative duality gap, ``(value - bound) / |value|``."""
        return (self.value - self.bound) / abs(self.value)


def least_norms(
    coefficients: Sequence[Float[Reals, "C _ _"]],
    *,
    tilt: Sequence[Float[Reals, "_ _"]] | None = None,
    gap: float = 1e-7,
    iterations: int = 500,
) -> SmallSolution:
    """Minimise ``Σ_j ‖W_j‖_* + ⟨T_j, W_j⟩`` such that ``Σ_j ⟨K_kj, W_j⟩ ≥ 1`` for all ``k``.

    Args:
        coefficients: ``K_j`` for every matrix ``W_j``, ``[C, rows, columns]``: one
            matrix of the shape of ``W_j`` for each of ``C`` constraints.
        tilt: ``T_j`` for every matrix, with the shape of ``W_j`` and an operator norm
            well below 1. If there are several optima, a small tilt selects a corner of
            the set of optima. With ``None``, the default, ``T_j`` is 0, and the
            solution is a point in the middle of this set.
        gap: Requested relative duality gap, above 0.
        iterations: Maximum number of Newton steps.

    Returns:
        The matrices ``W_j`` in the order of ``coefficients``, the multipliers, the
        smallest ``value`` and its certified ``bound``.

    Raises:
        SolverError: The gap was not reached, for instance because the constraints
            exclude each other.

    Example:
        >>> first_entry = np.array([[[1.0, 0.0], [0.0, 0.0]]])  # W[0, 0] must be at least 1
        >>> solution = least_norms([first_entry])
        >>> round(solution.value, 6), solution.matrices[0].round(6)[0, 0]
        (1.0, np.float64(1.0))
    """
    blocks = list(map(_lift, coefficients))
    bases = [np.eye(b.shape[1]) for b in blocks]
    if tilt is not None:
        bases = [e - _lift(t[None])[0] for e, t in zip(bases, tilt, strict=True)]
    count = len(coefficients[0])
    total = sum(float(np.abs(b).sum()) for b in blocks)
    multipliers: Reals = np.full(count, 0.1 / total)
    barrier = 1.0
    steps = 0
    degree = count + sum(map(len, bases))
    best: SmallSolution | None = None
    while steps < iterations:
        for _ in range(50):  # a centring takes about five steps
            steps += 1
            gradient, hessian = _derivatives(multipliers, barrier, bases, blocks)
            try:
                direction = np.linalg.solve(hessian, gradient)
            except np.linalg.LinAlgError:
                # The multipliers grow without bound along a ray, so that no matrix is
                # feasible.
                raise SolverError(_failed(best, gap, steps)) from None
            decrement = float(gradient @ direction) / barrier
            multipliers = (
                multipliers
                + _step_length(multipliers, direction, bases, blocks) * direction
            )
            if decrement < 1e-6:
                break
        point = _primal_point(
            coefficients, tilt, bases, blocks, multipliers, barrier, steps
        )
        if best is not None and best.value <= point.value:
            # Near the end, rounding errors make the primal point worse, while the bound
            # still increases.
            point = replace(point, matrices=best.matrices, value=best.value)
        best = point
        if best.gap <= gap or barrier * degree < 1e-13:
            break
        barrier *= 0.15
    if best is None or not best.gap <= gap:
        raise SolverError(_failed(best, gap, steps))
    return best


def _derivatives(
    multipliers: Reals, barrier: float, bases: Sequence[Reals], blocks: Sequence[Reals]
) -> tuple[Reals, Reals]:
    """Return the gradient and negative Hessian of the dual objective with its log barrier."""
    gradient = np.ones(len(multipliers)) + barrier / multipliers
    hessian = np.diag(barrier / multipliers**2)
    for base, block in zip(bases, blocks, strict=True):
        turned = np.linalg.inv(base + np.tensordot(multipliers, block, 1)) @ block
        gradient += barrier * np.trace(turned, axis1=1, axis2=2)
        hessian += barrier * np.einsum("kij,lji->kl", turned, turned)
    return gradient, hessian


def _failed(best: SmallSolution | None, gap: float, steps: int) -> str:
    """Return the error message for a path that ended before the gap was reached."""
    reached = "none" if best is None else f"{best.gap:.1e}"
    return (
        f"the central path ended at a gap of {reached}, not {gap:.1e}, after {steps} steps; "
        "the constraints may exclude each other"
    )


def _lift(matrices: Reals) -> Reals:
    """Return ``-[[0, K], [Kᵀ, 0]]`` of every matrix ``K``.

    ``I + Σ λ_k lift_k`` is positive definite if the operator norm is below 1.
    """
    count, rows, columns = matrices.shape
    lifted = np.zeros((count, rows + columns, rows + columns))
    lifted[:, :rows, rows:] = -matrices
    lifted[:, rows:, :rows] = -np.swapaxes(matrices, 1, 2)
    return lifted


def _is_feasible(
    multipliers: Reals, bases: Sequence[Reals], blocks: Sequence[Reals]
) -> bool:
    """Return whether multipliers are strictly feasible for the dual."""
    if (multipliers <= 0).any():
        return False
    try:
        for e, b in zip(bases, blocks, strict=True):
            np.linalg.cholesky(e + np.tensordot(multipliers, b, 1))
    except np.linalg.LinAlgError:
        return False
    return True


def _step_length(
    multipliers: Reals,
    direction: Reals,
    bases: Sequence[Reals],
    blocks: Sequence[Reals],
) -> float:
    """Return the largest step, at most 1, that stays well inside the feasible set."""
    length = 1.0
    while not _is_feasible(multipliers + length / 0.95 * direction, bases, blocks):
        length *= 0.7
        if length < 1e-12:
            return 0.0
    return length


def _primal_point(
    coefficients: Sequence[Reals],
    tilt: Sequence[Reals] | None,
    bases: Sequence[Reals],
    blocks: Sequence[Reals],
    multipliers: Reals,
    barrier: float,
    steps: int,
) -> SmallSolution:
    """Return the feasible primal point for a point of the path, its value, and the lower bound."""
    matrices: list[Reals] = []
    margins = np.zeros(len(multipliers))
    for k, e, b in zip(coefficients, bases, blocks, strict=True):
        rows = k.shape[1]
        inverse = np.linalg.inv(e + np.tensordot(multipliers, b, 1))
        w = 2.0 * barrier * inverse[:rows, rows:]
        matrices.append(w)
        margins += np.tensordot(k, w, 2)
    least = float(margins.min())
    matrices = [w / least for w in matrices]
    value = sum(float(np.linalg.svd(w, compute_uv=False).sum()) for w in matrices)
    if tilt is not None:
        value += sum(float((t * w).sum()) for t, w in zip(tilt, matrices, strict=True))
    bound = float(multipliers.sum())  # the multipliers are strictly feasible
    if not least > 0:
        value = np.inf
    return SmallSolution(tuple(matrices), multipliers, value, bound, steps)
