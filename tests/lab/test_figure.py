"""Figures as data: a constructor has the options of its drawing, and keeps those that are given."""

from __future__ import annotations

import inspect

import pytest

import inweights.report.figures  # noqa: F401 (which registers them)
from inweights.lab import figure
from inweights.report.registry import DRAWINGS, find

KINDS = tuple(name for name in figure.__all__ if name != "Figure")
#: Options of a drawing that a recipe has no use for, and those that are written in another way.
OTHER = {"through_time": {"moments", "step_log"}}


def options(function) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}


@pytest.mark.parametrize("kind", KINDS)
def test_options_are_those_of_the_drawing(kind: str) -> None:
    made, drawn = options(getattr(figure, kind)), options(DRAWINGS[kind])
    assert set(drawn) - set(made) == OTHER.get(kind, set())
    assert set(made) <= set(drawn)
    for name, parameter in made.items():
        needed = drawn[name].default is inspect.Parameter.empty
        assert (parameter.default is inspect.Parameter.empty) == needed, name


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_out_is_left_to_the_drawing(kind: str) -> None:
    maker = getattr(figure, kind)
    needed = {
        name: f"column {name}"
        for name, parameter in options(maker).items()
        if parameter.default is inspect.Parameter.empty
    }
    tables = {"table": "t", "tables": ("a", "b", "c"), "films": "f", "graphs": "g"}
    words = {"id": "one", "title": "Title", "caption": "Caption."}
    known = tables | words
    given = [known[name] for name in inspect.signature(maker).parameters if name in known]
    made = maker(*given, **needed)
    assert (made.id, made.kind, made.title, made.caption) == ("one", kind, "Title", "Caption.")
    assert made.options == needed
    assert find(made) is DRAWINGS[kind]


def test_options_are_plain_values() -> None:
    made = figure.lines(
        "one", "t", "Title", "Caption.", x="x", y="y", series="s", y_limits=(0, 1),
        reference=("chance", "1/C"), order=("a", "b"), x_log=True,
    )  # fmt: skip
    assert made.options["y_limits"] == [0, 1]
    assert made.options["order"] == ["a", "b"]
    assert made.options["reference"] == {"column": "chance", "label": "1/C"}
    assert made.options["x_log"] is True
    flat = figure.lines("one", "t", "Title", "Caption.", x="x", y="y", series="s", x_log=False)
    assert flat.options == {"x": "x", "y": "y", "series": "s"}
