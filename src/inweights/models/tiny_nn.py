"""TinyNN: one linear layer between tied embeddings (Geometric Memory B.2.2, B.5).

``logits = (E Wᵀ + b) Eᵀ``, with no activation and no residual. Each position sees its own token
alone. Frozen embeddings leave ``W`` to store everything: the associative variant.
Shapes: ``R`` replicas, ``S`` packed tokens, ``D`` width, ``V`` tokens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from inweights.config import Config, check_size
from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.models.dropout import Dropout, check_rate
from inweights.models.layers import Draw, Embedding, Init, Layer, Linear, initialise
from inweights.models.packing import Packed
from inweights.seeds import as_seeds

__all__ = ["FrozenEmbedding", "TinyNN", "TinyNNConfig"]


class TinyNNConfig(Config, tag_field="kind", tag="tiny-nn"):
    """Architecture of a :class:`TinyNN`.

    Attributes:
        width: Width ``D``. The paper takes 32 for the star and the grid, 16 for the irregular
            graph, and 512 for the cycle and wherever no bottleneck shall press.
        frozen: Whether the embeddings stay as they were drawn: associative storage, with nothing
            trained but ``W`` and ``b``.
        embedding_std: Initial scale of the embeddings where it is not :attr:`init`'s, such as 1
            for PyTorch's own (Fig. 28).
        dropout: Share of the middle layer's entries that is dropped while training (Fig. 31).
        init: Initial scale of every weight matrix; may differ between replicas. ``b`` starts at 0.
    """

    later = {"dropout": 0.0}

    width: int = 32
    frozen: bool = False
    embedding_std: float | None = None
    dropout: float = 0.0
    init: Init = Init()

    def __post_init__(self) -> None:
        check_size("tiny-nn.width", self.width)
        std = self.embedding_std
        if std is not None and not (std > 0 and math.isfinite(std)):
            raise ConfigError(f"tiny-nn.embedding_std is above 0, not {std}; leave it out for init")
        check_rate("tiny-nn.dropout", self.dropout)

    def build(
        self,
        *,
        vocabulary: int,
        seeds: int | Sequence[int],
        inits: Sequence[Init] | None = None,
        candidates: Sequence[int] | None = None,
    ) -> TinyNN:
        """Build the model, one replica a seed. The head covers all tokens, not ``candidates``."""
        seeds = as_seeds(seeds)
        del candidates
        scales = inits or [self.init] * len(seeds)
        model = TinyNN(self, vocabulary=vocabulary, replicas=len(seeds))
        initialise(model, seeds, scales)
        if self.embedding_std is not None:
            factors = [self.embedding_std / init.sigma(self.width) for init in scales]
            with torch.no_grad():
                model.tokens.weight.mul_(torch.tensor(factors).view(-1, 1, 1))
        return model


class FrozenEmbedding(Embedding):
    """An embedding that no optimizer moves and no weight decay shrinks: a buffer, not a parameter.

    It starts as :class:`Embedding` of the same name and seed does.
    """

    def __init__(self, replicas: int, tokens: int, width: int) -> None:
        Layer.__init__(self)
        self.register_buffer("weight", torch.empty(replicas, tokens, width))

    def initialise(self, draw: Draw) -> None:
        # ``draw`` fills row after row and asks nothing that a parameter alone could answer.
        draw("weight", cast(Any, self.weight), self.weight.shape[2])


class TinyNN(Model):
    """``(E Wᵀ + b) Eᵀ``; layers ``embedding`` (``E``) and ``middle`` (``E Wᵀ + b``).

    Example:
        >>> model = TinyNNConfig(width=8, frozen=True).build(vocabulary=9, seeds=[0, 1])
        >>> tuple(model(torch.tensor([[1], [2]])).shape)
        (2, 2, 1, 9)
        >>> [name for name, _ in model.named_parameters()]
        ['middle.weight', 'middle.bias']
    """

    def __init__(self, config: TinyNNConfig, *, vocabulary: int, replicas: int) -> None:
        super().__init__(replicas, vocabulary)
        self.config = config
        embedding = FrozenEmbedding if config.frozen else Embedding
        self.tokens = embedding(replicas, vocabulary, config.width)
        self.middle = Linear(replicas, config.width, config.width)
        self.drop = Dropout(config.dropout)

    @property
    def layer_names(self) -> tuple[str, ...]:
        return ("embedding", "middle")

    def states(self, batch: Packed) -> dict[str, Tensor]:
        x = self.hook("embedding", self.tokens(batch.tokens))
        return {"embedding": x, "middle": self.hook("middle", self.drop(self.middle(x)))}

    def unembed(self, state: Tensor) -> Tensor:
        return torch.bmm(state, self.tokens.weight.transpose(1, 2))
