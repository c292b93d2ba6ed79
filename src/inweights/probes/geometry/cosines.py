"""Recall of a graph's edges, and cosines of its nodes (Geometric Memory B.5, C.3).

:func:`graph_recall` measures whether edges are stored, and :func:`cosines` measures
whether nearby nodes have similar vectors. Shapes: ``R`` replicas, ``N`` nodes, ``n``
nodes of a block, ``E`` edges, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.probes.geometry.vectors import (
    graph_edges,
    node_prompts,
    node_vectors,
    once_each,
    prefix_of,
    unit,
)
from inweights.probes.needs import holds
from inweights.support.limits import check_memory
from inweights.theory.geometric_memory.graph import hops_from
from inweights.training.batches.worlds import as_worlds
from inweights.training.scoring import MAX_LOGITS
from inweights.worlds.arrays import Bool, Bools, Float, Floats, Int
from inweights.worlds.world import Ids, Worlds

#: Estimated memory per pair of nodes while a table is computed, in bytes.
_BYTES = 150
#: Maximum number of cosines that are computed at once, and of logits that are ranked at
#: once: these should stay in the cache.
_AT_ONCE = 2**22
_IN_CACHE = 2**17


@holds(asked=24, logits=4)
def graph_recall(model: Model, worlds: Worlds) -> pl.DataFrame:
    """Measure how well a model stores a graph's edges: recall, accuracy and loss, with bounds.

    Only one neighbour of a node can have the largest logit. Therefore accuracy over
    edges has an upper bound, and the loss has a lower bound. *Top-degree recall* is the
    share of the neighbours of a node ``u`` that are among the ``deg(u)`` nodes with the
    largest logits; it is 1 if all edges are stored.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world of a graph, or one for each replica.

    Returns:
        One row per replica, with the columns ``replica``, ``recall`` (top-degree recall
        over all edges), ``worst`` (minimum of the recall over nodes), ``recall_others``
        (recall if a node's own logit, which is the largest one in a tied Node2Vec, is
        left out), ``accuracy`` (share of the edges ``u → v`` for which ``v`` has the
        largest logit after ``u``), ``ceiling`` (the largest possible accuracy),
        ``loss`` (mean cross-entropy over edges, in nats) and ``floor`` (the smallest
        possible loss, the mean of ``ln deg``).

    Raises:
        DataError: A world is not a graph, a node is not among the head's candidates, or
            the worlds do not fit the model.
        ConfigError: The model has no replica axis, or the probe would need more memory
            than is available (the message states both amounts).

    Example:
        >>> import inweights as iw
        >>> model = iw.models.TinyNNConfig().build(vocabulary=15, seeds=[0])
        >>> table = graph_recall(model, iw.worlds.Graph(shape="cycle").build())
        >>> table["ceiling"].item(), round(table["floor"].item(), 3)
        (0.5, 0.693)
    """
    graphs = graph_edges(model, worlds)
    nodes = graphs[0][0]
    column = model.column[:nodes]
    if (column < 0).any():
        raise DataError(
            "the candidates of the model do not include every node of the graph; build the "
            "model with candidates that include the ids of all nodes"
        )
    # If the candidates are the nodes in order, no columns are selected: the copy would
    # take as long as computing the logits.
    every = torch.arange(len(model.candidates), device=column.device)
    in_order = torch.equal(column, every)
    prompts = node_prompts(nodes, prefix_of(worlds), model)
    edges = {}
    for i, (_, u, v) in once_each(graphs).items():
        edges[i] = np.unique(np.stack((u, v), 1), axis=0)
    found: list[list[dict[str, Floats]]] = [[] for _ in graphs]
    step = max(1, MAX_LOGITS // max(nodes, len(model.candidates)))
    for start in range(0, nodes, step):
        logits = model(prompts[start : start + step])[:, :, -1]  # [R, n, candidates]
        logs = logits.log_softmax(-1)
        if not in_order:
            logs = logs[..., column]
        logs = logs.cpu()
        for graph, own, parts in zip(graphs, logs, found, strict=True):
            parts.append(_recalled(own.numpy(), edges[id(graph)], start))
    return pl.DataFrame(
        [_recall_row(replica, parts) for replica, parts in enumerate(found)]
    )


def _recall_row(
    replica: int, parts: Sequence[Mapping[str, NDArray[Any]]]
) -> dict[str, Any]:
    """Return the row of :func:`graph_recall` for one replica, from blocks of nodes."""
    by_node = {}
    for name in parts[0]:
        by_node[name] = np.concatenate([part[name] for part in parts])
    degree = by_node["degree"]
    hits = by_node["hits"]
    edges = degree.sum()
    edges_to_others = by_node["degree_others"].sum()
    has = degree > 0
    return {
        "replica": replica,
        "recall": hits.sum() / edges,
        "worst": (hits[has] / degree[has]).min(),
        "recall_others": by_node["hits_others"].sum() / max(1, edges_to_others),
        "accuracy": by_node["first"].sum() / edges,
        "ceiling": has.sum() / edges,
        "loss": -by_node["log_probability"].mean(),
        "floor": (degree[has] * np.log(degree[has])).sum() / edges,
    }


def _recalled(
    logs: Float[NDArray[Any], "n N"], edges: Int[Ids, "E 2"], start: int
) -> dict[str, NDArray[Any]]:
    """Count the outgoing edges of nodes, and how many of them are recalled.

    The nodes have the ids from ``start`` to ``start + n - 1``. ``logs`` are the
    log-probabilities of all nodes after each of these nodes; ``edges`` are all edges of
    the graph in ascending order.
    """
    first, last = np.searchsorted(edges[:, 0], [start, start + len(logs)])
    row = edges[first:last, 0] - start
    column = edges[first:last, 1]
    before, itself = better_nodes(logs, row, column, start)
    degree = np.bincount(row, minlength=len(logs))
    other = column != row + start
    degree_others = np.bincount(row[other], minlength=len(logs))
    hit = before < degree[row]
    hit_others = other & (before - itself < degree_others[row])
    largest = logs.argmax(1)
    return {
        "degree": degree,
        "hits": np.bincount(row, hit, len(logs)),
        "degree_others": degree_others,
        "hits_others": np.bincount(row, hit_others, len(logs)),
        "first": np.bincount(row, column == largest[row], len(logs)) > 0,
        "log_probability": logs[row, column].astype(np.float64),
    }


def better_nodes(
    logits: Float[NDArray[Any], "n N"],
    row: Int[Ids, " E"],
    column: Int[Ids, " E"],
    start: int,
) -> tuple[Int[Ids, " E"], Bool[Bools, " E"]]:
    """Return, for each edge, how many nodes have a larger logit than the edge's target.

    Args:
        logits: Logits ``[n, N]`` of all ``N`` nodes, with one row for each of ``n``
            source nodes. Row ``i`` belongs to the node with the id ``start + i``. Ties
            are broken in favour of the node with the lower id.
        row: Index of the row of each edge's source, ``[E]``.
        column: Id of the target of each edge, ``[E]``.
        start: Id of the node to which the first row belongs.

    Returns:
        Two arrays ``[E]``: the counts, and whether the edge's source is among the
        counted nodes.
    """
    own = logits[row, column]
    before = np.empty(len(row), dtype=np.int64)
    step = max(1, _IN_CACHE // logits.shape[1])
    for first in range(0, len(row), step):
        some = slice(first, first + step)
        others = logits[row[some]]
        mine = own[some, None]
        before[some] = _counts(others > mine)
        tied = np.flatnonzero(_counts(others == mine) > 1)
        for place in tied:
            earlier = others[place, : column[first + place]] == own[first + place]
            before[first + place] += np.count_nonzero(earlier)
    itself = logits[row, row + start]
    return before, (itself > own) | ((itself == own) & (row + start < column))


def _counts(mask: Bool[Bools, "n N"]) -> Int[Ids, " n"]:
    """Return the number of true entries in each row, twice as fast as NumPy's count."""
    counts = np.add.reduce(mask.view(np.int8), axis=1, dtype=np.int32)
    return counts.astype(np.int64)


