"""Users' optimizers: elementwise optimizers run on blocks of one matrix, others per replica.

An :class:`OwnOptimizer` wraps any ``torch.optim`` class, or a function that returns
optimizers, so that the loop can update all replicas at once and store their state.
Shapes: ``R`` replicas, ``P`` parameters of one replica.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, product
from typing import Any, cast

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from inweights.errors import ConfigError
from inweights.support.keys.code import Code
from inweights.training.curriculum import Optimizer
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.optimizers.lockstep import in_lockstep, needs_closure
from inweights.training.steps.optimizers.spans import decays_of, equal_runs, joined
from inweights.training.steps.optimizers.stored_state import pack_state, unpack_state

#: Rows whose length is a multiple of this number can form one block, since no row ends
#: within a vector register.
LANES = 32
#: Maximum number of entries of a block, which PyTorch computes in one thread.
MAX_TOGETHER = 2**15
#: Shape of the matrix, and number of steps, with which an update is tested for being
#: elementwise.
_TRIED = (3, 2 * LANES)
_STEPS = 3
#: Name, values and gradient of a parameter.
Slot = tuple[str, Tensor, Tensor]


class OwnOptimizer:
    """All optimizers that a user's class or function returns for a phase, combined into one.

    Args:
        flat: The matrices of parameters and gradients.
        settings: Settings of each replica, with the same class or function as ``kind``;
            its options, learning rate and weight decay may differ.
        moving: Indices of the parameters that are trained, as returned by
            :meth:`FlatParameters.moving`.

    Attributes:
        param_groups: Parameter groups of all optimizers, with their learning rates.

    Raises:
        ConfigError: The class or function cannot be loaded or called, returns something
            other than a ``torch.optim.Optimizer`` or a list of optimizers, or is a
            class that draws random numbers.
        DataError: A file on which the code depends cannot be read.

    Warns:
        UserWarning: The optimizers are not elementwise, and therefore update one
            replica at a time.
    """

    def __init__(
        self, flat: FlatParameters, settings: Sequence[Optimizer], moving: Sequence[int]
    ) -> None:
        """Create the user's optimizers; :class:`OwnOptimizer` lists the arguments and errors."""
        code = settings[0].kind
        assert isinstance(code, Code)
        self._name = code.name
        self._unchecked = True
        parts: list[tuple[Optimizer, list[Slot]]] = []
        if _is_elementwise(code, settings[0]):
            parts += _blocks(flat, settings, moving)
        else:
            for row, one in enumerate(settings):
                parts.append((one, _shaped(flat, row, moving)))
            warnings.warn(
                f"{self._name} is stepped replica by replica, because an update of a "
                "parameter depends on more than its own gradients",
                stacklevel=2,
            )
        #: Parameters of the optimizers, each with its part of the gradients.
        self._linked: list[tuple[nn.Parameter, Tensor]] = []
        #: Optimizers of each replica, or of each block of replicas.
        self._rows: list[list[torch.optim.Optimizer]] = []
        for one, slots in parts:
            pairs = []
            for name, values, gradient in slots:
                parameter = nn.Parameter(values)
                pairs.append((name, parameter))
                self._linked.append((parameter, gradient))
            self._rows.append(_built(one, pairs))
        self._all = list(chain.from_iterable(self._rows))
        self._needs_closure = any(map(needs_closure, self._all))
        self.param_groups: list[dict[str, Any]] = []
        for optimizer in self._all:
            self.param_groups += optimizer.param_groups

    def step(self, again: Callable[[], Tensor]) -> None:
        """Update all replicas once, with the gradients in :class:`FlatParameters`.

        Args:
            again: Function that computes the losses ``[R]`` and the gradients at the
                current parameters. It is called by optimizers whose ``step`` needs a
                ``closure``.

        Raises:
            ConfigError: The optimizer replaces the memory of parameters, or its state
                contains a value that a checkpoint cannot store. This is checked at the
                first call. Errors of the optimizer propagate.
        """

        def link_gradients() -> None:
            for parameter, gradient in self._linked:
                parameter.grad = gradient

        def compute_again() -> Tensor:
            losses = again()
            link_gradients()
            return losses

        before = [parameter.data_ptr() for parameter, _ in self._linked]
        link_gradients()
        if self._needs_closure:
            in_lockstep([partial(_step, row) for row in self._rows], compute_again)
        else:
            _step(self._all)
        if not self._unchecked:
            return
        if before != [parameter.data_ptr() for parameter, _ in self._linked]:
            raise ConfigError(
                f"{self._name} replaces the tensors of parameters (p.data = ...); "
                "it must change parameters in place, as in p.add_(...)"
            )
        # raises an error now, not at a checkpoint, if the state cannot be stored
        self.state()
        self._unchecked = False

    def state(self) -> dict[str, Tensor]:
        """Return the state and the parameter groups of all optimizers as a dictionary of tensors.

        The tensor ``form`` contains the bytes of JSON data that describe all values.
        These data refer to the other tensors by their names in the dictionary.

        Raises:
            ConfigError: The state contains a value that a checkpoint cannot store.
        """
        form = []
        tensors: dict[str, Tensor] = {}
        for optimizer in self._all:
            state = [optimizer.state.get(one, {}) for one in _parameters_of(optimizer)]
            groups = list(map(_settings_of, optimizer.param_groups))
            form.append(pack_state([state, groups], tensors, self._name))
        words = np.frombuffer(msgspec.json.encode(form), dtype=np.uint8)
        return {"form": torch.from_numpy(words.copy()), **tensors}

    def load(self, state: dict[str, Tensor]) -> None:
        """Load a state returned by :meth:`state` for the same settings, unless it is empty."""
        if not state:
            return
        form = msgspec.json.decode(state["form"].cpu().numpy().tobytes())
        for optimizer, packed in zip(self._all, form, strict=True):
            own, groups = unpack_state(packed, state)
            for parameter, values in zip(_parameters_of(optimizer), own, strict=True):
                if values:
                    optimizer.state[parameter] = values
            for group, values in zip(optimizer.param_groups, groups, strict=True):
                group.update(values)


