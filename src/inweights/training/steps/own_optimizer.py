"""Optimizers of one's own: element-wise ones on rows of one matrix, others replica by replica.

Shapes: ``R`` replicas, ``P`` parameters of one.
"""

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

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

#: Columns of rows that are stepped as one block: a multiple of what a processor's loops take at
#: once, so that no row has a rest of its own; and as few numbers as one thread takes.
LANES, MOST_TOGETHER = 32, 2**15
_TRIED = (3, 2 * LANES)
#: Steps of the trial that tells whether an update is element-wise.
_STEPS = 3
#: Name, values and gradient of a parameter.
Slot = tuple[str, Tensor, Tensor]


class OwnOptimizer:
    """The optimizers of a phase that are somebody's own, as one, with the groups of all of them."""

    def __init__(
        self, flat: FlatParameters, settings: Sequence[Optimizer], moving: Sequence[int]
    ) -> None:
        code = settings[0].kind
        assert isinstance(code, Code)
        self._name, self._new = code.name, True
        if _is_elementwise(code, settings[0]):
            places = list(_blocks(flat, settings, moving))
        else:
            places = [(one, _shaped(flat, row, moving)) for row, one in enumerate(settings)]
            warnings.warn(
                f"{self._name} is stepped replica by replica, as an update of a parameter depends "
                "on more than its own gradients",
                stacklevel=2,
            )
        self._linked = [(nn.Parameter(v), g) for _, slots in places for _, v, g in slots]
        left = iter(self._linked)
        #: Optimizers of each replica, or of each block of replicas.
        self._rows = [
            _built(one, [(name, next(left)[0]) for name, _, _ in slots]) for one, slots in places
        ]
        self._all = [optimizer for row in self._rows for optimizer in row]
        self._asks = any(map(asks_for_gradients, self._all))
        self.param_groups = [group for optimizer in self._all for group in optimizer.param_groups]

    def step(self, again: Callable[[], Tensor]) -> None:
        """Move the parameters.

        Args:
            again: Computes losses ``[R]`` and gradients where the parameters are then; for
                optimizers whose ``step`` needs a ``closure``.
        """

        def linked() -> None:
            for parameter, gradient in self._linked:
                parameter.grad = gradient

        def linked_again() -> Tensor:
            losses = again()
            linked()
            return losses

        before = [p.data_ptr() for p, _ in self._linked]
        linked()
        if self._asks:
            in_lockstep([partial(_step, row) for row in self._rows], linked_again)
        else:
            _step(self._all)
        if self._new and before != [p.data_ptr() for p, _ in self._linked]:
            raise ConfigError(
                f"{self._name} gives parameters other memory (p.data = ...); change them in place, "
                "p.add_(...)"
            )
        if self._new:
            self.state()  # what cannot be kept is refused now, not at a checkpoint
        self._new = False

    def state(self) -> dict[str, Tensor]:
        """Return the state as named tensors: of every optimizer its state and its groups."""
        form, tensors = [], dict[str, Tensor]()
        for one in self._all:
            state = [one.state.get(p, {}) for g in one.param_groups for p in g["params"]]
            groups = [{k: v for k, v in g.items() if k != "params"} for g in one.param_groups]
            form.append(_packed([state, groups], tensors, self._name))
        words = np.frombuffer(msgspec.json.encode(form), dtype=np.uint8)
        return {"form": torch.from_numpy(words.copy()), **tensors}

    def load(self, state: dict[str, Tensor]) -> None:
        """Load what :meth:`state` returned; nothing of an empty one."""
        form = msgspec.json.decode(state["form"].cpu().numpy().tobytes()) if state else ()
        for one, packed in zip(self._all, form, strict=bool(state)):
            own, groups = _unpacked(packed, state)
            parameters = [p for group in one.param_groups for p in group["params"]]
            one.state.update({p: v for p, v in zip(parameters, own, strict=True) if v})
            for group, values in zip(one.param_groups, groups, strict=True):
                group.update(values)


def asks_for_gradients(optimizer: Any) -> bool:
    """Whether ``step`` of an optimizer, or of its class, cannot do without a ``closure``."""
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    return closure is not None and closure.default is inspect.Parameter.empty


def _step(optimizers: Sequence[Any], closure: Callable[[], Tensor] | None = None) -> None:
    for one in optimizers:
        one.step(closure) if asks_for_gradients(one) else one.step()


def _built(one: Optimizer, pairs: list[tuple[str, nn.Parameter]]) -> list[torch.optim.Optimizer]:
    """Call a class or function of one's own."""
    assert isinstance(one.kind, Code)
    given = {} if one.weight_decay is None else {"weight_decay": one.weight_decay}
    make, groups = one.kind.load(), cast("list[Any]", pairs)
    if one.weight_decay and one.decayed == "matrices" and isinstance(_bare(make), type):
        spared = [pair for pair in pairs if pair[1].dim() < 2]
        others = {"params": [pair for pair in pairs if pair[1].dim() > 1]}
        groups = [others, {"params": spared, "weight_decay": 0.0}] if spared else [others]
    try:
        made = make(groups, lr=one.rate, **given)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"the optimizer {one.kind.name} cannot be made: {error}. It is called with pairs of "
            "name and parameter, as module.named_parameters() gives them, and lr; a function can "
            "give some to one optimizer and the rest to another, and return both"
        ) from error
    several = list(made) if isinstance(made, list | tuple) else [made]
    if wrong := [one for one in several if not isinstance(one, torch.optim.Optimizer)]:
        raise ConfigError(
            f"{one.kind.name} must return a torch.optim.Optimizer, or a list of them, got "
            f"{type(wrong[0]).__name__}"
        )
    return several


def _bare(make: Any) -> Any:
    return make.func if isinstance(make, partial) else make


def _is_elementwise(code: Code, one: Optimizer) -> bool:
    """Whether a class moves each number by its own gradients alone, found out by trying.

    A matrix, its transpose and its rows alone have to move alike, to the last bit. A function may
    look at names and shapes, and so is never taken for one.
    """
    kind = _bare(code.load())
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
) -> Iterator[tuple[Optimizer, list[Slot]]]:
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
            cuts = [(slice(*row), slice(*span)) for row in rows for span in part]
            yield own, [(str(cut), flat.values[cut], flat.gradients[cut]) for cut in cuts]


def _shaped(flat: FlatParameters, row: int, moving: Sequence[int]) -> list[Slot]:
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
