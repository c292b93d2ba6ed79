"""Recall of a graph's edges, and cosines of its nodes (Geometric Memory B.5, C.3).

:func:`graph_recall` and :func:`cosines` are probes. The other functions give all probes of
graphs their vectors (:func:`node_vectors`), edges and null distributions. Shapes: ``R`` replicas,
``N`` nodes, ``D`` width, ``K`` random draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.probes.geometry.embedding import node_names
from inweights.probes.needs import holds
from inweights.seeds import EVALUATION, Streams
from inweights.support.limits import check_memory
from inweights.theory.geometric_memory.spectral import adjacency, edge_ends, hops_from
from inweights.training.batches.worlds import as_worlds
from inweights.training.scoring import MAX_LOGITS
from inweights.worlds.arrays import Bool, Bools, Float, Floats, Int
from inweights.worlds.families.graph import edge_prefix
from inweights.worlds.world import Ids, World, Worlds

#: Bytes that a pair of nodes takes in a table while it is made.
_BYTES = 150
#: Random numbers that are held at once.
_AT_ONCE = 2**22
#: Number of nodes, and the nodes at which each edge starts and ends.
Edges = tuple[int, Ids, Ids]
T = TypeVar("T")


def adjacencies(model: Model, worlds: Worlds) -> list[Float[Floats, "N N"]]:
    """Return the adjacency matrix of every replica's graph.

    Args:
        model: ``R`` replicas.
        worlds: Worlds of graphs: one, or one for each replica.

    Returns:
        ``R`` matrices; replicas that share a world share the array.

    Raises:
        DataError: A world is not a graph, or its nodes are not those of an
            :class:`~inweights.probes.Embedding`.
    """
    each = [adjacency(world) for world in _graphs(model, worlds)]
    return each * model.replicas if len(each) == 1 else each


def graph_edges(model: Model, worlds: Worlds) -> list[Edges]:
    """Return the number of nodes and the edges of every replica's graph.

    They take less memory than :func:`adjacencies`.

    Args:
        model: ``R`` replicas.
        worlds: Worlds of graphs: one, or one for each replica.

    Raises:
        DataError: A world is not a graph, or its nodes are not those of an
            :class:`~inweights.probes.Embedding`.
    """
    each = [edge_ends(world) for world in _graphs(model, worlds)]
    return each * model.replicas if len(each) == 1 else each


def once_each(graphs: Sequence[T]) -> dict[int, T]:
    """Return different graphs by their identity, so that each is computed with only once."""
    return {id(graph): graph for graph in graphs}


def _graphs(model: Model, worlds: Worlds) -> tuple[World, ...]:
    """Return the worlds, after checking that their nodes are those of the model."""
    given = as_worlds(worlds, model)
    named = getattr(model, "names", None)
    if named is not None and any(node_names(world) != named for world in given):
        raise DataError(
            "this graph has other nodes, or has them in another order, than the one that the "
            "embedding was put on; put it on this one: embedding.on(world)"
        )
    return given


@torch.no_grad()
def node_vectors(
    model: Model, nodes: int, layer: str = "tokens", before: Sequence[int] = ()
) -> Float[Floats, "R N D"]:
    """Return a copy of the vector of every node.

    Args:
        model: ``R`` replicas.
        nodes: Number of nodes ``N``; they are the first tokens of a graph's vocabulary.
        layer: ``tokens`` for the table of token embeddings, or one of the model's layers, whose
            state is read at the end of a prompt that the node ends.
        before: Tokens before the node in that prompt, such as those of
            :func:`~inweights.worlds.families.graph.edge_prefix`.

    Raises:
        ConfigError: The layer is unknown.
        DataError: The model has no table of token embeddings.
    """
    if layer != "tokens":
        prompts = _prompts(nodes, before, model)
        vectors = model.hidden(prompts, layers=[layer])[layer]
    else:
        table = model.token_table
        if table is None:
            raise DataError(f"the model has no table 'tokens'; name one of {model.layer_names}")
        vectors = table[:, :nodes]
    return vectors.detach().cpu().double().clone().numpy()


def prefix_of(worlds: Worlds) -> tuple[int, ...]:
    """Return the tokens before a node in the prompt of an edge; the same for all worlds."""
    return edge_prefix(worlds if isinstance(worlds, World) else worlds[0])


def placed(
    model: Model, worlds: Worlds, layer: str = "tokens"
) -> tuple[list[Edges], Float[Floats, "R N D"]]:
    """Return the edges of every replica's graph, and the vectors of their nodes.

    Args:
        model: ``R`` replicas.
        worlds: Worlds of graphs: one, or one for each replica.
        layer: Where vectors are read; see :func:`node_vectors`.

    Raises:
        DataError: A world is not a graph; see also :func:`graph_edges` and :func:`node_vectors`.
    """
    graphs = graph_edges(model, worlds)
    return graphs, node_vectors(model, graphs[0][0], layer, prefix_of(worlds))


def _prompts(nodes: int, before: Sequence[int], model: Model) -> Int[torch.Tensor, "N T"]:
    """Return a prompt for each node: the tokens before it, and the node."""
    ends = torch.arange(nodes, device=model.column.device).unsqueeze(1)
    return torch.cat([ends.new_tensor(before).expand(nodes, -1), ends], dim=1)


def random_blocks(
    draws: int, shape: Sequence[int], seed: int, at_once: int = 0
) -> Iterator[Float[Floats, "k N D"]]:
    """Yield standard normal embeddings, some draws at a time.

    Args:
        draws: Number of embeddings in all.
        shape: Shape ``[N, D]`` of an embedding.
        seed: Root seed.
        at_once: Number of embeddings in a block; 0 for as many as fit in 32 MB.

    Raises:
        DataError: ``draws`` is below 1.
    """
    if draws < 1:
        raise DataError(f"draws must be at least 1, got {draws}")
    rng = Streams(seed).numpy(EVALUATION, "null")
    step = at_once or max(1, _AT_ONCE // math.prod(shape))
    for start in range(0, draws, step):
        yield rng.normal(size=(min(step, draws - start), *shape))


def null_limits(chance: Float[Floats, " K"]) -> dict[str, float]:
    """Return the mean and the 2.5% and 97.5% quantiles of a null distribution, by column name."""
    low, high = np.quantile(chance, [0.025, 0.975])
    return {"null_mean": chance.mean(), "null_low": low, "null_high": high}


@holds(asked=48, logits=4)
def graph_recall(model: Model, worlds: Worlds) -> pl.DataFrame:
    """Measure how well a graph's edges are stored: recall, accuracy and loss with their bounds.

    A node with three neighbours has one largest logit, so that the accuracy over edges has a
    ceiling and the loss a floor. *Top-degree recall* is 1 for perfect memory: the share of a node's
    neighbours among its ``deg(u)`` largest logits.

    Args:
        model: ``R`` replicas.
        worlds: Worlds of graphs: one, or one for each replica.

    Returns:
        A row for each replica: ``replica, recall`` (top-degree recall over all edges), ``worst``
        (its minimum over nodes), ``recall_others`` (with a node's own logit left out, which is the
        largest one in a tied Node2Vec), ``accuracy`` (of the facts ``u → v``, by the largest
        logit), ``ceiling`` (the largest possible accuracy), ``loss`` (mean cross-entropy over
        facts, nats), ``floor`` (the smallest possible loss, the mean of ``ln deg``).

    Raises:
        DataError: A world is not a graph, or the model's head does not cover the nodes.

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
        raise DataError("the model's head does not cover every node of the graph")
    prompts = _prompts(nodes, prefix_of(worlds), model)
    edges = {i: np.unique(np.stack(g[1:], 1), axis=0) for i, g in once_each(graphs).items()}
    found: list[list[dict[str, Floats]]] = [[] for _ in graphs]
    step = max(1, MAX_LOGITS // max(nodes, len(model.candidates)))
    for start in range(0, nodes, step):
        logits = model(prompts[start : start + step])[:, :, -1]  # [R, n, candidates]
        logs = logits.log_softmax(-1)[..., column].cpu()
        for graph, own, parts in zip(graphs, logs, found, strict=True):
            parts.append(_recalled(own.double().numpy(), edges[id(graph)], start))
    return pl.DataFrame([_recall_row(replica, parts) for replica, parts in enumerate(found)])


def _recall_row(replica: int, parts: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, Any]:
    """Return the row of :func:`graph_recall` for one replica, from blocks of nodes."""
    by_node = {}
    for name in parts[0]:
        by_node[name] = np.concatenate([part[name] for part in parts])
    degree, hits = by_node["degree"], by_node["hits"]
    edges, edges_to_others = degree.sum(), by_node["degree_others"].sum()
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
    logs: Float[Floats, "n N"], edges: Int[Ids, "E 2"], start: int
) -> dict[str, NDArray[Any]]:
    """Return what is recalled of the edges that leave nodes from ``start`` on, by node.

    ``logs`` are the log-probabilities of all nodes after each of these nodes.
    """
    own = (edges[:, 0] >= start) & (edges[:, 0] < start + len(logs))
    edge = np.zeros(logs.shape, dtype=bool)
    edge[edges[own, 0] - start, edges[own, 1]] = True
    rows = np.arange(len(logs))
    others, without_itself = edge.copy(), logs.copy()
    others[rows, rows + start] = False
    without_itself[rows, rows + start] = -np.inf
    return {
        "degree": edge.sum(1),
        "hits": top_hits(logs, edge),
        "degree_others": others.sum(1),
        "hits_others": top_hits(without_itself, others),
        "first": edge[rows, logs.argmax(1)],
        "log_probability": logs[edge],
    }


