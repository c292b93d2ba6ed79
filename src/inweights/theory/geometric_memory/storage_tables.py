"""Make tables of the storage of one graph: costs, and results of each construction.

Recipes compare trained models with these tables (Geometric Memory E.2, E.3). The
formulas are in :mod:`~inweights.theory.geometric_memory.storage`.
"""

import math

import numpy as np
import polars as pl

from inweights.config import check_size
from inweights.theory.geometric_memory import storage as stored
from inweights.theory.geometric_memory.graph import adjacency, hop_distances
from inweights.worlds.arrays import Floats
from inweights.worlds.families.graphs.graph import Graph


def costs(world: Graph, *, dimensions: int, cells: int, seed: int = 0) -> pl.DataFrame:
    """Return the costs of storing a graph, associatively and geometrically (App. E).

    The costs are the bits of Proposition 1 of Geometric Memory and the norms of
    Proposition 2.

    Args:
        world: Config of a graph, with the directions that are stored.
        dimensions: Number ``m`` of dimensions of the geometric embedding, at least 1.
        cells: Number ``Δ`` of values of a coordinate, at least 2.
        seed: Root seed of the labels, which has no effect on the costs.

    Returns:
        Four rows, for bits and norm, tied and untied, with the columns ``measure``
        (``bits`` or ``norm``), ``tied`` (whether embedding and unembedding are the same
        matrix), ``nodes`` and ``associations`` (numbers of nodes and of directed
        edges), ``associative`` and ``geometric`` (costs in this measure), ``ratio``
        (the first cost divided by the second).

    Raises:
        DataError: ``dimensions`` is below 1, ``cells`` is below 2, or the adjacency
            would not fit in memory.
        ConfigError: ``seed`` is not between 0 and 2**63 - 1.

    Example:
        >>> costs(Graph(shape="cycle", n=16), dimensions=2, cells=16)["ratio"].to_list()[0]
        1.0
    """
    a = adjacency(world.build(seed))
    rows = []
    for tied in (True, False):
        bits = stored.bit_complexity(a, dimensions=dimensions, cells=cells, tied=tied)
        for measure, cost in (
            ("bits", bits),
            ("norm", stored.norm_complexity(a, tied=tied)),
        ):
            rows.append(
                {
                    "measure": measure,
                    "tied": tied,
                    "nodes": len(a),
                    "associations": int(a.sum()),
                    "associative": cost.associative,
                    "geometric": cost.geometric,
                    "ratio": cost.ratio,
                }
            )
    return pl.DataFrame(rows)


def constructions(world: Graph, *, seed: int = 0) -> pl.DataFrame:
    """Measure how well embeddings constructed to store a graph reproduce its adjacency.

    The constructions are those of Propositions 3, 4 and 5 of Geometric Memory, App. E,
    and a construction of our own. The logits of each construction are compared with
    the adjacency.

    Args:
        world: Config of an undirected graph without self-edges.
        seed: Root seed of the labels.

    Returns:
        One row per construction, with the columns ``construction`` (``proposition 3``,
        only if the graph has no odd cycle, ``proposition 4``, ``proposition 5`` and
        ``shifted``, which is our own), ``nodes``, ``edges`` (undirected), ``width`` (of
        the embeddings); ``on_edges`` (largest ``|logit − 1|``), ``off_edges`` (largest
        ``|logit|`` between other nodes), ``across`` (the larger of the two over nodes
        an odd number of hops apart, which are in different parts of a bipartite graph),
        ``itself`` (largest ``|logit|`` of a node with itself), ``recall`` (1 if, for
        every node, its neighbours have the largest logits), ``width_over_edges`` and
        ``width_over_nodes`` (``width`` divided by the number of edges or nodes).

    Raises:
        DataError: The graph is directed or has self-edges, or the adjacency would not
            fit in memory.
        ConfigError: ``seed`` is not between 0 and 2**63 - 1.

    Example:
        >>> constructions(Graph(shape="cycle", n=6))["construction"].to_list()
        ['proposition 3', 'proposition 4', 'proposition 5', 'shifted']
    """
    a = adjacency(world.build(seed))
    hops = hop_distances(a)
    remainder = np.where(np.isfinite(hops), hops, np.nan) % 2
    odd = remainder == 1
    even = remainder == 0
    edges = int(a.sum()) // 2
    # An edge between two nodes whose distances from a third node are both even or both
    # odd closes an odd cycle.
    odd_cycle = ((odd @ a > 0) & odd).any() or ((even @ a > 0) & even).any()
    bipartite = not odd_cycle
    built: dict[str, tuple[Floats, Floats | None]] = {}
    if bipartite:
        built["proposition 3"] = stored.bipartite_storage(a), None
    built["proposition 4"] = stored.untied_storage(a)
    built["proposition 5"] = stored.incidence_storage(a), None
    built["shifted"] = stored.shifted_storage(a), None
    rows = []
    for name, (v, u) in built.items():
        storage = stored.fit(a, v, u)
        logits = v @ (v if u is None else u).T
        rows.append(
            {
                "construction": name,
                "nodes": len(a),
                "edges": edges,
                "width": v.shape[1],
                "on_edges": storage.edges,
                "off_edges": storage.others,
                "across": float(np.abs(logits - a)[odd].max(initial=0.0)),
                "itself": storage.itself,
                "recall": float(storage.recall),
                "width_over_edges": v.shape[1] / edges,
                "width_over_nodes": v.shape[1] / len(a),
            }
        )
    return pl.DataFrame(rows)


