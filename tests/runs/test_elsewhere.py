"""Runs from other people, and damaged runs: links, manifests, wrong types."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.runs.tiny import RECIPE

from inweights.actions import finished
from inweights.cli import entry as cli
from inweights.errors import FolderError, RunError
from inweights.experiments import Paper, computed
from inweights.experiments.engine.engine import execute
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.executors.processes import SameProcess
from inweights.experiments.engine.outcome_files import load
from inweights.runs import RunStore, manifest, write_json
from inweights.runs.files import hash_of

make = partial(execute, RECIPE, "smoke")


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture
def run(store):
    """Return a complete run."""
    return make(store=store).folder


@pytest.fixture
def known(monkeypatch):
    """Make the tiny recipe the only one that the library knows."""
    monkeypatch.setattr(finished, "recipe_names", lambda: (RECIPE.name,))
    monkeypatch.setattr(finished, "get_recipe", lambda _name: RECIPE)


def tell(capsys, store, *words: str) -> tuple[int, str]:
    code = cli.main([*words, "--runs", str(store.root)])
    told = capsys.readouterr()
    return code, told.out + told.err


def linked(place: Path, home: Path) -> Path:
    """Move a folder elsewhere and leave a link to it."""
    home.mkdir(exist_ok=True)
    shutil.move(place, home / place.name)
    place.symlink_to(home / place.name)
    return home / place.name


def rewrite(folder, name: str, content: bytes) -> None:
    """Change a file, and the manifest with it."""
    (folder.path / name).write_bytes(content)
    manifest = json.loads((folder.path / "manifest.json").read_bytes())
    manifest["files"][name] = hash_of(folder.path / name)
    write_json(folder.path / "manifest.json", manifest)


@pytest.mark.parametrize(
    "name", ["/dev/null", "../runs", "*/*", "tests/t*", "tests/./tiny", "", "tests/\0"]
)
def test_a_name_is_no_path_and_no_pattern(run, store, name) -> None:
    assert [found.path for found in store.of(RECIPE.name)] == [run.path]
    assert not list(store.of(name))


@pytest.mark.parametrize("fresh", [False, True])
def test_a_run_that_is_a_link(run, store, tmp_path, fresh) -> None:
    real = linked(run.path, tmp_path / "disk")
    before = sorted(real.rglob("*"))
    with pytest.raises(
        FolderError, match="links in folders of runs, stores and plans are not followed"
    ):
        make(store=store, execution=ExecutionOptions(fresh=fresh))
    assert sorted(real.rglob("*")) == before
    assert next(iter(store)).state == "damaged"


def test_runs_that_may_not_be_read_are_not_said_to_be_none(
    run, store, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    for words in (["runs"], ["show", run.path.name], ["show", "demo/two-hop"]):
        code, told = tell(capsys, store, *words)
        assert (code, told.count("\n")) == (2, 1)
        assert "permission denied" in told


@pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="there are no pipes in folders here"
)
@pytest.mark.parametrize("name", ["config.json", "manifest.json", "outcome.json"])
def test_a_pipe_within_a_run(run, known, store, capsys, name) -> None:
    """A pipe in a run folder does not block the reader."""
    (run.path / name).unlink()
    os.mkfifo(run.path / name)
    assert tell(capsys, store, "runs")[0] == 0
    code, told = tell(capsys, store, "show", RECIPE.name, "--scale", "smoke")
    assert code == 2
    assert told.startswith("inweights: ")


def test_the_root_may_be_a_link(run, store, tmp_path) -> None:
    (tmp_path / "other").symlink_to(store.root)
    assert make(store=RunStore(tmp_path / "other")).cached


@pytest.mark.parametrize("name", ["tables", "outcome.json"])
def test_a_link_within_a_run(run, store, tmp_path, name) -> None:
    linked(run.path / name, tmp_path / "disk")
    with pytest.raises(FolderError, match=f"{name} is a link"):
        load(RECIPE, run)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_link_at_work(store, tmp_path, fresh) -> None:
    config = RECIPE.resolve("smoke")[2]
    folder = store.folder(RECIPE.name, config)
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "manifest.json").write_text("{}")
    (disk / "precious").write_text("mine")
    folder.work.parent.mkdir(parents=True)
    folder.work.symlink_to(disk)
    with pytest.raises(
        RunError, match="links in folders of runs, stores and plans are not followed"
    ):
        make(store=store, execution=ExecutionOptions(fresh=fresh))
    assert sorted(p.name for p in disk.iterdir()) == ["manifest.json", "precious"]
    assert [f.path for f in store] == []  # a broken link is not a run


@pytest.mark.parametrize("name", ["figures", "tables", "outcome.json.partial"])
def test_a_link_within_the_work(store, tmp_path, name) -> None:
    folder = store.folder(RECIPE.name, RECIPE.resolve("smoke")[2])
    folder.work.mkdir(parents=True)
    (tmp_path / "disk").mkdir()
    (folder.work / name).symlink_to(tmp_path / "disk")
    with pytest.raises(FolderError, match="is a link"):
        make(store=store)
    assert list((tmp_path / "disk").iterdir()) == []


def test_a_lock_that_is_a_link(store, tmp_path) -> None:
    folder = store.folder(RECIPE.name, RECIPE.resolve("smoke")[2])
    (tmp_path / "precious").write_text("mine")
    (store.root / ".locks").mkdir(parents=True)
    (store.root / ".locks" / f"{folder.path.name}.lock").symlink_to(
        tmp_path / "precious"
    )
    with pytest.raises(FolderError, match="is a link"):
        make(store=store)
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_file_that_was_added(run) -> None:
    shutil.copy(
        run.path / "tables" / "long.parquet", run.path / "tables" / "more.parquet"
    )
    with pytest.raises(FolderError, match=r"an additional file, tables/more\.parquet"):
        run.verify()


def test_a_file_that_cannot_be_read(run, monkeypatch) -> None:
    def failing(path) -> str:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(manifest, "hash_of", failing)
    with pytest.raises(FolderError, match=r"cannot read .*: Input/output error"):
        run.verify()


def test_a_manifest_that_is_empty(run) -> None:
    write_json(run.path / "manifest.json", {"files": {}})
    with pytest.raises(FolderError, match="an additional file"):
        run.verify()


@pytest.mark.parametrize(
    "name", ["../../../../etc/passwd", "/etc/passwd", "tables/../config.json"]
)
def test_a_manifest_that_leaves_the_folder(run, name) -> None:
    manifest = json.loads((run.path / "manifest.json").read_bytes())
    manifest["files"][name] = "0" * 64
    write_json(run.path / "manifest.json", manifest)
    with pytest.raises(FolderError, match="is missing"):
        run.verify()


def test_a_verdict_that_was_written_is_not_believed(store) -> None:
    state = Paper("tests", "Tests", claims_of="ours").stating("tiny", "tests")
    claim = state("many", "Sums are large.", computed("totals", "y") >= 2.0)
    recipe = replace(RECIPE, claims=(claim,))
    made = execute(recipe, "smoke", store=store)
    run, claims = made.folder, made.claims
    assert claims
    about = json.loads((run.path / "outcome.json").read_bytes())
    for claim in about["claims"]:
        verdicts = {"reproduced", "not reproduced"} - {claim["verdict"]}
        claim |= {"verdict": verdicts.pop(), "measured": 0.123}
    rewrite(run, "outcome.json", json.dumps(about).encode())
    assert load(recipe, run).claims == claims


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("outcome.json", b"{}"),
        ("outcome.json", b'{"scale": 3}'),
        ("outcome.json", b"[" * 100_000),
        ("outcome.json", b"\xff\xfe"),
        ("environment.json", b"[]"),
        ("tables/long.parquet", b"PAR1"),
    ],
)
def test_files_of_wrong_types_take_nothing_down(
    run, store, known, capsys, name, content
) -> None:
    rewrite(run, name, content)
    with pytest.raises(FolderError):
        load(RECIPE, run)
    code, told = tell(capsys, store, "verify", "--scale", "smoke")
    assert code == 0, told
    assert tell(capsys, store, "show", run.path.name)[0] == 2
    assert tell(capsys, store, "runs")[0] == 0
    assert tell(capsys, store, "verify", "--settle", "--scale", "smoke")[0] == 0


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"\xff", b"[" * 100_000, b'{"recipe": [], "seeds": 3, "scale": {}}'],
)
def test_a_damaged_config_hides_no_other_run(
    run, store, known, capsys, content
) -> None:
    other = make(store=store, seeds=2).folder
    (other.path / "config.json").write_bytes(content)
    code, told = tell(capsys, store, "runs", "--json")
    assert code == 0
    states = {row["hash"]: row["state"] for row in json.loads(told)}
    assert states == {run.path.name: "complete", other.path.name: "damaged"}
    assert tell(capsys, store, "show", run.path.name)[0] == 0
    code, told = tell(capsys, store, "show", other.path.name)
    assert code == 2
    assert told.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"[]", b'{"files": []}', b"\xff"])
def test_a_damaged_manifest(run, store, known, capsys, content) -> None:
    (run.path / "manifest.json").write_bytes(content)
    assert "damaged" in tell(capsys, store, "runs")[1]
    assert tell(capsys, store, "verify", "--scale", "smoke")[0] == 0
    with pytest.raises(FolderError, match="no readable"):
        load(RECIPE, run)


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[1]", b'{"seconds": "x"}', b"[" * 100_000]
)
def test_a_damaged_clock(store, content) -> None:
    class Stops:
        def run(self, *_: object) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(store=store, execution=ExecutionOptions(executor=Stops()))
    folder = store.folder(RECIPE.name, RECIPE.resolve("smoke")[2])
    (folder.work / "clock.json").write_bytes(content)
    began = time.perf_counter()
    seconds = make(
        store=store, execution=ExecutionOptions(executor=SameProcess())
    ).seconds
    assert 0 <= seconds <= time.perf_counter() - began
