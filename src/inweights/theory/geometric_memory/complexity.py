"""Costs of storing a graph as a list of edges or as vectors (Geometric Memory §3, App. E).

The constructions that store a graph are in ``storage.py``. Shapes: ``N`` nodes; ``M``
is the number of associations (an edge in both directions is counted twice).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from inweights.errors import DataError
from inweights.worlds.arrays import Float, Floats


@dataclass(frozen=True)
class Complexity:
    """Costs of associative and of geometric storage, in the same unit.

    Attributes:
        associative: Cost of a lookup table of associations.
        geometric: Cost of a geometric embedding.
    """

    associative: float
    geometric: float

    @property
    def ratio(self) -> float:
        """Cost of a lookup table of associations divided by the cost of a geometric embedding.

        If the ratio is above 1, geometric storage is smaller.
        """
        return self.associative / self.geometric


def bit_complexity(
    a: Float[Floats, "N N"], *, dimensions: int, cells: int, tied: bool = True
) -> Complexity:
    """Return the numbers of bits that associative and geometric storage of a graph need.

    This is Proposition 1 of Geometric Memory, App. E. Associative storage is a list of
    the ``M`` associations (entries of ``a`` that are 1) and needs ``M log₂ N`` bits for
    ``N`` nodes. Geometric storage is one vector per node and needs ``N · m · log₂ Δ``
    bits.

    Args:
        a: 0/1 adjacency, ``[N, N]``; symmetric if both directions of the edges are
            stored.
        dimensions: Number ``m`` of dimensions of the geometric embedding, such as 2 for
            a cycle, or the number of arms for a path-star.
        cells: Number ``Δ`` of values of a coordinate, at least 2, such as ``N`` for a
            cycle, or the number of nodes of a path for a path-star.
        tied: Whether embedding and unembedding are the same matrix (the default); two
            matrices cost twice as many bits.

    Returns:
        The costs in bits: ``associative`` for ``M`` associations (entries of ``a`` that
        are 1) between ``N`` nodes, ``geometric`` for ``N`` vectors.

    Raises:
        DataError: ``a`` is not a square matrix of 0 and 1, ``dimensions`` is below 1,
            or ``cells`` is below 2.

    Example:
        >>> ring = np.roll(np.eye(16), 1, 1)
        >>> bit_complexity(ring, dimensions=2, cells=16)
        Complexity(associative=64.0, geometric=128.0)
    """
    if dimensions < 1 or cells < 2:
        raise DataError(
            "'dimensions' must be at least 1 and 'cells' at least 2, got dimensions = "
            f"{dimensions} and cells = {cells}"
        )
    nodes, associations = counted_associations(a)
    geometric = nodes * dimensions * math.log2(cells) * (1 if tied else 2)
    return Complexity(associations * math.log2(nodes), geometric)


def norm_complexity(a: Float[Floats, "N N"], *, tied: bool = True) -> Complexity:
    """Return the Frobenius norms of associative and geometric storage of a graph.

    This is Proposition 2 of Geometric Memory, App. E. Both norms are for a margin of 1.
    The norm of associative storage is ``√M`` for ``M`` associations: the norm of ``W =
    A``, which stores the adjacency between one-hot embeddings. The norm of geometric
    storage is ``√N`` for ``N`` nodes. It is the proposition's estimate for vectors of
    length 1, and a lower bound if the logits of non-neighbours are not negative.

    Args:
        a: 0/1 adjacency, ``[N, N]``; symmetric if both directions of the edges are
            stored.
        tied: Whether embedding and unembedding are the same matrix (the default); two
            matrices have ``√2`` times the norm.

    Returns:
        The Frobenius norms: ``associative`` for ``M`` associations (entries of ``a``
        that are 1) between ``N`` nodes, ``geometric`` for ``N`` vectors.

    Raises:
        DataError: ``a`` is not a square matrix of 0 and 1.

    Example:
        >>> norm_complexity(np.roll(np.eye(16), 1, 1))
        Complexity(associative=4.0, geometric=4.0)
    """
    nodes, associations = counted_associations(a)
    return Complexity(math.sqrt(associations), math.sqrt(nodes * (1 if tied else 2)))


def separating_dimensions(arms: int, closeness: float = 0.5, seed: int = 0) -> int:
    """Return the number of dimensions in which a given number of random directions are separated.

    This is a numerical version of the Johnson-Lindenstrauss lemma (Geometric Memory,
    E.2). The result is the smallest number of dimensions in which no two directions
    have a ``|cosine|`` above ``closeness``. It is found by bisection in one random draw,
    and is about ``4 ln(arms) / closeness²`` for many arms.

    Args:
        arms: Number of directions, at least 2.
        closeness: Largest allowed ``|cosine|`` of two directions, above 0 and below 1.
        seed: Seed of the random directions, an integer of at least 0.

    Returns:
        The number of dimensions, at least 1.

    Raises:
        DataError: ``arms`` is below 2, or ``closeness`` is not between 0 and 1.
        ValueError: ``seed`` is negative.

    Example:
        >>> 8 < separating_dimensions(64) < 128
        True
    """
    if arms < 2 or not 0 < closeness < 1:
        raise DataError(
            f"'arms' must be at least 2 and 'closeness' between 0 and 1, got arms = {arms} "
            f"and closeness = {closeness}"
        )
    high = math.ceil(16 * math.log(arms + 1) / closeness**2)
    drawn = np.random.default_rng(seed).normal(size=(high, arms))
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        unit = drawn[:middle] / np.linalg.norm(drawn[:middle], axis=0)
        apart = np.abs(unit.T @ unit - np.eye(arms)).max() <= closeness
        low, high = (low, middle) if apart else (middle, high)
    return high


def counted_associations(a: Floats) -> tuple[int, int]:
    """Return the number of nodes and of associations of an adjacency matrix.

    Args:
        a: 0/1 adjacency, ``[N, N]``.

    Returns:
        The number ``N`` of nodes, and the number of entries that are 1.

    Raises:
        DataError: The adjacency is not a square matrix of 0 and 1.
    """
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not np.isin(a, (0, 1)).all():
        raise DataError(
            f"an adjacency matrix must be square and contain only 0 and 1, got shape {a.shape}"
        )
    return len(a), int(a.sum())
