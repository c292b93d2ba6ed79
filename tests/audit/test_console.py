"""The printed output of an audit, and its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inweights.audit import audit, augment
from inweights.cli.console.audits import audit as show
from inweights.errors import DataError
from inweights.worlds import read_knowledge


def test_the_answer_comes_first_and_the_page_is_named(capsys, tmp_path: Path) -> None:
    page = tmp_path / "new" / "audit.html"
    show(audit(read_knowledge("@chemistry")), json=False, page=page, name="@chemistry")
    text = capsys.readouterr().out
    assert text.splitlines()[0].startswith("7 of 36 two-step questions follow")
    assert "18 of 18 bridges have no identity statement" in text
    assert page.as_uri() in text.replace("\n", "")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.slow
def test_json_has_the_same(capsys, tmp_path: Path) -> None:
    show(audit(read_knowledge("@chemistry")), json=True, page=tmp_path / "audit.html")
    told = json.loads(capsys.readouterr().out)
    assert told["headline"].startswith("7 of 36")
    assert [row["follow"] for row in told["outlook"]] == [7, 0]
    assert told["findings"][0]["level"] == "act"


def test_names_are_no_markup(capsys, tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text("[red]a,r,b\na [/red],r,[bold]c\n[red]a,r,b\n", encoding="utf-8")
    show(audit(read_knowledge(path)), json=False)
    assert "[red]a" in capsys.readouterr().out


def test_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        show(
            audit(read_knowledge("@chemistry"), forecast=False),
            json=True,
            page=tmp_path,
        )


def test_progress_is_told() -> None:
    told: list[tuple[int, int, str]] = []
    facts = read_knowledge("@chemistry")
    audit(facts, watch=lambda *part: told.append(part))
    assert [part for part, _, _ in told] == [0, 1, 2, 3, 4]
    assert {total for _, total, _ in told} == {5}
    told.clear()
    augment(facts, watch=lambda *part: told.append(part))
    assert [what for _, _, what in told] == ["statements", "control", "questions"]
