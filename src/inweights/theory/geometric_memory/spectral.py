"""Compute the spectrum of a graph: adjacency, walks, Laplacians, eigenspaces.

:func:`adjacency` reads a world's graph, :func:`operator` makes a negative Laplacian and
:func:`eigenspaces` its :class:`Spectrum`; :func:`hop_distances` counts hops. Probes of
geometry and all of this package build on them (Geometric Memory §4, App. F).

Eigenvectors of a tied eigenvalue are any basis of their space, so that nothing here
uses a single eigenvector: vectors are grouped by eigenvalue, and a graph with several
components has several null vectors, all of which are set apart. Shapes: ``N`` nodes,
``E`` edges, ``D`` width, ``R`` replicas, ``G`` eigenspaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from inweights.errors import DataError, check_names
from inweights.support.limits import check_memory
from inweights.worlds.arrays import Bool, Bools, Float, Floats, Int
from inweights.worlds.families.graphs.edges import edge_prefix
from inweights.worlds.world import Ids, World

Operator = Literal["walk", "combinatorial", "normalised"]

#: Cosines of single-precision vectors are exact to about so much.
COSINE_TIE = 2.5e-7

#: Nodes up to which all pairs are compared and the whole spectrum is computed.
EXACT = 2000

#: ``walk``: the paper's ``P + Pᵀ − 2I``; the others are minus the two usual Laplacians.
OPERATORS: tuple[Operator, ...] = ("walk", "combinatorial", "normalised")


def adjacency(world: World) -> Float[Floats, "N N"]:
    """Return the 0/1 adjacency of a world's facts among its nodes, row to column.

    Every fact with one prompt token and one answer token, both of the group ``node``
    (of all tokens where there is no such group), is an edge; a token ``<edge>`` may
    stand before the prompt. Loops are on the diagonal. The matrix is symmetric where
    both directions are trained.

    Args:
        world: A world whose facts are edges.

    Returns:
        ``[N, N]``.

    Raises:
        DataError: No fact is an edge, ids of the group ``node`` do not start at 0, or
            the matrix would not fit in memory.

    Example:
        >>> from inweights.worlds import Graph
        >>> a = adjacency(Graph(shape="cycle", n=4, shuffled=False).build())
        >>> a.astype(int).tolist()
        [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    """
    count, u, v = edge_ends(world)
    check_memory(f"the adjacency of {count:,} nodes", 8 * 2 * count**2, error=DataError)
    matrix = np.zeros((count, count))
    matrix[u, v] = 1.0
    return matrix


def edge_ends(world: World) -> tuple[int, Int[Ids, " E"], Int[Ids, " E"]]:
    """Return the number of nodes, and where the edges of :func:`adjacency` start and end.

    Args:
        world: A world whose facts are edges.

    Returns:
        ``N``; start nodes ``[E]``; end nodes ``[E]``. An edge in both directions is
        two.

    Raises:
        DataError: No fact is an edge, or ids of the group ``node`` do not start at 0.

    Example:
        >>> from inweights.worlds import Graph
        >>> count, u, v = edge_ends(Graph(shape="cycle", n=4, shuffled=False).build())
        >>> count, len(u), len(v)
        (4, 8, 8)
    """
    words = world.vocabulary
    count = len(words["node"]) if "node" in words else len(words)
    if "node" in words and words["node"][0] != 0:
        raise DataError("the group 'node' must come first in the vocabulary of a graph")
    before = np.array(edge_prefix(world), dtype=np.int64)
    ends = []
    for _, prompts, answers in world.facts.by_shape():
        if prompts.shape[1] == len(before) + 1 and answers.shape[1] == 1:
            pairs = np.column_stack([prompts[:, -1], answers])
            ends.append(
                pairs[(pairs < count).all(1) & (prompts[:, :-1] == before).all(1)]
            )
    if not sum(map(len, ends)):
        raise DataError(
            f"the world '{world.name}' has no fact 'node → node', so it is not a graph"
        )
    u, v = np.concatenate(ends).T
    return count, u, v


def random_walk(a: Float[Floats, "N N"]) -> Float[Floats, "N N"]:
    """Return the random walk ``P = D⁻¹A``: rows sum to 1. A node without edges has a row of zeros.

    Args:
        a: Adjacency, ``[N, N]``.

    Raises:
        DataError: ``a`` is not a square matrix of non-negative numbers.

    Example:
        >>> random_walk(np.array([[0.0, 1, 1], [1, 0, 0], [0, 0, 0]])).tolist()
        [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    _check(a)
    degree = a.sum(1, keepdims=True)
    return np.divide(a, degree, out=np.zeros_like(a), where=degree > 0)


def operator(a: Float[Floats, "N N"], kind: Operator = "walk") -> Float[Floats, "N N"]:
    """Return a negative Laplacian of a graph: symmetric, its top eigenvalue about 0.

    Args:
        a: Adjacency, ``[N, N]``. The last two kinds ignore direction: ``max(A, Aᵀ)``.
        kind: ``walk`` (default): ``P + Pᵀ − 2I`` (App. F; with irregular degrees its
            top eigenvalue lies slightly above 0). ``combinatorial``: ``A − D``.
            ``normalised``: ``D^-½ A D^-½ − I``. A node without edges has zeros
            throughout.

    Returns:
        Dense ``[N, N]``.

    Raises:
        DataError: ``a`` is not an adjacency, or ``kind`` is unknown.

    Example:
        >>> path = np.array([[0.0, 1.0], [1.0, 0.0]])
        >>> [operator(path, kind).tolist() for kind in OPERATORS][0]
        [[-2.0, 2.0], [2.0, -2.0]]
    """
    from scipy import sparse

    _check(a)
    dense: Floats = sparse_operator(sparse.csr_array(a), kind).toarray()
    return dense


def sparse_operator(a: Any, kind: Operator = "walk") -> Any:
    """Return a negative Laplacian as :func:`operator` does, of and as a sparse array.

    Args:
        a: Adjacency, a SciPy sparse array ``[N, N]``.
        kind: As in :func:`operator`.

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
        half = sparse.diags_array(1.0 / np.where(degree > 0, degree, 1.0)) @ a - here
        return (half + half.T).tocsr()
    if kind == "combinatorial":
        return (both - sparse.diags_array(degree)).tocsr()
    root = sparse.diags_array(
        np.divide(1.0, np.sqrt(degree), out=0.0 * degree, where=degree > 0)
    )
    return (root @ both @ root - here).tocsr()


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues and eigenvectors of a symmetric operator, grouped where eigenvalues tie.

    Attributes:
        values: Eigenvalues: of the degenerate vectors, then the others from the largest
            down, ``[N]``.
        vectors: Orthonormal eigenvectors in columns, ``[N, N]``.
        space: Eigenspace of each, counted from 0 among those that are not null,
            ``[N]``; -1 for the degenerate ones.
    """

    values: Float[Floats, " N"]
    vectors: Float[Floats, "N N"]
    space: Int[Ids, " N"]

    @property
    def spaces(self) -> int:
        """Number of eigenspaces ``G`` without the null one."""
        return int(self.space.max()) + 1

    @property
    def null(self) -> int:
        """Number of degenerate vectors, one per component, which no eigenspace contains."""
        return int((self.space < 0).sum())

    def eigenvalues(self) -> Float[Floats, " G"]:
        """Return the eigenvalue of each space, ``[G]``: the Fiedler space first, then downwards."""
        return np.array(
            [self.values[self.space == g].mean() for g in range(self.spaces)]
        )

    def sizes(self) -> Int[Ids, " G"]:
        """Return the dimension of each space, ``[G]``."""
        return np.bincount(self.space[self.space >= 0])

    def energy(self, vectors: Float[Floats, "*R N D"]) -> Float[Floats, "*R G"]:
        """Return the share of the embeddings' energy in each space; null vectors count nowhere.

        ``Σ_{i in space} ‖Eᵀv_i‖² / Σ_{i not null} ‖Eᵀv_i‖²``: B.5 (3), by whole
        eigenspace.

        Args:
            vectors: Embeddings ``E``, ``[..., N, D]``.

        Returns:
            Shares ``[..., G]`` that sum to 1; NaN where there is no energy.

        Raises:
            DataError: The embeddings have another number of nodes.

        Example:
            >>> ring = np.roll(np.eye(6), 1, 1) + np.roll(np.eye(6), -1, 1)
            >>> fiedler = eigenspaces(operator(ring)).vectors[:, 1:3]
            >>> np.abs(eigenspaces(operator(ring)).energy(fiedler)).round(6).tolist()
            [1.0, 0.0, 0.0]
        """
        if vectors.ndim < 2 or vectors.shape[-2] != len(self.values):
            raise DataError(
                f"embeddings [..., N, D] of a graph of {len(self.values)} nodes cannot have "
                f"shape {vectors.shape}"
            )
        # [..., N].
        power = np.square(self.vectors.T @ vectors.astype(np.float64)).sum(-1)
        parts = np.stack(
            [power[..., self.space == g].sum(-1) for g in range(self.spaces)], -1
        )
        total = parts.sum(-1, keepdims=True)
        return np.divide(parts, total, out=np.full_like(parts, np.nan), where=total > 0)


def eigenspaces(
    symmetric: Float[Floats, "N N"], *, tolerance: float = 1e-8
) -> Spectrum:
    """Group the eigenvectors of a negative Laplacian by tied eigenvalue.

    Each component of the graph (nodes that non-zero entries join) has its own
    degenerate vector, the top one of its block; all of them are set apart, also where
    the eigenvalue is not quite 0 or ties with another.

    Args:
        symmetric: The negative Laplacian, ``[N, N]`` (:func:`operator`).
        tolerance: Eigenvalues that differ by less, relative to the largest absolute
            one, tie.

    Returns:
        All eigenvalues and eigenvectors, and the eigenspace of each.

    Raises:
        DataError: The matrix is not symmetric, nothing but null vectors is left, or the
            spectrum would not fit in memory.

    Example:
        >>> star = np.zeros((4, 4)); star[0, 1:] = star[1:, 0] = 1
        >>> spectrum = eigenspaces(operator(star, "combinatorial"))
        >>> spectrum.eigenvalues().round(6).tolist(), spectrum.sizes().tolist()
        ([-1.0, -4.0], [2, 1])
    """
    square = symmetric.ndim == 2 and symmetric.shape[0] == symmetric.shape[1]
    if not (square and np.allclose(symmetric, symmetric.T, atol=1e-10)):
        raise DataError(
            "eigenspaces need a symmetric matrix [N, N]; see spectral.operator"
        )
    count = len(symmetric)
    check_memory(f"the spectrum of {count:,} nodes", 8 * 5 * count**2, error=DataError)
    values, vectors = np.zeros(count), np.zeros((count, count))
    null, start = np.zeros(count, dtype=bool), 0
    component = components(symmetric != 0)
    for label in np.unique(component):
        nodes = np.flatnonzero(component == label)
        span = slice(start, start + len(nodes))
        found, basis = np.linalg.eigh(symmetric[np.ix_(nodes, nodes)])
        values[span], vectors[nodes, span] = found[::-1], basis[:, ::-1]
        null[start] = True
        start += len(nodes)
    if null.all():
        raise DataError(
            "the graph has no edge between two nodes, and therefore no spectrum"
        )
    # The degenerate vectors first, then from the largest value down.
    order = np.lexsort((-values, ~null))
    values, vectors = values[order], vectors[:, order]
    slack = tolerance * max(1.0, float(np.abs(values).max()))
    below = values[null.sum() :]
    space = np.cumsum(np.diff(below, prepend=below[0]) < -slack)
    return Spectrum(values, vectors, np.concatenate([np.full(null.sum(), -1), space]))


def components(joined: Bool[Bools, "N N"]) -> Int[Ids, " N"]:
    """Return the connected component of every node, named by its smallest node.

    Args:
        joined: Which nodes are joined, ``[N, N]``; direction does not matter.

    Returns:
        ``[N]``.

    Example:
        >>> components(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)).tolist()
        [0, 1, 0]
    """
    from scipy.sparse.csgraph import connected_components

    _, label = connected_components(joined, directed=False)
    return np.unique(label, return_index=True)[1][label]


def hop_distances(a: Float[Floats, "N N"]) -> Float[Floats, "N N"]:
    """Return the number of hops between all nodes, without direction; infinite without a path.

    Args:
        a: Adjacency, ``[N, N]``.

    Returns:
        ``[N, N]``, symmetric, with zeros on the diagonal.

    Raises:
        DataError: ``a`` is not a square matrix of non-negative numbers.

    Example:
        >>> hop_distances(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0.0]])).tolist()
        [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    _check(a)
    return hops_from(len(a), *np.nonzero(a))


def hops_from(
    count: int,
    u: Int[Ids, " E"],
    v: Int[Ids, " E"],
    sources: Int[Ids, " S"] | None = None,
) -> Float[Floats, "S N"]:
    """Return the number of hops from some nodes to all, without direction; infinite without a path.

    A breadth-first search from all sources at once: what has reached a node is a row of
    bits, a source a bit, and a hop takes it along the edges.

    Args:
        count: Number of nodes ``N``.
        u: Nodes where edges start, ``[E]``.
        v: Nodes where they end, ``[E]``.
        sources: Nodes to start from, ``[S]``; all by default.

    Returns:
        ``[S, N]``.

    Example:
        >>> hops_from(4, np.array([0, 1]), np.array([1, 2]), np.array([2])).tolist()
        [[2.0, 1.0, 0.0, inf]]
    """
    sources = np.arange(count) if sources is None else sources
    reached = np.zeros((count, -(-len(sources) // 64)), dtype=np.uint64)
    place = np.arange(len(sources))
    bit = (128 >> place % 8).astype(np.uint8)
    np.bitwise_or.at(reached.view(np.uint8), (sources, place // 8), bit)
    own = np.arange(count)  # what has reached a node stays there
    ends, starts = np.unique(np.stack([np.r_[u, v, own], np.r_[v, u, own]]), axis=1)
    first = np.searchsorted(ends, own)
    hops = np.zeros((count, len(sources)), dtype=np.int32)
    while True:
        seen = np.unpackbits(reached.view(np.uint8), axis=1, count=len(sources)).astype(
            bool
        )
        near = np.bitwise_or.reduceat(reached[starts], first, axis=0)
        if np.array_equal(near, reached):
            return np.where(seen, hops, np.inf).T
        hops += ~seen
        reached = near


def _check(a: Floats) -> None:
    """Raise a DataError if ``a`` is not a square matrix of non-negative numbers."""
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not (a >= 0).all():
        raise DataError(
            f"an adjacency must be a square matrix of non-negative numbers, got shape {a.shape}"
        )
