"""The atlas in a real browser, opened from the disk, as a separate page and in a run's."""

from __future__ import annotations

import pytest
from tests.report import made_up_run
from tests.report.test_atlas import WORLDS, own_films
from tests.report.test_browser import NARROW, PAPER

from inweights.report.living import atlas
from inweights.report.pages.page import build_page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PIXELS = "document.querySelector('.atlas-%s canvas').toDataURL()"
STAGE, HEAT = PIXELS % "stage", PIXELS % "heat"
CURSOR = "document.querySelector('.atlas-curves .cursor').getAttribute('x1')"
ENERGY = "document.querySelector('.atlas-energy').innerHTML"
THUMBNAILS = (
    "[...document.querySelectorAll('.atlas-options canvas')].map(c => c.toDataURL())"
)
#: Milliseconds per frame of a film.
A_FRAME = 1000 / 6
#: Positions of the pointer: a grid over the middle of the picture, to hit a node.
A_NODE = """() => {
  const canvas = document.querySelector('.atlas-stage canvas');
  const box = canvas.getBoundingClientRect();
  for (let y = box.top + 120; y < Math.min(box.bottom, innerHeight); y += 9) {
    for (let x = box.left + 60; x < box.right - 60; x += 9) {
      const at = { clientX: x, clientY: y, bubbles: true };
      canvas.dispatchEvent(new PointerEvent('pointermove', at));
      if (!document.querySelector('.atlas-tip').hidden) {
        canvas.dispatchEvent(new PointerEvent('pointerleave', at));
        return [x, y];
      }
    }
  }
}"""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    folder = tmp_path_factory.mktemp("atlas")
    texts = {
        "own": atlas.page(own_films(), WORLDS),
        "run": build_page(made_up_run.content()),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in texts}


@pytest.fixture
def open_page(visit, addresses):
    def opener(which="own", **settings):
        # With reduced motion, the picture shows its step at once and is always the same.
        settings = {"reduced_motion": "reduce", **settings}
        return visit(addresses[which], ".atlas.ready", **settings)

    return opener


def settled(page):
    """Wait until the requested picture is drawn."""
    page.evaluate(
        "() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
    )


def seen(page, *values):
    settled(page)
    return [page.evaluate(value) for value in values]


def step(page):
    return int(page.locator(".atlas").get_attribute("data-step"))


#: Counts drawing operations on canvases, in total and until the page reports its first
#: picture.
COUNTS = """
window.drawn = 0;
for (const name of ["fill", "stroke", "fillRect", "drawImage", "putImageData", "fillText"]) {
  const draw = CanvasRenderingContext2D.prototype[name];
  CanvasRenderingContext2D.prototype[name] = function (...given) {
    window.drawn += 1;
    return draw.apply(this, given);
  };
}
const mark = performance.mark.bind(performance);
performance.mark = (name, ...more) => {
  if (name === "atlas-ready") { window.drawnAtFirst = window.drawn; }
  return mark(name, ...more);
};
"""


@pytest.mark.parametrize("which", ["own", "run"])
def test_first_picture_waits_for_no_other(open_page, which):
    """The first picture needs no more drawing than one further step."""
    page = open_page(which, script=COUNTS)
    first = page.evaluate("drawnAtFirst")
    blank = page.evaluate(
        "() => { const c = document.querySelector('.atlas-stage canvas');"
        "const b = document.createElement('canvas'); b.width = c.width; b.height = c.height;"
        "return b.toDataURL(); }"
    )
    assert page.evaluate(STAGE) != blank
    assert (step(page), page.locator(".atlas-step").inner_text()) == (40, "step 40")
    settled(page)
    before = page.evaluate("drawn")
    page.locator(".atlas-slider").first.fill("1")
    settled(page)
    assert 0 < first <= page.evaluate("drawn") - before


def test_slider_moves_everything_together(open_page):
    page = open_page()
    watched = (STAGE, HEAT, CURSOR, ENERGY)
    before, thumbnails = seen(page, *watched), page.evaluate(THUMBNAILS)
    page.locator(".atlas-slider").fill("1")
    after = seen(page, *watched)
    assert [a != b for a, b in zip(before, after, strict=True)] == [True] * 4
    # The film 'list' is constant, and so is its small picture.
    changed = [
        a != b for a, b in zip(thumbnails, page.evaluate(THUMBNAILS), strict=True)
    ]
    assert changed == [False, True]
    assert (step(page), page.locator(".atlas-recall").inner_text()) == (10, "0.25")
    assert page.locator(".atlas-rho").inner_text() == "−0.20"
    page.locator(".atlas-slider").fill("4")
    assert seen(page, *watched) == before


