"""Damaged parts, removed folders, two at once, and what a kill leaves: nothing is lost silently."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from tests.runs.tiny import RECIPE

from inweights import cli, recipes
from inweights.errors import FolderError, RunError
from inweights.recipes import engine
from inweights.recipes.engine import execute, refresh
from inweights.runs import RunStore, read_part, write_part

make = partial(execute, RECIPE, "smoke")


class StopError(Exception):
    pass


def stop(*args: object) -> None:
    raise StopError


def same(one, other) -> bool:
    return set(one) == set(other) and all(one[name].equals(other[name]) for name in one)


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture
def expected(tmp_path):
    return make(store=RunStore(tmp_path / "reference")).tables


def remove(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("damage", [remove, empty, flip])
@pytest.mark.parametrize("name", ["long.parquet", "files.json"])
def test_a_damaged_part_is_made_again(store, expected, damage, name) -> None:
    with pytest.raises(StopError):
        make(store=store, publish=stop)
    (folder,) = store
    parts = sorted(folder.work.glob("parts/*/tables"))
    damage(parts[1] / name)
    with pytest.raises(FolderError):
        read_part(parts[1])
    before = [part.stat().st_mtime_ns for part in parts]
    outcome = make(store=store, publish=lambda _, work: before.append(_times(work)))
    assert same(outcome.tables, expected)
    *old, new = before
    assert [a == b for a, b in zip(old, new, strict=True)] == [True, False, True]


def _times(work: Path) -> list[int]:
    return [part.stat().st_mtime_ns for part in sorted(work.glob("parts/*/tables"))]


def test_a_part_that_is_gone_when_tables_are_put_together_is_an_error(store, monkeypatch) -> None:
    def lose_one(work, piece, *, seen=[]):  # noqa: B006
        seen.append(piece)
        return True

    monkeypatch.setattr(engine, "complete", lose_one)  # it is believed to be there
    with pytest.raises(FolderError, match=r"cannot read .*files\.json"):
        make(store=store)
    assert not next(iter(store)).complete


def test_a_part_says_how_many_rows_it_has(tmp_path) -> None:
    write_part(tmp_path / "part", {"t": pl.DataFrame({"x": [1, 2]}), "u": pl.DataFrame()})
    assert read_part(tmp_path / "part")["t"].height == 2
    listed = tmp_path / "part" / "files.json"
    listed.write_text(listed.read_text().replace('"rows": 2', '"rows": 3'))
    with pytest.raises(FolderError, match="it has 2 rows, not 3; start the run again"):
        read_part(tmp_path / "part")


@pytest.mark.parametrize("what", [".", "config.json"])
@pytest.mark.parametrize("moment", ["between parts", "at the end"])
def test_a_removed_folder_is_never_sealed(store, expected, what, moment) -> None:
    work = store.folder(RECIPE.name, RECIPE.resolve("smoke")[2]).work

    def lose(*args: object) -> None:
        target = work / what
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    told = {"progress": lose} if moment == "between parts" else {"publish": lose}
    with pytest.raises(RunError, match=r"was removed or changed while|cannot write") as caught:
        make(store=store, **told)
    assert caught.value.exit_code != 0
    assert "\n" not in str(caught.value)
    assert not list(store.root.glob("*/*/*/manifest.json"))
    assert same(make(store=store).tables, expected)


def test_a_folder_that_another_took_over_is_not_sealed(store) -> None:
    def taken(*args: object) -> None:
        (folder,) = store
        shutil.copytree(folder.work, folder.work.with_name("copy"))
        shutil.rmtree(folder.work)
        os.replace(folder.work.with_name("copy"), folder.work)

    with pytest.raises(RunError, match="was removed or changed while"):
        make(store=store, publish=taken)


def test_the_command_line_says_it_in_one_line(store, capsys, monkeypatch) -> None:
    monkeypatch.setitem(recipes._registered, RECIPE.name, RECIPE)
    monkeypatch.setattr(
        "inweights.laboratory.publish", lambda _, work: (work / "config.json").unlink()
    )
    words = ["run", RECIPE.name, "--scale", "smoke", "--runs", str(store.root)]
    assert cli.main(words) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "was removed or changed while the run was at work" in lines[0]


def test_a_second_run_waits_and_reads_the_first_one_back(store, expected) -> None:
    at_work, go_on, waits = threading.Event(), threading.Event(), threading.Event()
    outcomes = {}

    def hold(*args: object) -> None:
        at_work.set()
        assert go_on.wait(60)

    def told(done: int, total: int, what: str) -> None:
        if what.startswith("waiting"):
            waits.set()

    def start(name: str, **options: object) -> threading.Thread:
        thread = threading.Thread(
            target=lambda: outcomes.setdefault(name, make(store=store, **options))
        )
        thread.start()
        return thread

    first = start("first", publish=hold)
    assert at_work.wait(60)
    second = start("second", progress=told)
    assert waits.wait(60)
    assert not outcomes
    go_on.set()
    first.join(60)
    second.join(60)
    assert (outcomes["first"].cached, outcomes["second"].cached) == (False, True)
    assert same(outcomes["first"].tables, expected)
    assert same(outcomes["second"].tables, expected)


def test_a_lock_is_no_part_of_what_is_renamed_or_removed(store) -> None:
    folder = make(store=store).folder
    (lock,) = store.root.glob(".locks/*")
    assert folder.path not in lock.parents
    folder.discard()
    assert lock.exists()
    assert list(store) == []


@pytest.mark.parametrize("name", ["work", "old"])
def test_a_whole_run_under_another_name_gets_its_own(store, name) -> None:
    folder = make(store=store).folder
    os.replace(folder.path, getattr(folder, name))
    (found,) = store
    assert found.complete
    found.verify()
    assert not found.leftovers


def test_the_newer_of_two_whole_runs_is_taken(store) -> None:
    folder = make(store=store).folder
    shutil.copytree(folder.path, folder.old)
    (folder.old / "new").touch()
    os.replace(folder.path, folder.work)
    assert make(store=store).cached
    assert not (folder.path / "new").exists()
    assert not folder.leftovers


def test_what_is_not_whole_is_not_taken(store, expected) -> None:
    folder = make(store=store).folder
    os.replace(folder.path, folder.work)
    flip(folder.work / "tables" / "long.parquet")
    outcome = make(store=store)
    assert not outcome.cached
    assert same(outcome.tables, expected)


def test_stale_folders_are_cleared_at_the_next_start(store) -> None:
    folder = make(store=store).folder
    for stale in (folder.work, folder.old, folder.path / "parts"):
        (stale / "some").mkdir(parents=True)
    assert make(store=store).cached
    assert not folder.leftovers
    folder.verify()


def test_a_run_that_cannot_be_drawn_again_stays(store) -> None:
    folder = make(store=store).folder
    before = {p: p.read_bytes() for p in folder.path.rglob("*") if p.is_file()}
    with pytest.raises(StopError):
        refresh(replace(RECIPE, version=2), folder, stop)
    assert {p: p.read_bytes() for p in folder.path.rglob("*") if p.is_file()} == before
    assert refresh(RECIPE, folder).tables
    assert not folder.leftovers


def test_what_cannot_be_discarded_is_told_before_the_work(store, monkeypatch) -> None:
    make(store=store)

    def denied(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", denied)
        with pytest.raises(RunError, match="Permission denied"):
            make(store=store, fresh=True, progress=stop)
