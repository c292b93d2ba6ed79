"""Node2Vec's descent on large graphs: sparse walks, a softmax in chunks of rows.

The same update as :mod:`inweights.theory.geometric_memory.node2vec`, ``V ← V + η [(P − S) + (P −
S)ᵀ] V`` (Geometric Memory, appendix F, Lemma 1), with no ``N × N`` matrix in memory: ``P`` is
sparse, and the softmax ``S`` exists for some rows at a time. A chunk of rows ``S_b`` gives ``S_b
V`` to its own rows and ``S_bᵀ V_b`` to all. The time of a step still grows as ``N² D``: it is the
full softmax. NumPy and SciPy. No recipe needs it: it is for graphs of one's own.

Shapes: ``N`` nodes, ``E`` edges, ``D`` width, ``B`` rows of a chunk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inweights.arrays import Bools, Float, Floats
from inweights.errors import ConfigError, DataError, SolverError
from inweights.theory.geometric_memory.spectral import edge_ends
from inweights.worlds.world import World

#: Entries of the softmax that are held at once: 64 MiB in single precision.
ENTRIES = 2**24


@dataclass(frozen=True, eq=False)
class LargeDescent:
    """What a descent leaves.

    Attributes:
        vectors: ``V`` at the end.
        losses: ``−J`` before every update; see
            :func:`inweights.theory.geometric_memory.node2vec.losses`.
    """

    vectors: Float[NDArray[np.floating], "N D"]
    losses: Float[Floats, " K"]


def sparse_adjacency(world: World) -> Any:
    """Return the 0/1 adjacency of a world's facts among its nodes, sparse, ``[N, N]``.

    It is :func:`inweights.theory.geometric_memory.spectral.adjacency` for graphs that are too large
    for that.

    Raises:
        DataError: No fact is an edge, or ids of the group ``node`` do not start at 0.

    Example:
        >>> from inweights.worlds import Graph
        >>> sparse_adjacency(Graph(shape="cycle", n=5).build()).nnz
        10
    """
    from scipy import sparse

    count, rows, columns = edge_ends(world)
    matrix = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(count, count))
    matrix.data[:] = 1.0  # parallel edges count once
    return matrix


def descend_large(
    start: Float[NDArray[np.floating], "N D"],
    a: Any,
    *,
    rate: float = 0.01,
    steps: int = 10,
    entries: int = ENTRIES,
    progress: Callable[[int], None] | None = None,
) -> LargeDescent:
    """Run ``V ← V + η C V`` for one Node2Vec on a graph of any size.

    Args:
        start: ``V`` at step 0; its dtype is the one that is worked in. Single
            precision halves time and memory.
        a: Adjacency, ``[N, N]``: sparse, or an array.
        rate: ``η``.
        steps: Number of updates.
        entries: Entries ``B N`` of the softmax that are held at once.
        progress: Called with the number of updates done.

    Raises:
        ConfigError: A number is out of range.
        DataError: Shapes do not fit, or vectors are no floating-point numbers.
        SolverError: The vectors became infinite or not a number.

    Example:
        >>> ring = np.roll(np.eye(9), 1, 1) + np.roll(np.eye(9), -1, 1)
        >>> start = np.random.default_rng(0).normal(size=(9, 4))
        >>> run = descend_large(start, ring, rate=0.05, steps=20)
        >>> run.vectors.shape, bool(run.losses[-1] < run.losses[0])
        ((9, 4), True)
    """
    from scipy import sparse

    start = np.asarray(start)
    if start.ndim != 2 or a.shape != (len(start), len(start)):
        raise DataError(
            f"vectors [N, D] and an adjacency [N, N] must fit together, got {start.shape} and "
            f"{a.shape}"
        )
    if not np.issubdtype(start.dtype, np.floating):
        raise DataError(f"vectors must be floating-point numbers, got {start.dtype}")
    if steps < 0 or entries < 1 or not rate > 0:
        raise ConfigError(
            f"steps must be at least 0, entries at least 1 and the rate above 0, got {steps}, "
            f"{entries} and {rate}"
        )
    walk = sparse.csr_array(a).astype(start.dtype)
    degree = np.asarray(walk.sum(1)).reshape(-1, 1)
    walk = sparse.diags_array(1.0 / np.maximum(degree[:, 0], 1.0)).astype(start.dtype) @ walk
    back = walk.T.tocsr()
    there = degree > 0
    v, losses = start.copy(), []
    chunk = max(1, min(len(v), entries // len(v)))
    buffer = np.empty((chunk, len(v)), dtype=start.dtype)
    for step in range(steps):
        pulled = walk @ v  # P V
        loss = -float(np.einsum("nd,nd->", v, pulled, dtype=np.float64))
        change = pulled + back @ v
        for first in range(0, len(v), chunk):
            loss += _push(v, change, there, buffer, slice(first, first + chunk))
        losses.append(loss)
        v += start.dtype.type(rate) * change
        if not np.isfinite(v).all():
            raise SolverError(f"the vectors diverged by step {step + 1}; lower the rate")
        if progress:
            progress(step + 1)
    return LargeDescent(vectors=v, losses=np.array(losses))


def _push(
    v: NDArray[Any],
    change: NDArray[Any],
    there: Bools,
    buffer: NDArray[Any],
    rows: slice,
) -> float:
    """Subtract a chunk's part of ``S V + Sᵀ V``; return its part of the sum of log-sum-exps."""
    own = v[rows]
    chunk = buffer[: len(own)]
    np.matmul(own, v.T, out=chunk)
    highest = chunk.max(1, keepdims=True)
    chunk -= highest
    np.exp(chunk, out=chunk)
    total = chunk.sum(1, keepdims=True, dtype=np.float64)
    logs = (np.log(total) + highest) * there[rows]
    # S = chunk / total, without writing it: the division is of N × D numbers instead.
    share = np.where(there[rows], 1.0 / total, 0.0).astype(v.dtype)
    change[rows] -= share * (chunk @ v)
    change -= chunk.T @ (share * own)
    return float(logs.sum(dtype=np.float64))
