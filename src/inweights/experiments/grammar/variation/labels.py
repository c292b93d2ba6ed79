"""Make labels of varied values for columns of tables; different values get different labels.

:func:`labels_of` makes the labels of one axis, and :func:`is_label` finds the label of
a value.
"""

from collections.abc import Sequence
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

import msgspec

from inweights.config.border import as_python
from inweights.config.values import to_json
from inweights.experiments.claims.score import Value

#: Whole numbers that a column of a table holds.
_LARGEST = 2**63


def labels_of(values: Sequence[Any]) -> list[Value]:
    """Return a label for each value of an axis; different values get different labels.

    A text, number or truth value is its own label; the label of any other value is its
    text, as ``str`` returns it. If a column would show two values as equal, such as
    ``True`` and ``1``, or could not contain a value, such as an integer from 2^63 on,
    the labels of all values are texts: ``str``, or ``ascii`` for values whose texts are
    equal or are not valid UTF-8.

    Args:
        values: The values of the axis: texts, numbers, configs, functions or any
            others.

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
    """Return whether a label belongs to a value: whether it is the value or its text.

    Args:
        label: A label that :func:`labels_of` returned.
        wanted: The value.

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
    """Return whether a column can contain a label, unlike large integers and invalid text."""
    if isinstance(label, str):
        return _is_text(label)
    return isinstance(label, float) or abs(label) < _LARGEST


def _is_text(text: str) -> bool:
    """Return whether a text can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _mark(value: Any) -> Any:
    """Return an object that is equal only for equal values of the same type."""
    return to_json(value, _by_what_it_shows)


def _by_what_it_shows(value: Any) -> Any:
    """Return such an object for a config, a function, a member of an Enum or a dataclass."""
    named = (
        isinstance(value, msgspec.Struct | Enum)
        or callable(value)
        or is_dataclass(value)
    )
    return {"$shown": repr(value)} if named else None
