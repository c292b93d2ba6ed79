"""All parameters of a model as one matrix, a row a replica.

The optimizer, the checkpoint and the stop rule work on rows; the layers go on seeing their own
parameters, which become views of the matrix. This asks nothing of a model but that its parameters
start with the replica axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn

from inweights.errors import ConfigError, unknown_name
from inweights.models.base import Model
from inweights.training.curriculum import Optimizer

__all__ = ["FlatParameters", "build_optimizer", "load_state", "state_of"]


class FlatParameters:
    """The parameters of ``model`` as ``values`` and ``gradients``, both ``[R, P]``.

    Matrices stand before vectors (gains and biases), so that what decays of a row is one piece.

    Attributes:
        matrices: How many of the ``P`` columns are those of matrices.

    Raises:
        ConfigError: A parameter does not start with the replica axis.
    """

    def __init__(self, model: Model) -> None:
        named = list(model.named_parameters())
        for name, parameter in named:
            if parameter.shape[0] != model.replicas:
                raise ConfigError(
                    f"parameter '{name}' has shape {tuple(parameter.shape)}; the first axis of "
                    f"every parameter is the replica axis, here {model.replicas}"
                )
        named.sort(key=lambda item: _is_vector(item[1]))
        self.names = [name for name, _ in named]
        self.parameters = [parameter for _, parameter in named]
        flat = [parameter.detach().flatten(1) for parameter in self.parameters]
        self.values = torch.cat(flat, dim=1)
        self.gradients = torch.zeros_like(self.values)
        ends = torch.tensor([part.shape[1] for part in flat]).cumsum(0).tolist()
        self.spans = list(zip([0, *ends[:-1]], ends, strict=True))
        self.matrices = sum(end - start for p, (start, end) in self._placed() if not _is_vector(p))
        self._slots = []
        for parameter, (start, end) in self._placed():
            parameter.data = self.values[:, start:end].view(parameter.shape)
            self._slots.append(self.gradients[:, start:end].view(parameter.shape))

    def _placed(self) -> Iterable[tuple[nn.Parameter, tuple[int, int]]]:
        return zip(self.parameters, self.spans, strict=True)

    def moving(self, moves: Sequence[str], freezes: Sequence[str] = ()) -> list[int]:
        """Return the indices of the parameters that move, and let only those move.

        Args:
            moves: Patterns of their names.
            freezes: Patterns of those among them that stand still all the same.

        Raises:
            ConfigError: A pattern matches none, or nothing is left to move.
        """
        matched = _matching(self.names, moves)
        frozen = _matching(matched, freezes)
        if len(frozen) == len(matched):
            raise ConfigError(
                f"no parameter moves: {', '.join(freezes)} freezes all that {', '.join(moves)} "
                "matches"
            )
        chosen = [i for i, n in enumerate(self.names) if n in matched and n not in frozen]
        for i, parameter in enumerate(self.parameters):
            parameter.requires_grad_(i in chosen)
        self.gradients.zero_()  # of what moved in an earlier phase
        return chosen

    def release(self) -> None:
        """Give every parameter memory of its own again: views of one matrix cannot be saved."""
        for parameter in self.parameters:
            parameter.requires_grad_(True)
            parameter.data = parameter.detach().clone(memory_format=torch.contiguous_format)

    def backward(self, loss: Tensor, moving: Sequence[int]) -> None:
        """Write the gradient of ``loss`` by the moving parameters into ``gradients``."""
        gradients = torch.autograd.grad(
            loss, [self.parameters[i] for i in moving], allow_unused=True, materialize_grads=True
        )
        torch._foreach_copy_([self._slots[i] for i in moving], list(gradients))


def _is_vector(parameter: Tensor) -> bool:
    """Whether it is a vector ``[R, D]`` of a norm or a layer; every other one is a matrix."""
    return parameter.dim() < 3


def _matching(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match a pattern; each pattern has to match one."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise unknown_name("parameter", pattern, names)
    return [name for name in names if any(fnmatchcase(name, p) for p in patterns)]


def build_optimizer(
    flat: FlatParameters,
    settings: Sequence[Optimizer],
    moving: Sequence[int],
    columns: tuple[int, int] | None = None,
) -> torch.optim.Optimizer:
    """Build the optimizer of a phase: groups of parameters for each run of equal settings.

    Args:
        flat: The parameters.
        settings: Optimizer of each replica; they differ in rate, decay and what decays only.
        moving: Indices of the parameters that move.
        columns: First column that it steps, and the one after the last; all if left out.
    """
    spans = _joined(flat.spans[i] for i in moving)
    if columns:
        spans = [(max(a, columns[0]), min(b, columns[1])) for a, b in spans]
        spans = [(a, b) for a, b in spans if a < b]
    runs = _equal_runs(settings)
    if len(runs) > 1 and flat.values.device.type != "cpu":
        return one_for_all_rows(flat, settings, spans)
    groups: list[dict[str, Any]] = []
    for first, last in runs:
        one = settings[first]
        split = flat.matrices if one.weight_decay and one.decayed == "matrices" else None
        for part, decay in _parts(spans, split, one.weight_decay):
            # A fused kernel wants contiguous memory: whole rows can be taken together, parts
            # cannot.
            whole = part == [(0, flat.values.shape[1])]
            blocks = (
                [slice(first, last)] if whole else [slice(r, r + 1) for r in range(first, last)]
            )
            parameters = [
                _with_gradient(flat.values[block, start:end], flat.gradients[block, start:end])
                for block in blocks
                for start, end in part
            ]
            groups.append({"params": parameters, "lr": one.rate, "weight_decay": decay})
    if not groups and columns:  # nothing of a rank moves, and a column without a gradient stays
        one_column = (slice(0, 1), slice(columns[0], columns[0] + 1))
        parameter = _with_gradient(flat.values[one_column], flat.gradients[one_column])
        groups = [{"params": [parameter], "weight_decay": 0.0}]
    return _of_kind(groups, settings[0])


def one_for_all_rows(
    flat: FlatParameters, settings: Sequence[Optimizer], spans: Sequence[tuple[int, int]]
) -> torch.optim.Optimizer:
    """Build an optimizer of as many kernels for many different rates as for one.

    Without its rate and decay an update is the same function for all rows: the fused kernel makes
    it in a matrix of its own, from where it is added with the rate of each row. Where a kernel
    costs as much as its launch, on a GPU, 64 rates would otherwise take 64 times as long as one.

    Args:
        flat: The parameters.
        settings: Optimizer of each replica; they differ in rate, decay and what decays only.
        spans: Columns that move.
    """
    moves, vector = torch.zeros_like(flat.values[0]), torch.ones_like(flat.values[0])
    for start, end in spans:
        moves[start:end] = 1.0
    vector[: flat.matrices] = 0.0
    rates = flat.values.new_tensor([[one.rate] for one in settings])
    decay = flat.values.new_tensor([[one.weight_decay] for one in settings])
    spared = flat.values.new_tensor([[float(one.decayed == "matrices")] for one in settings])
    decay = decay * moves * (1.0 - spared * vector)
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


def _with_gradient(values: Tensor, gradient: Tensor) -> nn.Parameter:
    parameter = nn.Parameter(values)
    parameter.grad = gradient
    return parameter


def _of_kind(groups: list[dict[str, Any]], one: Optimizer) -> torch.optim.Optimizer:
    if one.kind == "sgd":
        return torch.optim.SGD(groups, lr=one.rate, momentum=one.momentum, fused=True)
    kind = torch.optim.AdamW if one.kind == "adamw" else torch.optim.Adam
    return kind(groups, lr=one.rate, betas=one.betas, eps=one.epsilon, fused=True)


def state_of(optimizer: torch.optim.Optimizer, flat: FlatParameters) -> dict[str, Tensor]:
    """Return the state of an optimizer as matrices ``[R, P]`` and numbers, by name.

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
    optimizer: torch.optim.Optimizer, flat: FlatParameters, state: dict[str, Tensor]
) -> None:
    """Give an optimizer the part of a stored state that is its own; see :func:`state_of`."""
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


def _parts(
    spans: list[tuple[int, int]], split: int | None, decay: float
) -> Iterable[tuple[list[tuple[int, int]], float]]:
    """Yield spans and their decay: those before ``split`` decay, those after it do not."""
    if split is None:
        yield spans, decay
        return
    before = [(start, min(end, split)) for start, end in spans if start < split]
    after = [(max(start, split), end) for start, end in spans if end > split]
    yield from ((part, of) for part, of in ((before, decay), (after, 0.0)) if part)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join neighbouring spans."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _equal_runs(settings: Sequence[Optimizer]) -> list[tuple[int, int]]:
    """Return ``(first, last)`` of every run of neighbouring replicas with equal settings."""
    cuts = [i for i in range(1, len(settings)) if settings[i] != settings[i - 1]]
    return list(zip([0, *cuts], [*cuts, len(settings)], strict=True))
