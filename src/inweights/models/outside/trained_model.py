"""Trained modules as a model with a replica axis, which reads a world's tokens.

A :class:`Trained` calls each module as usual, not under ``vmap``, so that logits on a
CPU are bitwise equal to those of the original. It translates a world's token ids to
those of the module. Shapes: ``R`` replicas, ``B`` sequences of ``T`` positions, ``S``
packed tokens, ``V`` tokens of the world, ``D`` width.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from inweights.errors import ConfigError, DataError
from inweights.models.outside.forms import Form, form_of
from inweights.models.outside.replicas.calling import LOGITS
from inweights.models.outside.replicas.stacking import stack
from inweights.models.outside.several_tokens import say_several, tokens_differ
from inweights.models.outside.summed import summed_scores
from inweights.models.outside.wrapped import Wrapped
from inweights.models.packing import Packed
from inweights.support.border import guarded
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import World

if TYPE_CHECKING:
    from inweights.models.outside.module_configs import TrainedConfig

_NOT_REPLACED = (
    "states can be replaced only if every name of the world is a single token of the module; "
    "some names here consist of several tokens"
)


class Trained(Wrapped):
    """Model of ``R`` trained modules; its states and parameters have the modules' own names.

    Args:
        config: Config with the hashes of the modules and their token ids for the
            world's names; :func:`inweights.wrap` creates it.
        modules: The module of each replica: one or more modules of one architecture.
            The parameters are copied; the modules are not changed.

    Raises:
        ConfigError: A module does not read token ids and return finite logits, or the
            modules differ in the shape of a parameter.
    """

    config: TrainedConfig
    _first_ids: Int[Tensor, " V"]

    @guarded
    def __init__(self, config: TrainedConfig, modules: Sequence[nn.Module]) -> None:
        """Copy the parameters of the modules that a config identifies, one module per replica.

        Raises:
            ConfigError: A module does not read token ids and return finite logits, or
                the modules differ in the shape of a parameter.
        """
        super(Wrapped, self).__init__(len(modules), config.vocabulary)
        read = None if config.logits is None else config.logits.load("output")
        base = modules[0]
        # On `meta`, parameters are only counted: the module cannot be called.
        counted = self.candidates.is_meta
        form = Form() if counted else form_of(base, config.outputs, read, config.label)
        names = stack(self, base, modules, each_stored=True)
        self._adopt(config, base, names, form, read)
        # Under `vmap`, results would be rounded differently than by the user's module.
        self._mapped = False
        own = ((token,) for token in range(config.vocabulary))
        self._ids = config.tokens or tuple(own)
        first = torch.tensor([ids[0] for ids in self._ids])
        self.register_buffer("_first_ids", first, persistent=False)
        self._several = any(len(ids) > 1 for ids in self._ids)
        self._summed = self._several and config.answers == "sum"
        self._all_logits = False
        if self._several:
            say_several(config, self._ids)

    def build(self, **start: Any) -> Trained:
        """Build copies of the modules, one replica per seed, as :meth:`TrainedConfig.build` does.

        Args:
            start: Arguments of :meth:`TrainedConfig.build`: ``vocabulary``, the world's
                number of tokens, and ``seeds``, which are indices if there are several
                modules.

        Raises:
            ConfigError: The number of tokens differs from the model's, there are no
                seeds, or there are several modules and a seed is not an index.
            DataError: The file of the weights cannot be read or does not match.
        """
        return self.config.build(**start)

    def check_world(self, world: World) -> None:
        """Raise an error unless a world has the tokens for which the module was wrapped.

        Args:
            world: World that the model is to read.

        Raises:
            DataError: The number of tokens or, if names were given, a name differs.
        """
        names = world.vocabulary.names
        if len(names) != self.vocabulary:
            raise DataError(tokens_differ(self.config, len(names)))
        known = self.config.names
        differing = [i for i, name in enumerate(known) if names[i] != name]
        if differing:
            i = differing[0]
            raise DataError(
                f"token {i} of the world must be '{known[i]}', as when the module was wrapped, got "
                f"'{names[i]}'; write iw.wrap(module, tokens=..., vocabulary=world.vocabulary)"
            )

    @property
    def token_table(self) -> Float[Tensor, "R V D"] | None:
        """Embeddings of the world's tokens, ``[R, V, D]``; ``None`` if there is no embedding table.

        For a name with several token ids, it is the embedding of the first id.
        """
        table = self.input_table
        return None if table is None else table[:, self._first_ids]

    def _columns(self, logits: Tensor) -> Tensor:
        """Return the logits of the world's tokens; a name of several ids uses its first id."""
        if self._all_logits:
            return logits
        return logits.index_select(-1, self._first_ids.to(logits.device))

    def deepest(
        self, batch: Packed, at: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "R _ D"]:
        """Compute a wrapped module's deepest state (its logits) at some positions.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.
            at: Indices ``[n]`` in the packed axis ``S``; by default all of them.

        Returns:
            Logits of the world's tokens: ``[R, n, V]`` if ``at`` is given, otherwise
            ``[R, S, V]``. If a token's name has several ids of the module, and
            ``answers="sum"`` is set, they are the log-probabilities of whole names.

        Raises:
            ConfigError: Hooks are set although a name has several token ids or logits
                exist only at last positions; or positions have an offset.
            DataError: A token id is not in the world's vocabulary.
        """
        if self._summed:
            return self._summed_at(batch, at)
        only_last = at is not None and bool(torch.isin(at, batch.last).all())
        if not self._form.last_only or only_last or self._edits:
            return super().deepest(batch, at)
        return self._select(self._of_prefixes(batch), at)

    def _of_prefixes(self, batch: Packed) -> Float[Tensor, "R S V"]:
        """Return logits at all positions, from a call for each prefix of the sequences."""
        found = []
        for group in batch.groups():
            ends = []
            for length in range(1, group.shape[-1] + 1):
                logits = self._each(group[..., :length], ())[LOGITS]
                ends.append(logits[:, :, -1])
            found.append(torch.stack(ends, 2).flatten(1, 2))
        return torch.cat(found, dim=1)

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Compute every hidden state of a batch, ``[R, S, D]``, keyed by layer name.

        The state of a name with several token ids is the state at its last id. If the
        module returns logits only for the last position, the state ``logits`` is NaN
        elsewhere, unless names of several ids are scored with ``answers="sum"``.

        Args:
            batch: Packed sequences with ``S`` tokens for ``R`` replicas of width ``D``.

        Raises:
            ConfigError: Hooks are set and a name of the world consists of several token
                ids, or the positions of the batch have an offset.
            DataError: A token id is not in the world's vocabulary.
        """
        found = super().states(batch)
        return {**found, LOGITS: self._summed_at(batch)} if self._summed else found

    def _summed_at(
        self, batch: Packed, at: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "R n V"]:
        """Return the scores of whole names, by all of their ids, at some packed positions."""
        whole = torch.arange(batch.size) if at is None else at.cpu()
        prefixes = self._prefixes(batch)
        rows = []
        for own in prefixes:
            wanted = [own[place] for place in whole.tolist()]
            rows.append(summed_scores(self._last_logits, wanted, self._ids))
        if len(rows) == 1:
            return rows[0]
        # Each replica reads the prompts of all replicas; only its own are used.
        return torch.stack([scores[r] for r, scores in enumerate(rows)])

    def _prefixes(self, batch: Packed) -> list[list[tuple[int, ...]]]:
        """Return the module's ids up to each packed position: one list, or one for each replica."""
        found: list[list[tuple[int, ...]]] = []
        for group in batch.groups():
            self._check_ids(group)
            each = group if group.dim() == 3 else group.unsqueeze(0)
            found = found or [[] for _ in each]
            for own, prompts in zip(found, each.tolist(), strict=True):
                for prompt in prompts:
                    ids: tuple[int, ...] = ()
                    for token in prompt:
                        ids = (*ids, *self._ids[token])
                        own.append(ids)
        return found

    def _last_logits(self, ids: Int[Tensor, "n T"]) -> Float[Tensor, "R n K"]:
        """Return all logits of the module after the last id."""
        if self._edits:
            raise ConfigError(_NOT_REPLACED)
        self._all_logits = True
        try:
            found = self._called(ids.to(self.column.device), ())[LOGITS]
        finally:
            self._all_logits = False
        return found[:, :, -1]

    def _each(
        self, tokens: Int[Tensor, "*R B T"], names: Sequence[str]
    ) -> dict[str, Float[Tensor, "R B T D"]]:
        self._check_ids(tokens)
        if not self._several:
            return self._called(self._first_ids[tokens], names)
        if self._edits:
            raise ConfigError(_NOT_REPLACED)
        return self._by_length(tokens, names)

    def _by_length(
        self, tokens: Int[Tensor, "*R B T"], names: Sequence[str]
    ) -> dict[str, Float[Tensor, "R B T D"]]:
        """Read prompts whose names have several ids; a name's state is the state at its last id."""
        if tokens.dim() == 3:
            # Each replica reads the prompts of all replicas; only its own are used.
            each = [self._by_length(own, names) for own in tokens]
            joined = {}
            for name in (*names, LOGITS):
                rows = [each[r][name][r] for r in range(self.replicas)]
                joined[name] = torch.stack(rows)
            return joined
        parts: dict[str, list[Tensor]] = defaultdict(list)
        order: list[int] = []
        for places, ids, ends in self._grouped(tokens):
            order += places
            for name, state in self._called(ids, names).items():
                where = ends.expand(self.replicas, -1, -1).unsqueeze(-1)
                where = where.expand(-1, -1, -1, state.shape[-1])
                parts[name].append(state.gather(2, where))
        back = torch.tensor(order).argsort().to(tokens.device)
        whole = {name: torch.cat(some, 1) for name, some in parts.items()}
        return {name: state.index_select(1, back) for name, state in whole.items()}

    def _grouped(
        self, tokens: Int[Tensor, "B T"]
    ) -> list[tuple[list[int], Tensor, Tensor]]:
        """Group sequences by number of ids; return indices, ids, and last indices of names."""
        groups: dict[int, list[tuple[int, list[int], list[int]]]] = defaultdict(list)
        for place, row in enumerate(tokens.tolist()):
            ids: list[int] = []
            ends: list[int] = []
            for token in row:
                ids.extend(self._ids[token])
                ends.append(len(ids) - 1)
            groups[len(ids)].append((place, ids, ends))
        found = []
        for rows in groups.values():
            places = [place for place, _, _ in rows]
            ids_of = torch.tensor([ids for _, ids, _ in rows], device=tokens.device)
            ends_of = torch.tensor([ends for _, _, ends in rows], device=tokens.device)
            found.append((places, ids_of, ends_of))
        return found

    @contextmanager
    def _quiet(self, *, watched: bool = False) -> Iterator[None]:
        """Set evaluation mode and call the module as usual, unless dropout masks are drawn."""
        if self._dropout.generators is not None:
            with super()._quiet(watched=watched):
                yield
            return
        fast = torch.backends.mha.get_fastpath_enabled()
        # The fast path of attention calls no submodules, so their hooks would not run.
        torch.backends.mha.set_fastpath_enabled(fast and not watched)
        self._base[0].eval()
        try:
            yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)
