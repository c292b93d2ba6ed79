"""Is a graph stored, and as a geometry? Recall, cosine against hops (Geometric Memory B.5, C.3).

Shapes: ``R`` replicas, ``N`` nodes, ``D`` width, ``K`` random draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.probes.geometry.embedding import node_names
from inweights.seeds import EVALUATION, Streams
from inweights.theory.geometric_memory.spectral import COSINE_TIE, adjacency, hop_distances
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.families.graph import edge_prefix
from inweights.worlds.world import World

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

__all__ = [
    "adjacencies",
    "cosine_matrix",
    "cosines",
    "graph_recall",
    "hop_correlation",
    "node_vectors",
    "prefix_of",
    "random_vectors",
    "spearman",
    "top_hits",
]

Floats = NDArray[np.float64]


def adjacencies(model: Model, worlds: World | Sequence[World]) -> list[Float[Floats, "N N"]]:
    """Return the adjacency of every replica's world; worlds that are one share one.

    Raises:
        DataError: A world is no graph; or the model's nodes have names, and others than its.
    """
    given = as_worlds(worlds, model)
    named = getattr(model, "names", None)
    if named is not None and any(node_names(world) != named for world in given):
        raise DataError(
            "this graph has other nodes, or has them in another order, than the one that the "
            "embedding was put on; put it on this one: embedding.on(world)"
        )
    each = [adjacency(world) for world in given]
    return each * model.replicas if len(each) == 1 else each


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

    Raises:
        ConfigError: The layer is unknown.
        DataError: The model has no table of token embeddings.
    """
    if layer != "tokens":
        prompts = _prompts(nodes, before, model)
        vectors = model.hidden(prompts, layers=[layer])[layer]
    else:
        table = getattr(getattr(model, "tokens", None), "weight", None)
        if not isinstance(table, torch.Tensor):
            raise DataError(f"the model has no table 'tokens'; name one of {model.layer_names}")
        vectors = table[:, :nodes]
    return vectors.detach().cpu().double().clone().numpy()


def prefix_of(worlds: World | Sequence[World]) -> tuple[int, ...]:
    """Return ``edge_prefix`` of the worlds, which have one shape."""
    return edge_prefix(worlds if isinstance(worlds, World) else worlds[0])


def _prompts(nodes: int, before: Sequence[int], model: Model) -> Int[torch.Tensor, "N T"]:
    """Every node after the tokens ``before``."""
    ends = torch.arange(nodes, device=model.column.device).unsqueeze(1)
    return torch.cat([ends.new_tensor(before).expand(nodes, -1), ends], dim=1)


def random_vectors(draws: int, like: Float[Floats, "*R N D"], seed: int) -> Float[Floats, "K N D"]:
    """Return standard normal embeddings, shaped as ``like`` is.

    Raises:
        DataError: There are no draws.
    """
    if draws < 1:
        raise DataError(f"draws must be at least 1, got {draws}")
    return Streams(seed).numpy(EVALUATION, "null").normal(size=(draws, *like.shape[-2:]))


