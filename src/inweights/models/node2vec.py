"""Node2Vec with one hop and a full softmax (Geometric Memory §4, B.2.2, appendix F).

``logits = V Vᵀ`` (tied) or ``V Uᵀ`` (untied): two linear layers without anything
between them. The softmax is over all nodes, including the node itself.
:class:`~inweights.training.Descent` trains it without autograd
(:mod:`inweights.theory.geometric_memory.node2vec`). Shapes: ``R`` replicas, ``S``
packed tokens, ``D`` width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from inweights.models.base import Model
from inweights.models.layers import Embedding
from inweights.models.packing import Packed
from inweights.worlds.arrays import Float

if TYPE_CHECKING:
    from inweights.models.configs import Node2VecConfig


class Node2Vec(Model):
    """Node2Vec with one hop and a full softmax: its logits are inner products of node vectors.

    The states ``embedding`` and ``final`` both equal the vector of the input token. Use
    :meth:`Node2VecConfig.build` to create a model with initial values; the constructor
    leaves the parameters uninitialised.

    Args:
        config: Settings of the architecture.
        vocabulary: Number of tokens ``V``.
        replicas: Number of replicas ``R``.

    Raises:
        ConfigError: The number of replicas or tokens is below 1.

    Example:
        >>> from inweights.models import Node2VecConfig
        >>> model = Node2VecConfig(width=8).build(vocabulary=5, seeds=[0, 1])
        >>> logits = model(torch.arange(5).unsqueeze(1))[:, :, 0]
        >>> bool(torch.allclose(logits, logits.mT)), tuple(logits.shape)
        (True, (2, 5, 5))
    """

    def __init__(
        self, config: Node2VecConfig, *, vocabulary: int, replicas: int
    ) -> None:
        """Create the uninitialised tables of node vectors.

        :meth:`Node2VecConfig.build` creates and initialises a model.

        Args:
            config: Settings of the architecture.
            vocabulary: Number of tokens ``V``.
            replicas: Number of replicas ``R``.

        Raises:
            ConfigError: The number of replicas or tokens is below 1.
        """
        super().__init__(replicas, vocabulary)
        self.config = config
        self.tokens = Embedding(replicas, vocabulary, config.width)
        self.head = (
            None if config.tied else Embedding(replicas, vocabulary, config.width)
        )

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states: ``embedding`` and ``final`` (both are the token's vector)."""
        return ("embedding", "final")

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Return the states ``embedding`` and ``final`` of a batch, ``[R, S, D]``, keyed by name.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.

        Raises:
            DataError: A token id is outside the vocabulary (checked only on the CPU).
        """
        x = self.hook("embedding", self.tokens(batch.tokens))
        return {"embedding": x, "final": self.hook("final", x)}

    def unembed(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n K"]:
        """Return the inner products of a state with all node vectors: logits ``[R, n, V]``.

        In a tied model, the node vectors are the input vectors; an untied model has
        separate output vectors.

        Args:
            state: The deepest state, ``[R, n, D]`` (``R`` replicas, ``n`` positions,
                width ``D``).
        """
        table = self.tokens if self.head is None else self.head
        return torch.bmm(state, table.weight.transpose(1, 2))
