"""Optimizers of one's own: element-wise ones on rows of one matrix, others replica by replica.

Shapes: ``R`` replicas, ``P`` parameters of one.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from inweights.errors import ConfigError
from inweights.support.code import Code
from inweights.training.curriculum import Optimizer
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.lockstep import in_lockstep
from inweights.training.steps.optimizers import decays_of, equal_runs, joined

if TYPE_CHECKING:
    pass

#: Columns of rows that are stepped as one block: a multiple of what a processor's loops take at
#: once, so that no row has a rest of its own; and as few numbers as one thread takes.
LANES, MOST_TOGETHER = 32, 2**15
_TRIED = (3, 2 * LANES)
#: Steps of the trial that tells whether an update is element-wise.
_STEPS = 3
Pairs = list[tuple[str, nn.Parameter]]


class OwnOptimizer:
    """The optimizers of a phase that are somebody's own, as one.

    Args:
        flat: The parameters.
        settings: Optimizer of each replica; all of one class or function.
        moving: Indices of the parameters that move.

    Attributes:
        param_groups: Those of all of them.

    Raises:
        ConfigError: One cannot be made, or is no optimizer.
    """

    def __init__(
        self, flat: FlatParameters, settings: Sequence[Optimizer], moving: Sequence[int]
    ) -> None:
        code = settings[0].kind
        assert isinstance(code, Code)
        self._name, self._new = code.name, True
        made = code.load()
        #: Per replica, or per block of replicas: optimizers, and each parameter with its gradient.
        self._each: list[tuple[list[torch.optim.Optimizer], list[tuple[nn.Parameter, Tensor]]]] = []
        self._asks = False
        if _is_elementwise(made, settings[0]):
            places = list(_blocks(flat, settings, moving))
        else:
            warnings.warn(
                f"{self._name} is stepped replica by replica, as an update of a parameter depends "
                "on more than its own gradients",
                stacklevel=2,
            )
            places = [(one, _shaped(flat, row, moving)) for row, one in enumerate(settings)]
        for one, slots in places:
            pairs = [(name, nn.Parameter(values)) for name, values, _ in slots]
            optimizers = _built(one, pairs)
            linked = [(p, g) for (_, p), (_, _, g) in zip(pairs, slots, strict=True)]
            self._each.append((optimizers, linked))
            self._asks = self._asks or any(asks_for_gradients(o) for o in optimizers)
        self.param_groups = [g for os, _ in self._each for o in os for g in o.param_groups]

    def step(self, again: Callable[[], Tensor]) -> None:
        """Move the parameters.

        Args:
            again: Computes losses ``[R]`` and gradients where the parameters are then; for
                optimizers whose ``step`` needs a ``closure``.
        """
        before = [p.data_ptr() for _, linked in self._each for p, _ in linked]
        self._link()
        if self._asks:

            def linked_again() -> Tensor:
                with torch.enable_grad():
                    losses = again()
                self._link()
                return losses

            rows = [optimizers for optimizers, _ in self._each]
            in_lockstep([_stepping(optimizers) for optimizers in rows], linked_again)
        else:
            for optimizers, _ in self._each:
                for optimizer in optimizers:
                    optimizer.step()
        if self._new and before != [p.data_ptr() for _, linked in self._each for p, _ in linked]:
            raise ConfigError(
                f"{self._name} gives parameters other memory (p.data = ...); change them in place, "
                "p.add_(...)"
            )
        if self._new:
            self.state()  # what cannot be kept is refused now, not at a checkpoint
        self._new = False

    def _link(self) -> None:
        for _, linked in self._each:
            for parameter, gradient in linked:
                parameter.grad = gradient

    def state(self) -> dict[str, Tensor]:
        """Return the state as named tensors: of every optimizer its state and its groups.

        Raises:
            ConfigError: It holds something that is no number, text, tensor, or list of these.
        """
        tensors: dict[str, Tensor] = {}
        form = []
        for optimizers, _ in self._each:
            for optimizer in optimizers:
                state = [optimizer.state.get(p, {}) for p in _parameters(optimizer)]
                groups = [
                    {k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups
                ]
                form.append(_packed([state, groups], tensors, self._name))
        words = np.frombuffer(msgspec.json.encode(form), dtype=np.uint8).copy()
        return {"form": torch.from_numpy(words), **tensors}

    def load(self, state: dict[str, Tensor]) -> None:
        """Load what :meth:`state` returned; nothing of an empty one."""
        if not state:
            return
        form = iter(msgspec.json.decode(state["form"].cpu().numpy().tobytes()))
        for optimizers, _ in self._each:
            for optimizer in optimizers:
                own, groups = _unpacked(next(form), state)
                for parameter, values in zip(_parameters(optimizer), own, strict=True):
                    if values:
                        optimizer.state[parameter] = values
                for group, values in zip(optimizer.param_groups, groups, strict=True):
                    group.update(values)


def asks_for_gradients(optimizer: Any) -> bool:
    """Whether ``step`` of an optimizer, or of its class, cannot do without a ``closure``."""
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    return closure is not None and closure.default is inspect.Parameter.empty


def _parameters(optimizer: torch.optim.Optimizer) -> Iterator[nn.Parameter]:
    for group in optimizer.param_groups:
        yield from group["params"]


def _stepping(optimizers: Sequence[Any]) -> Callable[[Callable[[], Tensor]], None]:
    def run(closure: Callable[[], Tensor]) -> None:
        for optimizer in optimizers:
            optimizer.step(closure) if asks_for_gradients(optimizer) else optimizer.step()

    return run


def _built(one: Optimizer, pairs: Pairs) -> list[torch.optim.Optimizer]:
    """Call a class or function of one's own."""
    assert isinstance(one.kind, Code)
    given = {} if one.weight_decay is None else {"weight_decay": one.weight_decay}
    make = one.kind.load()
    groups: list[Any] = pairs
    if isinstance(getattr(make, "func", make), type) and one.weight_decay and one.decayed != "all":
        spared = [pair for pair in pairs if pair[1].dim() < 2]
        if spared:
            others = [pair for pair in pairs if pair[1].dim() > 1]
            groups = [{"params": others}, {"params": spared, "weight_decay": 0.0}]
            groups = [group for group in groups if group["params"]]
    try:
        made = make(groups, lr=one.rate, **given)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"the optimizer {one.kind.name} cannot be made: {error}. It is called with pairs of "
            "name and parameter, as module.named_parameters() gives them, and lr; a function can "
            "give some to one optimizer and the rest to another, and return both"
        ) from error
    several = list(made) if isinstance(made, list | tuple) else [made]
    for optimizer in several:
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise ConfigError(
                f"{one.kind.name} must return a torch.optim.Optimizer, or a list of them, got "
                f"{type(optimizer).__name__}"
            )
    return several


