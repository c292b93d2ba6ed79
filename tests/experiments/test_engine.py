"""The engine: groups equal single runs, runs resume, and invalid input stores nothing."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.waiting import stamps, wait_for_a_write

from inweights.errors import ConfigError, DataError, FolderError, RunError
from inweights.experiments.engine import plan
from inweights.experiments.engine.attempts import blocks, task
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.engine import execute
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.outcome_files import derive_again, refresh
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask
from inweights.experiments.grammar.seed_choice import parse_seeds
from inweights.recipes import get_recipe
from inweights.runs import RunStore
from inweights.runs.tables.store import Store
from inweights.training.checkpoint import Checkpoint, ReplicaState

DEMO = get_recipe("demo/two-hop")


def same(one, other) -> bool:
    return set(one) == set(other) and all(
        one[name].equals(other[name], null_equal=True) for name in one
    )


def stored(root: Path) -> dict[Path, int]:
    return {p: p.stat().st_mtime_ns for p in root.glob("store/*/*/*.parquet")}


@pytest.mark.parametrize(
    "name",
    [
        "demo/two-hop",
        pytest.param("geometric-memory/fig25-31", marks=pytest.mark.slow),
        pytest.param("beyond/when-to-decay", marks=pytest.mark.slow),
    ],
)
def test_runs_are_equal_to_the_last_bit_alone_and_in_company(
    name, tmp_path, monkeypatch
) -> None:
    """The store relies on this: grouping affects the schedule but not a run's results."""
    recipe = get_recipe(name)
    whole = execute(recipe, "smoke", seeds=3, store=RunStore(tmp_path / "a"))
    monkeypatch.setattr(plan, "MAX_REPLICAS", 1)
    split = execute(recipe, "smoke", seeds=3, store=RunStore(tmp_path / "b"))
    assert same(whole.tables, split.tables)


@pytest.mark.slow
def test_groups_are_split_by_memory(tmp_path, monkeypatch, trained) -> None:
    execute(DEMO, "smoke", seeds=4, store=RunStore(tmp_path / "a"))
    whole = list(trained)
    trained.clear()
    monkeypatch.setattr(blocks, "MAX_BYTES", 1)
    execute(DEMO, "smoke", seeds=4, store=RunStore(tmp_path / "b"))
    assert set(trained) == {1}
    assert max(whole) >= 4
    assert sum(whole) == len(trained)


@pytest.mark.slow
def test_more_seeds_train_the_new_ones_alone(tmp_path) -> None:
    store = RunStore(tmp_path)
    few = execute(DEMO, "smoke", seeds=2, store=store)
    before = stored(tmp_path)
    more = execute(DEMO, "smoke", seeds=3, store=store)
    after = stored(tmp_path)
    assert all(after[path] == stamp for path, stamp in before.items())
    runs, more_runs = ({path.parent for path in paths} for paths in (before, after))
    assert 2 * len(more_runs - runs) == len(runs)
    alone = execute(DEMO, "smoke", seeds=3, store=RunStore(tmp_path / "other"))
    assert same(more.tables, alone.tables)
    old = more.tables["accuracy"].filter(pl.col("seed") < DEMO.first_seed + 2)
    assert old.equals(few.tables["accuracy"])


@pytest.mark.slow
def test_recipes_share_runs(tmp_path) -> None:
    store = RunStore(tmp_path)
    execute(DEMO, "smoke", store=store)
    before = stored(tmp_path)
    execute(replace(DEMO, name="mine/other", claims=()), "smoke", store=store)
    assert stored(tmp_path) == before
    newer = replace(DEMO, version=DEMO.version + 1)
    execute(newer, "smoke", store=store)
    assert len(stored(tmp_path)) == 2 * len(before)


def test_seeds_can_be_chosen(tmp_path) -> None:
    outcome = execute(DEMO, "smoke", seeds=(907, 5), store=RunStore(tmp_path))
    assert set(outcome.tables["accuracy"]["seed"]) == {907, 5}
    wrong: Any
    refused: list[tuple[Any, str]] = [
        ((), "at least one"),
        ((1, 1), "twice"),
        ((-1,), "from 0"),
        ((0.0,), "whole number, got 0.0"),
        ((False, 1), "whole number, got False"),
        (0, "least"),
    ]
    for wrong, match in refused:
        with pytest.raises(ConfigError, match=match):
            execute(DEMO, "smoke", seeds=wrong, store=RunStore(tmp_path))
    with pytest.raises(ConfigError, match=r"is a decreasing range; write 7\.\.9"):
        parse_seeds("9..7")
    with pytest.raises(ConfigError, match="at most"):
        execute(DEMO, "smoke", seeds=10**18, store=RunStore(tmp_path))


