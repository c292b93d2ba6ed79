"""An ordinary module as a model with a replica axis: stacked parameters, one call under ``vmap``.

Shapes: ``R`` replicas, ``B`` sequences of ``T``, ``S`` packed tokens of ``V``, ``D``
width.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from inweights.errors import ConfigError, DataError
from inweights.models.base import Model
from inweights.models.dropout import Dropout
from inweights.models.outside.modules import (
    Form,
    check_new,
    exactly,
    find,
    form_of,
    logits_of,
    made,
    state_of_output,
    with_state,
)
from inweights.models.outside.rowwise import Noise, Rows, reason_of
from inweights.models.outside.stacking import Names, load_replica, stack
from inweights.models.packing import Packed
from inweights.support.border import guarded
from inweights.worlds.arrays import Float, Int

if TYPE_CHECKING:
    from inweights.models.outside.module_configs import WrapConfig

LOGITS = "logits"
#: Root seed of the module that is lent the numbers of all replicas; no run is likely to
#: have it.
_BASE = 2**62 + 20_221


class Wrapped(Model):
    """``R`` modules of one factory. Parameters, states and hooks have the module's own names.

    The module itself holds no replica's numbers: each call lends it those of all
    replicas, or of one after another where an operation cannot be batched. Parameters
    that need no gradient, and buffers that differ between modules, are buffers with a
    replica axis; other buffers are shared.
    """

    @guarded
    def __init__(
        self, config: WrapConfig, *, vocabulary: int, seeds: Sequence[int]
    ) -> None:
        super().__init__(len(seeds), vocabulary)
        base = made(config, vocabulary, _BASE)
        modules = [made(config, vocabulary, seed) for seed in seeds]
        check_new(base, modules, config.label)
        read = None if config.logits is None else config.logits.load("output")
        # Only its parameters are: there is nothing to call.
        counted = self.candidates.is_meta
        form = Form() if counted else form_of(base, vocabulary, read, config.label)
        self._adopt(config, base, stack(self, base, modules), form, read)
        if not counted:
            # Whether replicas go together does not depend on how many.
            with torch.no_grad():
                self._each(torch.zeros(1, 2, dtype=torch.long), ())

    def _adopt(
        self,
        config: Any,
        base: nn.Module,
        names: Names,
        form: Form,
        read: Callable[[Any], Any] | None,
    ) -> None:
        """Keep what the calls need: a module to lend numbers to, and where these are."""
        self.config = config
        self._base = [base]  # in a list: its numbers are none of the model's
        self._names = names
        self._own, self._shared = names.own, names.shared
        self._form = form
        self._read = read
        self._dropout = Dropout(form.dropout)
        self._mapped = True

    def load_replica(self, state: Mapping[str, Tensor], replica: int = 0) -> None:
        """Copy the ``state_dict`` of a plain module into one replica.

        Args:
            state: Tensors without a replica axis, by the module's own names. Of tied
                parameters one name is enough.
            replica: Index of the replica.

        Raises:
            ConfigError: There is no such replica.
            DataError: A name is unknown, a parameter is missing, or a shape differs.

        Example:
            >>> import inweights as iw
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
                f"there is no replica {replica}; the model has {self.replicas}"
            )
        load_replica(self, self._names, state, replica)

    @property
    def layer_names(self) -> tuple[str, ...]:
        return (*self._form.states, LOGITS)

    @property
    def token_table(self) -> Float[Tensor, "R V D"] | None:
        table = self.input_table
        return None if table is None else table[:, : self.vocabulary]

    @property
    def input_table(self) -> Float[Tensor, "R _ D"] | None:
        """The embedding that reads the token ids, of every token that the module knows."""
        table = self._form.table
        if table in self._shared:
            return find(self, self._shared[table]).expand(self.replicas, -1, -1)
        return find(self, self._own[table]) if table else None

    def _columns(self, logits: Tensor) -> Tensor:
        """The logits of the tokens that are read, of all that the module gives."""
        return logits[..., : self.vocabulary]

    def attention_patterns(
        self, tokens: Int[Tensor, "*R B T"]
    ) -> dict[str, Float[Tensor, "R B H T T"]]:
        del tokens
        raise ConfigError(
            f"a wrapped {type(self._base[0]).__name__} has no attention patterns that the library "
            "can read; GPTConfig and OneLayerConfig have. A module of your own can return its "
            "weights as the output of a part, which hidden(layers=[...]) then reads"
        )

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        return self._states(batch, self._form.states)

    def unembed(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n K"]:
        return state  # the deepest state is the logits

    @property
    def decodable(self) -> tuple[str, ...]:
        return (*self._form.lens, LOGITS)

    def decode(
        self, name: str, state: Float[Tensor, "R *n D"]
    ) -> Float[Tensor, "R *n K"]:
        form = self._form
        if name == LOGITS:
            return state
        if not form.head:
            raise ConfigError(
                f"which logits '{name}' gives is unknown, as no torch.nn.Linear of the module "
                "gives its logits; a subclass of Model says it by unembed"
            )
        if name not in form.lens:
            raise ConfigError(
                f"the head '{form.head}' cannot read states of '{name}', which have another "
                f"width; those of {', '.join(form.lens)} it can"
            )
        read = (
            state
            if name in form.deepest or not form.norm
            else self._part(form.norm, state)
        )
        return self._columns(self._part(form.head, read))

    def _part(self, name: str, state: Tensor) -> Tensor:
        """What a submodule makes of a state, with the numbers of each replica."""
        part, start = self._base[0].get_submodule(name), len(name) + 1
        own, lent = (
            {
                n[start:]: find(self, o)
                for n, o in known.items()
                if n.startswith(f"{name}.")
            }
            for known in (self._own, self._shared)
        )
        call = vmap(
            lambda values, x: functional_call(
                part, {**values, **lent}, (x,), tie_weights=False
            )
        )
        kinds = [value.dtype for value in (*own.values(), *lent.values())]
        result: Tensor = call(own, state.to(kinds[0]) if kinds else state)
        return exactly(result)

    @property
    def head_matrix(self) -> None:
        return None

    def deepest(
        self, batch: Packed, at: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "R _ D"]:
        if self._form.last_only and (
            at is None or not bool(torch.isin(at, batch.last).all())
        ):
            raise ConfigError(
                "the module gives logits of the last position alone; take the loss there "
                '(loss = "last"), and answers of one token'
            )
        return self._select(self._states(batch, ())[LOGITS], at)

    def _states(self, batch: Packed, names: Sequence[str]) -> dict[str, Tensor]:
        """Return some states, and the logits, at all packed tokens."""
        ramps = [
            torch.arange(t, device=batch.tokens.device).repeat(b)
            for b, t in batch.shapes
        ]
        counted = torch.cat(ramps)
        if not (counted.is_meta or counted.equal(batch.positions)):
            raise ConfigError(
                "a wrapped module counts positions itself; leave random_offset out"
            )
        found: dict[str, list[Tensor]] = {name: [] for name in (*names, LOGITS)}
        for group in batch.groups():
            if self.reading is not None:
                self.reading.tokens = group
            for name, state in self._each(group, names).items():
                found[name].append(state.flatten(1, 2))
        return {
            n: torch.cat(s, dim=1) if len(s) > 1 else s[0] for n, s in found.items()
        }

    def _each(
        self, tokens: Int[Tensor, "*R B T"], names: Sequence[str]
    ) -> dict[str, Float[Tensor, "R B T D"]]:
        """Call the module for every replica: for all together, or for one after another."""
        self._check_ids(tokens)
        return self._called(tokens, names)

    def _check_ids(self, tokens: Int[Tensor, "*R B T"]) -> None:
        """Refuse ids that are too large, which stacked tables would read from the next replica."""
        if tokens.is_meta or not tokens.numel():
            return
        least, most = torch.aminmax(tokens)
        if least < 0 or most >= self.vocabulary:
            raise DataError(f"a token id is outside 0 to {self.vocabulary - 1}")

    def _called(
        self, tokens: Int[Tensor, "*R B T"], names: Sequence[str]
    ) -> dict[str, Float[Tensor, "R B T D"]]:
        # One for all.
        tokens = tokens[0] if tokens.dim() == 3 and len(tokens) == 1 else tokens
        with self._quiet(watched=bool(names or self._edits)):
            stacked = {name: find(self, name) for name in self._own.values()}
            if not self._mapped:
                return self._apart(stacked, tokens, names)
            try:
                return self._together(stacked, tokens, names)
            except (RuntimeError, ValueError) as error:
                # Fails alike if not because of vmap.
                found = self._apart(stacked, tokens, names)
                self._mapped = False
                why = reason_of(error)
        warnings.warn(
            f"the replicas of '{self.config.label}' are called one after another: {why}",
            stacklevel=2,
        )
        return found

    def _together(
        self, stacked: dict[str, Tensor], tokens: Tensor, names: Sequence[str]
    ) -> dict[str, Tensor]:
        stacked = {name: value.contiguous() for name, value in stacked.items()}
        if alone := self.replicas == 1:
            # Some operations round otherwise for one row than for several: here there
            # always are.
            stacked = {name: torch.cat([v, v.detach()]) for name, v in stacked.items()}
            tokens = tokens.expand(2, -1, -1) if tokens.dim() == 3 else tokens
        call = vmap(
            lambda values, ids, row: self._call(values, ids, names, row),
            in_dims=(0, 0 if tokens.dim() == 3 else None, 0),
        )
        rows = torch.arange(max(2, self.replicas), device=tokens.device)
        found: dict[str, Tensor] = call(stacked, tokens, rows)
        return {name: state[:1] for name, state in found.items()} if alone else found

    def _apart(
        self, stacked: dict[str, Tensor], tokens: Tensor, names: Sequence[str]
    ) -> dict[str, Tensor]:
        each = [
            self._call(
                {name: value[r] for name, value in stacked.items()},
                tokens[r] if tokens.dim() == 3 else tokens,
                names,
                r,
            )
            for r in range(self.replicas)
        ]
        return {name: torch.stack([one[name] for one in each]) for name in each[0]}

    def _call(
        self,
        values: dict[str, Tensor],
        tokens: Tensor,
        names: Sequence[str],
        row: int | Tensor,
    ) -> dict[str, Tensor]:
        """Call the module for one replica; under ``vmap``, for the one that stands for all."""
        base, rows, found = self._base[0], Rows(row, self.replicas), {}
        lent = {name: values[own] for name, own in self._own.items()}
        lent |= {name: find(self, own) for name, own in self._shared.items()}

        def edited(name: str, state: Tensor) -> Tensor:
            state = exactly(state)
            if (edit := self._edits.get(name)) is None:
                return state
            return rows.apply(edit, state)

        def hook(name: str) -> Any:
            def pass_by(_: nn.Module, __: Any, output: Any) -> Any:
                found[name] = edited(name, state_of_output(output))
                return (
                    with_state(output, found[name]) if name in self._edits else output
                )

            return pass_by

        parts = dict(base.named_modules()) if names or self._edits else {}
        watched = [n for n in dict.fromkeys((*names, *self._edits)) if n != LOGITS]
        hooks = [parts[name].register_forward_hook(hook(name)) for name in watched]
        try:
            with (
                Noise(rows, self._dropout.generators).drawn()
                if base.training
                else nullcontext()
            ):
                output = functional_call(base, lent, (tokens,), tie_weights=False)
        finally:
            for one in hooks:
                one.remove()
        logits = exactly(self._columns(logits_of(output, self._read)))
        if self._form.last_only:
            logits = logits[:, -1] if logits.dim() == 3 else logits
            unknown = logits.new_full((1,), torch.nan).expand(
                *tokens.shape, logits.shape[-1]
            )
            logits = torch.cat([unknown[:, :-1], logits.unsqueeze(1)], dim=1)
        return {name: found[name] for name in names} | {LOGITS: edited(LOGITS, logits)}

    @contextmanager
    def _quiet(self, *, watched: bool = False) -> Iterator[None]:
        """The module as it trains while masks are drawn, and kernels that can be batched."""
        del watched
        base, fast = self._base[0], torch.backends.mha.get_fastpath_enabled()
        if base.training != (self._dropout.generators is not None):
            base.train(not base.training)
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            with sdpa_kernel(SDPBackend.MATH):
                yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)
