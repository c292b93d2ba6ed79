"""GPT-2 with a replica axis: pre-norm blocks, causal attention, GELU (Identity Bridge, B.1).

A :class:`~inweights.models.GPTConfig` builds a :class:`GPT`; its variants (loops,
memory, uniform attention, no residual stream) are settings. Shapes: ``R`` replicas,
``S`` packed tokens, ``B`` sequences, ``T`` positions, ``D`` width, ``H`` heads, ``K``
candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.models.layers import Embedding, LayerNorm, Linear
from inweights.models.layers.attention import (
    attend_causally,
    attend_uniformly,
    sinusoids,
)
from inweights.models.layers.dropout import Dropout
from inweights.models.packing import Packed, pack
from inweights.worlds.arrays import Float, Int

if TYPE_CHECKING:
    from inweights.models.configs import GPTConfig

#: Replaces the output of a part of a block, given its name: ``[R, S, D]`` to the same shape.
PartHook = Callable[[str, Tensor], Tensor]


class GPT(Model):
    """Compute next-token logits by a GPT-2; its ``R`` replicas train as one tensor program.

    :meth:`GPTConfig.build` makes a model and draws its initial values from one seed per
    replica; ``GPT(...)`` leaves them uninitialised. Hidden states are ``embedding``,
    ``block.i`` and ``final``. With several loops (Dehghani et al. 2018), ``i`` counts
    passes, so that ``block.3`` of two blocks is the second block in the second loop.

    Args:
        config: Settings of the architecture and of the initial scale.
        vocabulary: Number of tokens ``V``; ids of tokens are 0 to ``V - 1``.
        replicas: Number of independent models ``R``, the first axis of every parameter.

    Attributes:
        loops: Number of loops; may be changed after training.

    Raises:
        ConfigError: In a call: a sequence is longer than ``config.context``.

    Example:
        >>> from inweights.models import GPTConfig
        >>> model = GPTConfig(layers=2, width=16).build(vocabulary=9, seeds=[0, 1, 2])
        >>> tuple(model(torch.tensor([[1, 2], [3, 4]])).shape)
        (3, 2, 2, 9)
    """

    waves: Float[Tensor, "T D"]

    def __init__(self, config: GPTConfig, *, vocabulary: int, replicas: int) -> None:
        super().__init__(replicas, vocabulary)
        self.config = config
        self.loops = config.loops
        self.context = None if config.positions == "none" else config.context
        self.tokens = Embedding(replicas, vocabulary, config.width)
        self.positions: Embedding | None = None
        if config.positions == "learned":
            self.positions = Embedding(replicas, config.context, config.width)
        elif config.positions == "sinusoidal":
            waves = sinusoids(config.context, config.width)
            self.register_buffer("waves", waves, persistent=False)
        blocks = [Block(config, replicas) for _ in range(config.layers)]
        self.blocks = nn.ModuleList(blocks)
        self.memory = Memory(config, replicas) if config.memory else None
        self.norm = LayerNorm(replicas, config.width) if config.norm else nn.Identity()
        self.head: Linear | None = None
        if not config.tied:
            self.head = Linear(replicas, config.width, vocabulary, bias=False)

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states, from shallow to deep."""
        return ("embedding", *(f"block.{i}" for i in range(len(self.passes))), "final")

    @property
    def part_names(self) -> tuple[str, ...]:
        """Names of the outputs of heads (``block.0.heads``, side by side), attention and MLP."""
        attends = self.config.attention != "none"
        parts = ("heads", "attention", "mlp") if attends else ("mlp",)
        blocks = range(len(self.passes))
        return tuple(f"block.{i}.{part}" for i, part in product(blocks, parts))

    @property
    def passes(self) -> list[nn.Module]:
        """The blocks in the order in which a sequence passes through them."""
        return [*self.blocks] * self.loops

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Return every hidden state of a batch, ``[R, S, D]`` each, by layer name."""
        x = self.hook("embedding", self._embed(batch))
        states = {"embedding": x}
        for i, block in enumerate(self.passes):
            x = self._injected(i, x, states["embedding"])
            x = self._recalled(block(x, batch.shapes, hook=partial(self._part, i)))
            x = self.hook(f"block.{i}", x)
            states[f"block.{i}"] = x
        states["final"] = self.hook("final", self.norm(x))
        return states

    def _injected(self, i: int, x: Tensor, embedding: Tensor) -> Tensor:
        """Return the input of pass ``i``: with the embedding added where a further loop begins."""
        loop_begins = i > 0 and i % len(self.blocks) == 0
        return x + embedding if self.config.inject and loop_begins else x

    def _recalled(self, x: Tensor) -> Tensor:
        """Return the state after a block, with the output of the memory, if there is one."""
        return x if self.memory is None else x + self.memory(x)

    def _part(self, block: int, name: str, state: Tensor) -> Tensor:
        return self.hook(f"block.{block}.{name}", state)

    def deepest(
        self, batch: Packed, at: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "R _ D"]:
        """Compute the state that :meth:`unembed` reads.

        Args:
            batch: Packed sequences of every replica, ``S`` tokens in total.
            at: Indices of the ``n`` requested packed tokens; by default all.

        Returns:
            ``[R, n, D]``, or ``[R, S, D]``.
        """
        if self._edits or at is None or len(at) == batch.size:
            return super().deepest(batch, at)
        x = embedding = self._embed(batch)
        passes = self.passes
        for i, block in enumerate(passes):
            # The last block is computed at the positions ``at`` only: nothing reads the
            # others.
            x = self._injected(i, x, embedding)
            wanted = at if i + 1 == len(passes) else None
            x = self._recalled(block(x, batch.shapes, wanted))
        return self.norm(x)

    def _embed(self, batch: Packed) -> Tensor:
        """Return the sum of token and position embeddings, ``[R, S, D]``."""
        longest = max(length for _, length in batch.shapes)
        if longest > self.config.context:
            raise ConfigError(
                f"a sequence of {longest} tokens is longer than gpt.context = {self.config.context}"
            )
        x = self.tokens(batch.tokens)
        if self.positions is not None:
            return x + self.positions(batch.positions)
        if self.config.positions == "sinusoidal":
            return x + self.waves[batch.positions]
        return x

    def final_norm(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n D"]:
        """Return a state ``[R, n, D]`` after the norm that precedes the head."""
        return self.norm(state)

    def attention_patterns(
        self, tokens: Int[Tensor, "*R B T"]
    ) -> dict[str, Float[Tensor, "R B H T T"]]:
        """Return attention patterns ``[R, B, H, T, T]`` by layer name; each row sums to 1."""
        if self.config.attention == "none":
            raise ConfigError("a GPT with attention = 'none' has no attention patterns")
        # The state before block i is the one after the block before it.
        before = list(self.states(pack([tokens])).values())
        blocks = cast("Iterable[Block]", self.passes)
        batch, length = tokens.shape[-2:]
        patterns = {}
        for i, (block, x) in enumerate(zip(blocks, before, strict=False)):
            read = self._injected(i, x, before[0])
            patterns[f"block.{i}"] = block.pattern(read, batch, length)
        return patterns


class Memory(nn.Module):
    """Read a memory of keys and values, the same for every sequence, by attention.

    Args:
        config: ``memory`` is the number of slots, ``width`` that of keys and values.
        replicas: Number of replicas ``R``.
    """

    def __init__(self, config: GPTConfig, replicas: int) -> None:
        super().__init__()
        width = config.width
        self.norm = LayerNorm(replicas, width) if config.norm else nn.Identity()
        self.keys = Linear(replicas, width, config.memory, bias=False)
        self.values = Linear(replicas, config.memory, width, bias=False)

    def forward(self, x: Float[Tensor, "R S D"]) -> Float[Tensor, "R S D"]:
        """Return the mean of the values, weighted by the softmax of each state's scores."""
        return self.values(self.keys(self.norm(x)).softmax(-1))


