"""The page of an audit: its content, and opening it from the disk in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inweights.audit import audit
from inweights.report.pages.audit_page import build_audit_page
from inweights.worlds import read_knowledge

HOSTILE = '<script>alert("x")</script>'


def page_of(tmp_path: Path, *rows: str) -> str:
    path = tmp_path / "facts.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return build_audit_page(audit(read_knowledge(path)), "facts.csv")


def test_says_the_answer_first() -> None:
    page = build_audit_page(audit(read_knowledge("@chemistry")), "@chemistry")
    assert page.index("7 of 36 two-step questions follow") < page.index(
        "What to do</h2>"
    )
    assert page.count("<svg") == 4  # two figures, each also for phones
    assert "18 of 18 bridges have no identity statement" in page
    assert (
        page.count("unlike all families") == 2
    )  # the model was never trained on such facts
    assert "--by training trains 8 replicas" in page
    assert "likely" not in page


def test_without_a_prediction_no_outcome_is_predicted() -> None:
    made = audit(read_knowledge("@chemistry"), forecast=False)
    page = build_audit_page(made, "@chemistry")
    assert "Best possible outcome of the questions" in page
    assert "Predicted outcome" not in page


def test_names_are_no_markup(tmp_path: Path) -> None:
    names = [f"{HOSTILE}{i}" for i in range(4)]
    rows = [f'"{names[i]}"'.replace('"x"', '""x""') for i in range(4)]
    page = page_of(
        tmp_path, f"{rows[0]},{rows[3]},{rows[1]}", f"{rows[1]},{rows[3]},{rows[2]}"
    )
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page


def test_without_chains_there_are_no_figures(tmp_path: Path) -> None:
    page = page_of(tmp_path, "a,r,b", "c,r,d")
    assert "No two facts form a chain" in page
    assert "<svg" not in page
    assert 'href="#figures"' not in page


@pytest.mark.browser
@pytest.mark.slow
def test_in_a_browser(visit: Any, tmp_path: Path) -> None:
    """There are no requests and no errors, and headers sort the tables."""
    path = tmp_path / "page.html"
    made = audit(read_knowledge("@people"))
    path.write_text(build_audit_page(made, "@people"), encoding="utf-8")
    page = visit(path.as_uri(), "h2.verdict")
    assert page.locator("h2.verdict").inner_text().startswith("0 of 70")
    table = page.locator("details", has_text="Bridges").last
    table.locator("summary").click()
    column = table.locator("tbody td:nth-child(2)")
    button = table.locator("thead button").nth(1)
    button.click()
    falling = [int(v) for v in column.all_inner_texts()]
    button.click()
    rising = [int(v) for v in column.all_inner_texts()]
    assert falling == sorted(falling, reverse=True)
    assert rising == sorted(falling)
    assert falling != rising
    table.locator("thead button").first.click()
    names = table.locator("tbody td:nth-child(1)").all_inner_texts()
    assert names[0] == "Aracataca"
