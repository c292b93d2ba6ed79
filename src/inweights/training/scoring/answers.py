"""Logits and ranks of a model's answers, computed for blocks of statements.

:func:`answer_blocks` computes the logits on which all functions of this package are
based. Probes use :func:`answer_logits`, :func:`answer_ranks` and
:func:`answer_columns`. Shapes: ``R`` replicas, ``M`` statements, ``m`` statements of a
block, ``A`` tokens of an answer, ``K`` candidates.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.training.batches.worlds import Part, as_worlds, shape_groups
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import Ids, Worlds

#: Number of logits of a replica in memory at once, 8 MB. It must not depend on the
#: number of replicas, since products of other sizes may round differently, and a run
#: must have the same results alone.
MAX_LOGITS = 2**21


@torch.no_grad()
def answer_logits(
    model: Model,
    worlds: Worlds,
    part: Part = "facts",
    indices: Int[Ids, " M"] | None = None,
) -> Float[Tensor, "R M K"]:
    """Compute the model's logits for the first answer token of every statement.

    Args:
        model: The model.
        worlds: One world for all replicas, or one per replica.
        part: ``facts`` or ``queries``.
        indices: Indices of ``M`` statements in ``part``, as a NumPy array; by default
            all statements, in order.

    Returns:
        Logits over the ``K`` candidates (the tokens of the model's head), ``[R, M,
        K]``, on the model's device. Row ``i`` belongs to statement ``indices[i]``.

    Raises:
        ConfigError: The model has no replica axis, or a prompt is longer than the
            model's context.
        DataError: The worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0, 1])
        >>> logits = answer_logits(model, world, "queries")
        >>> logits.shape[:2], logits.shape[2] == len(world.vocabulary)
        (torch.Size([2, 4]), True)
    """
    each = as_worlds(worlds, model)
    count = len(getattr(each[0], part)) if indices is None else len(indices)
    found = torch.zeros(
        model.replicas, count, len(model.candidates), device=model.column.device
    )
    for rows, logits in answer_blocks(model, each, part, indices):
        found[:, rows] = logits
    return found


@torch.no_grad()
def answer_blocks(
    model: Model, worlds: Worlds, part: Part, indices: Int[Ids, " M"] | None = None
) -> Iterator[tuple[Int[Tensor, " m"], Float[Tensor, "R m K"]]]:
    """Yield the logits for the first answer token of statements, block by block.

    The logits of 10^5 statements over 10^5 candidates would not fit in memory at once.
    A block has at most :data:`MAX_LOGITS` logits per replica.

    Args:
        model: The model.
        worlds: One world for all replicas, or one per replica.
        part: ``facts`` or ``queries``.
        indices: Indices of ``M`` statements in ``part``, as a NumPy array; by default
            all.

    Yields:
        The positions of ``m`` statements among the ``M``, and their logits ``[R, m,
        K]``. Blocks are ordered by the lengths of prompts and answers.

    Raises:
        ConfigError: The model has no replica axis, or a prompt is longer than the
            model's context.
        DataError: The worlds do not fit the model.
    """
    groups = shape_groups(as_worlds(worlds, model), part, indices)
    if not groups:
        return
    device = model.column.device
    order = np.concatenate([group.indices for group in groups])
    wanted = np.arange(len(order)) if indices is None else indices
    # Statements are computed by shape; argsort of an argsort is the rank of each index.
    places = np.argsort(wanted)[np.argsort(np.argsort(order))]
    rows = torch.from_numpy(places).to(device)
    step = max(1, MAX_LOGITS // len(model.candidates))
    prompts = [group.prompts for group in groups]
    if len(order) > step:
        blocks = []
        for matrix in prompts:
            blocks += [[some] for some in matrix.split(step, dim=-2)]
    else:
        blocks = [prompts]
    start = 0
    for block in blocks:
        batch = pack([some.to(device) for some in block])
        logits = model(batch, at=batch.last)
        yield rows[start : start + logits.shape[1]], logits
        start += logits.shape[1]


@torch.no_grad()
def answer_ranks(
    model: Model,
    worlds: Worlds,
    part: Part,
    indices: Int[Ids, " M"] | None = None,
    *,
    teacherless: str = "",
) -> Int[Tensor, "R M A"]:
    """Return, for each token of each answer, the number of candidates with a larger logit.

    By default the model reads the preceding tokens of the answer (teacher forcing).
    Therefore an answer whose ranks are all 0 is also the result of greedy decoding.
    Logits are computed in blocks of statements, so that they fit in memory even with
    10^5 candidates.

    Args:
        model: The model.
        worlds: One world for all replicas, or one per replica.
        part: ``facts`` or ``queries``.
        indices: Indices of ``M`` statements in ``part``, as a NumPy array. Their
            prompts must all have the same length, and so must their answers. By default
            all statements are used.
        teacherless: Name of a token that the model reads instead of the answer's
            tokens, as in :class:`~inweights.training.Phase`; by default empty, for
            teacher forcing.

    Returns:
        Ranks ``[R, M, A]`` for ``M`` statements and ``A`` answer tokens; the rank is 0
        for the largest logit.

    Raises:
        ConfigError: The model has no replica axis, a prompt with its answer is longer
            than the model's context, or the model returns logits only for the last
            position and answers have several tokens.
        DataError: The worlds do not fit the model, statements differ in length, a token
            of an answer is not among the model's candidates, or the world has no token
            of the name ``teacherless``.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0, 1])
        >>> tuple(answer_ranks(model, world, "queries").shape)
        (2, 4, 1)
    """
    each = as_worlds(worlds, model)
    groups = shape_groups(each, part, indices)
    if len(groups) != 1:
        raise DataError(
            f"{part} must have prompts of one length and answers of one length, got "
            f"{len(groups)} pairs of lengths; pass the indices of statements with the same "
            "lengths"
        )
    group = groups[0]
    device = model.column.device
    order = torch.from_numpy(np.argsort(np.argsort(group.indices)))
    given = group.indices if indices is None else indices
    wanted = torch.from_numpy(np.argsort(np.argsort(given)))
    back = torch.argsort(order)[wanted].to(device)
    columns = model.columns(group.answers)
    seen = group.answers[..., :-1]
    if teacherless:
        seen = torch.full_like(seen, each[0].vocabulary.id(teacherless))
    whole = torch.cat([group.prompts, seen], dim=-1).to(device)
    length = whole.shape[-1]
    answer = columns.shape[-1]
    columns = columns.expand(model.replicas, -1, -1)
    step = max(1, MAX_LOGITS // (answer * len(model.candidates)))
    found = columns.new_empty(columns.shape)
    for start in range(0, whole.shape[-2], step):
        batch = pack([whole[..., start : start + step, :]])
        rows = length * torch.arange(batch.shapes[0][0], device=device).unsqueeze(1)
        at = rows + torch.arange(length - answer, length, device=device)
        logits = model(batch, at=at.flatten())
        right = columns[:, start : start + step].reshape(model.replicas, -1, 1)
        above = (logits > logits.gather(-1, right)).sum(-1)
        found[:, start : start + step] = above.view(model.replicas, -1, answer)
    return found.index_select(1, back)


def answer_columns(
    model: Model, worlds: Worlds, part: Part, indices: Int[Ids, " M"] | None = None
) -> Int[Tensor, "R M"]:
    """Return the logit column of each statement's first answer token, ``[R, M]``.

    Args:
        model: The model.
        worlds: One world for all replicas, or one per replica.
        part: ``facts`` or ``queries``.
        indices: Indices of ``M`` statements in ``part``, as a NumPy array; by default
            all statements, in order.

    Raises:
        ConfigError: The model has no replica axis.
        DataError: The worlds do not fit the model, or an answer is not among the
            model's candidates.
    """
    columns = []
    for world in as_worlds(worlds, model):
        statements = getattr(world, part)
        starts = np.concatenate([[0], statements.answer_ends[:-1]]).astype(np.int64)
        first = statements.answers[starts] if len(statements) else starts[:0]
        columns.append(torch.from_numpy(first if indices is None else first[indices]))
    return model.columns(torch.stack(columns)).expand(model.replicas, -1)
