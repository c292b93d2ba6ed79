"""Options that name files and folders are part of keys by content or by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.foreign.receivers import SEEN, capped, key_of, look, table_of

import inweights as iw
from inweights.experiments import Measure, Outside
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask
from inweights.experiments.grammar.trial import Plan, Trial

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    SEEN.clear()


@pytest.mark.parametrize("as_given", [str, Path, lambda path: Outside(name=str(path))])
def test_a_file_that_an_option_names_counts(
    as_given: Callable[[Path], Any], tmp_path: Path
) -> None:
    file = tmp_path / "bag.csv"
    file.write_text("1", encoding="utf-8")

    def read(seed: int, path: Any) -> dict[str, str]:
        SEEN.append(path)
        return {"said": Path(path).read_text(encoding="utf-8")}

    def study() -> list[str]:
        about: dict[str, Any] = {"seeds": 1, "runs": tmp_path, "progress": False}
        return iw.sweep(read, over={"path": [as_given(file)]}, **about)[
            "said"
        ].to_list()

    def keys() -> set[str]:
        measure = Measure(name="look", probe=look, options={"cap": as_given(file)})
        trial = Trial(
            labels={},
            world=iw.TwoHop(n=4),
            model=iw.wrap(table_of, cap=as_given(file)),
            learner=iw.Curriculum(
                phases=(iw.Phase(loss=partial(capped, cap=as_given(file)), steps=1),)
            ),
        )
        work = expand_plan(Plan(trials=[trial], measures=[measure]), [0])
        (task,) = tasks_of(work, lambda owner, part: True)
        assert isinstance(task, LearnTask)
        assert any(str(file) in name for name in task.sources)
        return {*work.runs, measure.key}

    before = keys()
    assert study() == study() == ["1"]
    assert [as_given(file)] == SEEN
    file.write_text("2", encoding="utf-8")
    assert study() == ["2"]
    assert not keys() & before
    file.write_text("1", encoding="utf-8")
    assert keys() == before


def test_a_file_that_own_code_writes_is_no_input(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"

    def write(seed: int, path: str) -> dict[str, int]:
        Path(path).write_text(f"{seed}", encoding="utf-8")
        return {"said": seed}

    about: dict[str, Any] = {
        "runs": tmp_path,
        "progress": False,
        "over": {"path": [str(file)]},
    }
    assert iw.sweep(write, seeds=[3], **about)["said"].to_list() == [3]
    with pytest.raises(
        iw.errors.InweightsError, match="if your code writes this file, construct the"
    ):
        iw.sweep(write, seeds=[4], **about)


def test_a_word_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = key_of("train")
    Path("train").mkdir()
    assert key_of("train") == before


def test_a_folder_counts_with_its_name_and_a_caution_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code may write to the folder, and a key that changes would lose the stored runs."""
    monkeypatch.chdir(tmp_path)
    before = [key_of(text) for text in ("/", "..", "data/")]
    Path("data").mkdir()
    Path("data", "one.txt").write_text("1", encoding="utf-8")
    with pytest.warns(
        iw.errors.CautionWarning, match=r"'data/' names a folder.*Outside"
    ):
        assert [key_of(text) for text in ("/", "..", "data/")] == before
