"""Texts that a spreadsheet would execute, and names that change the text direction."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import matplotlib.pyplot as plt
import polars as pl
import pytest
from tests.runs.tiny import RECIPE

from inweights.experiments.engine.engine import execute
from inweights.report.base.frames import csv_text
from inweights.report.base.html import escape, script_json
from inweights.report.base.html_tables import preview
from inweights.report.base.save import svg
from inweights.report.pages.export import write_export
from inweights.runs import RunStore

FORMULAS = [
    '=HYPERLINK("http://x")',
    "+1+1",
    "@SUM(1)",
    "-1-1",
    "\t=1",
    "\r=1",
    "-",
    "- note",
    "=1",
]
NUMBERS = ["-1.5", "+2", "-.5e-3", "+1.", "-7E+2"]
TEXTS = ["Ann", "1+1", "a=b", "", " =1", "'=1", "−1"]


def read(text: str) -> dict[str, list[str]]:
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize(
    "kind", [pl.String, pl.Categorical, pl.Enum(FORMULAS + NUMBERS + TEXTS)]
)
def test_formulas_are_quoted_and_nothing_else_is(kind) -> None:
    texts = FORMULAS + NUMBERS + TEXTS
    table = pl.DataFrame({"@x": pl.Series(texts, dtype=kind), "y": [-1.5] * len(texts)})
    found = read(csv_text(table))
    assert list(found) == ["'@x", "y"]
    assert found["'@x"] == [f"'{text}" for text in FORMULAS] + NUMBERS + TEXTS
    assert set(found["y"]) == {"-1.5"}
    assert read(csv_text(table, raw=True))["@x"] == texts


def test_what_holds_no_formula_is_written_as_ever() -> None:
    for table in (
        pl.DataFrame({"a b": [1.5, None], 'q"': ["x,y", 'z"'], "n": [None, None]}),
        pl.DataFrame({"a": []}, schema={"a": pl.String}),
        pl.DataFrame(),
    ):
        assert csv_text(table) == table.write_csv()


@pytest.mark.parametrize("raw", [False, True])
def test_an_export(tmp_path, raw) -> None:
    outcome = execute(RECIPE, "smoke", store=RunStore(tmp_path / "runs"))
    outcome = replace(outcome, tables={"names": pl.DataFrame({"name": FORMULAS})})
    write_export(outcome, tmp_path / "out", csv=True, raw=raw)
    names = read((tmp_path / "out" / "names.csv").read_bytes().decode())["name"]
    assert names == [text if raw else f"'{text}" for text in FORMULAS]


CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_names_do_not_turn_a_page_around() -> None:
    figure, axes = plt.subplots()
    axes.set_title(f"a{CONTROLS}b")
    with plt.rc_context({"svg.fonttype": "none"}):
        drawn = svg(figure)
    plt.close(figure)
    table = pl.DataFrame({f"c{CONTROLS}": [f"a{CONTROLS}b"]})
    for text in (
        escape(CONTROLS),
        script_json({CONTROLS: CONTROLS}),
        preview("t", table),
        drawn,
    ):
        assert not set(text) & set(CONTROLS)
    assert escape("gpj\u202eexe") == "gpj[U+202E]exe"
    assert "[U+2066]" in drawn
    assert escape("שלום, سلام") == "שלום, سلام"
