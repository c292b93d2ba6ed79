"""Score a model's answers when a prompt may have several correct answers.

:func:`answer_scores` computes accuracy, loss and margins in one pass over the logits of
``answers.py``. Shapes: ``R`` replicas, ``M`` statements, ``m`` statements of a block,
``K`` candidates, ``k`` selected candidates, ``P`` pairs of a statement and a correct
answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inweights.models.base import Model
from inweights.training.batches.worlds import Part, as_worlds
from inweights.training.scoring.answers import answer_blocks, answer_columns
from inweights.worlds.arrays import Bool, Float, Int
from inweights.worlds.world import Ids, Statements, World, Worlds


@dataclass(frozen=True)
class Scores:
    """Scores of the answers of ``R`` replicas to ``M`` statements, each ``[R, M]``.

    If a prompt has several correct answers, any of them is counted as correct.

    Attributes:
        predicted: Column of the largest logit; the first such column in case of ties.
        right: Whether the largest logit belongs to a correct answer.
        right_among: Whether the largest logit among the allowed candidates (see
            :func:`answer_scores`) belongs to a correct answer.
        loss: Cross-entropy over all candidates, in nats. For a fact, it is the
            cross-entropy of the answer that the fact gives. For a query with several
            correct answers, it is the negative logarithm of their total probability.
        margin: Largest logit of a correct answer minus the largest logit of a wrong
            one; positive if the model's answer is correct.
        margin_among: Largest logit of a correct answer minus the largest logit of a
            wrong one, among the allowed candidates only.
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
    """Compute correctness, loss and margin of a model's answers in one pass over the logits.

    Only the first token of each answer is scored.

    Args:
        model: The model.
        worlds: One world for all replicas, or one per replica.
        part: ``facts`` or ``queries``.
        indices: Indices of ``M`` statements in ``part``, as a NumPy array.
        allowed: Which of the ``K`` candidates are allowed for ``right_among`` and
            ``margin_among``, ``[R, K]``. The answer of each statement must be among
            them, which is not checked.

    Returns:
        The scores, each ``[R, M]``; see :class:`Scores`.

    Raises:
        ConfigError: The model has no replica axis, or a prompt is longer than the
            model's context.
        DataError: The worlds do not fit the model, or an answer is not among the
            model's candidates.
    """
    each = as_worlds(worlds, model)
    answers = answer_columns(model, each, part, indices)
    known = right_places(model, each, part, indices)
    predicted = torch.zeros_like(answers)
    right = torch.zeros_like(answers, dtype=torch.bool)
    right_among = torch.zeros_like(right)
    loss = torch.zeros(answers.shape, device=answers.device)
    margin = torch.zeros_like(loss)
    margin_among = torch.zeros_like(loss)
    forbidden = ~allowed.unsqueeze(1)
    shared = allowed[0].nonzero().squeeze(-1) if (allowed == allowed[0]).all() else None
    place = allowed[0].long().cumsum(0) - 1
    for rows, logits in answer_blocks(model, each, part, indices):
        own = answers[:, rows].unsqueeze(-1)
        accepted = known.among(rows, logits) if known else None
        chances = logits.log_softmax(-1)
        loss[:, rows] = -chances.gather(-1, own).squeeze(-1)
        if known and accepted is not None and known.is_set[rows].any():
            together = -chances.masked_fill(~accepted, -torch.inf).logsumexp(-1)
            loss[:, rows] = torch.where(known.is_set[rows], together, loss[:, rows])
        best = _largest(logits)
        predicted[:, rows] = best
        right[:, rows] = are_right(best, own, accepted)
        margin[:, rows] = _lead(logits, own, accepted)
        if shared is not None:
            # Only the shared columns are selected; all others need not be masked.
            fewer = _columns(logits, shared)
            own = place[own]
            if accepted is not None:
                accepted = accepted.index_select(-1, shared)
        else:
            fewer = logits.masked_fill_(forbidden, -torch.inf)
        right_among[:, rows] = are_right(_largest(fewer), own, accepted)
        margin_among[:, rows] = _lead(fewer, own, accepted)
    return Scores(predicted, right, right_among, loss, margin, margin_among)


