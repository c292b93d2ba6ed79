"""In an exercise without answers, each check reports a missing answer and none fails.

``tests/test_wheel.py`` runs the exercises with their solutions from a wheel.
"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest
from tests.docs.printed import blocks

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXERCISES = sorted((ROOT / "docs" / "course").glob("*.md"))


@pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")
@pytest.mark.parametrize("page", EXERCISES, ids=lambda page: page.stem)
def test_what_is_not_answered_is_not_right(
    page: Path, notebooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path))
    text = notebooks.without_solutions(page.read_text("utf-8"))
    assert text.count("# Your answer") == page.read_text("utf-8").count("END SOLUTION")
    names: dict[str, object] = {"__name__": "exercise"}
    with contextlib.redirect_stdout(io.StringIO()) as output:
        for block in blocks(text):
            exec(compile(block.code, str(page), "exec", dont_inherit=True), names)
    assert output.getvalue().count("Not yet: ") == text.count("\ncheck(") >= 7
    assert "Right." not in output.getvalue()


def test_both_notebooks_are_written(notebooks, tmp_path: Path) -> None:
    pytest.importorskip("jupytext", reason="install .[docs] to run")
    notebooks.write_course(ROOT / "docs" / "course", tmp_path)
    assert len(list(tmp_path.glob("*.ipynb"))) == 2 * len(EXERCISES) >= 6
    for page in EXERCISES:
        empty = (tmp_path / f"{page.stem}.ipynb").read_text("utf-8")
        solved = (tmp_path / f"{page.stem}-solutions.ipynb").read_text("utf-8")
        assert len(json.loads(empty)["cells"]) == len(json.loads(solved)["cells"])
        assert len(empty) < len(solved)
        for text in (empty, solved):
            assert "SOLUTION" not in text
            assert "{download}" not in text
            assert "{func}" not in text
