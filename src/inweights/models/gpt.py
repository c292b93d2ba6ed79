"""GPT-2 with a replica axis: pre-norm blocks, causal attention, GELU (Identity Bridge, B.1).

A :class:`~inweights.models.GPTConfig` builds a :class:`GPT`; its variants (loops,
memory, uniform attention, no residual stream) are settings. Shapes: ``R`` replicas,
``S`` packed tokens, ``B`` sequences, ``T`` positions, ``D`` width, ``H`` heads, ``K``
candidates.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, cast

from torch import Tensor, nn

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.models.layers import Embedding, LayerNorm, Linear
from inweights.models.layers.attention import sinusoids
from inweights.models.layers.blocks import Block, Memory
from inweights.models.packing import Packed
from inweights.worlds.arrays import Float, Int

if TYPE_CHECKING:
    from inweights.models.configs import GPTConfig


class GPT(Model):
    """GPT-2 that computes next-token logits for ``R`` replicas in the same forward pass.

    Use :meth:`GPTConfig.build` to create a model whose initial values are drawn from
    one seed per replica; the constructor leaves the parameters uninitialised. Hidden
    states are ``embedding``, ``block.i`` and ``final``. With several loops (Dehghani et
    al. 2018), ``i`` counts the applications of blocks: in a model of two blocks,
    ``block.3`` is the second block in the second loop.

    Args:
        config: Settings of the architecture and of the initial scale.
        vocabulary: Number of tokens ``V``; ids of tokens are 0 to ``V - 1``.
        replicas: Number of independent models ``R``, the first axis of every parameter.

    Attributes:
        loops: Number of loops, which may be changed after training. The current number
            is stored when the model is saved.

    Raises:
        ConfigError: The number of replicas or tokens is below 1. A call of the model
            raises it if a sequence is longer than ``config.context``.

    Example:
        >>> import torch
        >>> from inweights.models import GPTConfig
        >>> model = GPTConfig(layers=2, width=16).build(vocabulary=9, seeds=[0, 1, 2])
        >>> tuple(model(torch.tensor([[1, 2], [3, 4]])).shape)
        (3, 2, 2, 9)
    """

    waves: Float[Tensor, "T D"]

    def __init__(self, config: GPTConfig, *, vocabulary: int, replicas: int) -> None:
        """Create the uninitialised layers.

        :meth:`GPTConfig.build` creates and initialises a model.

        Args:
            config: Settings of the architecture and of the initial scale.
            vocabulary: Number of tokens ``V``.
            replicas: Number of replicas ``R``.

        Raises:
            ConfigError: The number of replicas or tokens is below 1.
        """
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
        """Names of the hidden states: ``embedding``, ``block.0``, ``block.1``, ..., ``final``."""
        return ("embedding", *(f"block.{i}" for i in range(len(self.passes))), "final")

    @property
    def part_names(self) -> tuple[str, ...]:
        """Names of parts that hooks can replace, such as ``block.0.heads`` or ``block.0.mlp``.

        ``heads`` are the concatenated outputs of all heads; ``attention`` and ``mlp``
        are the outputs that these parts add to the residual stream. A model without
        attention has only ``mlp``.
        """
        attends = self.config.attention != "none"
        parts = ("heads", "attention", "mlp") if attends else ("mlp",)
        blocks = range(len(self.passes))
        return tuple(f"block.{i}.{part}" for i, part in product(blocks, parts))

    @property
    def passes(self) -> list[nn.Module]:
        """All blocks in the order of their application; each loop applies every block once."""
        return [*self.blocks] * self.loops

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Compute every hidden state of a batch, ``[R, S, D]``, keyed by layer name.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.

        Raises:
            ConfigError: A sequence is longer than ``config.context``.
            DataError: A token id is outside the vocabulary (checked only on the CPU).
        """
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
        """Return the input of pass ``i``, plus the embedding if a further loop begins there."""
        loop_begins = i > 0 and i % len(self.blocks) == 0
        return x + embedding if self.config.inject and loop_begins else x

    def _recalled(self, x: Tensor) -> Tensor:
        """Return the state after a block, plus the output of the memory if the model has one."""
        return x if self.memory is None else x + self.memory(x)

    def _part(self, block: int, name: str, state: Tensor) -> Tensor:
        return self.hook(f"block.{block}.{name}", state)

    def deepest(
        self, batch: Packed, at: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "R _ D"]:
        """Compute the state ``final``, which :meth:`unembed` maps to logits.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.
            at: Indices in the packed axis ``S`` at which the state is computed,
                ``[n]``; by default all of them.

        Returns:
            The state: ``[R, n, D]`` if ``at`` is given, otherwise ``[R, S, D]``.

        Raises:
            ConfigError: A sequence is longer than ``config.context``.
            DataError: A token id is outside the vocabulary (checked only on the CPU).
            RuntimeError: An index in ``at`` is not between 0 and ``S - 1``.
        """
        if self._edits or at is None or len(at) == batch.size:
            return super().deepest(batch, at)
        x = embedding = self._embed(batch)
        passes = self.passes
        for i, block in enumerate(passes):
            # The last block computes only the positions `at`, since no later block
            # reads the others.
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
        """Return a state after the norm that precedes the head, ``[R, n, D]``.

        The state is unchanged if the config sets ``norm=False``.

        Args:
            state: State of any layer, ``[R, n, D]`` (``R`` replicas, ``n`` positions,
                width ``D``).
        """
        return self.norm(state)

    def attention_patterns(
        self, tokens: Int[Tensor, "*R B T"]
    ) -> dict[str, Float[Tensor, "R B H T T"]]:
        """Compute the attention patterns of every block, ``[R, B, H, T, T]``.

        Args:
            tokens: Token ids ``[B, T]`` (``B`` sequences of ``T`` tokens), or ``[R, B,
                T]`` if the ``R`` replicas read different tokens.

        Returns:
            The patterns of all ``H`` heads, keyed by the name of the state after the
            block, such as ``block.0``. Each row contains the attention of one position
            to all positions (columns). A row sums to 1 and is 0 at later positions.

        Raises:
            ConfigError: The config sets ``attention = "none"``, or the sequences are
                longer than ``config.context``.
            DataError: ``tokens`` are not such a tensor of integers, or an id is not in
                the model's vocabulary (the latter is checked only on the CPU).
        """
        if self.config.attention == "none":
            raise ConfigError("a GPT with attention = 'none' has no attention patterns")
        # The input of block i is the state after the block before it.
        before = list(self.states(self._packed(tokens)).values())
        blocks = cast("Iterable[Block]", self.passes)
        batch, length = tokens.shape[-2:]
        patterns = {}
        for i, (block, x) in enumerate(zip(blocks, before, strict=False)):
            read = self._injected(i, x, before[0])
            patterns[f"block.{i}"] = block.pattern(read, batch, length)
        return patterns
