"""Make the plain data of which keys are hashed: settings, the files that they name, a user's code.

:func:`plain` makes it of a value, :func:`plain_call` of a call. What a value depends on
besides itself is found by :mod:`inweights.support.keys.sources`.
"""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from typing import Any

import msgspec

from inweights.config import identity
from inweights.config.outside import Outside
from inweights.config.values import encode
from inweights.errors import ConfigError
from inweights.support.keys.named_files import files_of
from inweights.support.keys.source_code import (
    bytecode,
)
from inweights.support.keys.sources import (
    defaults_of,
    has_own_code,
    public_name,
    sources_of,
)


def plain(value: Any) -> Any:
    """Return the JSON data from which a value's key is computed: names and contents.

    A function of the library is its name, as a changed one raises the version. The data
    contain the source of a user's code, and the bytes of a file that a config names.
    Lists and tuples are the same here; :func:`plain_call` distinguishes them for a
    function that sees the difference.

    Raises:
        ConfigError: A value has no exact form.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | range):
        return list(map(plain, value))
    if isinstance(value, Outside):
        return [value.name, *_contents(value)] if value.contents else value.name
    return encode(value, _named)


def plain_call(function: Any, options: Mapping[str, Any]) -> list[Any]:
    """Return the JSON data of a call's key: function and keyword arguments.

    For code that is not the library's, values are distinguished that the code could
    distinguish, such as ``(1, 2)`` and ``[1, 2]``, and a text or path that names a file
    counts with its content.

    Args:
        function: The function.
        options: Its keyword arguments.

    Raises:
        ConfigError: An argument has no exact form.

    Example:
        >>> plain_call(plain, {"sizes": (1, 2), "most": float("inf")})
        ['inweights:plain', {'sizes': [1, 2], 'most': {'$float': 'inf'}}]
    """
    given = dict(options)
    if not has_own_code([function, given]):
        return [plain(function), plain(given)]
    about = [plain(function), encode(given, _named)]
    files = sorted(files_of(given).values())
    return [*about, files] if files else about


def _named(value: Any) -> Any:
    """What a key has of a thing that has a name and a source; nothing of any other value."""
    if isinstance(value, Outside):
        return [value.name, *_contents(value)] if value.contents else None
    if isinstance(value, msgspec.Struct):
        return [public_name(type(value)), identity(value), *_contents(value)]
    if isinstance(value, Enum):
        return {
            "$member": [public_name(type(value)), value.name, *_contents(type(value))]
        }
    if is_dataclass(value) and not isinstance(value, type):
        if type(value).__module__.startswith("inweights."):
            return msgspec.to_builtins(value, str_keys=True)
        own = {
            one.name: encode(getattr(value, one.name), _named) for one in fields(value)
        }
        return {"$fields": [public_name(type(value)), own, *_contents(type(value))]}
    if isinstance(value, partial):
        function, *rest = plain_call(value.func, value.keywords)
        return [function, _arguments(value), *rest]
    if isinstance(value, types.FunctionType):
        return _function(value)
    if isinstance(value, type):
        return [public_name(value), *_contents(value)]
    if callable(value):
        raise ConfigError(f"{value!r} must be a function or a functools.partial of one")
    return None


def _arguments(bound: partial[Any]) -> Any:
    if has_own_code(bound):
        return encode(list(bound.args), _named)
    return plain(list(bound.args))


def _function(value: types.FunctionType) -> Any:
    name = public_name(value)
    if name.startswith("inweights:"):
        return [name, *raised] if (raised := _contents(value)) else name
    held = [
        *defaults_of(value),
        [cell.cell_contents for cell in value.__closure__ or ()],
    ]
    if "<" not in name:  # its source says what the defaults are
        return [name, *_contents(value), plain(held)]
    # Two lambdas of one place have one name.
    return [name, *_contents(value), bytecode(value.__code__), encode(held, _named)]


def _contents(value: Any) -> list[list[str]]:
    """Hashes of the files and code that a value depends on; most values have none."""
    hashes = sorted(sources_of(value).values())
    return [hashes] if hashes else []
