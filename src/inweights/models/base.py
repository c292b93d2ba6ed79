"""The base class of all architectures: :class:`Model`.

A model reads packed token ids and gives logits over its candidates; its hidden states
can be read (:meth:`Model.hidden`), decoded (:meth:`Model.logit_lens`) and replaced
(:meth:`Model.hooks`). Training moves its parameters, probes read it. Shapes: ``R``
replicas, ``B`` sequences, ``T`` positions, ``S`` packed tokens, ``D`` width, ``V``
tokens, ``K`` candidates, ``H`` heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from inweights.errors import ConfigError, DataError, check_names
from inweights.models.hooking import Edit, Reading, checked_edit, reading
from inweights.models.layers import Embedding, Linear
from inweights.models.packing import Packed, pack
from inweights.support.border import guarded
from inweights.support.progress import plural
from inweights.support.showing import Card
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import World


class Model(nn.Module):
    """``R`` models of one architecture as one module: every parameter starts with the axis ``R``.

    A subclass implements :meth:`states`, :attr:`layer_names`, and :meth:`unembed` where
    it has no
    :attr:`head_matrix`. It passes each state through :meth:`hook`, so that it can be
    replaced.

    Args:
        replicas: Number of models ``R``, at least 1.
        vocabulary: Number of tokens ``V``, at least 1.
        candidates: Ids of the tokens that the head covers, in the order of the logits;
            by default all tokens.

    Attributes:
        candidates: Token id of every logit column, ``[K]``.
        column: Logit column of every token, ``[V]``; -1 where it has none.
        context: Number of positions; ``None`` where positions do not matter.

    Raises:
        ConfigError: There is no replica or no token, or a candidate occurs twice.
    """

    context: int | None = None

    candidates: Int[Tensor, " K"]
    column: Int[Tensor, " V"]

    #: What is read while hooks are set: the batch, and the prompts that a hook is
    #: called for.
    reading: Reading | None = None

    _edits: Mapping[str, Edit] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls) and cls.__module__.startswith("inweights."):
            cls.__init__ = guarded(cls.__init__)  # type: ignore[method-assign]

    @guarded
    def __init__(
        self, replicas: int, vocabulary: int, candidates: Sequence[int] | None = None
    ) -> None:
        super().__init__()
        if replicas < 1 or vocabulary < 1:
            raise ConfigError(
                f"a model needs at least one replica and one token, got {replicas} and {vocabulary}"
            )
        self.replicas = replicas
        self.vocabulary = vocabulary
        listed = (
            list(range(vocabulary))
            if candidates is None
            else [int(i) for i in candidates]
        )
        if len(set(listed)) != len(listed):
            raise ConfigError("a token occurs twice in the candidates of a model")
        # By lists: a write by index costs a model that is only counted, on `meta`, half
        # a second.
        places = [-1] * vocabulary
        for place, token in enumerate(listed):
            places[token] = place
        ids = torch.tensor(listed, dtype=torch.long)
        self.register_buffer("candidates", ids, persistent=False)
        self.register_buffer("column", torch.tensor(places), persistent=False)

    def columns(self, answers: Int[Tensor, "*n"]) -> Int[Tensor, "*n"]:
        """Return the logit column of each answer token, in the shape of ``answers``.

        Raises:
            DataError: A token is not among the candidates.
        """
        columns = self.column[answers.to(self.column.device)]
        if (columns < 0).any():
            raise DataError(
                "the model's head does not cover every answer of its world; build the model with "
                "candidates=world.outputs.tolist()"
            )
        return columns

    def check_world(self, world: World) -> None:
        """Refuse a world that the model cannot read.

        Raises:
            DataError: The world has more tokens than the model.
        """
        if len(world.vocabulary) > self.vocabulary:
            raise DataError(
                f"the world '{world.name}' has {len(world.vocabulary)} tokens and the model "
                f"{self.vocabulary}; build the model with vocabulary=len(world.vocabulary)"
            )

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states, from shallow to deep."""
        raise NotImplementedError

    @property
    def part_names(self) -> tuple[str, ...]:
        """Names of the outputs of parts of a layer, which :meth:`hooks` may replace, too."""
        return ()

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Compute every hidden state of a batch, by layer name, from shallow to deep."""
        raise NotImplementedError

    def unembed(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n K"]:
        """Map the deepest state to logits: by default its product with :attr:`head_matrix`."""
        matrix = self.head_matrix
        if matrix is None:
            raise NotImplementedError
        return torch.bmm(state, matrix)

    def final_norm(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n D"]:
        """Apply the norm before the head to a state; by default there is none."""
        return state

    def attention_patterns(
        self, tokens: Int[Tensor, "*R B T"]
    ) -> dict[str, Float[Tensor, "R B H T T"]]:
        """Compute attention patterns by layer, ``[R, B, H, T, T]``.

        Rows attend, columns are attended to: a row sums to 1 and is 0 beyond its own
        position.

        Raises:
            ConfigError: The architecture has no attention, or the library cannot read
                it.
        """
        del tokens
        raise ConfigError(
            f"{type(self).__name__} has no attention and therefore no attention patterns; those of "
            "GPTConfig and OneLayerConfig have"
        )

    def forward(
        self,
        inputs: Packed | Int[Tensor, "*R B T"],
        at: Int[Tensor, " n"] | None = None,
    ) -> Float[Tensor, "R *_ K"]:
        """Compute logits over the candidates.

        Args:
            inputs: Token ids ``[B, T]`` (``[R, B, T]`` where replicas differ), or a
                packed batch.
            at: Indices in the packed axis ``S`` at which logits are computed; by
                default all of them. Has no effect on token ids.

        Returns:
            ``[R, B, T, K]`` for token ids, ``[R, S, K]`` or ``[R, len(at), K]`` for a
            packed batch.
        """
        if isinstance(inputs, Packed):
            return self.unembed(self.deepest(inputs, at))
        return self.forward(pack([inputs])).unflatten(1, inputs.shape[-2:])

    def deepest(
        self, batch: Packed, at: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "R _ D"]:
        """Compute the state that :meth:`unembed` reads.

        Args:
            batch: Packed sequences.
            at: Indices in the packed axis ``S``; by default all of them.

        Returns:
            ``[R, len(at), D]``, or ``[R, S, D]``.
        """
        return self._select(self.states(batch)[self.layer_names[-1]], at)

    @property
    def head_matrix(self) -> Float[Tensor, "R D K"] | None:
        """Matrix whose product with :meth:`deepest` is the logits; ``None`` if there is none.

        It is the weight of ``head`` where that is a :class:`Linear` without bias, and
        the transposed embedding ``tokens`` where there is no head and all tokens are
        candidates (tied weights). With many candidates, the loss is computed from it
        without all logits at once. A model that unembeds in another way overrides
        :meth:`unembed`.
        """
        head, tokens = getattr(self, "head", None), getattr(self, "tokens", None)
        if isinstance(head, Linear) and head.bias is None:
            return head.weight
        if head is None and isinstance(tokens, Embedding):
            table = tokens.weight.transpose(1, 2)
            return table if table.shape[2] == len(self.candidates) else None
        return None

    @property
    def token_table(self) -> Float[Tensor, "R V D"] | None:
        """The weight of ``tokens``, the token embeddings; ``None`` if there is no such table."""
        table = getattr(getattr(self, "tokens", None), "weight", None)
        return table if isinstance(table, Tensor) else None

    def hidden(
        self,
        inputs: Packed | Int[Tensor, "*R B T"],
        *,
        layers: Sequence[str] | None = None,
        at: Int[Tensor, " n"] | Literal["last", "all"] = "last",
    ) -> dict[str, Float[Tensor, "R *_ D"]]:
        """Compute hidden states by layer.

        Args:
            inputs: Token ids ``[B, T]`` (``[R, B, T]`` where replicas differ), or a
                packed batch.
            layers: Some of :attr:`layer_names`; by default all.
            at: ``last`` position of every sequence, ``all`` positions, or indices in
                the packed axis ``S``.

        Returns:
            ``[R, n, D]`` for each layer, with ``n`` the number of sequences or indices;
            ``[R, B, T, D]`` for ``all`` positions of token ids.

        Raises:
            ConfigError: A layer is unknown, or ``at`` is neither ``last`` nor ``all``.

        Example:
            >>> from inweights.models import EmbMLPConfig
            >>> model = EmbMLPConfig(width=8).build(vocabulary=9, seeds=2)
            >>> states = model.hidden(torch.tensor([[1, 2], [3, 4], [5, 6]]))
            >>> {name: tuple(state.shape) for name, state in states.items()}
            {'embedding': (2, 3, 8), 'sum': (2, 3, 8)}
        """
        if isinstance(at, str):
            check_names("place", [at], ("last", "all"))
        batch = inputs if isinstance(inputs, Packed) else pack([inputs])
        wanted = self._known(self.layer_names if layers is None else layers)
        states = self.states(batch)
        if isinstance(at, str) and at == "all":
            if isinstance(inputs, Packed):
                return {name: states[name] for name in wanted}
            return {
                name: states[name].unflatten(1, inputs.shape[-2:]) for name in wanted
            }
        indices = batch.last if isinstance(at, str) else at
        return {name: self._select(states[name], indices) for name in wanted}

    def logit_lens(
        self,
        inputs: Packed | Int[Tensor, "*R B T"],
        *,
        layers: Sequence[str] | None = None,
        at: Int[Tensor, " n"] | Literal["last", "all"] = "last",
    ) -> dict[str, Float[Tensor, "R *_ K"]]:
        """Compute the logits that each layer's state gives by :meth:`decode`: the logit lens.

        Args:
            inputs: Token ids ``[B, T]`` (``[R, B, T]`` where replicas differ), or a
                packed batch.
            layers: Some of :attr:`decodable`; by default all of them.
            at: ``last`` position of every sequence, ``all`` positions, or indices in
                the packed axis ``S``.

        Returns:
            For each layer what :meth:`hidden` returns, with ``K`` logits in place of
            ``D`` numbers.

        Raises:
            ConfigError: A layer is unknown, or ``at`` is neither ``last`` nor ``all``.
        """
        states = self.hidden(
            inputs, layers=self.decodable if layers is None else layers, at=at
        )
        return {name: self.decode(name, state) for name, state in states.items()}

    @property
    def decodable(self) -> tuple[str, ...]:
        """Names of the layers whose states :meth:`decode` can read; by default all."""
        return self.layer_names

    def decode(
        self, name: str, state: Float[Tensor, "R *n D"]
    ) -> Float[Tensor, "R *n K"]:
        """Map a layer's state to logits, as if it were the deepest (nostalgebraist 2020).

        Args:
            name: The layer. The state of any but the deepest goes through the final
                norm first.
            state: Its state, with any axes between ``R`` and ``D``.

        Returns:
            Logits ``[R, ..., K]``.
        """
        flat = state.flatten(1, -2)
        read = flat if name == self.layer_names[-1] else self.final_norm(flat)
        return self.unembed(read).unflatten(1, state.shape[1:-1])

    def hook(self, name: str, state: Float[Tensor, "R S D"]) -> Float[Tensor, "R S D"]:
        """Return a state, or what replaces it within :meth:`hooks`; subclasses call it in `states`.

        Args:
            name: Layer or part that the state belongs to.
            state: ``[R, S, D]``, and so is the result.
        """
        edit = self._edits.get(name)
        if edit is None:
            return state
        return edit(state) if self.reading is None else self.reading.edited(edit, state)

    @contextmanager
    def hooks(self, edits: Mapping[str, Edit]) -> Iterator[None]:
        """Replace hidden states in every forward pass within the ``with`` block.

        Args:
            edits: Functions of a state ``[R, B, T, D]`` that return its replacement, by
                the name of a layer (:attr:`layer_names`) or of a part of one
                (:attr:`part_names`). Where prompts differ in length, a function is
                called for those of each length.

        Raises:
            ConfigError: A layer is unknown, or the model was not run within the block.
            DataError: A function returns no tensor, or one of another shape.

        Example:
            >>> from inweights.models import EmbMLPConfig
            >>> model = EmbMLPConfig().build(vocabulary=9, seeds=[0])
            >>> with model.hooks({"sum": torch.zeros_like}):
            ...     model(torch.tensor([[1, 2]])).abs().max().item()
            0.0
        """
        unused = set(self._known(edits, parts=True))

        def marked_as_used(name: str, edit: Edit) -> Edit:
            def replace(state: Tensor) -> Tensor:
                unused.discard(name)
                return checked_edit(name, edit, state)

            return replace

        before = self._edits
        added = {name: marked_as_used(name, edit) for name, edit in edits.items()}
        self._edits = {**before, **added}
        try:
            with reading(self):
                yield
        finally:
            self._edits = before
        if unused:  # after an exception of the model this line is not reached
            raise ConfigError(
                f"nothing was replaced at {', '.join(sorted(unused))}: run the model within "
                f"hooks; if it ran, {type(self).__name__}.states must pass each state through "
                "self.hook"
            )

    def select(self, replicas: Sequence[int]) -> Model:
        """Return a copy of some replicas, in the given order, as a model that shares no memory.

        Raises:
            ConfigError: There is no such replica, or the model has no ``config``, or a
                parameter or buffer without the replica axis.

        Example:
            >>> from inweights.models import EmbMLPConfig
            >>> model = EmbMLPConfig(width=4).build(vocabulary=5, seeds=[0, 1, 2])
            >>> bool((model.select([2]).tokens.weight[0] == model.tokens.weight[2]).all())
            True
        """
        config: Any = getattr(self, "config", None)
        state = self.state_dict()
        if config is None or any(
            v.shape[:1] != (self.replicas,) for v in state.values()
        ):
            raise ConfigError(
                f"replicas of {type(self).__name__} cannot be taken apart"
            )
        for replica in replicas:
            if not 0 <= replica < self.replicas:
                raise ConfigError(
                    f"there is no replica {replica}; the model has {self.replicas}"
                )
        part: Model = config.build(
            vocabulary=self.vocabulary,
            seeds=[0] * len(replicas),
            candidates=self.candidates.tolist(),
        ).to(self.candidates.device)
        part.load_state_dict(
            {name: value[list(replicas)] for name, value in state.items()}
        )
        return part

    def _repr_html_(self) -> str:
        about = {"layers": ", ".join(self.layer_names)}
        return Card(f"{type(self).__name__}: {self.extra_repr()}", about).html

    def extra_repr(self) -> str:
        each = sum(parameter[0].numel() for parameter in self.parameters())
        return (
            f"{plural(self.replicas, 'replica')} of {each:,} parameters, "
            f"{self.vocabulary:,} tokens, {len(self.candidates):,} candidates"
        )

    def _known(self, names: Iterable[str], *, parts: bool = False) -> tuple[str, ...]:
        """Return names as a tuple; all must be layers, or, with ``parts``, parts of layers."""
        known = self.layer_names + self.part_names if parts else self.layer_names
        check_names("layer", names, known)
        return tuple(names)

    @staticmethod
    def _select(state: Tensor, at: Tensor | None) -> Tensor:
        return state if at is None else state.index_select(1, at)
