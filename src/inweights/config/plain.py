"""Convert configs to plain data, for keys and files, and to change a value at a path.

:func:`to_plain` returns all fields, and :func:`identity` the fields that determine a
run's key. Where the type of a field determines how to restore a value, the value is
simplified: dates become strings, and tuples become lists. A field that accepts any
value (``Any``, ``dict[str, Any]``) keeps its values unchanged, since otherwise ``(1,
2)`` and ``[1, 2]`` could not be distinguished;
:func:`inweights.config.values.encode` encodes these values.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from inweights.config.forms import FORMS
from inweights.config.values import encode

#: Types of values that are already plain, and types of sequences, which are converted
#: item by item.
_PLAIN = frozenset({int, str, bool, type(None)})
_ROWS = (list, tuple, set, frozenset)
#: Modules of types that msgspec converts to strings or numbers.
_WRITTEN = ("datetime", "decimal", "uuid", "enum")


def to_plain(config: msgspec.Struct) -> dict[str, Any]:
    """Return a config as dictionaries, lists, strings, booleans, numbers and ``None``.

    Tuples become lists, sets become sorted lists, and dates become strings. The tag of
    a config that is chosen by name is included, usually as ``kind``. Values of a field
    of type ``Any``, such as the options of a factory, are unchanged;
    :func:`inweights.config.values.encode` converts them to JSON data.

    Args:
        config: The config. Nested configs are converted, too.

    Example:
        >>> class Ring(msgspec.Struct):
        ...     sizes: tuple[int, ...] = (3, 4)
        ...     options: dict[str, Any] = {}
        >>> to_plain(Ring(options={"shape": (1, 2)}))
        {'sizes': [3, 4], 'options': {'shape': (1, 2)}}
    """
    plain: dict[str, Any] = _plain(config, open_=False, leave_out=_nothing)
    return plain


def identity(value: Any, *, newer: bool = False) -> Any:
    """Return the JSON data of a config from which the key of a run is computed.

    Two kinds of options are left out: options that were added later and have the value
    that keeps the earlier behaviour (``Config.later``), and options without effect
    (``Config.idle``).

    Args:
        value: A config, or configs within lists and dictionaries.
        newer: If true, leave out only those options that were added after version 0.1.0
            (``Config.newer``) and have the value that keeps the earlier behaviour.
            Options without effect are then included.

    Returns:
        JSON data, as returned by :func:`inweights.config.values.encode`.

    Raises:
        ConfigError: A value has no exact encoding.

    Example:
        >>> from inweights.config import Config
        >>> class Ring(Config):
        ...     later = {"twisted": False}
        ...     nodes: int = 15
        ...     twisted: bool = False
        >>> identity({"world": Ring()}), identity(Ring(twisted=True))
        ({'world': {'nodes': 15}}, {'nodes': 15, 'twisted': True})
    """
    return encode(named(value, newer=newer))


def named(value: Any, *, newer: bool = False) -> Any:
    """Return the values that determine the key of a run, before they are encoded as JSON.

    :func:`identity` returns the encoded data. Two kinds of options are left out:
    options that were added later and have the value that keeps the earlier behaviour
    (``Config.later``), and options without effect (``Config.idle``).

    Args:
        value: A config, or configs within lists and dictionaries.
        newer: If true, leave out only those options that were added after version 0.1.0
            (``Config.newer``) and have the value that keeps the earlier behaviour.
            Options without effect are then included.
    """
    return _plain(value, open_=False, leave_out=_newer if newer else _later)


def plain_values(value: Any) -> Any:
    """Return a value in which every config is converted to a dictionary.

    Configs are searched for in nested lists, tuples and dictionaries. All other values
    are returned unchanged.

    Args:
        value: A config, or any other value.

    Example:
        >>> from inweights.config import Config
        >>> class Ring(Config):
        ...     nodes: int = 15
        >>> plain_values([Ring(), (1, 2)])
        [{'nodes': 15}, (1, 2)]
    """
    return _plain(value, open_=True, leave_out=_nothing)


def _nothing(config: Any) -> tuple[msgspec.Struct, frozenset[str]]:
    return config, frozenset()


def _later(config: Any) -> tuple[msgspec.Struct, frozenset[str]]:
    """Return the config that determines the identity, and the names of fields to leave out."""
    config = _by_name(config)
    usual = _usual(config, getattr(config, "later", {}))
    return config, usual.union(getattr(config, "idle", ()))


def _newer(config: Any) -> tuple[msgspec.Struct, frozenset[str]]:
    config = _by_name(config)
    newer = {name: config.later[name] for name in getattr(config, "newer", ())}
    return config, _usual(config, newer)


def _usual(config: Any, later: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of options added later whose values keep the earlier behaviour."""
    usual = set()
    for name, value in later.items():
        if not _differs(getattr(config, name), value):
            usual.add(name)
    return frozenset(usual)


