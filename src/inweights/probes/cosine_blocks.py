"""Cosines of all pairs of two sets of states, some rows at a time.

Shapes: ``R`` replicas, ``m`` states, ``b`` of them in a block, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from inweights.training.scoring import MOST_LOGITS

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


def cosine_blocks(
    one: Float[Tensor, "R m D"],
    two: Float[Tensor, "R m D"],
    groups: Int[NDArray[np.int64], "_ m"],
) -> Iterator[tuple[slice, Float[Tensor, "R b m"], Bool[Tensor, "_ b m"]]]:
    """Yield the cosines of some states of ``one`` with all of ``two``.

    Up to 2,048 states are one block. Blocks do not depend on the number of replicas.

    Args:
        one: States.
        two: States to compare with.
        groups: Group of every state, of the one world or a row for each replica.

    Yields:
        Which rows these are, their cosines, and which pairs are of one group.

    Example:
        >>> states = torch.eye(3).unsqueeze(0)
        >>> ((_, cosines, same),) = cosine_blocks(states, states, np.array([[0, 0, 1]]))
        >>> cosines[0, 0].tolist(), same[0, 0].tolist()
        ([1.0, 0.0, 0.0], [True, True, False])
    """
    ours, theirs = F.normalize(one, dim=-1), F.normalize(two, dim=-1).mT
    label = torch.from_numpy(groups).to(one.device)
    count = label.shape[1]
    step = max(1, 2 * MOST_LOGITS // max(1, count))
    for start in range(0, count, step):
        rows = slice(start, min(start + step, count))
        yield rows, ours[:, rows] @ theirs, label[:, rows, None] == label[:, None]
