"""Packed batches: sequences of several lengths along one axis, without padding.

Sequences of facts are short and have few lengths: the prompt of an identity has one
token, and the prompt of a hop has two. The tokens of all sequences are concatenated
along one axis ``S``, grouped by length, so that every position-wise layer is one batched
matrix product; only attention splits the groups. :func:`pack` creates a :class:`Packed`
batch, the input of models. Shapes: ``R`` replicas, ``B`` sequences, ``T`` positions,
``S`` packed tokens, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from inweights.errors import DataError
from inweights.worlds.arrays import Float, Int


@dataclass(frozen=True)
class Packed:
    """Sequences of token ids, one after another along the axis ``S``.

    Attributes:
        tokens: Token ids, ``[S]`` if all replicas read the same ids, otherwise ``[R,
            S]``.
        positions: Position of each token in its sequence, counted from 0, plus the
            offset that was given to :func:`pack`; ``[S]`` or ``[R, S]``.
        shapes: ``(B, T)``, the number and length of the sequences in each group of
            equal length, in the order in which the groups occur along ``S``.
    """

    tokens: Int[Tensor, "... S"]
    positions: Int[Tensor, "... S"]
    shapes: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """Total number ``S`` of tokens in all sequences."""
        return self.tokens.shape[-1]

    @property
    def last(self) -> Int[Tensor, " B"]:
        """Index in the packed axis of the last token of each of the ``B`` sequences, ``[B]``."""
        ends = []
        start = 0
        for batch, length in self.shapes:
            sequences = torch.arange(batch, device=self.tokens.device)
            ends.append(start + length - 1 + length * sequences)
            start += batch * length
        return torch.cat(ends)

    def groups(self) -> list[Int[Tensor, "*R B T"]]:
        """Return the token ids of each group of sequences of one length, as views ``[B, T]``.

        A group has ``B`` sequences of ``T`` tokens. The views are ``[R, B, T]`` if the
        ``R`` replicas read different tokens. The groups are in the order in which they
        occur along ``S``.
        """
        groups = []
        start = 0
        for batch, length in self.shapes:
            end = start + batch * length
            groups.append(self.tokens[..., start:end].unflatten(-1, (batch, length)))
            start = end
        return groups

    def to(self, device: torch.device | str) -> Packed:
        """Return a batch with the same content, whose tensors are on a device.

        Args:
            device: The device, such as ``cpu`` or ``cuda``. Tensors that are already on
                it are not copied.
        """
        return Packed(self.tokens.to(device), self.positions.to(device), self.shapes)


def pack(
    groups: Sequence[Int[Tensor, "*R _ _"]], offset: int | Int[Tensor, "*_ B"] = 0
) -> Packed:
    """Pack matrices of token ids, one matrix per sequence length, into one batch.

    Args:
        groups: Token ids of each group, ``[B, T]`` or ``[R, B, T]``; either all or none
            have a replica axis.
        offset: Number that is added to every position: one integer for all sequences,
            or a tensor with one integer per sequence, ``[B]`` or ``[R, B]``, where
            ``B`` is the number of sequences of all groups.

    Returns:
        The batch, with the groups in the given order, on their device.

    Raises:
        DataError: There are no groups, a value is not a matrix of token ids (see
            :func:`check_tokens`), or only some groups have a replica axis.
        RuntimeError: The groups' replica axes differ in length, or ``offset`` does not
            have one entry per sequence.

    Example:
        >>> batch = pack([torch.tensor([[5], [6]]), torch.tensor([[1, 2]])])
        >>> batch.tokens.tolist(), batch.positions.tolist(), batch.last.tolist()
        ([5, 6, 1, 2], [0, 0, 0, 1], [0, 1, 3])
    """
    if not len(groups):
        raise DataError("pack needs at least one group of sequences, got none")
    for group in groups:
        check_tokens(group)
    if len({group.dim() for group in groups}) > 1:
        raise DataError(
            "either all groups of sequences must have a replica axis, or none of them"
        )
    tokens = torch.cat([group.flatten(-2) for group in groups], dim=-1)
    shapes = tuple((int(g.shape[-2]), int(g.shape[-1])) for g in groups)
    ramps = []
    for count, length in shapes:
        ramp = torch.arange(length, device=tokens.device)
        ramps.append(ramp.repeat(count))
    positions = torch.cat(ramps)
    if isinstance(offset, Tensor):
        lengths = _lengths(shapes).to(tokens.device)
        positions = positions + offset.repeat_interleave(lengths, dim=-1)
    elif offset:
        positions = positions + offset
    return Packed(tokens, positions, shapes)


def _lengths(shapes: Sequence[tuple[int, int]]) -> Tensor:
    """Return the length of every sequence of a packed batch."""
    counts, lengths = torch.tensor(shapes).unbind(1)
    return lengths.repeat_interleave(counts)


def check_tokens(tokens: Any) -> None:
    """Raise an error unless a value is a tensor of token ids, ``[B, T]`` or ``[R, B, T]``.

    Args:
        tokens: Any value.

    Raises:
        DataError: The value is not a tensor of integers with two or three axes, or its
            last axis (the positions) is empty.
    """
    if not isinstance(tokens, Tensor):
        raise DataError(
            f"expected token ids as a tensor of integers [B, T], got {type(tokens).__name__}; "
            "use torch.tensor(...) or torch.from_numpy(...)"
        )
    if tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool:
        raise DataError(f"expected token ids, which are integers, got {tokens.dtype}")
    if tokens.dim() not in (2, 3):
        one = ""
        if tokens.dim() < 2:
            one = "; write prompts[:1], or prompt[None], for a single prompt"
        raise DataError(
            "expected token ids [B, T] (prompts, positions) or [R, B, T] (a matrix for each "
            f"replica), got the shape {list(tokens.shape)}{one}"
        )
    if not tokens.shape[-1]:
        raise DataError(
            f"a prompt must have at least one token, got the shape {list(tokens.shape)}"
        )


def check_replicas(tokens: Int[Tensor, "*R B T"], replicas: int) -> None:
    """Raise an error unless token ids ``[R, B, T]`` match a model's number of replicas.

    Args:
        tokens: Token ids. Ids without a replica axis, ``[B, T]``, are always valid.
        replicas: Number of replicas ``R`` of the model.

    Raises:
        DataError: The tensor has three axes, and the length of the first is neither 1
            nor ``R``.
    """
    if tokens.dim() == 3 and len(tokens) not in (1, replicas):
        raise DataError(
            f"expected token ids [R, B, T] with one matrix per replica ({replicas}), got "
            f"{len(tokens)} matrices"
        )


def running_sums(
    x: Float[Tensor, "R S D"], shapes: Sequence[tuple[int, int]]
) -> Float[Tensor, "R S D"]:
    """Return, for each position, the sum over its sequence up to and including the position.

    Because sequences are short, adding one position after another is several times
    faster than ``torch.cumsum`` and its gradient, which reverses its input twice.

    Args:
        x: States along the packed axis, ``[R, S, D]``.
        shapes: ``(B, T)``, the number and length of the sequences of each group, in
            their order along ``S``.

    Returns:
        The sums, ``[R, S, D]``.

    Example:
        >>> running_sums(torch.ones(1, 4, 1), [(1, 1), (1, 3)]).flatten().tolist()
        [1.0, 1.0, 2.0, 3.0]
    """
    out: Tensor = _RunningSums.apply(x, shapes)  # type: ignore[no-untyped-call]
    return out


class _RunningSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shapes: Sequence[tuple[int, int]]) -> Tensor:
        ctx.shapes = shapes
        out = x.clone()
        for earlier, later in _neighbours(out, shapes):
            later.add_(earlier)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        out = grads[0].clone()
        for earlier, later in reversed(_neighbours(out, ctx.shapes)):
            earlier.add_(later)
        return out, None


def _neighbours(
    x: Tensor, shapes: Sequence[tuple[int, int]]
) -> list[tuple[Tensor, Tensor]]:
    """Return views of the states at each position and at the next one, group by group."""
    groups = x.split([count * length for count, length in shapes], dim=1)
    pairs: list[tuple[Tensor, Tensor]] = []
    for group, shape in zip(groups, shapes, strict=True):
        pairs += pairwise(group.unflatten(1, shape).unbind(2))
    return pairs
