"""Choose the steps of an animation, and place nodes in space.

:mod:`~.film` records animations and computes their frames with these functions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inweights.support.statistics.decompositions import eigh
from inweights.worlds.arrays import Float, Floats


def moments(steps: Sequence[int], frames: int = 40) -> list[int]:
    """Choose at most ``frames`` of the recorded steps, more densely at the start.

    Args:
        steps: Recorded steps, in any order.
        frames: Maximum number of chosen steps. Below 2, all steps are chosen.

    Returns:
        The chosen steps, ascending and without repetition, including the first and the
        last one; empty if there are no steps.

    Example:
        >>> moments(range(0, 501, 5), 8)
        [0, 5, 10, 25, 50, 110, 230, 500]
    """
    known = np.array(sorted(set(steps)))
    if frames < 2 or len(known) <= frames:
        return list(map(int, known))
    least = known[1]
    last = known[-1]
    found = {int(known[0]), int(last)}
    # Several early targets have the same nearest step, so more targets than frames are
    # needed.
    for points in range(max(2, frames - 1), 8 * frames):
        wanted = np.geomspace(least, last, points)
        near = known[np.abs(known[:, None] - wanted).argmin(0)]
        more = {int(known[0]), *near.tolist()}
        if len(more) > frames:
            break
        found = more
    return sorted(found)


def positions(gram: Float[Floats, "N N"]) -> tuple[Float[Floats, "N 3"], float]:
    """Return the coordinates of nodes along their three leading principal directions.

    Args:
        gram: Inner products of the vectors of ``N`` nodes, ``[N, N]``.

    Returns:
        Centred coordinates ``[N, 3]`` (``N`` nodes) with a root mean square length of
        1, and the share of the variance along these directions, from 0 to 1. Both are 0
        if all vectors are the same.

    Example:
        >>> where, share = positions(np.eye(4))
        >>> where.shape, round(share, 6)
        ((4, 3), 1.0)
    """
    centred = gram - gram.mean(0) - gram.mean(1)[:, None] + gram.mean()
    values, vectors = eigh((centred + centred.T) / 2)
    # Sorted in descending order. If the rank is less than the number of nodes, rounding
    # errors make some eigenvalues slightly negative.
    values = np.maximum(values[::-1], 0.0)
    total = values.sum()
    share = float(values[:3].sum() / total) if total > 0 else 0.0
    return in_space(vectors[:, ::-1][:, :3] * np.sqrt(values[:3])), share


def in_space(where: Float[Floats, "N D"]) -> Float[Floats, "N 3"]:
    """Pad coordinates with zeros to three dimensions, and scale them to root mean square length 1.

    Args:
        where: Coordinates of ``N`` points in at most three dimensions, ``[N, D]``
            (``D`` dimensions). They are not centred by this function.

    Returns:
        A copy, ``[N, 3]``; zeros if all points are at the origin.
    """
    place = np.zeros((len(where), 3))
    place[:, : where.shape[1]] = where
    size = np.sqrt(np.square(place).sum(1).mean())
    return place / size if size > 0 else place
