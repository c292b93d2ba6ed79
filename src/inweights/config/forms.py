"""Encode values that JSON cannot express as an object with a key such as ``$tuple``.

Each :class:`Form` decomposes a value into simpler ones and restores it.
:mod:`inweights.config.values` applies them to nested values.
"""

import base64
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from inweights.config.unfit import refuse

#: Kinds of NumPy arrays (`dtype.kind`) whose content is determined by their bytes:
#: numbers, booleans, strings and dates.
_ARRAYS = frozenset("biufcSUMm")
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass(frozen=True)
class Form:
    """Encoding of values of one kind.

    Attributes:
        name: Key of the JSON object that represents the value.
        write: Function that decomposes the value into simpler values; it raises a
            ``ConfigError`` if the value cannot be restored exactly.
        read: Function that restores the value from the simpler values. If these are
            damaged, it raises a built-in exception, such as ``ValueError`` or
            ``TypeError``.
    """

    name: str
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def form_of(value: Any) -> Form | None:
    """Return the encoding for a value's type (a :class:`Form`), or ``None`` if there is none.

    An encoding applies only to values of exactly its type, except that the encoding of
    ``Path`` also applies to subclasses. There is no encoding for values that JSON can
    express, such as lists, nor for infinite and NaN floats, which :func:`write_number`
    encodes.

    Args:
        value: Any value.
    """
    if (found := FORMS.get(type(value))) is not None:
        return found
    if isinstance(value, Path):
        return _PATH
    numpy = sys.modules.get("numpy")
    return _ARRAY if numpy and type(value) is numpy.ndarray else None


def reader_of(name: str) -> Callable[[Any], Any] | None:
    """Return the function that restores values encoded under a key, such as ``$tuple``.

    Args:
        name: The key.

    Returns:
        A function that takes the encoded data and returns the value. If the data are
        damaged, it raises a built-in exception, such as ``ValueError`` or
        ``TypeError``. The result is ``None`` for an unknown key, and for ``$dict``,
        which :func:`inweights.config.values.decode` restores itself.
    """
    return next((form.read for form in known_forms() if form.name == name), None)


def known_forms() -> list[Form]:
    """Return the encodings of all types except dictionaries, which ``values.py`` encodes."""
    return [*FORMS.values(), _FLOAT, _TEXT, _NONE, _PATH, _ARRAY]


def write_number(value: float) -> dict[str, str]:
    """Return the encoding of an infinite or NaN float, such as ``{"$float": "inf"}``.

    Args:
        value: ``inf``, ``-inf`` or ``nan``.
    """
    return {_FLOAT.name: str(value)}


def write_text(value: str) -> dict[str, str]:
    """Return the encoding of a string that is not valid Unicode, such as a broken file name.

    It is a dictionary with the key ``$text``, whose value is the string's UTF-8 bytes
    as hexadecimal digits.

    Args:
        value: The string.
    """
    return {_TEXT.name: value.encode("utf-8", "surrogatepass").hex()}


def _moment(value: datetime | time) -> Any:
    """Return the encoding of a time or datetime, with its time zone and ``fold``."""
    zone: tzinfo | None = value.tzinfo
    bare = value.replace(tzinfo=None, fold=0).isoformat()
    if zone is None:
        return [bare, value.fold, None] if value.fold else bare
    if type(zone) is timezone:
        offset = zone.utcoffset(None) // timedelta(microseconds=1)
        name = zone.tzname(None)
        usual = timezone(timedelta(microseconds=offset)).tzname(None)
        return [bare, value.fold, [offset] if name == usual else [offset, name]]
    if type(zone) is ZoneInfo and zone.key:
        return [bare, value.fold, zone.key]
    return refuse(value)


def _moment_again(kind: Any, data: Any) -> Any:
    if isinstance(data, str):
        return kind.fromisoformat(data)
    bare, fold, about = data
    zone: tzinfo | None = None
    if isinstance(about, str):
        zone = ZoneInfo(about)
    elif about is not None:
        offset, *name = about
        zone = timezone(timedelta(microseconds=offset), *name)
    return kind.fromisoformat(bare).replace(tzinfo=zone, fold=fold)


def _array(value: Any) -> list[Any]:
    kind = value.dtype
    # A long double contains unused bytes, which may differ between equal numbers.
    largest = {"f": 8, "c": 16}.get(kind.kind, kind.itemsize)
    if kind.kind not in _ARRAYS or kind.itemsize > largest:
        refuse(value)
    return [kind.str, list(value.shape), _base64(value.tobytes())]


def _array_again(data: Any) -> Any:
    import numpy as np

    form, shape, text = data
    kind = np.dtype(str(form))
    if kind.kind not in _ARRAYS:
        raise ValueError(f"an array of '{form}' cannot be read")
    return np.frombuffer(_bytes(text), dtype=kind).reshape(shape).copy()


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


_FLOAT = Form("$float", str, _NUMBERS.__getitem__)
_TEXT = Form(
    "$text", str, lambda data: bytes.fromhex(data).decode("utf-8", "surrogatepass")
)
#: TOML has no null value.
_NONE = Form("$none", bool, lambda data: None if data is True else refuse(data))
_PATH = Form("$path", str, Path)
_ARRAY = Form("$array", _array, _array_again)

#: Forms by the type of their values; members of sets are sorted by the caller that
#: writes them.
FORMS: dict[type, Form] = {
    tuple: Form("$tuple", list, tuple),
    set: Form("$set", list, set),
    frozenset: Form("$frozenset", list, frozenset),
    range: Form(
        "$range", lambda v: [v.start, v.stop, v.step], lambda data: range(*data)
    ),
    bytes: Form("$bytes", _base64, _bytes),
    complex: Form("$complex", lambda v: [v.real, v.imag], lambda data: complex(*data)),
    Decimal: Form("$decimal", str, Decimal),
    Fraction: Form(
        "$fraction",
        lambda v: [v.numerator, v.denominator],
        lambda data: Fraction(*data),
    ),
    date: Form("$date", date.isoformat, date.fromisoformat),
    datetime: Form("$datetime", _moment, lambda data: _moment_again(datetime, data)),
    time: Form("$time", _moment, lambda data: _moment_again(time, data)),
    timedelta: Form(
        "$duration",
        lambda v: [v.days, v.seconds, v.microseconds],
        lambda data: timedelta(*data),
    ),
    UUID: Form("$uuid", str, UUID),
}
