"""The base class of all architectures: :class:`Model`.

A model reads packed token ids and returns logits over its candidates. Its hidden states
can be read (:meth:`Model.hidden`), decoded (:meth:`Model.logit_lens`) and replaced
(:meth:`Model.hooks`). Training changes its parameters, and probes measure it. Shapes:
``R`` replicas, ``B`` sequences, ``T`` positions, ``S`` packed tokens, ``n`` selected
tokens, ``D`` width, ``V`` tokens, ``K`` candidates, ``H`` heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from inweights.errors import ConfigError, DataError
from inweights.models.building import rebuilt
from inweights.models.layers import Embedding, Linear
from inweights.models.packing import Packed
from inweights.models.states import ReadableStates
from inweights.support.border import guarded
from inweights.support.progress import plural
from inweights.support.showing import Card
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import World


class Model(ReadableStates):
    """Module of ``R`` models of one architecture, stacked along the first axis of its parameters.

    A subclass implements :meth:`states`, :attr:`layer_names`, and :meth:`unembed` if it
    has no :attr:`head_matrix`. Its method :meth:`states` passes each state through
    :meth:`hook`, so that the state can be replaced.

    Args:
        replicas: Number of models ``R``, at least 1.
        vocabulary: Number of tokens ``V``, at least 1.
        candidates: Ids of the tokens that the head covers, in the order of the logits;
            by default all tokens in the order of the vocabulary.

    Attributes:
        candidates: Token id of every logit column, ``[K]``.
        column: Index of the logit column of every token, ``[V]``; -1 for a token
            without a logit.
        context: Number of position embeddings; ``None`` if the model has none.

    Raises:
        ConfigError: The number of replicas or tokens is below 1, or a candidate is not
            a token id or occurs twice.
    """

    context: int | None = None

    candidates: Int[Tensor, " K"]
    column: Int[Tensor, " V"]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls) and cls.__module__.startswith("inweights."):
            cls.__init__ = guarded(cls.__init__)  # type: ignore[method-assign]

    @guarded
    def __init__(
        self, replicas: int, vocabulary: int, candidates: Sequence[int] | None = None
    ) -> None:
        """Store the sizes and the candidates of the model.

        Args:
            replicas: Number of models ``R``, at least 1.
            vocabulary: Number of tokens ``V``, at least 1.
            candidates: Ids of the tokens that the head covers; by default all tokens.

        Raises:
            ConfigError: The number of replicas or tokens is below 1, or a candidate is
                not a token id or occurs twice.
        """
        super().__init__()
        if replicas < 1 or vocabulary < 1:
            raise ConfigError(
                f"'replicas' and 'vocabulary' must be at least 1, got {replicas} and {vocabulary}"
            )
        self.replicas = replicas
        self.vocabulary = vocabulary
        listed = (
            list(range(vocabulary))
            if candidates is None
            else list(map(int, candidates))
        )
        if len(set(listed)) != len(listed):
            raise ConfigError("candidates must be distinct, but a token occurs twice")
        for token in listed:
            if not 0 <= token < vocabulary:
                raise ConfigError(
                    f"candidates must be ids of tokens, from 0 to {vocabulary - 1}, got {token}"
                )
        # Built as a list: filling a tensor on `meta` by index takes half a second.
        places = [-1] * vocabulary
        for place, token in enumerate(listed):
            places[token] = place
        ids = torch.tensor(listed, dtype=torch.long)
        self.register_buffer("candidates", ids, persistent=False)
        self.register_buffer("column", torch.tensor(places), persistent=False)

    def columns(self, answers: Int[Tensor, "*n"]) -> Int[Tensor, "*n"]:
        """Return the index of the logit column of each answer token, in the shape of ``answers``.

        Args:
            answers: Token ids of any shape, from 0 to ``V - 1`` (not checked).

        Raises:
            DataError: A token is not among the candidates.
        """
        columns = self.column[answers.to(self.column.device)]
        if (columns < 0).any():
            raise DataError(
                "the candidates of the model do not include every answer of the world; build "
                "the model with candidates=world.outputs.tolist()"
            )
        return columns

    def check_world(self, world: World) -> None:
        """Raise an error if a world has more tokens than the model.

        Args:
            world: World whose facts and queries are inputs of the model.

        Raises:
            DataError: The world has more tokens than the model.
        """
        if len(world.vocabulary) > self.vocabulary:
            raise DataError(
                f"the world '{world.name}' has {len(world.vocabulary)} tokens, but the model has "
                f"{self.vocabulary}; build the model with vocabulary=len(world.vocabulary)"
            )

    def unembed(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n K"]:
        """Return the logits ``[R, n, K]`` of the deepest state, over the ``K`` candidates.

        By default they are the product of the state and :attr:`head_matrix`. A model
        without such a matrix overrides this method.

        Args:
            state: The state of the last of :attr:`layer_names`, ``[R, n, D]`` (``R``
                replicas, ``n`` positions, width ``D``).

        Raises:
            NotImplementedError: :attr:`head_matrix` is ``None``, and the class does not
                override this method.
        """
        matrix = self.head_matrix
        if matrix is None:
            raise NotImplementedError
        return torch.bmm(state, matrix)

    def attention_patterns(
        self, tokens: Int[Tensor, "*R B T"]
    ) -> dict[str, Float[Tensor, "R B H T T"]]:
        """Compute the attention patterns ``[R, B, H, T, T]`` of each layer, keyed by layer name.

        A row of a pattern is the attention of one position to all positions (columns).
        A row sums to 1 and is 0 at later positions. Only :class:`GPT` and
        :class:`OneLayer` implement this method, with ``H`` heads.

        Args:
            tokens: Token ids ``[B, T]`` (``B`` sequences of ``T`` tokens), or ``[R, B,
                T]`` if the ``R`` replicas read different tokens.

        Raises:
            ConfigError: The architecture has no attention, or does not implement this
                method. The base class always raises the error.
        """
        del tokens
        raise ConfigError(
            f"{type(self).__name__} has no attention and therefore no attention patterns; use a "
            "model built from GPTConfig or OneLayerConfig"
        )

    def forward(
        self,
        inputs: Packed | Int[Tensor, "*R B T"],
        at: Int[Tensor, " n"] | None = None,
    ) -> Float[Tensor, "R *_ K"]:
        """Compute the logits of all candidates; column ``k`` belongs to token ``candidates[k]``.

        By default all tokens are candidates, in the order of the vocabulary.

        Args:
            inputs: Token ids ``[B, T]`` (``B`` sequences of ``T`` tokens), or ``[R, B,
                T]`` if the ``R`` replicas read different tokens, or a packed batch.
            at: Indices in the packed axis ``S``, ``[n]``, at which logits are computed;
                by default all of them. It has no effect if ``inputs`` are token ids.

        Returns:
            Logits: ``[R, B, T, K]`` for token ids; for a packed batch ``[R, S, K]``, or
            ``[R, n, K]`` if ``at`` is given.

        Raises:
            DataError: ``inputs`` are not a tensor of integers of one of these shapes,
                have no positions, or contain an id outside the model's vocabulary
                (which is checked on the CPU, and for wrapped modules on every device).
            ConfigError: A sequence is longer than the model's context, or the model
                cannot compute logits at these positions.
            RuntimeError: An index in ``at`` is not between 0 and ``S - 1``.
        """
        if isinstance(inputs, Packed):
            return self.unembed(self.deepest(inputs, at))
        return self.forward(self._packed(inputs)).unflatten(1, inputs.shape[-2:])

    def deepest(
        self, batch: Packed, at: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "R _ D"]:
        """Compute the deepest hidden state, which :meth:`unembed` maps to logits.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.
            at: Indices ``[n]`` in the packed axis ``S``; by default all of them.

        Returns:
            The state: ``[R, n, D]`` if ``at`` is given, otherwise ``[R, S, D]``.

        Raises:
            ConfigError: A sequence is longer than the model's context.
            DataError: A token id is outside the vocabulary (checked only on the CPU).
            RuntimeError: An index in ``at`` is not between 0 and ``S - 1``.
        """
        return self._select(self.states(batch)[self.layer_names[-1]], at)

    @property
    def head_matrix(self) -> Float[Tensor, "R D K"] | None:
        """Matrix ``[R, D, K]`` that maps the deepest state, of width ``D``, to ``K`` logits.

        It is the weight of ``head`` if this layer is a :class:`Linear` without bias. If
        there is no ``head`` and all tokens are candidates, it is the transposed weight
        of the embedding ``tokens`` (tied weights). Otherwise it is ``None``. Training
        uses the matrix to compute the loss of many candidates without storing all
        logits, after comparing it with :meth:`unembed` once. A model that overrides
        :meth:`unembed` must also override this property if it has such layers.
        """
        head = getattr(self, "head", None)
        tokens = getattr(self, "tokens", None)
        if isinstance(head, Linear) and head.bias is None:
            return head.weight
        if head is None and isinstance(tokens, Embedding):
            table = tokens.weight.transpose(1, 2)
            return table if table.shape[2] == len(self.candidates) else None
        return None

    @property
    def token_table(self) -> Float[Tensor, "R V D"] | None:
        """Weight of the token embeddings, ``[R, V, D]``; ``None`` without an embedding table."""
        table = getattr(getattr(self, "tokens", None), "weight", None)
        return table if isinstance(table, Tensor) else None

    def select(self, replicas: Sequence[int]) -> Model:
        """Return a new model with copies of some replicas, in the given order.

        Args:
            replicas: Indices of the replicas, from 0 to ``R - 1``; an index may occur
                more than once.

        Raises:
            ConfigError: No replica is given, a replica does not exist, the model has no
                ``config``, or a parameter or stored buffer has no replica axis.

        Example:
            >>> from inweights.models import EmbMLPConfig
            >>> model = EmbMLPConfig(width=4).build(vocabulary=5, seeds=[0, 1, 2])
            >>> bool((model.select([2]).tokens.weight[0] == model.tokens.weight[2]).all())
            True
        """
        state = self.state_dict()
        first = {value.shape[:1] for value in state.values()}
        has_config = getattr(self, "config", None) is not None
        if not has_config or not first <= {(self.replicas,)}:
            raise ConfigError(
                f"cannot select replicas of {type(self).__name__}: it must have a config, and a "
                "replica axis in all parameters and buffers"
            )
        for replica in replicas:
            if not 0 <= replica < self.replicas:
                raise ConfigError(
                    f"'replica' must be from 0 to {self.replicas - 1}, got {replica}"
                )
        chosen = list(replicas)
        rows = {name: value[chosen] for name, value in state.items()}
        return rebuilt(self, rows, len(chosen))

    def _repr_html_(self) -> str:
        about = {"layers": ", ".join(self.layer_names)}
        return Card(f"{type(self).__name__}: {self.extra_repr()}", about).html

    def extra_repr(self) -> str:
        """Return the numbers of replicas, parameters, tokens and candidates as a string."""
        each = sum(parameter[0].numel() for parameter in self.parameters())
        return (
            f"{plural(self.replicas, 'replica')} of {each:,} parameters, "
            f"{self.vocabulary:,} tokens, {len(self.candidates):,} candidates"
        )
