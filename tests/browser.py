"""A real browser for the pages: opened from the disk, nothing may complain or be fetched."""

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


@pytest.fixture(scope="session")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("install chromium to run")
    playwright = pytest.importorskip("playwright.sync_api", reason="install playwright to run")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=_ARGS)
        yield started
        started.close()


@pytest.fixture
def visit(browser):
    """Opens an address and waits for ``ready``; at the end nothing may have gone wrong."""
    problems, pages = [], []

    def opener(address, ready, **settings):
        page = browser.new_page(**settings)
        pages.append(page)
        page.on("console", lambda m: problems.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda r: problems.append(r.url) if _outside(r.url) else None)
        page.goto(address)
        page.wait_for_selector(ready)
        return page

    yield opener
    for page in pages:
        page.close()
    assert problems == []


@pytest.fixture
def held():
    """Time stands still on a page unless it is moved, so that no slow machine misses a moment."""

    @contextlib.contextmanager
    def holding(page):
        page.clock.install()
        page.clock.pause_at(page.evaluate("Date.now()") + 1000)
        yield page.clock
        page.clock.resume()

    return holding


def _outside(url):
    return not url.startswith(("file:", "data:", "blob:"))
