"""Rank correlation of cosines with hop distances in a graph (Geometric Memory B.5, C.3).

:func:`hop_correlation` is the probe; :class:`Pairs` holds the compared pairs, and the functions for
ranks serve other probes, too. Up to :data:`EXACT` nodes all pairs are compared; in larger graphs
:data:`PAIRS` pairs are drawn, so that nothing here grows with the square of the nodes. Shapes:
``R`` replicas, ``N`` nodes, ``D`` width, ``K`` random draws, ``P`` pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.linalg.blas import ssyrk

from inweights.errors import DataError, check_names
from inweights.models.base import Model
from inweights.probes.geometry import cosines
from inweights.probes.needs import holds
from inweights.seeds import EVALUATION, Streams
from inweights.theory.geometric_memory.spectral import COSINE_TIE, EXACT, hops_from
from inweights.worlds.arrays import Float, Floats, Int, Integer
from inweights.worlds.world import Ids, World

#: Number of pairs that are drawn in a graph of more than :data:`EXACT` nodes.
PAIRS = 100_000
#: Drawn targets of each drawn source.
_TARGETS = 100
#: Groups of sources, whose differences estimate the sampling error.
_GROUPS = 10
#: Largest number of pairs whose ranks are exact in the null distribution, too.
_SORTED = 50_000
#: With more pairs, cosines of the null distribution are rounded to so many steps, which changes a
#: correlation by less than 1e-6.
_STEPS = 2**16
#: Added to each rank, so that one sum over a group gives both its size and its ranks exactly.
_CODE = 2.0**32
#: Remainders modulo 2 of the hops that count.
_HOPS = {"all": (0, 1), "even": (0,), "odd": (1,)}
_NULLS = ("random", "shuffled")
#: Cosines of the null distribution that are held at once.
_AT_ONCE = 2**21


@holds(matrix=45, angles=20)
def hop_correlation(
    model: Model,
    worlds: World | Sequence[World],
    *,
    layer: str = "tokens",
    least: int = 1,
    pairs: Literal["all", "even", "odd"] = "all",
    centred: bool = False,
    null: Literal["random", "shuffled"] = "random",
    draws: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute Spearman's correlation of cosine with hop distance: −1 for a global geometry.

    The correlation is over unordered pairs of different nodes in one component. Far nodes count as
    much as near ones, so a local geometry alone does not reach −1. A *folded* geometry, in which
    neighbours differ and second neighbours are similar, shows among pairs an even number of hops
    apart and may cancel over all of them. Equal distances and equal cosines have their mean rank;
    cosines that are all different cannot reach −1 where distances are equal. In a graph with more
    than 2,000 nodes 100,000 pairs are drawn, the same ones for the null distribution.

    Args:
        model: ``R`` replicas.
        worlds: Worlds of graphs: one, or one for each replica.
        layer: Where vectors are read; see :func:`inweights.probes.geometry.cosines.node_vectors`.
        least: Smallest number of hops of a pair that counts; 2 leaves out pairs that are facts.
        pairs: Which pairs count: ``all``, or those an ``even`` or an ``odd`` number of hops apart.
        centred: Whether the mean vector of the nodes is subtracted from each of them first.
        null: Null distribution: ``random`` embeddings of the same shape, or the replica's own with
            its nodes ``shuffled``.
        draws: Number of embeddings in the null distribution.
        seed: Root seed of the null distribution, and of the pairs where they are drawn.

    Returns:
        A row for each replica: ``replica, spearman, null_mean, null_low, null_high`` (mean, 2.5%
        and 97.5% quantiles) and ``p``, the share of ``1 + draws`` values at most as large as the
        replica's. They are not numbers where all distances are equal, as between the leaves of a
        star. Where pairs were drawn also ``error``, the standard error of ``spearman`` by ten
        groups of sources.

    Raises:
        ConfigError: ``pairs`` or ``null`` is unknown.
        DataError: A world is not a graph.

    Example:
        >>> import inweights as iw
        >>> model = iw.models.Node2VecConfig().build(vocabulary=15, seeds=[0])
        >>> table = hop_correlation(model, iw.worlds.Graph(shape="cycle").build())
        >>> bool(table["null_low"].item() < table["spearman"].item() < table["null_high"].item())
        True
    """
    check_names("pairs", [pairs], _HOPS)
    check_names("null", [null], _NULLS)
    graphs, vectors = cosines.placed(model, worlds, layer)
    if centred:
        vectors = vectors - vectors.mean(1, keepdims=True)
    pairs_of: dict[int, Pairs] = {}
    for i, (count, u, v) in cosines.once_each(graphs).items():
        pairs_of[i] = choose_pairs(count, u, v, least, seed).at(_HOPS[pairs])
    random: dict[int, Floats] = {}
    if null == "random":
        shape = vectors.shape[1:]
        chances = _random_correlations([*pairs_of.values()], draws, shape, seed, centred=centred)
        random = dict(zip(pairs_of, chances, strict=True))
    rows = []
    for replica, graph in enumerate(graphs):
        chosen = pairs_of[id(graph)]
        angles = chosen.cosines(vectors[replica])
        found = float(chosen.correlation(cosine_ranks(angles)))
        if null == "shuffled":
            chance = _shuffled_correlations(chosen, vectors[replica], draws, seed)
        else:
            chance = random[id(graph)]
        row = {"replica": replica, "spearman": found, **cosines.null_limits(chance)}
        row["p"] = (1 + (chance <= found).sum()) / (1 + draws)
        if graph[0] > EXACT:
            row["error"] = chosen.error(angles)
        rows.append(row)
    return pl.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of nodes of a graph that a path joins, with their distances.

    Attributes:
        u: First node of each pair.
        v: Second node of each pair.
        hops: Number of edges of the shortest path between them.
        nodes: Number of nodes of the graph.
    """

    u: Int[Ids, " P"]
    v: Int[Ids, " P"]
    hops: Int[Ids, " P"]
    nodes: int

    @classmethod
    def all(cls, hops: Float[Floats, "N N"]) -> Pairs:
        """Return all unordered pairs whose distance is finite."""
        u, v = np.triu_indices(len(hops), 1)
        near = hops[u, v]
        joined = np.isfinite(near)
        return cls(u[joined], v[joined], near[joined].astype(np.int64), len(hops))

    def at(self, remainders: Sequence[int]) -> Pairs:
        """Return the pairs whose hops have one of these remainders modulo 2."""
        if len(remainders) == 2:
            return self
        fits = np.isin(self.hops % 2, remainders)
        return Pairs(self.u[fits], self.v[fits], self.hops[fits], self.nodes)

    def cosines(self, vectors: Float[NDArray[Any], "N D"]) -> Float[NDArray[Any], " P"]:
        """Return the cosine of every pair; 0 with a vector of zeros."""
        if self.nodes <= EXACT:
            return cosines.cosine_matrix(vectors)[self.u, self.v]
        return self.angles(cosines.unit(vectors))

    def angles(self, ends: Float[NDArray[Any], "N D"]) -> Float[NDArray[Any], " P"]:
        """Return the inner product of every pair of vectors: the cosine, if they have length 1."""
        return np.einsum("pd,pd->p", ends[self.u], ends[self.v])

    @cached_property
    def ranks(self) -> Float[Floats, " P"]:
        """Ranks of the distances, minus their mean."""
        found = midranks(self.hops)
        return found - found.mean()

    @cached_property
    def _coded(self) -> Float[Floats, " P"]:
        return self.ranks + _CODE

    @cached_property
    def places(self) -> Int[Ids, " P"]:
        """Index of each pair in a flattened matrix of all pairs of nodes."""
        return self.u * self.nodes + self.v

    @cached_property
    def _spread(self) -> float:
        return float((self.ranks**2).sum())

    def correlation(self, ours: Float[Floats, "*K P"]) -> Float[Floats, "*K"]:
        """Return the correlation of ranks of cosines with the ranks of the distances."""
        ours = ours - ours.mean(-1, keepdims=True)
        scale = np.sqrt((ours**2).sum(-1) * self._spread)
        nothing = np.full(scale.shape, np.nan)
        return np.divide(ours @ self.ranks, scale, out=nothing, where=scale > 0)

    def counted(self, groups: Integer[NDArray[Any], " P"]) -> float:
        """Return :meth:`correlation` for cosines given as numbered steps, without sorting them.

        Pairs of one step share their mean rank. Sums over pairs become sums over steps; ranks are
        whole or half numbers, so that the sums are exact.
        """
        coded = np.bincount(groups, self._coded)
        counts = np.rint(coded / _CODE)
        own = coded - counts * _CODE
        if counts.max(initial=0) * len(groups) >= _CODE:  # sums of ranks reach into the code
            counts = np.asarray(np.bincount(groups), dtype=np.float64)
            own = np.asarray(np.bincount(groups, self.ranks), dtype=np.float64)
        ranks = _ranks_of(counts) - (len(groups) + 1) / 2
        scale = np.sqrt((counts * ranks**2).sum() * self._spread)
        return float(own @ ranks / scale) if scale > 0 else np.nan

    def error(self, angles: Float[Floats, " P"]) -> float:
        """Return the standard error of a sampled correlation, from groups of sources."""
        parts = []
        for group in range(_GROUPS):
            mine = self.u % _GROUPS == group
            part = Pairs(self.u[mine], self.v[mine], self.hops[mine], self.nodes)
            parts.append(part.correlation(cosine_ranks(angles[mine])))
        return float(np.std(parts, ddof=1) / np.sqrt(_GROUPS))


def choose_pairs(count: int, u: Ids, v: Ids, least: int = 1, seed: int = 0) -> Pairs:
    """Choose the pairs of a graph that are compared.

    Up to :data:`EXACT` nodes they are all pairs that a path joins; of more, up to :data:`PAIRS`
    pairs of random sources with random targets.

    Args:
        count: Number of nodes.
        u: Node at which each edge starts.
        v: Node at which it ends.
        least: Smallest number of hops of a pair.
        seed: Root seed of the draw.
    """
    if count <= EXACT:
        hops = hops_from(count, u, v)
        return Pairs.all(np.where(hops >= least, hops, np.inf))
    rng = Streams(seed).numpy(EVALUATION, "pairs")
    sources = rng.choice(count, size=PAIRS // _TARGETS, replace=False)
    targets = rng.integers(count, size=(len(sources), _TARGETS))
    source_groups = np.array_split(sources, _GROUPS)
    target_groups = np.array_split(targets, _GROUPS)
    blocks = []
    for some, to in zip(source_groups, target_groups, strict=True):
        blocks.append(np.take_along_axis(hops_from(count, u, v, some), to, axis=1))
    near = np.concatenate(blocks).ravel()
    fits = np.isfinite(near) & (near >= max(least, 1))
    first, second = np.repeat(sources, _TARGETS)[fits], targets.ravel()[fits]
    return Pairs(first, second, near[fits].astype(int), count)


def _random_correlations(
    each: Sequence[Pairs], draws: int, shape: tuple[int, ...], seed: int, *, centred: bool
) -> list[Float[Floats, " K"]]:
    """Return the correlations of random embeddings for each graph; all share the same draws."""
    most = max(len(pairs.u) for pairs in each)
    at_once = max(1, _AT_ONCE // shape[0] ** 2)
    found: list[list[Floats]] = [[] for _ in each]
    for block in cosines.random_blocks(draws, shape, seed, at_once=at_once):
        drawn = block - block.mean(1, keepdims=True) if centred else block
        if most <= _SORTED and shape[0] <= EXACT:
            angles = cosines.cosine_matrix(drawn)
            for parts, pairs in zip(found, each, strict=True):
                ours = np.stack([cosine_ranks(one[pairs.u, pairs.v]) for one in angles])
                parts.append(pairs.correlation(ours))
            continue
        for one in cosines.unit(drawn.astype(np.float32)):
            # NumPy's own product of a matrix with itself takes four times as long.
            every = ssyrk(1.0, one.T, trans=1, lower=1).T if shape[0] <= EXACT else None
            for parts, pairs in zip(found, each, strict=True):
                angles = pairs.angles(one) if every is None else every.take(pairs.places)
                angles += 1
                angles *= (_STEPS - 2) / 2
                parts.append(np.array([pairs.counted(angles.astype(np.intp))]))
    return [np.concatenate(parts) for parts in found]


def _shuffled_correlations(
    pairs: Pairs, vectors: Float[Floats, "N D"], draws: int, seed: int
) -> Float[Floats, " K"]:
    """Return the correlations of an embedding whose rows are assigned to nodes at random."""
    if draws < 1:
        raise DataError(f"draws must be at least 1, got {draws}")
    rng = Streams(seed).numpy(EVALUATION, "names")
    found = []
    for _ in range(draws):
        order = rng.permutation(len(vectors))
        found.append(pairs.correlation(cosine_ranks(pairs.cosines(vectors[order]))))
    return np.array(found)


def spearman(angles: Float[Floats, "K N N"], hops: Float[Floats, "N N"]) -> Float[Floats, " K"]:
    """Compute the rank correlation of cosines with hops, over pairs that a path joins.

    Args:
        angles: Cosines of all pairs of nodes, for ``K`` embeddings.
        hops: Distances of all pairs, infinite between components.
    """
    pairs = Pairs.all(hops)
    return pairs.correlation(np.stack([cosine_ranks(one[pairs.u, pairs.v]) for one in angles]))


def cosine_ranks(values: Float[Floats, " P"]) -> Float[Floats, " P"]:
    """Return the ranks of cosines; equal ones share their mean rank."""
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    return midranks(tie_groups(values))


def tie_groups(values: Float[Floats, " P"]) -> Int[Ids, " P"]:
    """Number cosines from the smallest up; equal ones have the same number.

    Single precision must not rank pairs that are equally close, such as those of a circle: values
    with a gap of at most :data:`~inweights.theory.geometric_memory.spectral.COSINE_TIE` are equal.
    (Rounding would separate some that lie on two sides of a half.)
    """
    order = values.argsort()
    gaps = np.diff(values[order], prepend=-np.inf)
    groups = np.empty(len(values), dtype=np.int64)
    groups[order] = (gaps > COSINE_TIE).cumsum() - 1
    return groups


def midranks(groups: Integer[NDArray[Any], " P"]) -> Float[Floats, " P"]:
    """Return ranks from 1 of numbered values; those of one number share their mean rank."""
    return _ranks_of(np.bincount(groups).astype(np.float64))[groups]


def _ranks_of(counts: Float[Floats, " G"]) -> Float[Floats, " G"]:
    """Return the mean rank of each number, given how often it occurs."""
    return np.asarray(counts.cumsum() - (counts - 1) / 2)
