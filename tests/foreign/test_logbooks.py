"""Logbooks of trackio are extended, and trackio can read those of the library."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import copyfile
from types import SimpleNamespace
from typing import Any

import pytest
from tests.report import made_up, made_up_run

from inweights.errors import ConfigError
from inweights.experiments.engine.outcome import Outcome
from inweights.report.pages.logbook import PAGES, write_logbook
from inweights.report.pages.sections import command_of
from inweights.runs import RunFolder

STORED = Path(__file__).with_name("data") / "logbook"
#: The pattern with which trackio 0.43 finds the cells of a page.
CELL = re.compile(
    r"(^|\n)---\n<!-- trackio-cell\n([\s\S]*?)\n-->\n"
    r"([\s\S]*?)(?=\n---\n<!-- trackio-cell\n|\s*$)"
)
KINDS = ["markdown", "code", "markdown", "figure", "code", "code", "markdown"]
#: Text that would end a cell, a table's cell, a code fence or a comment.
TRAP = "a | b\n---\n<!-- trackio-cell\n{}\n-->\n<script>x</script> ```` `c`"


def outcome(folder: Path, **changes: Any) -> Outcome:
    """Return a synthetic run with an existing folder."""
    run = RunFolder(folder, "made/3f9a1c0d77e2", {})
    run.path.mkdir(parents=True, exist_ok=True)
    (run.path / "config.json").write_text("{}")
    figures = changes.pop("figures", made_up.figures()[:1])
    return made_up_run.content(folder=run, figures=figures, **changes).outcome


def cells(page: Path) -> list[tuple[dict[str, Any], str]]:
    """Return the cells of a page as trackio finds them: metadata and body."""
    found = CELL.finditer(page.read_text(encoding="utf-8"))
    return [(json.loads(one[2]), one[3].strip()) for one in found]


@pytest.mark.parametrize("began", ["", "empty", "index"])
def test_a_run_joins_a_logbook_that_trackio_began(tmp_path: Path, began: str) -> None:
    place = tmp_path / "lab" / PAGES
    if began:
        (place / "first-try").mkdir(parents=True)
        copyfile(STORED / f"{began}.md", place / "index.md")
        copyfile(STORED / "first-try.md", place / "first-try" / "page.md")
    run = outcome(tmp_path, figures=[])
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_text("{}\n{}\n")
    page, index = write_logbook(run, tmp_path / "lab", ledger=ledger)
    listed = index.read_text()
    rows = re.findall(r"^\| \[.*\]\(#/(.*)\) \|$", listed, re.MULTILINE)
    assert rows == ["first-try"] * (began == "index") + [page.parent.name]
    assert listed.count("## Pages") == 1
    assert listed.startswith("# Our lab") == bool(began)
    assert "Add a page" not in listed
    found = cells(page)
    kinds = [kind for kind in KINDS if kind != "figure"]
    assert [about["type"] for about, _ in found] == kinds
    assert len({about["id"] for about, _ in found}) == len(kinds)
    assert command_of(run) in found[1][1]
    assert found[2][1].count("\n| ") == len(run.claims)
    assert "| 0.97; 95% interval 0.94 to 1; 5 seeds |" in found[2][1]
    assert "2 lines" in found[-1][1]
    before = page.read_bytes(), index.read_bytes()
    write_logbook(run, tmp_path / "lab", ledger=ledger)
    assert before == (page.read_bytes(), index.read_bytes())


def test_cells_of_others_are_not_lost(tmp_path: Path) -> None:
    run = outcome(tmp_path, figures=[])
    page, _ = write_logbook(run, tmp_path / "lab")
    theirs = (STORED / "first-try.md").read_text().partition("\n")[2]
    page.write_text(page.read_text() + theirs)
    kept = page.read_text()
    with pytest.raises(ConfigError, match="inweights did not write"):
        write_logbook(run, tmp_path / "lab")
    assert page.read_text() == kept


def test_no_text_ends_its_cell(tmp_path: Path) -> None:
    claim = made_up_run.claim("with", "reproduced", text=TRAP, published=TRAP)
    figure = made_up.figures()[0]
    run = outcome(
        tmp_path,
        figures=[SimpleNamespace(**vars(figure) | {"title": TRAP, "caption": TRAP})],
        summary=TRAP,
        claims=(claim,),
        settings={"text": TRAP},
        environment={TRAP: TRAP},
    )
    page, _ = write_logbook(run, tmp_path / "lab")
    found = cells(page)
    assert [about["type"] for about, _ in found] == KINDS
    table = found[2][1].splitlines()
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in table] == [5, 5, 5]
    shown = [body for about, body in found if about["type"] != "code"]
    assert not any("<script" in body for body in shown)


@pytest.mark.filterwarnings("ignore")
def test_trackio_reads_the_page(tmp_path: Path) -> None:
    logbook = pytest.importorskip(
        "trackio.logbook", reason="pip install trackio lifts this"
    )
    run = outcome(tmp_path)
    page, _ = write_logbook(run, tmp_path / "lab")
    project = logbook.require_project_dir(tmp_path / "lab")
    first, second = logbook.read_logbook_data(project)["pages"]
    assert second["slug"] == page.parent.name
    assert [cell["type"] for cell in second["cells"]] == KINDS
    ids = [about["id"] for about, _ in cells(page)]
    assert [cell["id"] for cell in second["cells"]] == ids
    # It writes its viewer and manifest next to the pages, which it does not change.
    before = page.read_bytes()
    assert logbook.write_site_files(project)["title"] == first["title"]
    assert page.read_bytes() == before
