"""The page that compares old and new verdicts is written from the ledger and the board."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from inweights.actions.ledger.board import read_board
from inweights.actions.ledger.ledger import read_ledger

if find_spec("sphinx") is None:
    pytest.skip("install .[docs] to run", allow_module_level=True)

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = DOCS.parent / "results"


@pytest.fixture(scope="module")
def claims():
    return read_board(RESULTS, "cpu").claims


@pytest.fixture(scope="module")
def ledger():
    return read_ledger(RESULTS / "ledger.jsonl")


@pytest.fixture
def rejudged(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(DOCS / "_ext"), *sys.path])
    from inweights_site import rejudged as module

    return module


def test_corrected_restated_and_new_claims(rejudged, claims, ledger) -> None:
    names = ("fig14-15/full-path", "c3/tinynn-is-geometric-free")
    patterns = [f"geometric-memory/{name}" for name in names]
    patterns.append("beyond/positions-decide/no-pos*")
    _, _, corrected, restated, new = rejudged.changes_of(claims, ledger, patterns)
    # The claims have one run with a corrected protocol, two runs with one cut, and one run.
    assert re.search(r"\\< reproduced: 1 .*\\~ consistent: 1 ", corrected)
    assert re.search(r"= not reproduced: 0\.0157 .*= undecided: -0\.232 ", restated)
    assert re.search(r"no-positions-find .*\| not asked \| holds: 1 ", new)
    with pytest.raises(ValueError, match="no claim 'fig0/"):
        list(rejudged.changes_of(claims, ledger, ["fig0/*"]))


def test_every_claim_of_a_paper_is_counted_twice(rejudged, claims, ledger) -> None:
    _, _, *rows = rejudged.counts_of(claims, ledger)
    papers = [c for c in claims if c.protocol and c.source != "ours" and not c.check]
    for when in ("before", "now"):
        own = [row for row in rows if f"| {when} |" in row]
        cells = [re.findall(r" (\d+) ", row) for row in own]
        totals, verdicts = zip(*((row[0], row[1:]) for row in cells), strict=True)
        assert sum(map(int, totals)) == len(papers)
        assert sum(int(number) for row in verdicts for number in row) == len(papers)
    # Corrections only moved claims away from the protocols of the papers.
    before, now = (int(re.findall(r" (\d+) ", row)[0]) for row in rows[:2])
    assert before > now


def test_patterns_of_the_page_name_claims(rejudged, claims, ledger) -> None:
    text = (DOCS / "rejudged.md").read_text("utf-8")
    blocks = re.findall(r"```\{claim-changes\}\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 5
    for block in blocks:
        assert list(rejudged.changes_of(claims, ledger, block.split()))
    assert "\n```{protocol-counts}\n" in text
