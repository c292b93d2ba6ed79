"""Margins of a graph's edges that follow from the geometry of embeddings alone (B.5 (4)).

:func:`geometric_margin` compares the margin with a null distribution;
:func:`edge_margin` computes it as the paper's code does. Shapes: ``R`` replicas, ``N``
nodes, ``S`` nodes whose margins are computed, ``D`` width, ``K`` draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.models.tiny_nn import TinyNN
from inweights.probes.geometry.vectors import (
    graph_edges,
    node_vectors,
    once_each,
    random_blocks,
)
from inweights.probes.needs import holds
from inweights.seeds import EVALUATION, Streams
from inweights.support.statistics.decompositions import svd
from inweights.theory.geometric_memory.spectral import EXACT
from inweights.worlds.arrays import Bool, Bools, Float, Floats, Int
from inweights.worlds.world import Ids, Worlds

#: Number of nodes whose margins are computed in a graph of more than :data:`EXACT`
#: nodes.
_SAMPLED = 500
#: Maximum number of logits in memory at once.
_AT_ONCE = 2**23


@holds(margins=17)
def geometric_margin(
    model: Model,
    worlds: Worlds,
    *,
    itself: bool = True,
    draws: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute edge margins with a middle layer that only scales the embeddings' principal axes.

    This is test (4) of Geometric Memory, B.5. The matrix ``W`` of the middle layer is
    replaced by ``Σ_i (v_iᵀ W v_i) v_i v_iᵀ``, where ``v_i`` are the right singular
    vectors of the embeddings, so that ``W`` no longer maps one of these directions to
    another. The bias does not change. A node's margin is the logit of one of its
    neighbours minus the largest logit of the *other nodes*, which are not its
    neighbours. The neighbour is the one with the largest logit (``max``, a weak test)
    or with the smallest logit (``min``; a margin above 0 means that all neighbours have
    larger logits than all other nodes).

    The null distribution is associative storage: random embeddings of the same shape,
    with the ``W`` whose logits are closest, by least squares, to 1 on edges and 0
    elsewhere. :func:`edge_margin` is the margin as the paper's code computes it. For a
    graph with more than 2,000 nodes, only the margins of 500 nodes, drawn with
    ``seed``, are computed.

    Args:
        model: A :class:`~inweights.models.TinyNN` with ``R`` replicas.
        worlds: One world of a graph, or one for each replica.
        itself: Whether a node without a self-edge is included among the other nodes, as
            in the softmax. A node with a self-edge is never included, neither among
            the other nodes nor as its own neighbour.
        draws: Number of random embeddings in the null distribution, at least 1.
        seed: Root seed of the null distribution and, in graphs with more than 2,000
            nodes, of the choice of nodes.

    Returns:
        Two rows per replica, with the columns ``replica``, ``over`` (``max`` or
        ``min``: the neighbour whose logit is used), ``margin`` (mean over nodes, in
        logits), ``worst`` (smallest margin), ``positive`` (share of nodes with a margin
        above 0), ``null_positive`` and ``null_worst`` (means of ``positive`` and
        ``worst`` in the null distribution, where the scale of margins differs from the
        model's), ``null_all`` (share of draws whose mean margin is above 0) and ``p``
        (share of the values of ``positive`` that are at least as large as the replica's
        own, among the values of the draws and the replica's own).

    Raises:
        DataError: The model is not a TinyNN, a world is not a graph, the graph is
            complete, ``draws`` is below 1, or the worlds do not fit the model.
        ConfigError: The model has no replica axis, ``seed`` is not between 0 and 2**63
            - 1, or the probe would need more memory than is available.
    """
    graphs = graph_edges(model, worlds)
    w = _middle(model)
    count = graphs[0][0]
    vectors = node_vectors(model, count)
    assert isinstance(model, TinyNN)
    assert model.middle.bias is not None
    bias = model.middle.bias.detach().cpu().double().numpy()[:, None]
    # Replicas usually share a graph, so the nodes and the null distribution are drawn
    # once per graph rather than once per replica.
    rows_of = {i: _Rows.of(*graph, seed) for i, graph in once_each(graphs).items()}
    chance: dict[int, tuple[Floats, ...]] = {}
    rows: list[dict[str, object]] = []
    for replica, graph in enumerate(graphs):
        chosen = rows_of[id(graph)]
        if id(graph) not in chance:
            # The logits of a block of draws have the shape ``[K, S, N]``; ``K`` is as
            # large as memory allows.
            at_once = max(1, _AT_ONCE // chosen.near.size)
            blocks = random_blocks(draws, vectors.shape[1:], seed, at_once)
            stored = (_associative(null, chosen) for null in blocks)
            parts = [chosen.margins(logits, itself=itself) for logits in stored]
            chance[id(graph)] = tuple(map(np.concatenate, zip(*parts, strict=True)))
        one = slice(replica, replica + 1)
        logits = _geometric(vectors[one], w[one], bias[one], chosen.nodes)
        margins = chosen.margins(logits, itself=itself)
        for over, own, drawn in zip(
            ("max", "min"), margins, chance[id(graph)], strict=True
        ):
            positive = (own[0] > 0).mean()
            share = (drawn > 0).mean(1)
            rows.append(
                {
                    "replica": replica,
                    "over": over,
                    "margin": own[0].mean(),
                    "worst": own[0].min(),
                    "positive": positive,
                    "null_positive": share.mean(),
                    "null_worst": drawn.min(1).mean(),
                    "null_all": (drawn.mean(1) > 0).mean(),
                    "p": (1 + (share >= positive).sum()) / (1 + draws),
                }
            )
    return pl.DataFrame(rows)


@holds(matrix=30)
def edge_margin(model: Model, worlds: Worlds) -> pl.DataFrame:
    """Compute geometric margins as the paper's code does: without a bias or the node's own logit.

    The logits are ``E W̃ᵀ Eᵀ`` for the embeddings ``E``, where ``W̃ = Σ_i (v_iᵀ W v_i)
    v_i v_iᵀ`` keeps only the part of the middle layer ``W`` that scales the right
    singular vectors ``v_i`` of ``E`` (Geometric Memory, B.5 (4)). Neighbours are
    compared with the nodes that are neither neighbours nor the node itself (``nodes``),
    or with these and the tokens that are not nodes (``vocabulary``). In the second
    case, the embeddings of all tokens determine the singular vectors. If more than
    2,000 tokens are compared, only the margins of 500 of them, drawn with the seed 0,
    are computed.

    Args:
        model: A :class:`~inweights.models.TinyNN` with ``R`` replicas.
        worlds: One world of a graph, or one for each replica.

    Returns:
        Four rows per replica, with the columns ``replica``, ``rivals`` (``nodes`` or
        ``vocabulary``: the tokens with which neighbours are compared), ``over``
        (``max`` or ``min``: the neighbour with the largest or the smallest logit),
        ``margin`` (mean over nodes, in logits), ``worst`` (smallest margin) and
        ``positive`` (share of nodes with a margin above 0).

    Raises:
        DataError: The model is not a TinyNN, a world is not a graph, the graph is
            complete, or the worlds do not fit the model.
        ConfigError: The model has no replica axis, or the probe would need more memory
            than is available.

    Example:
        >>> import inweights as iw
        >>> world = iw.worlds.Graph(shape="cycle", idle_tokens=9).build()
        >>> model = iw.models.TinyNNConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> edge_margin(model, world)["rivals"].to_list()
        ['nodes', 'nodes', 'vocabulary', 'vocabulary']
    """
    graphs = graph_edges(model, worlds)
    w = _middle(model)
    nodes = graphs[0][0]
    table = node_vectors(model, model.vocabulary)
    counts = {"nodes": nodes, "vocabulary": model.vocabulary}
    rows_of = {}
    for i, (_, u, v) in once_each(graphs).items():
        for rivals, count in counts.items():
            rows_of[i, rivals] = _Rows.of(count, u, v, 0)
    rows = []
    for replica, graph in enumerate(graphs):
        one = slice(replica, replica + 1)
        for rivals, count in counts.items():
            chosen = rows_of[id(graph), rivals]
            logits = _geometric(table[one, :count], w[one], np.zeros(1), chosen.nodes)
            margins = chosen.margins(logits, itself=False)
            for over, own in zip(("max", "min"), margins, strict=True):
                row = {
                    "margin": own.mean(),
                    "worst": own.min(),
                    "positive": (own > 0).mean(),
                }
                rows.append({"replica": replica, "rivals": rivals, "over": over} | row)
    return pl.DataFrame(rows)


def _middle(model: Model) -> Floats:
    """Return the matrix ``W`` of a TinyNN, ``[R, D, D]``."""
    if not isinstance(model, TinyNN):
        raise DataError(
            "the geometric margin requires a TinyNN, whose middle layer it replaces"
        )
    return model.middle.weight.detach().cpu().double().numpy().swapaxes(1, 2)


def _geometric(vectors: Floats, w: Floats, bias: Floats, rows: slice | Ids) -> Floats:
    """Return the logits ``(E W̃ᵀ + b) Eᵀ`` of the purely geometric model, ``[K, S, N]``."""
    # [K, min(N, D), D]; its rows are the v_i.
    right = svd(vectors, full_matrices=False)[2]
    scale = np.einsum("kid,kde,kie->ki", right, w, right, optimize=True)
    middle = (
        vectors[:, rows] @ np.swapaxes(right, 1, 2) * scale[:, None]
    ) @ right + bias
    return middle @ np.swapaxes(vectors, 1, 2)


def _associative(vectors: Floats, chosen: _Rows) -> Floats:
    """Return logits of the geometric part of associative storage in random embeddings, [K, S, N].

    With ``E = U Σ Vᵀ``, the least-squares ``Wᵀ = E⁺ A E⁺ᵀ`` has ``v_iᵀ W v_i = u_iᵀ A
    u_i / σ_i²``, so that ``E W̃ᵀ Eᵀ = Σ_i (u_iᵀ A u_i) u_i u_iᵀ``; no array ``[K, D,
    D]`` is needed.
    """
    left = svd(vectors, full_matrices=False)[0]
    # The adjacency matrix of a large graph would not fit into memory, so the quadratic
    # form is summed over its edges.
    if isinstance(chosen.nodes, slice):
        a = chosen.near.astype(np.float64)
        scale = np.einsum("kni,nm,kmi->ki", left, a, left, optimize=True)
    else:
        scale = np.stack(
            [np.einsum("ed,ed->d", one[chosen.u], one[chosen.v]) for one in left]
        )
    return (left[:, chosen.nodes] * scale[:, None]) @ np.swapaxes(left, 1, 2)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The nodes whose margins are computed (all nodes of a small graph), and their edges.

    Attributes:
        nodes: The chosen nodes; ``slice(None)`` for all.
        near: Whether an edge leads from a chosen node to each node.
        own: Id of each chosen node, which is its column in ``near``.
        u: Source of each edge of the graph.
        v: Target of each edge of the graph.
    """

    nodes: slice | Int[Ids, " S"]
    near: Bool[Bools, "S N"]
    own: Int[Ids, " S"]
    u: Int[Ids, " E"]
    v: Int[Ids, " E"]

    @classmethod
    def of(cls, count: int, u: Ids, v: Ids, seed: int) -> _Rows:
        """Choose the nodes to measure, in a graph with ``count`` nodes and edges ``u`` to ``v``."""
        # Repeated edges are removed, because they must not count twice in the
        # least-squares solution.
        u, v = np.unique(np.stack([u, v]), axis=1)
        places = np.arange(count)
        nodes: slice | Ids = slice(None)
        if count > EXACT:
            rng = Streams(seed).numpy(EVALUATION, "margins")
            places = nodes = np.sort(rng.choice(count, _SAMPLED, replace=False))
        # Index of each node among the chosen ones; -1 for all others.
        row = np.full(count, -1)
        row[places] = np.arange(len(places))
        inside = row[u] >= 0
        near = np.zeros((len(places), count), dtype=bool)
        near[row[u[inside]], v[inside]] = True
        return cls(nodes, near, places, u, v)

    def margins(
        self, logits: Float[Floats, "K S N"], *, itself: bool
    ) -> tuple[Floats, Floats]:
        """Return the margins of each node's most and least likely neighbours, both ``[K, n]``.

        The ``n`` nodes are those of the ``S`` chosen nodes that have at least one
        neighbour and at least one node with which their neighbours can be compared.
        """
        # An edge from a node to itself does not make the node its own neighbour.
        own = np.zeros_like(self.near)
        own[np.arange(len(own)), self.own] = True
        edge = self.near & ~own
        others = ~self.near if itself else ~edge & ~own
        nodes = edge.any(1) & others.any(1)
        if not nodes.any():
            raise DataError("the graph is complete, so there is no margin")
        logits = logits[:, nodes]
        edge = edge[nodes]
        others = others[nodes]
        # Nodes that do not count are set to an infinite value, so that they are never
        # the maximum or minimum.
        rest = np.where(others, logits, -np.inf).max(-1)
        best = np.where(edge, logits, -np.inf).max(-1)
        return best - rest, np.where(edge, logits, np.inf).min(-1) - rest
