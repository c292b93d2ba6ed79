"""Decompose matrices with a second method if NumPy's method fails.

NumPy decomposes with LAPACK's divide and conquer, the fastest method. On some
processors it does not converge for certain matrices with finite entries, such
as the Gram matrix of a program with many equal eigenvalues. :func:`eigh` and
:func:`svd` then use LAPACK's QR iteration. If the first method converges, their results
equal those of NumPy to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def eigh(matrix: Any) -> tuple[Any, Any]:
    """Return the eigenvalues and eigenvectors of a symmetric matrix, like ``numpy.linalg.eigh``.

    Args:
        matrix: Symmetric array ``[n, n]`` of real numbers.

    Returns:
        Eigenvalues in ascending order, ``[n]``, and eigenvectors as columns, ``[n, n]``.

    Raises:
        LinAlgError: The matrix has an infinite entry or NaN, or neither method
            converges.

    Example:
        >>> values, vectors = eigh(np.diag([3.0, 1.0]))
        >>> values.tolist()
        [1.0, 3.0]
    """
    try:
        return np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        if not np.isfinite(matrix).all():
            raise
        from scipy import linalg

        values, vectors = linalg.eigh(matrix, driver="ev")
        return values, vectors


def svd(matrix: Any, *, full_matrices: bool = True) -> tuple[Any, Any, Any]:
    """Return the singular value decomposition of matrices, like ``numpy.linalg.svd``.

    Args:
        matrix: Array ``[..., m, n]`` of real numbers: one matrix, or a stack of them.
        full_matrices: Whether the singular vectors form square matrices; otherwise
            there are ``min(m, n)`` of them on each side.

    Returns:
        Left singular vectors as columns, singular values in descending order, and right
        singular vectors as rows.

    Raises:
        LinAlgError: A matrix has an infinite entry or NaN, or neither method converges.

    Example:
        >>> left, values, right = svd(np.diag([3.0, 1.0]))
        >>> values.tolist()
        [3.0, 1.0]
    """
    try:
        return np.linalg.svd(matrix, full_matrices=full_matrices)
    except np.linalg.LinAlgError:
        if not np.isfinite(matrix).all():
            raise
        from scipy import linalg

        stack = matrix.reshape(-1, *matrix.shape[-2:])
        parts = [
            linalg.svd(one, full_matrices=full_matrices, lapack_driver="gesvd")
            for one in stack
        ]
        left, values, right = (np.stack(part) for part in zip(*parts, strict=True))
        return tuple(  # type: ignore[return-value]
            part.reshape(*matrix.shape[:-2], *part.shape[1:])
            for part in (left, values, right)
        )
