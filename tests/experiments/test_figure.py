"""Figures as data: a constructor names a drawing function and stores its options."""

from __future__ import annotations

import pytest

import inweights.report.figures.draw  # noqa: F401 (which registers them)
from inweights.experiments import Paper, Plan
from inweights.experiments.grammar import figure
from inweights.report.base.registry import DRAWINGS, find
from inweights.worlds import TwoHop

KINDS = tuple(name for name in figure.__all__ if name != "Figure")


@pytest.mark.parametrize("kind", KINDS)
def test_a_constructor_names_its_drawing(kind: str) -> None:
    made = getattr(figure, kind)(
        "one", "table", "Title", "Caption.", columns=2, order=None
    )
    assert (made.id, made.kind, made.title, made.caption) == (
        "one",
        kind,
        "Title",
        "Caption.",
    )
    assert made.sources == ("table",)
    assert made.options == {"columns": 2}
    assert find(made) is DRAWINGS[kind]


def test_options_are_plain_values() -> None:
    made = figure.lines(
        "one", "t", "Title", "Caption.", y_limits=(0, 1), order=("a", "b")
    )
    assert made.options == {"y_limits": [0, 1], "order": ["a", "b"]}
    assert figure.atlas("one", ("films", "graphs"), "Title", "Caption.").sources == (
        "films",
        "graphs",
    )


def test_the_arguments_of_0_1_warn_and_work() -> None:
    with pytest.warns(DeprecationWarning, match="'tables'"):
        made = figure.lines(
            "one",
            table="t",
            title="Title",
            caption="Caption.",
            reference=("chance", "1/C"),
        )
    assert (made.sources, made.title, made.caption) == (("t",), "Title", "Caption.")
    assert made.options == {"reference": {"column": "chance", "label": "1/C"}}
    for words, named in (
        (("one", "films", "graphs", "Title", "Caption."), {}),
        (
            ("one",),
            {
                "films": "films",
                "graphs": "graphs",
                "title": "Title",
                "caption": "Caption.",
            },
        ),
    ):
        with pytest.warns(DeprecationWarning, match="this release only"):
            made = figure.atlas(*words, **named, columns=2)
        assert (made.sources, made.title) == (("films", "graphs"), "Title")
        assert (made.caption, made.options) == ("Caption.", {"columns": 2})


def test_a_papers_own_settings_warn_and_reach_its_recipes() -> None:
    with pytest.warns(DeprecationWarning, match="each recipe"):
        paper = Paper("mine", "My lab", ours=("n",))
    scales = {"cpu": TwoHop()}
    made = paper.recipe(
        "fig1", title="One", scales=scales, seeds=3, plan=lambda _: Plan()
    )
    assert made.ours == ("n",)
