"""Strategies of hypothesis for values of all types of Python, NumPy and others."""

from __future__ import annotations

import os
from datetime import UTC, timedelta, timezone
from pathlib import PosixPath
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

#: Number of cases per property, as in ``CASES_OF_VALUES=10000 pytest
#: tests/foreign/test_values.py``.
CASES = int(os.environ.get("CASES_OF_VALUES", "60"))
many = settings(max_examples=CASES)

_zones = st.none() | st.sampled_from(
    [
        UTC,
        timezone(timedelta(hours=-3, minutes=-30)),
        timezone(timedelta(hours=1), "own"),
        ZoneInfo("Europe/Berlin"),
    ]
)
#: Few values of each type, so that equal and similar values are drawn often.
_alike = st.sampled_from(
    [
        0,
        1,
        2,
        True,
        False,
        None,
        0.0,
        -0.0,
        1.0,
        "1",
        "1.0",
        "true",
        "null",
        "None",
        "",
        "nan",
        float("inf"),
        float("-inf"),
        float("nan"),
        b"",
        b"1",
        1 + 0j,
        2**70,
        -(2**64),
        "$tuple",
        "$",
    ]
)
_texts = st.text(st.characters(), max_size=4)  # including lone surrogates
_arrays = hnp.arrays(
    st.sampled_from(["f4", "f8", ">f8", "i1", "i8", "?", "c8", "U2"]),
    hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=2),
)
#: Members of sets and keys of mappings; without nan, which is not equal to itself.
hashable = (
    st.sampled_from([0, 1, True, None, 0.5, "a", "$a", b"a", 2**70])
    | st.integers()
    | _texts
    | st.dates()
    | st.tuples(st.integers(0, 2), _texts)
    | st.fractions()
)
leaves = (
    _alike
    | st.integers()
    | st.floats()
    | _texts
    | st.binary(max_size=3)
    | st.complex_numbers()
    | st.decimals()
    | st.fractions()
    | st.dates()
    | st.datetimes(timezones=_zones)
    | st.times()
    | st.timedeltas()
    | st.uuids()
    | _arrays
    | st.builds(range, st.integers(0, 2), st.integers(0, 2), st.integers(1, 2))
    | st.builds(PosixPath, st.sampled_from(["no", "no/such", "é"]))
    | st.frozensets(hashable, max_size=3)
    | st.sets(hashable, max_size=3)
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            st.sampled_from(["a", "b", "$a", "1"]) | _texts, inner, max_size=3
        )
        | st.dictionaries(hashable, inner, max_size=2)
    )


values = st.recursive(leaves, _nested, max_leaves=6)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal, with equal types at every depth and nan equal to nan.

    Values are compared by Python's own operators, independently of their stored form.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return (
            one.dtype == other.dtype
            and one.dtype.str == other.dtype.str
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        if len(one) != len(other):
            return False
        found = {(type(key), key): value for key, value in other.items()}
        return all(
            (type(key), key) in found and same(value, found[type(key), key])
            for key, value in one.items()
        )
    if isinstance(one, set | frozenset):
        return {_typed(item) for item in one} == {_typed(item) for item in other}
    # The representation shows the sign of zero, digits of a decimal, a time zone and
    # its fold.
    return repr(one) == repr(other)


def _typed(item: Any) -> Any:
    inner = tuple(map(_typed, item)) if isinstance(item, tuple) else item
    return type(item), inner
