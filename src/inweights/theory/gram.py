"""Node2Vec's descent through its Gram matrix: ``N²`` numbers instead of ``N × D``.

An update ``V ← (I + η C) V`` depends on ``V`` by ``G = V Vᵀ`` alone, and changes it to
``(I + η C) G (I + η C)``. So where vectors are wider than the graph has nodes, as the paper's are,
one keeps ``G`` and the product ``M`` of the factors, and multiplies ``V = M V_0`` once in many
steps (Geometric Memory, appendix F, Lemma 1). Exact but for rounding; ``G`` is made anew from ``V``
each time. NumPy only; shapes: ``R`` replicas, ``N`` nodes, ``D`` width.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inweights.theory.spectral import Floats

__all__ = ["BLOCK", "advance", "fits"]

#: Steps between two looks at the vectors.
BLOCK = 128
#: ``exp`` is taken without subtracting the row's largest logit, which costs as much as the rest;
#: it overflows at 709. A row's largest logit is at most the largest square of a vector's length.
_HIGHEST = 300.0
#: More nodes than this, and the products of ``N × N`` matrices are no longer the cheap part.
_MOST = 128


def fits(v: Floats) -> bool:
    """Whether the Gram matrix is the cheaper way for vectors ``[R, N, D]``.

    Example:
        >>> fits(np.zeros((1, 15, 100))), fits(np.zeros((1, 15, 8)))
        (True, False)
    """
    nodes, width = v.shape[-2:]
    return v.dtype == np.float64 and nodes <= min(width, _MOST)


def advance(v: Floats, walk: Floats, there: Floats, eta: Floats, steps: int) -> Floats | None:
    """Return the vectors some steps later, or ``None`` where exponentials would overflow.

    Args:
        v: Vectors, ``[R, N, D]``, double precision.
        walk: ``P``, ``[N, N]``.
        there: 1 for nodes that have edges, else 0, ``[N, 1]``.
        eta: Rates, ``[1, 1, 1]`` or ``[R, 1, 1]``.
        steps: How many; at most :data:`BLOCK`.

    Example:
        >>> ring = (np.roll(np.eye(4), 1, 1) + np.roll(np.eye(4), -1, 1)) / 2
        >>> start = np.random.default_rng(0).normal(size=(2, 4, 9))
        >>> advance(start, ring, np.ones((4, 1)), np.full((1, 1, 1), 0.1), 7).shape
        (2, 4, 9)
    """
    gram = v @ v.swapaxes(1, 2)
    highest = gram.diagonal(axis1=1, axis2=2).max(initial=0.0)
    if not highest < _HIGHEST:
        return None
    identity = np.eye(len(walk))
    still = identity + eta * (walk + walk.T)  # I + η (P + Pᵀ)
    weight = eta * there
    made: Floats
    with np.errstate(all="ignore"):  # what overflows is seen below and done again
        if len(v) == 1:  # two axes: less to do for each of the many small calls
            made = _single(gram[0], still[0], weight[0, :, 0], steps)[None] @ v
        else:
            made = _several(gram, still, weight, steps) @ v
    return made if np.isfinite(made).all() else None


def _single(gram: Floats, still: Floats, weight: Floats, steps: int) -> Floats:
    """The product ``M`` of the factors of ``steps`` updates, ``[N, N]``."""
    count = len(gram)
    factor, part = np.empty((count, count)), np.empty((count, count))
    product, spare = np.eye(count), np.empty((count, count))
    ones, share = np.ones(count), np.empty(count)
    column, half = share[:, None], part.T
    exp, dot, divide, multiply, subtract = np.exp, np.dot, np.divide, np.multiply, np.subtract
    for _ in range(steps):
        exp(gram, factor)
        dot(factor, ones, share)
        divide(weight, share, share)
        multiply(factor, column, part)  # η S
        # Symmetric to the last bit: else rounding that is not grows from step to step.
        subtract(still, part, factor)
        subtract(factor, half, factor)
        dot(factor, gram, part)
        dot(part, factor, gram)
        dot(factor, product, spare)
        product, spare = spare, product
    return product


def _several(gram: Floats, still: Floats, weight: Floats, steps: int) -> Floats:
    """The same for replicas, ``[R, N, N]``."""
    factor, part, spare = (np.empty_like(gram) for _ in range(3))
    half = part.swapaxes(1, 2)
    product: Any = np.broadcast_to(np.eye(gram.shape[1]), gram.shape).copy()
    ones = np.ones((gram.shape[1], 1))
    for _ in range(steps):
        np.exp(gram, out=factor)
        np.multiply(factor, weight / (factor @ ones), out=part)
        np.subtract(still, part, out=factor)
        np.subtract(factor, half, out=factor)
        np.matmul(factor, gram, out=part)
        np.matmul(part, factor, out=gram)
        np.matmul(factor, product, out=spare)
        product, spare = spare, product
    made: Floats = product
    return made
