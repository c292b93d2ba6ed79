"""Orthogonal Procrustes: the best rotation of one arrangement of points onto another.

:func:`procrustes` computes a distance that does not depend on rotation and scale;
:func:`procrustes_align` rotates points, and :func:`align` rotates the frames of an
animation. Shapes: ``N`` points, ``D`` and ``E`` dimensions, ``K`` frames.
"""

from __future__ import annotations

import numpy as np

from inweights.errors import DataError
from inweights.support.statistics.decompositions import svd
from inweights.worlds.arrays import Float, Floats


def procrustes_align(
    points: Float[Floats, "N D"], onto: Float[Floats, "N E"]
) -> Float[Floats, "N _"]:
    """Rotate or reflect points about the origin so that they best fit target points.

    This is orthogonal Procrustes (Schönemann 1966): ``Q = argmin ‖X Q − Y‖`` over
    orthogonal ``Q``. If the widths differ, the narrower matrix is padded with zeros.

    Args:
        points: Points ``X`` that are rotated.
        onto: Target points ``Y``, one for each of ``points``.

    Returns:
        The matrix ``X Q``, with one row per point; its width is the larger of the two
        widths.

    Raises:
        DataError: The numbers of points differ, or an array does not have two axes.
    """
    from scipy.linalg import orthogonal_procrustes

    if points.ndim != 2 or onto.ndim != 2 or len(points) != len(onto):
        raise DataError(
            f"points must have shape [N, D], with the same number of points as the target, got "
            f"{points.shape} and {onto.shape}"
        )
    width = max(points.shape[1], onto.shape[1])
    x = np.pad(points, ((0, 0), (0, width - points.shape[1])))
    y = np.pad(onto, ((0, 0), (0, width - onto.shape[1])))
    rotation: Floats = orthogonal_procrustes(x, y)[0]
    placed: Floats = x @ rotation
    return placed


def procrustes(points: Float[Floats, "N D"], onto: Float[Floats, "N E"]) -> float:
    """Compute the Procrustes distance between two arrangements of the same points, from 0 to 1.

    Both are first centred and scaled to norm 1. The distance is ``1 − (Σ σ_i)²``, where
    ``σ_i`` are the singular values of ``XᵀY``. It is the sum of squares that remains
    after the best rotation and scaling (Gower 1975).

    Args:
        points: One arrangement ``X``.
        onto: Another arrangement ``Y`` of the same points, in the same order.

    Returns:
        A number from 0 to 1. It is 0 if one arrangement can be shifted, rotated or
        reflected, and scaled to equal the other.

    Raises:
        DataError: The numbers of points differ, an array does not have two axes, or all
            points of an arrangement are the same.
    """
    if points.ndim != 2 or onto.ndim != 2 or len(points) != len(onto):
        raise DataError(
            f"two arrangements must have the same number of points, got {points.shape} and "
            f"{onto.shape}"
        )
    x = points - points.mean(0)
    y = onto - onto.mean(0)
    norms = np.linalg.norm(x), np.linalg.norm(y)
    # For equal points, only rounding errors remain. They are proportional to the
    # coordinates.
    size = max(1.0, float(np.abs(points).max()), float(np.abs(onto).max()))
    if min(norms) <= 1e-12 * size:
        raise DataError(
            "an arrangement needs at least two different points; all of its points are the same"
        )
    product = (x / norms[0]).T @ (y / norms[1])
    # The sum of the singular values is the largest inner product that a rotation or
    # reflection achieves.
    inner = np.linalg.svd(product, compute_uv=False).sum()
    return float(max(0.0, 1.0 - inner**2))


def align(frames: Float[Floats, "K N 3"]) -> Float[Floats, "K N 3"]:
    """Rotate or reflect every frame about the origin so that it best fits the next one.

    Args:
        frames: Coordinates of ``N`` points in each of ``K`` frames, ``[K, N, 3]``.

    Returns:
        A copy of the frames, ``[K, N, 3]``; the last one is unchanged.

    Example:
        >>> last = np.random.default_rng(0).normal(size=(5, 3))
        >>> turned = last @ np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
        >>> bool(np.allclose(align(np.stack([turned, last]))[0], last))
        True
    """
    out = frames.copy()
    for k in range(len(out) - 2, -1, -1):
        left, _, right = svd(out[k].T @ out[k + 1])
        out[k] = out[k] @ (left @ right)
    return out
