"""Run Node2Vec's dynamics in closed form (Geometric Memory, appendix F, Lemma 1).

:func:`descend` runs the dynamics and returns a :class:`Trajectory`;
:func:`probabilities`, :func:`losses` and :func:`coefficients` evaluate one point.

Gradient ascent on ``J = Σ_i (1/n_i) Σ_{j ∈ nbr(i)} log S_ij`` with ``S = softmax(V
Vᵀ)`` by row (the node itself included) is ``V ← V + η C V``, where ``C = (P − S) + (P −
S)ᵀ`` and ``P = D⁻¹A``. (The paper calls the softmax ``P``.) For a node without edges, the
rows of ``P`` and ``S`` are 0. Shapes: ``R`` replicas, ``N`` nodes, ``D`` width, ``K``
recorded steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inweights.errors import DataError, SolverError
from inweights.theory.geometric_memory import large_node2vec, small_node2vec
from inweights.theory.geometric_memory.spectral import random_walk
from inweights.worlds.arrays import Float, Floats, Ids, Int


def probabilities(
    v: Float[Floats, "*R N D"], u: Float[Floats, "*R N D"] | None = None
) -> Float[Floats, "*R N N"]:
    """Return ``S``, the row softmax of ``V Uᵀ`` (``V Vᵀ`` by default).

    Args:
        v: Vectors ``V`` of ``N`` nodes in width ``D``, ``[..., N, D]``.
        u: Vectors ``U`` of the predicted nodes, of the same shape; ``V`` by default.

    Returns:
        Array ``[..., N, N]`` whose rows sum to 1.

    Example:
        >>> probabilities(np.zeros((2, 4, 3))).shape, float(probabilities(np.zeros((4, 3)))[0, 0])
        ((2, 4, 4), 0.25)
    """
    return _softmax(v, v if u is None else u)[0]


def _softmax(v: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Return the row softmax of ``V Uᵀ``, and its logarithm."""
    logits = v @ np.swapaxes(u, -1, -2)
    # Computed in place, as these are the largest arrays of a step.
    logits -= logits.max(-1, keepdims=True)
    weights = np.exp(logits)
    total = weights.sum(-1, keepdims=True)
    logits -= np.log(total)
    return weights / total, logits


def losses(
    v: Float[Floats, "*R N D"],
    a: Float[Floats, "N N"],
    u: Float[Floats, "*R N D"] | None = None,
) -> Float[Floats, "*R"]:
    """Return Node2Vec's loss, the sum over nodes of the mean over neighbours of ``−log S``.

    ``S`` is the row softmax of ``V Uᵀ``. The lower bound is ``Σ_i ln deg(i)``.

    Args:
        v: Vectors ``V`` of ``N`` nodes in width ``D``, ``[..., N, D]``.
        a: Adjacency, ``[N, N]`` of non-negative numbers.
        u: Vectors ``U`` of the predicted nodes of an untied model; ``V`` by default.

    Returns:
        One loss per replica, in nats, ``[...]``.

    Raises:
        DataError: The shapes do not match, ``a`` has a negative entry, or the vectors are
            not floating-point numbers.

    Example:
        >>> float(losses(np.zeros((2, 1)), np.array([[0.0, 1.0], [1.0, 0.0]])).round(4))
        1.3863
    """
    _check(v, a, u)
    return -(random_walk(a) * _softmax(v, v if u is None else u)[1]).sum((-1, -2))


def coefficients(
    v: Float[Floats, "*R N D"], a: Float[Floats, "N N"]
) -> Float[Floats, "*R N N"]:
    """Return the coefficient matrix ``C = (P − S) + (P − S)ᵀ`` at the vectors ``V``.

    ``P`` is ``D⁻¹A``, and ``S`` the row softmax of ``V Vᵀ`` (Geometric Memory, F).

    Args:
        v: Vectors ``V``, ``[..., N, D]`` (``N`` nodes, width ``D``).
        a: Adjacency, a square array ``[N, N]`` of non-negative numbers.

    Returns:
        Symmetric array ``[..., N, N]``; gradient ascent is ``V ← V + η C V``.

    Raises:
        DataError: The shapes do not match, ``a`` has a negative entry, or the vectors are
            not floating-point numbers.

    Example:
        >>> c = coefficients(np.zeros((2, 1)), np.array([[0.0, 1.0], [1.0, 0.0]]))
        >>> c.tolist()
        [[-1.0, 1.0], [1.0, -1.0]]
    """
    _check(v, a, None)
    return _coefficients(v, *_walk(a))


