"""Reject values that cannot be stored exactly; the message states what to write instead."""

import sys
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, NoReturn

from inweights.errors import ConfigError

#: Largest number of characters of a value in a message.
_SHOWN = 60
#: Suggested replacement of an object, by the package and name of its class.
_REMEDIES = {
    "torch.Tensor": "its numbers, value.tolist(), and make the tensor within the function",
    "torch.nn.parameter.Parameter": "its numbers, value.tolist(), and make the tensor within "
    "the function",
    "torch.dtype": "its name, such as 'float32', and look it up within the function: "
    "getattr(torch, name)",
    "torch.device": "its name, str(value)",
    "numpy.datetime64": "a Python date, value.astype('datetime64[us]').item()",
    "numpy.timedelta64": "a Python timedelta, value.astype('timedelta64[us]').item()",
    "numpy.longdouble": "float(value), in double precision",
    "numpy.clongdouble": "complex(value), in double precision",
    "numpy.ndarray": "a list, value.tolist(), or an array of numbers or strings",
    "pandas.Timestamp": "a Python date, value.to_pydatetime()",
    "pandas.Timedelta": "a Python timedelta, value.to_pytimedelta()",
    "pandas.NaT": "None",
    "pandas.NA": "None",
    "pandas.Series": "a list, value.to_list()",
    "pandas.Index": "a list, value.to_list()",
    "pandas.DataFrame": "a dictionary of lists, value.to_dict('list')",
    "polars.Series": "a list, value.to_list()",
    "polars.DataFrame": "a dictionary of lists, value.to_dict(as_series=False)",
    "datetime": "it in UTC, value.astimezone(datetime.timezone.utc), or in a zone of zoneinfo",
    "time": "it without a zone",
    "int": "a number of at most 4,000 digits, or a string",
    "bytearray": "bytes(value)",
    "memoryview": "bytes(value)",
    "array": "a list, value.tolist()",
    "OrderedDict": "dict(value)",
    "defaultdict": "dict(value)",
    "Counter": "dict(value)",
    "mappingproxy": "dict(value)",
    "deque": "list(value)",
    "generator": "list(value)",
}
#: Suggested replacement of an object, by a base class of its class.
_BASES = {
    Enum: "its value, value.value, or its name, value.name, and look it up within the function",
    bool: "bool(value)",
    int: "int(value)",
    float: "float(value)",
    complex: "complex(value)",
    str: "str(value)",
    bytes: "bytes(value)",
    tuple: "tuple(value)",
    list: "list(value)",
    dict: "dict(value)",
    set: "set(value)",
    frozenset: "frozenset(value)",
}


def refuse(value: Any) -> NoReturn:
    """Raise an error for a value that cannot be stored and restored exactly.

    Args:
        value: The value, which the error message shows.

    Raises:
        ConfigError: Always; the message states what to write instead.
    """
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else _public(kind)
    shown = _shown(value)
    raise ConfigError(
        f"the value {shown} has the type {name}, which cannot be stored and restored exactly; "
        f"use {_remedy(value)}"
    )


def check_fine(values: Any, made: Any) -> None:
    """Raise an error for a polars series of dates or times whose nanoseconds would be lost.

    Args:
        values: The series. For a value of any other type, no error is raised.
        made: The list of Python values to which it was converted.

    Raises:
        ConfigError: A date or time in the series differs from its value in ``made``.
    """
    polars = sys.modules.get("polars")
    if (
        polars is None
        or not isinstance(values, polars.Series)
        or not values.dtype.is_temporal()
    ):
        return
    if not polars.Series(values.name, made, dtype=values.dtype).equals(values):
        raise ConfigError(
            f"the series '{values.name}' of {values.dtype} has a resolution of nanoseconds, "
            "which datetime cannot represent; convert it with values.dt.cast_time_unit('us')"
        )


def _public(kind: type) -> str:
    """Return the package and the name of a class, without the modules between them."""
    home = kind.__module__.partition(".")[0]
    if home in ("pandas", "polars", "numpy", "torch"):
        exact = f"{kind.__module__}.{kind.__qualname__}"
        short = {"NaTType": "NaT", "NAType": "NA"}.get(
            kind.__qualname__, kind.__qualname__
        )
        return exact if exact in _REMEDIES else f"{home}.{short}"
    return kind.__qualname__


def _remedy(value: Any) -> str:
    kind = type(value)
    for name in (_public(kind), kind.__name__):
        if name in _REMEDIES and kind not in _BASES.keys() - {int}:
            return _REMEDIES[name]
    if hasattr(value, "_fields") and isinstance(value, tuple):
        return "its fields, value._asdict() or tuple(value)"
    if is_dataclass(value):
        return "its fields, dataclasses.asdict(value), or a class of iw.Config"
    home = kind.__module__.partition(".")[0]
    if home == "pandas" and hasattr(value, "to_list"):
        return _REMEDIES["pandas.Index"]
    for base, remedy in _BASES.items():
        if isinstance(value, base):
            return remedy
    return (
        "numbers, strings, dates, paths or arrays, or lists and dictionaries of them, and make the "
        "rest within the function"
    )


def _shown(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001  # repr failed, or a number has too many digits
        text = "(it cannot be printed)"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
