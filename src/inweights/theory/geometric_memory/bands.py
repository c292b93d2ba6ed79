"""Measure the energy of embeddings in bands of eigenvalues, for large graphs.

:class:`Bands` replaces :class:`~.spectral.Spectrum` above :data:`~.spectral.EXACT`
nodes; the probes of geometry and :func:`~.layout.scene` use it.

Lanczos iterations that start from a vector ``e`` give a quadrature of its spectral
measure ``Σ_i (v_iᵀ e)² δ(λ − λ_i)`` (Golub and Meurant 2010, §6). No eigenvector is
needed, and multiple eigenvalues need no special treatment. Shapes: ``N`` nodes, ``D``
width, ``B`` bands, ``C`` components.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from inweights.errors import DataError
from inweights.seeds import EVALUATION, Streams
from inweights.support.statistics.decompositions import eigh
from inweights.theory.geometric_memory.spectral import Operator, sparse_operator
from inweights.worlds.arrays import Float, Floats, Int
from inweights.worlds.world import Ids

#: Number of bands. They are narrow at both ends of the spectrum, where the quadrature
#: is accurate.
BANDS = 32
#: Number of Lanczos iterations, and of columns of embeddings that are iterated
#: together.
_STEPS = 160
_COLUMNS = 64


@dataclass(frozen=True, eq=False)
class Bands:
    """Negative Laplacian of a graph, with bands of its eigenvalues.

    Attributes:
        matrix: The operator, a sparse array ``[N, N]`` (``N`` nodes).
        top: Degenerate (top) eigenvectors of all components, in one array ``[N]``: the
            eigenvector of a component is non-zero only on the nodes of this component.
        component: Index of every node's component, ``[N]``.
        edges: Limits of the bands, from the largest eigenvalue down, ``[B + 1]``.

    Example:
        >>> ring = np.arange(6)
        >>> bands = Bands.of(6, np.r_[ring, ring], np.r_[(ring + 1) % 6, (ring - 1) % 6])
        >>> bands.edges.shape, bands.edges[[0, -1]].round(6).tolist()
        ((33,), [-1.0, -4.0])
    """

    matrix: Any
    top: Float[Floats, " N"]
    component: Int[Ids, " N"]
    edges: Float[Floats, " B1"]

    @classmethod
    def of(cls, count: int, u: Ids, v: Ids, kind: Operator = "walk") -> Bands:
        """Create a negative Laplacian of a graph, with bands between its extreme eigenvalues.

        Args:
            count: Number of nodes ``N``.
            u: Start nodes of the ``E`` edges, ``[E]``.
            v: End nodes of the edges, ``[E]``. Parallel edges are counted once.
            kind: Kind of negative Laplacian: ``walk`` (the default, as in the paper:
                ``P + Pᵀ − 2I`` of the random walk ``P``), ``combinatorial`` or
                ``normalised``; see :func:`~.spectral.operator`.

        Returns:
            The operator, with 32 bands from its largest eigenvalue (other than the
            degenerate one of each component) to its smallest. Repeated calls for the
            same graph return the same object.

        Raises:
            DataError: No edge joins two different nodes, or ``kind`` is unknown.
        """
        ends = np.stack([u, v]).astype(np.int64)
        return _bands(count, ends.tobytes(), kind)

    def degenerate(self, vectors: Float[Floats, "N D"]) -> Float[Floats, "C D"]:
        """Return inner products of embeddings with each component's degenerate (top) eigenvector.

        Args:
            vectors: Embeddings, ``[N, D]`` (``N`` nodes, width ``D``).

        Returns:
            ``[C, D]`` for ``C`` connected components of the graph: inner products of
            each component's eigenvector of the negative Laplacian with the columns of
            the embeddings.
        """
        found = np.zeros((self.component.max() + 1, vectors.shape[1]))
        np.add.at(found, self.component, self.top[:, None] * vectors)
        return found

    def sizes(self, seed: int, cut: float | None = None) -> Float[Floats, " B"]:
        """Estimate the number of the graph's eigenvalues in each band, using random vectors.

        The bands divide the range between the smallest and the largest eigenvalue of
        the negative Laplacian.

        Args:
            seed: Root seed of the random vectors.
            cut: A single limit that replaces the limits of the bands; if ``None``, the
                limits of the bands are used.

        Returns:
            Estimates, not rounded, for ``B`` bands from the largest eigenvalues down,
            ``[B]``. If ``cut`` is given, there are two estimates, above and below the
            limit. The degenerate eigenvalues are left out.

        Raises:
            ConfigError: ``seed`` is not between 0 and 2**63 - 1.
        """
        stream = Streams(seed).numpy(EVALUATION, "bands")
        # A random vector has the same expected energy in every eigenvector.
        drawn = stream.normal(size=(len(self.top), _COLUMNS))
        shares, _ = self.energy(drawn, cut)
        found: Floats = shares * (len(self.top) - self.component.max() - 1)
        return found

    def energy(
        self, vectors: Float[Floats, "N D"], cut: float | None = None
    ) -> tuple[Float[Floats, " B"], float]:
        """Return the fraction of the embeddings' energy in every band, and an error bound.

        A band is an interval between the extreme eigenvalues of the graph's negative
        Laplacian.

        Args:
            vectors: Embeddings, ``[N, D]`` (``N`` nodes, width ``D``); their projection
                onto the degenerate (top) eigenvectors is left out.
            cut: A single limit that replaces the limits of the bands; if ``None``, the
                limits of the bands are used.

        Returns:
            First, fractions that sum to 1: for ``B`` bands from the largest eigenvalues
            down, ``[B]``, or, if ``cut`` is given, two fractions, above and below the
            limit. Second, a bound on the error of a cumulative fraction: half of the
            weight of the two quadrature nodes next to a limit, at the limit where this
            weight is largest. If there is no energy, all of these numbers are NaN.

        Example:
            >>> ring = np.arange(6)
            >>> bands = Bands.of(6, np.r_[ring, ring], np.r_[(ring + 1) % 6, (ring - 1) % 6])
            >>> shares, _ = bands.energy(np.cos(2 * np.pi * ring / 6)[:, None], cut=-2.0)
            >>> shares.round(6).tolist()
            [1.0, 0.0]
        """
        limits = self.edges[1:-1] if cut is None else np.array([cut])
        values, weights = self._measure(vectors)
        total = weights.sum()
        if not total > 0:
            return np.full(len(limits) + 1, np.nan), np.nan
        band = np.searchsorted(-limits, -values)
        shares = np.bincount(band.ravel(), weights.ravel(), len(limits) + 1) / total
        rows = np.arange(len(values))
        error = 0.0
        for limit in limits:
            after = np.minimum((values < limit).sum(1), values.shape[1] - 1)
            near = weights[rows, after] + weights[rows, np.maximum(after - 1, 0)]
            error = max(error, float(near.sum() / 2 / total))
        return shares, error

    def _measure(self, vectors: Floats) -> tuple[Floats, Floats]:
        """Return the quadrature nodes of every column and their weights, ``[D, m]`` each."""
        rest = vectors - self.top[:, None] * self.degenerate(vectors)[self.component]
        starts = range(0, rest.shape[1], _COLUMNS)
        columns = [rest[:, start : start + _COLUMNS] for start in starts]
        parts = [_lanczos(self.matrix, some) for some in columns]
        values, weights = zip(*parts, strict=True)
        return np.concatenate(values), np.concatenate(weights)


@lru_cache(maxsize=2)
def _bands(count: int, ends: bytes, kind: Operator) -> Bands:
    """Return the bands of a graph, cached because several pictures of a graph need them."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    u, v = np.frombuffer(ends, dtype=np.int64).reshape(2, -1)
    a = sparse.csr_array((np.ones(len(u)), (u, v)), shape=(count, count))
    a.data[:] = 1.0  # parallel edges count once
    matrix = sparse_operator(a, kind)
    parts, component = connected_components(matrix, directed=False)
    if parts == count:
        raise DataError(
            "the graph has no edge between two different nodes, so its spectrum is not defined"
        )
    top = np.zeros(count)
    low = 0.0
    high = -np.inf
    order = np.argsort(component, kind="stable")
    for nodes in np.split(order, np.cumsum(np.bincount(component))[:-1]):
        own, values = _ends(matrix[nodes][:, nodes])
        top[nodes] = own
        low = min(low, values[0])
        high = max(high, values[1])
    # Limits at Chebyshev's points: narrow bands at both ends, where Lanczos resolves
    # eigenvalues best.
    turn = np.pi * np.arange(BANDS + 1) / BANDS
    edges = (high + low) / 2 + (high - low) / 2 * np.cos(turn)
    return Bands(matrix, top, component, edges)


