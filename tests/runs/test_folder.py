"""Run folders are complete or absent, and edits are detected."""

from __future__ import annotations

import getpass
import json
import re
import socket
import sys
from pathlib import Path

import polars as pl
import pytest

from inweights.errors import ConfigError, FolderError, RunError
from inweights.runs import RunStore, environment, read_tables, write_json, write_tables
from inweights.runs.tables.files import open_files

CONFIG = {"recipe": "a/b", "seeds": [1, 2]}


def sealed(tmp_path):
    folder = RunStore(tmp_path).folder("a/b", CONFIG)
    work = folder.begin()
    write_json(work / "outcome.json", {"x": 1})
    write_tables(work / "tables", {"t": pl.DataFrame({"x": [1, 2]})})
    folder.seal()
    return folder


def test_same_config_same_folder(tmp_path) -> None:
    store = RunStore(tmp_path)
    assert (
        store.folder("a/b", {"b": 1, "a": 2}).path
        == store.folder("a/b", {"a": 2, "b": 1}).path
    )
    assert store.folder("a/b", {"a": 1}).path != store.folder("a/b", {"a": 2}).path


def test_only_sealed_folders_are_complete(tmp_path) -> None:
    folder = RunStore(tmp_path).folder("a/b", CONFIG)
    folder.begin()
    before = folder.complete
    assert [f.complete for f in RunStore(tmp_path)] == [False]
    folder.seal()
    assert (before, folder.complete) == (False, True)
    assert not folder.work.exists()
    assert [f.config for f in RunStore(tmp_path)] == [CONFIG]


def test_a_run_is_at_work_as_long_as_somebody_holds_it(tmp_path) -> None:
    mine, seen = (RunStore(tmp_path).folder("tests/tiny", {"n": 3}) for _ in range(2))
    states = [seen.state]
    with mine.held():
        mine.begin()
        states += [mine.state, seen.state]
    states.append(seen.state)
    mine.seal()
    assert states == ["interrupted", "at work", "at work", "interrupted"]
    assert seen.state == "complete"


def test_edits_and_losses_are_noticed(tmp_path) -> None:
    folder = sealed(tmp_path)
    folder.verify()
    outcome = folder.path / "outcome.json"
    outcome.write_text('{"x": 2}')
    with pytest.raises(FolderError, match=r"was edited: outcome\.json"):
        folder.verify()
    outcome.unlink()
    with pytest.raises(FolderError, match=r"outcome\.json is missing"):
        folder.verify()
    (folder.path / "manifest.json").write_text("{")
    with pytest.raises(FolderError, match="no readable manifest"):
        folder.verify()


def test_damaged_table(tmp_path) -> None:
    folder = sealed(tmp_path)
    (folder.path / "tables" / "t.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(FolderError, match="cannot read"):
        read_tables(folder.path / "tables")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    target = tmp_path / "x.json"
    write_json(target, {"x": 1})

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("inweights.runs.folder.os.replace", full)
    with pytest.raises(RunError, match="No space left"):
        write_json(target, {"x": 2})
    assert json.loads(target.read_text()) == {"x": 1}
    assert list(tmp_path.iterdir()) == [target]


def test_the_environment_names_no_user_host_or_path(monkeypatch) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "hunter2-in-the-environment")
    told = json.dumps(environment())
    private = [
        socket.gethostname(),
        getpass.getuser(),
        str(Path.home()),
        str(Path.cwd()),
    ]
    private += [sys.executable, sys.prefix, "hunter2", "SECRET_OF_MINE"]
    words = set(re.findall(r"[\w.\-]+", told))
    for name in private:
        assert name not in words
        assert len(name) < 5 or name not in told
    assert "/" not in told
    assert "\\" not in told


@pytest.mark.parametrize("place", ["s3:/bucket/runs", Path("gs://bucket")])
def test_an_address_with_one_slash_is_no_folder(place: str | Path) -> None:
    with pytest.raises(
        ConfigError, match=r"with a slash missing; write '(s3|gs)://bucket"
    ):
        open_files(place)
