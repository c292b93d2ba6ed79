"""Node2Vec with one hop and a full softmax (Geometric Memory §4, B.2.2, appendix F).

``logits = V Vᵀ`` (tied) or ``V Uᵀ`` (untied): two linear layers, and nothing between them. The
softmax runs over all nodes, the node itself included. Its gradient flow without autograd is
:mod:`inweights.theory.node2vec`. Shapes: ``R`` replicas, ``S`` packed tokens, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from inweights.config import Config, check_size
from inweights.models.base import Model
from inweights.models.layers import Embedding, Init, initialise
from inweights.models.packing import Packed
from inweights.seeds import as_seeds

__all__ = ["Node2Vec", "Node2VecConfig"]


class Node2VecConfig(Config, tag_field="kind", tag="node2vec"):
    """Architecture of a :class:`Node2Vec`.

    Attributes:
        width: Width ``D``; 100 in the paper, more than any of its tiny graphs has nodes.
        tied: Whether a node that is predicted has the vector of a node that is given. Untied
            models zigzag along negative eigendirections (§4.4, Fig. 9).
        init: Initial scale; standard normal in the paper. May differ between replicas.
    """

    width: int = 100
    tied: bool = True
    init: Init = Init(std=1.0)

    def __post_init__(self) -> None:
        check_size("node2vec.width", self.width)

    def build(
        self,
        *,
        vocabulary: int,
        seeds: int | Sequence[int],
        inits: Sequence[Init] | None = None,
        candidates: Sequence[int] | None = None,
    ) -> Node2Vec:
        """Build the model, one replica a seed. The head covers all tokens, not ``candidates``."""
        seeds = as_seeds(seeds)
        del candidates
        model = Node2Vec(self, vocabulary=vocabulary, replicas=len(seeds))
        initialise(model, seeds, inits or [self.init] * len(seeds))
        return model


class Node2Vec(Model):
    """Inner products of node vectors; layers ``embedding`` and ``final`` are the same vectors.

    Example:
        >>> model = Node2VecConfig(width=8).build(vocabulary=5, seeds=[0, 1])
        >>> said = model(torch.arange(5).unsqueeze(1))[:, :, 0]
        >>> bool(torch.allclose(said, said.mT)), tuple(said.shape)
        (True, (2, 5, 5))
    """

    def __init__(self, config: Node2VecConfig, *, vocabulary: int, replicas: int) -> None:
        super().__init__(replicas, vocabulary)
        self.config = config
        self.tokens = Embedding(replicas, vocabulary, config.width)
        self.head = None if config.tied else Embedding(replicas, vocabulary, config.width)

    @property
    def layer_names(self) -> tuple[str, ...]:
        return ("embedding", "final")

    def states(self, batch: Packed) -> dict[str, Tensor]:
        x = self.hook("embedding", self.tokens(batch.tokens))
        return {"embedding": x, "final": self.hook("final", x)}

    def unembed(self, state: Tensor) -> Tensor:
        table = self.tokens if self.head is None else self.head
        return torch.bmm(state, table.weight.transpose(1, 2))
