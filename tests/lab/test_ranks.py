"""The command line as torchrun starts it: two processes, of which the first one tells the other."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.lab.small import Trainings, trainings

from inweights.lab.collect import collect
from inweights.lab.planned import write_plan
from inweights.lab.store import Store


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*runs diverged")
@pytest.mark.parametrize(
    "settings", [Trainings(), Trainings(rate=1e30, phases=2)], ids=["converge", "diverge"]
)
def test_a_command_trains_on_two_processes_what_it_trains_on_one(
    tmp_path: Path, settings: Trainings
) -> None:
    """Where all diverge, too: no process leaves a training before the others."""
    plan, place = trainings(settings), str(tmp_path / "plan")
    made = write_plan(plan, range(2), place, plugins=["tests.lab.small"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    about = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    about |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    about |= {"TORCHELASTIC_RUN_ID": "test"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "inweights", "work", place],
            env=about | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
        )
        for rank in range(2)
    ]
    alone = collect(plan, range(2), Store(tmp_path / "alone"))
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert b"all is stored" in said[0]
    assert said[1] == b"", "the others say nothing"
    assert made.status().done == 1
    together = collect(plan, range(2), made.store)  # all of it is stored, and nothing is trained
    for name, table in alone.items():
        assert_frame_equal(together[name], table, abs_tol=1e-4)
    assert alone["losses"].select(pl.col("loss").is_finite().all()).item() == (settings.rate < 2)
