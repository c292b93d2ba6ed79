"""Explain why an untied head folds a geometry: it loses the signs of eigenvalues.

This explanation is our own. :func:`grown_vectors` returns the predicted embeddings, to
be compared with trained embeddings.

Let ``E`` be the embeddings of the given nodes and ``U`` the embeddings of the predicted
nodes. Near zero logits, the loss of edges ``u → w`` changes them by ``dE/dt = S U`` and
``dU/dt = Sᵀ E``, where ``S = A − d 1ᵀ/V`` is the adjacency minus the mean that the
softmax subtracts. A tied head has ``U = E``: directions grow as ``exp(λt)``, and
directions in which neighbours differ (``λ < 0``) decay. For independent tables, ``E
Eᵀ`` becomes ``P cosh(2tΣ) Pᵀ`` with ``S = P Σ Qᵀ``: both signs grow equally. For
symmetric ``S``, this is the even part of the tied ``exp(2tS)``. On a bipartite graph,
only the odd part distinguishes pairs of nodes an odd number of hops apart, so that only
distances between nodes an even number of hops apart remain in order.

Shapes: ``N`` nodes, ``V`` classes of the head.
"""

from __future__ import annotations

import numpy as np

from inweights.errors import DataError
from inweights.support.statistics.decompositions import eigh, svd
from inweights.worlds.arrays import Float, Floats


def grown_vectors(
    a: Float[Floats, "N N"], *, tied: bool, time: float = 2.0, classes: int = 0
) -> Float[Floats, "N N"]:
    """Return vectors with the inner products that node embeddings should have early in training.

    Args:
        a: Adjacency ``[N, N]`` of ``N`` nodes, from row to column
            (:func:`~inweights.theory.geometric_memory.graph.adjacency`).
        tied: Whether given and predicted nodes share their embeddings, and the model
            between embedding and head is the identity at the start. If the model is a
            linear map with eigenvalues of both signs, as in a TinyNN, the effect is
            that of an untied head.
        time: Time of training, in units of the growth time of the fastest direction.
        classes: Number ``V`` of the head's classes; the default 0 means ``N``.

    Returns:
        Array ``[N, N]`` whose row ``i`` is the vector of node ``i``, up to a rotation.

    Raises:
        DataError: ``a`` is not a square matrix, or all its entries are 0.

    Example:
        >>> path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)  # 0 - 1 - 2 - 3
        >>> tied, untied = (v @ v.T for v in (grown_vectors(path, tied=t) for t in (True, False)))
        >>> bool(tied[0, 1] > tied[0, 2]), bool(untied[0, 1] > untied[0, 2])
        (True, False)
    """
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not a.any():
        raise DataError(
            "expected a square adjacency matrix [N, N] with at least one edge, got shape "
            f"{a.shape}"
        )
    drive = a - a.sum(1, keepdims=True) / (classes or len(a))
    if tied:
        values, basis = eigh((drive + drive.T) / 2)
        grown = np.exp(time * values / np.abs(values).max())
    else:
        basis, values, _ = svd(drive)
        grown = np.sqrt(np.cosh(2 * time * values / values.max()))
    vectors: Floats = basis * grown
    return vectors
