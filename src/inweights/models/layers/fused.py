"""Operations with hand-written gradients, which use fewer kernels than autograd does.

The duration of a small model's step depends mostly on the number of kernels that it
launches. :class:`~inweights.models.layers.LayerNorm` calls :func:`layer_norm`, the
GPT's attention calls :func:`attend_in_pairs`, and the one-layer transformer calls
:func:`mean_of_last`. Shapes: ``R`` replicas, ``S`` packed tokens, ``N`` pairs of
tokens, ``D`` width, ``H`` heads, ``n`` positions, ``K`` candidates, ``M`` hidden units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from inweights.worlds.arrays import Float


def layer_norm(
    x: Float[Tensor, "R S D"], weight: Float[Tensor, "R D"], bias: Float[Tensor, "R D"]
) -> Float[Tensor, "R S D"]:
    """Return states normalised over the width, scaled and shifted (Ba et al. 2016), with ε = 1e-5.

    Args:
        x: States, ``[R, S, D]`` (``R`` replicas, ``S`` tokens, width ``D``).
        weight: Gain of each replica, ``[R, D]``.
        bias: Bias of each replica, ``[R, D]``.

    Returns:
        The normalised states, ``[R, S, D]``.
    """
    out: Tensor = _LayerNorm.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return out


def attend_in_pairs(qkv: Float[Tensor, "N 2 _"], heads: int) -> Float[Tensor, "N 2 D"]:
    """Compute causal attention in sequences of two tokens.

    The first token attends only to itself. The attention weights of the second token
    are computed by a sigmoid of the difference between its two scores, which equals a
    softmax over the two scores.

    Args:
        qkv: Queries, keys and values side by side, ``[N, 2, 3 D]``.
        heads: Number of heads ``H``; it must divide ``D``.

    Returns:
        Concatenated outputs of the heads, ``[N, 2, D]``.
    """
    out: Tensor = _PairAttention.apply(qkv, heads)  # type: ignore[no-untyped-call]
    return out


def mean_of_last(x: Float[Tensor, "R n K M"]) -> Float[Tensor, "R n K"]:
    """Return the mean over the last axis, as ``x.mean(-1)`` does, with a faster gradient.

    Args:
        x: Tensor ``[R, n, K, M]``.

    Example:
        >>> mean_of_last(torch.tensor([[[[1.0, 3.0], [0.0, 1.0]]]])).tolist()
        [[[2.0, 0.5]]]
    """
    out: Tensor = _MeanOfLast.apply(x)  # type: ignore[no-untyped-call]
    return out


def _into(out: Tensor, operation: Callable[..., Tensor], *inputs: Tensor) -> None:
    """Write a result into a view; copy it there under ``torch.compile``, which requires that."""
    if torch.compiler.is_compiling():
        out.copy_(operation(*inputs))
    else:
        operation(*inputs, out=out)


class _LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        normal, mean, scale = torch.native_layer_norm(x, x.shape[-1:], None, None, 1e-5)
        ctx.save_for_backward(x, weight, normal, mean, scale)
        return torch.addcmul(bias.unsqueeze(1), normal, weight.unsqueeze(1))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, normal, mean, scale = ctx.saved_tensors
        given = grads[0]
        by_normal = given * weight.unsqueeze(1)
        by_x = torch.ops.aten.native_layer_norm_backward(
            by_normal, x, x.shape[-1:], mean, scale, None, None, [True, False, False]
        )[0]
        return by_x, torch.mul(given, normal, out=by_normal).sum(1), given.sum(1)


class _MeanOfLast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.shape = x.shape
        return x.mean(-1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        each = grads[0] / ctx.shape[-1]
        return each.unsqueeze(-1).expand(ctx.shape).contiguous()


class _PairAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, heads: int) -> Tensor:
        parts = qkv.unflatten(-1, (3, heads, -1))  # [N, 2, 3, H, D/H]
        query = parts[:, 1, 0]
        keys = parts[:, :, 1]
        values = parts[:, :, 2]
        key_difference = keys[:, 1] - keys[:, 0]
        score = (query * key_difference).sum(-1, keepdim=True)
        # The sigmoid is computed with tanh, because the kernel of torch.sigmoid rounds
        # the last entries of a tensor differently.
        share = score.mul_(0.5 / math.sqrt(query.shape[-1])).tanh_().mul_(0.5).add_(0.5)
        value_difference = values[:, 1] - values[:, 0]
        out = values.new_empty(values.shape)
        out[:, 0] = values[:, 0]
        _into(out[:, 1], torch.addcmul, values[:, 0], share, value_difference)
        ctx.save_for_backward(query, key_difference, share, value_difference)
        return out.flatten(2)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query, key_difference, share, value_difference = ctx.saved_tensors
        given = grads[0].unflatten(-1, query.shape[1:])  # [N, 2, H, D/H]
        first, second = given.unbind(1)
        by_share = (second * value_difference).sum(-1, keepdim=True)
        by_score = torch.ops.aten.sigmoid_backward(by_share, share)
        by_score.mul_(1.0 / math.sqrt(query.shape[-1]))
        out = query.new_empty(len(query), 2, 3, *query.shape[1:])
        out[:, 0, 0] = 0.0  # the first token attends only to itself
        _into(out[:, 1, 0], torch.mul, by_score, key_difference)
        _into(out[:, 1, 1], torch.mul, by_score, query)
        _into(out[:, 0, 1], torch.neg, out[:, 1, 1])
        _into(out[:, 1, 2], torch.mul, share, second)
        _into(out[:, 0, 2], torch.add, first, second)
        out[:, 0, 2].sub_(out[:, 1, 2])
        return out.flatten(2), None
