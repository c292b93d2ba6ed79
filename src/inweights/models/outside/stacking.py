"""Numbers of several modules as stacked ones of a model: where each lies, and by which names.

:func:`stack` puts them into a model with a replica axis, and :func:`load_replica`
replaces those of one replica by a plain ``state_dict``. Shapes: ``R`` replicas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from inweights.errors import ConfigError, DataError, unknown_name
from inweights.models.outside.modules import find, numbers, place


@dataclass(frozen=True)
class Names:
    """Where the numbers of a module are in a model: its name of each, and the model's.

    Attributes:
        own: Names of tensors with a replica axis; a tied one has several, which lead to
            one.
        shared: Names of tensors that all replicas have in common.
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
    """Put the numbers of modules into a model, as rows of stacked ones.

    Args:
        model: Gets parameters and buffers by the modules' own names.
        base: A module of the same architecture.
        modules: One for each replica.
        each_stored: Whether everything that a ``state_dict`` holds has a replica axis,
            also buffers that are equal in all modules.

    Raises:
        ConfigError: A module has a number of another shape.
    """
    every = numbers(base)
    learnt = {name for name, p in base.named_parameters() if p.requires_grad}
    stored = set(base.state_dict())
    rows_of = [numbers(module) for module in modules]
    shared = set()
    for name, start in every.items():
        rows = [row[name] for row in rows_of if name in row]
        if len(rows) < len(modules) or any(row.shape != start.shape for row in rows):
            raise ConfigError(f"'{name}' has another shape in another module")
        apart = name in learnt or (each_stored and name in stored)
        same = not apart and all(row.is_meta or row.equal(start) for row in rows)
        value = start.detach() if same else torch.stack([row.detach() for row in rows])
        value = nn.Parameter(value) if name in learnt else value
        place(model, name, value, stored=name in stored and not same)
        if same:
            shared.add(name)
    first = {id(value): name for name, value in every.items()}
    alias = {
        name: first[id(value)] for name, value in numbers(base, again=True).items()
    }
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
        names: Where its numbers are.
        state: Tensors without a replica axis, by the module's own names.
        replica: Index of the replica.

    Raises:
        DataError: A name is unknown, a parameter is missing, or a shape differs.
    """
    known = {**names.own, **names.shared}
    for name, value in state.items():
        if name not in known:
            raise unknown_name("parameter", name, known, error=DataError)
        target = _row(model, names, name, replica)
        if target.shape != value.shape:
            raise DataError(
                f"'{name}' has the shape {list(value.shape)}, and {list(target.shape)} in the model"
            )
        if name in names.shared and not target.equal(value.to(target)):
            raise DataError(
                f"'{name}' is a buffer that all replicas share, and differs from the given one; "
                "wrap the modules themselves: iw.wrap([one, other])"
            )
    filled = {known[name] for name in state}
    lacking = [name for name, _ in model.named_parameters() if name not in filled]
    if lacking:
        raise DataError(
            f"the state has no '{lacking[0]}' ({len(lacking)} parameters are missing)"
        )
    with torch.no_grad():
        for name, value in state.items():
            _row(model, names, name, replica).copy_(value)


def _row(model: nn.Module, names: Names, name: str, replica: int) -> Tensor:
    if name in names.shared:
        return find(model, names.shared[name])
    return find(model, names.own[name])[replica]