def _parameters_of(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return list(
        chain.from_iterable(group["params"] for group in optimizer.param_groups)
    )


def _settings_of(group: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}


def _step(
    optimizers: Sequence[Any], closure: Callable[[], Tensor] | None = None
) -> None:
    for optimizer in optimizers:
        if needs_closure(optimizer):
            optimizer.step(closure)
        else:
            optimizer.step()


def _built(
    one: Optimizer, pairs: list[tuple[str, nn.Parameter]]
) -> list[torch.optim.Optimizer]:
    """Call the user's class or function, and return its optimizers as a list."""
    assert isinstance(one.kind, Code)
    given = {} if one.weight_decay is None else {"weight_decay": one.weight_decay}
    make = one.kind.load()
    groups = cast("list[Any]", pairs)
    spares_vectors = one.weight_decay and one.decayed == "matrices"
    # A function gets a single list of parameters, and decides which of them decay.
    if spares_vectors and isinstance(_bare(make), type):
        vectors = [pair for pair in pairs if pair[1].dim() < 2]
        groups = [{"params": [pair for pair in pairs if pair[1].dim() > 1]}]
        if vectors:
            groups.append({"params": vectors, "weight_decay": 0.0})
    try:
        made = make(groups, lr=one.rate, **given)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"the optimizer {one.kind.name} could not be created: {error}. It is "
            "called with lr and with pairs of a name and a parameter, as "
            "module.named_parameters() returns them; a function can pass some of them "
            "to one optimizer and the rest to another, and return both"
        ) from error
    several = list(made) if isinstance(made, list | tuple) else [made]
    for each in several:
        if not isinstance(each, torch.optim.Optimizer):
            raise ConfigError(
                f"{one.kind.name} must return a torch.optim.Optimizer, or a list of them, got "
                f"{type(each).__name__}"
            )
    return several


def _bare(make: Any) -> Any:
    """Return the function that a ``functools.partial`` wraps; return other values unchanged."""
    return make.func if isinstance(make, partial) else make


def _is_elementwise(code: Code, one: Optimizer) -> bool:
    """Test whether an optimizer class updates each parameter entry only from its own gradients.

    A matrix, its transpose and its first row must get bitwise equal updates. A function
    may depend on names and shapes, so that it never counts as elementwise.

    Raises:
        ConfigError: The class draws random numbers.
    """
    kind = _bare(code.load())
    if not isinstance(kind, type) or needs_closure(kind):
        return False
    # With 'matrices', the first row would not decay, since it is a vector.
    one = msgspec.structs.replace(one, decayed="all")
    start = torch.arange(_TRIED[0] * _TRIED[1], dtype=torch.float32).view(_TRIED).sin()
    gradients = [(start * (step + 1.7)).cos() for step in range(_STEPS)]

    def updated(view: Callable[[Tensor], Tensor]) -> Tensor:
        """Return a view of the matrix after steps that train only this view."""
        values = nn.Parameter(view(start).clone(memory_format=torch.contiguous_format))
        optimizers = _built(one, [("values", values)])
        for gradient in gradients:
            values.grad = view(gradient).clone(memory_format=torch.contiguous_format)
            for optimizer in optimizers:
                optimizer.step()
        return values.detach()

    random_state = torch.get_rng_state()
    try:
        whole = updated(lambda x: x)
        transposed = updated(lambda x: x.T).T
        row = updated(lambda x: x[0])
    except (RuntimeError, ValueError, TypeError, ConfigError):
        return False  # for example, the optimizer accepts matrices only
    if not torch.equal(random_state, torch.get_rng_state()):
        raise ConfigError(
            f"{kind.__name__} draws random numbers, so its runs could not be "
            "reproduced; to add noise to gradients, use Optimizer(noise=...)"
        )
    return torch.equal(whole, transposed) and torch.equal(whole[0], row)


def _blocks(
    flat: FlatParameters, settings: Sequence[Optimizer], moving: Sequence[int]
) -> Iterator[tuple[Optimizer, list[Slot]]]:
    """Yield settings, and the parts of the matrix that an elementwise optimizer updates."""
    spans = joined(flat.spans[i] for i in moving)
    count = flat.values.shape[1]
    for first, last in equal_runs(settings):
        one = settings[first]
        fits = (last - first) * count <= MAX_TOGETHER
        together = fits and spans == [(0, count)] and count % LANES == 0
        for part, decay in decays_of(flat, spans, one):
            own = msgspec.structs.replace(one, weight_decay=one.weight_decay and decay)
            size = last - first if together and part == spans else 1
            slots = []
            for row, (start, end) in product(range(first, last, size), part):
                cut = (slice(row, row + size), slice(start, end))
                slots.append((str(cut), flat.values[cut], flat.gradients[cut]))
            yield own, slots


def _shaped(flat: FlatParameters, row: int, moving: Sequence[int]) -> list[Slot]:
    """Return the parameters of one replica in their own shapes, each with its gradient."""
    slots = []
    for i in moving:
        values = flat.parameters[i].detach()[row]
        slots.append((flat.names[i], values, flat.slots[i][row]))
    return slots
