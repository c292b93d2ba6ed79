"""Compute the cost of storing a graph, and its associative storage (Geometric Memory E.2, E.3).

:func:`bit_complexity` and :func:`norm_complexity` are Propositions 1 and 2. The
functions named ``…_storage`` return embeddings whose logits are 1 on edges and 0
between other nodes (Propositions 3 to 5), and :func:`fit` measures how large the errors
are. :mod:`~.storage_tables` makes tables of the results. Shapes: ``N`` nodes, ``M``
stored associations (an edge in both directions is counted twice), ``E`` undirected
edges, ``D`` width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from inweights.errors import DataError
from inweights.support.statistics.decompositions import eigh
from inweights.theory.geometric_memory.complexity import (
    Complexity,
    bit_complexity,
    counted_associations,
    norm_complexity,
    separating_dimensions,
)
from inweights.theory.geometric_memory.graph import components, hop_distances
from inweights.worlds.arrays import Float, Floats

__all__ = [
    "Complexity",
    "Fit",
    "bipartite_storage",
    "bit_complexity",
    "fit",
    "incidence_storage",
    "norm_complexity",
    "one_step_storage",
    "separating_dimensions",
    "shifted_storage",
    "untied_storage",
]


def bipartite_storage(a: Float[Floats, "N N"]) -> Float[Floats, "N D"]:
    """Return tied embeddings that store a bipartite graph (Geometric Memory, Proposition 3).

    The vectors of the nodes in the smaller part are one-hot, and the vectors of the
    other part are rows of the adjacency, so that ``D ≤ N/2``. Between the parts, the
    logits are the adjacency. *Within* the second part, the logits are the
    numbers of common neighbours, whereas the proposition states that they are 0;
    :func:`fit` shows the difference.

    Args:
        a: Symmetric 0/1 adjacency without self-edges, ``[N, N]`` (``N`` nodes).

    Returns:
        Embeddings ``[N, D]`` (width ``D``), one row per node.

    Raises:
        DataError: ``a`` is not a square matrix of 0 and 1; or the graph is directed,
            has self-edges, or has an odd cycle (the message names one of its edges).

    Example:
        >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
        >>> bipartite_storage(path).tolist()
        [[1.0], [1.0], [1.0]]
    """
    _refuse_directed(a)
    side = hop_distances(a)[components(a > 0), np.arange(len(a))] % 2
    for u, v in np.argwhere((a > 0) & (side[:, None] == side)):
        raise DataError(
            f"the graph is not bipartite: the edge {u} – {v} closes an odd cycle"
        )
    # The smaller side has one dimension per node, so that there are as few dimensions
    # as possible.
    smaller = int((side == 1).sum() < (side == 0).sum())
    one_hot = np.flatnonzero(side == smaller)
    vectors = a[:, one_hot].copy()
    vectors[one_hot] = np.eye(len(one_hot))
    return vectors


def untied_storage(
    a: Float[Floats, "N N"],
) -> tuple[Float[Floats, "N N"], Float[Floats, "N N"]]:
    """Return untied embeddings ``V`` and ``U`` with ``V Uᵀ = A`` (Geometric Memory, Proposition 4).

    Args:
        a: 0/1 adjacency ``A`` of any graph, which may be directed and have self-edges,
            ``[N, N]`` (``N`` nodes).

    Returns:
        ``V``, the one-hot embeddings of the given nodes, and ``U``, the embeddings of
        the predicted nodes, which are a copy of ``Aᵀ``; each ``[N, N]``.

    Raises:
        DataError: ``a`` is not a square matrix of 0 and 1.

    Example:
        >>> v, u = untied_storage(np.array([[0.0, 1.0], [0.0, 1.0]]))
        >>> (v @ u.T).tolist()
        [[0.0, 1.0], [0.0, 1.0]]
    """
    counted_associations(a)
    return np.eye(len(a)), a.T.copy()


def one_step_storage(
    a: Float[Floats, "N N"], width: int, seed: int = 0
) -> tuple[Float[Floats, "N D"], Float[Floats, "N D"]]:
    """Return random embeddings ``V``, and ``U`` after one gradient step from 0 (Proposition 4).

    This is the second part of Proposition 4 of Geometric Memory. The loss is the
    correlation ``−Σ_edges ⟨v_i, u_j⟩``, ``V`` is frozen with entries from ``N(0,
    1/D)``, and the learning rate is 1. The result is ``U = Aᵀ V``, so that the logits
    ``V Uᵀ = (V Vᵀ) A`` equal the adjacency up to errors of about ``√(deg/D)``.

    Args:
        a: 0/1 adjacency, ``[N, N]`` (``N`` nodes).
        width: Width ``D``, at least 1.
        seed: Seed of ``V``.

    Returns:
        ``V`` (of given nodes) and ``U`` (of predicted nodes), each ``[N, D]``.

    Raises:
        DataError: ``a`` is not a square matrix of 0 and 1, or ``width`` is below 1.
        ValueError: ``seed`` is negative.

    Example:
        >>> v, u = one_step_storage(np.roll(np.eye(4), 1, 1), width=1000)
        >>> (v @ u.T).round(0).astype(int)[0].tolist()
        [0, 1, 0, 0]
    """
    counted_associations(a)
    if width < 1:
        raise DataError(f"the width must be at least 1, got {width}")
    v = np.random.default_rng(seed).normal(size=(len(a), width)) / math.sqrt(width)
    return v, a.T @ v


def incidence_storage(a: Float[Floats, "N N"]) -> Float[Floats, "N E"]:
    """Return the rows of a graph's incidence matrix as tied embeddings (Geometric Memory, Prop. 5).

    Logits are 1 on edges, 0 between other nodes, and ``deg(i)`` between node ``i`` and
    itself.

    Args:
        a: Symmetric 0/1 adjacency without self-edges, ``[N, N]`` (``N`` nodes).

    Returns:
        Embeddings ``[N, E]``, one column for each of ``E`` undirected edges.

    Raises:
        DataError: ``a`` is not a square matrix of 0 and 1, or the graph is directed or
            has self-edges.

    Example:
        >>> v = incidence_storage(np.ones((3, 3)) - np.eye(3))
        >>> (v @ v.T).tolist()
        [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]
    """
    _refuse_directed(a)
    u, v = np.nonzero(np.triu(a))
    vectors = np.zeros((len(a), len(u)))
    edge = np.arange(len(u))
    vectors[u, edge] = 1.0
    vectors[v, edge] = 1.0
    return vectors


def shifted_storage(a: Float[Floats, "N N"]) -> Float[Floats, "N D"]:
    """Return tied embeddings ``V`` with ``V Vᵀ = A + cI``, whose width is below ``N``.

    This construction, with ``c = −λ_min(A)``, is our own. Proposition 5 of Geometric
    Memory needs ``E`` dimensions, and footnote 14 of the paper conjectures that fewer
    do not suffice. In fact, fewer suffice: ``A + cI`` is positive semidefinite and
    therefore a Gram matrix, and its rank is ``N`` minus the multiplicity of ``λ_min``.
    A node's logit with itself is ``c``.

    Args:
        a: Symmetric 0/1 adjacency ``A`` without self-edges, ``[N, N]`` (``N`` nodes).

    Returns:
        Embeddings ``[N, D]`` (width ``D``), ``D < N``.

    Raises:
        DataError: ``a`` is not a square matrix of 0 and 1, or the graph is directed or
            has self-edges.

    Example:
        >>> v = shifted_storage(np.ones((4, 4)) - np.eye(4))
        >>> v.shape, (v @ v.T).round(6)[0].tolist()
        ((4, 1), [1.0, 1.0, 1.0, 1.0])
    """
    _refuse_directed(a)
    values, vectors = eigh(a)
    raised = values - values[0]
    kept = raised > 1e-9 * max(1.0, float(raised[-1]))
    scaled: Floats = vectors[:, kept] * np.sqrt(raised[kept])
    return scaled


@dataclass(frozen=True)
class Fit:
    """Errors of logits as an approximation of an adjacency matrix.

    Attributes:
        edges: Largest ``|logit − 1|`` over edges.
        others: Largest ``|logit|`` over pairs of different nodes without an edge; 0 if
            there are none.
        itself: Largest ``|logit|`` of a node with itself, over nodes without a
            self-edge; no construction of a tied model can make it 0.
        recall: Whether, for every node, the logits of all its neighbours are larger
            than the logits of all other nodes except the node itself.
    """

    edges: float
    others: float
    itself: float
    recall: bool

    @property
    def exact(self) -> bool:
        """Whether all logits between distinct nodes equal the adjacency up to an error of 1e-9."""
        return max(self.edges, self.others) < 1e-9


def fit(
    a: Float[Floats, "N N"],
    v: Float[Floats, "N D"],
    u: Float[Floats, "N D"] | None = None,
) -> Fit:
    """Measure the errors of logits ``V Uᵀ`` as an approximation of an adjacency matrix.

    Args:
        a: 0/1 adjacency, ``[N, N]`` (``N`` nodes).
        v: Embeddings ``V``, ``[N, D]`` (width ``D``).
        u: Unembeddings ``U``, ``[N, D]``; if ``None``, ``V`` is used, as in a tied
            model.

    Returns:
        The largest absolute errors over edges (``edges``), over pairs of different
        nodes without an edge (``others``) and of nodes with themselves (``itself``);
        and whether the neighbours of every node have larger logits than all other nodes
        except the node itself (``recall``).

    Raises:
        DataError: ``a`` is not a square matrix of 0 and 1, or the logits are not ``[N,
            N]``.

    Example:
        >>> ring = np.roll(np.eye(6), 1, 1) + np.roll(np.eye(6), -1, 1)
        >>> fit(ring, incidence_storage(ring)).exact, fit(ring, bipartite_storage(ring)).others
        (True, 1.0)
    """
    counted_associations(a)
    logits = v @ (v if u is None else u).T
    if logits.shape != a.shape:
        raise DataError(
            f"the logits V Uᵀ must have the shape of the adjacency matrix, {a.shape}, got "
            f"{logits.shape}"
        )
    own = np.eye(len(a), dtype=bool)
    edge = a > 0
    distinct = edge & ~own
    least = np.where(distinct, logits, np.inf).min(1)
    most = np.where(~edge & ~own, logits, -np.inf).max(1)

    def worst(error: Floats, where: np.ndarray) -> float:
        return float(np.abs(error)[where].max(initial=0.0))

    return Fit(
        edges=worst(logits - 1, edge),
        others=worst(logits, ~edge & ~own),
        itself=worst(logits, own & ~edge),
        recall=bool((least > most)[distinct.any(1)].all()),
    )


def _refuse_directed(a: Floats) -> None:
    """Raise a DataError unless a tied model can store the graph: undirected, no self-edges."""
    counted_associations(a)
    if not np.array_equal(a, a.T) or a.diagonal().any():
        raise DataError(
            "a tied model gives (u, v) and (v, u) the same logit, so the adjacency matrix must "
            "be symmetric and contain no self-edges; include both directions of each edge, or "
            "use untied_storage"
        )
