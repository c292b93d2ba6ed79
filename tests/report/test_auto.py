"""The automatic figure: varied settings become the axis, then lines, then panels."""

from __future__ import annotations

from itertools import product
from typing import Any

import polars as pl
import pytest

from inweights.errors import DataError
from inweights.report import plot

ROLES = ["first", "second", "query"]


def table(**varied: list[Any]) -> pl.DataFrame:
    """Return a table like that of a sweep: settings, seed, and a measure with roles."""
    rows = []
    for values in product(*varied.values()):
        for seed, role in product(range(3), ROLES):
            labels = dict(zip(varied, values, strict=True))
            part = "queries" if role == "query" else "facts"
            size = 10 if role == "query" else 20
            rows.append(
                {
                    **labels,
                    "seed": seed,
                    "part": part,
                    "role": role,
                    "size": size,
                    "hit": seed / 3,
                }
            )
    return pl.DataFrame(rows)


def seen(picture) -> tuple[list[str], str, list[str]]:
    """Return the titles of the panels, the label of the axis, and the lines."""
    panels = [axes for axes in picture.axes if axes.get_visible()]
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in panels]
    legend = [text.get_text() for one in picture.legends for text in one.get_texts()]
    name = panels[0].get_xlabel() or (
        picture._supxlabel.get_text() if picture._supxlabel else ""
    )
    return titles, name, legend


def test_one_number_is_the_axis_and_roles_are_lines() -> None:
    titles, axis, legend = seen(plot("auto", table(n=[4, 8])))
    assert (axis, legend) == ("n", ROLES)
    assert titles == [""]


def test_an_empty_facet_is_a_single_panel() -> None:
    numbers = table(n=[4, 8], rate=[0.1, 0.2])
    assert seen(plot(numbers, facet=""))[0] == [""]
    names = table(model=["gpt", "mlp"], world=["a", "b"])
    assert len(seen(plot(names))[0]) > 1
    assert seen(plot(names, facet=""))[0] == ["model"]


def test_what_was_varied_next_is_lines_with_its_name_and_roles_are_panels() -> None:
    titles, axis, legend = seen(plot("auto", table(n=[4, 8], rate=[0.1, 0.2])))
    assert (axis, legend) == ("n", ["rate = 0.1", "rate = 0.2"])
    assert titles == ROLES


def test_the_part_of_a_role_is_no_panel() -> None:
    picture = plot("auto", table(n=[4, 8]), where={"role": "query"})
    assert seen(picture) == ([""], "n", [])


def test_names_stand_side_by_side() -> None:
    picture = plot("auto", table(model=["gpt", "mamba"]))
    assert seen(picture)[0] == ROLES
    assert [t.get_text() for t in picture.axes[0].get_xticklabels()] == ["gpt", "mamba"]
    lone = plot("auto", table(model=["gpt", "mamba"]), where={"role": "first"})
    assert [t.get_text() for t in lone.axes[0].get_xticklabels()] == ["gpt", "mamba"]


def test_steps_come_first() -> None:
    steps = table(n=[4, 8]).join(pl.DataFrame({"step": [0, 10, 20]}), how="cross")
    titles, axis, legend = seen(plot("auto", steps))
    assert (axis, legend, titles) == ("step", ["n = 4", "n = 8"], ROLES)


def test_what_is_named_is_not_chosen() -> None:
    wide = table(n=[4, 8], rate=[0.1, 0.2])
    titles, axis, legend = seen(
        plot("auto", wide, x="rate", series="role", facet="n", y="size")
    )
    assert (axis, legend) == ("rate", ROLES)
    assert titles == ["n = 4", "n = 8"]


def test_wide_ranges_are_logarithmic() -> None:
    assert plot("auto", table(rate=[1e-4, 1e-3, 1e-2])).axes[0].get_xscale() == "log"
    assert plot("auto", table(rate=[1, 2, 3])).axes[0].get_xscale() == "linear"


def test_shares_are_drawn_from_0_to_1() -> None:
    low, high = plot("auto", table(n=[4, 8])).axes[0].get_ylim()
    assert low < 0 < 1 < high < 1.1
    beyond = table(n=[4, 8]).with_columns(pl.col("hit") * 7)
    assert plot("auto", beyond).axes[0].get_ylim()[1] > 4


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"y": "hits"}, "unknown column 'hits'; did you mean 'hit'"),
        ({"where": {"rol": "first"}}, "unknown column 'rol'; did you mean 'role'"),
        ({"where": {"role": "firsts"}}, "without rows"),
    ],
)
def test_what_is_not_there_is_named(options, why: str) -> None:
    with pytest.raises(DataError, match=why):
        plot("auto", table(n=[4, 8]), **options)


def test_a_table_without_numbers_is_refused() -> None:
    words = table(n=[4, 8]).select("n", "seed", "role")
    with pytest.raises(DataError, match="no numeric column after 'seed'"):
        plot("auto", words)


def test_names_without_panels_have_the_setting_as_their_title() -> None:
    told = table(remedy=["none", "decay"]).filter(role="query")
    titles, _, _ = seen(plot("auto", told, x="remedy", series="role"))
    assert titles == ["remedy"]


def test_marks_of_one_name_stand_apart() -> None:
    """Marks of names are farther apart than marks of numbers, which lines connect."""
    width = {}
    for values in (["a", "b"], [1, 2]):
        rows = table(value=values).with_columns(axis=pl.lit("value"))
        named: dict[str, Any] = {"axis": "axis", "value": "value", "series": "role"}
        panel = plot("sweeps", rows, y="hit", **named).axes[0]
        bars: list[Any] = panel.containers
        marks = [bar.lines[0].get_xdata()[0] for bar in bars]
        width[values[0]] = max(marks) - min(marks)
    assert width["a"] >= 2 * width[1] > 0
