"""The contract of executors: one test case, which each executor inherits."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
from collections import Counter
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.experiments.small import DRAWS, TRAININGS, Draws, Trainings
from tests.forks import Child, Forks
from tests.waiting import wait_until

from inweights.actions.plans import work, write_plan
from inweights.actions.plans.files import Planned
from inweights.errors import RunError
from inweights.experiments import Plan
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.executors.processes import (
    Executor,
    Leased,
    Processes,
    SameProcess,
)
from inweights.experiments.engine.executors.ray import Ray
from inweights.experiments.engine.executors.torchrun import Leader, joined
from inweights.runs.tables.store import Store
from inweights.training import Observer

PLUGINS = ("tests.experiments.small",)
SEEDS, LEASE = 3, 2.0


def plan_of(words: str) -> Plan:
    """Return a plan of training runs and draws from settings in JSON."""
    about = json.loads(words)
    trainings, drawn = TRAININGS.plan(Trainings(**about["trainings"])), about["draws"]
    computations = DRAWS.plan(Draws(**drawn)).computations if drawn is not None else ()
    return Plan(
        trials=trainings.trials, measures=trainings.measures, computations=computations
    )


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


class Heard(Observer):
    """Observer that records its notifications."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._file = Path(folder, f"heard-{os.getpid()}")

    def measured(self, name: str, table: pl.DataFrame) -> None:
        labels = [one for one in ("n", "seed") if one in table.columns]
        with self._file.open("a") as file:
            file.writelines(
                f"{[name, *row]}\n" for row in table.select(labels).unique().rows()
            )


def drive(way: str, folder: str, words: str) -> None:
    """Run a plan with one executor, and print the progress and the failures."""
    log = logging.FileHandler(f"{folder}/log-{os.getpid()}")
    logging.getLogger("inweights").addHandler(log)
    logging.getLogger("inweights").setLevel(logging.INFO)
    observers = (Heard(folder),)

    def progress(done: int, total: int, _: str) -> None:
        say(json.dumps([done, total]))

    if way == "Leased":
        execution = ExecutionOptions(progress=progress, observers=observers)
        status = work(Planned(f"{folder}/plan", LEASE), execution)
        for why in status.failures.values():
            say(why.message)
        return
    ways: dict[str, Executor] = {
        "SameProcess": SameProcess(),
        "Processes": Processes(2),
        "Ray": Ray("", 2),
    }
    execution = ExecutionOptions(
        executor=ways.get(way), plugins=PLUGINS, progress=progress, observers=observers
    )
    with joined() if way == "Leader" else nullcontext(True) as first:
        if first:
            try:
                collect(
                    plan_of(words), range(SEEDS), Store(f"{folder}/store"), execution
                )
            except RunError as error:
                say(error)


class Refuses:
    """An executor that must not be used, because everything is stored."""

    def run(self, job: object, schedule: object) -> None:
        raise AssertionError("work that was done is done again")