@dataclass(frozen=True)
class RightPlaces:
    """All ``P`` correct answers to ``M`` statements, each of which may have several.

    Attributes:
        world: Index of the world to which each correct answer belongs, ``[P]``.
        row: Index (among the ``M``) of the statement to which each correct answer
            belongs, ``[P]``.
        column: Logit column of the correct answer, ``[P]``.
        worlds: Number of worlds.
        is_set: Whether each statement itself lists several correct answers, which is
            possible for queries, ``[M]``.
    """

    world: Int[Tensor, " P"]
    row: Int[Tensor, " P"]
    column: Int[Tensor, " P"]
    worlds: int
    is_set: Bool[Tensor, " M"]

    def among(
        self, rows: Int[Tensor, " m"], logits: Float[Tensor, "R m K"]
    ) -> Bool[Tensor, "R m K"]:
        """Return which candidates are correct answers to the selected statements.

        Args:
            rows: Indices of ``m`` statements among all those for which correct answers
                were found.
            logits: Logits of these statements over ``K`` candidates, ``[R, m, K]``
                (``R`` replicas). Only their shape and device are used.

        Returns:
            Boolean tensor ``[R, m, K]``, true for each correct answer.
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
    """Return the correct answers of selected statements of each world.

    Args:
        model: The model; answers without a logit column are left out.
        worlds: A sequence that contains one world for all replicas, or one per replica.
        part: ``facts`` or ``queries``.
        indices: Indices of ``M`` statements in ``part``, as a NumPy array.

    Returns:
        All pairs of a statement and a correct answer (:class:`RightPlaces`), or
        ``None`` if every statement has exactly one correct answer.
    """
    each: list[Statements] = [getattr(world, part) for world in worlds]
    if all((statements.right_counts[indices] == 1).all() for statements in each):
        return None
    rows = []
    tokens = []
    owners = []
    for place, statements in enumerate(each):
        row_of, token_of = statements.right_pairs(indices)
        rows.append(row_of)
        tokens.append(token_of)
        owners.append(np.full(len(row_of), place))
    several = np.any([np.isin(indices, one.further[:, 0]) for one in each], axis=0)
    device = model.column.device
    world = torch.from_numpy(np.concatenate(owners)).to(device)
    row = torch.from_numpy(np.concatenate(rows)).to(device)
    token = torch.from_numpy(np.concatenate(tokens)).to(device)
    column = model.column[token]
    kept = column >= 0
    is_set = torch.from_numpy(several).to(device)
    return RightPlaces(world[kept], row[kept], column[kept], len(each), is_set)


def are_right(
    columns: Int[Tensor, "R m"],
    own: Int[Tensor, "R m 1"],
    accepted: Bool[Tensor, "R m K"] | None,
) -> Bool[Tensor, "R m"]:
    """Return, for each statement, whether the selected candidate is a correct answer, ``[R, m]``.

    Args:
        columns: Logit column of the selected candidate of each of ``m`` statements,
            ``[R, m]``.
        own: Logit column of the answer that each statement gives, ``[R, m, 1]``; only
            used if ``accepted`` is ``None``.
        accepted: Which candidates are correct answers, ``[R, m, K]``; ``None`` if each
            statement has exactly one correct answer.
    """
    if accepted is None:
        return columns == own.squeeze(-1)
    return accepted.gather(-1, columns.unsqueeze(-1)).squeeze(-1)


def _quick_in_numpy(logits: Tensor) -> bool:
    """Return whether NumPy can process the logits; with many columns it is ten times faster."""
    return logits.device.type == "cpu" and logits.dtype in (
        torch.float32,
        torch.float64,
    )


def _largest(logits: Float[Tensor, "R m K"]) -> Int[Tensor, "R m"]:
    """Return the column of the largest logit, the first one in case of ties."""
    if _quick_in_numpy(logits):
        return torch.from_numpy(logits.numpy().argmax(-1))
    return logits.argmax(-1)


def _columns(
    logits: Float[Tensor, "R m K"], columns: Int[Tensor, " k"]
) -> Float[Tensor, "R m k"]:
    """Return the logits of selected candidates."""
    if _quick_in_numpy(logits):
        return torch.from_numpy(logits.numpy().take(columns.numpy(), axis=-1))
    return logits.index_select(-1, columns)


def _lead(
    logits: Float[Tensor, "R m K"],
    own: Int[Tensor, "R m 1"],
    accepted: Bool[Tensor, "R m K"] | None,
) -> Float[Tensor, "R m"]:
    """Return the largest logit of a correct answer minus the largest logit of a wrong one."""
    if accepted is not None:
        best = logits.masked_fill(~accepted, -torch.inf).amax(-1)
        return best - logits.masked_fill(accepted, -torch.inf).amax(-1)
    right = logits.gather(-1, own)
    # Removed and put back, since a copy of all logits would take as much memory again.
    others = logits.scatter_(-1, own, -torch.inf).amax(-1, keepdim=True)
    logits.scatter_(-1, own, right)
    return (right - others).squeeze(-1)
