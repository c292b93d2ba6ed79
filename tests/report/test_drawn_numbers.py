"""Figures show the numbers of the tables: with all seeds, one seed, or missing values.

The artists of every kind of figure are compared with means computed here by loops.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.parameters import mostly_slow
from tests.report import made_up

from inweights.report.base import save, tidy
from inweights.report.figures.draw import draw

FIGURES = {figure.kind: figure for figure in made_up.figures()}
TABLES = made_up.tables()
EMPTY: list[float] = []


def whole(table: pl.DataFrame) -> pl.DataFrame:
    return table


def one_seed(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(seed=0) if "seed" in table.columns else table


def two_seeds(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("seed") < 2)


def holes(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table in which every third row is NaN, infinite or null, differing by column."""
    filled = table.with_row_index("_row")
    for shift, name in enumerate(
        n for n, kind in table.schema.items() if kind.is_float()
    ):
        place = (pl.col("_row") + shift) % 9
        hole = (
            pl.when(place == 6).then(float("nan")).when(place == 3).then(float("inf"))
        )
        filled = filled.with_columns(
            pl.when(place % 3 == 0).then(hole).otherwise(pl.col(name)).alias(name)
        )
    return filled.drop("_row")


def nothing(table: pl.DataFrame) -> pl.DataFrame:
    names = [name for name, kind in table.schema.items() if kind.is_float()]
    return table.with_columns(pl.lit(None, pl.Float64).alias(name) for name in names)


STATES = mostly_slow([whole, one_seed, holes, nothing], lambda change: change is holes)


def picture(kind: str, change: Any) -> tuple[Any, dict[str, pl.DataFrame]]:
    tables = {name: change(TABLES[name]) for name in FIGURES[kind].sources}
    made = draw(FIGURES[kind], tables)
    if change in (holes, nothing):
        assert save.png(made).startswith(b"\x89PNG")
    return made, tables


def means(table: pl.DataFrame, keys: list[str], value: str) -> dict[Any, list[float]]:
    """Return means of finite values by key; each seed has one row per key here."""
    found: dict[Any, list[float]] = defaultdict(list)
    for row in table.iter_rows(named=True):
        number = row[value]
        found[tuple(row[k] for k in keys)] += (
            [number] if number is not None and math.isfinite(number) else []
        )
    return found


def mean(sample: list[float]) -> float:
    return sum(sample) / len(sample) if sample else math.nan


def same(drawn: Any, expected: Any) -> None:
    np.testing.assert_allclose(
        np.ma.filled(np.ma.asarray(drawn, dtype=float), np.nan), expected, atol=1e-9
    )


@pytest.mark.parametrize("change", [*STATES, two_seeds])
def test_lines(change: Any) -> None:
    made, tables = picture("lines", change)
    expected = means(tables["accuracy"], ["identity", "model", "C"], "accuracy")
    complexities = range(1, 7)
    for axes, identity in zip(made.axes, ("with", "without"), strict=True):
        lines = [x for x in axes.get_lines() if x.get_linestyle() != "None"]
        dots = [x for x in axes.get_lines() if x.get_marker() == "."]
        bands = axes.collections
        *curves, reference = sorted(lines, key=lambda x: x.get_zorder() == 1)
        assert len(curves) == len(dots) == len(bands) == len(made_up.MODELS)
        chance = means(tables["accuracy"], ["C"], "chance")
        there = [mean(chance[(c,)]) for c in complexities if chance[(c,)]]
        same(reference.get_ydata(), there)
        for model, curve, points, band in zip(
            made_up.MODELS, curves, dots, bands, strict=True
        ):
            samples = [expected[identity, model, c] for c in complexities]
            same(curve.get_ydata(), [mean(s) for s in samples])
            same(np.sort(points.get_ydata()), sorted(sum(samples, EMPTY)))
            corners = np.concatenate(
                [p.vertices for p in band.get_paths()] or [np.empty((0, 2))]
            )
            wide = {
                round(float(x)): np.ptp(corners[np.isclose(corners[:, 0], x), 1])
                for x in corners[:, 0]
            }
            # An interval of fewer than five seeds is not informative and is not drawn.
            for c, sample in zip(complexities, samples, strict=True):
                if len(sample) < tidy.FEWEST:
                    assert wide.get(c, 0) == pytest.approx(0, abs=1e-12)
                elif np.ptp(sample) > 0:
                    assert wide[c] > 0


@pytest.mark.parametrize("change", [whole, one_seed, two_seeds])
def test_auto(change: Any) -> None:
    made, tables = picture("auto", change)
    expected = means(tables["varied"], ["role", "C"], "hit")
    (axes,) = [axes for axes in made.axes if axes.get_visible()]
    curves = [x for x in axes.get_lines() if x.get_linestyle() != "None"]
    assert len(curves) == 2
    for role, curve in zip(made_up.MODELS[:2], curves, strict=True):
        same(curve.get_ydata(), [mean(expected[role, c]) for c in range(1, 7)])