def test_choices_change_the_figure(open_page):
    page = open_page()
    root, before = page.locator(".atlas"), seen(page, STAGE, HEAT)
    assert root.get_attribute("data-architecture") == "map"
    page.locator(".atlas-architectures label").first.click()
    second = seen(page, STAGE)
    assert root.get_attribute("data-architecture") == "list"
    assert second[0] != before[0]
    page.locator(".atlas-graphs label").nth(1).click()
    assert root.get_attribute("data-graph") == "grid"
    assert seen(page, STAGE)[0] not in (before[0], second[0])
    assert page.locator(".atlas-energy .space").count() == 5
    page.locator(".atlas-graphs label").first.click()
    page.locator(".atlas-architectures label").nth(1).click()
    assert page.locator(".atlas-energy .space").count() == 3
    assert seen(page, STAGE, HEAT) == before


def test_keyboard_is_enough(open_page, held):
    page = open_page()
    page.locator(".atlas-graphs input").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".atlas").get_attribute("data-graph") == "grid"
    page.locator(".atlas-slider").focus()
    page.keyboard.press("ArrowLeft")
    settled(page)
    assert step(page) == 30
    page.locator(".atlas-stage canvas").focus()
    still = seen(page, STAGE)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    assert seen(page, STAGE) != still
    page.keyboard.press("0")
    assert seen(page, STAGE) == still
    with held(page):
        page.keyboard.press(" ")
        assert page.locator(".atlas-play").inner_text() == "Pause"
    page.wait_for_selector('.atlas[data-step="40"]')
    page.locator(".atlas-play", has_text="Play").wait_for()


def test_camera_is_kept_while_playing(open_page, held):
    page = open_page(reduced_motion="no-preference")
    box = page.locator(".atlas-stage canvas").bounding_box()
    straight = seen(page, STAGE)
    page.mouse.move(box["x"] + 20, box["y"] + 150)
    page.mouse.down()
    page.mouse.move(box["x"] + 140, box["y"] + 190, steps=3)
    page.mouse.up()
    page.mouse.move(0, 0)
    turned = seen(page, STAGE)
    assert turned != straight
    button = page.locator(".atlas-play")
    with held(page) as clock:
        button.click()
        assert button.inner_text() == "Pause"
        for reached in (10, 20, 30):
            clock.run_for(A_FRAME)
            assert step(page) == reached
    page.wait_for_selector('.atlas[data-step="40"]')
    page.locator(".atlas-play", has_text="Play").wait_for()
    assert seen(page, STAGE) == turned


def test_pointer_says_what_it_is_over(open_page):
    page = open_page()
    tip = page.locator(".atlas-tip")
    assert tip.is_hidden()
    heat = page.locator(".atlas-heat canvas").bounding_box()
    page.mouse.move(heat["x"] + 0.97 * heat["width"], heat["y"] + 20)
    assert "cosine" in tip.inner_text()
    assert "hop" in tip.inner_text()
    page.mouse.move(0, 0)
    before, (x, y) = seen(page, STAGE), page.evaluate(A_NODE)
    page.mouse.move(x, y)
    assert "closest here" in tip.inner_text()
    assert seen(page, STAGE) != before
    page.mouse.down()
    page.mouse.up()
    settled(page)
    chosen = page.locator(".atlas-colors label:has(:checked)").inner_text()
    assert chosen.startswith("hops from v")
    page.mouse.move(0, 0)
    assert tip.is_hidden()


def test_curve_seeks(open_page):
    page = open_page()
    page.locator(".atlas-curves svg").click(position={"x": 38, "y": 40})
    settled(page)
    assert step(page) == 0


def test_dark(open_page):
    light, dark = open_page(color_scheme="light"), open_page(color_scheme="dark")
    assert light.evaluate(PAPER) != dark.evaluate(PAPER)
    assert all(
        a != b
        for a, b in zip(seen(light, STAGE, HEAT), seen(dark, STAGE, HEAT), strict=True)
    )


def test_lives_in_the_page_of_a_run(open_page):
    page = open_page("run")
    page.locator(".atlas-slider").fill("2")
    settled(page)
    assert step(page) == 20
    assert page.locator(".player.ready").count() == 1
    assert page.evaluate(NARROW)
