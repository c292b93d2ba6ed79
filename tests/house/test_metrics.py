"""Each measure of code counts the intended places and no others."""

from __future__ import annotations

import ast

import pytest
from tests.house import metrics, reading

TEXT = '''"""A module."""

TABLE = [1, 2,
         3, -4]  # fmt: skip
NAMES = ["one",
         "other"]  # fmt: skip


def f(one, other):
    """Compute."""
    # Why it is so.
    return [[x for x in y] for y in one if other]


def g(one, other):
    """Return a number.

    Args:
        one: A number.
        other: Another.
    """
    return 1 if one else 2 if other else 3


def _hidden(one, other):
    return one
'''


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    made = reading.Module("a.py", TEXT, ast.parse(TEXT))
    monkeypatch.setattr(reading, "modules", lambda *folder: () if folder else (made,))


def test_places_are_found() -> None:
    # A table of numbers may be laid out by hand.
    assert reading.places_of_skipped_formatting() == ["a.py:6"]
    assert reading.places_of_comprehensions() == ["a.py:12", "a.py:12"]
    assert reading.places_of_comprehensions(nested=True) == ["a.py:12"]
    assert reading.places_of_chained_conditionals() == ["a.py:22"]
    assert reading.places_without("Args") == ["a.py:9 f"]
    assert reading.places_of_wide_lines() == []
    assert reading.comment_lines() == 1


def test_tokens_are_counted_without_docstrings_and_comments() -> None:
    assert reading.code_lines() == 4 + 2 + 2 + 2
    whole = 12 + 7 + (8 + 16) + (8 + 10) + (8 + 2)
    assert reading.tokens_a_line() == pytest.approx(whole / 10)


def test_a_docstring_does_not_make_a_function_long() -> None:
    lines = {one.node.name: one.lines for one in reading.functions()}
    assert lines == {"f": 3, "g": 2, "_hidden": 2}


def test_a_bar_is_met_on_its_own_side() -> None:
    most, least = (
        metrics.Bar(2, lambda: ["a", "b", "c"]),
        metrics.Bar(3, value=lambda: 3, least=True),
    )
    assert most.measured() == 3
    assert not most.met(3)
    assert most.met(2)
    assert least.met(least.measured())
    assert not least.met(2.9)
