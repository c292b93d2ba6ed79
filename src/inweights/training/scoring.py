"""Logits of answers: what a model says to every fact or query of its worlds.

Shapes: ``R`` replicas, ``M`` statements, ``A`` tokens of an answer, ``K`` candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.training.batches.worlds import Part, as_worlds, shape_groups
from inweights.worlds.world import Ids, World

if TYPE_CHECKING:
    from jaxtyping import Float, Int

__all__ = ["answer_logits", "answer_ranks", "answers_of"]

#: Logits that :func:`answer_ranks` holds at once.
MOST_LOGITS = 2**25


@torch.no_grad()
def answer_logits(
    model: Model,
    worlds: World | Sequence[World],
    part: Part = "facts",
    indices: Int[Ids, " M"] | None = None,
) -> Float[Tensor, "R M K"]:
    """Return the logits of the first answer token of every statement.

    Args:
        model: The model; its replicas share one world or have one each.
        worlds: One world, or one a replica.
        part: ``facts`` or ``queries``.
        indices: Places of the wanted statements; all, in order, if left out.
    """
    each = as_worlds(worlds, model)
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


@torch.no_grad()
def answer_ranks(
    model: Model,
    worlds: World | Sequence[World],
    part: Part,
    indices: Int[Ids, " M"] | None = None,
    *,
    teacherless: str = "",
) -> Int[Tensor, "R M A"]:
    """Return how many candidates beat the right one, at every token of every answer.

    The tokens before it are given (teacher forcing): so an answer whose ranks are all 0 is also
    the one that greedy decoding finds. Logits are made for some statements at a time, so that
    10^5 candidates do not fill the memory.

    Args:
        model: The model; its replicas share one world or have one each.
        worlds: One world, or one a replica.
        part: ``facts`` or ``queries``.
        indices: Places of the wanted statements, all of one shape; all, in order, if left out.
        teacherless: Name of a token that the model reads in place of the answer's own, as in a
            phase; then no answer is forced.

    Raises:
        DataError: There are no such statements, they differ in shape, or the model's head does
            not cover an answer.

    Example:
        >>> from inweights.models import EmbMLPConfig
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=4).build()
        >>> model = EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0, 1])
        >>> tuple(answer_ranks(model, world, "queries").shape)
        (2, 4, 1)
    """
    each = as_worlds(worlds, model)
    groups = shape_groups(each, part, indices)
    if len(groups) != 1:
        raise DataError(
            f"ranks are taken of {part} of one shape, not of {len(groups)}; give their indices"
        )
    group, device = groups[0], model.column.device
    order = torch.from_numpy(np.argsort(np.argsort(group.indices)))
    wanted = torch.from_numpy(np.argsort(np.argsort(group.indices if indices is None else indices)))
    back = torch.argsort(order)[wanted].to(device)
    columns = model.columns(group.answers)
    seen = group.answers[..., :-1]
    if teacherless:
        seen = torch.full_like(seen, each[0].vocabulary.id(teacherless))
    whole = torch.cat([group.prompts, seen], dim=-1).to(device)
    length, answer = whole.shape[-1], columns.shape[-1]
    columns = columns.expand(model.replicas, -1, -1)
    step = max(1, MOST_LOGITS // (model.replicas * answer * len(model.candidates)))
    found = []
    for start in range(0, whole.shape[-2], step):
        batch = pack([whole[..., start : start + step, :]])
        rows = length * torch.arange(batch.shapes[0][0], device=device).unsqueeze(1)
        at = rows + torch.arange(length - answer, length, device=device)
        logits = model(batch, at=at.flatten())
        said = logits.gather(-1, columns[:, start : start + step].reshape(model.replicas, -1, 1))
        found.append((logits > said).sum(-1).view(model.replicas, -1, answer))
    return torch.cat(found, dim=1).index_select(1, back)


def answers_of(
    model: Model,
    worlds: World | Sequence[World],
    part: Part,
    indices: Int[Ids, " M"] | None = None,
) -> Int[Tensor, "R M"]:
    """Return the logit column of every statement's first answer token.

    Raises:
        DataError: The model's head does not cover an answer.
    """
    each = as_worlds(worlds, model)
    columns = []
    for world in each:
        statements = getattr(world, part)
        starts = np.concatenate([[0], statements.answer_ends[:-1]]).astype(np.int64)
        first = statements.answers[starts] if len(statements) else starts[:0]
        chosen = first if indices is None else first[indices]
        columns.append(torch.from_numpy(chosen))
    return model.columns(torch.stack(columns)).expand(model.replicas, -1)
