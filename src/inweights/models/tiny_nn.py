"""TinyNN: one linear layer between tied embeddings (Geometric Memory B.2.2, B.5).

``logits = (E Wᵀ + b) Eᵀ``, without activation or residual connection. Each position
sees only its own token. With frozen embeddings, ``W`` must store all facts (the
associative variant). Shapes: ``R`` replicas, ``S`` packed tokens, ``D`` width, ``V``
tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from inweights.models.base import Model
from inweights.models.layers import Draw, Embedding, Layer, Linear
from inweights.models.layers.dropout import Dropout
from inweights.models.packing import Packed
from inweights.worlds.arrays import Float

if TYPE_CHECKING:
    from inweights.models.configs import TinyNNConfig


class FrozenEmbedding(Embedding):
    """Table of token vectors that is never trained: a buffer, not a parameter.

    Its initial values equal those of an :class:`Embedding` with the same name and seed.
    They are undefined until :meth:`initialise` draws them.

    Args:
        replicas: Number of replicas ``R``.
        tokens: Number of tokens ``V``.
        width: Width ``D``.
    """

    def __init__(self, replicas: int, tokens: int, width: int) -> None:
        """Create the uninitialised table, ``[R, V, D]``.

        Args:
            replicas: Number of replicas ``R``.
            tokens: Number of tokens ``V``.
            width: Width ``D``.
        """
        Layer.__init__(self)
        self.register_buffer("weight", torch.empty(replicas, tokens, width))

    def initialise(self, draw: Draw) -> None:
        """Draw the vectors from a normal distribution, with the width as ``fan_in``.

        Args:
            draw: Function that fills a tensor; see
                :class:`~inweights.models.layers.Draw`.
        """
        # The weight is a buffer rather than a parameter, which `draw` fills in the same
        # way.
        draw("weight", cast(Any, self.weight), self.weight.shape[2])


class TinyNN(Model):
    """One linear layer between tied embeddings: its logits are ``(E Wᵀ + b) Eᵀ``.

    Its hidden states are ``embedding`` (``E``) and ``middle`` (``E Wᵀ + b``). Use
    :meth:`TinyNNConfig.build` to create a model with initial values; the constructor
    leaves the parameters uninitialised.

    Args:
        config: Settings of the architecture.
        vocabulary: Number of tokens ``V``.
        replicas: Number of replicas ``R``.

    Raises:
        ConfigError: The number of replicas or tokens is below 1.

    Example:
        >>> from inweights.models import TinyNNConfig
        >>> model = TinyNNConfig(width=8, frozen=True).build(vocabulary=9, seeds=[0, 1])
        >>> tuple(model(torch.tensor([[1], [2]])).shape)
        (2, 2, 1, 9)
        >>> [name for name, _ in model.named_parameters()]
        ['middle.weight', 'middle.bias']
    """

    def __init__(self, config: TinyNNConfig, *, vocabulary: int, replicas: int) -> None:
        """Create the uninitialised layers.

        :meth:`TinyNNConfig.build` creates and initialises a model.

        Args:
            config: Settings of the architecture.
            vocabulary: Number of tokens ``V``.
            replicas: Number of replicas ``R``.

        Raises:
            ConfigError: The number of replicas or tokens is below 1.
        """
        super().__init__(replicas, vocabulary)
        self.config = config
        embedding = FrozenEmbedding if config.frozen else Embedding
        self.tokens = embedding(replicas, vocabulary, config.width)
        self.middle = Linear(replicas, config.width, config.width)
        self.drop = Dropout(config.dropout)

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states, from shallow to deep: ``embedding`` and ``middle``."""
        return ("embedding", "middle")

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Compute the states ``embedding`` and ``middle`` of a batch, ``[R, S, D]``, keyed by name.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.

        Raises:
            DataError: A token id is outside the vocabulary (checked only on the CPU).
        """
        x = self.hook("embedding", self.tokens(batch.tokens))
        return {
            "embedding": x,
            "middle": self.hook("middle", self.drop(self.middle(x))),
        }