def _by_name(config: Any) -> Any:
    return config.named() if callable(getattr(type(config), "named", None)) else config


def _differs(one: Any, other: Any) -> bool:
    try:
        return bool(one != other)
    except ValueError:  # the comparison of arrays is an array, which has no truth value
        return True


def _plain(value: Any, *, open_: bool, leave_out: Any) -> Any:
    kind = type(value)
    # Checked first, because most values have these types and the other checks are slow.
    if kind in _PLAIN or kind is float:
        return value
    if isinstance(value, msgspec.Struct):
        # An Outside, which represents a file or model named by an option, is a single
        # value, like a path.
        return value if open_ and kind in FORMS else _fields(value, leave_out)
    if isinstance(value, Mapping) and (not open_ or kind is dict):
        table = {}
        for key, one in value.items():
            name = key if open_ else str(key)
            table[name] = _plain(one, open_=open_, leave_out=leave_out)
        return table
    if kind in (list, tuple) or (isinstance(value, list | tuple) and not open_):
        inner = [_plain(one, open_=open_, leave_out=leave_out) for one in value]
        return tuple(inner) if open_ and kind is tuple else inner
    if open_ or not _is_written(value):
        return value
    if isinstance(value, set | frozenset):
        members = (_plain(one, open_=False, leave_out=leave_out) for one in value)
        return sorted(members, key=msgspec.json.encode)
    return msgspec.to_builtins(value, str_keys=True)


def _fields(config: msgspec.Struct, leave_out: Any) -> Any:
    """Return the fields of a config by name, with its tag."""
    about = type(config).__struct_config__
    if about.array_like or about.omit_defaults:
        return msgspec.to_builtins(config, str_keys=True)
    config, without = leave_out(config)
    plain: dict[str, Any] = {about.tag_field: about.tag} if about.tag_field else {}
    for name, written, form in _forms(type(config)):
        value = getattr(config, name)
        if name in without or value is msgspec.UNSET:
            continue
        if form == "row" and isinstance(value, _ROWS):
            value = [_plain(one, open_=True, leave_out=leave_out) for one in value]
        else:
            value = _plain(value, open_=form != "closed", leave_out=leave_out)
        plain[written] = value
    return plain


def _is_written(value: Any) -> bool:
    """Return whether msgspec converts a value that is neither a list nor a dictionary."""
    if isinstance(value, set | frozenset | bytes | bytearray | memoryview):
        return True
    return any(base.__module__ in _WRITTEN for base in type(value).__mro__)


@functools.cache
def _forms(kind: type[msgspec.Struct]) -> tuple[tuple[str, str, str], ...]:
    """Return each field's name, its name in files, and ``closed``, ``row`` or ``open``.

    A field is ``closed`` if its type determines how its values are converted, and a
    ``row`` if it is a sequence of values of any type.
    """
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:  # an annotation uses a name that only type checkers import
        hints = {}
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return tuple(
        (name, written, _form(hints.get(name, str))) for name, written in names
    )


def _form(hint: Any) -> str:
    if not is_open(hint):
        return "closed"
    return "row" if (get_origin(hint) or hint) in _ROWS else "open"


def is_open(hint: Any) -> bool:
    """Return whether an annotation allows values of different types with equal JSON.

    For example, ``date | str`` allows a date and a string that have the same JSON.
    :func:`to_plain` leaves the values of such a field unchanged, so that they remain
    distinguishable.

    Args:
        hint: The type annotation of a field.

    Example:
        >>> from datetime import date
        >>> [is_open(one) for one in (tuple[float, ...], date | None, int | float)]
        [False, False, False]
        >>> [is_open(one) for one in (Any, dict[str, Any], date | str, tuple)]
        [True, True, True, True]
    """
    origin = get_origin(hint)
    parts = get_args(hint)
    if origin is Annotated:
        return is_open(parts[0])
    if origin is Literal or hint in _PLAIN or hint is float:
        return False
    if origin in (Union, UnionType):
        others = [part for part in parts if part is not type(None)]
        words = list(map(_word, others))
        return len(set(words)) < len(words) or any(map(is_open, others))
    if (origin or hint) in (*_ROWS, dict):
        return not parts or any(is_open(part) for part in parts if part is not Ellipsis)
    if isinstance(hint, type):
        if issubclass(hint, msgspec.Struct | bytes) or hint.__module__ in _WRITTEN:
            return False
        return not any(base.__module__ in _WRITTEN for base in hint.__mro__)
    return True


def _word(hint: Any) -> Any:
    """Return a marker for the JSON type of a Python type's values; several types may share one."""
    kind = get_origin(hint) or hint
    if kind in (int, float, bool):
        return kind
    if kind in _ROWS:
        return list
    if kind is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return kind, hint
    if kind is Literal and all(type(one) is str for one in get_args(hint)):
        return "name"
    return str
