"""Shrink singular values and project onto margins: the proximal operators of the splitting.

:mod:`~.splitting` applies :func:`shrink` and :class:`MarginProjection` in each
iteration; all solvers of this package use :func:`operator_norm` and
:func:`few_threads`. Shapes: ``M`` prompts, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from inweights.support.statistics.decompositions import eigh
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Float, Floats


def shrink(
    matrix: Float[Floats, "P K"], threshold: float
) -> tuple[Float[Floats, "P K"], Float[Floats, " rank"]]:
    """Subtract a threshold from all singular values of a matrix, and clip them at 0.

    This is the proximal map of the nuclear norm ``‖·‖_*``. The eigenvectors of the
    smaller Gram matrix are used, which takes half the time of a singular value
    decomposition. Singular values below 1e-8 times the largest one are lost; such
    values are usually shrunk to 0 anyway.

    Args:
        matrix: Any matrix ``[P, K]`` (``P`` input tokens, ``K`` outputs).
        threshold: Number, above 0, that is subtracted from every singular value.

    Returns:
        The shrunk matrix ``[P, K]``, and its positive singular values ``[rank]``, in
        ascending order.

    Example:
        >>> shrunk, values = shrink(np.diag([3.0, 1.0]), 2.0)
        >>> shrunk.tolist(), values.tolist()
        ([[1.0, 0.0], [0.0, 0.0]], [1.0])
    """
    if matrix.shape[0] < matrix.shape[1]:
        turned, values = shrink(matrix.T, threshold)
        return turned.T, values
    squares, vectors = eigh(matrix.T @ matrix)
    values = np.sqrt(np.maximum(squares, 0.0))
    kept = values > threshold
    vectors = vectors[:, kept]
    values = values[kept]
    less = values - threshold
    return (matrix @ (vectors * (less / values))) @ vectors.T, less


def operator_norm(matrix: Float[Floats, "P K"]) -> float:
    """Return the largest singular value of a matrix.

    Args:
        matrix: Any matrix ``[P, K]`` (``P`` input tokens, ``K`` outputs).

    Example:
        >>> operator_norm(np.diag([3.0, 1.0]))
        3.0
    """
    # From the smaller Gram matrix, since a singular value decomposition takes longer.
    wide = matrix.shape[0] < matrix.shape[1]
    small = matrix @ matrix.T if wide else matrix.T @ matrix
    return float(np.sqrt(max(np.linalg.eigvalsh(small)[-1], 0.0)))


class MarginProjection:
    """Projection of logits onto the nearest logits with margins of at least 1, row by row.

    The correct answers of a row are raised to at least ``t``, and its wrong answers are
    lowered to at most ``t - 1``; ``t`` balances the two changes. With one correct
    answer, Newton's method finds ``t`` exactly in a few steps (the balance is concave
    and piecewise linear), starting from the ``t`` of the previous call.

    An instance is called with logits ``[M, K]`` (``K`` outputs) and returns the
    projected logits. Distances are Euclidean.

    Args:
        program: Program that specifies which outputs are correct for each of the ``M``
            prompts.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> program = Program.of(TwoHop(n=3).build())
        >>> projected = MarginProjection(program)(np.zeros((9, 6)))
        >>> program.least_margins(projected).round(9).min()
        np.float64(1.0)
    """

    def __init__(self, program: Program) -> None:
        """Prepare the projection for the prompts of ``program`` and their correct answers."""
        single = program.single
        self._lone = np.flatnonzero(single >= 0)
        self._answer = single[self._lone]
        self._many = np.flatnonzero(single < 0)
        self._right = program.right[self._many]
        self._level: Floats | None = None

    def __call__(self, logits: Float[Floats, "M K"]) -> Float[Floats, "M K"]:
        """Return the nearest logits whose margins are at least 1, row by row.

        Args:
            logits: Logits ``[M, K]``.

        Returns:
            The projected logits, ``[M, K]``.
        """
        if not len(self._many):
            return self._one(logits)
        projected = np.empty_like(logits)
        projected[self._lone] = self._one(logits[self._lone])
        projected[self._many] = self._several(logits[self._many])
        return projected

    def _one(self, logits: Floats) -> Floats:
        """Project rows with one correct answer, by Newton's method on ``t``."""
        rows = np.arange(len(logits))
        answer = logits[rows, self._answer]
        raised = logits + 1.0
        raised[rows, self._answer] = -np.inf
        level = answer if self._level is None else np.maximum(self._level, answer)
        for _ in range(100):
            above = raised > level[:, None]
            total = np.where(above, raised, 0.0).sum(1)
            following = np.maximum((answer + total) / (1 + above.sum(1)), answer)
            done = np.abs(following - level).max(initial=0.0) <= 1e-13
            level = following
            if done:
                break
        self._level = level
        projected = np.minimum(logits, (level - 1.0)[:, None])
        projected[rows, self._answer] = level
        return projected

    def _several(self, logits: Floats) -> Floats:
        """Project rows with several correct answers, by bisection on ``t``."""
        right = self._right
        low = np.where(right, logits, np.inf).min(1)
        high = np.maximum(low, np.where(right, -np.inf, logits + 1.0).max(1))
        for _ in range(60):
            level = (low + high) / 2
            up = np.maximum(level[:, None] - logits, 0.0)
            down = np.maximum(logits + 1.0 - level[:, None], 0.0)
            lifted = np.where(right, up, 0.0).sum(1)
            lowered = np.where(right, 0.0, down).sum(1)
            enough = lifted >= lowered
            low = np.where(enough, low, level)
            high = np.where(enough, level, high)
        raised = np.maximum(logits, high[:, None])
        return np.where(right, raised, np.minimum(logits, high[:, None] - 1.0))


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def few_threads(shape: tuple[int, int]) -> AbstractContextManager[Any]:
    """Return a context manager within which BLAS uses one thread for small matrices.

    For small matrices, a second thread saves little time, and on busy cores it makes
    the computation 20 times slower.

    Args:
        shape: Numbers of rows and columns of the matrices. If one of them is 512 or
            more, the number of threads is not changed.

    Returns:
        A context manager; the number of threads is restored at its end.

    Example:
        >>> with few_threads((10, 10)):
        ...     np.eye(10) @ np.eye(10)[0]
        array([1., 0., 0., 0., 0., 0., 0., 0., 0., 0.])
    """
    few = 1 if max(shape) < 512 else None
    limited: AbstractContextManager[Any] = _libraries().limit(
        limits=few, user_api="blas"
    )
    return limited
