"""Build the plain data that is hashed to a key: settings, named files, and a user's code.

:func:`plain` returns these data for a value, and :func:`plain_call` for a call.
:mod:`inweights.support.keys.sources` finds the files and code on which a value depends.
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
    """Return the JSON data from which the key of a value is computed.

    A function of the library is identified by its name, since a version number is
    increased when its results change. A user's code is identified by a hash of its
    source, and a file that a config names is identified by a hash of its content. Lists
    and tuples are not distinguished; :func:`plain_call` distinguishes them for a user's
    function.

    Args:
        value: A config, function, class, ``functools.partial``, member of an
            enumeration, instance of a dataclass or plain value, or a list, tuple or
            mapping of these.

    Raises:
        ConfigError: A value has no exact encoding; is callable but neither a function,
            a class nor a ``functools.partial``; uses a global that cannot be hashed; or
            is code of a module that was edited after it was imported.
        DataError: A file cannot be read.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | range):
        return list(map(plain, value))
    if isinstance(value, Outside):
        return [value.name, *_contents(value)] if value.contents else value.name
    return encode(value, _named)


def plain_call(function: Any, options: Mapping[str, Any]) -> list[Any]:
    """Return the JSON data from which the key of a call is computed.

    For a user's code, values that the code can distinguish, such as ``(1, 2)`` and
    ``[1, 2]``, result in different data. The content of files that the arguments name
    is included.

    Args:
        function: The function.
        options: Its keyword arguments.

    Returns:
        A list of two or three items: the data of the function, the data of its keyword
        arguments and, if the function is a user's own and its arguments name files, the
        list of the hashes of these files.

    Raises:
        ConfigError: The function or an argument has no exact encoding, or code cannot
            be hashed; see :func:`plain`.
        DataError: A file cannot be read.

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
    """Return the part of a key for a value with a name and a source, otherwise ``None``."""
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
        raise ConfigError(
            f"{value!r} must be a function or a functools.partial of a function"
        )
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
    # the values of the defaults follow from the source, which is hashed
    if "<" not in name:
        return [name, *_contents(value), plain(held)]
    # Two lambdas in the same scope have the same name, so that their bytecode is
    # included.
    return [name, *_contents(value), bytecode(value.__code__), encode(held, _named)]


def _contents(value: Any) -> list[list[str]]:
    """Return ``[hashes]`` of the files and code on which a value depends, or an empty list."""
    hashes = sorted(sources_of(value).values())
    return [hashes] if hashes else []
