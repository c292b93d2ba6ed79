"""Check the values of a config; errors state the path, the value and the nearest valid name.

:func:`check_types` is called when a config is created. :func:`refusal` builds the error
that is raised if a config cannot be decoded from plain values.
"""

import contextlib
import functools
import re
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from inweights.config.border import as_lists, as_number, as_python
from inweights.config.ranges import range_text
from inweights.errors import ConfigError, unknown_name

#: Largest number of characters of a wrong value in a message.
_SHOWN = 60

_UNKNOWN = re.compile(r"unknown field `(?P<key>[^`]*)`(?: - at `\$(?P<path>[^`]*)`)?")
_PLACED = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)


def refusal(
    error: msgspec.ValidationError,
    kind: type[msgspec.Struct],
    values: Mapping[str, Any],
) -> Exception:
    """Create the error for an invalid value; its message states the path and a valid name.

    Args:
        error: The error that msgspec raised.
        kind: Class of the config that was decoded.
        values: The plain values that could not be decoded.

    Returns:
        A ``ConfigError``, which the caller raises.

    Example:
        >>> class Ring(msgspec.Struct, forbid_unknown_fields=True):
        ...     nodes: int = 15
        >>> try:
        ...     msgspec.convert({"node": 9}, Ring)
        ... except msgspec.ValidationError as error:
        ...     print(refusal(error, Ring, {"node": 9}))
        unknown key 'node'; did you mean 'nodes'? Known: nodes
    """
    text = _with_key(str(error), kind, values)
    unknown = _UNKNOWN.search(text)
    if unknown:
        path = (unknown["path"] or "").strip(".")
        owner = _struct_at(kind, path.split(".") if path else [])
        if owner is not None:
            key = f"{path}.{unknown['key']}" if path else unknown["key"]
            prefix = f"{path}." if path else ""
            return unknown_name(
                "key", key, [prefix + f for f in owner.__struct_encode_fields__]
            )
    what, path = _what_and_place(text)
    given = _at(values, path)
    owner = _struct_at(kind, path.split(".")[:-1]) if path else None
    known = (
        _names_of(get_type_hints(owner).get(path.split(".")[-1].split("[")[0]))
        if owner
        else ()
    )
    if isinstance(given, str) and known and "enum" in what.lower():
        return unknown_name(path, given, known)
    if out_of_range := range_text(what, given):
        return ConfigError(f"{path} {out_of_range}")
    what = re.sub(r"^Object missing required field `(.+)`", r"'\1' is missing", what)
    text = f"{path}: " * bool(path) + what[:1].lower() + what[1:]
    if isinstance(given, str | int | float) and path:
        text += (
            f": {given!r}"
            if len(repr(given)) < _SHOWN
            else f": {repr(given)[:_SHOWN]}…"
        )
    return ConfigError(text)


def _with_key(text: str, kind: type[msgspec.Struct], values: Mapping[str, Any]) -> str:
    """Return the message with ``[...]`` replaced by the first invalid key."""
    if found := re.search(r"`\$\.(\w+)\[\.\.\.\]", text):
        for key, value in values[found[1]].items():
            try:
                msgspec.convert({**values, found[1]: {key: value}}, kind)
            except msgspec.ValidationError as error:
                if str(error) == text:
                    return text.replace("[...]", f"[{key}]")
    return text


def _at(values: Any, path: str) -> Any:
    """Return the value at a path such as ``gpt.sizes[1]``; ``None`` if there is none."""
    for key, place in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        if key and isinstance(values, Mapping):
            values = values.get(key)
        elif place and isinstance(values, list | tuple) and int(place) < len(values):
            values = values[int(place)]
        else:
            return None
    return values


def _names_of(hint: Any) -> tuple[str, ...]:
    """Return the strings that a ``Literal`` allows, including one within a list or union."""
    if get_origin(hint) is Literal:
        return tuple(name for name in get_args(hint) if isinstance(name, str))
    names: list[str] = []
    for part in get_args(hint):
        names += _names_of(part)
    return tuple(names)


def _struct_at(
    kind: type[msgspec.Struct], path: list[str]
) -> type[msgspec.Struct] | None:
    """Return the struct class at a path of field names; ``None`` if there is none."""
    for step in path:
        hint = get_type_hints(kind).get(step.split("[")[0])
        found = next((c for c in _candidates(hint)), None)
        if found is None:
            return None
        kind = found
    return kind


def _candidates(hint: Any) -> Iterable[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for part in getattr(hint, "__args__", ()):
        yield from _candidates(part)


def check_types(config: msgspec.Struct) -> None:
    """Check that each value of a config has the type of its field, and convert some types.

    Where the type requires it, NumPy numbers are replaced by Python numbers, arrays and
    lists by tuples, and paths by strings, so that the config can be hashed and written.
    These replacements change the config in place. A field whose type msgspec cannot
    check, such as a protocol, accepts every value.

    Args:
        config: The config, which may be changed in place.

    Raises:
        ConfigError: A value has the wrong type or is out of range. The message names
            the field.
    """
    for name, (kind, quick) in _types(type(config)).items():
        value = getattr(config, name)
        if type(value) in quick:
            continue
        plain, converted = _converted(config, name, kind, value)
        listed = isinstance(plain, list) and isinstance(converted, tuple)
        if listed or plain is not value:
            kept = tuple(plain) if listed else plain
            msgspec.structs.force_setattr(config, name, kept)


def _converted(
    config: msgspec.Struct, name: str, kind: Any, value: Any
) -> tuple[Any, Any]:
    """Return a Python value for a field, and the value that would be read from a file."""
    plain = as_python(value) if kind is Any else as_number(value)
    why: Exception
    try:
        return plain, msgspec.convert(plain, kind)
    except (msgspec.ValidationError, AttributeError) as error:
        # Given an array in place of a mapping, msgspec raises an AttributeError.
        why = error
        if isinstance(error, AttributeError):
            why = TypeError(f"expected `object`, got `{type(value).__name__}`")
    rows = as_lists(value)
    try:
        return rows, msgspec.convert(rows, kind)
    except msgspec.ValidationError as error:
        why = error if isinstance(rows, list) else why
    except AttributeError:
        pass
    where = f"{config.__struct_config__.tag or type(config).__name__}.{name}"
    known = _names_of(kind)
    if known and isinstance(plain, str):
        raise unknown_name("value of " + where, plain, known)
    what, place = _what_and_place(str(why))
    if place:
        where += place if place.startswith("[") else f".{place}"
    if out_of_range := range_text(what, _at(rows, place)):
        raise ConfigError(f"{where} {out_of_range}")
    text = what.replace("`null`", "`None`")
    raise ConfigError(f"{where}: {text[:1].lower()}{text[1:]}")


def _what_and_place(text: str) -> tuple[str, str]:
    """Split a message of msgspec into what is wrong and the path of the value."""
    placed = _PLACED.match(text)
    assert placed is not None
    return placed["what"], placed["path"] or ""


@functools.cache
def _types(kind: type[msgspec.Struct]) -> dict[str, tuple[Any, frozenset[type]]]:
    """Return the type of each checkable field, and the plain types that always fit."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:  # an annotation uses a name that only type checkers import
        return {}
    checkable = {}
    for name in kind.__struct_fields__:
        hint = hints[name]
        with contextlib.suppress(TypeError):  # such as a protocol, which is not checked
            msgspec.json.Decoder(hint)
            parts = set(get_args(hint) if isinstance(hint, UnionType) else (hint,))
            plain = parts & {int, float, str, bool, type(None)}
            checkable[name] = (
                hint,
                frozenset(plain | ({int} if float in plain else set())),
            )
    return checkable
