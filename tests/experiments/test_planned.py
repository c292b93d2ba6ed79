"""Plans and workers: each run is stored exactly once, whichever process dies."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path

import msgspec
import pytest
from tests.counting import lines_of
from tests.experiments.planning import stored_once, write
from tests.experiments.small import DRAWS, TRAININGS, Draws
from tests.waiting import wait_until

from inweights.actions import plans
from inweights.actions.plans import work
from inweights.actions.plans.files import Planned
from inweights.cli import main
from inweights.experiments.engine.attempts import task
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.executors.schedule import Schedule
from inweights.experiments.engine.executors.serialization import to_wire
from inweights.experiments.engine.job import Job
from inweights.runs.tables.files import Folder
from inweights.runs.tables.store import Store


def test_what_is_planned_and_done_is_what_one_process_makes(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(plans, "PART", 2)
    made = write(tmp_path / "p", TRAININGS)
    assert made.status().waiting == made.status().tasks == 1
    write(tmp_path / "q", seeds=5)
    other = Planned(str(tmp_path / "q"))
    assert other.about.parts == 3
    for one, recipe, seeds in ((made, TRAININGS, 6), (other, DRAWS, 5)):
        done = work(one)
        assert (done.done, done.failed, done.waiting) == (done.tasks, 0, 0)
        plan = recipe.plan(recipe.scales["smoke"])
        mine = collect(plan, range(seeds), one.store)
        alone = collect(plan, range(seeds), Store(tmp_path / "alone"))
        assert all(mine[name].equals(alone[name]) for name in alone)
        stored_once(one.store, seeds)
        assert not one.store.files.names("leases")


def test_what_fails_is_set_aside_and_tried_again_on_request(tmp_path) -> None:
    made = write(tmp_path / "p", settings=Draws(poison=3))
    status = work(made)
    assert (status.done, status.failed, status.waiting) == (5, 1, 0)
    (why,) = status.failures.values()
    assert "seed of trouble" in why.message
    assert "small.py, line" in why.message
    stamps = {
        name: Path(made.job.store, name).stat().st_mtime_ns
        for name in made.store.files.names("")
    }
    assert (
        work(Planned(made.place)).failed == 1
    )  # nothing is repeated unless it is requested
    again = Planned(made.place)
    again.forgive()
    assert again.status().waiting == 1
    assert work(again).failed == 1
    for name, stamp in stamps.items():
        assert Path(made.job.store, name).stat().st_mtime_ns == stamp


def test_what_another_worker_holds_is_left_to_it(tmp_path) -> None:
    made = write(tmp_path / "p", seeds=3)
    entry = made.index()[0]
    other = Planned(made.place, lease=20.0)
    with other.store.leases.hold(entry.key):
        now = made.status()
        assert (now.held, now.waiting) == (1, 2)
        assert sum(now.workers.values()) == 1
        mine = threading.Thread(target=work, args=(Planned(made.place, lease=20.0),))
        mine.start()
        wait_until(lambda: made.status().done == 2, unless=lambda: not mine.is_alive())
    mine.join()
    assert made.status().done == 3


def test_a_dead_worker_is_taken_over_by_one_that_has_processes(
    tmp_path, monkeypatch
) -> None:
    """Each attempt opens the store anew, as in another process, and knows no earlier look."""
    made = write(tmp_path / "p", seeds=2)
    assert made.store.leases._take(made.index()[0].key)[
        1
    ]  # and there is no further heartbeat

    class Others:
        def run(self, job: Job, schedule: Schedule) -> None:
            while schedule.left:
                if one := schedule.take():
                    line = json.dumps(msgspec.to_builtins(to_wire(one)))
                    schedule.ended(one, task.attempt_sent(job, line, print))
                else:
                    time.sleep(0.02)

    monkeypatch.setattr(plans, "choose_executor", lambda *_: Others())
    assert work(Planned(made.place, lease=0.6)).done == 2
    assert not made.store.files.names("leases")


def test_who_is_stopped_gives_back_what_its_processes_held(tmp_path) -> None:
    made = write(tmp_path / "p", seeds=3)
    entry = made.index()[-1]
    # The lease of a separate process that was killed.
    assert made.store.leases._take(entry.key)[1]
    other = Planned(made.place)
    other.store.leases._take(made.index()[0].key)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work(made, ExecutionOptions(progress=stop))
    assert list(made.store.leases.live()) == [made.index()[0].key]


@pytest.mark.slow
def test_the_work_of_planning_grows_with_the_trials_and_not_their_square(
    tmp_path,
) -> None:
    """The number of operations is counted; benchmarks/many_machines.py measures the time."""
    made = write(tmp_path / "p", seeds=1000)
    assert len(made.index()) == 1000
    assert made.about.parts == 5
    few, many = (
        lines_of(partial(write, tmp_path / str(n), seeds=n)) for n in (100, 200)
    )
    assert many < 3 * few


def test_commands(tmp_path, capsys, known) -> None:
    place = str(tmp_path / "plan")
    assert (
        main(
            [
                "plan",
                "tests/draws",
                "--out",
                place,
                "--seeds",
                "4",
                "--plugin",
                "tests.experiments.small",
            ]
        )
        == 0
    )
    assert "any number of machines" in capsys.readouterr().out
    assert main(["plan", "tests/draws", "--out", place]) == 2
    assert "already contains a plan" in capsys.readouterr().err
    assert main(["status", place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["waiting"] == 4
    assert main(["work", place]) == 0
    out = capsys.readouterr().out
    assert "4 of 4" in out
    command = out.strip().splitlines()[-1].split()
    assert command[:3] == ["inweights", "run", "tests/draws"]
    before = set(Path(place).rglob("*.parquet"))
    assert main([*command[1:], "--runs", str(tmp_path / "runs")]) == 0
    assert set(Path(place).rglob("*.parquet")) == before
    assert main(["status", str(tmp_path / "none")]) == 2
    assert "to create a plan" in capsys.readouterr().err
    bad = str(tmp_path / "bad")
    words = ["plan", "tests/draws", "--out", bad, "--seeds", "2", "--set", "poison=101"]
    assert main(words) == 2
    assert "name its module with --plugin" in capsys.readouterr().err
    assert main([*words, "--plugin", "tests.experiments.small"]) == 0
    assert main(["work", bad]) == 1
    assert "seed of trouble" in capsys.readouterr().out


def test_a_task_has_parts_for_each_of_its_runs(tmp_path, capsys) -> None:
    place = Path(write(tmp_path / "plan", TRAININGS, seeds=2).place)
    tasks = place / "tasks" / "00000.jsonl"
    task = json.loads(tasks.read_bytes().splitlines()[0])
    task["runs"] = task["runs"][:-1]
    tasks.write_text(json.dumps(task) + "\n")
    assert main(["work", str(place)]) == 2
    assert (
        "expected one list of parts for each of 1 runs, got 2"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("name", ["plan.json", "index.json", "tasks/00000.jsonl"])
@pytest.mark.parametrize(
    "damage", [None, b"[1]", b'{"parts": "\xff"}', b"[" * 100_000, b"null"]
)
def test_a_damaged_plan_is_told_in_a_line(tmp_path, capsys, name, damage) -> None:
    place = Path(write(tmp_path / "plan", seeds=1).place)
    (place / name).unlink()
    if damage is not None:
        (place / name).write_bytes(damage)
    words = ["status"] if name == "index.json" else ["work"]
    assert main([*words, str(place)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert name in said


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--jobs=-1", "jobs must be at least 1, got -1"),
        ("--device=cpx", "cpx"),
    ],
)
def test_a_worker_refuses_what_cannot_be(tmp_path, capsys, option, says) -> None:
    assert main(["work", write(tmp_path / "plan", seeds=1).place, option]) == 2
    assert says in capsys.readouterr().err


def operations(place: Path, tasks: int) -> dict[str, int]:
    """Count operations on files by step; a listing counts as the number of its files."""
    counts = Counter[str]()
    step = ""

    def counted(own):
        def call(self, *given, **named):
            found = own(self, *given, **named)
            counts[step] += 1 + (len(found) if isinstance(found, list) else 0)
            return found

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "PART", 2)
        patch.setattr(plans, "LISTED", 2)
        for name in ("names", "read", "_publish", "remove"):
            patch.setattr(Folder, name, counted(getattr(Folder, name)))
        step = "plan"
        made = write(place, seeds=tasks)
        step = "work"
        work(made)
        step = "list"
        assert made.status().done == tasks
        step = "merge"
        collect(DRAWS.plan(DRAWS.scales["smoke"]), range(tasks), made.store)
    return dict(counts)


def test_operations_on_files_grow_as_the_tasks(tmp_path) -> None:
    few, many = operations(tmp_path / "few", 20), operations(tmp_path / "many", 80)
    growth = {step: many[step] / few[step] for step in few}
    assert set(growth) == {"plan", "work", "list", "merge"}
    assert max(growth.values()) < 4.4, growth