def test_interrupted_run_resumes_and_ends_alike(tmp_path) -> None:
    """After Ctrl-C within a group, finished groups are stored and the others are repeated."""
    store = RunStore(tmp_path)

    def stop(done: int, total: int, what: str) -> None:
        if done > 0.6 * total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(DEMO, "smoke", store=store, execution=ExecutionOptions(progress=stop))
    (folder,) = store
    assert not folder.complete
    stamps = stored(tmp_path)
    assert stamps
    outcome = execute(DEMO, "smoke", store=store)
    assert stamps.items() <= stored(tmp_path).items()
    fresh = execute(DEMO, "smoke", store=RunStore(tmp_path / "other"))
    assert not outcome.cached
    assert same(fresh.tables, outcome.tables)


def share(folder: str) -> None:
    """Run the program of each of two processes."""
    collect(DEMO.plan(DEMO.scales["smoke"]), range(4), Store(folder))


@pytest.mark.slow
def test_two_calls_of_one_plan_share_the_work(tmp_path, forks) -> None:
    """Two programs with one store wait for each other's tasks or take them over."""
    both = [
        forks.start("tests.experiments.test_engine:share", tmp_path / "shared")
        for _ in range(2)
    ]
    assert [process.wait() for process in both] == [0, 0]
    settings = DEMO.scales["smoke"]
    shared = collect(DEMO.plan(settings), range(4), Store(tmp_path / "shared"))
    alone = collect(DEMO.plan(settings), range(4), Store(tmp_path / "alone"))
    assert same(shared, alone)


