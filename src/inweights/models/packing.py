"""Packed batches: sequences of several lengths in one matrix, with no padding.

Sequences of facts are tiny and of few lengths (an identity has one token, a hop two). All tokens
lie in one axis ``S``, group after group, so that every position-wise layer is one batched matrix
product; only attention looks at the groups. Shapes: ``R`` replicas, ``B`` sequences, ``T``
positions, ``S`` packed tokens.
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
    """Sequences packed end to end.

    Attributes:
        tokens: The axis of replicas is there where each reads tokens of its own.
        shapes: ``(B, T)`` of each group, in the order in which the groups lie in ``S``.
    """

    tokens: Int[Tensor, "... S"]
    positions: Int[Tensor, "... S"]
    shapes: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """Number of packed tokens ``S``."""
        return self.tokens.shape[-1]

    @property
    def last(self) -> Int[Tensor, " B"]:
        """Index in ``S`` of the last position of every sequence, in order."""
        ends, start = [], 0
        for batch, length in self.shapes:
            ends.append(
                start + length - 1 + length * torch.arange(batch, device=self.tokens.device)
            )
            start += batch * length
        return torch.cat(ends)

    def to(self, device: torch.device | str) -> Packed:
        """Return the same batch on ``device``."""
        return Packed(self.tokens.to(device), self.positions.to(device), self.shapes)


def pack(groups: Sequence[Int[Tensor, "*R _ _"]], offset: int | Int[Tensor, "*_ B"] = 0) -> Packed:
    """Pack token matrices, one of ``B`` by ``T`` for each length ``T``, into one batch.

    Args:
        groups: One matrix of token ids for each length. All with a replica axis, or none.
        offset: Added to every position: one number, or one for each sequence.

    Raises:
        DataError: There is nothing to pack, or only some groups have a replica axis.

    Example:
        >>> batch = pack([torch.tensor([[5], [6]]), torch.tensor([[1, 2]])])
        >>> batch.tokens.tolist(), batch.positions.tolist(), batch.last.tolist()
        ([5, 6, 1, 2], [0, 0, 0, 1], [0, 1, 3])
    """
    if not groups:
        raise DataError("no group of sequences was given")
    if len({group.dim() for group in groups}) > 1:
        raise DataError("either every group of sequences has a replica axis, or none has")
    tokens = torch.cat([group.flatten(-2) for group in groups], dim=-1)
    shapes = tuple((int(g.shape[-2]), int(g.shape[-1])) for g in groups)
    positions = torch.cat([torch.arange(t, device=tokens.device).repeat(b) for b, t in shapes])
    if isinstance(offset, Tensor):
        lengths = torch.tensor([t for b, t in shapes for _ in range(b)], device=tokens.device)
        positions = positions + offset.repeat_interleave(lengths, dim=-1)
    elif offset:
        positions = positions + offset
    return Packed(tokens, positions, shapes)


def running_sums(
    x: Float[Tensor, "R S D"], shapes: Sequence[tuple[int, int]]
) -> Float[Tensor, "R S D"]:
    """Return at each position the sum of its sequence up to there.

    Sequences are short, so that adding one position after another is several times faster than the
    kernel of a running sum and its gradient, which reverses its input twice.
    """
    out: Tensor = _RunningSums.apply(x, shapes)  # type: ignore[no-untyped-call]
    return out


class _RunningSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shapes: Sequence[tuple[int, int]]) -> Tensor:
        ctx.shapes, out = shapes, x.clone()
        for earlier, later in _neighbours(out, shapes):
            later.add_(earlier)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        out = grads[0].clone()
        for earlier, later in reversed(_neighbours(out, ctx.shapes)):
            earlier.add_(later)
        return out, None


def _neighbours(x: Tensor, shapes: Sequence[tuple[int, int]]) -> list[tuple[Tensor, Tensor]]:
    """All rows of each position and of the next one."""
    groups = x.split([count * length for count, length in shapes], dim=1)
    rows = [
        group.unflatten(1, shape).unbind(2) for group, shape in zip(groups, shapes, strict=True)
    ]
    return [pair for each in rows for pair in pairwise(each)]
