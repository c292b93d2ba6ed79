"""Hidden states at the ends of prompts, and functions with which probes build their tables.

:func:`last_states` reads states; :func:`cosine_blocks` compares all pairs of two sets,
in blocks; :func:`by_replica` and :func:`share` build rows of a table.

Shapes: ``R`` replicas, ``m`` prompts or states, ``b`` states of a block, ``T`` tokens
of a prompt, ``D`` width.
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

#: Maximum number of positions of a replica whose states are computed at once. Like the
#: number of logits, it does not depend on the number of replicas, so that a run has the
#: same results alone and together with others.
MAX_POSITIONS = 2**14


@torch.no_grad()
def last_states(
    model: Model,
    prompts: Sequence[Int[Ids, "m T"]],
    layers: Sequence[str] | None = None,
) -> dict[str, Float[Tensor, "R m D"]]:
    """Return the hidden states of every prompt at its last position, keyed by layer name.

    Args:
        model: Model with ``R`` replicas.
        prompts: Token ids ``[m, T]`` (``T`` positions): one array for all replicas, or
            one for each.
        layers: Names of layers, among ``model.layer_names``; by default all.

    Returns:
        A tensor ``[R, m, D]`` (``m`` prompts, width ``D``) for each requested layer,
        keyed by the layer's name, on the model's device.

    Raises:
        ConfigError: A layer is unknown, or the prompts are longer than the model's
            limit.
        DataError: The prompts are not token ids of the model (checked on the CPU).
    """
    tokens = torch.from_numpy(np.stack(prompts) if len(prompts) > 1 else prompts[0])
    blocks = tokens.to(model.column.device).split(
        max(1, MAX_POSITIONS // tokens.shape[-1]), -2
    )
    found = [model.hidden(pack([block]), layers=layers) for block in blocks]
    if len(found) == 1:
        return found[0]
    joined = {}
    for name in found[0]:
        joined[name] = torch.cat([states[name] for states in found], 1)
    return joined


def by_replica(replicas: int, **columns: object) -> list[dict[str, object]]:
    """Return the rows of a table with one row for each replica.

    Args:
        replicas: Number of replicas ``R``.
        columns: Columns as keyword arguments: a tensor ``[R]`` with one value for each
            replica, or a single value that all replicas share.

    Returns:
        ``R`` rows, each a dictionary with the column ``replica`` (from 0), then the
        given columns.

    Example:
        >>> by_replica(2, layer="final", accuracy=torch.tensor([0.5, 1.0]))[1]
        {'replica': 1, 'layer': 'final', 'accuracy': 1.0}
    """
    rows: list[dict[str, object]] = [
        {"replica": replica} for replica in range(replicas)
    ]
    for name, column in columns.items():
        values = column.tolist() if isinstance(column, Tensor) else [column] * replicas
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return rows


def share(
    right: Bool[Tensor, "R m ..."], among: Bool[Tensor, "R m"] | None = None
) -> Float[Tensor, "R ..."]:
    """Return, for each replica, the share of correctly answered statements, in double precision.

    In single precision, a share of 18 of 20 would be .8999999762 instead of .9.

    Args:
        right: Whether each of ``m`` statements is answered correctly, ``[R, m]``,
            optionally with further axes such as the position.
        among: Which statements are counted, ``[R, m]`` (``R`` replicas); by default
            all. If no statement is counted, the share is NaN.

    Returns:
        Shares from 0 to 1 on the CPU, ``[R]``, followed by the further axes of
        ``right``.

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
    """Yield the cosines of the states of ``one`` with all states of ``two``, block by block.

    The size of blocks does not depend on the number of replicas.

    Args:
        one: States, ``[R, m, D]`` (``R`` replicas, width ``D``).
        two: States with which they are compared, ``[R, m, D]``.
        groups: Group number of every state, ``[1, m]`` if all replicas share them, or
            ``[R, m]``.

    Yields:
        A slice of the ``b`` rows of ``one`` in the block, their cosines ``[R, b, m]``,
        and whether the two states of each pair belong to the same group, ``[1, b, m]``
        or ``[R, b, m]``. To use results after their block, copy them into an array that
        was allocated before the first block: a view would keep the whole block in
        memory, and small arrays allocated between blocks would fragment the memory.
    """
    ours = F.normalize(one, dim=-1)
    theirs = F.normalize(two, dim=-1).mT
    label = torch.from_numpy(groups).to(one.device)
    count = label.shape[1]
    step = max(1, 2 * MAX_LOGITS // max(1, count))
    for start in range(0, count, step):
        rows = slice(start, min(start + step, count))
        yield rows, ours[:, rows] @ theirs, label[:, rows, None] == label[:, None]
