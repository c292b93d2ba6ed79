"""Every study in our documentation runs as it is printed, and is short."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

STUDIES = sorted((Path(__file__).parents[2] / "docs" / "studies").glob("*.py"))
MOST_LINES = 25


def test_studies_are_found() -> None:
    assert {"compare_models", "open_run"} <= {path.stem for path in STUDIES}


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_study_is_short(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES


@pytest.mark.slow
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_study_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    runpy.run_path(str(path), run_name="__main__")
