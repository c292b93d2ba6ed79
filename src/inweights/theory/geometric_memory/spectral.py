"""Compute the spectrum of a graph: walks, Laplacians, eigenspaces.

:func:`operator` returns a negative Laplacian of an adjacency, and :func:`eigenspaces`
returns its :class:`Spectrum`. Probes of geometry and this whole package build on them
(Geometric Memory §4, App. F). The functions of ``graph.py``, which reads the graph of a
world, can also be imported from here.

Eigenvectors of a multiple eigenvalue are an arbitrary basis of their space. Therefore
eigenvectors are grouped by eigenvalue, and no result depends on a single eigenvector. A
graph with several components has several null vectors, which form a group of their own.
Shapes: ``N`` nodes, ``E`` edges, ``D`` width, ``R`` replicas, ``G`` eigenspaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from inweights.errors import DataError, check_names
from inweights.support.limits import check_memory
from inweights.support.statistics.decompositions import eigh
from inweights.theory.geometric_memory.graph import (
    adjacency,
    check_adjacency,
    components,
    edge_ends,
    hop_distances,
    hops_from,
)
from inweights.worlds.arrays import Float, Floats, Int
from inweights.worlds.world import Ids

__all__ = [
    "COSINE_TIE",
    "EXACT",
    "OPERATORS",
    "Operator",
    "Spectrum",
    "adjacency",
    "components",
    "edge_ends",
    "eigenspaces",
    "hop_distances",
    "hops_from",
    "operator",
    "random_walk",
    "sparse_operator",
]

Operator = Literal["walk", "combinatorial", "normalised"]

#: Accuracy of cosines of single-precision vectors; smaller differences are ties.
COSINE_TIE = 2.5e-7

#: Largest number of nodes for which all pairs are compared and the whole spectrum is
#: computed.
EXACT = 2000

#: ``walk`` is the paper's ``P + Pᵀ − 2I``; the others are the two usual Laplacians with
#: the opposite sign.
OPERATORS: tuple[Operator, ...] = ("walk", "combinatorial", "normalised")


def random_walk(a: Float[Floats, "N N"]) -> Float[Floats, "N N"]:
    """Return the transition matrix ``P = D⁻¹A`` of the random walk on a graph.

    Each row sums to 1, except that the row of a node without edges is 0.

    Args:
        a: Adjacency, ``[N, N]`` (``N`` nodes).

    Returns:
        Transition matrix ``[N, N]``: row ``i`` is the distribution of the node that
        follows ``i``.

    Raises:
        DataError: ``a`` is not a square matrix of non-negative numbers.

    Example:
        >>> random_walk(np.array([[0.0, 1, 1], [1, 0, 0], [0, 0, 0]])).tolist()
        [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    check_adjacency(a)
    degree = a.sum(1, keepdims=True)
    return np.divide(a, degree, out=np.zeros_like(a), where=degree > 0)


def operator(a: Float[Floats, "N N"], kind: Operator = "walk") -> Float[Floats, "N N"]:
    """Return a negative Laplacian of a graph: a symmetric matrix whose top eigenvalue is about 0.

    Args:
        a: Adjacency ``A``, ``[N, N]`` (``N`` nodes). ``combinatorial`` and
            ``normalised`` ignore the direction of edges, and use ``max(A, Aᵀ)``.
        kind: ``walk`` (default): ``P + Pᵀ − 2I``, where ``P = D⁻¹A`` is the random walk
            and ``D`` contains the degrees (Geometric Memory, App. F; its top eigenvalue
            is slightly above 0 if degrees differ). ``combinatorial``: ``A − D``.
            ``normalised``: ``D^-½ A D^-½ − I``. The row and column of a node without
            edges are 0.

    Returns:
        A dense array ``[N, N]``.

    Raises:
        DataError: ``a`` is not a square matrix of non-negative numbers, or ``kind`` is
            unknown.

    Example:
        >>> path = np.array([[0.0, 1.0], [1.0, 0.0]])
        >>> [operator(path, kind).tolist() for kind in OPERATORS][0]
        [[-2.0, 2.0], [2.0, -2.0]]
    """
    from scipy import sparse

    check_adjacency(a)
    dense: Floats = sparse_operator(sparse.csr_array(a), kind).toarray()
    return dense


def sparse_operator(a: Any, kind: Operator = "walk") -> Any:
    """Return a negative Laplacian of a sparse adjacency matrix, as a sparse array.

    Args:
        a: Adjacency, a SciPy sparse array ``[N, N]`` (``N`` nodes).
        kind: ``walk`` (``P + Pᵀ − 2I``, the default), ``combinatorial`` (``A − D``) or
            ``normalised`` (``D^-½ A D^-½ − I``), as in :func:`operator`.

    Returns:
        Sparse array in CSR format, ``[N, N]``.

    Raises:
        DataError: ``kind`` is unknown.

    Example:
        >>> from scipy import sparse
        >>> path = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
        >>> sparse_operator(path, "combinatorial").toarray().tolist()
        [[-1.0, 1.0], [1.0, -1.0]]
    """
    from scipy import sparse

    check_names("operator", [kind], OPERATORS, error=DataError)
    both = a if kind == "walk" else a.maximum(a.T)
    degree = np.asarray(both.sum(1)).ravel()
    here = sparse.diags_array((degree > 0).astype(float))
    if kind == "walk":
        share = 1.0 / np.where(degree > 0, degree, 1.0)
        half = sparse.diags_array(share) @ a - here
        return (half + half.T).tocsr()
    if kind == "combinatorial":
        return (both - sparse.diags_array(degree)).tocsr()
    inverse = np.divide(1.0, np.sqrt(degree), out=0.0 * degree, where=degree > 0)
    root = sparse.diags_array(inverse)
    return (root @ both @ root - here).tocsr()


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues and eigenvectors of a symmetric operator, grouped by equal eigenvalues.

    Attributes:
        values: Eigenvalues of the ``N`` eigenvectors, ``[N]``: first the eigenvalues of
            the degenerate vectors (the top eigenvector of each component), then the
            others in descending order.
        vectors: Orthonormal eigenvectors in columns, ``[N, N]``.
        space: Index of the eigenspace of each eigenvector, from 0, ``[N]``; -1 for the
            degenerate vectors.
    """

    values: Float[Floats, " N"]
    vectors: Float[Floats, "N N"]
    space: Int[Ids, " N"]

    @property
    def spaces(self) -> int:
        """Number ``G`` of eigenspaces, excluding the space of the degenerate (top) eigenvectors."""
        return int(self.space.max()) + 1

    @property
    def null(self) -> int:
        """Number of degenerate (top) eigenvectors, one per component of the graph."""
        return int((self.space < 0).sum())

    def eigenvalues(self) -> Float[Floats, " G"]:
        """Return the eigenvalue of each of the ``G`` eigenspaces, in descending order, ``[G]``.

        The space of the degenerate (top) eigenvectors, one per component, is left out.
        """
        # Equal eigenvalues differ by rounding; their mean does not depend on the order.
        tied = [self.values[self.space == g] for g in range(self.spaces)]
        return np.array([values.mean() for values in tied])

    def sizes(self) -> Int[Ids, " G"]:
        """Return the dimension of each of the ``G`` eigenspaces, largest eigenvalue first, ``[G]``.

        The space of the degenerate (top) eigenvectors, one per component, is left out.
        """
        return np.bincount(self.space[self.space >= 0])

    def energy(self, vectors: Float[Floats, "*R N D"]) -> Float[Floats, "*R G"]:
        """Return the fraction of the embeddings' energy in each eigenspace of the graph.

        The fraction is ``Σ_{i in space} ‖Eᵀv_i‖² / Σ_{i not degenerate} ‖Eᵀv_i‖²``,
        where ``v_i`` are the eigenvectors (Geometric Memory, B.5 (3), for whole
        eigenspaces). The degenerate vectors (the top eigenvectors, one per component)
        are left out.

        Args:
            vectors: Embeddings ``E``, ``[..., N, D]`` (``N`` nodes, width ``D``).

        Returns:
            Fractions ``[..., G]`` that sum to 1, in descending order of eigenvalues;
            NaN if there is no energy.

        Raises:
            DataError: The number of embeddings differs from the number of nodes, or
                they have fewer than two axes.

        Example:
            >>> ring = np.roll(np.eye(6), 1, 1) + np.roll(np.eye(6), -1, 1)
            >>> fiedler = eigenspaces(operator(ring)).vectors[:, 1:3]
            >>> np.abs(eigenspaces(operator(ring)).energy(fiedler)).round(6).tolist()
            [1.0, 0.0, 0.0]
        """
        if vectors.ndim < 2 or vectors.shape[-2] != len(self.values):
            raise DataError(
                f"embeddings must have the shape [..., {len(self.values)}, D], got "
                f"{vectors.shape}"
            )
        # [..., N].
        power = np.square(self.vectors.T @ vectors.astype(np.float64)).sum(-1)
        shares = [power[..., self.space == g].sum(-1) for g in range(self.spaces)]
        parts = np.stack(shares, -1)
        total = parts.sum(-1, keepdims=True)
        return np.divide(parts, total, out=np.full_like(parts, np.nan), where=total > 0)


def eigenspaces(
    symmetric: Float[Floats, "N N"], *, tolerance: float = 1e-8
) -> Spectrum:
    """Return the eigenvectors of a negative Laplacian, grouped by equal eigenvalues.

    Each component of the graph (nodes joined by non-zero entries) has its own
    degenerate vector, the top eigenvector of its block. The degenerate vectors form a
    group of their own, even if their eigenvalue is not exactly 0 or equals another
    eigenvalue.

    Args:
        symmetric: The negative Laplacian, ``[N, N]``, of ``N`` nodes (:func:`operator`).
        tolerance: Largest difference between neighbouring eigenvalues that are treated
            as equal, relative to the largest absolute eigenvalue, or to 1 if all
            absolute eigenvalues are smaller.

    Returns:
        All eigenvalues and eigenvectors, and the eigenspace of each.

    Raises:
        DataError: The matrix is not square and symmetric, no edge joins two nodes, or
            the spectrum would not fit in memory.

    Example:
        >>> star = np.zeros((4, 4)); star[0, 1:] = star[1:, 0] = 1
        >>> spectrum = eigenspaces(operator(star, "combinatorial"))
        >>> spectrum.eigenvalues().round(6).tolist(), spectrum.sizes().tolist()
        ([-1.0, -4.0], [2, 1])
    """
    square = symmetric.ndim == 2 and symmetric.shape[0] == symmetric.shape[1]
    if not (square and np.allclose(symmetric, symmetric.T, atol=1e-10)):
        raise DataError(
            "expected a symmetric matrix [N, N], as returned by spectral.operator"
        )
    count = len(symmetric)
    check_memory(f"the spectrum of {count:,} nodes", 8 * 5 * count**2, error=DataError)
    values = np.zeros(count)
    vectors = np.zeros((count, count))
    null = np.zeros(count, dtype=bool)
    start = 0
    component = components(symmetric != 0)
    for label in np.unique(component):
        nodes = np.flatnonzero(component == label)
        span = slice(start, start + len(nodes))
        found, basis = eigh(symmetric[np.ix_(nodes, nodes)])
        values[span] = found[::-1]
        vectors[nodes, span] = basis[:, ::-1]
        null[start] = True
        start += len(nodes)
    if null.all():
        raise DataError(
            "the graph has no edge between two different nodes, so its spectrum is not defined"
        )
    # First the degenerate eigenvectors, then the others in descending order of
    # eigenvalues.
    order = np.lexsort((-values, ~null))
    values = values[order]
    vectors = vectors[:, order]
    slack = tolerance * max(1.0, float(np.abs(values).max()))
    below = values[null.sum() :]
    space = np.cumsum(np.diff(below, prepend=below[0]) < -slack)
    return Spectrum(values, vectors, np.concatenate([np.full(null.sum(), -1), space]))
