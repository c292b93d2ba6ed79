"""Stack the parameters and buffers of several modules in one model.

:func:`stack` copies them into a model with a replica axis, and :func:`load_replica`
replaces the parameters of one replica by those of a plain ``state_dict``. Shapes: ``R``
replicas.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from inweights.errors import ConfigError, DataError, unknown_name

#: Prefixes that torch.compile and wrappers for several GPUs add to names of parameters.
_PREFIXES = ("_orig_mod.", "module.")


@dataclass(frozen=True)
class Names:
    """Names of a module's parameters and buffers, mapped to their names in a model.

    Attributes:
        own: Mapping from the name of a tensor in the module to its name in the model,
            for tensors with a replica axis. All names of a tied parameter are mapped to
            the same name.
        shared: The same mapping for tensors that all replicas share.
    """

    own: Mapping[str, str]
    shared: Mapping[str, str]


def stack(
    model: nn.Module,
    base: nn.Module,
    modules: Sequence[nn.Module],
    *,
    each_stored: bool = False,
) -> Names:
    """Copy parameters and buffers of several modules into one model, stacked by replica.

    A parameter that needs no gradient becomes a buffer. A buffer that is equal in all
    modules is shared by the replicas, and is not part of the model's ``state_dict``.

    Args:
        model: Model that receives the parameters and buffers, under the modules' own
            names; changed in place.
        base: A module of the same architecture, which defines the names and shapes.
        modules: One module per replica; they are not changed.
        each_stored: Whether each tensor of a module's ``state_dict`` gets a replica
            axis, including buffers that are equal in all modules.

    Returns:
        The names of all parameters and buffers in the model.

    Raises:
        ConfigError: A parameter or buffer is missing in a module or has a different
            shape there, or its name is reserved by the library.
    """
    every = numbers(base)
    learnt = {name for name, p in base.named_parameters() if p.requires_grad}
    stored = set(base.state_dict())
    rows_of = list(map(numbers, modules))
    shared = set()
    for name, start in every.items():
        rows = [row[name] for row in rows_of if name in row]
        if len(rows) < len(modules) or any(row.shape != start.shape for row in rows):
            raise ConfigError(f"'{name}' must have the same shape in all modules")
        apart = name in learnt or (each_stored and name in stored)
        # Tensors on the device `meta` have no values that could differ.
        same = not apart and all(row.is_meta or row.equal(start) for row in rows)
        if same:
            shared.add(name)
            # Not stored, because the factory creates this tensor again with the module.
            place(model, name, start.detach(), stored=False)
            continue
        value = torch.stack([row.detach() for row in rows])
        if name in learnt:
            value = nn.Parameter(value)
        place(model, name, value, stored=name in stored)
    # Tied parameters are one tensor with several names, each of which is mapped to the
    # first one.
    first = {id(value): name for name, value in every.items()}
    alias = {}
    for name, value in numbers(base, again=True).items():
        alias[name] = first[id(value)]
    return Names(
        own={name: own for name, own in alias.items() if own not in shared},
        shared={name: own for name, own in alias.items() if own in shared},
    )


def load_replica(
    model: nn.Module, names: Names, state: Mapping[str, Tensor], replica: int
) -> None:
    """Copy a plain ``state_dict`` into one replica of a model.

    Args:
        model: The model.
        names: Names of the module's tensors in the model.
        state: Tensors without a replica axis, keyed by their names in the module, with
            or without the prefix of ``torch.compile`` or ``DataParallel``.
        replica: Index of the replica, from 0 to ``R - 1`` (not checked).

    Raises:
        DataError: A name is unknown, a parameter is missing, a shape differs, or a
            buffer that all replicas share has a different value. The model is then
            unchanged.
    """
    known = {**names.own, **names.shared}
    state = without_prefix(state, known)
    for name, value in state.items():
        if name not in known:
            raise unknown_name("parameter", name, known, error=DataError)
        target = _row(model, names, name, replica)
        if target.shape != value.shape:
            raise DataError(
                f"'{name}' must have the shape {list(target.shape)}, got {list(value.shape)}"
            )
        if name in names.shared and not target.equal(value.to(target)):
            raise DataError(
                f"'{name}' is a buffer that all replicas share, but the given state has a "
                "different value for it; wrap the modules instead of loading their states: "
                "iw.wrap([one, other])"
            )
    filled = {known[name] for name in state}
    lacking = [name for name, _ in model.named_parameters() if name not in filled]
    if lacking:
        raise DataError(
            f"the state has no '{lacking[0]}' ({len(lacking)} parameters are missing)"
        )
    # The model is changed only after all checks, so that an invalid state has no
    # effect.
    with torch.no_grad():
        for name, value in state.items():
            _row(model, names, name, replica).copy_(value)


def without_prefix(
    state: Mapping[str, Tensor], known: Container[str]
) -> Mapping[str, Tensor]:
    """Remove a wrapper's prefix from the names of weights if the module has the shorter names.

    Args:
        state: Weights, keyed by name.
        known: Names of the module's own tensors.

    Returns:
        The weights, keyed by name without the prefix. If not all names have the prefix,
        or not all shorter names are in ``known``, ``state`` itself is returned.
    """
    for prefix in _PREFIXES:
        if state and all(name.startswith(prefix) for name in state):
            short = {name.removeprefix(prefix): value for name, value in state.items()}
            if all(name in known for name in short):
                return short
    return state


def _row(model: nn.Module, names: Names, name: str, replica: int) -> Tensor:
    if name in names.shared:
        return find(model, names.shared[name])
    return find(model, names.own[name])[replica]


class _Node(nn.Module):
    def extra_repr(self) -> str:
        own = [
            *self.named_parameters(recurse=False),
            *self.named_buffers(recurse=False),
        ]
        return ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in own)


def place(root: nn.Module, name: str, value: Tensor, *, stored: bool) -> None:
    """Store a tensor below a module under a dotted name.

    Tensors are written directly to the modules' registries, since a name such as
    ``hidden`` may also be the name of a method.

    Args:
        root: The module.
        name: Dotted name, such as ``mix.weight``; missing modules on the path are
            created.
        value: A parameter, or a tensor that becomes a buffer.
        stored: Whether a buffer is part of the ``state_dict``; has no effect on a
            parameter.

    Raises:
        ConfigError: A buffer of the module already has the name.
    """
    *path, last = name.split(".")
    for step in path:
        root = root._modules.setdefault(step, _Node())  # type: ignore[assignment]
    if isinstance(value, nn.Parameter):
        root._parameters[last] = value
        return
    if last in root._buffers:
        raise ConfigError(
            f"the name '{last}' is reserved by the library; choose a different one"
        )
    root._buffers[last] = value
    if not stored:
        root._non_persistent_buffers_set.add(last)


def find(root: nn.Module, name: str) -> Tensor:
    """Return the parameter or buffer that :func:`place` stored under a name.

    Args:
        root: The module.
        name: Dotted name.

    Raises:
        KeyError: There is no such tensor.
    """
    *path, last = name.split(".")
    for step in path:
        root = root._modules[step]  # type: ignore[assignment]
    found = root._parameters.get(last)
    return root._buffers[last] if found is None else found  # type: ignore[return-value]


def numbers(module: nn.Module, *, again: bool = False) -> dict[str, Tensor]:
    """Return parameters and buffers of a module and its submodules, keyed by dotted name.

    Args:
        module: The module.
        again: Whether a tensor with several names is returned under each of them;
            by default it is returned only under its first name.
    """
    found: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=not again))
    found.update(module.named_buffers(remove_duplicate=not again))
    return found
