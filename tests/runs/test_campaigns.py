"""Short forms of the programs with kills and faults; ``make faults`` runs the long ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.forks import Forks
from tests.runs.test_kills import kills, pytestmark

__all__ = ["pytestmark"]


@pytest.mark.slow
def test_commands_killed_before_any_call(forks: Forks, tmp_path: Path) -> None:
    assert kills(forks, "runs.command_kills", tmp_path, 2, 1, "verify", "work") >= 2


@pytest.mark.slow
def test_a_disk_that_fails_while_a_command_works(forks: Forks, tmp_path: Path) -> None:
    """Commands run in separate processes, since they give up permissions or their output."""
    done = forks.start("tests.runs.store_faults:main", tmp_path, 1, 1)
    assert done.wait() == 0, done.output
    # Read-only, full and gone, during two commands.
    assert done.output.count("1 times") == 6


@pytest.mark.slow
def test_a_bucket_that_answers_badly(forks: Forks) -> None:
    pytest.importorskip("obstore", reason="needs the extra 'cluster'")
    pytest.importorskip("moto.server", reason="needs moto; 'make test' installs it")
    assert kills(forks, "experiments.bucket_faults", 3, 1, "503", "lost") >= 3
