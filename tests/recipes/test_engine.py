"""The engine: groups equal single runs, interrupted runs resume, bad input leaves nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from inweights.errors import ConfigError, DataError, RunError
from inweights.recipes import get_recipe, groups, worker
from inweights.recipes.engine import execute, refresh
from inweights.runs import RunStore

DEMO = get_recipe("demo/two-hop")


def test_splitting_groups_changes_nothing(tmp_path, monkeypatch) -> None:
    whole = execute(DEMO, "smoke", seeds=3, store=RunStore(tmp_path / "a"))
    monkeypatch.setattr(groups, "MAX_REPLICAS", 1)
    split = execute(DEMO, "smoke", seeds=3, store=RunStore(tmp_path / "b"))
    keys = ["model", "identity", "seed", "step"]
    one, other = (o.tables["losses"].sort(keys) for o in (whole, split))
    assert one.drop("loss").equals(other.drop("loss"))
    assert (one["loss"] - other["loss"]).abs().max() < 1e-5


def test_groups_are_split_by_memory(monkeypatch) -> None:
    settings, seeds, _ = DEMO.resolve("smoke", seeds=4)
    plan = DEMO.plan(settings, seeds)
    whole = groups.group_trials(plan.trials, plan.measures)
    monkeypatch.setattr(groups, "MAX_BYTES", 1)
    split = groups.group_trials(plan.trials, plan.measures)
    assert {len(group.members) for group in split} == {1}
    assert sum(len(group.members) for group in whole) == len(split) == len(plan.trials)
    assert len(whole) < len(split)


def test_interrupted_run_resumes_and_ends_alike(tmp_path) -> None:
    """Ctrl-C in the middle of a group: finished groups are kept, the rest is made again."""
    store = RunStore(tmp_path)

    def stop(done: int, total: int, what: str) -> None:
        if done > 0.6 * total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(DEMO, "smoke", store=store, progress=stop)
    (folder,) = store
    assert not folder.complete
    finished = list(folder.work.glob("parts/*/tables"))
    assert finished
    stamps = {p: p.stat().st_mtime_ns for p in finished}
    outcome = execute(DEMO, "smoke", store=store, publish=lambda o, p: _same(stamps))
    fresh = execute(DEMO, "smoke", store=RunStore(tmp_path / "other"))
    assert not outcome.cached
    for name, table in fresh.tables.items():
        assert table.equals(outcome.tables[name], null_equal=True), name


def _same(stamps: dict[Path, int]) -> None:
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())


@pytest.mark.slow
def test_processes_side_by_side_change_nothing(tmp_path) -> None:
    """Two processes, one process and more threads: the same numbers to the last bit."""
    seen: list[tuple[int, int]] = []
    alone = execute(DEMO, "smoke", store=RunStore(tmp_path / "a"))
    beside = execute(
        DEMO,
        "smoke",
        store=RunStore(tmp_path / "b"),
        jobs=2,
        progress=lambda done, total, what: seen.append((done, total)),
    )
    for name, table in alone.tables.items():
        assert table.equals(beside.tables[name], null_equal=True), name
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.slow
def test_errors_of_processes_come_through(tmp_path) -> None:
    wild = ["gpt.phase.optimizer.kind=sgd", "gpt.phase.optimizer.rate=1e30", "gpt.phase.steps=60"]
    with pytest.raises(RunError, match="lower the rate"):
        execute(DEMO, "smoke", store=RunStore(tmp_path), overrides=wild, jobs=2)
    unnamed = replace(DEMO, name="mine/unknown", claims=())
    with pytest.raises(ConfigError, match="unknown recipe 'mine/unknown'"):
        execute(unnamed, "smoke", store=RunStore(tmp_path), jobs=2)


@pytest.mark.slow
def test_a_process_that_dies_is_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(worker.sys, "executable", "/bin/false")
    with pytest.raises(RunError, match="a process of demo/two-hop failed"):
        execute(DEMO, "smoke", store=RunStore(tmp_path), jobs=2)


@pytest.mark.slow
def test_killed_run_resumes_from_its_checkpoint(tmp_path) -> None:
    """kill -9 while a group trains; the end is the same to the last bit."""
    script = (
        "from inweights.recipes import engine, get_recipe, groups\n"
        "from inweights.runs import RunStore\n"
        "old = groups.Checkpoint\n"
        "groups.Checkpoint = lambda path, key: old(path, key=key, every_steps=7)\n"
        f"engine.execute(get_recipe('demo/two-hop'), 'smoke', store=RunStore({str(tmp_path)!r}),"
        " overrides=['gpt.phase.steps=400', 'emb_mlp.steps=30'])\n"
    )
    store = RunStore(tmp_path)
    overrides = ["gpt.phase.steps=400", "emb_mlp.steps=30"]
    _, _, config = DEMO.resolve("smoke", overrides=overrides)
    folder = store.folder(DEMO.name, config)
    killed = 0
    for _ in range(40):
        process = subprocess.Popen([sys.executable, "-c", script])
        deadline = time.monotonic() + 60
        states = set(folder.work.glob("parts/*/state"))
        while process.poll() is None and time.monotonic() < deadline:
            now = {p: p.stat().st_mtime_ns for p in folder.work.glob("parts/*/state")}
            if set(now) - states or killed >= 3:
                break
            time.sleep(0.01)
        if killed < 3 and process.poll() is None:
            time.sleep(0.15)
            process.kill()
            killed += 1
        assert process.wait(120) in (0, -9)
        if folder.complete:
            break
    assert killed >= 1
    assert folder.complete
    fresh = execute(DEMO, "smoke", store=RunStore(tmp_path / "other"), overrides=overrides)
    for name, table in folder.tables().items():
        assert table.equals(fresh.tables[name], null_equal=True), name


def test_bad_settings_leave_no_folder(tmp_path) -> None:
    store = RunStore(tmp_path)
    with pytest.raises(ConfigError, match="n is at least 2"):
        execute(DEMO, "smoke", store=store, overrides=["n=1"])
    with pytest.raises(DataError, match="Known: first_hop, identity, second_hop"):
        execute(DEMO, "smoke", store=store, overrides=["gpt.phase.roles={firsthop=1.0}"])
    assert list(store) == []


def test_full_disk_says_so_and_can_be_resumed(tmp_path, monkeypatch) -> None:
    store = RunStore(tmp_path)

    def full(self, *args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", full)
        with pytest.raises(RunError, match="No space left on device"):
            execute(DEMO, "smoke", store=store)
    (folder,) = store
    assert not folder.complete
    assert execute(DEMO, "smoke", store=store).folder.complete


def test_divergence_is_an_error(tmp_path) -> None:
    wild = ["gpt.phase.optimizer.kind=sgd", "gpt.phase.optimizer.rate=1e30", "gpt.phase.steps=60"]
    with pytest.raises(RunError, match="lower the rate"):
        execute(DEMO, "smoke", store=RunStore(tmp_path), overrides=wild)


def test_a_run_is_judged_again_without_training(tmp_path) -> None:
    store = RunStore(tmp_path)
    first = execute(DEMO, "smoke", store=store)
    fewer = replace(DEMO, claims=DEMO.claims[:1])
    seen: list[int] = []
    second = refresh(fewer, first.folder, lambda outcome, work: seen.append(len(outcome.claims)))
    assert [len(first.claims), len(second.claims), *seen] == [2, 1, 1]
    first.folder.verify()
    again = execute(fewer, "smoke", store=store)
    assert again.cached
    assert [claim.id for claim in again.claims] == [DEMO.claims[0].id]
    assert again.tables["losses"].equals(first.tables["losses"])


def test_version_is_part_of_the_identity() -> None:
    newer = replace(DEMO, version=DEMO.version + 1)
    assert newer.resolve("smoke")[2] != DEMO.resolve("smoke")[2]
