"""``compare-training`` reads files of facts with the options of the other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inweights.actions import training
from inweights.actions.training import TrainingSettings
from inweights.cli import main
from inweights.config import identity
from inweights.config.outside import Outside
from inweights.errors import DataError, RunError

DATA = Path(__file__).parent / "data" / "facts"


def settings(file: Path, **others: Any) -> TrainingSettings:
    return TrainingSettings(
        facts=Outside(name=str(file)), model=Outside(name="@tiny"), **others
    )


def test_options_that_are_not_used_change_no_key() -> None:
    assert not {"header", "columns", "wide", "labels"} & identity(settings(DATA)).keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "read"),
    [
        (["--wide"], {"wide": True}),
        (["--columns", "name,city,started"], {"columns": "name,city,started"}),
        (
            ["--columns", "1,2,4", "--header", "no"],
            {"columns": "1,2,4", "header": "no"},
        ),
    ],
)
def test_options_arrive(
    words: list[str],
    read: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    given: list[TrainingSettings] = []

    def noted(settings: TrainingSettings, _model: object) -> None:
        given.append(settings)
        raise RunError("that is all")

    monkeypatch.setattr(training, "sizes", noted)
    file = str(DATA / "wide.csv")
    command = [
        "compare-training",
        file,
        "--model",
        "@tiny",
        "--dry-run",
        "--runs",
        str(tmp_path),
    ]
    assert main([*command, *words]) == 1
    assert {name: getattr(given[0], name) for name in read} == read


def test_facts_are_those_of_the_options(tmp_path: Path) -> None:
    lines = (DATA / "wide.csv").read_text(encoding="utf-8").splitlines()
    cells = sum(bool(cell) for line in lines[1:] for cell in line.split(",")[1:])
    assert len(settings(DATA / "wide.csv", wide=True).read_facts()) == cells
    with pytest.raises(DataError, match="use --wide"):
        settings(DATA / "wide.csv").read_facts()
    names = tmp_path / "names.csv"
    names.write_text("id,label\nQ1,Ana\nQ2,Oslo\n", encoding="utf-8")
    ids = tmp_path / "ids.csv"
    ids.write_text("subject,relation,object\nQ1,lives in,Q2\n", encoding="utf-8")
    found = settings(ids, labels=Outside(name=str(names))).read_facts()
    assert found.names(0) == ("Ana", "lives in", "Oslo")


def test_a_file_that_needs_options_is_refused_with_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(DATA / "wide.csv")
    assert (
        main(["compare-training", file, "--model", "@tiny", "--runs", str(tmp_path)])
        == 2
    )
    assert "use --wide" in capsys.readouterr().err
