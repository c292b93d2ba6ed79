"""Convert facts to input sequences and labels, on the model's device.

:func:`sequences_of` turns facts of one shape into :class:`Sequences`, from which
:class:`~inweights.training.batches.plans.Batches` draws the batch of a step. Facts that
share their input, such as all edges that leave a node, can be pooled: they become one
sequence with several labels at its last position (:class:`~.labels.Pool`). Shapes:
``R`` replicas, ``m`` sequences of a shape, ``T`` positions, ``P`` labelled positions
per sequence, ``b`` sequences of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from inweights.errors import ConfigError, DataError
from inweights.training.batches.labels import Labels, Pool
from inweights.training.batches.worlds import ShapeGroup
from inweights.training.curriculum import Phase
from inweights.worlds.arrays import Float, Floats, Int, Num
from inweights.worlds.world import Ids


@dataclass(frozen=True)
class Sequences:
    """All sequences of one shape that a phase reads.

    Shapes: ``R`` replicas, ``m`` sequences, ``T`` tokens per sequence, ``P`` labelled
    positions per sequence.

    Attributes:
        tokens: Token ids ``[m, T]``, or ``[R, m, T]`` if worlds differ.
        places: Indices of the ``P`` labelled positions of every sequence.
        columns: Logit column of each label, ``[m, P]``, or ``[R, m, P]`` if worlds
            differ; unused if there is a pool.
        weights: Weight of each sequence, ``[m]``; unused if there is a pool.
        pool: The labels if several facts share a sequence; otherwise ``None``.
    """

    tokens: Int[Tensor, "*R _ T"]
    places: Int[Tensor, " P"]
    columns: Int[Tensor, "*R m P"]
    weights: Float[Tensor, " m"]
    pool: Pool | None = None

    @cached_property
    def even(self) -> bool:
        """Whether all labels have the same weight and no facts share a sequence."""
        return self.pool is None and bool((self.weights == self.weights[0]).all())

    def __len__(self) -> int:
        return self.tokens.shape[-2]

    def labels(self, picks: Int[Tensor, "R b"] | None) -> Labels:
        """Return the labels of selected sequences, concatenated in the order of the sequences.

        Args:
            picks: Indices of ``b`` sequences for each of ``R`` replicas, ``[R, b]``;
                ``None`` for all sequences.
        """
        positions = len(self.places)
        if self.pool is not None:
            return self.pool.labels(picks, positions)
        columns = self.columns if picks is None else take(self.columns, picks)
        columns = columns.flatten(-2)
        if self.even:
            return Labels(columns, self.weights[:1].expand(columns.shape[-1]))
        weights = self.weights if picks is None else self.weights[picks]
        return Labels(columns, weights.repeat_interleave(positions, dim=-1))


def sequences_of(
    group: ShapeGroup,
    weights: Float[Floats, " m"],
    phase: Phase,
    column: Int[Tensor, " V"],
    blank: int | None = None,
) -> Sequences:
    """Return the sequences and labels of facts of one shape, on the device of ``column``.

    Args:
        group: The facts.
        weights: Weight of each fact, ``[m]`` (NumPy).
        phase: The phase of training, which determines the labelled positions, and
            whether facts with the same input are pooled.
        column: Logit column of each of ``V`` tokens; -1 for a token without a logit.
        blank: Id of a token that replaces all tokens of the answer in the input. If
            ``None`` (the default), the model reads the answer's own tokens.

    Raises:
        DataError: A label has no logit, or replicas have different numbers of distinct
            inputs to pool.
        ConfigError: The loss of the phase names a token by an index that the answer
            does not have.
    """
    whole = torch.cat([group.prompts, group.answers], dim=-1)
    places = _places(group.prompts.shape[-1], group.answers.shape[-1], phase)
    device = column.device
    columns = column[whole[..., places + 1].to(device)]
    if (columns < 0).any():
        raise DataError(
            f"phase '{phase.name}': a label is not among the model's candidates; use the loss at "
            "the last position, or give the model a head over all tokens"
        )
    each = torch.from_numpy(weights.astype(np.float32)).to(device)
    inputs = whole[..., :-1]
    if blank is not None:
        inputs = inputs.clone()
        inputs[..., group.prompts.shape[-1] :] = blank
    if phase.pooled:
        found = _pooled(inputs, columns, each, places, phase)
        if found is not None:
            tokens, pool = found
            return Sequences(tokens.to(device), places, columns, each, pool)
    return Sequences(inputs.to(device), places, columns, each)


def take(
    values: Int[Tensor, "*_ m T"], picks: Int[Tensor, "R b"]
) -> Int[Tensor, "R b T"]:
    """Return selected rows of a matrix, with separate indices for each replica.

    Args:
        values: Either one matrix for all replicas, ``[m, T]``, or one matrix per
            replica, ``[R, m, T]``.
        picks: Indices of ``b`` rows for each replica, ``[R, b]``.

    Returns:
        The rows, ``[R, b, T]``.

    Example:
        >>> take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1], [0]])).tolist()
        [[[3, 4]], [[1, 2]]]
    """
    if values.dim() == 2:
        return values[picks]
    return values.gather(1, picks.unsqueeze(-1).expand(-1, -1, values.shape[-1]))


def _places(prompt: int, answer: int, phase: Phase) -> Tensor:
    """Return the labelled positions of a sequence with a given prompt and answer length."""
    last = prompt + answer - 2
    if phase.place == "every":
        return torch.arange(last + 1)
    if phase.place == "last":
        return torch.tensor([last])
    if phase.place == "answer":
        return torch.arange(prompt - 1, last + 1)
    outside = [p for p in phase.place if not 0 <= p < answer]
    if outside:
        raise ConfigError(
            f"phase '{phase.name}': 'loss' contains {outside[0]}, but the tokens of the answer "
            f"are numbered from 0 to {answer - 1}"
        )
    return torch.tensor([prompt - 1 + p for p in phase.place])


def _pooled(
    inputs: Tensor, columns: Tensor, weights: Tensor, places: Tensor, phase: Phase
) -> tuple[Tensor, Pool] | None:
    """Return the distinct inputs with their labels; ``None`` if all inputs are distinct."""
    worlds = inputs.unsqueeze(0) if inputs.dim() == 2 else inputs
    distinct = [_different(rows.numpy()) for rows in worlds]
    sizes = {len(first) for first, _ in distinct}
    if len(sizes) > 1:
        listed = " and ".join(map(str, sorted(sizes)))
        raise DataError(
            f"phase '{phase.name}': if 'pooled' is true, all replicas must have the same "
            f"number of distinct inputs of each shape, got {listed}; train the replicas "
            "separately"
        )
    if sizes == {worlds.shape[1]}:
        return None
    every = columns.cpu()
    if every.dim() == 2:
        every = every.expand(len(worlds), -1, -1)
    count = worlds.shape[1]
    positions = len(places)
    parts = []
    for (first, owner), column in zip(distinct, every, strict=True):
        order = np.argsort(owner, kind="stable")
        bounds = positions * np.concatenate([[0], np.cumsum(np.bincount(owner))])
        assert len(first) == len(bounds) - 1
        part = (
            torch.from_numpy(bounds),
            torch.arange(positions).repeat(count),
            column[order].flatten(),
            weights.cpu()[order].repeat_interleave(positions),
        )
        parts.append(part)
    counts = torch.stack([bounds.diff() for bounds, *_ in parts])
    # No batch has more labels than the sequences with the most labels.
    largest = counts.sort(1, descending=True).values
    most = largest.cumsum(1).amax(0).tolist()
    starts, at, labels, shared = (
        torch.stack(part).to(columns.device) for part in zip(*parts, strict=True)
    )
    pool = Pool(starts, at, labels, shared, tuple(most))
    own = zip(worlds, distinct, strict=True)
    tokens = torch.stack([rows[first] for rows, (first, _) in own])
    return (tokens[0] if inputs.dim() == 2 else tokens), pool


def _different(rows: Ids) -> tuple[Ids, Ids]:
    """Return the first index of each distinct row, and the number of each row's value.

    Values are numbered in the order in which they first occur.
    """
    _, first, owner = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return np.sort(first), np.argsort(np.argsort(first))[owner.ravel()].astype(np.int64)


def stacked(parts: Sequence[Num[Tensor, "*_ _"]], replicas: int) -> Num[Tensor, "*_ m"]:
    """Return tensors concatenated along the last axis.

    Args:
        parts: Tensors ``[n]`` or ``[R, n]`` of any lengths ``n``; if one has the
            replica axis, the others are expanded to it.
        replicas: Number of replicas ``R``.

    Returns:
        ``[R, m]``, or ``[m]`` if no part has a replica axis, where ``m`` is the sum of
        the lengths. A single part is returned unchanged.

    Example:
        >>> stacked([torch.tensor([1]), torch.tensor([[2], [3]])], replicas=2).tolist()
        [[1, 2], [1, 3]]
    """
    if len(parts) == 1:
        return parts[0]
    if all(part.dim() == 1 for part in parts):
        return torch.cat(list(parts))
    return torch.cat([part.expand(replicas, -1) for part in parts], dim=-1)