def _ends(matrix: Any) -> tuple[Floats, tuple[float, float]]:
    """Return a component's top eigenvector, and its smallest and second largest eigenvalues."""
    count = matrix.shape[0]
    if count == 1:
        return np.ones(1), (np.inf, -np.inf)
    if count <= 400:
        values, vectors = eigh(matrix.toarray())
        return vectors[:, -1], (float(values[0]), float(values[-2]))
    from scipy.sparse.linalg import eigsh

    # A fixed start, since ARPACK would otherwise draw a different one in each run.
    start = np.random.Generator(np.random.PCG64(0)).normal(size=count)
    values, vectors = eigsh(
        matrix,
        k=4,
        which="LA",
        v0=start,
        ncv=80,
        tol=1e-9,
    )
    (low,) = eigsh(
        matrix,
        k=1,
        which="SA",
        v0=start,
        ncv=40,
        tol=1e-4,
        return_eigenvectors=False,
    )
    return vectors[:, values.argmax()], (float(low), float(np.sort(values)[-2]))


def _lanczos(matrix: Any, start: Floats) -> tuple[Floats, Floats]:
    """Return the quadrature of each column's spectral measure: ascending nodes, and weights."""
    from scipy.linalg import eigh_tridiagonal

    energy = np.square(start).sum(0)
    size = np.sqrt(energy)
    now = np.divide(start, size, out=np.zeros_like(start), where=size > 0)
    before = np.zeros_like(now)
    beta = np.zeros(len(size))
    diagonal = []
    off = []
    for _ in range(min(_STEPS, len(start))):
        ahead = matrix @ now - beta * before
        alpha = np.einsum("nd,nd->d", now, ahead)
        ahead -= alpha * now
        beta = np.linalg.norm(ahead, axis=0)
        # the Krylov space of the column is exhausted
        beta = np.where(beta > 1e-10, beta, 0.0)
        before = now
        now = np.divide(ahead, beta, out=np.zeros_like(ahead), where=beta > 0)
        diagonal.append(alpha)
        off.append(beta)
    values = []
    weights = []
    diagonals = np.array(diagonal).T
    beside = np.array(off)[:-1].T
    for own, next_to_it in zip(diagonals, beside, strict=True):
        nodes, vectors = eigh_tridiagonal(own, next_to_it)
        values.append(nodes)
        # Golub and Welsch: the weight of a quadrature node is the square of the first
        # component of its eigenvector.
        weights.append(np.square(vectors[0]))
    return np.stack(values), np.stack(weights) * energy[:, None]
