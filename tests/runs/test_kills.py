"""A run that is killed at any moment ends, when it goes on, as if nothing had happened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("kills.py")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")


def kills(*words: object, program: Path = PROGRAM) -> int:
    """Return before how many operations the run was killed."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, program, *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[0])


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


@pytest.mark.slow
@pytest.mark.parametrize("how", ["full", "fault"])
@pytest.mark.parametrize(("what", "least"), [("run", 20), ("refresh", 10)])
def test_the_disk_fails_at_every_operation(tmp_path, what: str, how: str, least: int) -> None:
    """A full disk, and one that fails once: one line, and when it goes on nothing is missing."""
    assert kills(tmp_path, "tests/tiny", what, "start", 2, how) >= least


@pytest.mark.slow
def test_killed_at_random_moments_alone_and_in_pairs(tmp_path) -> None:
    program = PROGRAM.with_name("random_kills.py")
    assert kills(tmp_path, "tests/tiny", 12, program=program) >= 12


@pytest.mark.slow
def test_edits_of_what_is_stored_are_noticed_or_harmless(tmp_path) -> None:
    """The short form; ``edits.py FOLDER 200`` is the long one."""
    assert kills(tmp_path, 9, program=PROGRAM.with_name("edits.py")) == 9
