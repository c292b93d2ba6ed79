"""The state of optimizers of users as plain values and tensors, and back.

A checkpoint stores no pickles: :func:`pack_state` writes what is no tensor as JSON, and
:func:`unpack_state` reads it again.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from inweights.errors import ConfigError


def pack_state(value: Any, tensors: dict[str, Tensor], name: str) -> Any:
    """Return a value of an optimizer's state as plain JSON.

    Args:
        value: A number, text, tensor, or a list or table of them.
        tensors: Gets the tensors of the value, under the names that the JSON has for
            them.
        name: What messages call the optimizer.

    Raises:
        ConfigError: The value holds what no checkpoint can keep.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        # In base 16, as JSON has no NaN, and readers may round a decimal.
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
        f"the state of {name} holds a {type(value).__name__}, which no checkpoint can keep; use "
        "tensors, numbers, and lists of them"
    )


def unpack_state(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Return a value that :func:`pack_state` made into JSON.

    Args:
        value: The JSON.
        tensors: The tensors that it names; they are copied.
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
