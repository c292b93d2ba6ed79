"""Logits, scores and ranks of a model's answers to the facts or queries of its worlds.

:func:`answer_logits`, :func:`answer_scores` and :func:`answer_ranks` are what probes of
accuracy and margins are made of; stop rules of training use them, too. Shapes: ``R``
replicas, ``M`` statements, ``A`` tokens of an answer, ``K`` candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.training.batches.worlds import Part, as_worlds, shape_groups
from inweights.worlds.arrays import Bool, Float, Int
from inweights.worlds.world import Ids, Statements, World, Worlds

#: Logits of a replica that are held at once, 8 MB. The number must not depend on the
#: number of replicas: products of other sizes may round differently, and a run is the
#: same alone.
MAX_LOGITS = 2**21


@torch.no_grad()
def answer_logits(
    model: Model,
    worlds: Worlds,
    part: Part = "facts",
    indices: Int[Ids, " M"] | None = None,
) -> Float[Tensor, "R M K"]:
    """Compute the logits of the first answer token of every statement.

    Args:
        model: The model.
        worlds: One world for all replicas, or one a replica.
        part: ``facts`` or ``queries``.
        indices: Indices of ``M`` statements; by default all, in order.

    Returns:
        Logits over the ``K`` candidates, on the model's device.

    Raises:
        ConfigError: The model has no replica axis.
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
    """Yield the logits of :func:`answer_logits` for some statements at a time.

    So 10^5 statements of 10^5 candidates do not fill the memory. Few statements are one
    block.

    Args:
        model: The model.
        worlds: One world for all replicas, or one a replica.
        part: ``facts`` or ``queries``.
        indices: Indices of ``M`` statements; by default all.

    Yields:
        The places of ``m`` statements among the ``M``, and their logits.

    Raises:
        ConfigError: The model has no replica axis.
        DataError: The worlds do not fit the model.
    """
    groups = shape_groups(as_worlds(worlds, model), part, indices)
    if not groups:
        return
    device = model.column.device
    order = np.concatenate([group.indices for group in groups])
    wanted = np.arange(len(order)) if indices is None else indices
    rows = torch.from_numpy(np.argsort(wanted)[np.argsort(np.argsort(order))]).to(
        device
    )
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


@dataclass(frozen=True)
class Scores:
    """Scores of a model's answers to ``M`` statements.

    Where several answers to a prompt are right, any of them counts.

    Attributes:
        predicted: Column of the largest logit.
        right: Whether it is that of a right answer.
        right_among: Whether the largest logit among the allowed is that of a right
            answer.
        loss: Cross-entropy over all candidates, nats: of a fact that of the answer that
            it states, of a query that of all its right answers together.
        margin: Largest logit of a right answer less the largest of a wrong one.
        margin_among: The same among the allowed.
    """

    predicted: Int[Tensor, "R M"]
    right: Bool[Tensor, "R M"]
    right_among: Bool[Tensor, "R M"]
    loss: Float[Tensor, "R M"]
    margin: Float[Tensor, "R M"]
    margin_among: Float[Tensor, "R M"]


@torch.no_grad()
def answer_scores(
    model: Model,
    worlds: Worlds,
    part: Part,
    indices: Int[Ids, " M"],
    allowed: Bool[Tensor, "R K"],
) -> Scores:
    """Compute all :class:`Scores` in one pass over the logits of the first answer tokens.

    Args:
        model: The model.
        worlds: One world for all replicas, or one a replica.
        part: ``facts`` or ``queries``.
        indices: Indices of ``M`` statements.
        allowed: The candidates of the narrower choice (``right_among``,
            ``margin_among``); the answer of each statement is among them.

    Raises:
        ConfigError: The model has no replica axis.
        DataError: The worlds do not fit the model, or an answer is not among its
            candidates.
    """
    each = as_worlds(worlds, model)
    answers = answer_columns(model, each, part, indices)
    known = right_places(model, each, part, indices)
    predicted = torch.zeros_like(answers)
    right, right_among = (torch.zeros_like(answers, dtype=torch.bool) for _ in range(2))
    loss, margin, margin_among = (
        torch.zeros(answers.shape, device=answers.device) for _ in range(3)
    )
    forbidden = ~allowed.unsqueeze(1)
    for rows, logits in answer_blocks(model, each, part, indices):
        own = answers[:, rows].unsqueeze(-1)
        accepted = known.among(rows, logits) if known else None
        chances = logits.log_softmax(-1)
        loss[:, rows] = -chances.gather(-1, own).squeeze(-1)
        if known and accepted is not None and known.is_set[rows].any():
            together = -chances.masked_fill(~accepted, -torch.inf).logsumexp(-1)
            loss[:, rows] = torch.where(known.is_set[rows], together, loss[:, rows])
        predicted[:, rows] = best = logits.argmax(-1)
        right[:, rows] = are_right(best, own, accepted)
        margin[:, rows] = _lead(logits, own, accepted)
        logits.masked_fill_(forbidden, -torch.inf)
        right_among[:, rows] = are_right(logits.argmax(-1), own, accepted)
        margin_among[:, rows] = _lead(logits, own, accepted)
    return Scores(predicted, right, right_among, loss, margin, margin_among)


