"""Call one module with the parameters of every replica: :class:`ModuleCaller`.

:class:`~inweights.models.outside.wrapped.Wrapped` and trained modules are based on it.
The module does not store parameters. Each call passes it the parameters of all replicas
under ``torch.func.vmap``, or, if an operation has no batching rule, the parameters of
one replica after another. Shapes: ``R`` replicas, ``B`` sequences of ``T`` positions,
``V`` tokens, ``D`` width.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.models.layers.dropout import Dropout
from inweights.models.outside.forms import (
    Form,
    exactly,
    logits_of,
    state_of_output,
    with_state,
)
from inweights.models.outside.replicas.rowwise import Noise, Rows, reason_of
from inweights.models.outside.replicas.stacking import Names, find
from inweights.models.packing import check_replicas
from inweights.worlds.arrays import Float, Int

#: Name of the deepest state of every wrapped module: its logits.
LOGITS = "logits"


class ModuleCaller(Model):
    """Model that computes states and logits by calling one module for each replica.

    :class:`~inweights.models.outside.wrapped.Wrapped`, the class of wrapped modules, is
    a subclass.
    """

    def _adopt(
        self,
        config: Any,
        base: nn.Module,
        names: Names,
        form: Form,
        read: Callable[[Any], Any] | None,
    ) -> None:
        """Store what calls need: the module that is called, names of parameters, and its form."""
        self.config = config
        # Stored in a list, so that its parameters are not registered as parameters of the
        # model.
        self._base = [base]
        self._names = names
        self._own = names.own
        self._shared = names.shared
        self._form = form
        self._read = read
        self._dropout = Dropout(form.dropout)
        self._mapped = True

    def _columns(self, logits: Tensor) -> Tensor:
        """Return the logits of the model's tokens, which are the first that the module returns."""
        return logits[..., : self.vocabulary]

    def _each(
        self, tokens: Int[Tensor, "*R B T"], names: Sequence[str]
    ) -> dict[str, Float[Tensor, "R B T D"]]:
        """Check token ids, and call the module for every replica."""
        self._check_ids(tokens)
        return self._called(tokens, names)

    def _check_ids(self, tokens: Int[Tensor, "*R B T"]) -> None:
        """Raise an error for ids that are out of range or do not fit the number of replicas."""
        check_replicas(tokens, self.replicas)
        if tokens.is_meta or not tokens.numel():
            return
        least, most = torch.aminmax(tokens)
        if least < 0 or most >= self.vocabulary:
            raise DataError(
                f"token ids must be from 0 to {self.vocabulary - 1}, got {int(least)} to "
                f"{int(most)}"
            )

    def _called(
        self, tokens: Int[Tensor, "*R B T"], names: Sequence[str]
    ) -> dict[str, Float[Tensor, "R B T D"]]:
        """Call the module for every replica; warn once if ``vmap`` is impossible."""
        if tokens.dim() == 3 and len(tokens) == 1:  # all replicas read the same tokens
            tokens = tokens[0]
        with self._quiet(watched=bool(names or self._edits)):
            stacked = {name: find(self, name) for name in self._own.values()}
            if not self._mapped:
                return self._apart(stacked, tokens, names)
            try:
                return self._together(stacked, tokens, names)
            except (RuntimeError, ValueError) as error:
                # If `vmap` is not the cause of the error, this call raises it again.
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
        """Call the module once for all replicas, under ``vmap``."""
        stacked = {name: value.contiguous() for name, value in stacked.items()}
        alone = self.replicas == 1
        if alone:
            # Some operations round one row differently from several. A single replica
            # is therefore computed as two rows.
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
        """Call the module for one replica after another."""
        each = []
        for replica in range(self.replicas):
            values = {name: value[replica] for name, value in stacked.items()}
            ids = tokens[replica] if tokens.dim() == 3 else tokens
            each.append(self._call(values, ids, names, replica))
        joined = {}
        for name in each[0]:
            joined[name] = torch.stack([one[name] for one in each])
        return joined

    def _call(
        self,
        values: dict[str, Tensor],
        tokens: Tensor,
        names: Sequence[str],
        row: int | Tensor,
    ) -> dict[str, Tensor]:
        """Call the module for one replica which, under ``vmap``, represents all replicas."""
        base = self._base[0]
        rows = Rows(row, self.replicas)
        found: dict[str, Tensor] = {}
        lent = {name: values[own] for name, own in self._own.items()}
        lent |= {name: find(self, own) for name, own in self._shared.items()}

        def edited(name: str, state: Tensor) -> Tensor:
            state = exactly(state)
            edit = self._edits.get(name)
            return state if edit is None else rows.apply(edit, state)

        def hook(name: str) -> Any:
            def pass_by(_: nn.Module, __: Any, output: Any) -> Any:
                found[name] = edited(name, state_of_output(output))
                if name not in self._edits:
                    return output
                return with_state(output, found[name])

            return pass_by

        hooks = []
        for name in dict.fromkeys((*names, *self._edits)):
            # The logits are not the output of a submodule; they are edited below.
            if name != LOGITS:
                part = base.get_submodule(name)
                hooks.append(part.register_forward_hook(hook(name)))
        noise = Noise(rows, self._dropout.generators)
        try:
            with noise.drawn() if base.training else nullcontext():
                # `lent` already contains every name of a tied parameter.
                output = functional_call(base, lent, (tokens,), tie_weights=False)
        finally:
            # All calls use the same module, so the hooks of one call must be removed.
            for one in hooks:
                one.remove()
        logits = exactly(self._columns(logits_of(output, self._read)))
        if self._form.last_only:
            logits = _at_last_position(logits, tokens)
        return {name: found[name] for name in names} | {LOGITS: edited(LOGITS, logits)}

    def _part(self, name: str, state: Tensor) -> Tensor:
        """Apply a submodule to a state, with the parameters and buffers of each replica."""
        part = self._base[0].get_submodule(name)
        own = self._numbers_below(name, self._own)
        lent = self._numbers_below(name, self._shared)
        call = vmap(
            lambda values, x: functional_call(
                part, {**values, **lent}, (x,), tie_weights=False
            )
        )
        # States are returned in single precision, but the submodule may compute in half
        # precision.
        kinds = [value.dtype for value in (*own.values(), *lent.values())]
        result: Tensor = call(own, state.to(kinds[0]) if kinds else state)
        return exactly(result)

    def _numbers_below(self, part: str, names: Mapping[str, str]) -> dict[str, Tensor]:
        """Return the tensors of a submodule, by their names within it."""
        found = {}
        for name, own in names.items():
            if name.startswith(f"{part}."):
                found[name.removeprefix(f"{part}.")] = find(self, own)
        return found

    @contextmanager
    def _quiet(self, *, watched: bool = False) -> Iterator[None]:
        """Set training mode if dropout masks are drawn, and use kernels that can be batched."""
        del watched
        base = self._base[0]
        fast = torch.backends.mha.get_fastpath_enabled()
        if base.training != (self._dropout.generators is not None):
            base.train(not base.training)
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            with sdpa_kernel(SDPBackend.MATH):
                yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)


def _at_last_position(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return logits ``[B, T, V]``: the given ones at the last position, NaN at all others."""
    last = logits[:, -1] if logits.dim() == 3 else logits
    unknown = last.new_full((1,), torch.nan).expand(*tokens.shape, last.shape[-1])
    return torch.cat([unknown[:, :-1], last.unsqueeze(1)], dim=1)
