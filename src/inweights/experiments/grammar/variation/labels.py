"""Convert varied values to labels for the columns of tables.

:func:`labels_of` returns the labels of one axis, and :func:`is_label` recognises the
label of a value.
"""

from collections.abc import Sequence
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

import msgspec

from inweights.config.border import as_python
from inweights.config.values import to_json
from inweights.experiments.claims.score import Value

#: Smallest integer that is too large for a column of integers.
_LARGEST = 2**63


def labels_of(values: Sequence[Any]) -> list[Value]:
    """Return a label for each value of an axis, such that different values have different labels.

    A string, number or Boolean is its own label; the label of any other value is the
    string returned by ``str``. If a column would show two values as equal, such as
    ``True`` and ``1``, or could not contain a value, such as the integer 2^63, the
    labels of all values are strings. These strings are the results of ``str``, or of
    ``ascii`` for different values whose strings are equal, and for strings that are not
    valid UTF-8.

    Args:
        values: The values of the axis: strings, numbers, configs, functions or other
            objects. Equal values of the same type have equal labels.

    Returns:
        The labels, in the order of ``values``.

    Raises:
        ConfigError: A value is an object that cannot be stored and restored exactly.

    Example:
        >>> labels_of([10, 20]), labels_of([0.5, None]), labels_of([True, 1])
        ([10, 20], [0.5, 'None'], ['True', '1'])
        >>> labels_of(["1", 1, 1.0])
        ["'1'", '1', '1.0']
    """
    values = list(map(as_python, values))
    plain = (bool, int, float, str)
    labels = [value if type(value) in plain else str(value) for value in values]
    distinct = set(map(_mark, values))
    if _fit(labels) and len(set(_seen(labels))) >= len(distinct):
        return labels
    texts = list(map(str, values))
    marks_by_text: dict[str, set[Any]] = {}
    for text, value in zip(texts, values, strict=True):
        marks_by_text.setdefault(text, set()).add(_mark(value))
    found: list[Value] = []
    for text, value in zip(texts, values, strict=True):
        unclear = len(marks_by_text[text]) > 1 or not _is_text(text)
        found.append(ascii(value) if unclear else text)
    return found


def is_label(label: Value, wanted: Any) -> bool:
    """Return whether a label equals a value, or is the string that represents the value.

    Args:
        label: A label returned by :func:`labels_of`.
        wanted: The value, such as an entry of a measure's ``where``. NaN matches the
            label NaN.

    Example:
        >>> is_label(1, True), is_label("True", True), is_label(0.5, 0.5)
        (False, True, True)
    """
    wanted = as_python(wanted)
    if isinstance(label, str) and not isinstance(wanted, str):
        return label in (str(wanted), ascii(wanted))
    if isinstance(label, bool) != isinstance(wanted, bool):
        return False
    return bool(label == wanted) or (label != label and wanted != wanted)


def _seen(labels: Sequence[Value]) -> list[str]:
    """Return labels as they appear in a column of a table."""
    kinds = set(map(type, labels))
    if kinds == {int, float}:
        return [repr(float(label)) for label in labels]
    return list(map(str, labels))


def _fit(labels: Sequence[Value]) -> bool:
    """Return whether a column can contain the labels unchanged."""
    kinds = {bool if isinstance(label, bool) else type(label) for label in labels}
    if bool in kinds and len(kinds) > 1:
        return False
    return all(map(_fits, labels))


def _fits(label: Value) -> bool:
    """Return whether a column can contain a label; large integers and invalid UTF-8 do not fit."""
    if isinstance(label, str):
        return _is_text(label)
    return isinstance(label, float) or abs(label) < _LARGEST


def _is_text(text: str) -> bool:
    """Return whether a string can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _mark(value: Any) -> Any:
    """Return a key that is equal only for equal values of the same type."""
    return to_json(value, _by_what_it_shows)


def _by_what_it_shows(value: Any) -> Any:
    """Return a key for a config, function, Enum member or dataclass, made from its ``repr``."""
    named = (
        isinstance(value, msgspec.Struct | Enum)
        or callable(value)
        or is_dataclass(value)
    )
    return {"$shown": repr(value)} if named else None
