"""Average a matrix over the symmetries of the two-hop world (Lemmas 1 and 4 of Identity Bridge)."""

from __future__ import annotations

import numpy as np

from inweights.errors import DataError
from inweights.theory.programs.two_hop.symmetric import Parameters
from inweights.worlds.arrays import Float, Floats


def average(templates: Float[Floats, "P K"]) -> Parameters:
    """Average a matrix over all permutations of the entities (Identity Bridge, Lemmas 1 and 4).

    Args:
        templates: ``W``, ``[2n + 2, 2n]``, in the order of :meth:`Parameters.matrix`.

    Returns:
        The twelve parameters of the average, which has the form of equation (3).

    Raises:
        DataError: The shape is not ``[2n + 2, 2n]`` for any ``n`` of at least 2.

    Example:
        >>> point = Parameters(a1=1, b2=-0.5, g=2)
        >>> average(point.matrix(5)) == point
        True
    """
    rows, columns = templates.shape
    n = columns // 2
    if rows != columns + 2 or columns % 2 or n < 2:
        raise DataError(
            f"'templates' must have the shape [2n + 2, 2n], got {templates.shape}"
        )
    blocks = {
        "a": templates[:n, :n],
        "b": templates[n : 2 * n, :n],
        "c": templates[:n, n:],
        "d": templates[n : 2 * n, n:],
    }
    values: dict[str, float] = {}
    for name, block in blocks.items():
        own = float(np.trace(block)) / n
        other = float(block.sum() - np.trace(block)) / (n * (n - 1))
        values |= {f"{name}1": own - other, f"{name}2": other}
    relations = {
        "e": (-2, 0),
        "f": (-1, 0),
        "g": (-2, n),
        "h": (-1, n),
    }
    for name, (row, column) in relations.items():
        values[name] = float(templates[row, column : column + n].mean())
    return Parameters(**values)
