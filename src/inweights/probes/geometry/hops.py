"""Rank correlation of cosines with hop distances in a graph (Geometric Memory B.5, C.3).

:func:`hop_correlation` is the probe, with its null distributions;
:class:`~inweights.probes.geometry.pairs.Pairs` are the compared pairs. In graphs with
more than :data:`EXACT` nodes, pairs are sampled, so that memory and time do not grow
with the square of the number of nodes. Shapes: ``R`` replicas, ``N`` nodes, ``D``
width, ``K`` random draws, ``P`` pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
from scipy.linalg.blas import ssyrk

from inweights.errors import DataError, check_names
from inweights.models.base import Model
from inweights.probes.geometry.pairs import Pairs, choose_pairs, cosine_ranks
from inweights.probes.geometry.vectors import (
    cosine_matrix,
    null_limits,
    once_each,
    placed,
    random_blocks,
    unit,
)
from inweights.probes.needs import holds
from inweights.seeds import EVALUATION, Streams
from inweights.theory.geometric_memory.spectral import EXACT
from inweights.worlds.arrays import Float, Floats
from inweights.worlds.world import World

#: Maximum number of pairs for which ranks of random embeddings are exact.
_SORTED = 50_000
#: Parities of the distances (in hops) that each value of ``pairs`` includes.
_HOPS = {"all": (0, 1), "even": (0,), "odd": (1,)}
_NULLS = ("random", "shuffled")
#: Maximum number of cosines of random embeddings in memory at once.
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
    """Compute Spearman's rank correlation between the cosines and hop distances of pairs of nodes.

    The correlation is close to −1 if the cosine of two nodes decreases with their
    distance in the whole graph (a global geometry). It is computed over unordered pairs
    of different nodes that are connected by a path, where edges may be followed in
    either direction. Distant nodes have the same weight as near ones, so that the
    correlation stays well above −1 if only neighbours are similar (a local geometry).
    In a *folded* geometry, the vectors of neighbours are dissimilar and those of second
    neighbours are similar. The correlation over pairs an even number of hops apart
    reveals such a geometry; over all pairs, the effects of even and odd distances may
    cancel. Equal distances share their mean rank, and so do equal cosines. If all
    cosines differ but some distances are equal, the correlation cannot reach −1. In a
    graph with more than 2,000 nodes, 100,000 pairs are sampled; the null distribution
    is computed over the same pairs.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world of a graph, or one for each replica.
        layer: Source of the vectors: ``tokens`` (token embeddings), or one of
            ``model.layer_names``; see
            :func:`inweights.probes.geometry.vectors.node_vectors`.
        least: Smallest number of hops between the nodes of a pair; 2 excludes pairs
            that are connected by an edge.
        pairs: Pairs that are used: ``all`` pairs, or only pairs an ``even`` or an
            ``odd`` number of hops apart.
        centred: Whether the mean vector of all nodes is subtracted from each node's
            vector first.
        null: Null distribution: ``random`` embeddings of the same shape, or the
            replica's own embeddings with the nodes ``shuffled``.
        draws: Number of embeddings in the null distribution, at least 1.
        seed: Root seed of the null distribution, and of the pairs if they are sampled.

    Returns:
        One row per replica, with the columns ``replica``, ``spearman`` (the
        correlation, from −1 to 1), ``null_mean``, ``null_low`` and ``null_high`` (mean,
        2.5% and 97.5% quantiles of the null distribution) and ``p``, the share of
        correlations that are at most as large as the replica's own, among the
        correlations of the draws and the replica's own. All are NaN if all distances
        are equal, as between the leaves of a star; ``spearman`` and ``p`` are also NaN
        if all cosines are equal. If pairs were sampled, there is a further column
        ``error``, the standard error of ``spearman``, estimated from ten groups of
        sources.

    Raises:
        ConfigError: ``pairs``, ``null`` or the layer is unknown, the model has no
            replica axis, ``seed`` is not between 0 and 2**63 - 1, or the probe would
            need more memory than is available.
        DataError: A world is not a graph, no pairs are left, ``draws`` is below 1, the
            model has no table of token embeddings, or the worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> model = iw.models.Node2VecConfig().build(vocabulary=15, seeds=[0])
        >>> table = hop_correlation(model, iw.worlds.Graph(shape="cycle").build())
        >>> bool(table["null_low"].item() < table["spearman"].item() < table["null_high"].item())
        True
    """
    check_names("pairs", [pairs], _HOPS)
    check_names("null", [null], _NULLS)
    graphs, vectors = placed(model, worlds, layer)
    if centred:
        vectors = vectors - vectors.mean(1, keepdims=True)
    # The pairs and the null distribution depend only on the graph, so replicas with the
    # same graph share both.
    pairs_of: dict[int, Pairs] = {}
    for i, (count, u, v) in once_each(graphs).items():
        pairs_of[i] = choose_pairs(count, u, v, least, seed).at(_HOPS[pairs])
        if not len(pairs_of[i].u):
            raise DataError(
                f"no pair of nodes that pairs = '{pairs}' selects is at least {least} hops "
                "apart"
            )
    random: dict[int, Floats] = {}
    if null == "random":
        shape = vectors.shape[1:]
        chances = _random_correlations(
            [*pairs_of.values()], draws, shape, seed, centred=centred
        )
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
        row = {"replica": replica, "spearman": found, **null_limits(chance)}
        # The replica's own value counts as a draw, so that no p is 0 (Phipson and
        # Smyth, 2010).
        row["p"] = (1 + (chance <= found).sum()) / (1 + draws)
        if np.isnan(found):  # all comparisons with NaN are false
            row["p"] = np.nan
        if graph[0] > EXACT:
            row["error"] = chosen.error(angles)
        rows.append(row)
    return pl.DataFrame(rows)


def _random_correlations(
    each: Sequence[Pairs],
    draws: int,
    shape: tuple[int, ...],
    seed: int,
    *,
    centred: bool,
) -> list[Float[Floats, " K"]]:
    """Return the correlations of random embeddings for each graph; all graphs share the draws."""
    # Few pairs are ranked exactly. Cosines of many pairs are rounded and counted,
    # because sorting them would be slow.
    most = max(len(pairs.u) for pairs in each)
    at_once = max(1, _AT_ONCE // shape[0] ** 2)
    found: list[list[Floats]] = [[] for _ in each]
    for block in random_blocks(draws, shape, seed, at_once=at_once):
        drawn = block - block.mean(1, keepdims=True) if centred else block
        if most <= _SORTED and shape[0] <= EXACT:
            angles = cosine_matrix(drawn)
            for parts, pairs in zip(found, each, strict=True):
                ours = np.stack([cosine_ranks(one[pairs.u, pairs.v]) for one in angles])
                parts.append(pairs.correlation(ours))
            continue
        for one in unit(drawn.astype(np.float32)):
            # BLAS computes only one triangle of this symmetric product; NumPy's product
            # takes four times as long.
            every = ssyrk(1.0, one.T, trans=1, lower=1).T if shape[0] <= EXACT else None
            for parts, pairs in zip(found, each, strict=True):
                angles = (
                    pairs.angles(one) if every is None else every.take(pairs.places)
                )
                parts.append(np.array([pairs.rounded(angles)]))
    return list(map(np.concatenate, found))


def _shuffled_correlations(
    pairs: Pairs, vectors: Float[Floats, "N D"], draws: int, seed: int
) -> Float[Floats, " K"]:
    """Return the correlations of an embedding whose rows are assigned to nodes at random."""
    if draws < 1:
        raise DataError(f"draws must be at least 1, got {draws}")
    rng = Streams(seed).numpy(EVALUATION, "names")
    found = []
    for _ in range(draws):
        # The vectors stay the same and are assigned to other nodes, so that a remaining
        # correlation is due to the arrangement of the vectors alone.
        order = rng.permutation(len(vectors))
        found.append(pairs.correlation(cosine_ranks(pairs.cosines(vectors[order]))))
    return np.array(found)
