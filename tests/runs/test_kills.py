"""A run that is killed at any moment ends, when it goes on, as if nothing had happened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("kills.py")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")


def kills(*words: object) -> int:
    """Return before how many operations the run was killed."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, PROGRAM, *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_killed_while_it_is_sealed(tmp_path) -> None:
    assert kills(tmp_path, "tests/tiny", "run", "seal", 4) >= 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "start", "least"),
    [("run", "start", 30), ("run", "seal", 5), ("refresh", "start", 15), ("fresh", "start", 40)],
)
def test_killed_before_every_operation(tmp_path, what: str, start: str, least: int) -> None:
    assert kills(tmp_path, "tests/tiny", what, start) >= least


@pytest.mark.slow
def test_killed_while_a_trained_run_is_sealed(tmp_path) -> None:
    assert kills(tmp_path, "demo/two-hop", "run", "seal", 4) >= 8