@pytest.mark.slow
def test_a_process_that_dies_is_begun_again_and_then_told(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(RunError, match=r"3 processes that worked on it"):
        execute(
            DEMO, "smoke", store=RunStore(tmp_path), execution=ExecutionOptions(jobs=2)
        )


#: Enough steps that no group of replicas ends before the last kill: 14 writes, one every
#: 7 steps.
LONG = ["gpt.phase.steps=120", "emb_mlp.steps=120"]


class Stalling(Checkpoint):
    """A checkpoint that waits to be killed after some writes, so that no run ends earlier."""

    def __init__(self, *given: Any, writes: int, **options: Any) -> None:
        super().__init__(*given, **options)
        self.left = writes

    def write(self, state: ReplicaState) -> None:
        super().write(state)
        self.left -= 1
        if not self.left:
            threading.Event().wait()


def train_long(folder: str, writes: str = "-1") -> None:
    """Train with frequent checkpoints in a process that is killed."""
    vars(task)["Checkpoint"] = partial(Stalling, every_steps=7, writes=int(writes))
    execute(
        DEMO,
        "smoke",
        store=RunStore(folder),
        overrides=LONG,
        execution=ExecutionOptions(jobs=1),
    )


@pytest.mark.slow
def test_killed_run_resumes_from_its_checkpoint(tmp_path, forks) -> None:
    """A group that is killed during training ends with bitwise equal results."""
    store = RunStore(tmp_path)
    _, _, config = DEMO.resolve("smoke", overrides=LONG)
    folder = store.folder(DEMO.name, config)
    unfinished = tmp_path / "store" / "unfinished"
    for writes in (1, 4, 9):
        before = stamps(unfinished, "*/state")
        process = forks.start(
            "tests.experiments.test_engine:train_long", tmp_path, writes
        )
        wait_for_a_write(unfinished, "*/state", before, process.end)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert stamps(unfinished, "*/state")
        assert not folder.complete
    process = forks.start("tests.experiments.test_engine:train_long", tmp_path)
    assert process.wait() == 0, process.output
    assert folder.complete
    assert not list(unfinished.glob("*"))
    fresh = execute(DEMO, "smoke", store=RunStore(tmp_path / "other"), overrides=LONG)
    assert same(folder.tables(), fresh.tables)


@pytest.mark.slow
def test_a_damaged_checkpoint_starts_again_and_ends_alike(
    tmp_path, monkeypatch
) -> None:
    store = RunStore(tmp_path)
    overrides = ["gpt.phase.steps=40", "emb_mlp.steps=5"]
    checkpoint = task.Checkpoint  # type: ignore[attr-defined]
    monkeypatch.setattr(
        task, "Checkpoint", lambda path, **more: checkpoint(path, every_steps=7, **more)
    )

    def stop(done: int, total: int, what: str) -> None:
        if list(tmp_path.glob("store/unfinished/*/state")):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(
            DEMO,
            "smoke",
            store=store,
            overrides=overrides,
            execution=ExecutionOptions(progress=stop),
        )
    (state,) = tmp_path.glob("store/unfinished/*/state")
    data = bytearray(state.read_bytes())
    data[len(data) // 2] ^= 4
    state.write_bytes(data)
    outcome = execute(DEMO, "smoke", store=store, overrides=overrides)
    alone = execute(
        DEMO, "smoke", store=RunStore(tmp_path / "other"), overrides=overrides
    )
    assert same(outcome.tables, alone.tables)


def test_bad_settings_leave_no_folder(tmp_path) -> None:
    store = RunStore(tmp_path)
    with pytest.raises(ConfigError, match="n must be at least 2"):
        execute(DEMO, "smoke", store=store, overrides=["n=1"])
    with pytest.raises(DataError, match="Known: first_hop, identity, second_hop"):
        execute(
            DEMO, "smoke", store=store, overrides=["gpt.phase.roles={firsthop=1.0}"]
        )
    assert list(store) == []


def test_settings_may_be_a_mapping(tmp_path) -> None:
    outcome = execute(
        DEMO,
        "smoke",
        store=RunStore(tmp_path),
        overrides={"gpt": {"phase": {"steps": 2}}, "n": 3},
    )
    assert outcome.overrides == ("gpt.phase.steps=2", "n=3")
    again = execute(
        DEMO, "smoke", store=RunStore(tmp_path), overrides=list(outcome.overrides)
    )
    assert again.cached


def test_full_disk_says_so_and_can_be_resumed(tmp_path, monkeypatch) -> None:
    store = RunStore(tmp_path)

    def full(self, *args: object, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(RunError, match="No space left on device"):
            execute(DEMO, "smoke", store=store)
    assert execute(DEMO, "smoke", store=store).folder.complete


@pytest.mark.slow
def test_a_run_that_diverged_is_told_and_not_judged(tmp_path) -> None:
    wild = [
        "gpt.phase.optimizer.kind=sgd",
        "gpt.phase.optimizer.rate=1e30",
        "gpt.phase.steps=60",
    ]
    with pytest.warns(UserWarning, match="runs diverged.*lower the rate"):
        outcome = execute(DEMO, "smoke", store=RunStore(tmp_path), overrides=wild)
    assert outcome.folder.complete
    assert {claim.why[1:] for claim in outcome.claims} == {
        " of its runs diverged: their numbers are meaningless"
    }


def test_a_run_is_judged_again_without_training(tmp_path) -> None:
    store = RunStore(tmp_path)
    first = execute(DEMO, "smoke", store=store)
    fewer = replace(DEMO, claims=DEMO.claims[:1])
    seen: list[int] = []
    second = refresh(
        fewer, first.folder, lambda outcome, work: seen.append(len(outcome.claims))
    )
    assert [len(first.claims), len(second.claims), *seen] == [2, 1, 1]
    first.folder.verify()
    again = execute(fewer, "smoke", store=store)
    assert again.cached
    assert [claim.id for claim in again.claims] == [DEMO.claims[0].id]
    assert again.tables["losses"].equals(first.tables["losses"])


def test_tables_are_derived_again_from_those_of_single_runs(tmp_path) -> None:
    """They are not derived from already derived tables, as an earlier version stored."""
    name = next(iter(DEMO.plan(DEMO.scales["smoke"]).measures)).name
    doubled = replace(DEMO, derive=lambda tables: {name: pl.concat([tables[name]] * 2)})
    first = execute(doubled, "smoke", store=RunStore(tmp_path / "new"))
    again = refresh(doubled, first.folder)
    assert again.tables[name].equals(first.tables[name])
    assert refresh(doubled, first.folder).tables[name].equals(first.tables[name])
    with pytest.raises(
        FolderError, match="their data are derived; run the recipe again with --fresh"
    ):
        derive_again(replace(first, replaced={}))


def test_version_is_part_of_the_identity() -> None:
    newer = replace(DEMO, version=DEMO.version + 1)
    assert newer.resolve("smoke")[2] != DEMO.resolve("smoke")[2]


def test_no_world_and_no_model_is_built_to_plan_ten_thousand_trials(
    monkeypatch,
) -> None:
    recipe = get_recipe("identity-bridge/fig2")
    settings = recipe.scales["cpu"]
    plan = recipe.plan(settings)
    for kind in {
        type(part) for trial in plan.trials for part in (trial.world, trial.model)
    }:
        monkeypatch.delattr(kind, "build")
    seeds = -(-10_000 // len(plan.trials))
    work = expand_plan(plan, range(seeds))
    tasks = tasks_of(work, lambda owner, part: True)
    assert len(work.runs) == seeds * len(plan.trials) >= 10_000
    assert sum(len(one.runs) for one in tasks if isinstance(one, LearnTask)) == len(
        work.runs
    )
