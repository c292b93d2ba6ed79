"""Blocks of a GPT, :class:`Block`, and the memory that they may read, :class:`Memory`.

:class:`~inweights.models.GPT` consists of them. Shapes: ``R`` replicas, ``S`` packed
tokens, ``B`` sequences, ``T`` positions, ``D`` width, ``H`` heads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from inweights.models.layers.attention import attend_causally, attend_uniformly
from inweights.models.layers.dense import LayerNorm, Linear
from inweights.models.layers.dropout import Dropout
from inweights.worlds.arrays import Float, Int

if TYPE_CHECKING:
    from inweights.models.configs import GPTConfig

#: Function of the name and the output of a part of a block, ``[R, S, D]``, that returns
#: a replacement of the same shape.
PartHook = Callable[[str, Tensor], Tensor]


class Memory(nn.Module):
    """Memory of trained keys and values, which every state reads by attention.

    Args:
        config: Settings of the GPT: ``memory`` is the number of slots, ``width`` the
            width of keys and values.
        replicas: Number of replicas ``R``.
    """

    def __init__(self, config: GPTConfig, replicas: int) -> None:
        """Create the uninitialised keys and values.

        Args:
            config: Settings of the GPT; ``memory`` is the number of slots.
            replicas: Number of replicas ``R``.
        """
        super().__init__()
        width = config.width
        self.norm = LayerNorm(replicas, width) if config.norm else nn.Identity()
        self.keys = Linear(replicas, width, config.memory, bias=False)
        self.values = Linear(replicas, config.memory, width, bias=False)

    def forward(self, x: Float[Tensor, "R S D"]) -> Float[Tensor, "R S D"]:
        """Return the vector that each state reads from the memory, ``[R, S, D]``.

        The vector is a weighted mean of the memory's trained values. The weights are
        the softmax of the products of the normalised state with the trained keys.

        Args:
            x: States, ``[R, S, D]`` (``R`` replicas, ``S`` tokens, width ``D``).
        """
        return self.values(self.keys(self.norm(x)).softmax(-1))


class Block(nn.Module):
    """One pre-norm block of a GPT: attention, then an MLP of hidden width ``4 D``.

    Args:
        config: Settings of the GPT.
        replicas: Number of replicas ``R``.
    """

    def __init__(self, config: GPTConfig, replicas: int) -> None:
        """Create the uninitialised layers of the block.

        Args:
            config: Settings of the GPT.
            replicas: Number of replicas ``R``.
        """
        super().__init__()
        width = config.width
        self.config = config
        norm = (lambda: LayerNorm(replicas, width)) if config.norm else nn.Identity
        self.norm1 = norm()
        if config.attention == "causal":
            self.qkv = Linear(replicas, width, 3 * width)
        elif config.attention == "uniform":
            self.qkv = Linear(replicas, width, width)
        # Layers that write to the residual stream have smaller initial weights (Radford
        # et al. 2019, §2.3).
        shrink = math.sqrt(2 * config.layers) if config.depth_scaled else 1.0
        attends = config.attention != "none"
        self.out = Linear(replicas, width, width, shrink=shrink) if attends else None
        self.norm2 = norm()
        self.up = Linear(replicas, width, 4 * width)
        self.down = Linear(replicas, 4 * width, width, shrink=shrink)
        self.drop1 = Dropout(config.dropout)
        self.drop2 = Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "R S D"],
        shapes: tuple[tuple[int, int], ...],
        at: Int[Tensor, " n"] | None = None,
        hook: PartHook = lambda _, state: state,
    ) -> Float[Tensor, "R _ D"]:
        """Compute the state after the block, at all packed tokens or at the given indices.

        Args:
            x: The state before the block, ``[R, S, D]`` (``R`` replicas, ``S`` tokens,
                width ``D``).
            shapes: ``(B, T)``, the number and length of the sequences of each group
                along ``S``, as in :class:`Packed`.
            at: Indices in ``S`` at which the state is computed, ``[n]``; by default all
                of them.
            hook: Function that is called as ``hook(name, output)`` with the output
                ``[R, n, D]`` of each part (``heads``, ``attention`` and ``mlp``) and
                returns its replacement. By default nothing is replaced.

        Returns:
            The state: ``[R, n, D]`` if ``at`` is given, otherwise ``[R, S, D]``.
        """
        mixed = None if self.out is None else self._mix(self.qkv(self.norm1(x)), shapes)
        if at is not None:
            x = x.index_select(1, at)
            mixed = None if mixed is None else mixed.index_select(1, at)
        if self.out is not None and mixed is not None:
            attended = hook("attention", self.out(hook("heads", mixed)))
            x = self._add(x, self.drop1(attended))
        added = self.down(F.gelu(self.up(self.norm2(x))))
        return self._add(x, self.drop2(hook("mlp", added)))

    def pattern(
        self, x: Float[Tensor, "R S D"], batch: int, length: int
    ) -> Float[Tensor, "R B H T T"]:
        """Compute the attention patterns of the ``H`` heads of a block, ``[R, B, H, T, T]``.

        The block must have attention, which is not checked.

        Args:
            x: The state before the block, ``[R, B T, D]`` (``R`` replicas, width
                ``D``), with the sequences one after another along the second axis.
            batch: Number of sequences ``B``.
            length: Number of positions ``T``.
        """
        heads = self.config.heads
        visible = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        if self.config.attention == "uniform":
            mean = visible / visible.sum(-1, keepdim=True)
            return mean.expand(len(x), batch, heads, -1, -1)
        projected = self.qkv(self.norm1(x)).unflatten(1, (batch, length))
        split = projected.unflatten(-1, (3, heads, -1))
        q, k, _ = split.movedim(-2, 2).unbind(-2)  # each [R, B, H, T, D/H]
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return scores.masked_fill(~visible, -torch.inf).softmax(-1)

    def _add(self, x: Tensor, update: Tensor) -> Tensor:
        return x + update if self.config.residual else update

    def _mix(self, projected: Tensor, shapes: tuple[tuple[int, int], ...]) -> Tensor:
        """Return the output of attention within each group of sequences of equal length."""
        mix = attend_causally if self.config.attention == "causal" else attend_uniformly
        groups = projected.split([b * t for b, t in shapes], dim=1)
        mixed = []
        for group, shape in zip(groups, shapes, strict=True):
            attended = mix(group.unflatten(1, shape), self.config.heads)
            mixed.append(attended.flatten(1, 2))
        # Usually there is only one group, for which `cat` would be a needless copy.
        return torch.cat(mixed, dim=1) if len(mixed) > 1 else mixed[0]
