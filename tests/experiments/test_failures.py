"""Losses after failures: each failure is caused, and its effect is checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from tests.experiments.small import DRAWS, TRAININGS, Draws, Trainings

import inweights as iw
from inweights.cli import main
from inweights.errors import ConfigError, RunError
from inweights.experiments.engine.attempts import task
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.executors.serialization import to_wire
from inweights.experiments.engine.job import Job
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.runs.tables.store import Store

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("worker_kills.py")


def test_memory_that_is_full_is_known_from_its_errors() -> None:
    for allocate in (lambda: torch.empty(2**50), lambda: np.empty(2**52)):
        with pytest.raises((RuntimeError, MemoryError)) as caught:
            allocate()
        assert task._is_memory(caught.value)
    assert not task._is_memory(RuntimeError("shapes do not fit"))


def test_where_the_memory_is_full_half_of_the_runs_are_tried(tmp_path) -> None:
    """A probe requests a petabyte for each replica beyond the first."""
    plan = TRAININGS.plan(Trainings(hungry=True))
    tables = collect(plan, range(4), Store(tmp_path / "a"))
    alone = collect(TRAININGS.plan(Trainings()), range(4), Store(tmp_path / "b"))
    assert tables["accuracy"].equals(alone["accuracy"])
    assert tables["hungry"].height == 4


def test_an_error_costs_its_own_task_alone_and_is_tried_again(
    tmp_path, capsys, known
) -> None:
    words = ["run", "tests/draws", "--seeds", "5", "--set", "poison=102", "--jobs", "1"]
    words += ["--runs", str(tmp_path)]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "1 of 5 tasks failed" in said
    assert "seed of trouble" in said
    assert "Traceback" not in said
    stamps = {
        path: path.stat().st_mtime_ns for path in tmp_path.glob("store/*/*/*.parquet")
    }
    assert len(stamps) == 4
    assert main(words) == 1
    assert "seed of trouble" in capsys.readouterr().err
    assert {
        p: p.stat().st_mtime_ns for p in tmp_path.glob("store/*/*/*.parquet")
    } == stamps


def test_a_machine_with_another_version_does_nothing(tmp_path) -> None:
    plan = DRAWS.plan(Draws())
    (one,) = tasks_of(expand_plan(plan, [0]), lambda *_: True)
    job = Job(
        store=str(tmp_path), plugins=("tests.experiments.small",), version="0.0.1"
    )
    line = msgspec.json.encode(to_wire(one)).decode()
    end = task.attempt_sent(job, line, print)
    assert (end.how, end.error) == ("failed", ConfigError.__name__)
    assert "created by 0.0.1" in end.message
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
def test_random_kills_of_workers(tmp_path) -> None:
    """The short form with short pauses; the long form has 50 kills.

    ``python tests/experiments/worker_kills.py FOLDER 50 100``.
    """
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, PROGRAM, tmp_path, "5", "12", "0", "0.4"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) == 5


def fails_at_one(seed: int, rate: float) -> dict[str, float]:
    if rate == 0.2 and seed == 1:
        raise KeyError("boom")
    return {"score": rate}


def test_a_failed_task_is_named_once_with_settings_and_seed(tmp_path) -> None:
    with pytest.raises(RunError) as raised:
        iw.sweep(
            fails_at_one,
            over={"rate": [0.1, 0.2]},
            seeds=2,
            runs=tmp_path,
            progress=False,
        )
    said = str(raised.value)
    assert said.count("rate=0.2, seed 1: KeyError: 'boom' (test_failures.py, line") == 1
    assert said.count("rate=0.2") == 1
