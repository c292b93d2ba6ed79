"""Emb-MLP: a transformer layer with uniform attention (Identity Bridge, Definition 1).

``f(X) = (Σ_t e_{s_t}) W_proj``: the logits of a prompt are the sum of its tokens' rows
of the template matrix ``W = E W_proj``. Theory solves for ``W``, and :class:`EmbMLP`
trains it. Shapes: ``R`` replicas, ``S`` packed tokens, ``D`` width, ``V`` tokens, ``K``
candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from inweights.models.base import Model
from inweights.models.layers import Embedding, Linear
from inweights.models.packing import Packed, running_sums
from inweights.worlds.arrays import Float

if TYPE_CHECKING:
    from inweights.models.configs import EmbMLPConfig


class EmbMLP(Model):
    """Model that maps the sum of a prompt's embeddings to logits (Identity Bridge, Definition 1).

    Its hidden states are ``embedding`` and ``sum``. The state ``sum`` at position ``t``
    is the sum of the embeddings of the tokens up to ``t``. Use
    :meth:`EmbMLPConfig.build` to create a model with initial values; the constructor
    leaves the parameters uninitialised.

    Args:
        config: Settings of the architecture.
        vocabulary: Number of tokens ``V``.
        replicas: Number of replicas ``R``.
        candidates: Ids of the tokens that the head covers; by default all tokens.

    Raises:
        ConfigError: The number of replicas or tokens is below 1, or a candidate is not
            a token or occurs twice.

    Example:
        >>> from inweights.models import EmbMLPConfig
        >>> model = EmbMLPConfig(width=8).build(vocabulary=9, seeds=[0, 1], candidates=[4, 5, 6])
        >>> tuple(model(torch.tensor([[1, 2]])).shape), model.candidates.tolist()
        ((2, 1, 2, 3), [4, 5, 6])
    """

    def __init__(
        self,
        config: EmbMLPConfig,
        *,
        vocabulary: int,
        replicas: int,
        candidates: Sequence[int] | None = None,
    ) -> None:
        """Create the uninitialised layers.

        :meth:`EmbMLPConfig.build` creates and initialises a model.

        Args:
            config: Settings of the architecture.
            vocabulary: Number of tokens ``V``.
            replicas: Number of replicas ``R``.
            candidates: Ids of the tokens that the head covers; by default all tokens.

        Raises:
            ConfigError: The number of replicas or tokens is below 1, or a candidate is
                not a token or occurs twice.
        """
        super().__init__(replicas, vocabulary, candidates)
        self.config = config
        self.tokens = Embedding(replicas, vocabulary, config.width)
        self.projection = Linear(
            replicas, config.width, len(self.candidates), bias=False
        )

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states, from shallow to deep: ``embedding`` and ``sum``."""
        return ("embedding", "sum")

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Compute the states ``embedding`` and ``sum`` of a batch, ``[R, S, D]``, keyed by name.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.

        Raises:
            DataError: A token id is outside the vocabulary (checked only on the CPU).
        """
        x = self.hook("embedding", self.tokens(batch.tokens))
        return {"embedding": x, "sum": self.hook("sum", running_sums(x, batch.shapes))}

    @property
    def head_matrix(self) -> None:
        """Always ``None``: logits are computed by ``projection``, not by the embeddings."""
        return None

    def unembed(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n K"]:
        """Return the logits ``[R, n, K]`` of the state ``sum``: its product with ``W_proj``.

        Args:
            state: The deepest state, ``[R, n, D]`` (``R`` replicas, ``n`` positions,
                width ``D``).
        """
        return self.projection(state)

    def templates(self) -> Float[Tensor, "R V K"]:
        """Compute ``W = E W_proj``: the logits that each token contributes, ``[R, V, K]``.

        There are ``R`` replicas, ``V`` tokens (with the embeddings ``E``) and ``K``
        candidates.
        """
        return torch.bmm(self.tokens.weight, self.projection.weight)
