"""What the cases on an accelerator share; the variable ``DEVICE`` names it, or it is pretended.

The pretend one has the kernels of the CPU, so that results are the same up to the order of sums:
fp32 rounds each by 6e-8, and they have a thousand terms at most.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.accelerator.pretend import NAME, Accelerator

from inweights.worlds import TwoHop

DEVICE = os.environ.get("DEVICE", NAME)
PRETENDED = DEVICE == NAME
#: Of tests that count, which a real device does not.
counts = pytest.mark.skipif(not PRETENDED, reason="a real accelerator counts nothing")
ATOL, RTOL = 1e-5, 1e-4
TWO_HOP = [TwoHop(n=4, complexity=2, maps="permutation").build(seed) for seed in (1, 2)]


@pytest.fixture(autouse=True)
def accelerator() -> Iterator[None]:
    with Accelerator() if PRETENDED else nullcontext():
        yield


def both(table: pl.DataFrame, other: pl.DataFrame, tolerance: float = RTOL) -> None:
    assert_frame_equal(table, other, rel_tol=tolerance, abs_tol=ATOL)
