"""Nothing is lost silently: damaged tables, removed folders, two runs at once, kills."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.runs.tiny import RECIPE

from inweights import recipes
from inweights.cli import entry as cli
from inweights.errors import FolderError, RunError
from inweights.experiments.engine.engine import execute
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.executors.processes import SameProcess
from inweights.experiments.engine.outcome_files import refresh
from inweights.report.pages.export import write_export
from inweights.runs import RunStore
from inweights.runs.tables.store import Store

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


def files(store) -> list[Path]:
    return sorted(store.root.glob("store/*/*/*.parquet"))


@pytest.mark.parametrize("damage", [remove, empty, flip])
def test_a_damaged_table_is_made_again(store, expected, damage) -> None:
    with pytest.raises(StopError):
        make(store=store, publish=stop)
    assert len(files(store)) == 6
    before = {file: file.stat().st_mtime_ns for file in files(store)}
    damage(files(store)[1])
    outcome = make(store=store)
    assert same(outcome.tables, expected)
    after = {file: file.stat().st_mtime_ns for file in files(store)}
    assert set(after) == set(before)
    assert sum(after[file] != before[file] for file in before) == 1


@pytest.mark.parametrize("damage", [remove, empty, flip])
def test_a_table_that_is_lost_before_it_is_read_is_an_error(
    store, monkeypatch, damage
) -> None:
    class Loses:
        """An executor that loses its first table."""

        def run(self, job, schedule) -> None:
            SameProcess().run(job, schedule)
            damage(files(store)[0])

    with pytest.raises(
        FolderError, match="is missing or damaged; run the same command again"
    ):
        make(store=store, execution=ExecutionOptions(executor=Loses()))
    assert not next(iter(store)).complete


def test_every_edit_of_a_stored_table_is_noticed(store, expected) -> None:
    """A stored table of which any bit was changed counts as missing until it is restored."""
    make(store=store)
    whole = {file: file.read_bytes() for file in files(store)}
    kept = Store(store.root / "store")
    for k in range(200):
        file = list(whole)[k % len(whole)]
        data = bytearray(whole[file])
        data[(k * 977) % len(data)] ^= 1 << (k % 8)
        file.write_bytes(data)
        assert not kept.has(file.parent.name, "table")
        file.write_bytes(whole[file])
        assert kept.has(file.parent.name, "table")


@pytest.mark.parametrize("what", [".", "config.json"])
@pytest.mark.parametrize("moment", ["between tables", "at the end"])
def test_a_removed_folder_is_never_sealed(store, expected, what, moment) -> None:
    work = store.folder(RECIPE.name, RECIPE.resolve("smoke")[2]).work

    def lose(*args: object) -> None:
        target = work / what
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    told = (
        {"execution": ExecutionOptions(progress=lose)}
        if moment == "between tables"
        else {"publish": lose}
    )
    with pytest.raises(
        RunError, match=r"was removed or changed during|cannot write"
    ) as caught:
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

    with pytest.raises(RunError, match="was removed or changed during"):
        make(store=store, publish=taken)


def test_the_command_line_says_it_in_one_line(store, capsys, monkeypatch) -> None:
    monkeypatch.setitem(recipes._registered, RECIPE.name, RECIPE)
    monkeypatch.setattr(
        "inweights.report.pages.page.publish",
        lambda _, work, cited: (work / "config.json").unlink(),
    )
    words = ["run", RECIPE.name, "--scale", "smoke", "--runs", str(store.root)]
    assert cli.main(words) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "was removed or changed during the run" in lines[0]


def test_a_second_run_waits_and_reads_the_first_one_back(store, expected) -> None:
    at_work, go_on, waits = threading.Event(), threading.Event(), threading.Event()
    outcomes: dict[str, Any] = {}

    def hold(*args: object) -> None:
        at_work.set()
        assert go_on.wait(60)

    def told(done: int, total: int, what: str) -> None:
        if what.startswith("waiting"):
            waits.set()

    def start(name: str, **options: Any) -> threading.Thread:
        thread = threading.Thread(
            target=lambda: outcomes.setdefault(name, make(store=store, **options))
        )
        thread.start()
        return thread

    first = start("first", publish=hold)
    assert at_work.wait(60)
    second = start("second", execution=ExecutionOptions(progress=told))
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
    for stale in (folder.work, folder.old):
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
            make(store=store, execution=ExecutionOptions(fresh=True, progress=stop))


def test_an_export_to_a_full_disk_leaves_no_half_of_a_file(
    store, tmp_path, monkeypatch
) -> None:
    outcome = make(store=store)

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="No space left"):
        write_export(outcome, tmp_path / "out", csv=True)
    assert list((tmp_path / "out").iterdir()) == []