def _is_elementwise(made: Any, one: Optimizer) -> bool:
    """Whether a class moves each number by its own gradients alone, found out by trying.

    A matrix, its transpose and its rows alone have to move alike, to the last bit. A function may
    look at names and shapes, and so is never taken for one.
    """
    kind = getattr(made, "func", made)
    if not isinstance(kind, type) or asks_for_gradients(kind):
        return False
    one = msgspec.structs.replace(one, decayed="all")  # a row is no vector of a norm
    start = torch.arange(_TRIED[0] * _TRIED[1], dtype=torch.float32).view(_TRIED).sin()
    pushes = [(start * (step + 1.7)).cos() for step in range(_STEPS)]

    def moved(view: Callable[[Tensor], Tensor]) -> Tensor:
        values = nn.Parameter(view(start).clone(memory_format=torch.contiguous_format))
        optimizers = _built(one, [("values", values)])
        for push in pushes:
            values.grad = view(push).clone(memory_format=torch.contiguous_format)
            for optimizer in optimizers:
                optimizer.step()
        return values.detach()

    drawn = torch.get_rng_state()
    try:
        whole, turned = moved(lambda x: x), moved(lambda x: x.T).T
        row = moved(lambda x: x[0])
    except (RuntimeError, ValueError, TypeError, ConfigError):
        return False  # such as one that takes matrices alone
    if not torch.equal(drawn, torch.get_rng_state()):
        raise ConfigError(
            f"{kind.__name__} draws random numbers, so that its runs could not be repeated; "
            "Optimizer(noise=...) adds noise to gradients"
        )
    return torch.equal(whole, turned) and torch.equal(whole[0], row)


def _blocks(
    flat: FlatParameters, settings: Sequence[Optimizer], moving: Sequence[int]
) -> Iterator[tuple[Optimizer, list[tuple[str, Tensor, Tensor]]]]:
    """Rows of the matrix that an element-wise optimizer steps at once, with its settings."""
    spans = joined(flat.spans[i] for i in moving)
    count = flat.values.shape[1]
    for first, last in equal_runs(settings):
        one = settings[first]
        size = (last - first) * count
        together = spans == [(0, count)] and count % LANES == 0 and size <= MOST_TOGETHER
        for part, decay in decays_of(flat, spans, one):
            own = msgspec.structs.replace(one, weight_decay=one.weight_decay and decay)
            whole = together and part == spans
            rows = [(first, last)] if whole else [(r, r + 1) for r in range(first, last)]
            yield (
                own,
                [
                    (
                        f"{row} {start}",
                        flat.values[row:end, start:stop],
                        flat.gradients[row:end, start:stop],
                    )
                    for row, end in rows
                    for start, stop in part
                ],
            )


def _shaped(
    flat: FlatParameters, row: int, moving: Sequence[int]
) -> list[tuple[str, Tensor, Tensor]]:
    """Parameters of one replica in their own shapes, each with its gradient."""
    return [(flat.names[i], flat.parameters[i].detach()[row], flat.slots[i][row]) for i in moving]


def _packed(value: Any, tensors: dict[str, Tensor], name: str) -> Any:
    """What a state holds as JSON, its tensors apart."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, Tensor):
        tensors[key := str(len(tensors))] = value
        return {"tensor": key}
    if isinstance(value, dict):
        return {"dict": [[k, _packed(v, tensors, name)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_packed(one, tensors, name) for one in value]}
    raise ConfigError(
        f"the state of {name} holds a {type(value).__name__}, which no checkpoint can keep; use "
        "tensors, numbers, and lists of them"
    )


def _unpacked(value: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(value, dict):
        return value
    [(kind, held)] = value.items()
    if kind == "float":
        return float.fromhex(held)
    if kind == "tensor":
        return tensors[held].clone()
    if kind == "dict":
        return {k: _unpacked(v, tensors) for k, v in held}
    several = [_unpacked(one, tensors) for one in held]
    return tuple(several) if kind == "tuple" else several
