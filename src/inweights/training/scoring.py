"""Logits of answers: what a model says to every fact or query of its worlds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.training.worlds import Part, as_worlds, shape_groups
from inweights.worlds.world import Ids, World

__all__ = ["answer_logits", "answers_of"]


@torch.no_grad()
def answer_logits(
    model: Model,
    worlds: World | Sequence[World],
    part: Part = "facts",
    indices: Ids | None = None,
) -> Tensor:
    """Return the logits of the first answer token of every statement, ``[R, M, K]``.

    Args:
        model: The model; its replicas share one world or have one each.
        worlds: One world, or one a replica.
        part: ``facts`` or ``queries``.
        indices: Places of the wanted statements; all, in order, if left out.
    """
    each = as_worlds(worlds, model.replicas)
    groups = shape_groups(each, part, indices)
    if not groups:
        return torch.zeros(model.replicas, 0, len(model.candidates))
    device = model.candidates.device
    batch = pack([group.prompts.to(device) for group in groups])
    logits = model(batch, at=batch.last)
    order = np.concatenate([group.indices for group in groups])
    wanted = np.arange(len(order)) if indices is None else indices
    places = np.argsort(order)[np.argsort(np.argsort(wanted))]
    return logits.index_select(1, torch.from_numpy(places).to(device))


def answers_of(
    model: Model, worlds: World | Sequence[World], part: Part, indices: Ids | None = None
) -> Tensor:
    """Return the logit column of every statement's first answer token, ``[R, M]``.

    Raises:
        DataError: The model's head does not cover an answer.
    """
    each = as_worlds(worlds, model.replicas)
    columns = []
    for world in each:
        statements = getattr(world, part)
        starts = np.concatenate([[0], statements.answer_ends[:-1]]).astype(np.int64)
        first = statements.answers[starts] if len(statements) else starts[:0]
        chosen = first if indices is None else first[indices]
        columns.append(torch.from_numpy(chosen))
    device = model.column.device
    column = model.column[torch.stack(columns).to(device)]
    if (column < 0).any():
        raise DataError("the model's head does not cover every answer of its world")
    return column.expand(model.replicas, -1)
