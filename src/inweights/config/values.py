"""A canonical encoding of values, for keys, files, job lines and the command line.

:func:`encode` converts a value to JSON data that is unique to the value's type and
content, and :func:`decode` restores the value. Values that JSON expresses exactly
(``None``, ``True``, ``1``, ``1.5``, ``"text"``, lists, dictionaries with string keys)
are unchanged. Other values become an object with one key that begins with ``$``, such
as ``{"$float": "inf"}``. Values without an exact encoding raise an error
(:mod:`inweights.config.unfit`). NumPy numbers are first converted to Python numbers
(:mod:`inweights.config.border`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from inweights.config.border import as_python
from inweights.config.forms import (
    form_of,
    known_forms,
    reader_of,
    write_number,
    write_text,
)
from inweights.config.unfit import refuse
from inweights.errors import ConfigError, unknown_name

#: Function of a caller that extends the encoding, for example to objects that are
#: stored by name.
Hook = Callable[[Any], Any]

#: Largest depth of nested lists and dictionaries, and largest number of digits of an integer.
MAX_DEPTH = 100
MAX_DIGITS = 4_000
_AS_THEY_ARE = frozenset({str, bool, type(None)})
_LARGEST = 10**MAX_DIGITS
_DICT = "$dict"


def encode(value: Any, hook: Hook | None = None) -> Any:
    """Encode a value as JSON data that is unique to the value's type and content.

    Args:
        value: ``None``, a boolean, number, string, path, date or NumPy array, a value
            of another type in :data:`inweights.config.forms.FORMS`, or a list, tuple,
            set or dictionary of these. NumPy numbers are first converted to Python
            numbers.
        hook: Function that is called with each value whose type is not ``None``, a
            Python boolean, number or string, a list or a dictionary. It returns JSON
            data, or ``None`` to have the value encoded as usual. Its exceptions
            propagate. If it is ``None`` (the default), no function is called.

    Returns:
        Lists, dictionaries, strings, booleans, finite numbers and ``None``. A value
        that JSON cannot express is a dictionary with one key: ``$float`` for an
        infinite or NaN number, ``$text`` for a string that is not valid Unicode,
        ``$dict`` for a dictionary with keys other than strings, ``$tuple`` for a tuple,
        and so on for sets, paths, dates and arrays.

    Raises:
        ConfigError: A value has no exact encoding (the message names the value, and
            states what to write instead), is nested in more than :data:`MAX_DEPTH`
            (100) lists and dictionaries, or contains NaN more than once in one set or
            among the keys of one dictionary.

    Example:
        >>> encode([1, 1.0, True, None, "1"])
        [1, 1.0, True, None, '1']
        >>> encode({"cap": float("inf"), "shape": (2, 3)})
        {'cap': {'$float': 'inf'}, 'shape': {'$tuple': [2, 3]}}
        >>> decode(encode({"cap": float("inf"), "shape": (2, 3)}))
        {'cap': inf, 'shape': (2, 3)}
    """
    return _encoded(value, hook, 0)


def decode(data: Any, hook: Hook | None = None) -> Any:
    """Return the value that :func:`encode` encoded as ``data``.

    Args:
        data: Data as read from JSON or TOML.
        hook: Function that is called with each dictionary that has a key beginning with
            ``$``. It returns the value, or ``None`` to have the dictionary decoded as
            usual. Its exceptions propagate. If it is ``None`` (the default), no
            function is called.

    Raises:
        ConfigError: A key that begins with ``$`` is unknown or is not the only key of
            its dictionary, or its value is damaged.

    Example:
        >>> decode({"$decimal": "1.10"})
        Decimal('1.10')
        >>> decode({"$flaot": "inf"})
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: unknown form of a value '$flaot'; did you mean '$float'? ...
    """
    if type(data) is list:
        return [decode(one, hook) for one in data]
    if not isinstance(data, dict):
        return data
    names = (key for key in data if isinstance(key, str) and key.startswith("$"))
    # The key "$" alone is an ordinary key, as in a table of characters.
    name = next((key for key in names if key != "$"), "")
    if not name:
        return {key: decode(one, hook) for key, one in data.items()}
    found = hook(data) if hook else None
    return _read(name, data, hook) if found is None else found


def to_json(value: Any, hook: Hook | None = None) -> bytes:
    """Return a value as canonical JSON; values of different types or content give different JSON.

    Dictionaries with the same items yield the same bytes even if the order of their
    keys differs; ``1``, ``1.0`` and ``True`` yield different bytes.

    Args:
        value: A value that :func:`encode` accepts.
        hook: Function that encodes further types of values, as in :func:`encode`.

    Raises:
        ConfigError: A value has no exact encoding; see :func:`encode`.

    Example:
        >>> to_json({"b": 1, "a": None}), to_json({1: "one"})
        (b'{"a":null,"b":1}', b'{"$dict":{"1":"one"}}')
    """
    return msgspec.json.encode(encode(value, hook), order="sorted")


def from_json(text: bytes | str, hook: Hook | None = None) -> Any:
    """Return the value that :func:`to_json` encoded.

    Args:
        text: The JSON text.
        hook: Function that decodes dictionaries with a key that begins with ``$``, as
            in :func:`decode`.

    Raises:
        ConfigError: A key that begins with ``$`` is unknown or is not the only key of
            its object, or its value is damaged.
        DecodeError: The text is not JSON (``msgspec.DecodeError``, a ``ValueError``).
    """
    return decode(msgspec.json.decode(text), hook)


def _encoded(value: Any, hook: Hook | None, depth: int) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return _text(value) if kind is str and not value.isascii() else value
    if kind is float:
        return value if math.isfinite(value) else write_number(value)
    if kind is int:
        return value if -_LARGEST < value < _LARGEST else refuse(value)
    if depth > MAX_DEPTH:
        raise ConfigError(
            f"lists and dictionaries may be nested at most {MAX_DEPTH} levels deep, and must "
            "not contain themselves"
        )

    def inner(one: Any) -> Any:
        return _encoded(one, hook, depth + 1)

    if kind is list:
        return list(map(inner, value))
    if kind is dict:
        return _table(value, inner)
    if hook and (found := hook(value)) is not None:
        return found
    form = form_of(value)
    if form is not None:
        members = (
            _in_order(value, inner) if kind in (set, frozenset) else form.write(value)
        )
        return {form.name: _encoded(members, hook, depth + 1)}
    plain = as_python(value)
    return refuse(value) if plain is value else inner(plain)


def _read(name: str, data: Mapping[str, Any], hook: Hook | None) -> Any:
    """Return the value that a dictionary with one key represents."""
    reader = reader_of(name)
    if name != _DICT and reader is None:
        known = [_DICT, *(form.name for form in known_forms())]
        raise unknown_name("form of a value", name, known)
    try:
        (held,) = data.values()
        if reader is None:
            return {
                from_json(key, hook): decode(one, hook) for key, one in held.items()
            }
        return reader(decode(held, hook))
    except ConfigError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise ConfigError(
            f"cannot decode the value {str(data)[:80]}: {error}"
        ) from None


def _text(value: str) -> Any:
    """Return a string, encoded as bytes if JSON cannot express it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return write_text(value)
    return value


