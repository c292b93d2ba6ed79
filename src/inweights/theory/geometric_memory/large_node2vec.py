"""Train Node2Vec on large graphs, computing the logits of one block of nodes at a time.

:func:`descend_in_blocks` makes the updates of :func:`~.node2vec.descend` for tied
models. The random walk is sparse, and no dense array ``[N, N]`` is allocated. Shapes:
``R`` replicas, ``N`` nodes, ``D`` width.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inweights.worlds.arrays import Float, Floats

#: Number of logits of a replica that are computed together. Smaller blocks, which would
#: fit in the cache, take more time, since each block adds to the sums of all nodes.
_AT_ONCE = 2**21


def sparse_walk(a: Any) -> Any:
    """Return the transition matrix ``P = D⁻¹A`` of the random walk on a sparse graph.

    Args:
        a: Adjacency with non-negative entries, a SciPy sparse array ``[N, N]`` (``N``
            nodes).

    Returns:
        A SciPy sparse array ``[N, N]``; its rows sum to 1, and are 0 for nodes without
        edges.

    Example:
        >>> from scipy import sparse
        >>> sparse_walk(sparse.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))).toarray().tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    from scipy import sparse

    degree = np.asarray(a.sum(1)).ravel()
    share = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    return sparse.csr_array(sparse.diags_array(share) @ a)


def descend_in_blocks(
    v: Float[Floats, "R N D"],
    walk: Any,
    eta: Float[Floats, "_ 1 1"],
    steps: int,
) -> Float[Floats, "R N D"]:
    """Return Node2Vec's vectors after a number of updates ``V ← V + η C V``.

    Args:
        v: Vectors ``V``, ``[R, N, D]`` (``R`` replicas, ``N`` nodes, width ``D``).
        walk: Transition matrix ``P`` of the random walk, a SciPy sparse array
            ``[N, N]``.
        eta: Learning rate ``η`` of each replica, ``[R, 1, 1]``, or of all replicas,
            ``[1, 1, 1]``.
        steps: Number of updates.

    Returns:
        A new array ``[R, N, D]``. ``C`` is ``(P − S) + (P − S)ᵀ``, where ``S`` is the
        row softmax of ``V Vᵀ``. Values that overflow are infinite or NaN.

    Example:
        >>> from scipy import sparse
        >>> walk = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
        >>> start = np.array([[[1.0], [0.0]]])
        >>> descend_in_blocks(start, walk, np.full((1, 1, 1), 0.1), 1).round(3).tolist()
        [[[0.854], [0.123]]]
    """
    both = walk + walk.T
    has_edges = np.diff(walk.indptr) > 0
    rates = np.broadcast_to(eta[:, 0, 0], len(v))
    found = np.empty_like(v)
    # The caller reports values that are not finite.
    with np.errstate(over="ignore", invalid="ignore"):
        for replica, rate in enumerate(rates):
            now = v[replica]
            for _ in range(steps):
                now = now + rate * (both @ now - _pull(now, has_edges))
            found[replica] = now
    return found


def mean_losses(v: Float[Floats, "R N D"], walk: Any) -> Float[Floats, " R"]:
    """Return Node2Vec's loss, the sum over nodes of the mean over neighbours of ``−log S``.

    ``S`` is the row softmax of ``V Vᵀ``.

    Args:
        v: Vectors ``V``, ``[R, N, D]`` (``N`` nodes, width ``D``).
        walk: Transition matrix ``P`` of the random walk, a SciPy sparse array
            ``[N, N]``.

    Returns:
        One loss for each of ``R`` replicas, in nats, ``[R]``.

    Example:
        >>> from scipy import sparse
        >>> walk = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
        >>> float(mean_losses(np.zeros((1, 2, 1)), walk)[0].round(4))
        1.3863
    """
    edges = walk.tocoo()
    has_edges = np.diff(walk.indptr) > 0
    found = np.empty(len(v))
    for replica, own in enumerate(v):
        logits = np.einsum("ed,ed->e", own[edges.row], own[edges.col])
        normaliser = 0.0
        for rows in _blocks(len(own)):
            part, top = _exponentials(own, rows)
            logs = np.log(part.sum(1, dtype=np.float64)) + top
            normaliser += float(logs[has_edges[rows]].sum())
        found[replica] = normaliser - float(edges.data @ logits.astype(np.float64))
    return found


def _pull(v: Float[Floats, "N D"], has_edges: Any) -> Float[Floats, "N D"]:
    """Return ``(S + Sᵀ) V``, with ``S`` the row softmax of ``V Vᵀ`` (0 without edges)."""
    found = np.zeros_like(v)
    for rows in _blocks(len(v)):
        part, _ = _exponentials(v, rows)
        scale = (has_edges[rows] / part.sum(1))[:, None]
        found[rows] += scale * (part @ v)
        found += ((scale * v[rows]).T @ part).T
    return found


def _blocks(count: int) -> list[slice]:
    """Return slices of nodes whose logits are in memory at the same time."""
    step = max(1, _AT_ONCE // count)
    return [slice(start, start + step) for start in range(0, count, step)]


def _exponentials(v: Floats, rows: slice) -> tuple[Floats, Floats]:
    """Return the exponentials of some rows of ``V Vᵀ``, and the number subtracted from each row."""
    logits = v[rows] @ v.T
    top = logits.max(1)
    logits -= top[:, None]
    return np.exp(logits, out=logits), top