def one_step(world: Graph, *, width: int, seed: int = 0) -> pl.DataFrame:
    """Measure how well one gradient step from 0 stores a graph (Geometric Memory, Proposition 4).

    Args:
        world: Config of a graph.
        width: Width ``D`` of the frozen random vectors, at least 1.
        seed: Root seed of the labels and the vectors.

    Returns:
        One row with the columns ``width``, ``on_edges`` (largest ``|logit − 1|`` over
        edges), ``off_edges`` (largest ``|logit|`` over other pairs of different nodes),
        ``recall`` (1 if, for every node, its neighbours have the largest logits) and
        ``expected``, the scale ``√(deg/D)`` of the error at the mean degree.

    Raises:
        DataError: ``width`` is below 1, or the adjacency would not fit in memory.
        ConfigError: ``seed`` is not between 0 and 2**63 - 1.

    Example:
        >>> one_step(Graph(shape="cycle", n=6), width=2000)["recall"].item()
        1.0
    """
    a = adjacency(world.build(seed))
    storage = stored.fit(a, *stored.one_step_storage(a, width, seed))
    return pl.DataFrame(
        {
            "width": [width],
            "on_edges": [storage.edges],
            "off_edges": [storage.others],
            "recall": [float(storage.recall)],
            "expected": [float((a.sum() / len(a) / width) ** 0.5)],
        }
    )


def squeezed_star(
    *, arms: int, nodes: int, closeness: float = 0.5, draws: int = 4
) -> pl.DataFrame:
    """Return the cost of storing a path-star in fewer dimensions than it has arms.

    The arms have random directions (Geometric Memory, E.2).

    Args:
        arms: Number of arms of the star, at least 2.
        nodes: Number of nodes per path, including the root, from 2 to 65,536. This is
            also the number of cells into which each coordinate is divided.
        closeness: Largest allowed absolute cosine of two arms, above 0 and below 1.
        draws: Number of random draws, from 1 to 65,536, with the seeds 0, 1, ...; the
            draw with the fewest dimensions is used.

    Returns:
        One row with the columns ``nodes`` (number of nodes of the star), ``dimensions``
        (the smallest number found), ``over_log`` (dimensions divided by ``ln arms``),
        ``over_arms`` (dimensions divided by the number of arms), ``associative`` and
        ``geometric`` (bits of storing the edges in one direction, as a list and as
        vectors), and ``ratio`` (``associative`` divided by ``geometric``).

    Raises:
        DataError: ``arms`` is below 2, or ``closeness`` is not between 0 and 1.
        ConfigError: ``nodes`` is not between 2 and 65,536, or ``draws`` is not between
            1 and 65,536.

    Example:
        >>> table = squeezed_star(arms=100, nodes=5)
        >>> table["over_arms"].item() < 1, table["ratio"].item() < 1
        (True, True)
    """
    check_size("nodes", nodes, least=2)
    check_size("draws", draws)
    dimensions = min(
        stored.separating_dimensions(arms, closeness, seed) for seed in range(draws)
    )
    count = 1 + arms * (nodes - 1)
    associative = (count - 1) * math.log2(count)
    geometric = count * dimensions * math.log2(nodes)
    return pl.DataFrame(
        {
            "nodes": [count],
            "dimensions": [dimensions],
            "over_log": [dimensions / math.log(arms)],
            "over_arms": [dimensions / arms],
            "associative": [associative],
            "geometric": [geometric],
            "ratio": [associative / geometric],
        }
    )