class Block(nn.Module):
    """One pre-norm block: attention, then an MLP of hidden width ``4 D``.

    Args:
        config: Settings of the GPT.
        replicas: Number of replicas ``R``.
    """

    def __init__(self, config: GPTConfig, replicas: int) -> None:
        super().__init__()
        width = config.width
        self.config = config
        norm = (lambda: LayerNorm(replicas, width)) if config.norm else nn.Identity
        self.norm1 = norm()
        if config.attention == "causal":
            self.qkv = Linear(replicas, width, 3 * width)
        elif config.attention == "uniform":
            self.qkv = Linear(replicas, width, width)
        # Writes into the residual stream start smaller (Radford et al. 2019, §2.3).
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
        """Compute the state after the block.

        Args:
            x: The state before it.
            shapes: ``(B, T)`` of each group of the packed axis, as in :class:`Packed`.
            at: Indices in ``S`` at which the state is computed; by default all of them.
            hook: ``hook(name, output)`` returns what replaces the output of a part:
                ``heads``, ``attention`` or ``mlp``. By default nothing is replaced.

        Returns:
            ``[R, len(at), D]``, or ``[R, S, D]``.
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
        """Compute the block's attention patterns, ``[R, B, H, T, T]``.

        Args:
            x: The state before the block: ``batch`` sequences of ``length`` tokens
                each, packed.
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
        # One group is common, and a copy of it would cost a kernel.
        return torch.cat(mixed, dim=1) if len(mixed) > 1 else mixed[0]
