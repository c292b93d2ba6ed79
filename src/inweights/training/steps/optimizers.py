"""The optimizer of all replicas: fused kernels on rows and columns of one matrix, and its state.

Shapes: ``R`` replicas, ``P`` parameters of one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from inweights.training.curriculum import Optimizer
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.worlds.arrays import Float

#: Numbers that the widest registers take at once.
LANES = 16
#: A first column, and the one after the last.
Span = tuple[int, int]


def build_optimizer(
    flat: FlatParameters,
    settings: Sequence[Optimizer],
    moving: Sequence[int],
    columns: Span | None = None,
) -> torch.optim.Optimizer:
    """Build the optimizer of a phase: groups of parameters for each run of equal settings.

    Settings are one a replica, and differ in rate, decay and what decays only. ``columns`` are the
    first that it steps, and the one after the last; all if left out.
    """
    spans = joined(flat.spans[i] for i in moving)
    if columns:
        spans = _within(spans, *columns)
    if len(equal_runs(settings)) > 1 and flat.values.device.type != "cpu":
        return one_for_all_rows(flat, settings, spans)
    groups, apart = _groups(flat, settings, spans)
    if not groups and columns:
        # Nothing of this rank moves. A column without a gradient stays where it is, and has a state
        # as the columns of the other ranks have, so that all gather as many matrices.
        one_column = (slice(0, 1), slice(columns[0], columns[0] + 1))
        parameter = _with_gradient(flat.values[one_column], flat.gradients[one_column])
        groups = [{"params": [parameter], "weight_decay": 0.0}]
    optimizer = _of_kind(groups, settings[0])

    def before(*_: object) -> None:
        for group, values, share in apart:
            values.mul_(1.0 - optimizer.param_groups[group]["lr"] * share)

    if apart:
        optimizer.register_step_pre_hook(before)
    return optimizer


def _groups(
    flat: FlatParameters, settings: Sequence[Optimizer], spans: Sequence[Span]
) -> tuple[list[dict[str, Any]], list[tuple[int, Float[Tensor, "r p"], float]]]:
    """Groups of an optimizer, and what decays apart: its group, its values and its decay."""
    groups: list[dict[str, Any]] = []
    apart: list[tuple[int, Float[Tensor, "r p"], float]] = []
    # What is left over at the end of a block is rounded otherwise than its middle: a replica is the
    # same alone and in company only if whole rows fill the lanes of a processor.
    count = flat.values.shape[1]
    in_lanes = list(spans) == [(0, count)] and count % LANES == 0
    for first, last in equal_runs(settings):
        one = settings[first]
        decays = decays_of(flat, spans, one)
        if one.kind == "adamw" and len(decays) > 1 and in_lanes:
            # Two pieces of each row would be two tensors a replica, each with a count of its steps.
            # AdamW's decay is a factor of its own, so that it is made before, in all rows at once.
            rows = slice(first, last)
            block = _with_gradient(flat.values[rows], flat.gradients[rows])
            for part, decay in decays:
                apart += [(len(groups), flat.values[rows, i:j], decay) for i, j in part if decay]
            groups.append({"params": [block], "lr": one.rate, "weight_decay": 0.0})
            continue
        for part, decay in decays:
            # A fused kernel wants contiguous memory: whole rows can be taken together, parts
            # cannot.
            whole = part == list(spans) and in_lanes
            size = last - first if whole else 1
            blocks = [slice(row, row + size) for row in range(first, last, size)]
            parameters = [
                _with_gradient(flat.values[block, start:end], flat.gradients[block, start:end])
                for block in blocks
                for start, end in part
            ]
            groups.append({"params": parameters, "lr": one.rate, "weight_decay": decay})
    return groups, apart


def one_for_all_rows(
    flat: FlatParameters, settings: Sequence[Optimizer], spans: Sequence[Span]
) -> torch.optim.Optimizer:
    """Build an optimizer of as many kernels for many different rates as for one.

    Without its rate and decay an update is the same function for all rows: the fused kernel makes
    it in a matrix of its own, from where it is added with the rate of each row. Where a kernel
    costs as much as its launch, on a GPU, 64 rates would otherwise take 64 times as long as one.
    """
    rates = flat.values.new_tensor([[one.rate] for one in settings])
    decay = torch.zeros_like(flat.values)
    for row, one in zip(decay, settings, strict=True):
        for part, of in decays_of(flat, spans, one):
            for start, end in part:
                row[start:end] = of
    kept, whole = 1.0 - rates * decay, torch.ones_like(rates)
    kind, any_decay = settings[0].kind, any(one.weight_decay for one in settings)
    update = _with_gradient(torch.zeros_like(flat.values), flat.gradients)
    optimizer = _of_kind([{"params": [update], "lr": 1.0, "weight_decay": 0.0}], settings[0])

    def before(*_: object) -> None:
        update.data.zero_()
        if kind == "adamw" and any_decay:
            flat.values.mul_(torch.lerp(whole, kept, optimizer.param_groups[0]["lr"]))
        elif any_decay:
            flat.gradients.addcmul_(flat.values, decay)

    def after(*_: object) -> None:
        flat.values.addcmul_(update.data, rates)

    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(after)
    return optimizer


def _with_gradient(values: Float[Tensor, "r p"], gradient: Float[Tensor, "r p"]) -> nn.Parameter:
    parameter = nn.Parameter(values)
    parameter.grad = gradient
    return parameter


def _of_kind(groups: list[dict[str, Any]], one: Optimizer) -> torch.optim.Optimizer:
    if one.kind == "sgd":
        return _uncompiled(torch.optim.SGD)(groups, lr=one.rate, momentum=one.momentum, fused=True)
    kind = _uncompiled(torch.optim.AdamW if one.kind == "adamw" else torch.optim.Adam)
    return kind(groups, lr=one.rate, betas=one.betas, eps=one.epsilon, fused=True)


@cache
def _uncompiled(kind: type[Any]) -> Callable[..., torch.optim.Optimizer]:
    """Return an optimizer that does not import PyTorch's compiler, half of a process's start.

    PyTorch wraps these methods to keep its compiler out of them, and imports it (2.6 s) for that.
    """
    own: dict[str, object] = {
        name: inspect.unwrap(getattr(kind, name))
        for name in ("add_param_group", "state_dict", "load_state_dict")
    }
    own["step"] = torch.no_grad()(inspect.unwrap(kind.step))
    return type(kind.__name__, (kind,), own)


def state_of(
    optimizer: torch.optim.Optimizer, flat: FlatParameters
) -> dict[str, Float[Tensor, "R P"] | Float[Tensor, ""]]:
    """Return the state of an optimizer as matrices and numbers, by name.

    They do not tell how rows and columns were grouped, nor who had which of them.
    """
    state: dict[str, Tensor] = {}
    for parameter, (rows, columns) in _places(optimizer, flat):
        for name, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, Tensor) and value.dim():
                state.setdefault(name, torch.zeros_like(flat.values))[rows, columns] = value
            elif isinstance(value, Tensor):
                state[name] = value
    return state


def load_state(
    optimizer: torch.optim.Optimizer,
    flat: FlatParameters,
    state: dict[str, Float[Tensor, "R P"] | Float[Tensor, ""]],
) -> None:
    """Load an optimizer's part of a stored state; see :func:`state_of`."""
    if not state:
        return
    own = {
        index: {
            name: (value[place] if value.dim() else value).clone(
                memory_format=torch.contiguous_format
            )
            for name, value in state.items()
        }
        for index, (_, place) in enumerate(_places(optimizer, flat))
    }
    optimizer.load_state_dict({**optimizer.state_dict(), "state": own})


