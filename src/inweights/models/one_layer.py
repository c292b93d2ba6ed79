"""The one-layer transformer of Feature Resemblance (§3.1, equations 1-3; ReLU of appendix A).

With ``X`` the embeddings of a prompt and ``x`` the embedding of its last token:

    ``h = W_V X softmax(Xᵀ W_KQ x)``,   ``F_k = (κ0 / m) Σ_r φ(⟨w_{k,r}, h⟩)``,

where ``φ`` is the identity or ReLU. There is no projection, residual stream or
normalisation; ``κ0`` represents the scale that a normalisation would set. A
:class:`~inweights.models.OneLayerConfig` builds a :class:`OneLayer`. Shapes: ``R``
replicas, ``S`` packed tokens, ``B`` sequences, ``T`` positions, ``D`` width, ``M``
width of the MLP (``m``), ``V`` tokens, ``K`` candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.models.layers import Draw, Layer, check_ids, rows_of
from inweights.models.layers.fused import mean_of_last
from inweights.models.packing import Packed, check_replicas, check_tokens
from inweights.models.tiny_nn import FrozenEmbedding
from inweights.worlds.arrays import Float, Int

if TYPE_CHECKING:
    from inweights.models.configs import OneLayerConfig


class Attention(Layer):
    """The matrices ``W_KQ``, ``[R, I, I]``, and ``W_V``, ``[R, I, D]``, for ``I`` input directions.

    ``key_query[r, s, t]`` is the score of direction ``s`` if the last token has
    direction ``t``. ``value`` is stored transposed: its row ``i`` is ``W_V e_i``.

    Args:
        replicas: Number of replicas ``R``.
        inputs: Number of directions ``I``.
        width: Width ``D`` of values, which is also the ``fan_in`` of the initial scale.
    """

    def __init__(self, replicas: int, inputs: int, width: int) -> None:
        """Create the two uninitialised matrices.

        Args:
            replicas: Number of replicas ``R``.
            inputs: Number of input directions ``I``.
            width: Width ``D`` of values, which is also the ``fan_in`` of the initial
                scale.
        """
        super().__init__()
        self.key_query = nn.Parameter(torch.empty(replicas, inputs, inputs))
        self.value = nn.Parameter(torch.empty(replicas, inputs, width))
        self._width = width

    def initialise(self, draw: Draw) -> None:
        """Draw ``W_KQ`` and ``W_V`` from a normal distribution, with the width ``D`` as ``fan_in``.

        Args:
            draw: Function that fills a parameter; see
                :class:`~inweights.models.layers.Draw`.
        """
        draw("key_query", self.key_query, self._width)
        draw("value", self.value, self._width)


class Hidden(Layer):
    """The weight vectors ``w`` of the MLP, ``M`` for each of ``K`` labels, ``[R, K, M, D]``.

    Args:
        replicas: Number of replicas ``R``.
        labels: Number of labels ``K``.
        hidden: Number ``M`` of vectors per label; 1 if the config sets ``mlp =
            "folded"``.
        width: Width ``D``.
    """

    def __init__(self, replicas: int, labels: int, hidden: int, width: int) -> None:
        """Create the uninitialised vectors.

        Args:
            replicas: Number of replicas ``R``.
            labels: Number of labels ``K``.
            hidden: Number ``M`` of vectors per label; 1 if the config sets ``mlp =
                "folded"``.
            width: Width ``D``.
        """
        super().__init__()
        self.weight = nn.Parameter(torch.empty(replicas, labels, hidden, width))

    def initialise(self, draw: Draw) -> None:
        """Draw the vectors from a normal distribution, with the width ``D`` as ``fan_in``.

        Args:
            draw: Function that fills a parameter; see
                :class:`~inweights.models.layers.Draw`.
        """
        draw("weight", self.weight, self.weight.shape[-1])


class OneLayer(Model):
    """The one-layer transformer of Feature Resemblance (§3.1): an attention layer and an MLP.

    Hidden states are ``value`` (``W_V x`` for every token ``x``) and ``attention`` (``h
    = W_V X softmax(Xᵀ W_KQ x)``). Position ``t`` attends to the tokens up to ``t``, as
    if it were the last. A phase of training can be limited to the parameters
    ``attention.*`` (stage 1 of Feature Resemblance, §4.1) or ``mlp.*`` (stage 2). With
    orthonormal embeddings, the matrices contain only the directions of the ``V``
    tokens, ``[R, V, V]`` and ``[R, V, D]``: inputs have no component in any other
    direction, so entries for other directions would have no effect and never change.
    Use :meth:`OneLayerConfig.build` to create a model with initial values; the
    constructor leaves the parameters uninitialised.

    Args:
        config: Settings of the architecture.
        vocabulary: Number of tokens ``V``.
        replicas: Number of replicas ``R``.
        candidates: Ids of the tokens that the head covers; by default all tokens.

    Raises:
        ConfigError: The embeddings are orthonormal, and the width is smaller than the
            number of tokens; the number of replicas or tokens is below 1; or a
            candidate is not a token or occurs twice.

    Example:
        >>> from inweights.models import OneLayerConfig
        >>> config = OneLayerConfig(width=16, hidden=4)
        >>> model = config.build(vocabulary=9, seeds=[0, 1], candidates=[4, 5, 6])
        >>> tuple(model(torch.tensor([[1, 2]])).shape), model.layer_names
        ((2, 1, 2, 3), ('value', 'attention'))
        >>> [name for name, _ in model.named_parameters()]
        ['attention.key_query', 'attention.value', 'mlp.weight']
    """

    def __init__(
        self,
        config: OneLayerConfig,
        *,
        vocabulary: int,
        replicas: int,
        candidates: Sequence[int] | None = None,
    ) -> None:
        """Create the uninitialised layers.

        :meth:`OneLayerConfig.build` creates and initialises a model.

        Args:
            config: Settings of the architecture.
            vocabulary: Number of tokens ``V``.
            replicas: Number of replicas ``R``.
            candidates: Ids of the tokens that the head covers; by default all tokens.

        Raises:
            ConfigError: The embeddings are orthonormal, and the width is smaller than
                the number of tokens; the number of replicas or tokens is below 1; or a
                candidate is not a token or occurs twice.
        """
        super().__init__(replicas, vocabulary, candidates)
        if config.embedding == "orthonormal" and vocabulary > config.width:
            raise ConfigError(
                f"one-layer.width: {vocabulary} tokens cannot have orthonormal embeddings in a "
                f"width of {config.width}; increase the width, or use embedding = 'gaussian'"
            )
        self.config = config
        hidden = 1 if config.mlp == "folded" else config.hidden
        gaussian = config.embedding == "gaussian"
        inputs = config.width if gaussian else vocabulary
        self.attention = Attention(replicas, inputs, config.width)
        self.mlp = Hidden(replicas, len(self.candidates), hidden, config.width)
        self.tokens = (
            FrozenEmbedding(replicas, vocabulary, config.width) if gaussian else None
        )

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states, from shallow to deep: ``value`` and ``attention``."""
        return ("value", "attention")

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Compute the states ``value`` and ``attention`` of a batch, ``[R, S, D]``, keyed by name.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.

        Raises:
            DataError: A token id is outside the vocabulary (checked only on the CPU).
        """
        tokens = batch.tokens
        check_ids(tokens, self.vocabulary)
        value = self.hook("value", self._values(tokens))
        sizes = [b * t for b, t in batch.shapes]
        # For a single group, `split` is avoided, because its gradient would be a copy.
        parts = value.split(sizes, dim=1) if len(sizes) > 1 else (value,)
        groups = zip(tokens.split(sizes, dim=-1), parts, batch.shapes, strict=True)
        mixed = []
        for ids, own, (count, length) in groups:
            # A single token attends only to itself, with weight 1.
            alone = length == 1
            pairs = ids.unflatten(-1, (count, length))
            mixed.append(own if alone else self._mix(pairs, own))
        whole = mixed[0] if len(mixed) == 1 else torch.cat(mixed, dim=1)
        return {"value": value, "attention": self.hook("attention", whole)}

    @property
    def head_matrix(self) -> None:
        """Always ``None``: logits are computed by ``mlp``, not by the embeddings."""
        return None

    def unembed(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n K"]:
        """Return the logits ``[R, n, K]`` of the state ``attention``, computed by the MLP.

        Args:
            state: The deepest state, ``[R, n, D]`` (``R`` replicas, ``n`` positions,
                width ``D``).
        """
        kappa = self.config.kappa
        weight = self.mlp.weight
        if self.config.mlp == "folded":
            scale = kappa * self.config.hidden**-0.5
            return torch.bmm(state, weight[:, :, 0].mT) * scale
        if self.config.mlp == "linear":  # averaging first is m times cheaper
            return torch.bmm(state, weight.mean(2).mT) * kappa
        inner = torch.bmm(state, weight.flatten(1, 2).mT)  # [R, n, K·M]
        return mean_of_last(inner.relu().unflatten(2, weight.shape[1:3])) * kappa

    def attention_patterns(
        self, tokens: Int[Tensor, "*R B T"]
    ) -> dict[str, Float[Tensor, "R B H T T"]]:
        """Compute the attention of every position, ``{"attention": [R, B, 1, T, T]}``.

        Row ``t`` contains the attention of position ``t`` to all positions. It sums to 1
        and is 0 at later positions. There is one head.

        Args:
            tokens: Token ids ``[B, T]`` (``B`` sequences of ``T`` tokens), or ``[R, B,
                T]`` if the ``R`` replicas read different tokens.

        Raises:
            DataError: ``tokens`` are not such a tensor of integers, or an id is not in
                the model's vocabulary (the latter is checked only on the CPU).
        """
        self._check(tokens)
        weights = self._weights(tokens).mT  # [R, B, t, s]
        return {"attention": weights.unsqueeze(2)}

    def scores(self, tokens: Int[Tensor, "*R B T"]) -> Float[Tensor, "R B T"]:
        """Compute ``softmax(Xᵀ W_KQ x)``, the attention of the last token ``x`` to all tokens.

        Args:
            tokens: Token ids ``[B, T]`` (``B`` sequences of ``T`` tokens), or ``[R, B,
                T]`` if the ``R`` replicas read different tokens.

        Returns:
            Attention to each position, ``[R, B, T]``; it sums to 1 over ``T``.

        Raises:
            DataError: ``tokens`` are not such a tensor of integers, or an id is not in
                the model's vocabulary (the latter is checked only on the CPU).
        """
        self._check(tokens)
        return self._weights(tokens)[..., -1]

    def _check(self, tokens: Tensor) -> None:
        check_tokens(tokens)
        check_replicas(tokens, self.replicas)
        check_ids(tokens, self.vocabulary)

    def _values(self, tokens: Tensor) -> Tensor:
        """Return ``W_V x`` of every token, ``[R, S, D]``."""
        if self.tokens is not None:
            return torch.bmm(self.tokens(tokens), self.attention.value)
        return rows_of(self.attention.value, tokens)

    def _weights(self, tokens: Tensor) -> Tensor:
        """Return the attention of every position, ``[R, B, T (attended), T (attending)]``."""
        length = tokens.shape[-1]
        if self.tokens is None:
            # Embeddings are unit vectors, so the logits are single entries of W_KQ.
            pairs = tokens.unsqueeze(-1) * self.vocabulary + tokens.unsqueeze(-2)
            flat = pairs.flatten(-3).expand(self.replicas, -1)
            logits = self.attention.key_query.flatten(1).gather(1, flat)
            logits = logits.unflatten(1, pairs.shape[-3:])
        else:
            x = self.tokens(tokens.flatten(-2))
            keys = torch.bmm(x, self.attention.key_query)
            keys = keys.unflatten(1, tokens.shape[-2:])
            logits = keys @ x.unflatten(1, tokens.shape[-2:]).mT
        every = torch.ones(length, length, dtype=torch.bool, device=logits.device)
        later = every.tril(-1)  # rows are attended to; columns attend
        return logits.masked_fill(later, -torch.inf).softmax(-2)

    def _mix(self, tokens: Tensor, value: Tensor) -> Tensor:
        """Return ``h`` at every position of a group of sequences, ``[R, B·T, D]``."""
        weights = self._weights(tokens)  # [R, B, s, t]
        inner = value.unflatten(1, tokens.shape[-2:])  # [R, B, s, D]
        return (weights.mT @ inner).flatten(1, 2)
