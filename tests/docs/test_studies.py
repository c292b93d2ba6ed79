"""The studies and the recipe shown in the documentation are short, and the studies run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.printed import blocks
from tests.docs.test_pages import ROOT
from tests.forks import Forks

SCRIPTS = sorted((ROOT / "docs" / "studies").glob("*.py"))


def first_block(page: str) -> str:
    return blocks((ROOT / "docs" / f"{page}.md").read_text("utf-8"))[0].code


def test_a_study_has_twelve_lines_and_a_recipe_thirty() -> None:
    assert len(first_block("sweep").splitlines()) <= 12
    recipe = first_block("extend-recipe").splitlines()
    assert len(recipe) <= 30
    for part in ("def plan", "claims=[", "figures=[", '"smoke"', '"cpu"', '"paper"'):
        assert any(part in line for line in recipe), part


def test_scripts_are_there() -> None:
    assert {"compare_models", "composition", "open_run", "rates"} <= {
        path.stem for path in SCRIPTS
    }


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_has_at_most_25_lines(script: Path) -> None:
    lines = script.read_text("utf-8").splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 100


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_as_it_is(
    script: Path, tmp_path: Path, forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    child = forks.start("tests.shell:script", tmp_path, script)
    assert child.wait() == 0, child.output
    if "savefig" in script.read_text("utf-8"):
        assert all(drawn.stat().st_size > 5_000 for drawn in tmp_path.glob("*.png"))
        assert list(tmp_path.glob("*.png"))