class ExecutorCase:
    """The contract of an executor: tables, errors, kills, progress.

    Attributes:
        executor: The class that is tested.
        again: Whether the same command has to be repeated after a worker was killed.
        tolerance: Permitted difference from the results of one process, for executors
            that sum in a different order.
    """

    executor: ClassVar[type]
    again = False
    tolerance = 0.0

    @pytest.fixture(autouse=True)
    def here(
        self, tmp_path: Path, forks: Forks, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder, self.forks, self.patch = tmp_path, forks, monkeypatch
        self.store = Store(tmp_path / "store")

    def begin(self, words: str, workers: int = 1) -> list[Child]:
        """Start the processes that a user, or the user's tool, would start."""
        return [
            self.forks.start(
                "tests.experiments.test_executors:drive",
                self.executor.__name__,
                self.folder,
                words,
            )
        ]

    def stored(self) -> dict[Path, int]:
        return {
            path: path.stat().st_mtime_ns
            for path in self.folder.glob("store/*/*/*.parquet")
        }

    def check(self, words: str, runs: int) -> None:
        """Check that each table is stored once and equals that of a single process."""
        plan = plan_of(words)
        names = Counter(
            (p.parent.name, p.name.rpartition("-")[0]) for p in self.stored()
        )
        assert set(names.values()) == {1}
        assert len({owner for owner, _ in names}) == runs
        mine = collect(
            plan, range(SEEDS), self.store, ExecutionOptions(executor=Refuses())
        )
        alone = collect(plan, range(SEEDS), Store(self.folder / "alone"))
        assert set(mine) == set(alone)
        exact = not self.tolerance
        for name, table in alone.items():
            assert_frame_equal(
                mine[name], table, check_exact=exact, abs_tol=self.tolerance
            )

    def test_tables_and_progress(self) -> None:
        words = json.dumps({"trainings": {"steps": 400, "kinds": 2}, "draws": {}})
        children = self.begin(words)
        assert [child.wait() for child in children] == [0] * len(children)
        seen = [json.loads(line) for line in children[0].output.splitlines()]
        done = [now for now, _ in seen]
        steps = plan_of(words).computations[0].effort
        assert done == sorted(done)
        assert seen[-1] == [SEEDS * (2 * 400 + steps)] * 2
        assert len(set(done)) >= 2 + SEEDS, "of every task, when it is done"
        self.check(words, runs=3 * SEEDS)
        assert "training: finished" in self.written("log")
        trained = [["accuracy", n, s] for n in (4, 5) for s in range(SEEDS)]
        losses = [["losses", *labels] for _, *labels in trained]
        expected = [*trained, *losses, *(["x", s] for s in range(SEEDS))]
        assert sorted(self.written("heard").splitlines()) == sorted(map(str, expected))

    def written(self, what: str) -> str:
        """Return the output of all processes that a user would start."""
        return "".join(path.read_text() for path in self.folder.glob(f"{what}-*"))

    def test_an_error_is_passed_on_and_costs_its_own_task_alone(self) -> None:
        words = json.dumps({"trainings": {}, "draws": {"poison": 1}})
        children = self.begin(words)
        assert [child.wait() for child in children] == [0] * len(children)
        assert "seed of trouble" in children[0].output
        assert len({path.parent for path in self.stored()}) == 2 * SEEDS - 1

    def test_a_kill_is_survived_and_nothing_is_made_twice(self) -> None:
        tickets = self.folder / "tickets"
        tickets.mkdir()
        given = {"kinds": 3, "tickets": str(tickets)}
        words = json.dumps({"trainings": given, "draws": None})
        children = self.begin(words, workers=2)
        (tickets / "first").touch()
        wait_until(self.stored)
        waiting = lambda: list(self.folder.glob("waits-*"))  # noqa: E731
        wait_until(lambda: not list(tickets.iterdir()) and waiting())
        done = self.stored()
        victim = int(waiting()[0].name.partition("-")[2])
        os.kill(victim, signal.SIGKILL)
        if self.again:
            for (
                child
            ) in children:  # of several joined processes, none outlives the others
                child.kill()
                child.wait()
            children = self.begin(words)
        for ticket in range(20):
            (tickets / str(ticket)).touch()
        lost = [child.number for child in children].count(victim)
        assert sorted(child.wait() for child in children)[lost:] == [0] * (
            len(children) - lost
        )
        assert done
        assert done.items() <= self.stored().items(), "what was done is done again"
        self.check(words, runs=3 * SEEDS)


class TestSameProcess(ExecutorCase):
    executor = SameProcess
    again = True


@pytest.mark.slow
class TestProcesses(ExecutorCase):
    executor = Processes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # a warning of Ray about itself
@pytest.mark.usefixtures("home")
class TestRay(ExecutorCase):
    executor = Ray


@pytest.mark.slow
class TestLeader(ExecutorCase):
    executor = Leader
    again = True
    tolerance = 1e-4

    def begin(self, words: str, workers: int = 1) -> list[Child]:
        """Start two processes with the environment variables of torchrun."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        about = {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "WORLD_SIZE": "2",
        }
        children = []
        for rank in "01":
            with self.patch.context() as patch:
                own = {"TORCHELASTIC_RUN_ID": "test", "RANK": rank, "LOCAL_RANK": rank}
                for name, value in (about | own).items():
                    patch.setenv(name, value)
                children += super().begin(words)
        return children


@pytest.mark.slow
class TestLeased(ExecutorCase):
    executor = Leased

    def begin(self, words: str, workers: int = 1) -> list[Child]:
        """Start workers of a plan, as on several machines."""
        place, store = str(self.folder / "plan"), str(self.folder / "store")
        write_plan(plan_of(words), range(SEEDS), place, store=store, plugins=PLUGINS)
        return [
            child for _ in range(workers) for child in ExecutorCase.begin(self, words)
        ]


def test_every_way_of_running_tasks_is_held_to_the_contract() -> None:
    modules = [
        import_module(f"inweights.experiments.engine.executors.{name}")
        for name in ("processes", "ray", "torchrun")
    ]
    ways = {
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and hasattr(one, "run") and one is not Executor
    }
    assert ways == {case.executor for case in ExecutorCase.__subclasses__()}
