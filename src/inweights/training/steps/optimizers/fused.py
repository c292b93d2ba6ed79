"""The built-in optimizers of all replicas: fused kernels on parts of one matrix.

:func:`build_optimizer` returns a ``torch.optim`` optimizer whose parameters are parts
of the matrix of :class:`FlatParameters`. :func:`state_of` and :func:`load_state`
convert its state to matrices for a checkpoint and back. Shapes: ``R`` replicas, ``P``
parameters of one replica.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from inweights.training.curriculum import Optimizer
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.optimizers.direct import loading_anew, stepping_directly
from inweights.training.steps.optimizers.spans import (
    Span,
    decays_of,
    equal_runs,
    joined,
    within,
)
from inweights.worlds.arrays import Float

#: Number of entries in the widest vector registers.
LANES = 16


def build_optimizer(
    flat: FlatParameters,
    settings: Sequence[Optimizer],
    moving: Sequence[int],
    columns: Span | None = None,
) -> torch.optim.Optimizer:
    """Build the optimizer of a phase for all replicas.

    On a CPU, each group of neighbouring replicas with equal settings has parameter
    groups of its own. On a GPU, replicas with different settings share one parameter
    group (:func:`one_for_all_rows`).

    Args:
        flat: The matrices of parameters and gradients.
        settings: Settings of each replica, which may differ only in learning rate,
            weight decay and the parameters to which weight decay applies.
        moving: Indices of the parameters that are trained, as returned by
            :meth:`FlatParameters.moving`.
        columns: First column that the optimizer updates, and the column after the last
            one; by default all columns.

    Returns:
        A ``torch.optim`` optimizer whose ``step`` takes no closure. The learning rates
        are in its ``param_groups``.
    """
    spans = joined(flat.spans[i] for i in moving)
    if columns:
        spans = within(spans, *columns)
    if len(equal_runs(settings)) > 1 and flat.values.device.type != "cpu":
        return one_for_all_rows(flat, settings, spans)
    groups, decays = _groups(flat, settings, spans)
    if not groups and columns:
        # Nothing in this rank's columns is trained. One column without a gradient does
        # not change, but gives this rank the same kind of state as other ranks, so that
        # all ranks gather the same number of matrices.
        one_column = (slice(0, 1), slice(columns[0], columns[0] + 1))
        parameter = _with_gradient(flat.values[one_column], flat.gradients[one_column])
        groups = [{"params": [parameter], "weight_decay": 0.0}]
    optimizer = _of_kind(groups, settings[0])

    def decay_first(*_: object) -> None:
        for one in decays:
            one.values.mul_(1.0 - optimizer.param_groups[one.group]["lr"] * one.decay)

    if decays:
        optimizer.register_step_pre_hook(decay_first)
    return optimizer


@dataclass(frozen=True)
class _Decay:
    """Weight decay before an optimizer's kernel: index of the group, tensor, coefficient."""

    group: int
    values: Float[Tensor, "r p"]
    decay: float


def _groups(
    flat: FlatParameters, settings: Sequence[Optimizer], spans: Sequence[Span]
) -> tuple[list[dict[str, Any]], list[_Decay]]:
    """Return an optimizer's parameter groups, and the weight decays before its kernel."""
    groups: list[dict[str, Any]] = []
    decays: list[_Decay] = []
    # Entries at the end of a tensor that do not fill a register are rounded
    # differently. A replica has the same results alone and among others only if rows
    # fill whole registers.
    count = flat.values.shape[1]
    in_lanes = list(spans) == [(0, count)] and count % LANES == 0
    for first, last in equal_runs(settings):
        one = settings[first]
        parts = decays_of(flat, spans, one)
        if one.kind == "adamw" and len(parts) > 1 and in_lanes:
            # With two parts per row, there would be two tensors per replica, each with
            # its own step count. AdamW's decay is a separate factor, so that it can be
            # applied first, to all rows at once.
            rows = slice(first, last)
            block = _with_gradient(flat.values[rows], flat.gradients[rows])
            for part, decay in parts:
                if not decay:
                    continue
                for start, end in part:
                    piece = flat.values[rows, start:end]
                    decays.append(_Decay(len(groups), piece, decay))
            groups.append({"params": [block], "lr": one.rate, "weight_decay": 0.0})
            continue
        for part, decay in parts:
            # A fused kernel needs contiguous memory, so that several whole rows can be
            # one tensor, but parts of rows cannot.
            whole = part == list(spans) and in_lanes
            size = last - first if whole else 1
            parameters = []
            for row, (start, end) in product(range(first, last, size), part):
                cut = (slice(row, row + size), slice(start, end))
                parameters.append(_with_gradient(flat.values[cut], flat.gradients[cut]))
            groups.append({"params": parameters, "lr": one.rate, "weight_decay": decay})
    return groups, decays


