"""Vectors and edges of a graph's nodes, and null distributions, for all probes of graphs.

:func:`node_vectors` returns the vectors of a model, :func:`graph_edges` returns the
edges of its worlds, and :func:`placed` returns both. :func:`random_blocks` draws
embeddings for null distributions. Shapes: ``R`` replicas, ``N`` nodes, ``D`` width,
``K`` random draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.probes.geometry.embedding import node_names
from inweights.seeds import EVALUATION, Streams
from inweights.theory.geometric_memory.graph import adjacency, edge_ends
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.arrays import Float, Floats, Int
from inweights.worlds.families.graphs.edges import edge_prefix
from inweights.worlds.world import Ids, World, Worlds

#: Maximum number of random numbers in memory at once.
_AT_ONCE = 2**22
#: A graph: its number of nodes, and the sources and targets of its edges.
Edges = tuple[int, Ids, Ids]
T = TypeVar("T")


def adjacencies(model: Model, worlds: Worlds) -> list[Float[Floats, "N N"]]:
    """Return the adjacency matrix of every replica's graph.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world of a graph, or one for each replica.

    Returns:
        ``R`` matrices ``[N, N]`` (``N`` nodes: the tokens of the group ``node``, or all
        tokens if there is no such group). An entry is 1 if there is a fact (an edge)
        from the node of the row to the node of the column, otherwise 0; the matrix is
        symmetric if every edge is a fact in both directions. Facts that do not consist
        of two nodes are ignored. Replicas that share a world share the array.

    Raises:
        DataError: A world has no fact that consists of two nodes, the worlds do not fit
            the model, the matrix would need more memory than is available, or ``model``
            is an :class:`~inweights.probes.Embedding` whose nodes differ from the
            graph's nodes, or have a different order.
        ConfigError: The model has no replica axis.
    """
    each = list(map(adjacency, _graphs(model, worlds)))
    return each * model.replicas if len(each) == 1 else each


def graph_edges(model: Model, worlds: Worlds) -> list[Edges]:
    """Return, for every replica, the number of nodes and the edges of its graph.

    Edges take less memory than the matrices of :func:`adjacencies`.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world of a graph, or one for each replica.

    Returns:
        One tuple per replica: the number of nodes ``N``, and two arrays ``[E]``, the
        sources and the targets of the ``E`` edges as ids from 0. Replicas that share a
        world share the tuple.

    Raises:
        DataError: A world is not a graph, the worlds do not fit the model, or ``model``
            is an :class:`~inweights.probes.Embedding` whose nodes differ from the
            graph's nodes, or have a different order.
        ConfigError: The model has no replica axis.
    """
    each = list(map(edge_ends, _graphs(model, worlds)))
    return each * model.replicas if len(each) == 1 else each


def once_each(graphs: Sequence[T]) -> dict[int, T]:
    """Return the distinct graphs, keyed by the Python ``id`` of each object.

    With these keys, a result can be computed once per graph and looked up for every
    replica.

    Args:
        graphs: The graph of each replica. Replicas may share an object.

    Returns:
        Graphs keyed by the ``id`` of their object, in the order of the first replica of
        each.
    """
    return {id(graph): graph for graph in graphs}


def _graphs(model: Model, worlds: Worlds) -> tuple[World, ...]:
    """Return the worlds, after checking that they have the nodes of the model."""
    given = as_worlds(worlds, model)
    named = getattr(model, "names", None)
    if named is not None and any(node_names(world) != named for world in given):
        raise DataError(
            "the embedding was matched with a graph that has different nodes, or the "
            "same nodes in a different order; match it with this graph: "
            "embedding.on(world)"
        )
    return given


@torch.no_grad()
def node_vectors(
    model: Model, nodes: int, layer: str = "tokens", before: Sequence[int] = ()
) -> Float[Floats, "R N D"]:
    """Return a copy of the vector of every node as a NumPy array ``[R, N, D]``.

    Args:
        model: Model with ``R`` replicas.
        nodes: Number of nodes ``N``. The nodes are the first tokens of a graph's
            vocabulary.
        layer: ``tokens`` for the token embeddings, or one of ``model.layer_names``,
            whose state is read at the last position of a prompt that ends with the
            node.
        before: Tokens before the node in that prompt, such as the tokens from
            :func:`~inweights.worlds.families.graphs.edges.edge_prefix`.

    Returns:
        Vectors ``[R, N, D]`` (width ``D``) in double precision.

    Raises:
        ConfigError: The layer is unknown.
        DataError: The model has no table of token embeddings.
    """
    if layer != "tokens":
        prompts = node_prompts(nodes, before, model)
        vectors = model.hidden(prompts, layers=[layer])[layer]
    else:
        table = model.token_table
        if table is None:
            raise DataError(
                "the model has no table of token embeddings; 'layer' must be one of "
                f"{', '.join(model.layer_names)}"
            )
        vectors = table[:, :nodes]
    return vectors.detach().cpu().double().clone().numpy()


def prefix_of(worlds: Worlds) -> tuple[int, ...]:
    """Return the tokens that precede the source node in the prompt of an edge.

    Args:
        worlds: One world of a graph, or one for each replica; only the first one is
            used.

    Returns:
        Token ids; empty if the prompt consists of the source node alone.
    """
    return edge_prefix(worlds if isinstance(worlds, World) else worlds[0])


def placed(
    model: Model, worlds: Worlds, layer: str = "tokens"
) -> tuple[list[Edges], Float[Floats, "R N D"]]:
    """Return the edges of every replica's graph, and the vectors of their nodes.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world of a graph, or one for each replica.
        layer: Source of the vectors: ``tokens`` (token embeddings), or one of
            ``model.layer_names``; see :func:`node_vectors`.

    Returns:
        The edges of each replica, as returned by :func:`graph_edges`, and the vectors
        ``[R, N, D]`` (``N`` nodes, width ``D``).

    Raises:
        DataError: A world is not a graph, the worlds do not fit the model, the model
            has no table of token embeddings, or the model is an
            :class:`~inweights.probes.Embedding` with different nodes (see
            :func:`graph_edges`).
        ConfigError: The layer is unknown, or the model has no replica axis.
    """
    graphs = graph_edges(model, worlds)
    return graphs, node_vectors(model, graphs[0][0], layer, prefix_of(worlds))


def node_prompts(
    nodes: int, before: Sequence[int], model: Model
) -> Int[torch.Tensor, "N T"]:
    """Return a prompt for each node, as token ids on the model's device.

    Args:
        nodes: Number of nodes ``N``.
        before: Tokens before the node in every prompt.
        model: Model that will read the prompts.

    Returns:
        Token ids ``[N, T]``, where ``T`` is one more than the number of tokens in
        ``before``; row ``i`` ends with node ``i``.
    """
    ends = torch.arange(nodes, device=model.column.device).unsqueeze(1)
    return torch.cat([ends.new_tensor(before).expand(nodes, -1), ends], dim=1)


def random_blocks(
    draws: int, shape: Sequence[int], seed: int, at_once: int = 0
) -> Iterator[Float[Floats, "k N D"]]:
    """Yield embeddings with standard normal entries, in blocks of several draws.

    Args:
        draws: Total number of embeddings, at least 1.
        shape: Shape ``[N, D]`` (``N`` nodes, width ``D``) of an embedding.
        seed: Root seed.
        at_once: Number of embeddings in a block; the default, 0, stands for the largest
            number that fits into 32 MB, but at least one. It has no effect on the
            values.

    Yields:
        Blocks ``[k, N, D]`` of ``k`` embeddings; the last block may be smaller.

    Raises:
        DataError: ``draws`` is below 1.
        ConfigError: ``seed`` is not between 0 and 2**63 - 1.
    """
    if draws < 1:
        raise DataError(f"draws must be at least 1, got {draws}")
    rng = Streams(seed).numpy(EVALUATION, "null")
    step = at_once or max(1, _AT_ONCE // math.prod(shape))
    for start in range(0, draws, step):
        yield rng.normal(size=(min(step, draws - start), *shape))


def null_limits(chance: Float[Floats, " K"]) -> dict[str, float]:
    """Return the mean and the 2.5% and 97.5% quantiles of a null distribution.

    Args:
        chance: Values of ``K`` random draws, at least one.

    Returns:
        A dictionary of the three numbers, with the keys ``null_mean``, ``null_low`` and
        ``null_high``.
    """
    low, high = np.quantile(chance, [0.025, 0.975])
    return {"null_mean": chance.mean(), "null_low": low, "null_high": high}


def cosine_matrix(
    vectors: Float[NDArray[Any], "*R N D"],
) -> Float[NDArray[Any], "*R N N"]:
    """Return the cosines of all pairs of vectors; a cosine with a vector of zeros is 0.

    Args:
        vectors: One vector per node, ``[N, D]`` (``N`` nodes, width ``D``), optionally
            for several replicas, ``[R, N, D]`` (``R`` replicas).

    Returns:
        Cosines ``[N, N]``, or ``[R, N, N]`` for several replicas.
    """
    ends = unit(vectors)
    return ends @ np.swapaxes(ends, -1, -2)


def unit(vectors: Float[NDArray[Any], "*R N D"]) -> Float[NDArray[Any], "*R N D"]:
    """Return vectors scaled to length 1; a vector of zeros is unchanged.

    Args:
        vectors: One vector per node, ``[N, D]``, optionally for several replicas, ``[R,
            N, D]``.
    """
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
