"""Is a graph stored, and as a geometry? Recall, and cosines (Geometric Memory B.5, C.3).

Shapes: ``R`` replicas, ``N`` nodes, ``D`` width, ``K`` random draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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

#: What a pair of nodes takes in a table while it is made.
_BYTES = 150
#: Random numbers that are held at once.
_AT_ONCE = 2**22
#: The number of nodes, and where each edge starts and ends.
Edges = tuple[int, Ids, Ids]
T = TypeVar("T")


def adjacencies(model: Model, worlds: Worlds) -> list[Float[Floats, "N N"]]:
    """Return the adjacency of every replica's world; worlds that are one share one."""
    each = [adjacency(world) for world in _graphs(model, worlds)]
    return each * model.replicas if len(each) == 1 else each


def graph_edges(model: Model, worlds: Worlds) -> list[Edges]:
    """Return nodes, and ends of edges, of every replica's world: less than a matrix."""
    each = [edge_ends(world) for world in _graphs(model, worlds)]
    return each * model.replicas if len(each) == 1 else each


def once_each(graphs: Sequence[T]) -> dict[int, T]:
    """Return the graphs by their identity: what is made of them is made once of one world."""
    return {id(graph): graph for graph in graphs}


def _graphs(model: Model, worlds: Worlds) -> tuple[World, ...]:
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
    """Return the vector of every node, copied.

    Args:
        model: ``R`` replicas.
        nodes: ``N``; nodes are the first tokens of a graph's vocabulary.
        layer: ``tokens`` for the table of token embeddings, or one of the model's layers, read
            where a node ends the prompt.
        before: Tokens that stand before it there, such as those of
            :func:`~inweights.worlds.families.graph.edge_prefix`.
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
    """Return ``edge_prefix`` of the worlds, which have one shape."""
    return edge_prefix(worlds if isinstance(worlds, World) else worlds[0])


def placed(
    model: Model, worlds: Worlds, layer: str = "tokens"
) -> tuple[list[Edges], Float[Floats, "R N D"]]:
    """Return edges of every replica's world, and the :func:`node_vectors` of their nodes."""
    graphs = graph_edges(model, worlds)
    return graphs, node_vectors(model, graphs[0][0], layer, prefix_of(worlds))


def _prompts(nodes: int, before: Sequence[int], model: Model) -> Int[torch.Tensor, "N T"]:
    ends = torch.arange(nodes, device=model.column.device).unsqueeze(1)
    return torch.cat([ends.new_tensor(before).expand(nodes, -1), ends], dim=1)


def random_blocks(
    draws: int, shape: Sequence[int], seed: int, at_once: int = 0
) -> Iterator[Float[Floats, "k N D"]]:
    """Yield standard normal embeddings some draws at a time, 32 MB unless told how many."""
    if draws < 1:
        raise DataError(f"draws must be at least 1, got {draws}")
    rng = Streams(seed).numpy(EVALUATION, "null")
    step = at_once or max(1, _AT_ONCE // math.prod(shape))
    for start in range(0, draws, step):
        yield rng.normal(size=(min(step, draws - start), *shape))


def null_limits(chance: Float[Floats, " K"]) -> dict[str, float]:
    """Return the mean of a null distribution, and its 2.5 and 97.5%, as columns of a row."""
    low, high = np.quantile(chance, [0.025, 0.975])
    return {"null_mean": chance.mean(), "null_low": low, "null_high": high}


@holds(asked=48, logits=4)
def graph_recall(model: Model, worlds: Worlds) -> pl.DataFrame:
    """Whether the edges are stored: top-degree recall, beside accuracy and loss with their bounds.

    A node with three neighbours can answer right with one of them: so top-1 accuracy has a ceiling
    and the loss a floor. *Top-degree recall* is 1 for perfect memory: the share of a node's
    neighbours among its ``deg(u)`` largest logits.

    Args:
        model: ``R`` replicas.
        worlds: Worlds of graphs: one, or one a replica.

    Returns:
        A row for each replica: ``replica, recall`` (over edges), ``worst`` (its minimum over
        nodes), ``recall_others`` (a node's own logit left out, which is the largest one in a tied
        Node2Vec), ``accuracy`` (of the facts ``u → v``, by the largest logit), ``ceiling``,
        ``loss`` (mean over facts), ``floor`` (mean of ``ln deg``).

    Raises:
        DataError: A world is no graph, or the model's head does not cover the nodes.

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
        for graph, said, parts in zip(graphs, logs, found, strict=True):
            parts.append(_recalled(said.double().numpy(), edges[id(graph)], start))
    rows = []
    for replica, parts in enumerate(found):
        by_node = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        degree, hits = by_node["degree"], by_node["hits"]
        has = degree > 0
        rows.append(
            {
                "replica": replica,
                "recall": hits.sum() / degree.sum(),
                "worst": (hits[has] / degree[has]).min(),
                "recall_others": by_node["hits_others"].sum()
                / max(1, by_node["degree_others"].sum()),
                "accuracy": by_node["first"].sum() / degree.sum(),
                "ceiling": has.sum() / degree.sum(),
                "loss": -by_node["said"].mean(),
                "floor": (degree[has] * np.log(degree[has])).sum() / degree.sum(),
            }
        )
    return pl.DataFrame(rows)


def _recalled(
    said: Float[Floats, "n N"], edges: Int[Ids, "E 2"], start: int
) -> dict[str, NDArray[Any]]:
    """What is recalled of the edges that leave the nodes from ``start`` on, by node."""
    own = (edges[:, 0] >= start) & (edges[:, 0] < start + len(said))
    edge = np.zeros(said.shape, dtype=bool)
    edge[edges[own, 0] - start, edges[own, 1]] = True
    rows = np.arange(len(said))
    others, alone = edge.copy(), said.copy()
    others[rows, rows + start], alone[rows, rows + start] = False, -np.inf
    return {
        "degree": edge.sum(1),
        "hits": top_hits(said, edge),
        "degree_others": others.sum(1),
        "hits_others": top_hits(alone, others),
        "first": edge[rows, said.argmax(1)],
        "said": said[edge],
    }


def top_hits(said: Float[Floats, "n N"], edge: Bool[Bools, "n N"]) -> Float[Floats, " n"]:
    """How many neighbours of a node are among as many largest logits as it has.

    Of equal logits the first counts as the larger one.
    """
    row, column = np.nonzero(edge)
    own, place = said[row, column], np.arange(said.shape[1])
    before = np.empty(len(row), dtype=np.int64)
    step = max(1, _AT_ONCE // said.shape[1])
    for start in range(0, len(row), step):
        some = slice(start, start + step)
        others, mine = said[row[some]], own[some, None]
        ties = (others == mine) & (place < column[some, None])
        before[some] = ((others > mine) | ties).sum(1)
    hit = before < edge.sum(1)[row]
    return np.asarray(np.bincount(row, hit, len(said)), dtype=np.float64)


def cosines(model: Model, worlds: Worlds, *, layer: str = "tokens") -> pl.DataFrame:
    """Cosine of every pair of nodes with their hop distance: the heat-maps of Figs. 23, 24.

    Returns:
        A row for each replica and ordered pair: ``replica, source, target`` (names), ``hops``
        (null between components), ``cosine``.

    Raises:
        DataError: A world is no graph.

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
    """Cosines of all pairs; 0 with a vector of zeros."""
    ends = unit(vectors)
    return ends @ np.swapaxes(ends, -1, -2)


def unit(vectors: Float[NDArray[Any], "*R N D"]) -> Float[NDArray[Any], "*R N D"]:
    """Vectors of length 1; those of zeros stay."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
