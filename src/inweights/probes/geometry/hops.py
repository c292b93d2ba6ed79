"""Does closeness follow the graph? Rank correlation of cosine with hop distance (B.5, C.3).

Up to :data:`EXACT` nodes all pairs are asked; of larger graphs :data:`PAIRS` pairs, drawn by
their sources, so that nothing here grows with the square of the nodes. Shapes: ``R`` replicas,
``N`` nodes, ``D`` width, ``K`` random draws, ``P`` pairs.
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

#: Pairs that are asked of more than :data:`EXACT` nodes.
PAIRS = 100_000
#: Targets of each source among them, and the groups of sources that tell the sampling error.
_TARGETS, _GROUPS = 100, 10
#: Pairs whose ranks are exact in the null distribution, too. Of more, cosines there are counted in
#: so many steps, which moves a correlation by less than 1e-6.
_SORTED, _STEPS = 50_000, 2**16
#: Added to each rank, so that one sum over a group tells both its pairs and their ranks exactly.
_CODE = 2.0**32
#: The remainders by 2 of the hops that count.
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
    """Spearman correlation of cosine with hop distance: −1 for a perfect global geometry.

    Over unordered pairs of different nodes in one component. Far nodes count as much as near
    ones, so a local geometry alone does not reach −1. A *folded* geometry, in which neighbours
    differ and second neighbours are similar, shows among pairs an even number of hops apart and
    may cancel over all of them. Equal distances and equal cosines have their mean rank; cosines
    that are all different cannot reach −1 where distances are equal. Of a graph with more than
    2,000 nodes 100,000 pairs are drawn, the same ones for the null distribution.

    Args:
        model: ``R`` replicas.
        worlds: Worlds of graphs: one, or one a replica.
        layer: See :func:`inweights.probes.geometry.cosines.node_vectors`.
        least: Only pairs at least so many hops apart; 2 leaves out what a fact says.
        pairs: Which pairs: ``all``, or those an ``even`` or an ``odd`` number of hops apart.
        centred: Whether the nodes' mean vector is taken away from each of them first.
        null: Random embeddings of the same shape, or the replica's own with its nodes shuffled.
        draws: Embeddings in the null distribution.
        seed: Root seed of the null distribution, and of the pairs where not all are asked.

    Returns:
        A row for each replica: ``replica, spearman, null_mean, null_low, null_high`` (2.5 and
        97.5%) and ``p``, the share of ``1 + draws`` values at most as large as the replica's.
        Not a number where all distances are equal, as between the leaves of a star. Where pairs
        were drawn also ``error``, the standard error of ``spearman`` by ten groups of sources.

    Raises:
        ConfigError: ``pairs`` or ``null`` is unknown.
        DataError: A world is no graph.

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
    single = cosines.once_each(graphs).items()
    each = {i: asked_pairs(*g, least, seed).at(_HOPS[pairs]) for i, g in single}
    random: dict[int, Floats] = {}
    if null == "random":
        chances = _chances([*each.values()], draws, vectors.shape[1:], seed, centred=centred)
        random = dict(zip(each, chances, strict=True))
    rows = []
    for replica, graph in enumerate(graphs):
        asked = each[id(graph)]
        angles = asked.cosines(vectors[replica])
        found = float(asked.correlation(cosine_ranks(angles)))
        shuffled = null == "shuffled"
        chance = _shuffled(asked, vectors[replica], draws, seed) if shuffled else random[id(graph)]
        row = {"replica": replica, "spearman": found, **cosines.null_limits(chance)}
        row["p"] = (1 + (chance <= found).sum()) / (1 + draws)
        large = graph[0] > EXACT
        rows.append(row | ({"error": asked.error(angles)} if large else {}))
    return pl.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of nodes that a path joins, with their distances; of a graph of so many nodes."""

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
        """Return the pairs whose hops have one of these remainders by 2."""
        if len(remainders) == 2:
            return self
        kept = np.isin(self.hops % 2, remainders)
        return Pairs(self.u[kept], self.v[kept], self.hops[kept], self.nodes)

    def cosines(self, vectors: Float[NDArray[Any], "N D"]) -> Float[NDArray[Any], " P"]:
        """Return the cosine of every pair; 0 with a vector of zeros."""
        if self.nodes <= EXACT:
            return cosines.cosine_matrix(vectors)[self.u, self.v]
        return self.angles(cosines.unit(vectors))

    def angles(self, ends: Float[NDArray[Any], "N D"]) -> Float[NDArray[Any], " P"]:
        """Return the cosine of every pair of vectors of length 1, one by one."""
        return np.einsum("pd,pd->p", ends[self.u], ends[self.v])

    @cached_property
    def ranks(self) -> Float[Floats, " P"]:
        """Ranks of the distances, less their mean."""
        found = midranks(self.hops)
        return found - found.mean()

    @cached_property
    def _coded(self) -> Float[Floats, " P"]:
        return self.ranks + _CODE

    @cached_property
    def places(self) -> Int[Ids, " P"]:
        """Where a pair stands in a flattened matrix of all pairs."""
        return self.u * self.nodes + self.v

    @cached_property
    def _spread(self) -> float:
        return float((self.ranks**2).sum())

    def correlation(self, ours: Float[Floats, "*K P"]) -> Float[Floats, "*K"]:
        """Return the correlation of ranks of cosines with those of the distances."""
        ours = ours - ours.mean(-1, keepdims=True)
        scale = np.sqrt((ours**2).sum(-1) * self._spread)
        nothing = np.full(scale.shape, np.nan)
        return np.divide(ours @ self.ranks, scale, out=nothing, where=scale > 0)

    def counted(self, groups: Integer[NDArray[Any], " P"]) -> float:
        """Return :meth:`correlation` of the ranks of numbered cosines, without those ranks.

        The sums over pairs are sums over numbers; ranks are whole or half, so that they are exact.
        """
        coded = np.bincount(groups, self._coded)
        counts = np.rint(coded / _CODE)
        own = coded - counts * _CODE
        if counts.max(initial=0) * len(groups) >= _CODE:  # a sum may be too large to tell
            counts = np.asarray(np.bincount(groups), dtype=np.float64)
            own = np.asarray(np.bincount(groups, self.ranks), dtype=np.float64)
        ranks = _ranks_of(counts) - (len(groups) + 1) / 2
        scale = np.sqrt((counts * ranks**2).sum() * self._spread)
        return float(own @ ranks / scale) if scale > 0 else np.nan

    def error(self, angles: Float[Floats, " P"]) -> float:
        """Return the standard error of a sampled correlation, by groups of sources."""
        parts = []
        for group in range(_GROUPS):
            mine = self.u % _GROUPS == group
            part = Pairs(self.u[mine], self.v[mine], self.hops[mine], self.nodes)
            parts.append(part.correlation(cosine_ranks(angles[mine])))
        return float(np.std(parts, ddof=1) / np.sqrt(_GROUPS))


def asked_pairs(count: int, u: Ids, v: Ids, least: int = 1, seed: int = 0) -> Pairs:
    """The pairs of a graph that are asked: all, or so many to random targets of random sources."""
    if count <= EXACT:
        hops = hops_from(count, u, v)
        return Pairs.all(np.where(hops >= least, hops, np.inf))
    rng = Streams(seed).numpy(EVALUATION, "pairs")
    sources = rng.choice(count, size=PAIRS // _TARGETS, replace=False)
    targets = rng.integers(count, size=(len(sources), _TARGETS))
    blocks = [
        np.take_along_axis(hops_from(count, u, v, some), to, axis=1)
        for some, to in zip(*(np.array_split(x, _GROUPS) for x in (sources, targets)), strict=True)
    ]
    near = np.concatenate(blocks).ravel()
    kept = np.isfinite(near) & (near >= max(least, 1))
    return Pairs(
        np.repeat(sources, _TARGETS)[kept], targets.ravel()[kept], near[kept].astype(int), count
    )


def _chances(
    asked: Sequence[Pairs], draws: int, shape: tuple[int, ...], seed: int, *, centred: bool
) -> list[Float[Floats, " K"]]:
    """The correlations of random embeddings, drawn once for all graphs."""
    most = max(len(pairs.u) for pairs in asked)
    found: list[list[Floats]] = [[] for _ in asked]
    for block in cosines.random_blocks(
        draws, shape, seed, at_once=max(1, _AT_ONCE // shape[0] ** 2)
    ):
        drawn = block - block.mean(1, keepdims=True) if centred else block
        if most <= _SORTED and shape[0] <= EXACT:
            angles = cosines.cosine_matrix(drawn)
            for parts, pairs in zip(found, asked, strict=True):
                ours = np.stack([cosine_ranks(one[pairs.u, pairs.v]) for one in angles])
                parts.append(pairs.correlation(ours))
            continue
        for one in cosines.unit(drawn.astype(np.float32)):
            # NumPy's own product of a matrix with itself takes four times as long.
            every = ssyrk(1.0, one.T, trans=1, lower=1).T if shape[0] <= EXACT else None
            for parts, pairs in zip(found, asked, strict=True):
                angles = pairs.angles(one) if every is None else every.take(pairs.places)
                angles += 1
                angles *= (_STEPS - 2) / 2
                parts.append(np.array([pairs.counted(angles.astype(np.intp))]))
    return [np.concatenate(parts) for parts in found]


def _shuffled(
    asked: Pairs, vectors: Float[Floats, "N D"], draws: int, seed: int
) -> Float[Floats, " K"]:
    """The correlations of an embedding whose rows are dealt to the nodes at random."""
    if draws < 1:
        raise DataError(f"draws must be at least 1, got {draws}")
    rng = Streams(seed).numpy(EVALUATION, "names")
    orders = (rng.permutation(len(vectors)) for _ in range(draws))
    return np.array([asked.correlation(cosine_ranks(asked.cosines(vectors[o]))) for o in orders])


def spearman(angles: Float[Floats, "K N N"], hops: Float[Floats, "N N"]) -> Float[Floats, " K"]:
    """Rank correlation of cosines with hops, over pairs that a path joins."""
    pairs = Pairs.all(hops)
    return pairs.correlation(np.stack([cosine_ranks(one[pairs.u, pairs.v]) for one in angles]))


def cosine_ranks(values: Float[Floats, " P"]) -> Float[Floats, " P"]:
    """Return the ranks of cosines; those of equal ones are their mean."""
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    return midranks(tie_groups(values))


def tie_groups(values: Float[Floats, " P"]) -> Int[Ids, " P"]:
    """Number cosines from the smallest up; those that are equal have one number.

    Single precision must not rank pairs that are equally close, such as those of a circle: values
    with a gap of at most :data:`~inweights.theory.geometric_memory.spectral.COSINE_TIE` are equal.
    (Rounding would part some that lie on two sides of a half.)
    """
    order = values.argsort()
    gaps = np.diff(values[order], prepend=-np.inf)
    groups = np.empty(len(values), dtype=np.int64)
    groups[order] = (gaps > COSINE_TIE).cumsum() - 1
    return groups


def midranks(groups: Integer[NDArray[Any], " P"]) -> Float[Floats, " P"]:
    """Return ranks from 1 of numbered values; those of one number are their mean."""
    return _ranks_of(np.bincount(groups).astype(np.float64))[groups]


def _ranks_of(counts: Float[Floats, " G"]) -> Float[Floats, " G"]:
    """The rank of each number, by how often it occurs."""
    return np.asarray(counts.cumsum() - (counts - 1) / 2)
