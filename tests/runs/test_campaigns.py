"""Short forms of the campaigns of kills and faults; ``make faults`` runs the long ones."""

from __future__ import annotations

import pytest
from tests.runs.test_kills import PROGRAM, kills, pytestmark

__all__ = ["pytestmark"]
LAB = PROGRAM.parents[1] / "lab"


@pytest.mark.slow
def test_commands_killed_before_any_call(tmp_path) -> None:
    names = ("verify", "work")
    assert kills(tmp_path, 2, 1, *names, program=PROGRAM.with_name("command_kills.py")) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("how", ["read-only", "full", "gone"])
def test_a_disk_that_fails_while_a_command_works(tmp_path, how: str) -> None:
    assert kills(tmp_path, 2, 1, how, program=PROGRAM.with_name("store_faults.py")) == 2


@pytest.mark.slow
@pytest.mark.parametrize("how", ["503", "lost"])
def test_a_bucket_that_answers_badly(how: str) -> None:
    pytest.importorskip("obstore", reason="needs the extra 'cluster'")
    pytest.importorskip("moto.server", reason="needs moto; 'make test' installs it")
    assert kills(5, 1, how, program=LAB / "bucket_faults.py") >= 5
