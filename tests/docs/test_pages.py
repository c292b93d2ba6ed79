"""Every Python program in our documentation runs, page by page, as it is printed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import inweights.report.figures  # noqa: F401 (the built-in drawings, before a page adds its own)
from inweights import recipes
from inweights.report.registry import DRAWINGS

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
WRITTEN = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
PAGES = sorted(page for page in WRITTEN if BLOCK.search(page.read_text("utf-8")))


def blocks(text: str) -> list[tuple[int, str]]:
    """Return the lines above each Python block of a page, and its code."""
    return [(text[: m.start("code")].count("\n"), m["code"]) for m in BLOCK.finditer(text)]


def test_pages_are_found() -> None:
    names = {page.stem for page in PAGES}
    extending = {f"extend-{noun}" for noun in ("world", "model", "probe", "recipe")}
    assert {"README", "index", *extending} <= names


def test_blocks_are_found_with_their_lines() -> None:
    text = "# Page\n\n```python\na = 1\n```\n\n```sh\nls\n```\n\n```python\nb = 2\n```\n"
    assert blocks(text) == [(3, "a = 1\n"), (11, "b = 2\n")]


@pytest.fixture
def registries() -> Iterator[None]:
    """What a page registers is gone after it."""
    known = (DRAWINGS, recipes._registered)
    before = [dict(entries) for entries in known]
    yield
    for entries, old in zip(known, before, strict=True):
        entries.clear()
        entries.update(old)


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    # A module of its own, found by name, so that classes of the page can be inspected.
    module = ModuleType("page_" + page.stem.replace("-", "_"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for above, code in blocks(page.read_text("utf-8")):
        # With the lines above, a traceback names the page's own line.
        exec(compile("\n" * above + code, str(page), "exec", dont_inherit=True), module.__dict__)
