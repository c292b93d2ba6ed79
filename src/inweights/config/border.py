"""Convert numbers, arrays and series of NumPy, polars, pandas and PyTorch to Python values.

Conversion takes place once, where a value enters the library. A number becomes the
Python number of the same value (:func:`as_python`), and a sequence of values becomes a
list (:func:`as_list`). An array that is itself a value, such as an option of a factory,
is not converted.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inweights.config.unfit import check_fine

_PYTHON = (bool, int, float, complex, str, bytes)


def as_python(value: Any) -> Any:
    """Return a value with its NumPy numbers, booleans and strings converted to Python values.

    Nested lists, tuples and dictionaries are also converted; containers with NumPy
    values are copied. Arrays, NumPy dates, containers that contain themselves and all
    other values are returned unchanged.

    Args:
        value: Any value.

    Example:
        >>> import numpy as np
        >>> as_python({"rate": np.float64(0.5), "sizes": [np.int8(3)]})
        {'rate': 0.5, 'sizes': [3]}
    """
    try:
        return _python(value)
    except RecursionError:  # the value contains itself; the writer reports this
        return value


def as_number(value: Any) -> Any:
    """Return a 0-dimensional array or tensor as a Python number.

    All other values are converted by :func:`as_python`. NumPy dates and durations are
    returned unchanged.

    Args:
        value: Any value.

    Example:
        >>> import numpy as np
        >>> as_number(np.array(3)), as_number(np.float32(0.5)), as_number("3")
        (3, 0.5, '3')
    """
    if getattr(value, "ndim", None) == 0 and callable(getattr(value, "item", None)):
        value = (
            value.item()
            if getattr(value.dtype, "kind", "") not in ("M", "m")
            else value
        )
    return as_python(value)


def _python(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in _PYTHON:
        return value
    if kind is list or kind is tuple:
        inner = list(map(_python, value))
        same = all(one is other for one, other in zip(inner, value, strict=True))
        return value if same else kind(inner)
    if kind is dict:
        found = {_python(key): _python(one) for key, one in value.items()}
        same = all(found.get(key) is one for key, one in value.items())
        return value if same else found
    numpy = sys.modules.get("numpy")
    if numpy and isinstance(value, numpy.generic) and value.dtype.kind not in "Mm":
        plain = value.item()
        if type(plain) in _PYTHON:
            return plain
    return value


def as_list(values: Any) -> Any:
    """Convert a sequence of values to a list of Python values; return other values unchanged.

    NumPy arrays, tensors, ranges, and series of polars and pandas become lists. A tuple
    remains a tuple and a dictionary remains a dictionary, but their values become
    Python values. An array of NumPy dates becomes a list of NumPy dates.

    Args:
        values: A list, tuple, range, array, tensor, series or dictionary, or any other
            value.

    Raises:
        ConfigError: A polars series contains dates or times in nanoseconds, which
            Python cannot express.

    Example:
        >>> import numpy as np
        >>> as_list(np.linspace(0, 1, 3)), as_list(range(3)), as_list("abc")
        ([0.0, 0.5, 1.0], [0, 1, 2], 'abc')
    """
    if isinstance(values, range):
        return list(values)
    if isinstance(values, list | tuple | dict | type):
        return as_python(values)
    if getattr(getattr(values, "dtype", None), "kind", "") in ("M", "m"):
        return list(values)  # tolist would return integers (nanoseconds)
    for name in ("to_list", "tolist"):  # of polars series; of arrays and tensors
        if callable(method := getattr(values, name, None)):
            made = method()
            check_fine(values, made)
            return as_python(made)
    return as_python(values)


def as_json(value: Any) -> Any:
    """Return the config of another library as values for JSON.

    Keys of dictionaries become strings, and tuples become lists, also within nested
    dictionaries, lists and tuples. Other values, such as infinite numbers, are
    unchanged.

    Args:
        value: The config, as nested dictionaries, lists and tuples.

    Example:
        >>> as_json({"labels": {0: "no"}, "limit": (0.0, float("inf"))})
        {'labels': {'0': 'no'}, 'limit': [0.0, inf]}
    """
    if isinstance(value, Mapping):
        return {str(key): as_json(one) for key, one in value.items()}
    return list(map(as_json, value)) if isinstance(value, list | tuple) else value


def as_lists(value: Any) -> Any:
    """Return a value for a config's field: arrays become lists, and paths strings.

    Arrays, series and ranges become lists, also within lists, tuples and dictionaries.
    Tuples remain tuples.

    Args:
        value: Any value.

    Raises:
        ConfigError: A polars series contains dates or times in nanoseconds, which
            Python cannot express.

    Example:
        >>> import numpy as np
        >>> as_lists([np.arange(2), range(2)]), as_lists(Path("facts.csv"))
        ([[0, 1], [0, 1]], 'facts.csv')
    """
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {as_lists(key): as_lists(one) for key, one in value.items()}
    found = as_list(value)
    if isinstance(found, list | tuple):
        inner = list(map(as_lists, found))
        return tuple(inner) if isinstance(found, tuple) else inner
    return found
