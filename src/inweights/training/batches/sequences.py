"""Facts as sequences to read and labels to predict, on the model's device.

Facts that share their input, such as all edges that leave a node, can be pooled: one sequence with
several labels at its last position. Shapes: ``R`` replicas, ``m`` sequences of a shape, ``T``
positions, ``P`` labelled positions of each, ``b`` sequences of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from inweights.errors import ConfigError, DataError
from inweights.training.batches.worlds import ShapeGroup
from inweights.training.curriculum import Phase
from inweights.worlds.arrays import Float, Floats, Int, Num
from inweights.worlds.world import Ids


@dataclass(frozen=True)
class Labels:
    """Labels of chosen sequences, one after another.

    Attributes:
        rows: Which labelled position each label belongs to, counted over the chosen sequences;
            ``None`` where every position has one label and they are in order.
    """

    columns: Int[Tensor, "*R n"]
    weights: Float[Tensor, "*_ n"]
    rows: Int[Tensor, "*R n"] | None = None


@dataclass(frozen=True)
class Pool:
    """Labels of pooled sequences: those of sequence ``i`` are ``starts[i]`` to ``starts[i + 1]``.

    Attributes:
        starts: One more than there are sequences. ``W`` is 1 where replicas share their world,
            else ``R``.
        places: Index of each label's position among the ``P``.
        most: How many labels so many sequences, from 1 on, have together at most.
    """

    starts: Int[Tensor, "W _"]
    places: Int[Tensor, "W n"]
    columns: Int[Tensor, "W n"]
    weights: Float[Tensor, "W n"]
    most: tuple[int, ...]

    def labels(self, picks: Int[Tensor, "R b"] | None, positions: int) -> Labels:
        """Labels of the sequences ``picks``, or of all."""
        if picks is None:
            picks = torch.arange(self.starts.shape[1] - 1, device=self.starts.device)
            picks = picks.expand(len(self.starts), -1)
        replicas, batch = picks.shape
        first = self.starts.expand(replicas, -1).gather(1, picks)
        counts = self.starts.expand(replicas, -1).gather(1, picks + 1) - first
        ends = counts.cumsum(1)
        # An accelerator need not wait for a number, nor meet another shape at each step.
        width = int(ends[:, -1].max()) if picks.device.type == "cpu" else self.most[batch - 1]
        slots = torch.arange(width, device=picks.device).expand(replicas, -1)
        # Replicas differ in how many labels their batch has: the rest of a row counts nothing.
        which = torch.searchsorted(ends, slots.contiguous(), right=True).clamp_(max=batch - 1)
        offset = slots - (ends - counts).gather(1, which)
        inside = slots < ends[:, -1:]
        at = torch.where(inside, first.gather(1, which) + offset, 0)
        places, columns, weights = (
            part.expand(replicas, -1).gather(1, at)
            for part in (self.places, self.columns, self.weights)
        )
        return Labels(columns, torch.where(inside, weights, 0.0), which * positions + places)


@dataclass(frozen=True)
class Sequences:
    """All sequences of one shape that a phase reads.

    Attributes:
        tokens: With the axis of replicas where worlds differ.
        columns: Logit columns; unused where there is a pool.
        weights: Weight of each sequence; unused where there is a pool.
        pool: The labels, where several facts share a sequence.
    """

    tokens: Int[Tensor, "*R _ T"]
    places: Int[Tensor, " P"]
    columns: Int[Tensor, "*R m P"]
    weights: Float[Tensor, " m"]
    pool: Pool | None = None

    @cached_property
    def even(self) -> bool:
        """Whether all labels weigh the same."""
        return self.pool is None and bool((self.weights == self.weights[0]).all())

    def __len__(self) -> int:
        return self.tokens.shape[-2]

    def labels(self, picks: Int[Tensor, "R b"] | None) -> Labels:
        """Labels of the sequences ``picks``, or of all."""
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
    """Return the sequences and labels of facts of one shape.

    The model reads the token ``blank``, if there is one, in place of the answer's own.
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


def take(values: Int[Tensor, "*_ m T"], picks: Int[Tensor, "R b"]) -> Int[Tensor, "R b T"]:
    """Select rows for each replica, from shared or separate values."""
    if values.dim() == 2:
        return values[picks]
    return values.gather(1, picks.unsqueeze(-1).expand(-1, -1, values.shape[-1]))


def _places(prompt: int, answer: int, phase: Phase) -> Tensor:
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
            f"phase '{phase.name}': an answer of {answer} token(s) has no position {outside[0]}"
        )
    return torch.tensor([prompt - 1 + p for p in phase.place])


def _pooled(
    inputs: Tensor, columns: Tensor, weights: Tensor, places: Tensor, phase: Phase
) -> tuple[Tensor, Pool] | None:
    """Inputs that differ, and the labels of each; ``None`` where all differ already."""
    worlds = inputs.unsqueeze(0) if inputs.dim() == 2 else inputs
    distinct = [_different(rows.numpy()) for rows in worlds]
    sizes = {len(first) for first, _ in distinct}
    if len(sizes) > 1:
        raise DataError(
            f"phase '{phase.name}': replicas with {' and '.join(map(str, sorted(sizes)))} "
            "different inputs of one shape cannot be pooled together; train them separately"
        )
    if sizes == {worlds.shape[1]}:
        return None
    every = columns.cpu().expand(len(worlds), -1, -1) if columns.dim() == 2 else columns.cpu()
    count, positions = worlds.shape[1], len(places)
    parts = []
    for (first, owner), column in zip(distinct, every, strict=True):
        order = np.argsort(owner, kind="stable")
        starts = positions * np.concatenate([[0], np.cumsum(np.bincount(owner))])
        shared = weights.cpu()[order].repeat_interleave(positions)
        at = torch.arange(positions).repeat(count)
        parts.append((torch.from_numpy(starts), at, column[order].flatten(), shared))
        assert len(first) == len(starts) - 1
    counts = torch.stack([starts.diff() for starts, *_ in parts]).sort(1, descending=True).values
    most = counts.cumsum(1).amax(0).tolist()
    firsts, at, labels, shared = (
        torch.stack(part).to(columns.device) for part in zip(*parts, strict=True)
    )
    pool = Pool(firsts, at, labels, shared, tuple(most))
    tokens = torch.stack([rows[first] for rows, (first, _) in zip(worlds, distinct, strict=True)])
    return (tokens[0] if inputs.dim() == 2 else tokens), pool


def _different(rows: Ids) -> tuple[Ids, Ids]:
    """First place of every different row, in order of appearance, and which of them each row is."""
    _, first, owner = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return np.sort(first), np.argsort(np.argsort(first))[owner.ravel()].astype(np.int64)


def stacked(parts: Sequence[Num[Tensor, "*_ _"]], replicas: int) -> Num[Tensor, "*_ m"]:
    """Join along the last axis; a replica axis is added to all parts if one has it."""
    if len(parts) == 1:
        return parts[0]
    if all(part.dim() == 1 for part in parts):
        return torch.cat(list(parts))
    return torch.cat([part.expand(replicas, -1) for part in parts], dim=-1)
