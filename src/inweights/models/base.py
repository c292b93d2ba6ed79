"""What every model is: parameters with a replica axis, logits over candidates, hidden states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from inweights.errors import ConfigError, unknown_name
from inweights.models.layers import Embedding, Init, Linear
from inweights.models.packing import Packed, pack

__all__ = ["Model", "ModelConfig"]


class Model(nn.Module):
    """Base of all architectures. ``R`` runs are one model whose parameters all start with ``R``.

    A subclass implements :meth:`states`, :meth:`unembed` and :attr:`layer_names`.

    Attributes:
        replicas: Number of runs ``R``.
        vocabulary: Number of tokens ``V``.
        candidates: Token id of every logit column, ``[K]``; all tokens unless the model's head
            covers only some.
        column: Logit column of every token, ``[V]``; -1 where it has none.
        context: Number of positions; ``None`` where positions do not matter.
    """

    context: int | None = None

    candidates: Tensor
    column: Tensor

    def __init__(
        self, replicas: int, vocabulary: int, candidates: Sequence[int] | None = None
    ) -> None:
        super().__init__()
        if replicas < 1 or vocabulary < 1:
            raise ConfigError(
                f"a model needs at least one replica and one token, not {replicas} and {vocabulary}"
            )
        self.replicas = replicas
        self.vocabulary = vocabulary
        ids = torch.arange(vocabulary) if candidates is None else torch.as_tensor(candidates)
        if candidates is not None and len({int(i) for i in candidates}) != len(ids):
            raise ConfigError("a token is twice among the candidates of a model")
        column = torch.full((vocabulary,), -1, dtype=torch.long)
        column[ids] = torch.arange(len(ids))
        self.register_buffer("candidates", ids, persistent=False)
        self.register_buffer("column", column, persistent=False)

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states, from shallow to deep."""
        raise NotImplementedError

    def states(self, batch: Packed) -> dict[str, Tensor]:
        """Return every hidden state ``[R, S, D]`` by layer name, from shallow to deep."""
        raise NotImplementedError

    def unembed(self, state: Tensor) -> Tensor:
        """Map the deepest state ``[R, n, D]`` to logits ``[R, n, K]``."""
        raise NotImplementedError

    def forward(self, inputs: Packed | Tensor, at: Tensor | None = None) -> Tensor:
        """Return logits.

        Args:
            inputs: Token ids ``[B, T]`` (``[R, B, T]`` where replicas differ), or a packed batch.
            at: Positions in the packed axis where logits are wanted; all of them if left out.

        Returns:
            ``[R, B, T, K]`` for token ids, ``[R, S, K]`` or ``[R, len(at), K]`` for a packed batch.
        """
        if isinstance(inputs, Packed):
            return self.unembed(self.deepest(inputs, at))
        batch = pack([inputs])
        logits = self.forward(batch)
        return logits.unflatten(1, inputs.shape[-2:])

    def deepest(self, batch: Packed, at: Tensor | None = None) -> Tensor:
        """Return the state that is unembedded, ``[R, n, D]``, at positions ``at`` or at all."""
        return self._select(self.states(batch)[self.layer_names[-1]], at)

    @property
    def head_matrix(self) -> Tensor | None:
        """Matrix ``[R, D, K]`` whose product with :meth:`deepest` is the logits; ``None`` without.

        Training with many candidates goes through it chunk by chunk. It is found where a model's
        ``head`` is a matrix without bias, or is left out because ``tokens``, the embedding, serves
        as one. A model that unembeds otherwise needs no more than :meth:`unembed`.
        """
        head, tokens = getattr(self, "head", None), getattr(self, "tokens", None)
        if isinstance(head, Linear) and head.bias is None:
            return head.weight
        if (
            head is None
            and isinstance(tokens, Embedding)
            and tokens.weight.shape[1] == len(self.candidates)
        ):
            return tokens.weight.transpose(1, 2)
        return None

    def hidden(
        self,
        inputs: Packed | Tensor,
        *,
        layers: Sequence[str] | None = None,
        at: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return hidden states by layer, each ``[R, n, D]``.

        Args:
            inputs: As for :meth:`forward`.
            layers: Some of :attr:`layer_names`; all if left out.
            at: Positions in the packed axis; the last of every sequence if left out.

        Raises:
            ConfigError: A layer is unknown.
        """
        batch = inputs if isinstance(inputs, Packed) else pack([inputs])
        wanted = self.layer_names if layers is None else tuple(layers)
        for name in wanted:
            if name not in self.layer_names:
                raise unknown_name("layer", name, self.layer_names)
        states = self.states(batch)
        where = batch.last if at is None else at
        return {name: self._select(states[name], where) for name in wanted}

    @staticmethod
    def _select(state: Tensor, at: Tensor | None) -> Tensor:
        return state if at is None else state.index_select(1, at)


class ModelConfig(Protocol):
    """What a recipe, or anyone, asks of an architecture's config: that it builds the model."""

    def build(
        self,
        *,
        vocabulary: int,
        seeds: Sequence[int],
        inits: Sequence[Init] | None = None,
        candidates: Sequence[int] | None = None,
    ) -> Model:
        """Build the model, one replica a seed.

        Args:
            vocabulary: Number of tokens ``V``.
            seeds: Root seed of each replica; decides its initial parameters.
            inits: Initial scale of each replica, where the config's own does not hold for all.
            candidates: Tokens that occur as answers; a head may cover only these.
        """
        ...