def _places(
    optimizer: torch.optim.Optimizer, flat: FlatParameters
) -> Iterator[tuple[nn.Parameter, tuple[slice, slice]]]:
    """Yield every parameter of an optimizer with its rows and columns, in its order."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            row, column = divmod(parameter.storage_offset(), flat.values.shape[1])
            rows, columns = parameter.shape
            yield parameter, (slice(row, row + rows), slice(column, column + columns))


def decays_of(
    flat: FlatParameters, spans: Sequence[Span], one: Optimizer
) -> list[tuple[list[Span], float]]:
    """Return what decays of some columns and what is spared, each with its decay; none is empty."""
    count = flat.values.shape[1]
    split = flat.matrices if one.weight_decay and one.decayed == "matrices" else count
    parts = (
        (_within(spans, 0, split), one.weight_decay or 0.0),
        (_within(spans, split, count), 0.0),
    )
    return [(part, decay) for part, decay in parts if part]


def _within(spans: Iterable[Span], first: int, last: int) -> list[Span]:
    """Cut spans to the columns from the first to before the last."""
    cut = [(max(start, first), min(end, last)) for start, end in spans]
    return [(start, end) for start, end in cut if start < end]


def joined(spans: Iterable[Span]) -> list[Span]:
    """Join neighbouring spans."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def equal_runs(settings: Sequence[Optimizer]) -> list[Span]:
    """Return ``(first, last)`` of every run of neighbouring replicas with equal settings."""
    cuts = [i for i in range(1, len(settings)) if settings[i] != settings[i - 1]]
    return list(zip([0, *cuts], [*cuts, len(settings)], strict=True))