@dataclass(frozen=True)
class RightPlaces:
    """All ``P`` right answers of ``M`` statements, some of which have several.

    Attributes:
        world: Index of the world that each right answer belongs to, ``[P]``.
        row: Index of its statement among the ``M``, ``[P]``.
        column: Its logit column, ``[P]``.
        worlds: Number of worlds.
        is_set: Whether a statement itself has several answers, as a query may, ``[M]``.
    """

    world: Int[Tensor, " P"]
    row: Int[Tensor, " P"]
    column: Int[Tensor, " P"]
    worlds: int
    is_set: Bool[Tensor, " M"]

    def among(
        self, rows: Int[Tensor, " m"], logits: Float[Tensor, "R m K"]
    ) -> Bool[Tensor, "R m K"]:
        """Return which candidates are right answers to some of the statements.

        Args:
            rows: Indices of ``m`` statements among the ``M``.
            logits: Their logits, for shape and device only.
        """
        place = torch.full_like(self.is_set, -1, dtype=torch.int64)
        place[rows] = torch.arange(len(rows), device=rows.device)
        kept = place[self.row] >= 0
        found = torch.zeros(
            self.worlds,
            len(rows),
            logits.shape[-1],
            dtype=torch.bool,
            device=logits.device,
        )
        found[self.world[kept], place[self.row[kept]], self.column[kept]] = True
        return found.expand(len(logits), -1, -1)


def right_places(
    model: Model, worlds: Sequence[World], part: Part, indices: Int[Ids, " M"]
) -> RightPlaces | None:
    """Return the right answers of some statements of each world.

    Args:
        model: The model; answers without a logit column are left out.
        worlds: One world, or one a replica.
        part: ``facts`` or ``queries``.
        indices: Indices of the ``M`` statements.

    Returns:
        ``None`` if every statement has one right answer.
    """
    each: list[Statements] = [getattr(world, part) for world in worlds]
    if all((statements.right_counts[indices] == 1).all() for statements in each):
        return None
    pairs = [statements.right_pairs(indices) for statements in each]
    owners = [np.full(len(row), world) for world, (row, _) in enumerate(pairs)]
    several = np.any([np.isin(indices, one.further[:, 0]) for one in each], axis=0)
    device = model.column.device
    world = torch.from_numpy(np.concatenate(owners)).to(device)
    row = torch.from_numpy(np.concatenate([rows for rows, _ in pairs])).to(device)
    token = torch.from_numpy(np.concatenate([tokens for _, tokens in pairs])).to(device)
    column = model.column[token]
    kept = column >= 0
    is_set = torch.from_numpy(several).to(device)
    return RightPlaces(world[kept], row[kept], column[kept], len(each), is_set)


def are_right(
    columns: Int[Tensor, "R m"],
    own: Int[Tensor, "R m 1"],
    accepted: Bool[Tensor, "R m K"] | None,
) -> Bool[Tensor, "R m"]:
    """Return whether chosen candidates are right answers.

    Args:
        columns: Logit column of the chosen candidate of each statement.
        own: Column of the answer that each statement states.
        accepted: All right answers; ``None`` if each statement has one.
    """
    if accepted is None:
        return columns == own.squeeze(-1)
    return accepted.gather(-1, columns.unsqueeze(-1)).squeeze(-1)


def _lead(
    logits: Float[Tensor, "R m K"],
    own: Int[Tensor, "R m 1"],
    accepted: Bool[Tensor, "R m K"] | None,
) -> Float[Tensor, "R m"]:
    """Return the largest logit of a right answer minus the largest of a wrong one."""
    if accepted is not None:
        best = logits.masked_fill(~accepted, -torch.inf).amax(-1)
        return best - logits.masked_fill(accepted, -torch.inf).amax(-1)
    right = logits.gather(-1, own)
    others = logits.scatter_(-1, own, -torch.inf).amax(-1, keepdim=True)
    logits.scatter_(-1, own, right)
    return (right - others).squeeze(-1)


@torch.no_grad()
def answer_ranks(
    model: Model,
    worlds: Worlds,
    part: Part,
    indices: Int[Ids, " M"] | None = None,
    *,
    teacherless: str = "",
) -> Int[Tensor, "R M A"]:
    """Count the candidates with a larger logit than the right one, for every token of every answer.

    The tokens before it are given (teacher forcing): so an answer whose ranks are all 0
    is also the one that greedy decoding finds. Logits are computed for some statements
    at a time, so that 10^5 candidates do not fill the memory.

    Args:
        model: The model.
        worlds: One world for all replicas, or one a replica.
        part: ``facts`` or ``queries``.
        indices: Indices of ``M`` statements with prompts of one length and answers of
            one length; by default all.
        teacherless: Name of a token that the model reads in place of the answer's
            tokens, as in
            :class:`~inweights.training.Phase`; empty for teacher forcing.

    Returns:
        Ranks, 0 for the largest logit.

    Raises:
        ConfigError: The model has no replica axis.
        DataError: The worlds do not fit the model, statements differ in length, or a
            token of an answer is not among the model's candidates.

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
            f"ranks are taken of {part} of one shape, not of {len(groups)}; give their indices"
        )
    group = groups[0]
    device = model.column.device
    order = torch.from_numpy(np.argsort(np.argsort(group.indices)))
    wanted = torch.from_numpy(
        np.argsort(np.argsort(group.indices if indices is None else indices))
    )
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
    """Return the logit column of every statement's first answer token.

    Args:
        model: The model.
        worlds: One world for all replicas, or one a replica.
        part: ``facts`` or ``queries``.
        indices: Indices of ``M`` statements; by default all, in order.

    Raises:
        ConfigError: The model has no replica axis.
        DataError: The worlds do not fit the model, or an answer is not among its
            candidates.
    """
    columns = []
    for world in as_worlds(worlds, model):
        statements = getattr(world, part)
        starts = np.concatenate([[0], statements.answer_ends[:-1]]).astype(np.int64)
        first = statements.answers[starts] if len(statements) else starts[:0]
        columns.append(torch.from_numpy(first if indices is None else first[indices]))
    return model.columns(torch.stack(columns)).expand(model.replicas, -1)
