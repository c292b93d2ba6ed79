"""Explain why an untied head folds a geometry: it keeps an eigenvalue's size, not its sign (ours).

:func:`grown_vectors` returns the predicted embeddings, with which trained ones are
compared.

Near zero logits the loss of edges ``u → w`` pushes the table ``E`` of nodes that are
given and the table ``U`` of nodes that are predicted by ``dE/dt = S U`` and ``dU/dt =
Sᵀ E``, where ``S`` is the adjacency less what the softmax takes off, ``A − d 1ᵀ/V``. A
tied head has ``U = E``: directions grow as ``exp(λt)``, directions in which neighbours
differ (``λ < 0``) decay. Of independent tables ``E Eᵀ`` becomes ``P cosh(2tΣ) Pᵀ`` with
``S = P Σ Qᵀ``: both signs grow equally. For symmetric ``S`` that is the even half of
the tied ``exp(2tS)``. On a bipartite graph the odd half holds all that distinguishes
pairs an odd number of hops apart, so that only the even ones are left in order.

Shapes: ``N`` nodes, ``V`` classes of the head.
"""

from __future__ import annotations

import numpy as np

from inweights.errors import DataError
from inweights.worlds.arrays import Float, Floats


def grown_vectors(
    a: Float[Floats, "N N"], *, tied: bool, time: float = 2.0, classes: int = 0
) -> Float[Floats, "N N"]:
    """Return vectors with the expected inner products of node embeddings early in training.

    Args:
        a: Adjacency, row to column
            (:func:`~inweights.theory.geometric_memory.graph.adjacency`).
        tied: Whether a predicted node has the vector of a given one, and nothing but
            the identity lies between them at the start. A map of both signs between
            them, as in a TinyNN, acts as an untied head does.
        time: Time of training, in units of the fastest direction's growth time.
        classes: Number ``V`` of the head's classes; 0, the default, represents ``N``.

    Returns:
        ``[N, N]``: row ``i`` is the vector of node ``i``, up to a rotation.

    Raises:
        DataError: ``a`` is not a square matrix with an edge.

    Example:
        >>> path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)  # 0 - 1 - 2 - 3
        >>> tied, untied = (v @ v.T for v in (grown_vectors(path, tied=t) for t in (True, False)))
        >>> bool(tied[0, 1] > tied[0, 2]), bool(untied[0, 1] > untied[0, 2])
        (True, False)
    """
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not a.any():
        raise DataError(
            f"an adjacency [N, N] with an edge is needed, got shape {a.shape}"
        )
    drive = a - a.sum(1, keepdims=True) / (classes or len(a))
    if tied:
        values, basis = np.linalg.eigh((drive + drive.T) / 2)
        grown = np.exp(time * values / np.abs(values).max())
    else:
        basis, values, _ = np.linalg.svd(drive)
        grown = np.sqrt(np.cosh(2 * time * values / values.max()))
    vectors: Floats = basis * grown
    return vectors
