"""What classes that are never right do to a tied softmax at the start of training. Ours.

Shapes: ``N`` nodes, ``M`` facts, ``V = N + k`` classes, ``k`` of which are idle.
"""

import numpy as np
import polars as pl

from inweights.theory.geometric_memory.spectral import adjacency
from inweights.worlds.families.graph import Graph


def idle_drive(world: Graph, *, seed: int = 0) -> pl.DataFrame:
    """Drive on the embeddings of nodes at zero logits, along their mean and across it.

    There each class has probability ``1/V``, so that the loss of logits ``e_u · e_w`` pushes the
    nodes' vectors by ``S E``, ``S`` the symmetric part of ``(A − d 1ᵀ/V) N / M``. Along the
    constant direction, the nodes' mean, ``1ᵀ S 1 / N = 1 − N/V = k / (N + k)``: nothing without
    idle classes. Across it the term ``d 1ᵀ`` has no part, so that ``k`` is nowhere in it.

    Args:
        world: Config of a graph, with its idle tokens.
        seed: Root seed of the labels.

    Returns:
        One row: ``mean`` (the drive along the mean), ``predicted`` (``k / (N + k)``), ``fastest``
        (the largest across it), ``moved`` (largest change across it, beside no idle tokens).

    Example:
        >>> table = idle_drive(Graph(shape="cycle", n=15, idle_tokens=15))
        >>> table.select("mean", "predicted").row(0), round(table["fastest"].item(), 3)
        ((0.5, 0.5), 0.914)
    """
    a = adjacency(world.build(seed))
    count, idle, ones = len(a), world.idle_tokens, np.ones((len(a), 1))
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