def top_hits(logits: Float[Floats, "n N"], edge: Bool[Bools, "n N"]) -> Float[Floats, " n"]:
    """Count the neighbours of each node among as many largest logits as it has neighbours.

    Args:
        logits: Logits of all nodes; of equal ones the first counts as the larger one.
        edge: Which nodes are neighbours.
    """
    row, column = np.nonzero(edge)
    own, place = logits[row, column], np.arange(logits.shape[1])
    before = np.empty(len(row), dtype=np.int64)
    step = max(1, _AT_ONCE // logits.shape[1])
    for start in range(0, len(row), step):
        some = slice(start, start + step)
        others, mine = logits[row[some]], own[some, None]
        ties = (others == mine) & (place < column[some, None])
        before[some] = ((others > mine) | ties).sum(1)
    hit = before < edge.sum(1)[row]
    return np.asarray(np.bincount(row, hit, len(logits)), dtype=np.float64)


def cosines(model: Model, worlds: Worlds, *, layer: str = "tokens") -> pl.DataFrame:
    """Compute the cosine of every pair of nodes, beside their hop distance (Figs. 23, 24).

    Args:
        model: ``R`` replicas.
        worlds: Worlds of graphs: one, or one for each replica.
        layer: Where vectors are read; see :func:`node_vectors`.

    Returns:
        A row for each replica and ordered pair: ``replica, source, target`` (names), ``hops``
        (null between components), ``cosine``.

    Raises:
        DataError: A world is not a graph, or the table would need too much memory.

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


def cosine_matrix(vectors: Float[NDArray[Any], "*R N D"]) -> Float[NDArray[Any], "*R N N"]:
    """Return the cosines of all pairs of vectors; 0 with a vector of zeros."""
    ends = unit(vectors)
    return ends @ np.swapaxes(ends, -1, -2)


def unit(vectors: Float[NDArray[Any], "*R N D"]) -> Float[NDArray[Any], "*R N D"]:
    """Scale vectors to length 1; a vector of zeros stays as it is."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
