"""Figures as data: a constructor names a drawing, and keeps the options that are given."""

from __future__ import annotations

import pytest

import inweights.report.figures.draw  # noqa: F401 (which registers them)
from inweights.lab.grammar import figure
from inweights.report.base.registry import DRAWINGS, find

KINDS = tuple(name for name in figure.__all__ if name != "Figure")


@pytest.mark.parametrize("kind", KINDS)
def test_a_constructor_names_its_drawing(kind: str) -> None:
    made = getattr(figure, kind)("one", "table", "Title", "Caption.", columns=2, order=None)
    assert (made.id, made.kind, made.title, made.caption) == ("one", kind, "Title", "Caption.")
    assert made.sources == ("table",)
    assert made.options == {"columns": 2}
    assert find(made) is DRAWINGS[kind]


def test_options_are_plain_values() -> None:
    made = figure.lines("one", "t", "Title", "Caption.", y_limits=(0, 1), order=("a", "b"))
    assert made.options == {"y_limits": [0, 1], "order": ["a", "b"]}
    assert figure.atlas("one", ("films", "graphs"), "Title", "Caption.").sources == (
        "films",
        "graphs",
    )