def _table(value: Mapping[Any, Any], inner: Hook) -> Any:
    """Return a dictionary with encoded values; keys other than strings are written as JSON."""
    plain = all(type(key) is str and not key.startswith("$") for key in value)
    if plain and all(type(_text(key)) is str for key in value):
        return {key: inner(one) for key, one in value.items()}
    found = {_json(inner(key)): inner(one) for key, one in value.items()}
    if len(found) < len(value):
        raise ConfigError(
            f"keys of a dictionary must be distinct and must not be NaN, got {[*value]!r}"
        )
    return {_DICT: found}


def _json(data: Any) -> str:
    return msgspec.json.encode(data, order="sorted").decode()


def _in_order(members: Any, inner: Hook) -> list[Any]:
    """Return the members of a set, sorted by their JSON."""
    known = {_json(inner(one)): one for one in members}
    if len(known) < len(members):
        raise ConfigError(f"a set may contain NaN at most once, got {members!r}")
    return [known[text] for text in sorted(known)]


def digest(values: Any, length: int = 12) -> str:
    """Return the first hexadecimal digits of the SHA-256 hash of JSON data.

    The order of the keys of a dictionary has no effect.

    Args:
        values: JSON data, as :func:`encode` and :func:`inweights.config.identity`
            return them.
        length: Number of hexadecimal digits to return, at most 64.

    Raises:
        TypeError: A value cannot be written as JSON.

    Example:
        >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
        True
    """
    canonical = msgspec.json.encode(values, order="sorted")
    # A null represents either None or a number that JSON cannot express, such as NaN.
    if b"null" in canonical and msgspec.json.decode(canonical) != values:
        canonical = msgspec.json.encode(_exact(values), order="sorted")
    return hashlib.sha256(canonical).hexdigest()[:length]


def _exact(values: Any) -> Any:
    """Return the same values, with ``inf`` and ``nan`` distinguished from ``None``."""
    if isinstance(values, float):
        return encode(values)
    if isinstance(values, dict):
        return {key: _exact(one) for key, one in values.items()}
    return list(map(_exact, values)) if isinstance(values, list | tuple) else values
