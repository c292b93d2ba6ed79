"""The tests in ``on_*.py`` run on a simulated GPU and, with ``make test-gpu``, on a real one.

A backend of torch is registered for a whole process and affects other tests, so these
tests run in a separate process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.forks import ROOT
from torch.utils import backend_registration

CASES = sorted(Path(__file__).parent.glob("on_*.py"))


@pytest.mark.skipif(
    not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"),
    reason="needs a torch that takes backends written in Python, such as 2.13",
)
@pytest.mark.slow
def test_contracts_hold_on_a_pretend_accelerator() -> None:
    passes()


@pytest.mark.gpu
def test_contracts_hold_on_a_gpu() -> None:
    passes(DEVICE="cuda")


def passes(**more: str) -> None:
    """Run all cases in one process, since the imports of each would take four seconds."""
    # Without the options of this run, and without the fact that it is one of several workers.
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTEST_")
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *CASES],
        cwd=ROOT,
        env=own | more,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stdout + done.stderr


def test_this_process_has_no_pretend_accelerator() -> None:
    assert torch._C._get_privateuse1_backend_name() == "privateuseone"
    assert "tests.accelerator.pretend" not in sys.modules
    assert len(CASES) == 4
