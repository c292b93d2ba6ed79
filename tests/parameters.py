"""Parameters of a test in two tiers: some in ``make test``, all in ``make test-all``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def mostly_slow(values: Iterable[Any], fast: Callable[[Any], bool]) -> list[Any]:
    """Return parameters of which only some belong to the fast tier.

    Args:
        values: The parameters.
        fast: Whether a parameter stays in the fast tier; all others are marked
            ``slow``.

    Example:
        >>> [p if p == 1 else (p.values, p.marks[0].name) for p in mostly_slow([1, 2], (1).__eq__)]
        [1, ((2,), 'slow')]
    """
    return [
        value if fast(value) else pytest.param(value, marks=pytest.mark.slow)
        for value in values
    ]
