"""The remaining time is corrected as tasks run; all clocks in these tests are simulated."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

import inweights as iw
from inweights.experiments.engine.executors import schedule as schedules
from inweights.experiments.engine.executors.endings import End
from inweights.experiments.engine.executors.expected import (
    Expected,
    ExpectedTime,
    by_updates,
)
from inweights.experiments.engine.executors.schedule import Schedule
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import LearnTask, Task
from inweights.experiments.grammar.trial import Plan, Trial
from inweights.experiments.studies import cost, timed_runs
from inweights.experiments.studies.part_steps import Tried
from inweights.support.progress import Activity, time_left


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


#: Seconds of ten tasks of two kinds; the estimates were wrong by a factor for each kind.
REAL = {f"{kind}{i}": 30.0 * (i + 1) for kind in "ab" for i in range(5)}


@pytest.mark.parametrize(("of_a", "of_b"), [(2.5, 2.5), (0.4, 0.4), (3.0, 2.2)])
def test_the_estimate_is_within_a_factor_after_the_first_minute(of_a, of_b) -> None:
    clock = Clock()
    whole = ExpectedTime(clock)
    wrong = {"a": of_a, "b": of_b}
    for name, seconds in REAL.items():
        kind = name[0]
        whole.add(name, kind=kind, seconds=seconds / wrong[kind], measured=True)
    assert whole.left is None
    left = sum(REAL.values())
    for name, seconds in REAL.items():
        whole.begin(name)
        for _ in range(30):
            clock.now += seconds / 30
            left -= seconds / 30
            whole.report(name, whole._parts[name].share + 1 / 30)
            if clock.now >= 60:
                assert whole.left == pytest.approx(left, rel=0.5, abs=1e-6)
    assert whole.left == pytest.approx(0.0, abs=1e-6)
    assert whole.seconds == pytest.approx(sum(REAL.values()))


def test_tasks_side_by_side_leave_less_time() -> None:
    clock = Clock()
    whole = ExpectedTime(clock)
    for name in "abcd":
        whole.add(name, kind=None, seconds=1.0)
    whole.begin("a")
    whole.begin("b")
    clock.now = 10.0
    whole.report("a", 1.0)
    whole.report("b", 1.0)
    assert whole.seconds == pytest.approx(40.0)
    assert whole.left == pytest.approx(10.0)  # two tasks at a time
    assert whole.correction is None  # the unit is updates, not seconds


def test_a_first_step_says_nothing_of_the_others() -> None:
    clock = Clock()
    whole = ExpectedTime(clock)
    whole.add("a", kind=None, seconds=100.0, measured=True)
    whole.begin("a")
    clock.now = 5.0  # the first step loads and builds what it needs
    whole.report("a", 0.001)
    assert whole.seconds == pytest.approx(100.0)
    clock.now = 15.0
    whole.report("a", 0.1)
    assert whole.seconds == pytest.approx(150.0)


def test_another_attempt_goes_on_where_the_first_ended() -> None:
    clock = Clock()
    whole = ExpectedTime(clock)
    whole.add("a", kind=None, seconds=1.0)
    whole.begin("a")
    clock.now = 10.0
    whole.report("a", 0.5)
    clock.now = 100.0  # no process worked on it
    whole.begin("a")
    clock.now = 105.0
    whole.report("a", 0.75)
    assert whole.seconds == pytest.approx(20.0)


def test_progress_says_the_time_that_is_left(monkeypatch) -> None:
    """Small models run first; by updates, the others would seem to take almost no time."""
    clock = Clock()
    monkeypatch.setattr(schedules, "time", clock)
    monkeypatch.setattr(schedules, "ExpectedTime", lambda: ExpectedTime(clock))
    small, large = iw.EmbMLPConfig(width=4), iw.EmbMLPConfig(width=64)
    seconds = {repr(small): 20.0, repr(large): 1000.0}
    tasks = tasks_for(small, large)
    heard: list[Activity] = []

    def progress(_done: int, _total: int, what: str) -> None:
        assert isinstance(what, Activity)
        heard.append(what)

    def of(task: Task) -> float:
        assert isinstance(task, LearnTask)
        return seconds[repr(task.runs[0].trial.model)]

    def expect(given: Sequence[Task]) -> list[Expected]:
        found = zip(given, by_updates(given), strict=True)
        return [Expected(one.kind, of(task) / 2, measured=True) for task, one in found]

    schedule = Schedule(tasks, progress, expect=expect)
    while task := schedule.take():
        for step in range(1, task.steps + 1):
            clock.now += of(task) / task.steps
            schedule.report(task, step)
        schedule.ended(task, End("done"))
    first = heard[0]
    assert first.left == pytest.approx(1020.0, rel=0.05)
    assert first.correction == pytest.approx(2.0)
    assert first.time_left.endswith("left, 2.0 times the estimate")
    assert heard[-1].left == pytest.approx(0.0)


def tasks_for(*models: iw.EmbMLPConfig) -> list[Task]:
    learner = iw.Curriculum(phases=(iw.Phase(steps=10),))
    world = iw.TwoHop(n=3)
    trials = [
        Trial(world=world, model=model, learner=learner, labels={}) for model in models
    ]
    plan = Plan(trials=trials)
    return tasks_of(expand_plan(plan, [0, 1]), lambda *_: True)


def test_small_work_is_not_timed_before_it_begins(monkeypatch) -> None:
    tried = itertools.count()

    def try_one(task, *_):
        next(tried)
        return Tried(seconds=100.0 * task.steps, memory=1)

    monkeypatch.setattr(timed_runs, "_try", try_one)
    tasks = tasks_for(iw.EmbMLPConfig(width=4), iw.EmbMLPConfig(width=64))
    assert cost.expected_seconds(tasks) == by_updates(tasks)
    assert next(tried) == 0
    monkeypatch.setattr(cost, "WORTH_TIMING", 0.0)
    found = cost.expected_seconds(tasks)
    assert [one.seconds for one in found] == [100.0 * task.steps for task in tasks]
    assert all(one.measured for one in found)
    monkeypatch.setattr(timed_runs, "_try", lambda *_: 1 / 0)
    assert cost.expected_seconds(tasks) == by_updates(tasks)


def test_only_what_knows_of_no_time_has_that_of_its_share() -> None:
    assert time_left("a text", 60.0) == ", about 1 min 0 s left"
    assert time_left("a text", None) == ""
    assert time_left(Activity("a task"), 60.0) == ""
    assert time_left(Activity("a task", left=5.0), 60.0) == ", about 5 s left"
