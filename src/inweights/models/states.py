"""Hidden states of a model by name: read, decode and replace them (:class:`ReadableStates`).

It is the part of :class:`~inweights.models.Model` that probes and interventions use. An
architecture computes :meth:`ReadableStates.states`, passing each state through
:meth:`ReadableStates.hook`. Shapes: ``R`` replicas, ``B`` sequences, ``T`` positions,
``S`` packed tokens, ``D`` width, ``K`` candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

from torch import Tensor, nn

from inweights.errors import ConfigError, check_names
from inweights.models.hooking import Edit, Reading, checked_edit, reading
from inweights.models.packing import Packed, check_replicas, pack
from inweights.worlds.arrays import Float, Int


class ReadableStates(nn.Module):
    """Module whose hidden states have names, by which they can be read and replaced.

    A subclass implements :meth:`states`, :attr:`layer_names` and :meth:`unembed`.

    Attributes:
        replicas: Number of replicas ``R``; a subclass sets it.
        reading: Record of the current batch and of the prompts for which a hook is
            called; ``None`` unless hooks are set.
    """

    replicas: int
    reading: Reading | None = None

    _edits: Mapping[str, Edit] = {}

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states, from shallow to deep; a subclass defines them."""
        raise NotImplementedError

    @property
    def part_names(self) -> tuple[str, ...]:
        """Names of parts of layers whose outputs :meth:`hooks` can replace; by default none."""
        return ()

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Compute every hidden state of a batch, ``[R, S, D]``, keyed by layer name.

        A subclass implements this method. The states are in the order of
        :attr:`layer_names`, from shallow to deep.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.

        Raises:
            NotImplementedError: The class does not implement the method.
        """
        raise NotImplementedError

    def unembed(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n K"]:
        """Return the logits of ``K`` candidates, ``[R, n, K]``; a subclass implements this method.

        Args:
            state: The deepest state, ``[R, n, D]`` (``R`` replicas, ``n`` positions,
                width ``D``).

        Raises:
            NotImplementedError: The class does not implement the method.
        """
        raise NotImplementedError

    def final_norm(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n D"]:
        """Apply the norm that precedes the head; by default, return the state unchanged.

        Args:
            state: State of any layer, ``[R, n, D]`` (``R`` replicas, ``n`` positions,
                width ``D``); the result has the same shape.
        """
        return state

    def hidden(
        self,
        inputs: Packed | Int[Tensor, "*R B T"],
        *,
        layers: Sequence[str] | None = None,
        at: Int[Tensor, " n"] | Literal["last", "all"] = "last",
    ) -> dict[str, Float[Tensor, "R *_ D"]]:
        """Compute the hidden states of the given layers.

        Args:
            inputs: Token ids ``[B, T]`` (``B`` sequences of ``T`` tokens), or ``[R, B,
                T]`` if the ``R`` replicas read different tokens, or a packed batch.
            layers: Some of :attr:`layer_names`; by default all.
            at: ``last`` (the last position of every sequence), ``all`` (all positions),
                or a tensor of indices in the packed axis ``S``.

        Returns:
            The state of each of the ``layers``, in their order. With ``at="last"`` or
            indices, a state is a tensor ``[R, n, D]``, where ``n`` is the number of
            sequences or indices. With ``at="all"``, it is ``[R, B, T, D]`` for token
            ids, and ``[R, S, D]`` for a packed batch.

        Raises:
            ConfigError: A layer is unknown, ``at`` is any other string, or a sequence
                is longer than the model's context.
            DataError: ``inputs`` are not token ids of these shapes, do not match the
                number of replicas, or contain an id outside the model's vocabulary
                (checked on the CPU).
            RuntimeError: An index in ``at`` is not between 0 and ``S - 1``.

        Example:
            >>> import torch
            >>> from inweights.models import EmbMLPConfig
            >>> model = EmbMLPConfig(width=8).build(vocabulary=9, seeds=2)
            >>> states = model.hidden(torch.tensor([[1, 2], [3, 4], [5, 6]]))
            >>> {name: tuple(state.shape) for name, state in states.items()}
            {'embedding': (2, 3, 8), 'sum': (2, 3, 8)}
        """
        if isinstance(at, str):
            check_names("place", [at], ("last", "all"))
        batch = self._packed(inputs)
        wanted = self._known(self.layer_names if layers is None else layers)
        states = self.states(batch)
        if isinstance(at, str) and at == "all":
            every = {name: states[name] for name in wanted}
            if isinstance(inputs, Packed):
                return every
            shape = inputs.shape[-2:]
            return {name: state.unflatten(1, shape) for name, state in every.items()}
        indices = batch.last if isinstance(at, str) else at
        return {name: self._select(states[name], indices) for name in wanted}

    def logit_lens(
        self,
        inputs: Packed | Int[Tensor, "*R B T"],
        *,
        layers: Sequence[str] | None = None,
        at: Int[Tensor, " n"] | Literal["last", "all"] = "last",
    ) -> dict[str, Float[Tensor, "R *_ K"]]:
        """Compute logits from the state of each layer as if this layer were the deepest.

        This is the logit lens (nostalgebraist 2020).

        Args:
            inputs: Token ids ``[B, T]`` (``B`` sequences of ``T`` tokens), or ``[R, B,
                T]`` if the ``R`` replicas read different tokens, or a packed batch.
            layers: Some of :attr:`decodable`; by default all of them.
            at: ``last`` (the last position of every sequence), ``all`` (all positions),
                or a tensor of indices in the packed axis ``S``.

        Returns:
            The logits over the model's ``K`` candidates for each of the ``layers``, in
            their order. With ``at="last"`` or indices, they are a tensor ``[R, n, K]``,
            where ``n`` is the number of sequences or indices. With ``at="all"``, they
            are ``[R, B, T, K]`` for token ids, and ``[R, S, K]`` for a packed batch.

        Raises:
            ConfigError: A layer is unknown or its state cannot be decoded
                (:meth:`decode`), ``at`` is any other string, or a sequence is longer
                than the model's context.
            DataError: ``inputs`` are not token ids of these shapes, do not match the
                number of replicas, or contain an id outside the model's vocabulary
                (checked on the CPU).
            RuntimeError: An index in ``at`` is not between 0 and ``S - 1``.
        """
        states = self.hidden(
            inputs, layers=self.decodable if layers is None else layers, at=at
        )
        return {name: self.decode(name, state) for name, state in states.items()}

    @property
    def decodable(self) -> tuple[str, ...]:
        """Names of the layers whose states :meth:`decode` can map to logits; by default all."""
        return self.layer_names

    def decode(
        self, name: str, state: Float[Tensor, "R *n D"]
    ) -> Float[Tensor, "R *n K"]:
        """Map a state to logits as if its layer were the deepest (nostalgebraist 2020).

        Args:
            name: Name of the layer, one of :attr:`decodable` (not checked). The final
                norm is applied to the state first, unless the layer is the deepest.
            state: State of the layer, ``[R, ..., D]``, with one or more axes between
                ``R`` and ``D``.

        Returns:
            Logits ``[R, ..., K]`` over the candidates.
        """
        flat = state.flatten(1, -2)
        # If the architecture has a final norm, the deepest state is already normalised.
        read = flat if name == self.layer_names[-1] else self.final_norm(flat)
        return self.unembed(read).unflatten(1, state.shape[1:-1])

    def hook(self, name: str, state: Float[Tensor, "R S D"]) -> Float[Tensor, "R S D"]:
        """Return a state, or its replacement within the context of :meth:`hooks`.

        Implementations of :meth:`states` call this method for each state.

        Args:
            name: Name of the layer or part to which the state belongs.
            state: State ``[R, S, D]`` (``R`` replicas, ``S`` packed tokens, width
                ``D``); the result has the same shape.
        """
        edit = self._edits.get(name)
        if edit is None:
            return state
        return edit(state) if self.reading is None else self.reading.edited(edit, state)

    @contextmanager
    def hooks(self, edits: Mapping[str, Edit]) -> Iterator[None]:
        """Replace hidden states in every forward pass within the ``with`` block.

        Args:
            edits: Mapping from the name of a layer (:attr:`layer_names`) or of a part
                of a layer (:attr:`part_names`) to a function. A function receives the
                state ``[R, B, T, D]`` (``R`` replicas, ``B`` prompts of ``T`` tokens,
                width ``D``) and returns its replacement, of the same shape. If prompts
                differ in length, it is called once for each length. In nested blocks,
                it receives the state after the changes of the outer block.

        Raises:
            ConfigError: A name is unknown (raised when the block is entered), or a
                state to be replaced was not computed within the block (raised when the
                block ends).
            DataError: A function does not return a tensor, or returns one of a
                different shape.

        Returns:
            A context manager; its ``with`` statement binds no value, and the model
            itself is used within the block.

        Example:
            >>> import torch
            >>> from inweights.models import EmbMLPConfig
            >>> model = EmbMLPConfig().build(vocabulary=9, seeds=[0])
            >>> with model.hooks({"sum": torch.zeros_like}):
            ...     model(torch.tensor([[1, 2]])).abs().max().item()
            0.0
        """
        unused = set(self._known(edits, parts=True))

        before = self._edits

        def marked_as_used(name: str, edit: Edit) -> Edit:
            # Contexts may be nested, in which case the edit of the outer one is applied
            # first.
            outer = before.get(name)

            def replace(state: Tensor) -> Tensor:
                unused.discard(name)
                given = state if outer is None else outer(state)
                return checked_edit(name, edit, given)

            return replace

        added = {name: marked_as_used(name, edit) for name, edit in edits.items()}
        self._edits = {**before, **added}
        try:
            with reading(self):
                yield
        finally:
            self._edits = before
        if unused:  # not reached if the model raised an exception
            raise ConfigError(
                f"the replacement at {', '.join(sorted(unused))} was not applied. Run the "
                "model inside the block 'with model.hooks(...)'. If you did, the method "
                f"{type(self).__name__}.states does not pass each state through self.hook, as "
                "it must"
            )

    def _packed(self, inputs: Packed | Int[Tensor, "*R B T"]) -> Packed:
        """Return token ids as a packed batch, after checking that they fit the replicas."""
        if isinstance(inputs, Packed):
            return inputs
        batch = pack([inputs])
        check_replicas(inputs, self.replicas)
        return batch

    def _known(self, names: Iterable[str], *, parts: bool = False) -> tuple[str, ...]:
        """Return names as a tuple; all must be layers or, with ``parts``, parts of layers."""
        known = self.layer_names + self.part_names if parts else self.layer_names
        check_names("layer", names, known)
        return tuple(names)

    @staticmethod
    def _select(state: Tensor, at: Tensor | None) -> Tensor:
        return state if at is None else state.index_select(1, at)
