"""Attention of a GPT between positions: :func:`attend_causally` and :func:`attend_uniformly`.

The blocks of ``gpt.py`` call them for each group of sequences of one length. Shapes:
``R`` replicas, ``B`` sequences, ``T`` positions, ``D`` width, ``H`` heads.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from inweights.models.layers.fused import attend_in_pairs
from inweights.worlds.arrays import Float

# Up to this length, attending from one position at a time with element-wise products is
# faster on a CPU than a kernel that is made for long sequences.
_SHORT = 4


def attend_causally(
    qkv: Float[Tensor, "R B T _"], heads: int
) -> Float[Tensor, "R B T D"]:
    """Compute causal scaled dot-product self-attention.

    Args:
        qkv: Queries, keys and values side by side, ``[R, B, T, 3 D]``.
        heads: Number of heads ``H``; it must divide ``D``.

    Returns:
        Concatenated outputs of the heads, ``[R, B, T, D]``.
    """
    replicas, batch, length, _ = qkv.shape
    # Most statements of a world have two tokens, for which there is a special kernel. A
    # single token attends only to itself.
    if length == 2:
        return attend_in_pairs(qkv.flatten(0, 1), heads).unflatten(0, (replicas, batch))
    # Each tensor: [R·B, T, H, D/H].
    q, k, v = qkv.unflatten(-1, (3, heads, -1)).flatten(0, 1).unbind(2)
    if length == 1:
        return v.reshape(replicas, batch, 1, -1)
    if length > _SHORT:
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
    else:
        q = q * (1.0 / math.sqrt(q.shape[-1]))
        rows = [v[:, 0]]
        for t in range(1, length):
            weights = (q[:, t : t + 1] * k[:, : t + 1]).sum(-1).softmax(1)
            rows.append((weights.unsqueeze(-1) * v[:, : t + 1]).sum(1))
        mixed = torch.stack(rows, dim=1)
    return mixed.reshape(replicas, batch, length, -1)


def attend_uniformly(
    v: Float[Tensor, "R B T D"], heads: int
) -> Float[Tensor, "R B T D"]:
    """Return the mean of the values up to each position, ``[R, B, T, D]``.

    Args:
        v: Values at every position, ``[R, B, T, D]``.
        heads: Ignored, since the mean is the same for every head; accepted so that the
            signature matches :func:`attend_causally`.
    """
    del heads
    counts = torch.arange(1, v.shape[2] + 1, device=v.device, dtype=v.dtype)
    return v.cumsum(2) / counts.view(1, 1, -1, 1)


def sinusoids(positions: int, width: int) -> Float[Tensor, "T D"]:
    """Return sinusoidal position embeddings, float32 ``[T, D]`` (Vaswani et al. 2017, §3.5).

    Args:
        positions: Number of positions ``T``.
        width: Width ``D``; even coordinates are sines, odd ones cosines.
    """
    # On the device `meta`, on which parameters are counted, the first of these
    # operations would import further torch modules, which takes about a second.
    with torch.device("cpu"):
        even = torch.arange(0, width, 2)
        frequencies = torch.exp(even * (-math.log(10_000.0) / width))
        angles = torch.arange(positions).unsqueeze(1) * frequencies
        waves = torch.zeros(positions, width)
    waves[:, 0::2] = angles.sin()
    waves[:, 1::2] = angles.cos()[:, : width // 2]
    return waves
