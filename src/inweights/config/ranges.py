"""Types of numbers that must lie in a range, for the fields of a config.

A field with such a type is checked when its config is created, whether by Python, from
a file or by ``--set``. Ranges that depend on other fields are checked by the config or
by the function that uses it.
"""

import re
from typing import Annotated, Any

import msgspec

#: An integer of at least 1.
PositiveInt = Annotated[int, msgspec.Meta(ge=1)]

#: An integer of at least 0.
NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]

#: A number above 0.
PositiveFloat = Annotated[float, msgspec.Meta(gt=0)]

#: A number of at least 0.
NonNegativeFloat = Annotated[float, msgspec.Meta(ge=0)]

#: A number from 0 to 1, such as a fraction or a probability.
UnitFloat = Annotated[float, msgspec.Meta(ge=0, le=1)]

_RANGE = re.compile(r"Expected `(?:int|float)[^`]*` (?P<sign>[<>]=?) (?P<limit>\S+)")
_SIGNS = {">": "above", ">=": "at least", "<": "below", "<=": "at most"}


def range_text(text: str, given: Any) -> str | None:
    """Return the message for a number that is out of range; ``None`` for any other error.

    Args:
        text: The message of msgspec, without the path of the field.
        given: The invalid number.

    Example:
        >>> range_text("Expected `int` >= 1", 0)
        'must be at least 1, got 0'
    """
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    limit = float(found["limit"])
    return f"must be {_SIGNS[found['sign']]} {limit:g}, got {given}"