def cosines(model: Model, worlds: Worlds, *, layer: str = "tokens") -> pl.DataFrame:
    """Compute the cosine and hop distance of every pair of nodes (Geometric Memory, Figs. 23, 24).

    Args:
        model: Model with ``R`` replicas.
        worlds: One world of a graph, or one for each replica.
        layer: Source of the vectors: ``tokens`` (token embeddings), or one of
            ``model.layer_names``; see :func:`node_vectors`.

    Returns:
        One row per replica and ordered pair of nodes (including a node with itself),
        with the columns ``replica``, ``source`` and ``target`` (names of the nodes),
        ``hops`` (number of edges on the shortest path, where edges may be followed in
        either direction; null if there is no path) and ``cosine`` (0 for a vector of
        zeros).

    Raises:
        DataError: A world is not a graph, the model has no table of token embeddings,
            the worlds do not fit the model, or the table would need more memory than is
            available.
        ConfigError: The layer is unknown, or the model has no replica axis.

    Example:
        >>> import inweights as iw
        >>> model = iw.models.Node2VecConfig().build(vocabulary=6, seeds=[0])
        >>> cosines(model, iw.worlds.Graph(shape="cycle", n=6).build())["hops"].max()
        3
    """
    each = as_worlds(worlds, model)
    graphs = graph_edges(model, worlds)
    n = graphs[0][0]
    rows = model.replicas * n * n
    check_memory(f"a table of {rows:,} pairs of nodes", _BYTES * rows, error=DataError)
    vectors = node_vectors(model, n, layer, prefix_of(worlds))
    step = max(1, _AT_ONCE // n)
    frames = []
    for replica, (_, u, v) in enumerate(graphs):
        names = pl.Series(each[replica % len(each)].vocabulary.names[:n])
        ends = unit(vectors[replica])
        for start in range(0, n, step):
            some = np.arange(start, min(start + step, n))
            hops = pl.Series(hops_from(n, u, v, some).ravel())
            frames.append(
                pl.DataFrame(
                    {
                        "replica": np.full(len(hops), replica),
                        "source": names.gather(np.repeat(some, n)),
                        "target": names.gather(np.tile(np.arange(n), len(some))),
                        "hops": hops.replace(np.inf, None).cast(pl.Int64),
                        "cosine": (ends[start : start + step] @ ends.T).ravel(),
                    }
                )
            )
    return pl.concat(frames)
