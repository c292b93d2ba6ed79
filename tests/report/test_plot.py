"""Plots of users' tables: replicas, a single line, pandas, users' axes and drawings."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Picture
from tests.report import made_up

from inweights.errors import ConfigError, DataError
from inweights.experiments import auto
from inweights.report import draw, drawing, plot
from inweights.report.base import save, style, tidy
from inweights.report.base.registry import DRAWINGS

ROWS = {
    "replica": [0, 1, 2, 0, 1, 2],
    "step": [0, 0, 0, 100, 100, 100],
    "accuracy": [0.1, 0.2, 0.3, 0.8, 0.9, 1.0],
}
TABLE = pl.DataFrame(ROWS)


def mean_line(axes) -> list[float]:
    """Return the line of the mean, not of single dots."""
    (line,) = [one for one in axes.get_lines() if one.get_linestyle() != "None"]
    return line.get_ydata().tolist()


def test_replicas_are_seeds_and_one_line_needs_no_series() -> None:
    picture = plot("lines", TABLE, x="step", y="accuracy")
    (axes,) = picture.axes
    assert mean_line(axes) == pytest.approx([0.2, 0.9])
    assert picture.legends == []
    again = plot("lines", TABLE.rename({"replica": "seed"}), x="step", y="accuracy")
    assert save.png(again) == save.png(picture)
    assert TABLE.columns == list(ROWS)
    # A notebook shows the picture at half of its pixels.
    data, size = picture._repr_png_()  # type: ignore[attr-defined]
    assert data == save.png(picture)
    assert int.from_bytes(data[16:20]) == pytest.approx(2 * size["width"], abs=2)


def test_what_a_probe_returns_is_drawn_without_a_word() -> None:
    columns = {"part": "facts", "role": "first_hop", "distribution": "trained"}
    numbers = {"statements": 4, "accuracy_among": 0.5, "chance": 0.25, "loss": 1.5}
    table = TABLE.with_columns(**{n: pl.lit(v) for n, v in (columns | numbers).items()})
    axes = plot("auto", table).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "accuracy")
    assert save.png(plot(table)) == save.png(plot("auto", table))
    picture = plot(table, y="loss")
    assert picture.axes[0].get_ylabel() == "loss"


def test_what_no_probe_declares_is_not_guessed() -> None:
    table = TABLE.with_columns(role=pl.lit("first_hop"), loss=pl.col("accuracy") * 2)
    with pytest.raises(
        DataError, match="set 'y' to one of these columns: accuracy, loss"
    ):
        plot("auto", table)
    assert plot("auto", table.drop("loss")).axes[0].get_ylabel() == "accuracy"


def test_a_table_of_several_measures_asks_for_one() -> None:
    both = pl.concat(
        [
            TABLE.select(pl.lit(name).alias("measure"), pl.all())
            for name in ("one", "two")
        ]
    )
    with pytest.raises(DataError, match="several measures: one, two; draw one"):
        plot("auto", both)
    assert (
        plot("auto", both, where={"measure": "one"}).axes[0].get_ylabel() == "accuracy"
    )


def two_measures() -> pl.DataFrame:
    """Return a table of two measures like that of a sweep, with a common column."""
    shifts = {"one": 0.0, "two": -0.6}
    return pl.concat(
        [
            TABLE.select(
                pl.lit(name).alias("measure"),
                "replica",
                "step",
                spearman=number + shift,
            )
            for name, shift in shifts.items()
            for number in [pl.col("accuracy")]
        ]
    )


@pytest.mark.parametrize("options", [{"y": "spearman"}, {"y": "spearman", "x": "step"}])
def test_numbers_of_two_measures_are_not_averaged(options: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="numbers of several measures: one, two"):
        plot(two_measures(), **options)
    with pytest.raises(DataError, match="would average them"):
        plot("lines", two_measures(), **({"x": "step"} | options))
    alone = two_measures().with_columns(
        spearman=pl.when(pl.col("measure") == "one").then("spearman")
    )
    assert mean_line(plot(alone, **options).axes[0]) == pytest.approx([0.2, 0.9])


def test_measures_stand_on_an_axis_and_tell_lines_apart() -> None:
    table = two_measures()
    last = table.filter(pl.col("step") == 100)
    (axes,) = plot(last, x="measure", y="spearman").axes
    assert [one.get_text() for one in axes.get_xticklabels()] == ["one", "two"]
    (axes,) = plot(table, y="spearman", series="measure").axes
    lines = [one for one in axes.get_lines() if one.get_linestyle() != "None"]
    means = [float(np.asarray(one.get_ydata())[-1]) for one in lines]
    assert sorted(means) == pytest.approx([0.3, 0.9])
    assert len(plot(table, y="spearman", facet="measure").axes) == 2


def test_only_shares_have_an_axis_from_zero_to_one() -> None:
    """The axis of an error of 0.006 to 0.02 does not end at one."""
    rows = {
        "n": [4, 4, 8, 8],
        "seed": [0, 1, 0, 1],
        "error": [0.02, 0.018, 0.006, 0.008],
    }
    low, high = plot(pl.DataFrame(rows), y="error").axes[0].get_ylim()
    assert -0.01 < low < 0.006
    assert 0.02 < high < 0.03
    shares = pl.DataFrame(rows).rename({"error": "accuracy_among"})
    low, high = plot(shares, y="accuracy_among").axes[0].get_ylim()
    assert low < 0 < 1 < high < 1.1


def test_controls_are_grey_bands() -> None:
    """Controls are neither lines nor panels, and are named in the legend."""
    rows = [
        {
            "n": n,
            "control": control,
            "seed": seed,
            "accuracy": (control == "none") / 2 + seed / 20,
        }
        for n in (4, 8)
        for control in ("none", "untrained", "shuffled")
        for seed in range(6)
    ]
    for table in (
        pl.DataFrame(rows),
        pl.DataFrame(rows).with_columns(n=pl.format("w{}", "n")),
    ):
        picture = plot("auto", table)
        (axes,) = [axes for axes in picture.axes if axes.get_visible()]
        names = [text.get_text() for one in picture.legends for text in one.get_texts()]
        assert [n for n in names if "control" in n] == [
            "control: untrained",
            "control: shuffled",
        ]
        assert axes.get_ylim()[0] < 0.01
    kept = plot("lines", pl.DataFrame(rows), x="n", y="accuracy", series="control")
    names = [text.get_text() for one in kept.legends for text in one.get_texts()]
    assert names == ["none", "untrained", "shuffled"]


def test_intervals_stay_within_what_can_be() -> None:
    shares = pl.DataFrame(
        {"n": [1] * 6, "seed": range(6), "hit": [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]}
    )
    assert tidy.spread(shares, "n", "hit").high > 1
    assert tidy.spread(shares, "n", "hit", (0, 1)).high == 1


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("lines", {"x": "role", "y": "accuracy"}),
        ("lines", {"x": "step", "y": "role"}),
        ("auto", {"y": "role"}),
        ("heatmaps", {"row": "step", "column": "replica", "value": "role"}),
        ("sweeps", {"axis": "role", "value": "step", "y": "role"}),
    ],
)
def test_text_where_numbers_are_drawn_is_refused(
    kind: str, options: dict[str, Any]
) -> None:
    with pytest.raises(
        DataError, match="'role' contains strings; numeric columns: step"
    ):
        plot(
            kind,
            TABLE.select("replica", role=pl.lit("a"), step="step", accuracy="accuracy"),
            **options,
        )


def test_where_there_are_both_it_goes_by_seed() -> None:
    # Two seeds, one of which has the mean of two rows.
    both = TABLE.with_columns(seed=pl.col("replica") // 2)
    assert mean_line(plot("lines", both, x="step", y="accuracy").axes[0])[
        0
    ] == pytest.approx(np.mean([np.mean([0.1, 0.2]), 0.3]))


def test_replicas_can_be_what_is_told_apart() -> None:
    cells = pl.DataFrame({"replica": [0, 1], "layer": ["a", "a"], "cosine": [0.1, 0.9]})
    picture = plot(
        "heatmaps", cells, row="layer", column="layer", value="cosine", panel="replica"
    )
    assert len(picture.axes) == 3


@pytest.mark.parametrize("kind", ["pandas", "lazy", "columns"])
def test_other_frames(kind: str) -> None:
    if kind == "pandas":
        pandas = pytest.importorskip("pandas", reason="needs pandas")
        table = pandas.DataFrame({**ROWS, "model": ["gpt"] * 6}, index=[5] * 6)
        table.loc[table["replica"] == 2, "model"] = None
    else:
        table = TABLE.with_columns(model=pl.lit("gpt"))
        table = table.lazy() if kind == "lazy" else table.to_dict(as_series=False)
    picture = plot("lines", table, x="step", y="accuracy")
    assert mean_line(picture.axes[0]) == pytest.approx([0.2, 0.9])


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(DataError, match=r"polars or pandas data frame .* got list"):
        plot("lines", [1, 2], x="step", y="accuracy")
    with pytest.raises(DataError, match="identifies replicates by it, or by 'replica'"):
        plot("lines", TABLE.drop("replica"), x="step", y="accuracy")


def test_axes_of_ones_own() -> None:
    figure = Picture()
    left, right = figure.subplots(1, 2)
    left.set_ylim(0, 3)
    kept = {name: spine.get_edgecolor() for name, spine in left.spines.items()}
    table = made_up.accuracies().filter(identity="with")
    options: dict[str, Any] = {"x": "C", "y": "accuracy", "series": "model"}
    back = plot("lines", table, axes=left, y_label="share", **options)
    assert back is figure
    assert left.get_ylim() == (0, 3)
    assert {name: spine.get_edgecolor() for name, spine in left.spines.items()} == kept
    assert (left.get_xlabel(), left.get_ylabel()) == ("C", "share")
    assert [text.get_text() for text in left.get_legend().get_texts()] == list(
        made_up.MODELS
    )
    assert not right.get_lines()
    alone = plot("lines", table, **options).axes[0]
    ours, theirs = (
        [one.get_ydata().tolist() for one in axes.get_lines()] for axes in (left, alone)
    )
    assert ours == theirs
    plot("lines", TABLE, axes=right, x="step", y="accuracy")
    assert right.get_legend() is None
    for wrong, match in (
        ({"facet": "model"}, "unknown option 'facet'"),
        ({"w": 1}, "option 'w'"),
    ):
        with pytest.raises(ConfigError, match=match):
            plot("lines", table, axes=left, **options, **wrong)
    with pytest.raises(
        ConfigError, match="'sweeps' creates its own figure; only 'lines'"
    ):
        plot("sweeps", table, axes=left)
    with pytest.raises(ConfigError, match="did you mean 'lines'"):
        plot("line", table, axes=left)


def test_a_drawing_of_ones_own_is_in_the_house_style() -> None:
    @drawing("own")
    def own(table):
        picture = Picture()
        axes = picture.subplots()
        axes.plot(table["step"], table["accuracy"])
        axes.plot(table["step"], table["replica"])
        axes.set_xlabel("step\n" * 4)
        return picture

    try:
        before = dict(mpl.rcParams)
        picture = draw(made_up.figure("a", "own", ("t",)), {"t": TABLE})
        assert dict(mpl.rcParams) == before
    finally:
        del DRAWINGS["own"]
    (axes,) = picture.axes
    colors = [to_hex(line.get_color()) for line in axes.get_lines()]
    assert colors == [mark.color for mark in style.CYCLE[:2]]
    assert not axes.spines["top"].get_visible()
    assert axes.xaxis.label.get_window_extent().y0 >= 0  # not cut
    assert {tick.get_fontsize() for tick in axes.get_xticklabels()} == {style.SMALL}
    assert to_hex(axes.get_xticklabels()[0].get_color()) == style.INK


def test_a_figure_of_a_run_says_why_it_is_not_drawn() -> None:
    """A run is stored even if its probe declares no numeric column."""
    table = TABLE.with_columns(loss=pl.col("accuracy") * 2)
    picture = draw(auto("table"), {"table": table})
    assert "set 'y' to one of these columns: accuracy, loss" in picture.texts[
        0
    ].get_text().replace("\n", " ")
