"""Combine ordinary modules into a model with a replica axis, which is called under ``vmap``.

Shapes: ``R`` replicas, ``B`` sequences of ``T`` positions, ``S`` packed tokens, ``V``
tokens, ``K`` candidates, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from inweights.errors import ConfigError
from inweights.models.outside.forms import (
    Form,
    form_of,
)
from inweights.models.outside.modules import check_new, made
from inweights.models.outside.replicas.calling import LOGITS, ModuleCaller
from inweights.models.outside.replicas.stacking import find, load_replica, stack
from inweights.models.packing import Packed
from inweights.support.border import guarded
from inweights.worlds.arrays import Float, Int

if TYPE_CHECKING:
    from inweights.models.outside.module_configs import WrapConfig

#: Root seed of the module that is called with the parameters of each replica. It is
#: unlikely to be the seed of a run.
_BASE = 2**62 + 20_221


class Wrapped(ModuleCaller):
    """Model that combines ``R`` modules made by a factory.

    Its parameters and states have the names that they have in the module. The module
    itself does not store parameters: each call passes it the parameters of all replicas,
    or of one replica after another if an operation cannot be batched. Parameters that
    need no gradient, and buffers that differ between modules, become buffers with a
    replica axis; other buffers are shared.

    Args:
        config: The factory and its options, made by :func:`inweights.wrap`.
        vocabulary: Number of tokens ``V``.
        seeds: Root seed of each replica, from which the factory's module draws its
            initial values.

    Raises:
        ConfigError: The factory fails, or its modules cannot be replicas; see
            :meth:`WrapConfig.build`.
    """

    @guarded
    def __init__(
        self, config: WrapConfig, *, vocabulary: int, seeds: Sequence[int]
    ) -> None:
        """Create a module for each seed, and stack their parameters.

        Args:
            config: The factory and its options.
            vocabulary: Number of tokens ``V``.
            seeds: Root seed of each replica.

        Raises:
            ConfigError: The factory fails, or its modules cannot be replicas; see
                :meth:`WrapConfig.build`.
        """
        super().__init__(len(seeds), vocabulary)
        base = made(config, vocabulary, _BASE)
        modules = [made(config, vocabulary, seed) for seed in seeds]
        check_new(base, modules, config.label)
        read = None if config.logits is None else config.logits.load("output")
        # On `meta`, parameters are only counted: the module cannot be called.
        counted = self.candidates.is_meta
        form = Form() if counted else form_of(base, vocabulary, read, config.label)
        self._adopt(config, base, stack(self, base, modules), form, read)
        if not counted:
            # One call now determines whether `vmap` is possible, whatever the number of
            # replicas.
            with torch.no_grad():
                self._each(torch.zeros(1, 2, dtype=torch.long), ())

    def load_replica(self, state: Mapping[str, Tensor], replica: int = 0) -> None:
        """Copy the ``state_dict`` of a plain module into one replica.

        Args:
            state: Tensors without a replica axis, keyed by their names in the module,
                with or without the prefix of ``torch.compile`` or ``DataParallel``. For
                a tied parameter, one of its names is enough.
            replica: Index of the replica, from 0 to ``R - 1``.

        Raises:
            ConfigError: The replica does not exist.
            DataError: A name is unknown, a parameter is missing, a shape differs, or a
                buffer that all replicas share has a different value. The model is then
                unchanged.

        Example:
            >>> import inweights as iw
            >>> from torch import nn
            >>> model = iw.wrap(lambda vocabulary: nn.Embedding(vocabulary, vocabulary)).build(
            ...     vocabulary=3, seeds=2
            ... )
            >>> mine = nn.Embedding(3, 3)
            >>> model.load_replica(mine.state_dict(), replica=1)
            >>> torch.equal(model(torch.tensor([[2]]))[1, 0], mine(torch.tensor([2])))
            True
        """
        if not 0 <= replica < self.replicas:
            raise ConfigError(
                f"'replica' must be from 0 to {self.replicas - 1}, got {replica}"
            )
        load_replica(self, self._names, state, replica)

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states: the submodules that return a state, followed by ``logits``.

        They are in the order in which the calls of the submodules return.
        """
        return (*self._form.states, LOGITS)

    @property
    def token_table(self) -> Float[Tensor, "R V D"] | None:
        """Embeddings of the world's tokens, ``[R, V, D]``; ``None`` if there is no such table."""
        table = self.input_table
        return None if table is None else table[:, : self.vocabulary]

    @property
    def input_table(self) -> Float[Tensor, "R _ D"] | None:
        """Weight of the embedding that reads the token ids; ``None`` if the module has none.

        The weight has a row for each token of the module, which may have more tokens
        than the world.
        """
        table = self._form.table
        if table in self._shared:
            return find(self, self._shared[table]).expand(self.replicas, -1, -1)
        return find(self, self._own[table]) if table else None

    def attention_patterns(
        self, tokens: Int[Tensor, "*R B T"]
    ) -> dict[str, Float[Tensor, "R B H T T"]]:
        """Raise an error, since the attention of a wrapped module cannot be read.

        Args:
            tokens: Not used.

        Returns:
            Never returns.

        Raises:
            ConfigError: Always.
        """
        del tokens
        raise ConfigError(
            f"a wrapped {type(self._base[0]).__name__} has no attention patterns that the library "
            "can read; use a model built from GPTConfig or OneLayerConfig. Your own module can "
            "return its attention weights as the output of a submodule, which "
            "hidden(layers=[...]) reads"
        )

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Compute every hidden state of a batch, ``[R, S, D]``, keyed by layer name.

        If the module returns logits only for the last position of a sequence, the state
        ``logits`` is NaN at all other positions.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.

        Raises:
            ConfigError: The positions of the batch have an offset.
            DataError: A token id is outside the vocabulary.
        """
        return self._states(batch, self._form.states)

    def unembed(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n K"]:
        """Return the state unchanged: the deepest state is already the logits, ``[R, n, K]``.

        Args:
            state: The logits, ``[R, n, K]`` (``R`` replicas, ``n`` positions, ``K``
                tokens).
        """
        return state

    @property
    def decodable(self) -> tuple[str, ...]:
        """Names of layers that :meth:`decode` can map to logits; the last name is ``logits``."""
        return (*self._form.lens, LOGITS)

    def decode(
        self, name: str, state: Float[Tensor, "R *n D"]
    ) -> Float[Tensor, "R *n K"]:
        """Map a state to logits with the module's head, as if its layer were the last one.

        Args:
            name: Name of the layer, one of :attr:`decodable`.
            state: The layer's state, ``[R, ..., D]``.

        Returns:
            Logits of the world's tokens, ``[R, ..., K]``.

        Raises:
            ConfigError: The module has no linear head, the head cannot read states of
                this layer, or there is no such layer.
        """
        form = self._form
        if name == LOGITS:
            return state
        if not form.head:
            raise ConfigError(
                f"the state of '{name}' cannot be decoded, as no torch.nn.Linear of the module "
                "computes its logits; define unembed in a subclass of Model"
            )
        if name not in form.lens:
            raise ConfigError(
                f"the head '{form.head}' cannot read states of '{name}', which have a different "
                f"width; choose from {', '.join(form.lens)}"
            )
        if form.norm and name not in form.deepest:
            state = self._part(form.norm, state)
        return self._columns(self._part(form.head, state))

    @property
    def head_matrix(self) -> None:
        """Always ``None``, since the deepest state is already the logits."""
        return None

    def deepest(
        self, batch: Packed, at: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "R _ D"]:
        """Compute a wrapped module's deepest state (its logits) at some positions.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.
            at: Indices ``[n]`` in the packed axis ``S``; by default all of them.

        Returns:
            Logits: ``[R, n, K]`` if ``at`` is given, otherwise ``[R, S, K]``.

        Raises:
            ConfigError: The module returns logits only for the last position of a
                sequence and other positions are requested, or the positions of the
                batch have an offset.
            DataError: A token id is outside the vocabulary.
            RuntimeError: An index in ``at`` is not between 0 and ``S - 1``.
        """
        positions = at
        if positions is None:
            positions = torch.arange(batch.size, device=batch.tokens.device)
        if self._form.last_only and not bool(torch.isin(positions, batch.last).all()):
            raise ConfigError(
                "the module returns logits only for the last position; use loss = 'last', and "
                "answers of one token"
            )
        return self._select(self._states(batch, ())[LOGITS], at)

    def _states(self, batch: Packed, names: Sequence[str]) -> dict[str, Tensor]:
        """Return the named states, and the logits, at all packed tokens."""
        ramps = []
        for count, length in batch.shapes:
            ramp = torch.arange(length, device=batch.tokens.device)
            ramps.append(ramp.repeat(count))
        counted = torch.cat(ramps)
        if not (counted.is_meta or counted.equal(batch.positions)):
            raise ConfigError(
                "random_offset has no effect on a wrapped module, which determines the positions "
                "of its tokens itself; leave it out"
            )
        found: dict[str, list[Tensor]] = {name: [] for name in (*names, LOGITS)}
        for group in batch.groups():
            if self.reading is not None:
                self.reading.tokens = group
            for name, state in self._each(group, names).items():
                found[name].append(state.flatten(1, 2))
        joined = {}
        for name, parts in found.items():
            joined[name] = torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]
        return joined
