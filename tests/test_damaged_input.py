"""Invalid files, names and plugins cause an error of one line without a traceback."""

from __future__ import annotations

import json
import os
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from inweights.cli import main
from inweights.errors import DataError, RunError
from inweights.runs import explained_writes, write_tables
from inweights.support import plugins
from inweights.worlds import TwoHop, save_world
from inweights.worlds.readers.published import two_hop_facts

LONG = "a" * 300
DEEP = "[" * 100_000
FACTS = "ann,mother,beth\nbeth,born,rome\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INWEIGHTS_RUNS", "runs")
    Path("facts.csv").write_text(FACTS, encoding="utf-8")
    return tmp_path


def refused(capsys, *words: str, code: int = 2) -> str:
    assert main(words) == code
    text = capsys.readouterr().err.strip()
    assert text.startswith("inweights: ")
    assert "\n" not in text
    return text


@pytest.mark.parametrize("name", [LONG, "nul\0", f"{LONG}.csv"])
@pytest.mark.parametrize(
    "words",
    [
        ("world", "NAME"),
        ("predict", "NAME"),
        ("audit", "NAME"),
        ("atlas", "NAME"),
        ("world", "two-hop", "--out", "NAME"),
        ("augment", "facts.csv", "--out", "NAME"),
        ("augment", "facts.csv", "--out", "new", "--wording", "NAME"),
        ("audit", "facts.csv", "--page", "NAME"),
        ("run", "demo/two-hop", "--scale", "smoke", "--config", "NAME"),
        ("run", "demo/two-hop", "--scale", "smoke", "--runs", "NAME"),
    ],
)
def test_names_that_no_file_has(capsys, words, name) -> None:
    refused(capsys, *(name if word == "NAME" else word for word in words))


def test_a_page_takes_no_place_of_a_pipe_or_a_folder(capsys) -> None:
    os.mkfifo("pipe")
    for place in ("pipe", ".", "/"):
        words = ("audit", "facts.csv", "--no-forecast", "--page", place)
        assert "the path is not a file" in refused(capsys, *words)
    assert Path("pipe").is_fifo()


@pytest.mark.parametrize("words", [("audit",), ("world",), ("predict",), ("atlas",)])
def test_a_pipe_in_the_place_of_a_file(capsys, words) -> None:
    os.mkfifo("pipe.csv")
    for place in ("pipe.csv", "/dev/null"):
        text = refused(capsys, *words, place)
        assert f"cannot read {place}: it is a pipe or a device; write its" in text


@pytest.mark.parametrize("name", ["world.json", "facts.parquet", "queries.parquet"])
@pytest.mark.parametrize("damage", ["gone", "folder", "deep", "list"])
def test_world_folder(capsys, folder, name, damage) -> None:
    place = save_world(TwoHop(n=3).build(), folder / "w") / name
    place.unlink()
    if damage == "folder":
        place.mkdir()
    elif damage != "gone":
        place.write_text(DEEP if damage == "deep" else "[]", encoding="utf-8")
    text = refused(capsys, "predict", "w")
    if damage in ("gone", "folder") or name.endswith("parquet"):
        assert name in text


@pytest.mark.parametrize(
    "name", ["x.json", "x.jsonl", "d/state.json", "d/dataset_dict.json"]
)
def test_deep_json(capsys, name) -> None:
    Path("d").mkdir()
    Path(name).write_text(DEEP, encoding="utf-8")
    refused(capsys, "audit", name.partition("/")[0])


@pytest.mark.parametrize("part", [".", "..", "/etc", "../d"])
def test_a_dataset_folder_stays_within_itself(capsys, part) -> None:
    Path("d").mkdir()
    Path("d/dataset_dict.json").write_text(
        json.dumps({"splits": [part]}), encoding="utf-8"
    )
    assert "outside the folder" in refused(capsys, "audit", "d")


def test_deep_toml(capsys) -> None:
    Path("deep.toml").write_text(f"x={'[' * 3000}{']' * 3000}", encoding="utf-8")
    assert "nested too deeply" in refused(
        capsys, "run", "demo/two-hop", "--config", "deep.toml"
    )
    words = ("augment", "facts.csv", "--out", "new", "--wording", "deep.toml")
    assert "nested too deeply" in refused(capsys, *words)
    refused(capsys, "run", "demo/two-hop", "--set", f"n={'[' * 2000}{']' * 2000}")


@pytest.mark.parametrize(
    "cell", ["-" * 200_000 + "1", "a" + ".a" * 100_000, "(" * 200_000]
)
def test_aliases_that_cannot_be_parsed(cell) -> None:
    row = {f"e{i}.value": f"e{i}" for i in (1, 2, 3)}
    row |= {f"r{i}.category": "r" for i in (1, 2)} | {"e2.aliases": cell}
    assert two_hop_facts(row, "f.csv")[0].aliases == ()


@pytest.mark.parametrize("name", [".x", "broken_one", "raises_one", "no.such"])
def test_plugins(capsys, folder, monkeypatch, name) -> None:
    monkeypatch.syspath_prepend(folder)
    (folder / "broken_one.py").write_text("def f(:\n")
    (folder / "raises_one.py").write_text("1 / 0\n")
    assert "cannot import the plugin" in refused(capsys, "list", f"--plugin={name}")


def test_a_plugin_without_a_name(capsys) -> None:
    assert "a plugin must be a module or a file" in refused(capsys, "list", "--plugin=")


def test_an_installed_plugin_that_fails_is_told(monkeypatch, capsys) -> None:
    entry = EntryPoint("odd", "no_such_module_at_all:x", "inweights.plugins")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [entry])
    with pytest.warns(UserWarning, match="installed plugin 'odd'"):
        assert main(["list"]) == 0
    assert "identity-bridge/fig2" in capsys.readouterr().out


def full(*_args: object, **_options: Any) -> None:
    raise pl.exceptions.ComputeError("No space left on device (os error 28)\nmore")


def test_a_full_disk(monkeypatch, folder, capsys) -> None:
    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with (
        pytest.raises(RunError, match="No space left") as error,
        explained_writes(folder),
    ):
        full()
    assert "\n" not in str(error.value)
    with pytest.raises(RunError, match="No space left"):
        write_tables(folder / "tables", {"a": pl.DataFrame({"x": [1]})})
    with pytest.raises(DataError, match="No space left"):
        save_world(TwoHop(n=3).build(), folder / "w")
    refused(capsys, "augment", "facts.csv", "--out", "new")
    assert sorted(p.name for p in folder.iterdir()) == ["facts.csv", "tables.partial"]


def test_what_the_system_refuses_is_one_line(monkeypatch, capsys) -> None:
    def no_memory(*_args: object, **_options: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("inweights.worlds.open_world", no_memory)
    assert "memory is full" in refused(capsys, "world", "two-hop", code=1)
    with pytest.raises(MemoryError):
        main(["world", "two-hop", "--debug"])


def test_a_folder_of_facts_that_cannot_be_read(capsys) -> None:
    Path("d").mkdir()
    Path("d/x.parquet").mkdir()
    refused(capsys, "audit", "d")