@torch.no_grad()
def graph_recall(model: Model, worlds: World | Sequence[World]) -> pl.DataFrame:
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
        >>> from inweights.models import TinyNNConfig
        >>> from inweights.worlds import Graph
        >>> model = TinyNNConfig().build(vocabulary=15, seeds=[0])
        >>> table = graph_recall(model, Graph(shape="cycle").build())
        >>> table["ceiling"].item(), round(table["floor"].item(), 3)
        (0.5, 0.693)
    """
    graphs = adjacencies(model, worlds)
    nodes = len(graphs[0])
    column = model.column[:nodes]
    if (column < 0).any():
        raise DataError("the model's head does not cover every node of the graph")
    prompts = _prompts(nodes, prefix_of(worlds), model)
    logits = model(prompts)[:, :, -1]  # [R, N, candidates]
    logs = logits.log_softmax(-1)[..., column].double().cpu().numpy()
    rows = []
    for replica, (a, said) in enumerate(zip(graphs, logs, strict=True)):
        edge, degree = a > 0, a.sum(1)
        hits = top_hits(said, edge)
        has = degree > 0
        others = edge & ~np.eye(nodes, dtype=bool)
        alone = np.where(np.eye(nodes, dtype=bool), -np.inf, said)
        first = edge[np.arange(nodes), said.argmax(1)]
        rows.append(
            {
                "replica": replica,
                "recall": hits.sum() / degree.sum(),
                "worst": (hits[has] / degree[has]).min(),
                "recall_others": top_hits(alone, others).sum() / max(1, others.sum()),
                "accuracy": first.sum() / degree.sum(),
                "ceiling": has.sum() / degree.sum(),
                "loss": -said[edge].mean(),
                "floor": (degree[has] * np.log(degree[has])).sum() / degree.sum(),
            }
        )
    return pl.DataFrame(rows)


def top_hits(
    said: Float[Floats, "*R N N"], edge: Bool[NDArray[np.bool_], "N N"]
) -> Float[Floats, "*R N"]:
    """How many neighbours of a node are among as many largest logits as it has."""
    order = np.argsort(-said, axis=-1, kind="stable")
    ranked = edge[np.arange(len(edge))[:, None], order]
    within = np.arange(len(edge)) < edge.sum(1, keepdims=True)
    return (ranked & within).sum(-1).astype(np.float64)


def cosines(
    model: Model, worlds: World | Sequence[World], *, layer: str = "tokens"
) -> pl.DataFrame:
    """Cosine of every pair of nodes with their hop distance: the heat-maps of Figs. 23, 24.

    Returns:
        A row for each replica and ordered pair: ``replica, source, target`` (names), ``hops``
        (null between components), ``cosine``.

    Raises:
        DataError: A world is no graph.

    Example:
        >>> from inweights.models import Node2VecConfig
        >>> from inweights.worlds import Graph
        >>> model = Node2VecConfig().build(vocabulary=6, seeds=[0])
        >>> cosines(model, Graph(shape="cycle", n=6).build())["hops"].max()
        3
    """
    each = as_worlds(worlds, model)
    graphs = adjacencies(model, worlds)
    n = len(graphs[0])
    angles = cosine_matrix(node_vectors(model, n, layer, prefix_of(worlds)))
    names = [world.vocabulary.names[:n] for world in each] * (model.replicas // len(each))
    frames = []
    for replica, a in enumerate(graphs):
        hops = hop_distances(a)
        frames.append(
            pl.DataFrame(
                {
                    "replica": [replica] * n * n,
                    "source": np.repeat(names[replica], n),
                    "target": np.tile(names[replica], n),
                    "hops": [int(h) if np.isfinite(h) else None for h in hops.ravel()],
                    "cosine": angles[replica].ravel(),
                },
                schema_overrides={"hops": pl.Int64},
            )
        )
    return pl.concat(frames)


def hop_correlation(
    model: Model,
    worlds: World | Sequence[World],
    *,
    layer: str = "tokens",
    least: int = 1,
    centred: bool = False,
    draws: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """Spearman correlation of cosine with hop distance: −1 for a perfect global geometry.

    Over unordered pairs of different nodes in one component. Far nodes count as much as near
    ones, so a local geometry alone does not reach −1.

    Args:
        model: ``R`` replicas.
        worlds: Worlds of graphs: one, or one a replica.
        layer: See :func:`node_vectors`.
        least: Only pairs at least so many hops apart; 2 leaves out what a fact says.
        centred: Whether the nodes' mean vector is taken away from each of them first.
        draws: Random embeddings of the same shape in the null distribution.
        seed: Root seed of the null distribution.

    Returns:
        A row for each replica: ``replica, spearman, null_mean, null_low, null_high`` (2.5 and
        97.5%) and ``p``, the share of ``1 + draws`` values at most as large as the replica's.
        Not a number where all distances are equal.

    Raises:
        DataError: A world is no graph.

    Example:
        >>> from inweights.models import Node2VecConfig
        >>> from inweights.worlds import Graph
        >>> model = Node2VecConfig().build(vocabulary=15, seeds=[0])
        >>> table = hop_correlation(model, Graph(shape="cycle").build())
        >>> bool(table["null_low"].item() < table["spearman"].item() < table["null_high"].item())
        True
    """
    graphs = adjacencies(model, worlds)
    vectors = node_vectors(model, len(graphs[0]), layer, prefix_of(worlds))
    null = random_vectors(draws, vectors, seed)
    if centred:
        vectors, null = (v - v.mean(1, keepdims=True) for v in (vectors, null))
    null = cosine_matrix(null)

    def row(replica: int, a: Floats) -> dict[str, object]:
        hops = hop_distances(a)
        hops = np.where(hops >= least, hops, np.inf)
        found = spearman(cosine_matrix(vectors[replica])[None], hops)[0]
        chance = spearman(null, hops)
        low, high = np.quantile(chance, [0.025, 0.975])
        return {
            "replica": replica,
            "spearman": found,
            "null_mean": chance.mean(),
            "null_low": low,
            "null_high": high,
            "p": (1 + (chance <= found).sum()) / (1 + draws),
        }

    return pl.DataFrame(list(starmap(row, enumerate(graphs))))


def cosine_matrix(vectors: Float[Floats, "*R N D"]) -> Float[Floats, "*R N N"]:
    """Cosines of all pairs; 0 with a vector of zeros."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
    return unit @ np.swapaxes(unit, -1, -2)


def _ranks(values: Floats) -> Floats:
    """Return the ranks of cosines along the last axis; those of equal ones are their mean.

    Single precision must not rank pairs that are equally close, such as those of a circle: values
    with a gap of at most :data:`~inweights.theory.geometric_memory.spectral.COSINE_TIE` are equal.
    (Rounding would part some that lie on two sides of a half.)
    """
    from scipy.stats import rankdata  # a second to import, which most processes can do without

    order = values.argsort(-1)
    gaps = np.diff(np.take_along_axis(values, order, -1), axis=-1, prepend=-np.inf)
    groups = np.empty(values.shape)
    np.put_along_axis(groups, order, (gaps > COSINE_TIE).cumsum(-1).astype(np.float64), -1)
    found: Floats = rankdata(np.where(np.isnan(values), np.nan, groups), axis=-1)
    return found


def spearman(angles: Float[Floats, "K N N"], hops: Float[Floats, "N N"]) -> Float[Floats, " K"]:
    """Rank correlation over pairs that a path joins."""
    from scipy.stats import rankdata

    u, v = np.triu_indices(len(hops), 1)
    joined = np.isfinite(hops[u, v])
    ours = _ranks(angles[:, u[joined], v[joined]])
    theirs = rankdata(hops[u[joined], v[joined]])
    ours = ours - ours.mean(-1, keepdims=True)
    theirs = theirs - theirs.mean()
    scale = np.sqrt((ours**2).sum(-1) * (theirs**2).sum())
    return np.divide(ours @ theirs, scale, out=np.full(len(ours), np.nan), where=scale > 0)
