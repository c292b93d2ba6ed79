"""States at the ends of prompts, and cosines of all pairs of two sets of them, some at a time.

Shapes: ``R`` replicas, ``m`` prompts or states, ``b`` of them in a block, ``T`` tokens of a prompt,
``D`` width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.training.scoring import MAX_LOGITS
from inweights.worlds.arrays import Bool, Float, Int
from inweights.worlds.world import Ids

#: Positions of a replica that are read at once. As with logits, it does not depend on how many
#: replicas there are, so that a run is the same alone.
MAX_POSITIONS = 2**14


@torch.no_grad()
def last_states(
    model: Model, prompts: Sequence[Int[Ids, "m T"]], layers: Sequence[str] | None = None
) -> dict[str, Float[Tensor, "R m D"]]:
    """Return the hidden state of every prompt at its last position, by layer."""
    tokens = torch.from_numpy(np.stack(prompts) if len(prompts) > 1 else prompts[0])
    blocks = tokens.to(model.column.device).split(max(1, MAX_POSITIONS // tokens.shape[-1]), -2)
    found = [model.hidden(pack([block]), layers=layers) for block in blocks]
    if len(found) == 1:
        return found[0]
    return {name: torch.cat([states[name] for states in found], 1) for name in found[0]}


def by_replica(replicas: int, **columns: object) -> list[dict[str, object]]:
    """Return a row for each replica: its number of each tensor ``[R]``, and what all share."""
    each = {n: v.tolist() if isinstance(v, Tensor) else [v] * replicas for n, v in columns.items()}
    return [{"replica": r} | {n: one[r] for n, one in each.items()} for r in range(replicas)]


def share(
    right: Bool[Tensor, "R m ..."], among: Bool[Tensor, "R m"] | None = None
) -> Float[Tensor, "R ..."]:
    """Return which share of each replica's statements is right, in double precision.

    A count over a number: 18 of 20 is .9, which single precision would make .8999999762.

    Args:
        right: Whether each statement is right.
        among: Statements that count; all if left out. The share of none is not a number.

    Example:
        >>> share(torch.tensor([[True] * 18 + [False] * 2])).tolist()
        [0.9]
    """
    if among is None:
        return right.sum(1).cpu().double() / right.shape[1]
    return (right & among).sum(1).cpu().double() / among.sum(1).cpu()


def cosine_blocks(
    one: Float[Tensor, "R m D"], two: Float[Tensor, "R m D"], groups: Int[Ids, "_ m"]
) -> Iterator[tuple[slice, Float[Tensor, "R b m"], Bool[Tensor, "_ b m"]]]:
    """Yield the cosines of some states of ``one`` with all of ``two``.

    Up to 2,048 states are one block. Blocks do not depend on the number of replicas.

    Args:
        one: States.
        two: States to compare with.
        groups: Group of every state, of the one world or a row for each replica.

    Yields:
        Which rows these are, their cosines, and which pairs are of one group. Put what
        outlasts a block into an array that was there before: a view keeps the block, and small
        arrays between blocks keep the allocator from using their room again.
    """
    ours, theirs = F.normalize(one, dim=-1), F.normalize(two, dim=-1).mT
    label = torch.from_numpy(groups).to(one.device)
    count = label.shape[1]
    step = max(1, 2 * MAX_LOGITS // max(1, count))
    for start in range(0, count, step):
        rows = slice(start, min(start + step, count))
        yield rows, ours[:, rows] @ theirs, label[:, rows, None] == label[:, None]
