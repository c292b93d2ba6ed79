"""The page as text: content, escaping, and reproducibility."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import polars as pl
import pytest
from tests.report import made_up, made_up_run

from inweights.errors import DataError
from inweights.experiments import Figure
from inweights.report.base.document import document
from inweights.report.base.html import script_json, tree, write_page
from inweights.report.base.html_tables import preview
from inweights.report.base.save import Still
from inweights.report.figures.draw import draw
from inweights.report.pages.claims import claims_section, headline, interval_bar
from inweights.report.pages.page import build_page
from inweights.report.pages.sections import interactive

HOSTILE = '<script>alert("x")</script>&\'`'


@pytest.fixture(scope="module")
def page():
    return build_page(made_up_run.content())


@pytest.mark.slow
def test_says_each_verdict(page):
    assert "2 of 5 claims reproduced, 1 undecided" in page
    for verdict in ("reproduced", "not reproduced", "undecided", "not judged"):
        assert f"<span>{verdict}</span>" in page
    assert page.index("claims reproduced") < page.index('id="figures"')


def test_holds_everything(page):
    run = made_up_run.content().outcome
    assert "inweights run identity-bridge/fig2 --scale cpu" in page
    for figure in run.figures:
        assert figure.title in page
        assert f'id="figure-{figure.id}"' in page
    for name in run.tables:
        assert f">{name}</code>" in page
    assert "our choice" in page
    assert 'id="cite"' not in page
    cited = build_page(
        made_up_run.content(figures=(), cite=["@misc{a,\n  title = {<b>}}"])
    )
    assert 'data-copy="@misc{a,\n  title = {&lt;b&gt;}}"' in cited
    assert "model = gpt-small, C = 6" in page


@pytest.mark.slow
def test_is_the_same_twice():
    _, still, *_, moving = made_up.figures()
    content = made_up_run.content(figures=[still, moving])
    assert build_page(content) == build_page(content)


def test_is_small_enough(page):
    assert len(page.encode()) < 15e6


def test_loads_nothing(page):
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?!#|data:)([^"]*)"', own)
    assert "url(http" not in own


def test_ids_are_unique(page):
    own = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    ids = re.findall(r'\sid="([^"]*)"', own)
    assert len(ids) == len(set(ids))


def test_plotly_only_where_something_moves():
    still = made_up_run.content(figures=made_up.figures()[:2])
    assert "plotly" not in build_page(still).lower()


@pytest.mark.slow
def test_without_plotly_figures_stand_still(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setattr(
        "inweights.report.pages.sections.installed", lambda extra: False
    )
    page = build_page(made_up_run.content(figures=made_up.figures()[-1:]))
    assert 'class="player"' not in page
    assert "pip install &#x27;inweights[interactive]&#x27;" in page
    assert len(page) < 3e6


def test_an_atlas_needs_no_plotly():
    atlas = [figure for figure in made_up.figures() if figure.kind == "atlas"]
    page = build_page(made_up_run.content(figures=atlas))
    assert atlas
    assert 'class="atlas' in page
    assert "plotly" not in page.lower()
    assert len(page.encode()) < 1e6


def test_long_lists_are_counted_not_shown():
    table = pl.DataFrame({"seed": [0], "short": [[1.0, 2.0]], "long": [[0.5] * 300]})
    page = build_page(made_up_run.content(figures=[], tables={"films": table}))
    assert "300 values" in page
    assert "0.5, 0.5" not in page.partition("data:text/csv")[0]


def test_claims_that_none_judged_are_folded():
    claims = [
        made_up_run.claim("a", "not judged"),
        made_up_run.claim("b", "not judged"),
    ]
    folded = build_page(made_up_run.content(claims=claims, figures=()))
    assert folded.count('<details class="unjudged">') == 1
    assert "2 claims, none judged" in folded
    judged = [*claims, made_up_run.claim("c", "reproduced")]
    open_page = build_page(made_up_run.content(claims=judged, figures=()))
    assert '<details class="unjudged">' not in open_page


def test_escapes_everything():
    text = HOSTILE
    table = pl.DataFrame({text: [text], "seed": [0], "x": [1], "y": [0.5]})
    figure = made_up.figure(
        "f", "lines", ("t",), text, text, x="x", y="y", series=text, x_label=text
    )
    page = build_page(
        made_up_run.content(
            **dict.fromkeys(("title", "paper", "place", "summary", "name"), text),
            command=(text,),
            claims=[
                made_up_run.claim(
                    "a", "reproduced", text=text, case=text, why=text, place=text
                )
            ],
            figures=[figure],
            tables={"t": table, text: table},
            settings={text: {text: text}},
            environment={text: [text]},
            ours=[text],
        )
    )
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;") > 15


def played(
    figure: Figure, tables: dict[str, pl.DataFrame]
) -> tuple[str, dict[str, Any]]:
    """Return the fragment of an animated figure, and its data."""
    fragment = interactive(figure, tables)
    assert fragment
    data = re.search(
        r'<script type="application/json">(.*?)</script>', fragment, re.DOTALL
    )
    assert data
    return fragment, json.loads(data[1])


def test_escapes_in_the_player():
    curves, cells, dots = made_up.history(2, 2)
    curves = curves.with_columns(series=pl.lit(HOSTILE))
    cells = cells.with_columns(row=pl.col("row") + HOSTILE, group=pl.lit(HOSTILE))
    dots = dots.with_columns(kind=pl.lit(HOSTILE))
    figure = made_up.figures()[-1]
    tables = {"curves": curves, "cells": cells, "dots": dots}
    fragment, content = played(figure, tables)
    assert "<script>alert" not in fragment
    assert all(
        "<script>" not in str(trace.get("name", "")) for trace in content["traces"]
    )


def test_only_what_moves_has_a_twin():
    tables = made_up.tables()
    twins = [interactive(figure, tables) is not None for figure in made_up.figures()]
    assert twins == [False, False, False, False, False, True, True]


@pytest.mark.parametrize("log", [False, True])
def test_player_has_a_frame_for_every_step(log):
    figure = made_up.figures()[-1]
    figure.options.update(step_log=log, moments=[0, 300])
    fragment, content = played(figure, made_up.tables())
    frames = content["frames"]
    assert [frame["step"] for frame in frames] == [100 * k for k in range(12)]
    assert frames[0]["cursor"] == (25 if log else 0)
    assert 'value="3"' in fragment  # begins at step 300


def test_nothing_to_show():
    empty = made_up_run.content(
        claims=(),
        figures=(),
        tables={},
        ours=(),
        settings={},
        environment={},
        seeds=(0,),
    )
    page = build_page(empty)
    assert "erdict" not in page.partition("<main")[2], "nothing is claimed"
    assert "1 seed<" in page


def test_headline_of_one():
    assert headline([made_up_run.claim("a", "reproduced")]) == "1 of 1 claim reproduced"


def test_headline_before_any_verdict():
    assert (
        headline([made_up_run.claim("a", "not judged")] * 3) == "3 claims, none judged"
    )


def test_checks_are_counted_apart():
    claims = [
        made_up_run.claim("a", "reproduced"),
        made_up_run.claim("b", "reproduced", check=True),
    ]
    section = claims_section(claims)
    for text in ("1 of 1 claim reproduced", "1 reproduced<", "1 of 1 check holds"):
        assert text in section


@pytest.mark.parametrize("measured", [0.5, -3.0, 250.0, 0.0])
def test_bar_stays_within_its_box(measured):
    claim = made_up_run.claim(
        "a", "reproduced", measured=measured, low=measured - 1, high=measured + 1
    )
    places = re.findall(r'\b(?:x|x1|x2|cx)="([^"]*)"', interval_bar(claim))
    assert places
    assert all(0 <= float(place) <= 230 for place in places)


def test_no_bar_without_a_number():
    assert (
        interval_bar(
            made_up_run.claim("a", "not judged", measured=None, low=None, high=None)
        )
        == ""
    )


def test_preview_is_short_and_whole_table_is_there():
    table = pl.DataFrame(
        {"n": list(range(60)), "x": [float("nan")] * 60, "l": [[1, 2]] * 60}
    )
    markup = preview("t", table)
    assert markup.count("<tr>") == 51
    assert "60 rows, the first 50 shown" in markup
    assert 'download="t.csv"' in markup


def test_large_tables_are_not_put_in_twice():
    markup = preview("t", pl.DataFrame({"n": range(100_000)}))
    assert "download" not in markup


def test_only_pages_of_the_library_are_replaced(tmp_path):
    own = document("A page", "<p>text</p>", styles=["page.css"])
    file = tmp_path / "page.html"
    for text in (own, own.replace("text", "another")):
        write_page(text, file)
        assert file.read_text() == text
    # Most other HTML pages begin like ours.
    file.write_text("<!doctype html><title>My notes on inweights</title>")
    with pytest.raises(DataError, match="refusing to overwrite"):
        write_page(own, file)


def test_tree_marks_what_is_ours():
    markup = tree({"model": {"width": 64, "depth": 2}}, ours=["model.width"])
    assert markup.count("our choice") == 1


def test_json_cannot_end_its_script():
    assert "<" not in script_json({"a": "</script><!--"})


def test_inline_figures_do_not_share_ids():
    picture = draw(made_up.figures()[0], made_up.tables())
    markup = Still(picture, "one").inline("label")
    assert all(
        found.startswith("one-") for found in re.findall(r'\bid="([^"]*)"', markup)
    )
    used = set(re.findall(r'(?:href="#|url\(#)([^")]*)', markup))
    assert used <= set(re.findall(r'\bid="([^"]*)"', markup))
