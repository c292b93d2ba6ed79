"""Convert the state of users' optimizers to plain values and tensors, and back.

A checkpoint contains no pickled objects: :func:`pack_state` writes everything except
tensors as JSON, and :func:`unpack_state` reads it again.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from inweights.errors import ConfigError


def pack_state(value: Any, tensors: dict[str, Tensor], name: str) -> Any:
    """Return a value of an optimizer's state as JSON data.

    Args:
        value: A number, string, tensor, ``None``, or a list, tuple or dictionary of
            these.
        tensors: Dictionary to which the tensors of the value are added, under the names
            by which the JSON data refer to them.
        name: Name of the optimizer, used in messages.

    Returns:
        The value as JSON data, in which a tensor is ``{"tensor": NAME}``.

    Raises:
        ConfigError: The value contains an object that a checkpoint cannot store.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        # Hexadecimal, as JSON has no NaN, and readers may round a decimal number.
        return {"float": value.hex()}
    if isinstance(value, Tensor):
        key = str(len(tensors))
        tensors[key] = value
        return {"tensor": key}
    if isinstance(value, dict):
        return {"dict": [[k, pack_state(v, tensors, name)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [pack_state(one, tensors, name) for one in value]}
    raise ConfigError(
        f"the state of {name} contains a {type(value).__name__}, which a checkpoint cannot store; "
        "use tensors, numbers, strings, and lists or dictionaries of them"
    )


def unpack_state(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Return the value that :func:`pack_state` converted to JSON data.

    Args:
        value: The JSON data.
        tensors: Dictionary with the tensors to which the data refer. The returned value
            contains copies of them.
    """
    if not isinstance(value, dict):
        return value
    [(kind, held)] = value.items()
    if kind == "float":
        return float.fromhex(held)
    if kind == "tensor":
        return tensors[held].clone()
    if kind == "dict":
        return {k: unpack_state(v, tensors) for k, v in held}
    several = [unpack_state(one, tensors) for one in held]
    return tuple(several) if kind == "tuple" else several
