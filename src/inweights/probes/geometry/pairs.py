"""Pairs of nodes with their hop distances, and rank correlations over them.

:func:`choose_pairs` returns all pairs of a small graph, or a sample of the pairs of a
large graph; :class:`Pairs` correlates cosines with distances. Nearly equal values get
equal ranks, since rounding errors must not rank equally close pairs. Shapes: ``N``
nodes, ``D`` width, ``K`` random draws, ``P`` pairs, ``G`` groups of equal values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inweights.probes.geometry.vectors import cosine_matrix, unit
from inweights.seeds import EVALUATION, Streams
from inweights.theory.geometric_memory.graph import hops_from, whole_hops
from inweights.theory.geometric_memory.spectral import COSINE_TIE, EXACT
from inweights.worlds.arrays import Float, Floats, Int, Integer
from inweights.worlds.world import Ids

#: Number of pairs that are sampled in a graph of more than :data:`EXACT` nodes.
PAIRS = 100_000
#: Number of sampled targets per sampled source.
_TARGETS = 100
#: Number of groups of sources, from whose differences the sampling error is estimated.
_GROUPS = 10
#: Maximum number of entries of vectors that are gathered at once, and of distances in
#: memory at once.
_IN_CACHE = 2**17
_HOPS_AT_ONCE = 2**23
#: Number of levels to which cosines are rounded if they are counted rather than sorted.
_STEPS = 2**16
#: Added to each rank, so that one exact sum over a group encodes its size and its sum
#: of ranks.
_CODE = 2.0**32


@dataclass(frozen=True, eq=False)
class Pairs:
    """Connected pairs of nodes of a graph, with their distances.

    Attributes:
        u: First node of each pair, ``[P]``.
        v: Second node of each pair, ``[P]``.
        hops: Number of edges on the shortest path between the two nodes, ``[P]``.
        nodes: Number of nodes of the graph.
    """

    u: Int[Ids, " P"]
    v: Int[Ids, " P"]
    hops: Int[Ids, " P"]
    nodes: int

    @classmethod
    def all(cls, hops: Float[Floats, "N N"]) -> Pairs:
        """Return all unordered pairs of different nodes whose distance is finite.

        Args:
            hops: Distances of all pairs of nodes, ``[N, N]`` (``N`` nodes); infinite
                between components.
        """
        u, v = np.triu_indices(len(hops), 1)
        near = hops[u, v]
        joined = np.isfinite(near)
        return cls(u[joined], v[joined], near[joined].astype(np.int64), len(hops))

    def at(self, remainders: Sequence[int]) -> Pairs:
        """Return the pairs whose hop distance has one of the given remainders modulo 2.

        ``(0,)`` keeps even distances, ``(1,)`` odd ones, and ``(0, 1)`` all.
        """
        if len(remainders) == 2:
            return self
        fits = np.isin(self.hops % 2, remainders)
        return Pairs(self.u[fits], self.v[fits], self.hops[fits], self.nodes)

    def cosines(self, vectors: Float[NDArray[Any], "N D"]) -> Float[NDArray[Any], " P"]:
        """Return the cosine of the two vectors in each of ``P`` pairs; 0 for a vector of zeros.

        Args:
            vectors: Vectors of the graph's ``N`` nodes, ``[N, D]`` (width ``D``).
        """
        if self.nodes <= EXACT:
            return cosine_matrix(vectors)[self.u, self.v]
        return self.angles(unit(vectors))

    def angles(self, ends: Float[NDArray[Any], "N D"]) -> Float[NDArray[Any], " P"]:
        """Return the inner product of the two vectors in every pair (the cosine of unit vectors).

        Args:
            ends: Vectors of the graph's ``N`` nodes, ``[N, D]`` (width ``D``).

        Returns:
            Inner products ``[P]``, in the order of the pairs.
        """
        found = np.empty(len(self.u), dtype=ends.dtype)
        step = max(1, _IN_CACHE // ends.shape[1])
        for start in range(0, len(found), step):
            some = slice(start, start + step)
            one, other = ends[self.u[some]], ends[self.v[some]]
            np.einsum("pd,pd->p", one, other, out=found[some])
        return found

    @cached_property
    def ranks(self) -> Float[Floats, " P"]:
        """Ranks of the distances of ``P`` pairs, minus their mean, ``[P]``; ties share a rank."""
        found = midranks(self.hops)
        return found - found.mean()

    @cached_property
    def _coded(self) -> Float[Floats, " P"]:
        return self.ranks + _CODE

    @cached_property
    def places(self) -> Int[Ids, " P"]:
        """Index ``u N + v`` of each pair ``(u, v)`` in a flattened matrix of all pairs of nodes."""
        return self.u * self.nodes + self.v

    @cached_property
    def _spread(self) -> float:
        return float((self.ranks**2).sum())

    def correlation(self, ours: Float[Floats, "*K P"]) -> Float[Floats, "*K"]:
        """Return the rank correlation, from −1 to 1, between cosines and distances.

        The result is NaN if all ranks or all distances are equal.

        Args:
            ours: Ranks of the cosines of all pairs (:func:`cosine_ranks`), for one
                embedding, ``[P]``, or for several, ``[K, P]``.
        """
        ours = ours - ours.mean(-1, keepdims=True)
        scale = np.sqrt((ours**2).sum(-1) * self._spread)
        nothing = np.full(scale.shape, np.nan)
        return np.divide(ours @ self.ranks, scale, out=nothing, where=scale > 0)

    def counted(self, groups: Integer[NDArray[Any], " P"]) -> float:
        """Return the rank correlation between cosines and distances, given groups of equal cosines.

        No sorting is needed. The result is NaN if all groups or all distances are
        equal.

        Args:
            groups: Group of each of the ``P`` pairs, ``[P]``, from 0 for the smallest
                cosines. Pairs of one group have equal cosines.
        """
        coded = np.bincount(groups, self._coded)
        counts = np.rint(coded / _CODE)
        own = coded - counts * _CODE
        # Sums of ranks may be too large to be separated from sizes.
        if counts.max(initial=0) * len(groups) >= _CODE:
            counts = np.asarray(np.bincount(groups), dtype=np.float64)
            own = np.asarray(np.bincount(groups, self.ranks), dtype=np.float64)
        ranks = _ranks_of(counts) - (len(groups) + 1) / 2
        scale = np.sqrt((counts * ranks**2).sum() * self._spread)
        return float(own @ ranks / scale) if scale > 0 else np.nan

    def rounded(self, angles: Float[NDArray[Any], " P"]) -> float:
        """Return the rank correlation of distances with cosines that are rounded to 2^16 levels.

        Rounding saves time, and changes a correlation by less than 1e-6.

        Args:
            angles: Cosines of the ``P`` pairs, ``[P]``, which are overwritten.
        """
        # Cosines from -1 to 1 are mapped to levels. Two levels are left unused, so that
        # a cosine slightly above 1 is in range.
        angles += 1
        angles *= (_STEPS - 2) / 2
        return self.counted(angles.astype(np.intp))

    def error(self, angles: Float[Floats, " P"]) -> float:
        """Return the standard error of the rank correlation over sampled pairs.

        It is estimated from ten groups of pairs, which differ in their first nodes.

        Args:
            angles: Cosines of the ``P`` pairs, ``[P]``.
        """
        parts = []
        for group in range(_GROUPS):
            mine = self.u % _GROUPS == group
            part = Pairs(self.u[mine], self.v[mine], self.hops[mine], self.nodes)
            parts.append(part.correlation(cosine_ranks(angles[mine])))
        return float(np.std(parts, ddof=1) / np.sqrt(_GROUPS))


def choose_pairs(count: int, u: Ids, v: Ids, least: int = 1, seed: int = 0) -> Pairs:
    """Choose the pairs of nodes of a graph to compare.

    In a graph with at most :data:`EXACT` nodes, all pairs connected by a path are
    chosen. In a larger graph, sources and targets of up to :data:`PAIRS` pairs are
    drawn.

    Args:
        count: Number of nodes.
        u: Source of each edge, ``[E]``.
        v: Target of each edge, ``[E]``.
        least: Smallest number of hops between the nodes of a pair, at least 1.
        seed: Root seed of the draw; it has no effect if all pairs are chosen.

    Returns:
        The pairs, possibly none, with distances that ignore the direction of edges.
    """
    if count <= EXACT:
        hops = hops_from(count, u, v)
        return Pairs.all(np.where(hops >= least, hops, np.inf))
    ends = np.stack([u, v]).astype(np.int64)
    return _sampled(count, ends.tobytes(), least, seed)


@lru_cache(maxsize=4)
def _sampled(count: int, ends: bytes, least: int, seed: int) -> Pairs:
    """Return sampled pairs of a large graph, cached because probes use them repeatedly."""
    u, v = np.frombuffer(ends, dtype=np.int64).reshape(2, -1)
    rng = Streams(seed).numpy(EVALUATION, "pairs")
    sources = rng.choice(count, size=PAIRS // _TARGETS, replace=False)
    targets = rng.integers(count, size=(len(sources), _TARGETS))
    step = max(64, _HOPS_AT_ONCE // count)
    blocks = []
    for start in range(0, len(sources), step):
        some, to = sources[start : start + step], targets[start : start + step]
        hops = whole_hops(count, u, v, some)
        blocks.append(hops[to, np.arange(len(some))[:, None]])
    near = np.concatenate(blocks).ravel()
    fits = near >= max(least, 1)
    first = np.repeat(sources, _TARGETS)[fits]
    second = targets.ravel()[fits]
    return Pairs(first, second, near[fits].astype(int), count)


def spearman(
    angles: Float[Floats, "K N N"], hops: Float[Floats, "N N"]
) -> Float[Floats, " K"]:
    """Compute the rank correlation of cosines with hop distances over connected pairs, ``[K]``.

    Args:
        angles: Cosines of all pairs of nodes, for ``K`` embeddings, ``[K, N, N]``.
        hops: Distances of all pairs, ``[N, N]``, infinite between components.

    Returns:
        Correlations from -1 to 1, ``[K]``; NaN if all cosines or all distances are
        equal, or if a cosine is NaN.
    """
    pairs = Pairs.all(hops)
    return pairs.correlation(
        np.stack([cosine_ranks(one[pairs.u, pairs.v]) for one in angles])
    )


def cosine_ranks(values: Float[Floats, " P"]) -> Float[Floats, " P"]:
    """Return the ranks of cosines, ``[P]``, from 1; equal cosines share their mean rank.

    Cosines that are adjacent in sorted order and differ by at most 2.5e-7
    (:data:`~inweights.theory.geometric_memory.spectral.COSINE_TIE`) are treated as
    equal. If a value is NaN, all ranks are NaN.
    """
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    return midranks(tie_groups(values))


def tie_groups(values: Float[Floats, " P"]) -> Int[Ids, " P"]:
    """Return a group number for each cosine, ``[P]``, from 0 for the smallest; ties share a number.

    Pairs that are equally close, such as neighbours on a circle, must have equal ranks.
    Therefore, cosines that differ from the next one in sorted order by at most 2.5e-7
    (:data:`~inweights.theory.geometric_memory.spectral.COSINE_TIE`) are treated as
    equal. (Rounding the cosines instead would separate some of these.)

    Args:
        values: Cosines, ``[P]``.
    """
    order = values.argsort()
    gaps = np.diff(values[order], prepend=-np.inf)
    groups = np.empty(len(values), dtype=np.int64)
    groups[order] = (gaps > COSINE_TIE).cumsum() - 1
    return groups


def midranks(groups: Integer[NDArray[Any], " P"]) -> Float[Floats, " P"]:
    """Return ranks, from 1, of group numbers; members of one group share their mean rank.

    Args:
        groups: Group of each value, ``[P]``, from 0 for the smallest values.

    Returns:
        Ranks ``[P]``.
    """
    return _ranks_of(np.bincount(groups).astype(np.float64))[groups]


def _ranks_of(counts: Float[Floats, " G"]) -> Float[Floats, " G"]:
    """Return the mean rank of each group, given the sizes of the groups."""
    return np.asarray(counts.cumsum() - (counts - 1) / 2)
