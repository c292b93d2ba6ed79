"""Run Node2Vec's descent on small graphs, with no more coordinates than nodes.

:func:`advance` is the fast path of :func:`~.node2vec.descend`.

``V ← (I + η C) V`` never leaves the row space of ``V_0``. Therefore, with ``V_0 = L_0
Qᵀ``, where ``Q`` has orthonormal columns, the iteration is ``L ← (I + η C) L`` with the
same ``C``, and ``V = L Qᵀ`` (Geometric Memory, appendix F, Lemma 1). This is exact up
to rounding, and saves most of the work if the width of the vectors exceeds the number
of nodes, as in the paper. NumPy only; shapes: ``R`` replicas, ``N`` nodes, ``D`` width.
"""

from __future__ import annotations

import numpy as np

from inweights.worlds.arrays import Float, Floats

#: Number of steps between two checks of the vectors.
BLOCK = 128
#: Largest logit for which ``exp``, which overflows at 709, is computed without
#: subtracting the row's largest logit; the subtraction would double the cost. A row's
#: largest logit is at most the largest squared length of a vector.
_HIGHEST = 300.0


def advance(
    v: Float[Floats, "R N D"],
    walk: Float[Floats, "N N"],
    has_edges: Float[Floats, "N 1"],
    eta: Float[Floats, "_ 1 1"],
    steps: int,
) -> Float[Floats, "R N D"] | None:
    """Return the vectors after updates ``V ← V + η C V``, or ``None`` if they may overflow.

    ``C = (P − S) + (P − S)ᵀ``, with ``S`` the row softmax of ``V Vᵀ`` (Geometric
    Memory, App. F).

    Args:
        v: Vectors ``V`` in double precision, ``[R, N, D]`` (``R`` replicas, ``N``
            nodes, width ``D``); for a different dtype, the result is ``None``.
        walk: Transition matrix ``P`` of the random walk, ``[N, N]``.
        has_edges: 1 for nodes that have edges, otherwise 0, ``[N, 1]``.
        eta: Learning rate of each replica, ``[R, 1, 1]``, or of all replicas, ``[1, 1,
            1]``.
        steps: Number of updates, at most 128 (:data:`BLOCK`), which is not checked.

    Returns:
        A new array ``[R, N, D]``; or ``None`` if the squared length of a vector is 300
        or more at the start, or a result is not finite. After ``None``, the caller has
        to make the updates with a method that avoids overflow.

    Example:
        >>> walk = np.array([[0.0, 1.0], [1.0, 0.0]])
        >>> step = np.full((1, 1, 1), 0.1)
        >>> advance(np.array([[[1.0], [0.0]]]), walk, np.ones((2, 1)), step, 1).round(3).tolist()
        [[[0.854], [0.123]]]
    """
    # an overflow counts as too large
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.square(v).sum(-1).max(initial=0.0)
    if v.dtype != np.float64 or not largest < _HIGHEST:
        return None
    basis = None
    if v.shape[1] < v.shape[2]:
        basis, triangle = np.linalg.qr(v.swapaxes(1, 2))
        v = triangle.swapaxes(1, 2)
    constant = np.eye(len(walk)) + eta * (walk + walk.T)  # I + η (P + Pᵀ)
    weight = eta * has_edges
    with np.errstate(all="ignore"):  # an overflow is detected below
        if len(v) == 1:  # with two axes, the many small calls take less time
            frames = _single(v[0].copy(), constant[0], weight[0, :, 0], steps)[None]
        else:
            frames = _several(v.copy(), constant, weight, steps)
        if basis is not None:
            frames = frames @ basis.swapaxes(1, 2)
    return frames if np.isfinite(frames).all() else None


def _single(v: Floats, constant: Floats, weight: Floats, steps: int) -> Floats:
    """Return the vectors of one replica after the updates, ``[N, D]``."""
    count = len(v)
    shares = np.empty((count, count))
    factor = np.empty((count, count))
    ones = np.ones(count)
    scale = np.empty(count)
    spare = np.empty_like(v)
    column = scale[:, None]
    half = shares.T
    exp = np.exp
    dot = np.dot
    divide = np.divide
    multiply = np.multiply
    subtract = np.subtract
    for _ in range(steps):
        dot(v, v.T, shares)
        exp(shares, shares)
        dot(shares, ones, scale)
        divide(weight, scale, scale)
        multiply(shares, column, shares)  # η S
        subtract(constant, shares, factor)
        subtract(factor, half, factor)  # I + η C
        dot(factor, v, spare)
        v, spare = spare, v
    return v


def _several(v: Floats, constant: Floats, weight: Floats, steps: int) -> Floats:
    """Return the vectors of several replicas after the updates, ``[R, N, D]``."""
    shares = np.empty((*v.shape[:2], v.shape[1]))
    factor = np.empty_like(shares)
    spare = np.empty_like(v)
    ones = np.ones((v.shape[1], 1))
    half = shares.swapaxes(1, 2)
    for _ in range(steps):
        np.matmul(v, v.swapaxes(1, 2), out=shares)
        np.exp(shares, out=shares)
        np.multiply(shares, weight / (shares @ ones), out=shares)
        np.subtract(constant, shares, out=factor)
        np.subtract(factor, half, out=factor)
        np.matmul(factor, v, out=spare)
        v, spare = spare, v
    return v
