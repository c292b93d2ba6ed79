"""The command line as torchrun starts it: two processes, of which the first one tells the other."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.experiments.small import Trainings, trainings
from tests.forks import Forks

from inweights.actions.plans import write_plan
from inweights.cli import main
from inweights.experiments.engine.collect import collect
from inweights.runs.tables.store import Store


def command(*words: str) -> None:
    """Run the command line in a separate process."""
    assert main(list(words)) == 0


def two_ranks(monkeypatch: pytest.MonkeyPatch, forks: Forks, *words: str) -> list[Any]:
    """Start a command in two processes, as torchrun does, and return the processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    about = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    for name, value in {**about, "TORCHELASTIC_RUN_ID": "test"}.items():
        monkeypatch.setenv(name, value)
    processes = []
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("LOCAL_RANK", rank)
        processes.append(forks.start("tests.experiments.test_ranks:command", *words))
    monkeypatch.undo()
    return processes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*runs diverged")
def test_a_command_on_two_processes_where_all_runs_diverge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forks: Forks
) -> None:
    """Both processes finish a training in which all runs diverge, and store its tables."""
    plan, place = trainings(Trainings(rate=1e30, phases=2)), str(tmp_path / "plan")
    made = write_plan(plan, range(2), place, plugins=["tests.experiments.small"])
    processes = two_ranks(monkeypatch, forks, "work", place)
    alone = collect(plan, range(2), Store(tmp_path / "alone"))
    assert [process.wait() for process in processes] == [0, 0]
    assert "all tasks are done" in processes[0].output
    assert processes[1].output == "", "the others say nothing"
    assert made.status().done == 1
    # All tables are stored, so that this call trains nothing.
    together = collect(plan, range(2), made.store)
    for name, table in alone.items():
        assert_frame_equal(together[name], table, abs_tol=1e-4)
    assert not alone["losses"].select(pl.col("loss").is_finite().all()).item()
