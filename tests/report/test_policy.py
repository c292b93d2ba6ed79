"""A page may run only the library's own scripts, and no injected markup."""

from __future__ import annotations

import html
import re

import pytest
from tests.report import made_up, made_up_run
from tests.report.test_atlas import WORLDS, own_films

from inweights.report.base.document import asset, document
from inweights.report.living import atlas
from inweights.report.pages.page import build_page

EVIL = (
    "<script>document.title = 'owned'</script>"
    "<img src=x onerror=\"document.title = 'owned'\">"
    "<a id=link href=\"javascript:document.title = 'owned'\">x</a>"
    "<style>body { color: rgb(1, 2, 3) !important }</style>"
)


@pytest.mark.slow
def test_no_page_allows_scripts_that_it_does_not_know() -> None:
    player = made_up.figures()[-1:]
    moving, still = (
        build_page(made_up_run.content(figures=player)),
        atlas.page(own_films(), WORLDS),
    )
    for text in (moving, still):
        found = re.search(
            r'http-equiv="Content-Security-Policy" content="([^"]*)"', text
        )
        assert found
        policy = html.unescape(found[1])
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert "unsafe-inline" not in rules["script-src"]
        assert "unsafe-eval" not in policy
        assert rules["default-src"] == "'none'"
        assert ("unsafe-inline" in rules["style-src-elem"]) == (text is moving)


@pytest.mark.browser
@pytest.mark.slow
def test_markup_that_got_in_does_not_run(browser, tmp_path) -> None:
    path = tmp_path / "page.html"
    text = document("mine", EVIL, styles=["page.css"], scripts=[asset("page.js")])
    path.write_text(text, encoding="utf-8")
    page = browser.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(path.as_uri())
    page.locator("#link").click()
    while sum("Content Security Policy" in text for text in refused) < 3:
        page.wait_for_timeout(20)  # this lets the page's messages arrive
    assert page.title() == "mine"
    assert page.evaluate("getComputedStyle(document.body).color") != "rgb(1, 2, 3)"
    page.close()
