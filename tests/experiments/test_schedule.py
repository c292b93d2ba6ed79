"""The reaction to the end of an attempt, for all executors."""

from __future__ import annotations

import pytest
from tests.experiments.small import DRAWS, TRAININGS

from inweights.errors import ConfigError, RunError, WriteError
from inweights.experiments.engine.executors.endings import End, Failure
from inweights.experiments.engine.executors.schedule import (
    ATTEMPTS,
    BusyTasks,
    Schedule,
)
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask, halves


def tasks(recipe, seeds):
    plan = recipe.plan(recipe.scales["smoke"])
    return tasks_of(expand_plan(plan, range(seeds)), lambda *_: True)


@pytest.fixture
def group() -> LearnTask:
    (task,) = tasks(TRAININGS, 5)
    return task


def test_halves_have_all_runs_and_their_tables(group) -> None:
    first, second = halves(group)
    assert first.runs + second.runs == group.runs
    assert first.wanted + second.wanted == group.wanted
    assert first.measures == second.measures == group.measures
    (single,) = tasks(TRAININGS, 1)
    assert halves(single) == [single]
    (one,) = tasks(DRAWS, 1)
    assert halves(one) == [one]


def drain(schedule: Schedule, end_of) -> list[int]:
    """End every attempt as specified, and return the sizes of the groups that were tried."""
    sizes = []
    while task := schedule.take():
        sizes.append(len(getattr(task, "runs", [0])))
        schedule.ended(task, end_of(task))
    return sizes


def test_out_of_memory_halves_until_it_fits(group) -> None:
    schedule = Schedule([group])
    fits = lambda task: End("done") if len(task.runs) <= 2 else End("memory")  # noqa: E731
    assert drain(schedule, fits) == [5, 2, 3, 1, 2]
    assert schedule.left == 0
    schedule.finish()


def test_a_run_that_kills_its_process_is_found_and_the_others_go_on(group) -> None:
    bad = group.runs[3].key

    def end_of(task: LearnTask) -> End:
        hit = any(run.key == bad for run in task.runs)
        return End("killed", message="ended with code -9") if hit else End("done")

    schedule = Schedule([group])
    sizes = drain(schedule, end_of)
    assert schedule.left == 0
    # Groups of 5, 3, 2 and 1 runs, each three times.
    assert schedule.done == len(sizes) - ATTEMPTS * 4
    (failure,) = schedule.failures
    assert [run.key for run in failure.task.runs] == [bad]
    with pytest.raises(
        RunError, match=r"1 of \d+ tasks failed.*3 processes that worked on it"
    ):
        schedule.finish()


def test_a_kill_counts_only_where_nothing_was_gained(group) -> None:
    """Preemptible machines do not use up the attempts of a long training run."""
    schedule = Schedule([group])
    for step in range(10, 10 * (2 * ATTEMPTS), 10):
        task = schedule.take()
        assert task is group
        schedule.report(task, step)
        schedule.ended(task, End("killed"))
    assert schedule.left == 1
    assert not schedule.failures


def test_an_error_sets_one_task_aside(group) -> None:
    others = tasks(DRAWS, 3)
    schedule = Schedule([group, *others])
    error = End("failed", "DataError", "no such role")
    drain(schedule, lambda task: error if task is group else End("done"))
    assert schedule.done == 3
    with pytest.raises(Exception, match=r"1 of 4 tasks failed.*no such role") as caught:
        schedule.finish()
    assert type(caught.value).__name__ == "DataError"


def test_errors_of_one_class_stay_what_they_are() -> None:
    schedule = Schedule(tasks(DRAWS, 3))
    drain(schedule, lambda _: End("failed", "ConfigError", "width is at least 1"))
    with pytest.raises(
        ConfigError, match=r"width is at least 1 \(2 more tasks failed\)"
    ):
        schedule.finish()


def test_a_full_disk_stops_all() -> None:
    schedule = Schedule(tasks(DRAWS, 3))
    task = schedule.take()
    assert task
    with pytest.raises(WriteError, match="No space"):
        schedule.ended(task, End("failed", "WriteError", "No space left"))


def test_progress_counts_each_task_once_however_it_is_split(group) -> None:
    seen: list[tuple[int, int, str]] = []
    schedule = Schedule([group], lambda *now: seen.append(now), before=7)
    drain(schedule, lambda task: End("done") if len(task.runs) <= 2 else End("memory"))
    assert seen[-1][:2] == (7 + group.steps, 7 + group.steps)
    assert {total for _, total, _ in seen} == {7 + group.steps}


def test_further_tasks_are_read_when_none_waits(group) -> None:
    read: list[int] = []

    def blocks():
        for part in halves(group):
            read.append(len(part.runs))
            yield [part]

    failed: list[Failure] = []
    schedule = Schedule([], more=blocks(), on_failure=failed.append)
    assert (schedule.left, read) == (1, [])
    first = schedule.take()
    assert first
    assert (first, schedule.left, read) == (halves(group)[0], 2, [2])
    schedule.ended(first, End("failed", message="no"))
    assert failed == schedule.failures
    assert drain(schedule, lambda _: End("done")) == [3]
    assert (schedule.left, schedule.done) == (0, 1)


def test_what_others_hold_is_tried_later(group) -> None:
    waits = Schedule([group], busy=BusyTasks(30.0))
    assert drain(waits, lambda _: End("busy")) == [5]
    assert (waits.left, waits.take()) == (1, None)


def test_what_others_hold_is_tried_again_when_it_is_free(group) -> None:
    asked: list[str] = []

    def free(key: str) -> bool:
        asked.append(key)
        return len(asked) == 3

    schedule = Schedule([group], busy=BusyTasks(0.0, free))
    assert [schedule.take()] == [group]
    schedule.ended(group, End("busy"))
    assert [schedule.take() for _ in range(4)] == [None, None, group, None]
    assert asked == [group.key] * 3
