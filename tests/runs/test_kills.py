"""A run that is killed at any moment ends, when it goes on, as if nothing had happened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.forks import Forks

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs a system that can fork"
)


def kills(forks: Forks, program: str, *words: object) -> int:
    """Run a program as ``python -m`` does, and return the first number that it prints."""
    child = forks.start(f"tests.{program}:main", *words)
    assert child.wait() == 0, child.output
    return int(child.output.split()[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "start", "least", "step"),
    [
        ("run", "start", 30, 2),
        ("run", "seal", 5, 1),
        ("refresh", "start", 15, 2),
        # Its operations are those of a run, and a few more.
        ("fresh", "start", 40, 4),
    ],
)
def test_killed_before_many_operations(
    forks: Forks, tmp_path: Path, what: str, start: str, least: int, step: int
) -> None:
    """A kill before every ``step``-th operation loses nothing; ``make faults`` tests all."""
    assert (
        kills(forks, "runs.kills", tmp_path, "tests/tiny", what, start, step) >= least
    )


@pytest.mark.slow
def test_killed_while_a_trained_run_is_sealed(forks: Forks, tmp_path: Path) -> None:
    assert kills(forks, "runs.kills", tmp_path, "demo/two-hop", "run", "seal", 4) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("how", ["full", "fault"])
@pytest.mark.parametrize(("what", "least"), [("run", 20), ("refresh", 10)])
def test_the_disk_fails_at_every_operation(
    forks: Forks, tmp_path: Path, what: str, how: str, least: int
) -> None:
    """A run on a full or failing disk ends in one line, and is complete once it is resumed."""
    assert (
        kills(forks, "runs.kills", tmp_path, "tests/tiny", what, "start", 3, how)
        >= least
    )


@pytest.mark.slow
def test_killed_at_random_moments_alone_and_in_pairs(
    forks: Forks, tmp_path: Path
) -> None:
    assert kills(forks, "runs.random_kills", tmp_path, "tests/tiny", 12) >= 12


@pytest.mark.slow
def test_edits_of_what_is_stored_are_noticed_or_harmless(
    forks: Forks, tmp_path: Path
) -> None:
    """Nine edits are noticed or harmless; ``edits.py FOLDER 200`` makes 200."""
    assert kills(forks, "runs.edits", tmp_path, 9) == 9
