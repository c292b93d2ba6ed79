"""Open pages from the disk in a real browser, without errors or network requests."""

from __future__ import annotations

import contextlib
import shutil

import pytest

_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

#: Windows in which each page is checked: width in pixels, and colour scheme.
WINDOWS = [(1280, "light"), (1280, "dark"), (390, "dark"), (390, "light")]
#: Width of the page, and its smallest text on the screen in pixels, except mathematics.
_SEEN = """() => {
  const seen = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let least = [Infinity, ''];
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent.trim(), of = walk.currentNode.parentElement;
    if (!text || seen.has(of)) { continue; }
    seen.add(of);
    const unread = of.closest('.math, mjx-container, noscript, script, style');
    if (unread || !of.checkVisibility()) { continue; }
    let size = parseFloat(getComputedStyle(of).fontSize);
    const drawn = of.closest('svg') && of.getScreenCTM && of.getScreenCTM();
    if (drawn) { size *= Math.hypot(drawn.a, drawn.b); }
    if (size > 0 && size < least[0]) { least = [size, text.slice(0, 40)]; }
  }
  return [document.documentElement.scrollWidth, ...least];
}"""


#: Images without alternative text, and texts with a contrast below WCAG 2 (AA).
_READ = """() => {
  for (const one of document.getAnimations()) {
    if (one instanceof CSSTransition) { one.finish(); }  // colours on their way to the other theme
  }
  const parse = (c) => {
    const m = c.match(/[0-9.e-]+/g).map(Number).filter((v) => !Number.isNaN(v));
    const most = c.startsWith('color(') ? 255 : 1;  // what was mixed is from 0 to 1
    return [m[0] * most, m[1] * most, m[2] * most, m.length > 3 ? m[3] : 1];
  };
  const over = (a, b) => a.slice(0, 3).map((v, i) => v * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => {
    const f = c.slice(0, 3).map((v) => v / 255);
    const [r, g, b] = f.map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    const stack = [];
    for (; e; e = e.parentElement) {
      const s = getComputedStyle(e), c = parse(s.backgroundColor);
      if (s.backgroundImage !== 'none' || s.filter !== 'none') { return null; }
      if (c[3] > 0) { stack.push(c); }
      if (c[3] === 1) { break; }
    }
    return stack.reverse().reduce((under, c) => over(c, under), [255, 255, 255, 1]);
  };
  const bad = [...document.images].filter((i) => !i.hasAttribute('alt')).map((i) => i.src);
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), seen = new Set();
  while (walk.nextNode()) {
    const of = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
    if (!text || seen.has(of)) { continue; }
    seen.add(of);
    const unread = of.closest('svg, .math, mjx-container, noscript, script, style, [disabled]');
    if (unread || !of.checkVisibility({ opacityProperty: true })) { continue; }
    const s = getComputedStyle(of), below = ground(of);
    if (!below) { continue; }
    const a = light(over(parse(s.color), below)), b = light(below);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(s.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(s.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) { bad.push(`${ratio.toFixed(2)} ${text.slice(0, 40)}`); }
  }
  return bad;
}"""


#: A page that is redrawn for another window is complete after the next frame.
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def look(page):
    """Check that nothing is wider than the window and that texts are large and clear enough."""
    for width, colours in WINDOWS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=colours)
        page.evaluate(DRAWN)
        wide, least, text = page.evaluate(_SEEN)
        assert wide <= width, (page.url, width, colours, wide)
        assert least >= 9, (page.url, width, colours, text, least)
        faint = page.evaluate(_READ)
        assert not faint, (page.url, width, colours, faint[:5])


@pytest.fixture(scope="session")
def browser():
    # 'chromium-browser' is not the first choice, since a snap cannot read files of other
    # programs.
    names = ("chromium", "google-chrome", "chromium-browser")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.skip("install chromium to run")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="install playwright to run"
    )
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=_ARGS)
        yield started
        started.close()


@pytest.fixture
def visit(browser):
    """Open an address, wait for ``ready``, and check at the end that there were no errors."""
    problems, pages = [], []

    def opener(address, ready, script="", **settings):
        page = browser.new_page(**settings)
        page.add_init_script(script)  # this script runs before those of the page
        page.set_default_timeout(
            0
        )  # no time limit, since busy machines open pages slowly
        pages.append(page)
        page.on(
            "console", lambda m: problems.append(m.text) if m.type != "log" else None
        )
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request", lambda r: problems.append(r.url) if _outside(r.url) else None
        )
        page.goto(address)
        page.wait_for_selector(ready)
        return page

    yield opener
    for page in pages:
        page.close()
    assert problems == []


@pytest.fixture
def held():
    """Stop a page's clock, which the test then advances, so that slow machines miss nothing."""

    @contextlib.contextmanager
    def holding(page):
        page.clock.install()
        page.clock.pause_at(page.evaluate("Date.now()") + 1000)
        yield page.clock
        page.clock.resume()

    return holding


def _outside(url):
    return not url.startswith(("file:", "data:", "blob:"))