def _walk(a: Floats) -> tuple[Floats, Floats]:
    """Return ``P``, and a column that is 1 for nodes with edges, otherwise 0."""
    return random_walk(a), (a.sum(1, keepdims=True) > 0).astype(np.float64)


def _coefficients(v: Floats, walk: Floats, there: Floats) -> Floats:
    half = walk - there.astype(v.dtype) * _softmax(v, v)[0]
    return half + np.swapaxes(half, -1, -2)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Recorded states of Node2Vec's dynamics, as returned by :func:`descend`.

    Attributes:
        vectors: ``V`` of ``R`` replicas with ``N`` nodes at the end, ``[R, N, D]``.
        targets: ``U`` at the end if the model is untied, otherwise ``None``.
        steps: The ``K`` recorded steps, ascending, ``[K]``; the last one is the end.
        losses: Loss ``−J`` (sum over nodes, in nats) at these steps, ``[K, R]``.
        frames: Copies of ``V`` at these steps, ``[K, R, N, D]``.
    """

    vectors: Float[Floats, "R N D"]
    targets: Float[Floats, "R N D"] | None
    steps: Int[Ids, " K"]
    losses: Float[Floats, "K R"]
    frames: Float[Floats, "K R N D"]


def descend(
    start: Float[Floats, "R N D"],
    a: Any,
    *,
    rate: float | Sequence[float] = 0.01,
    steps: int = 10_000,
    record: Iterable[int] = (),
    targets: Float[Floats, "R N D"] | None = None,
) -> Trajectory:
    """Run gradient descent on Node2Vec's loss, ``V ← V + η C V``, for all replicas at once.

    This is Lemma 1 of Geometric Memory; :func:`coefficients` returns ``C``.

    Args:
        start: Vectors ``V`` at step 0, ``[R, N, D]`` (``R`` replicas, ``N`` nodes,
            width ``D``), in floating point; all results have the same dtype.
        a: Adjacency, ``[N, N]``: a NumPy array or, to save memory for a large graph and
            a tied model, a SciPy sparse array.
        rate: Learning rate ``η``: a number for all replicas, or one number per replica.
        steps: Number of updates, at least 0.
        record: Steps to record, from 0 (the start); the last step is always recorded.
        targets: ``U`` at step 0, ``[R, N, D]``, or ``None`` for a tied model. An untied
            model has the updates ``V ← V + η (P − S) U`` and ``U ← U + η (P − S)ᵀ V``.

    Returns:
        Final vectors, and losses and vectors at the recorded steps.

    Raises:
        DataError: A shape is wrong, ``start`` is not in floating point, the number of
            rates is neither 1 nor ``R``, a step is not between 0 and ``steps``, or
            ``a`` has a negative entry or is sparse for an untied model.
        SolverError: The vectors of some replicas became infinite or NaN.

    Example:
        >>> ring = np.roll(np.eye(9), 1, 1) + np.roll(np.eye(9), -1, 1)
        >>> start = np.random.default_rng(0).normal(size=(2, 9, 20))
        >>> run = descend(start, ring, rate=0.05, steps=500, record=[0])
        >>> run.steps.tolist(), run.losses.shape, bool((run.losses[1] < run.losses[0]).all())
        ([0, 500], (2, 2), True)
    """
    if start.ndim != 3 or (targets is not None and targets.shape != start.shape):
        raise DataError(
            "'start' must have the shape [R, N, D], and 'targets' the same shape; "
            f"got {start.shape} and {None if targets is None else targets.shape}"
        )
    _check(start, a, targets)
    wanted = sorted({*record, steps})
    if steps < 0 or wanted[0] < 0 or wanted[-1] > steps:
        raise DataError(
            f"steps to record must be from 0 to {steps}, got {wanted[0]} to {wanted[-1]}"
        )
    eta = np.asarray(rate, start.dtype).reshape(-1, 1, 1)
    if len(eta) not in (1, len(start)):
        raise DataError(
            f"expected one learning rate, or one for each replica ({len(start)}), got "
            f"{len(eta)}"
        )
    if hasattr(a, "tocsr"):
        if targets is not None:
            raise DataError("an untied model requires a dense adjacency")
        updates: _Updates = _LargeUpdates(a.tocsr().astype(start.dtype), eta)
    else:
        updates = _Updates(a, eta, start.dtype)
    v = start.copy()
    u = None if targets is None else targets.copy()
    kept: list[tuple[Floats, Floats]] = []
    step = 0
    for last in wanted:
        while step < last:
            count = min(last - step, small_node2vec.BLOCK)
            v, u = updates.advance(v, u, count)
            step += count
        if not np.isfinite(v).all():
            bad = np.flatnonzero(~np.isfinite(v).all((1, 2))).tolist()
            raise SolverError(
                f"replicas {bad} diverged at or before step {step}; lower the learning rate"
            )
        kept.append((updates.losses(v, u), v.copy()))
    return Trajectory(
        vectors=v,
        targets=u,
        steps=np.array(wanted, dtype=np.int64),
        losses=np.stack([loss for loss, _ in kept]),
        frames=np.stack([frame for _, frame in kept]),
    )


class _Updates:
    """Updates for a graph whose matrices ``[N, N]`` fit in memory.

    Args:
        a: Adjacency, ``[N, N]``.
        eta: Learning rate of each replica, or of all.
        dtype: Type of the computation.
    """

    def __init__(self, a: Floats, eta: Floats, dtype: Any) -> None:
        self._adjacency = a
        self._eta = eta
        self._walk, self._there = (part.astype(dtype) for part in _walk(a))

    def losses(self, v: Floats, u: Floats | None) -> Floats:
        """Return the loss ``−J`` of each replica, as :func:`losses` defines it."""
        return losses(v, self._adjacency, u)

    def advance(
        self, v: Floats, u: Floats | None, steps: int
    ) -> tuple[Floats, Floats | None]:
        """Return ``V`` and ``U`` after a number of updates."""
        if u is None:
            quick = small_node2vec.advance(v, self._walk, self._there, self._eta, steps)
            if quick is not None:
                return quick, None
        return _advance(v, u, self._walk, self._there, self._eta, steps)


class _LargeUpdates(_Updates):
    """Updates of a tied model for a large graph, whose adjacency is sparse in CSR format."""

    def __init__(self, a: Any, eta: Floats) -> None:
        self._eta = eta
        self._walk = large_node2vec.sparse_walk(a)

    def losses(self, v: Floats, u: Floats | None) -> Floats:
        """Return the loss ``−J`` of each replica, as :func:`losses` defines it."""
        del u
        return large_node2vec.mean_losses(v, self._walk)

    def advance(
        self, v: Floats, u: Floats | None, steps: int
    ) -> tuple[Floats, Floats | None]:
        """Return ``V`` after a number of updates, and ``u``, which must be ``None``."""
        return large_node2vec.descend_in_blocks(v, self._walk, self._eta, steps), u


def _advance(
    v: Floats, u: Floats | None, walk: Floats, there: Floats, eta: Floats, steps: int
) -> tuple[Floats, Floats | None]:
    """Make updates directly by the formulas, for vectors of any dtype and size."""
    # Values that are not finite are reported at the next record.
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            if u is None:
                v = v + eta * (_coefficients(v, walk, there) @ v)
            else:
                half = walk - there * _softmax(v, u)[0]
                v, u = v + eta * (half @ u), u + eta * (np.swapaxes(half, -1, -2) @ v)
    return v, u


def _check(v: Floats, a: Any, u: Floats | None) -> None:
    """Raise a DataError if vectors do not fit the graph or are not floating-point numbers."""
    fits = v.ndim >= 2 and v.shape[-2] == a.shape[0]
    if not fits or (u is not None and u.shape[-2:] != v.shape[-2:]):
        raise DataError(
            f"vectors must have the shape [..., {a.shape[0]}, D], got {v.shape}"
        )
    if not np.issubdtype(v.dtype, np.floating):
        raise DataError(f"vectors must be floating-point numbers, got {v.dtype}")
