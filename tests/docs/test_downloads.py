"""The Atom feed of the board has an entry for each verdict that changed, and no others."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from xml.etree import ElementTree as ET

import pytest

from inweights.actions.ledger.ledger import Ledger
from inweights.actions.ledger.lines import JudgedLine, Withdrawn

if find_spec("sphinx") is None:
    pytest.skip("install .[docs] to run", allow_module_level=True)

ATOM = "{http://www.w3.org/2005/Atom}"


def judged(name: str, verdict: str, scale: str = "cpu") -> JudgedLine:
    return JudgedLine(
        date="2026-11-28",
        name=name,
        scale=scale,
        version=1,
        verdict=verdict,
        seeds=8,
        measured=0.5,
    )


def test_the_feed_has_changes_alone(monkeypatch) -> None:
    ext = Path(__file__).parents[2] / "docs" / "_ext"
    monkeypatch.setattr(sys, "path", [str(ext), *sys.path])
    from inweights_site import downloads

    gone = Withdrawn(
        date="2026-11-28",
        name="a/b/two",
        scale="cpu",
        version=1,
        text="Two <holds>.",
        verdict="reproduced",
    )
    lines = [
        judged("a/b/one", "undecided"),
        judged("a/b/one", "reproduced", scale="paper"),  # its first one
        judged("a/b/one", "undecided"),  # no change
        judged("a/b/one", "reproduced"),
        judged("a/b/two", "reproduced"),
        gone,
    ]
    ledger = cast("Ledger", SimpleNamespace(lines=lines))
    feed = ET.fromstring(downloads.feed(ledger))
    titles = [entry.findtext(f"{ATOM}title") for entry in feed.iter(f"{ATOM}entry")]
    assert titles == [
        "a/b/two: reproduced → withdrawn",
        "a/b/one: undecided → reproduced",
    ]
    links = [
        link.get("href") for link in feed.iter(f"{ATOM}link") if not link.get("rel")
    ]
    assert links == ["board.html", "board.html#a/b/one"]