@pytest.mark.parametrize("change", [*STATES, two_seeds])
def test_sweeps(change: Any) -> None:
    made, tables = picture("sweeps", change)
    expected = means(tables["sweep"], ["axis", "identity", "at"], "accuracy")
    shown = [axes for axes in made.axes if axes.get_visible()]
    settings = TABLES["sweep"]["axis"].unique(maintain_order=True).to_list()
    assert len(shown) == len(settings)
    for axes, setting in zip(shown, settings, strict=True):
        values = TABLES["sweep"].filter(axis=setting)["at"].unique(maintain_order=True)
        for identity, bars in zip(("with", "without"), axes.containers, strict=True):
            samples = [expected[setting, identity, at] for at in values]
            marks, _, (ends,) = bars.lines
            same(marks.get_ydata(), [mean(s) for s in samples])
            lengths = [
                float(np.ptp(x[:, 1])) if len(x) else 0.0 for x in ends.get_segments()
            ]
            for length, sample in zip(lengths, samples, strict=True):
                assert (length > 0) == (len(sample) >= tidy.FEWEST)


def matrix(table: pl.DataFrame, row: str, column: str, value: str) -> list[list[float]]:
    cells = means(table, [row, column], value)
    rows, columns = (table[name].unique(maintain_order=True) for name in (row, column))
    return [[mean(cells[r, c]) for c in columns] for r in rows]


@pytest.mark.parametrize("change", STATES)
def test_heatmaps(change: Any) -> None:
    made, tables = picture("heatmaps", change)
    *panels, _ = made.axes  # and the colour bar
    names = tables["logits"]["panel"].unique(maintain_order=True)
    for axes, name in zip(panels, names, strict=True):
        rows = tables["logits"].filter(panel=name)
        (image,) = axes.images
        same(image.get_array(), matrix(rows, "in", "out", "logit"))
        assert len(axes.patches) == 12  # boxes are not numbers
    finite = sum(means(tables["logits"], [], "logit").values(), EMPTY)
    limit = max(map(abs, finite), default=1.0)
    assert panels[0].images[0].get_clim() == pytest.approx((-limit, limit))


def points(table: pl.DataFrame) -> list[tuple[float, float]]:
    return sorted(
        (x, y)
        for x, y in table.select("x", "y").iter_rows()
        if None not in (x, y) and math.isfinite(x) and math.isfinite(y)
    )


def scattered(axes: Any) -> list[tuple[float, float]]:
    return sorted(
        tuple(at) for cloud in axes.collections for at in cloud.get_offsets().tolist()
    )


@pytest.mark.parametrize("change", STATES)
def test_states(change: Any) -> None:
    made, tables = picture("states", change)
    table = tables["projections"]
    names = table["panel"].unique(maintain_order=True)
    for axes, name in zip(made.axes, names, strict=True):
        rows = table.filter(panel=name)
        assert scattered(axes) == points(rows)
        assert axes.get_xlabel() == rows["note"][0]
        joined = [
            tuple(at) for line in axes.get_lines() for at in line.get_xydata().tolist()
        ]
        assert sorted(joined) == points(rows)


@pytest.mark.parametrize("change", STATES)
def test_through_time(change: Any) -> None:
    made, tables = picture("through_time", change)
    curves, *others = made.axes
    expected = means(tables["curves"], ["series", "step"], "value")
    steps = sorted(set(tables["curves"]["step"]))
    names = ("recall", "alignment", "accuracy")
    lines = curves.get_lines()
    for name, line in zip(names, lines, strict=False):
        same(line.get_ydata(), [mean(expected[name, step]) for step in steps])
    ends = [0, 1100]
    assert [line.get_xdata()[0] for line in lines[len(names) :]] == ends
    images = [axes.images[0].get_array() for axes in others if axes.images]
    clouds = [scattered(axes) for axes in others[2:4]]
    for image, cloud, step in zip(images, clouds, ends, strict=True):
        same(image, matrix(tables["cells"].filter(step=step), "row", "column", "value"))
        assert cloud == points(tables["dots"].filter(step=step))


@pytest.mark.parametrize("change", STATES)
def test_atlas(change: Any) -> None:
    """The last frame of every film is drawn; a correlation that is NaN is not written."""
    made, tables = picture("atlas", change)
    places = iter(made.axes)
    for graph in made_up.GRAPHS:
        for name in ("map", "list"):
            last = (
                tables["films"].filter(graph=graph, architecture=name)[-1].to_dicts()[0]
            )
            axes = next(places)
            x, y, z = next(
                c for c in axes.collections if hasattr(c, "_offsets3d")
            )._offsets3d
            same(np.stack([x, y, z], axis=1).ravel(), last["positions"])
            rho = last["spearman"]
            told = [text.get_text() for text in axes.texts]
            there = rho is not None and math.isfinite(rho)
            assert told == ([f"ρ = {rho:.2f}".replace("-", "−")] if there else [])


def test_every_kind_is_read_back() -> None:
    assert {f"test_{kind}" for kind in FIGURES} <= set(globals())


def test_rows_without_a_control_belong_to_the_conditions() -> None:
    table = pl.DataFrame({"control": ["none", None, "shuffled"], "y": [1, 2, 3]})
    own, controls = tidy.controls_apart(table)
    assert own["y"].to_list() == [1, 2]
    assert {name: rows["y"].to_list() for name, rows in controls.items()} == {
        "shuffled": [3]
    }
