"""A limit is kept, counted in calls, not seconds; ``limits_kept.py`` measures all commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("limits_kept.py")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
def test_a_limit_is_kept_where_it_was_not() -> None:
    """Two million chains through one entity; facts that are cut; intervals after a forecast."""
    names = ("predict hub", "predict dense", "predict with intervals")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, PROGRAM, "calls", "3", *names],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
