"""The page in a real browser, opened from the disk."""

from __future__ import annotations

import pytest
from tests.report import made_up_run

from inweights.report.pages.page import build_page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HEAT = "document.querySelector('.player-plot').data.find(t => t.type === 'heatmap').z[0][0]"
CURSOR = "document.querySelector('.player-plot').layout.shapes[0].x0"
STATES = "document.querySelector('.player-plot').data.find(t => t.xaxis === 'x3').x[3]"
NARROW = "document.documentElement.scrollWidth <= window.innerWidth"
PAPER = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(build_page(made_up_run.content()), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def open_page(visit, address):
    return lambda **settings: visit(address, ".player.ready", **settings)


def test_says_the_verdict(open_page):
    page = open_page()
    assert (
        page.locator("h2.verdict").inner_text()
        == "2 of 5 claims reproduced, 1 undecided"
    )
    assert page.locator(".claim").count() == 5
    assert page.locator(".card > svg:visible").count() == 5


def test_slider_moves_everything_together(open_page):
    page = open_page()
    before = [page.evaluate(value) for value in (CURSOR, HEAT, STATES)]
    page.locator(".player input").fill("2")
    after = [page.evaluate(value) for value in (CURSOR, HEAT, STATES)]
    assert (before[0], after[0]) == (1100, 200)
    assert before[1] > after[1] + 1
    assert before[2] != after[2]
    assert page.locator(".player output").inner_text() == "step 200"
    assert "recall" in page.locator(".player-read").inner_text()


def test_keyboard_moves_the_slider(open_page):
    page = open_page()
    page.locator(".player input").focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(CURSOR) == 1000


def test_plays_and_pauses(open_page, held):
    page = open_page()
    button = page.locator(".player-play")
    with held(page) as clock:
        button.click()
        assert button.inner_text() == "Pause"
        clock.run_for(1000)
        button.click()
        assert button.inner_text() == "Play"
        reached = page.evaluate(CURSOR)
        assert 100 <= reached < 1100
        clock.run_for(1000)
        assert page.evaluate(CURSOR) == reached


def test_dark(open_page):
    light, dark = open_page(color_scheme="light"), open_page(color_scheme="dark")
    assert light.evaluate(PAPER) != dark.evaluate(PAPER)
    dark.locator(".player input").fill("0")
    assert dark.evaluate(CURSOR) == 0
    card = "getComputedStyle(document.querySelector('.card')).backgroundColor"
    assert [page.evaluate(card) for page in (light, dark)] == [
        "rgb(255, 255, 255)",
        "rgb(23, 23, 23)",
    ]
    drawn = "getComputedStyle(document.querySelector('.card > .wide')).filter"
    assert light.evaluate(drawn) == "none"
    assert dark.evaluate(drawn).startswith("invert(")


def test_table_can_be_downloaded(open_page):
    page = open_page()
    page.locator("#numbers summary").first.click()
    with page.expect_download() as download:
        page.locator("#numbers a[download]").first.click()
    assert download.value.suggested_filename == "accuracy.csv"
