"""Every kind of figure on small synthetic tables, including unusual ones."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Picture
from tests.parameters import mostly_slow
from tests.report import made_up

from inweights.errors import ConfigError, DataError
from inweights.report.base import save, style
from inweights.report.base.registry import DRAWINGS, drawing
from inweights.report.figures import heatmaps
from inweights.report.figures.draw import draw, draw_for_phone
from inweights.report.pages.page import write_figures

FIGURES = {figure.kind: figure for figure in made_up.figures()}


@pytest.fixture(scope="module")
def tables():
    return made_up.tables()


def changed(figure, **options):
    fields = (figure.id, figure.kind, figure.sources)
    return made_up.figure(*fields, **{**figure.options, **options})


def test_every_kind_has_a_made_up_figure():
    assert set(FIGURES) == set(DRAWINGS)


@pytest.mark.parametrize("kind", mostly_slow(FIGURES, "lines".__eq__))
def test_draws_and_saves_the_same_again(kind, tables):
    before = dict(mpl.rcParams)
    one, two = (save.Still(draw(FIGURES[kind], tables), "figure") for _ in range(2))
    assert isinstance(one.picture, Picture)
    assert one.png.startswith(b"\x89PNG")
    assert one.svg.lstrip().startswith("<?xml")
    assert one.svg == two.svg
    assert "dc:date" not in one.svg
    assert dict(mpl.rcParams) == before


def renamed(value, names, suffix):
    """Return the same value with renamed data: strings, options and keys."""
    if isinstance(value, dict):
        return {
            renamed(k, names, suffix): renamed(v, names, suffix)
            for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [renamed(one, names, suffix) for one in value]
    return value + suffix if isinstance(value, str) and value in names else value


@pytest.mark.parametrize("kind", mostly_slow(FIGURES, "lines".__eq__))
def test_names_of_data_are_text(kind, tables):
    figure, suffix = FIGURES[kind], "\x1b<b>&" + r"$\frac$"
    hostile, names = {}, set()
    for source in figure.sources:
        table = tables[source]
        texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
        names |= {value for name in texts for value in table[name].unique()}
        hostile[source] = table.with_columns(pl.col(texts) + suffix)
    columns = {name for source in figure.sources for name in tables[source].columns}
    options = renamed(figure.options, names - columns, suffix)
    fields = (figure.id, kind, figure.sources)
    still = save.Still(draw(made_up.figure(*fields, **options), hostile), "figure")
    root = ET.fromstring(still.svg)
    assert suffix.replace("\x1b", "\ufffd") in "".join(root.itertext())


@pytest.mark.parametrize("kind", FIGURES)
def test_no_rows(kind, tables):
    with pytest.raises(DataError, match="without rows"):
        draw(FIGURES[kind], {name: table.clear() for name, table in tables.items()})


def test_unknown_kind(tables):
    with pytest.raises(
        ConfigError, match=r"unknown drawing 'linez'; did you mean 'lines'"
    ):
        draw(made_up.figure("a", "linez", ("accuracy",)), tables)


def test_unknown_table(tables):
    with pytest.raises(
        DataError, match=r"unknown table 'accuracies'; did you mean 'accuracy'"
    ):
        draw(made_up.figure("a", "lines", ("accuracies",)), tables)


def test_unknown_column(tables):
    with pytest.raises(
        DataError, match=r"unknown column 'acuracy'; did you mean 'accuracy'"
    ):
        draw(changed(FIGURES["lines"], y="acuracy"), tables)


def test_unknown_reference_column(tables):
    with pytest.raises(
        DataError, match=r"unknown column 'chances'; did you mean 'chance'"
    ):
        draw(changed(FIGURES["lines"], reference={"column": "chances"}), tables)


def test_missing_seed(tables):
    without = {**tables, "accuracy": tables["accuracy"].drop("seed")}
    with pytest.raises(
        DataError, match=r"unknown column 'seed'.*identifies replicates"
    ):
        draw(FIGURES["lines"], without)


def test_unknown_option(tables):
    with pytest.raises(
        ConfigError, match=r"unknown option 'facets'; did you mean 'facet'"
    ):
        draw(changed(FIGURES["lines"], facets="identity"), tables)


def test_missing_option(tables):
    with pytest.raises(ConfigError, match="missing option"):
        draw(made_up.figure("a", "lines", ("accuracy",), x="C"), tables)


def test_wrong_number_of_sources(tables):
    with pytest.raises(
        ConfigError, match=r"takes 3 table\(s\) \(curves, matrices, states\)"
    ):
        draw(made_up.figure("a", "through_time", ("curves",)), tables)


def test_moment_that_was_not_measured(tables):
    with pytest.raises(DataError, match=r"nothing was measured at step 310; .* is 300"):
        draw(changed(FIGURES["through_time"], moments=[310]), tables)


def test_one_series_and_no_facet():
    table = made_up.accuracies(1, ("gpt",)).drop("identity", "chance")
    figure = made_up.figure("a", "lines", ("t",), x="C", y="accuracy", series="model")
    (axes,) = draw(figure, {"t": table}).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == list("123456")


def test_lines_show_the_mean(tables):
    picture = draw(changed(FIGURES["lines"], facet=None, reference=None), tables)
    drawn = [line for line in picture.axes[0].get_lines() if line.get_marker() == "o"]
    table = tables["accuracy"].filter(pl.col("model") == "emb-mlp")
    expected = table.group_by("C", "seed").agg(pl.col("accuracy").mean()).group_by("C")
    means = expected.agg(pl.col("accuracy").mean()).sort("C")["accuracy"].to_list()
    assert drawn[0].get_ydata() == pytest.approx(means)


def test_heatmap_boxes_and_order(tables):
    picture = draw(FIGURES["heatmaps"], tables)
    axes = picture.axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()][:3] == [
        "a0",
        "a1",
        "a2",
    ]
    assert len(axes.patches) == 12  # one per row


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("bridges", [1, 40])
def test_heatmaps_small_and_large(bridges, tables):
    picture = draw(FIGURES["heatmaps"], {"logits": made_up.logits(bridges)})
    assert bool(picture.axes[0].get_yticklabels()) == (bridges == 1)
    width, _ = picture.get_size_inches()
    assert width <= style.FULL_WIDTH


def test_sweep_marks_the_baseline(tables):
    axes = draw(FIGURES["sweeps"], tables).axes[0]
    bold = [
        t.get_text() for t in axes.get_xticklabels() if t.get_fontweight() == "bold"
    ]
    assert bold == ["4"]


@pytest.mark.slow
def test_numbers_of_all_sizes_share_an_axis(tables):
    few, *_ = draw(changed(FIGURES["sweeps"], y_linear=0.1), tables).axes
    assert few.get_yscale() == "symlog"
    assert draw(FIGURES["sweeps"], tables).axes[0].get_yscale() == "linear"


def test_true_and_false_can_be_labelled(tables):
    table = tables["accuracy"].with_columns(pl.col("identity") == "with")
    options = {
        "labels": {"true": "with it", "false": "without it"},
        "order": ["true", "false"],
    }
    picture = draw(changed(FIGURES["lines"], **options), {"accuracy": table})
    assert [axes.get_title(loc="left") for axes in picture.axes] == [
        "with it",
        "without it",
    ]


def test_looks_differ_in_more_than_colour():
    looks = [(mark.marker, str(mark.dash)) for mark in style.CYCLE]
    assert len(set(looks)) == len(looks)
    assert len({mark.marker for mark in style.CYCLE}) == len(style.CYCLE)
    assert style.tint("#0072b2", 0.0) > to_rgb("#0072b2") > style.tint("#0072b2", 1.0)


def test_users_add_their_own(tables, registries):
    @drawing("mine")
    def mine(table, *, width=2.0):
        return Picture(figsize=(width, 1.0))

    picture = draw(made_up.figure("a", "mine", ("logits",), width=4.0), tables)
    assert picture.get_figwidth() == 4.0
    with pytest.raises(ConfigError, match="already"):
        drawing("mine")(draw)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("kind", sorted(set(DRAWINGS) - {"atlas", "through_time"}))
def test_a_phone_gets_a_figure_of_its_own(kind, tables):
    """The figure fits the width of a phone; animations are not figures there."""
    picture = draw_for_phone(FIGURES[kind], tables)
    assert picture.get_figwidth() <= 1.1 * style.PHONE_WIDTH
    drawn = picture.get_tightbbox()
    assert drawn.x0 >= -0.02
    assert drawn.x1 <= picture.get_figwidth() + 0.02
    assert style.full_width() == style.FULL_WIDTH


def test_labels_on_a_phone_do_not_touch():
    """Tested for whole numbers on an axis, and for names of groups with few rows."""
    rows = [
        (seed, f"p{k}", x, 0.5)
        for seed in (0, 1)
        for k in range(2)
        for x in range(1, 13)
    ]
    table = pl.DataFrame(rows, schema=["seed", "panel", "x", "y"], orient="row")
    wide = made_up.figure("a", "lines", ("t",), x="x", y="y", facet="panel")
    cells = [
        (f"{group}{k}", group, c)
        for group, n in (("first", 1), ("second", 1), ("third", 20))
        for k in range(n)
        for c in range(20)
    ]
    matrix = pl.DataFrame(cells, schema=["row", "group", "column"], orient="row")
    low = made_up.figure(
        "b",
        "heatmaps",
        ("t",),
        row="row",
        column="column",
        value="v",
        row_group="group",
    )
    for figure, data in ((wide, table), (low, matrix.with_columns(v=1.0))):
        picture = draw_for_phone(figure, {"t": data})
        for axes in picture.axes:
            labels = [*axes.get_xticklabels(), *axes.texts]
            boxes = [
                t.get_window_extent()
                for t in labels
                if t.get_text() and t.get_visible()
            ]
            assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_values_of_a_sweep_are_named_on_a_logarithmic_axis():
    rows = [(seed, x, 0.5) for seed in (0, 1) for x in (50, 100, 200, 400)]
    table = pl.DataFrame(rows, schema=["seed", "x", "y"], orient="row")
    figure = made_up.figure("a", "lines", ("t",), x="x", y="y", x_log=True)
    (axes,) = draw(figure, {"t": table}).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == [
        "50",
        "100",
        "200",
        "400",
    ]


def test_a_logarithmic_axis_with_nothing_above_zero_is_drawn():
    table = pl.DataFrame({"seed": [0, 1], "x": [0, 0], "y": [0.5, 0.6]})
    draw(made_up.figure("a", "lines", ("t",), x="x", y="y", x_log=True), {"t": table})


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    "values", [range(2, 900, 9), [10**-k * 3 for k in range(7)], [8, 9, 800]]
)
@pytest.mark.parametrize("columns", mostly_slow([1, 4], (1).__eq__))
def test_labels_of_a_logarithmic_axis_do_not_touch(values, columns):
    """Both with and without space for all digits of a decade."""
    rows = [
        (seed, f"p{k}", x, 0.5)
        for seed in (0, 1)
        for k in range(columns)
        for x in values
    ]
    table = pl.DataFrame(
        rows, schema=["seed", "panel", "x", "y"], orient="row", strict=False
    )
    figure = made_up.figure(
        "a", "lines", ("t",), x="x", y="y", x_log=True, facet="panel", columns=columns
    )
    for picture in (draw(figure, {"t": table}), draw_for_phone(figure, {"t": table})):
        picture.draw_without_rendering()
        for axes in picture.axes:
            boxes = [
                t.get_window_extent() for t in axes.get_xticklabels() if t.get_text()
            ]
            inside = axes.get_window_extent().padded(1)
            boxes = [
                box for box in boxes if inside.x0 <= (box.x0 + box.x1) / 2 <= inside.x1
            ]
            assert boxes
            assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_a_drawing_of_ones_own_is_narrowed_if_it_can_be(tables, registries):
    @drawing("mine")
    def mine(table, *, columns):
        picture = Picture(figsize=(7, 2))
        picture.subplots(1, columns)
        return picture

    one, two = (made_up.figure("a", "mine", ("logits",), columns=n) for n in (1, 2))
    assert draw_for_phone(one, tables).get_figwidth() == style.PHONE_WIDTH
    assert draw_for_phone(two, tables) is None


def test_write_figures(tmp_path, tables):
    figure = FIGURES["sweeps"]
    write_figures([figure], tables, tmp_path / "figures")
    paths = sorted((tmp_path / "figures").iterdir())
    assert [path.name for path in paths] == ["sweep.png", "sweep.svg"]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_imports_no_torch():
    folder = Path(heatmaps.__file__).parent
    imports = re.compile(
        r"^\s*(?:import|from) (?:torch|matplotlib\.pyplot)\b", re.MULTILINE
    )
    assert [
        path.name for path in folder.glob("*.py") if imports.search(path.read_text())
    ] == []


def test_importing_stays_light():
    code = "import sys; from inweights.report import interactive; "
    code += "from inweights.report.pages import page; "
    code += "assert page; assert not {'matplotlib.pyplot', 'plotly'} & set(sys.modules)"
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