def one_for_all_rows(
    flat: FlatParameters, settings: Sequence[Optimizer], spans: Sequence[Span]
) -> torch.optim.Optimizer:
    """Build an optimizer whose number of kernels is the same for any number of learning rates.

    Apart from the learning rate and weight decay, the update is the same function for
    all rows. The fused kernel computes the update in a separate matrix, and the update
    is then added with the rate of each row. On a GPU, where a kernel takes as long as
    its launch, 64 rates would otherwise take 64 times as long as one.

    Args:
        flat: The matrices of parameters and gradients.
        settings: Settings of each replica, which may differ only in learning rate,
            weight decay and the parameters to which weight decay applies.
        spans: The columns that are trained, as pairs of the first column and the column
            after the last one.

    Returns:
        A ``torch.optim`` optimizer with one group, whose rate is a factor of the
        replicas' own rates.
    """
    rates = flat.values.new_tensor([[one.rate] for one in settings])
    decay = torch.zeros_like(flat.values)
    for row, one in zip(decay, settings, strict=True):
        for part, of_part in decays_of(flat, spans, one):
            for start, end in part:
                row[start:end] = of_part
    shrunk = 1.0 - rates * decay
    whole = torch.ones_like(rates)
    kind = settings[0].kind
    any_decay = any(one.weight_decay for one in settings)
    # It starts at 0, with a rate of 1, so that a step changes it to minus the update.
    update = _with_gradient(torch.zeros_like(flat.values), flat.gradients)
    optimizer = _of_kind(
        [{"params": [update], "lr": 1.0, "weight_decay": 0.0}], settings[0]
    )

    def before(*_: object) -> None:
        update.data.zero_()
        if kind == "adamw" and any_decay:
            flat.values.mul_(torch.lerp(whole, shrunk, optimizer.param_groups[0]["lr"]))
        elif any_decay:
            flat.gradients.addcmul_(flat.values, decay)

    def after(*_: object) -> None:
        flat.values.addcmul_(update.data, rates)

    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(after)
    return optimizer


def _with_gradient(
    values: Float[Tensor, "r p"], gradient: Float[Tensor, "r p"]
) -> nn.Parameter:
    parameter = nn.Parameter(values)
    parameter.grad = gradient
    return parameter


def _of_kind(groups: list[dict[str, Any]], one: Optimizer) -> torch.optim.Optimizer:
    """Return a fused optimizer with the given parameter groups."""
    if one.kind == "sgd":
        return _uncompiled(torch.optim.SGD)(
            groups, lr=one.rate, momentum=one.momentum, fused=True
        )
    kind = _uncompiled(torch.optim.AdamW if one.kind == "adamw" else torch.optim.Adam)
    return kind(
        groups,
        lr=one.rate,
        betas=one.betas,
        eps=one.epsilon,
        fused=True,
    )


@cache
def _uncompiled(kind: type[Any]) -> Callable[..., torch.optim.Optimizer]:
    """Return a subclass of an optimizer that does not import PyTorch's compiler.

    PyTorch wraps the methods of optimizers to exclude them from compilation, and
    imports its compiler for this purpose. The import takes 2.6 s, half of the time in
    which a process starts.
    """
    own: dict[str, object] = {}
    for name in ("add_param_group", "state_dict"):
        own[name] = inspect.unwrap(getattr(kind, name))
    own["load_state_dict"] = loading_anew(inspect.unwrap(kind.load_state_dict))
    own["step"] = stepping_directly(torch.no_grad()(inspect.unwrap(kind.step)))
    return type(kind.__name__, (kind,), own)


def state_of(
    optimizer: torch.optim.Optimizer, flat: FlatParameters
) -> dict[str, Float[Tensor, "R P"] | Float[Tensor, ""]]:
    """Return the state of an optimizer as a dictionary of matrices and numbers.

    The result does not depend on how rows and columns are grouped.

    Args:
        optimizer: An optimizer from :func:`build_optimizer`.
        flat: The parameters for which it was built.

    Returns:
        For Adam and AdamW, the moments ``exp_avg`` and ``exp_avg_sq`` of ``P``
        parameters, ``[R, P]`` each, and the number ``step``; for SGD with momentum,
        ``momentum_buffer``, ``[R, P]``. Columns that the optimizer does not update are
        0. Before the first step, and for SGD without momentum, the dictionary is empty.
    """
    state: dict[str, Tensor] = {}
    for parameter, (rows, columns) in _places(optimizer, flat):
        for name, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, Tensor) and value.dim():
                if name not in state:
                    state[name] = torch.zeros_like(flat.values)
                state[name][rows, columns] = value
            elif isinstance(value, Tensor):
                state[name] = value
    return state


def load_state(
    optimizer: torch.optim.Optimizer,
    flat: FlatParameters,
    state: dict[str, Float[Tensor, "R P"] | Float[Tensor, ""]],
) -> None:
    """Load a state returned by :func:`state_of`; parameters may be grouped differently.

    Args:
        optimizer: An optimizer from :func:`build_optimizer`.
        flat: The parameters for which it was built.
        state: State of an optimizer of the same kind; if it is empty, nothing is loaded.
    """
    if not state:
        return
    own: dict[int, dict[str, Tensor]] = {}
    for index, (_, place) in enumerate(_places(optimizer, flat)):
        own[index] = {}
        for name, value in state.items():
            part = value[place] if value.dim() else value
            own[index][name] = part.clone(memory_format=torch.contiguous_format)
    optimizer.load_state_dict({**optimizer.state_dict(), "state": own})


def _places(
    optimizer: torch.optim.Optimizer, flat: FlatParameters
) -> Iterator[tuple[nn.Parameter, tuple[slice, slice]]]:
    """Yield each parameter of an optimizer, in order, with its rows and columns."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            row, column = divmod(parameter.storage_offset(), flat.values.shape[1])
            rows, columns = parameter.shape
            yield parameter, (slice(row, row + rows), slice(column, column + columns))
