"""The verdicts in the letters to authors are written from the board."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from inweights.actions.ledger.board import read_board

if find_spec("sphinx") is None:
    pytest.skip("install .[docs] to run", allow_module_level=True)

DOCS = Path(__file__).parents[2] / "docs"
LETTERS = sorted((DOCS / "replies").glob("letter-*.md"))


@pytest.fixture(scope="module")
def claims():
    board = read_board(DOCS.parent / "results", "cpu")
    return [
        one
        for one in board.claims
        if one.source == "geometric-memory" and not one.check
    ]


def test_counts_and_what_did_not_hold_are_those_of_the_board(
    claims, monkeypatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(DOCS / "_ext"), *sys.path])
    from inweights_site.letters import lines_of

    lines = list(lines_of(claims))
    rows = [line for line in lines if line.startswith("| ") and "protocol" not in line]
    counted = sum(int(number) for row in rows for number in re.findall(r" (\d+) ", row))
    assert counted == len(claims)
    against = {"not reproduced", "not seen in a substitute"}
    named = [one for one in claims if one.verdict in against]
    items = [line for line in lines if line.startswith("- ")]
    assert len(items) == len(named) > 0
    for claim in named:
        assert any(f"`{claim.id} </recipes/" in item for item in items)


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_a_letter_is_a_draft_with_the_verdicts_of_its_paper(letter: Path) -> None:
    text = letter.read_text("utf-8")
    paper = letter.stem.removeprefix("letter-")
    words = " ".join(text.split())
    assert "a draft that was not sent" in words
    assert f"{{paper-verdicts}} {paper}\n" in text
    assert re.search(r"We also made .*mistakes?, which (is|are) corrected", words)


def test_the_three_papers_have_a_letter() -> None:
    assert len(LETTERS) == 3
