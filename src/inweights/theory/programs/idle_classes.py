"""Compute how classes that are never correct affect a tied softmax at the start of training.

The analysis is our own. :func:`idle_drive` compares the prediction with the exact
gradient operator. Recipes on the geometry of graph memories use it. Shapes: ``N``
nodes, ``M`` facts, ``V = N + k`` classes, ``k`` of them idle (tokens that occur in no
fact).
"""

import numpy as np
import polars as pl

from inweights.theory.geometric_memory.graph import adjacency
from inweights.worlds.families.graphs.graph import Graph


def idle_drive(world: Graph, *, seed: int = 0) -> pl.DataFrame:
    """Return the growth rates of node embeddings at zero logits, along and across their mean.

    The tied softmax has ``V = N + k`` classes, for ``N`` nodes and ``k`` idle tokens
    that occur in no fact. At zero logits, each class has probability ``1/V``, so that
    gradient descent on the loss of ``M`` facts with logits ``e_u · e_w`` moves the node
    vectors ``E`` by ``S E``. Here ``S`` is the symmetric part of ``(A − d 1ᵀ/V) N /
    M``, with adjacency matrix ``A`` and degrees ``d``. Along the constant direction
    (the mean of the nodes), the growth rate is ``1ᵀ S 1 / N = 1 − N/V = k / (N + k)``,
    which is 0 without idle classes. On vectors orthogonal to this direction, the term
    ``d 1ᵀ`` vanishes, so that ``k`` has no effect on their growth rates.

    Args:
        world: Config of a graph; its ``idle_tokens`` is ``k``.
        seed: Root seed of the graph's labels.

    Returns:
        One row with the columns ``mean`` (growth rate along the mean), ``predicted``
        (``k / (N + k)``), ``fastest`` (largest growth rate across the mean), ``moved``
        (largest absolute change, due to idle tokens, of an entry of the operator across
        the mean). Rates are per unit of training time.

    Raises:
        DataError: The graph is too large for a dense adjacency matrix, or has no edges
            between nodes.
        ConfigError: ``seed`` is not between 0 and 2**63 - 1.

    Example:
        >>> table = idle_drive(Graph(shape="cycle", n=15, idle_tokens=15))
        >>> table.select("mean", "predicted").row(0), round(table["fastest"].item(), 3)
        ((0.5, 0.5), 0.914)
    """
    a = adjacency(world.build(seed))
    count = len(a)
    idle = world.idle_tokens
    ones = np.ones((len(a), 1))
    across = np.eye(count) - ones @ ones.T / count

    def drive(classes: int) -> np.ndarray:
        pushed = (a - a.sum(1, keepdims=True) @ ones.T / classes) * count / a.sum()
        return (pushed + pushed.T) / 2

    full = drive(count + idle)
    aside = across @ full @ across
    return pl.DataFrame(
        {
            "mean": [(ones.T @ full @ ones).item() / count],
            "predicted": [idle / (count + idle)],
            "fastest": [np.linalg.eigvalsh(aside)[-1]],
            "moved": [np.abs(aside - across @ drive(count) @ across).max()],
        }
    )
