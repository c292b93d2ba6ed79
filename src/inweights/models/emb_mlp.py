"""Emb-MLP: a transformer layer with uniform attention (Identity Bridge, Definition 1).

``f(X) = (Σ_t e_{s_t}) W_proj``; its row-wise logit templates are ``W = E W_proj``.
Shapes: ``R`` replicas, ``S`` packed tokens, ``D`` width, ``K`` candidates.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from inweights.config import Config, check_size
from inweights.models.base import Model
from inweights.models.layers import Embedding, Init, Linear, initialise
from inweights.models.packing import Packed
from inweights.seeds import as_seeds

__all__ = ["EmbMLP", "EmbMLPConfig"]


class EmbMLPConfig(Config, tag_field="kind", tag="emb-mlp"):
    """Architecture of an :class:`EmbMLP`.

    Attributes:
        width: Embedding width ``D``. At least the rank of the problem, or the norm is not free.
        init: Initial scale; may differ between replicas.
    """

    width: int = 64
    init: Init = Init(std=0.01)

    def __post_init__(self) -> None:
        check_size("emb-mlp.width", self.width)

    def build(
        self,
        *,
        vocabulary: int,
        seeds: int | Sequence[int],
        inits: Sequence[Init] | None = None,
        candidates: Sequence[int] | None = None,
    ) -> EmbMLP:
        """Build the model, one replica a seed, with logits for ``candidates`` (``V_out``)."""
        seeds = as_seeds(seeds)
        model = EmbMLP(self, vocabulary=vocabulary, replicas=len(seeds), candidates=candidates)
        initialise(model, seeds, inits or [self.init] * len(seeds))
        return model


class EmbMLP(Model):
    """The sum of the prompt's embeddings, times a projection. Position ``t`` sums the first ``t``.

    Example:
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
        super().__init__(replicas, vocabulary, candidates)
        self.config = config
        self.tokens = Embedding(replicas, vocabulary, config.width)
        self.projection = Linear(replicas, config.width, len(self.candidates), bias=False)

    @property
    def layer_names(self) -> tuple[str, ...]:
        return ("embedding", "sum")

    def states(self, batch: Packed) -> dict[str, Tensor]:
        x = self.hook("embedding", self.tokens(batch.tokens))
        groups = x.split([b * t for b, t in batch.shapes], dim=1)
        sums = [
            group if t == 1 else group.unflatten(1, (b, t)).cumsum(2).flatten(1, 2)
            for group, (b, t) in zip(groups, batch.shapes, strict=True)
        ]
        return {"embedding": x, "sum": self.hook("sum", torch.cat(sums, dim=1))}

    def unembed(self, state: Tensor) -> Tensor:
        return self.projection(state)

    def templates(self) -> Tensor:
        """Return ``W = E W_proj``, the logits that each token adds, ``[R, V, K]``."""
        return torch.bmm(self.tokens.weight, self.projection.weight)
