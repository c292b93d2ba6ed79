"""Settings of the processor during training."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import torch
from inweights.training.steps.machine import flushed_denormals
torch.set_num_threads(2)
tiny, small = torch.full((2_000_000,), 1e-30), torch.full((2_000_000,), 1e-10)

def zeros() -> list[bool]:
    return [bool((half == 0).all()) for half in (tiny * small).chunk(2)]

print(zeros())  # the threads are there before anything is said to them
with flushed_denormals():
    print(zeros())
print(zeros())
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="threads are told on Linux alone: run it there",
)
@pytest.mark.slow
def test_every_thread_flushes_denormals_and_stops_doing_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    before, within, after = done.stdout.splitlines()
    assert before == after == "[False, False]"
    assert within == "[True, True]"
